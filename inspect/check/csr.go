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

// nextTry is after how long a kubelet that waits asks again, with another key, but for some seconds by which
// clocks differ (certificateWaitTimeout in client-go util/certificate/certificate_manager.go v0.35.4).
const nextTry = 15*time.Minute - 10*time.Second

// findingsEach is how many findings the requests of one client have, with one condition. Its others are in
// one more: a client that floods hides no other's. Requests to join as a node that was read are apart.
const findingsEach = 20

// alike is what requests in one finding have in common. Without a signer and a subject it is the client alone.
type alike struct {
	signer, requester, subject string
	condition                  inspect.Condition
}

// waitedUntil is the time until which requests have waited: that of the facts, as of heartbeats, whatever time is judged.
func waitedUntil(f *inspect.Facts) time.Time {
	if f.Snapshot.Taken.IsZero() {
		return f.Now
	}
	return f.Snapshot.Taken
}

// csrAnswered groups requests by requester, signer, subject and what came of them.
func csrAnswered(f *inspect.Facts) []assess.Finding {
	groups, findings := map[alike][]inspect.SigningRequest{}, map[alike]int{}
	var order []alike
	nodes, tries := nodesByName(f), map[string][]inspect.SigningRequest{}
	for _, r := range f.Snapshot.Requests {
		if node, joins := r.Joins(); joins && f.MayAsk(r, node) {
			tries[node] = append(tries[node], r)
		}
		if r.Condition == inspect.Issued || r.Condition == inspect.Approved && waitedUntil(f).Sub(r.Since) < pendingLong {
			continue
		}
		client := alike{requester: r.Requester, condition: r.Condition}
		g := alike{r.Signer, r.Requester, subjectOf(r), r.Condition}
		node, joins := r.Joins()
		if of := joins && nodes[node] != nil && g.subject == kubeletSubject(node); groups[g] == nil && !of {
			if findings[client]++; findings[client] > findingsEach {
				g = client
			}
		}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], r)
	}
	var out []assess.Finding
	for _, g := range order {
		if f.Over() {
			break
		}
		slices.SortStableFunc(groups[g], func(a, b inspect.SigningRequest) int { return a.Since.Compare(b.Since) })
		// One that is younger belongs to those that wait for long: of a kubelet's tries it is the last.
		if g.condition == inspect.Pending && waitedUntil(f).Sub(groups[g][0].Since) < pendingLong {
			continue
		}
		out = append(out, csrFinding(f, groups[g], nodes, tries))
	}
	return out
}

// kubeletSubject is for what a node's kubelet asks.
func kubeletSubject(node string) string { return "CN=system:node:" + node + ",O=system:nodes" }

