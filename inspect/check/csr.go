package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// pendingLong is how long a request may wait: approvers that work answer within
// seconds.
const pendingLong = 10 * time.Minute

// csrAnswered groups requests by who asks whom, and what came of it.
func csrAnswered(f *inspect.Facts) []assess.Finding {
	type group struct {
		signer, requester string
		condition         inspect.Condition
	}
	groups := map[group][]inspect.SigningRequest{}
	var order []group
	for _, r := range f.Snapshot.Requests {
		waiting := r.Condition == inspect.Pending || r.Condition == inspect.Approved
		if waiting && f.Now.Sub(r.Since) < pendingLong || r.Condition == inspect.Issued {
			continue
		}
		g := group{r.Signer, r.Requester, r.Condition}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], r)
	}
	nodes := nodesByName(f)
	var out []assess.Finding
	for _, g := range order {
		if f.Over() {
			break
		}
		out = append(out, csrFinding(f, groups[g], nodes))
	}
	return out
}

// nodesByName are the nodes of which the facts have something.
func nodesByName(f *inspect.Facts) map[string]*inspect.Node {
	nodes := map[string]*inspect.Node{}
	for _, n := range f.Snapshot.LeftOut() {
		nodes[n.Name] = &n
	}
	for i := range f.Snapshot.Nodes {
		nodes[f.Snapshot.Nodes[i].Name] = &f.Snapshot.Nodes[i]
	}
	return nodes
}

// csrFinding is of requests that are alike.
func csrFinding(f *inspect.Facts, requests []inspect.SigningRequest, nodes map[string]*inspect.Node) assess.Finding {
	slices.SortFunc(requests, func(a, b inspect.SigningRequest) int { return a.Since.Compare(b.Since) })
	first := requests[0]
	finding := assess.Finding{Assessment: assess.Assessment{Severity: assess.Warning}, Due: first.Since}
	for _, r := range requests {
		finding.At = append(finding.At, pki.Location{Kind: r.Object.Kind, Name: r.Object.Name})
	}
	about := map[string]bool{}
	for _, r := range requests {
		for _, name := range r.NodeNames() {
			if n := nodes[name]; n != nil && n.Via != "" {
				about[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(about)) { // as nodes are
		finding.At = append(finding.At, inspect.OnNode(nodes[name], ""))
	}
	what := fmt.Sprintf("%d requests of %s to %s", len(requests), foreign.Name(first.Requester), first.Signer)
	if len(requests) == 1 {
		what = fmt.Sprintf("the request of %s to %s", foreign.Name(first.Requester), first.Signer)
	}
	if first.Request != nil {
		what += fmt.Sprintf(" (%s)", pki.Quoted(first.Request.Subject))
	}
	reason := foreign.Name(first.Object.Name) + more(len(requests)-1, "request")
	describe := assess.Command(inspect.RequestNames, "kubectl describe csr %s", first.Object.Name)
	switch first.Condition {
	case inspect.Pending:
		finding.Reason = fmt.Sprintf("%s pending for %s", reason, strings.TrimSuffix(ago(f.Now, first.Since), " ago"))
		finding.Impact = "the CSR's requester gets no certificate: servers refuse it once it has no valid one"
		finding.Evidence = fmt.Sprintf("%s pending since %s", what, when(f.Now, first.Since))
		finding.Remediation = before(describe.Saying("look at who requests what"), "")
		switch node, joins := first.Joins(); {
		case joins: // who has the bootstrap token asks in any node's name, and describe looks the same
			finding.Remediation = joining(f.Hints(), finding.Remediation, first.Object.Name, node, nodes[node] != nil)
		case first.Bad == "" && describe.Command != "": // else who made it hides something
			finding.Remediation = followed(finding.Remediation, "if the request is right, approve it", foreign.Command("", "kubectl certificate approve %s", first.Object.Name))
		}
	case inspect.Approved:
		finding.Reason = fmt.Sprintf("%s approved %s, no certificate issued", reason, ago(f.Now, first.Since))
		finding.Impact = "the CSR's requester gets no certificate: servers refuse it once it has no valid one"
		finding.Evidence = fmt.Sprintf("%s approved %s, but no certificate was issued", what, when(f.Now, first.Since))
		finding.Remediation = describe.Saying("find out why the signer does not work: for kubernetes.io signers that is kube-controller-manager")
	default:
		condition := strings.ToLower(string(first.Condition))
		finding.Severity = assess.Info
		finding.Reason = fmt.Sprintf("%s %s %s", reason, condition, ago(f.Now, first.Since))
		finding.Impact = "the CSR's requester got no certificate"
		finding.Evidence = fmt.Sprintf("%s %s %s: %s", what, condition, when(f.Now, first.Since), pki.Quoted(first.Reason))
	}
	return finding
}

// followed is a look after which a command is due, which stands on a line of its own where it fits.
func followed(look assess.Remediation, then, command string) assess.Remediation {
	if look.Command == "" {
		look.Text += "; " + then + ": " + command
		return look
	}
	return look.Followed(then, command)
}

// joining is the next step for a request to join; only the look where a name fits in no command. A node
// that the API has is approved by fix-api-int, which asks the node. A new machine has no Node yet, and
// nothing in its request tells it from that of who else has the bootstrap token.
func joining(hints inspect.Hints, look assess.Remediation, request, node string, known bool) assess.Remediation {
	switch {
	case !foreign.Fit(request, node):
	case known:
		look = followed(look, "if the kubelet of "+foreign.Name(node)+" waits for it, preview its approval", hints.Next("{} fix-api-int --nodes %s --approve-csrs --dry-run=client", node))
	default:
		look.Text += foreign.Command("", "; no Node %s was read: approve the request by hand only if you add a machine of this name now, its kubelet waits for a certificate (on the machine: journalctl -u kubelet), and no other request is in this name", node)
	}
	return look
}