func subjectOf(r inspect.SigningRequest) string {
	if r.Request == nil {
		return ""
	}
	return r.Request.Subject
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

// csrFinding is of requests that are alike, the oldest one first. tries are the requests to join in a node's
// name by who may ask.
func csrFinding(f *inspect.Facts, requests []inspect.SigningRequest, nodes map[string]*inspect.Node, tries map[string][]inspect.SigningRequest) assess.Finding {
	first := requests[0]
	several := slices.ContainsFunc(requests, func(r inspect.SigningRequest) bool {
		return r.Signer != first.Signer || subjectOf(r) != subjectOf(first)
	})
	act := first
	if first.Condition == inspect.Pending && !several {
		act = newest(requests)
	}
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
	what := fmt.Sprintf("%d requests of %s to %s", len(requests), foreign.Name(first.Requester), foreign.Name(first.Signer))
	if len(requests) == 1 {
		what = fmt.Sprintf("the request of %s to %s", foreign.Name(first.Requester), foreign.Name(first.Signer))
	}
	switch {
	case several:
		what = fmt.Sprintf("%d more requests of %s, with other signers or subjects,", len(requests), foreign.Name(first.Requester))
	case first.Request != nil:
		what += fmt.Sprintf(" (%s)", pki.Quoted(first.Request.Subject))
	}
	csrs, names := "1 CSR", ": "+foreign.Name(act.Object.Name)
	if others := len(requests) - 1; others > 0 {
		csrs, names = fmt.Sprintf("%d CSRs", len(requests)), fmt.Sprintf("%s +%d", names, others)
	}
	describe := assess.Command(inspect.RequestNames, "kubectl describe csr %s", act.Object.Name)
	switch first.Condition {
	case inspect.Pending:
		waits := "pending for " + strings.TrimSuffix(ago(waitedUntil(f), first.Since), " ago")
		if first.Since.IsZero() {
			waits = "pending (" + ageUnknown + ")"
		}
		finding.Reason = csrs + " " + waits + names
		if len(requests) > 1 && act.Object.Name != first.Object.Name { // the age is not its
			finding.Reason = csrs + " " + waits + ", newest: " + foreign.Name(act.Object.Name)
		}
		finding.Impact = "the CSR's requester gets no certificate: servers refuse it once it has no valid one"
		finding.Evidence = fmt.Sprintf("%s pending since %s", what, when(waitedUntil(f), first.Since))
		if first.Since.IsZero() {
			finding.Evidence = what + " pending, " + ageUnknown
		}
		finding.Remediation = before(describe.Saying("look at who requests what"), "")
		if several {
			break
		}
		if act.Object.Name != first.Object.Name {
			finding.Evidence += fmt.Sprintf("; the newest, %s, is of %s", foreign.Name(act.Object.Name), when(waitedUntil(f), act.Since))
			if node, joins := act.Joins(); joins && f.MayAsk(act, node) && beside(act, tries[node]) == nil || act.Requester == act.Subject() {
				finding.Evidence += ": the others are earlier tries"
			}
		}
		finding.Remediation = answering(f, finding.Remediation, act, nodes, tries)
	case inspect.Approved:
		finding.Reason = fmt.Sprintf("%s approved %s, no certificate issued%s", csrs, ago(waitedUntil(f), first.Since), names)
		finding.Impact = "the CSR's requester gets no certificate: servers refuse it once it has no valid one"
		finding.Evidence = fmt.Sprintf("%s approved %s, but no certificate was issued", what, when(waitedUntil(f), first.Since))
		finding.Remediation = describe.Saying("find out why the signer does not work: for kubernetes.io signers that is kube-controller-manager")
	default:
		condition := strings.ToLower(string(first.Condition))
		finding.Severity = assess.Info
		finding.Reason = fmt.Sprintf("%s %s %s%s", csrs, condition, ago(waitedUntil(f), first.Since), names)
		finding.Impact = "the CSR's requester got no certificate"
		finding.Evidence = fmt.Sprintf("%s %s %s: %s", what, condition, when(waitedUntil(f), first.Since), pki.Quoted(first.Reason))
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

// newest is the request that is for the newest key, as a kubelet makes one for each try. A key is as old as
// its oldest request: who reads a request can make it again. One that hides something is no client's try.
func newest(requests []inspect.SigningRequest) inspect.SigningRequest {
	last, asked := requests[0], map[pki.Fingerprint]bool{}
	for _, r := range requests {
		if r.Request != nil {
			if asked[r.Request.SPKI] {
				continue
			}
			asked[r.Request.SPKI] = true
		}
		if r.Bad == "" || last.Bad != "" {
			last = r
		}
	}
	return last
}

// answering goes on with what is to be done about a pending request.
func answering(f *inspect.Facts, look assess.Remediation, r inspect.SigningRequest, nodes map[string]*inspect.Node, tries map[string][]inspect.SigningRequest) assess.Remediation {
	node, isNode := strings.CutPrefix(r.Subject(), "system:node:")
	_, joins := r.Joins()
	switch {
	case isNode && !foreign.Fit(r.Object.Name, node): // only the look
	case isNode && (r.Requester != r.Subject() && !f.MayAsk(r, node) || subjectOf(r) != kubeletSubject(node)):
		return followed(look, fmt.Sprintf("no kubelet asks so (%s, in the name of %s): deny it, unless you know why", foreign.Name(r.Requester), foreign.Name(node)), foreign.Command("", "kubectl certificate deny %s", r.Object.Name))
	case joins: // who has the bootstrap token asks in any node's name, and describe looks the same
		return joining(f, look, r, node, nodes[node] != nil, tries[node])
	case r.Bad == "" && look.Command != "": // else who made it hides something
		return followed(look, "if the request is right, approve it", foreign.Command("", "kubectl certificate approve %s", r.Object.Name))
	}
	return look
}

// joining is the next step for a request to join. A node that the API has is approved by fix-api-int, which
// asks the node. A new machine has no Node yet, and nothing in its request tells it from that of who else has
// the bootstrap token: its kubelet's log has when it asked.
func joining(f *inspect.Facts, look assess.Remediation, r inspect.SigningRequest, node string, known bool, tries []inspect.SigningRequest) assess.Remediation {
	if known {
		then := "if the kubelet of " + foreign.Name(node) + " waits for it, preview its approval"
		if n, read := f.Node(node); read && distrustsAPI(f, n) {
			then = foreign.Name(node) + " does not trust api-int: an approval alone does not help; preview its repair"
		}
		return followed(look, then, f.Hints().Next("{} fix-api-int --nodes %s --approve-csrs --dry-run=client", node))
	}
	const log = "journalctl -u kubelet -g 'Rotating certificates'"
	if other := beside(r, tries); other != nil {
		said := "came within 15 minutes of " + foreign.Name(r.Object.Name) + ", with another key: its kubelet was restarted, or another client asks, too"
		if other.Condition != inspect.Pending {
			said = "with another key, is " + strings.ToLower(string(other.Condition)) + ": its kubelet may have asked by that one, and another client by this one"
		}
		look.Then = fmt.Sprintf("no Node %s was read, and %s %s. Approve only the one that came with its last try (on the machine: %s), and none if both did",
			foreign.Name(node), foreign.Name(other.Object.Name), said, log)
		look.Text += "; then " + look.Then
		return look
	}
	if r.Bad != "" || r.Since.IsZero() { // else who made it hides something, or when it came is unknown
		return look
	}
	return followed(look, fmt.Sprintf("no Node %s was read: approve it only if you add that machine now, and its kubelet tried at %s (on the machine: %s)", foreign.Name(node), r.Since.UTC().Format("15:04:05 MST"), log),
		foreign.Command("", "kubectl certificate approve %s", r.Object.Name))
}

// beside is another request to join in the same name, with another key: one that is pending and came less
// than a kubelet's wait before or after this one, or one that is answered, whose time of creation is not read.
func beside(r inspect.SigningRequest, tries []inspect.SigningRequest) *inspect.SigningRequest {
	firsts := map[pki.Fingerprint]inspect.SigningRequest{}
	var found *inspect.SigningRequest
	for _, other := range tries {
		key := other.Request.SPKI
		if other.Condition != inspect.Pending {
			if key != r.Request.SPKI && (found == nil || other.Object.Name < found.Object.Name) {
				found = &other
			}
			continue
		}
		if old, ok := firsts[key]; !ok || other.Since.Before(old.Since) {
			firsts[key] = other
		}
	}
	for key, other := range firsts {
		near := other.Since.Sub(firsts[r.Request.SPKI].Since).Abs() < nextTry
		if key != r.Request.SPKI && near && (found == nil || found.Condition != inspect.Pending || other.Object.Name < found.Object.Name) {
			found = &other
		}
	}
	return found
}
