package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// apiTrusted holds each kubeconfig against what was served.
func apiTrusted(f *inspect.Facts) []assess.Finding {
	type group struct {
		message string
		lacks   bool // nodes whose kubelet has no client certificate, which is another cause
		costly  bool // unknown, because verifying it costs too much
	}
	found := map[group]*assess.Finding{}
	var order []group
	refusals := trust.NewRefusals(f)
	for _, n := range nodesRead(f) {
		if f.Over() {
			return nil
		}
		lacks := f.LacksClient(n)
		for _, k := range n.Kubeconfigs {
			client, served, seen := presentedTo(f, n, k)
			if !seen {
				continue
			}
			err := refusals.Of(client, served.Chain)
			if err == nil {
				continue
			}
			costly := errors.Is(err, pki.ErrCostly)
			message := fmt.Sprintf("the CA in this file does not verify the certificate presented at %s: %s", client.Address, err)
			if costly {
				message = fmt.Sprintf("whether the CA in this file verifies the certificate presented at %s is unknown: %s", client.Address, err)
			}
			if len(served.Chain) > 0 {
				message += fmt.Sprintf(" (%s, issued by %s)", inspect.CertName(served.Chain[0]), foreign.QuotedName(pki.CommonName(served.Chain[0].Issuer)))
			}
			g := group{message, lacks, costly}
			if found[g] == nil {
				found[g] = &assess.Finding{Assessment: assess.Assessment{Severity: assess.Critical, Reason: client.Address, Evidence: message}}
				order = append(order, g)
			}
			found[g].At = append(found[g].At, inspect.OnNode(n, k.Path))
		}
	}
	var out []assess.Finding
	for _, g := range order {
		finding := *found[g]
		assessment := func(at []pki.Location) assess.Assessment { return distrusting(f, finding.Assessment, at) }
		if g.costly {
			finding.Severity = assess.Warning
			assessment = func(at []pki.Location) assess.Assessment { return trustUnknown(finding.Assessment, at) }
		}
		out = append(out, assess.Finding{Assessment: assessment(finding.At), At: finding.At, Of: assessment})
	}
	return out
}

// presentedTo is the client of a kubeconfig, and what its server presented to it; false where that is unknown, or
// kubeconfig-sound speaks of the file.
func presentedTo(f *inspect.Facts, n *inspect.Node, k inspect.Kubeconfig) (client trust.Client, served inspect.Served, seen bool) {
	if c, ok := k.InUse(); !ok || !c.CAData || c.Masked || c.Insecure {
		return client, served, false
	}
	client, err := trust.ClientOf(f, n, k)
	if err != nil && client.Address == "" {
		return client, served, false
	}
	served, seen = client.Served()
	return client, served, seen
}

// distrustsAPI reports whether a kubeconfig of a node's kubelet does not verify what the API server
// presented to it.
func distrustsAPI(f *inspect.Facts, n *inspect.Node) bool {
	own := inspect.KubeletSetupOf(f.Snapshot, n).Kubeconfigs()
	return slices.ContainsFunc(n.Kubeconfigs, func(k inspect.Kubeconfig) bool {
		if !slices.Contains(own, k.Path) {
			return false
		}
		own = slices.DeleteFunc(slices.Clone(own), func(path string) bool { return path == k.Path }) // each once
		client, served, seen := presentedTo(f, n, k)
		return seen && client.Refuses(served.Chain, f.Now) != nil
	})
}

// trustUnknown finishes what is said of files of which verifying what the reason is presented at costs too much.
func trustUnknown(a assess.Assessment, at []pki.Location) assess.Assessment {
	a.Reason = subject(at) + ": trust in " + a.Reason + " is unknown"
	a.Impact = "if it does not verify it: what starts or reconnects with this file fails"
	a.Remediation = assess.Advise("look at what is presented there to the node, and at the CAs in the file: remove the file if nothing reads it")
	return a
}

// distrusting finishes what is said of files that do not verify the address that the reason is.
func distrusting(f *inspect.Facts, a assess.Assessment, at []pki.Location) assess.Assessment {
	nodes, _ := filesOf(at)
	a.Reason = says(at, "does not verify ", "do not verify ") + a.Reason
	a.Impact = "now: what starts or reconnects with this file fails"
	if slices.ContainsFunc(at, func(at pki.Location) bool { return slices.Contains(catalog.KubeletKubeconfigs(), at.Path) }) {
		a.Impact = heartbeat(f, nodes)
	}
	a.Remediation = fixing(f, nodes).Saying("preview the fix, which asks before it is applied")
	return a
}

// fixing previews the repair of nodes.
func fixing(f *inspect.Facts, nodes []string) assess.Remediation {
	text, fit := f.RepairOf(nodes)
	if fit {
		return assess.FixedCommand(text)
	}
	return assess.Remediation{Text: text}
}

// heartbeat is the impact on nodes whose kubelets do not trust the API server: on those that work,
// and on those that have no heartbeat already.
func heartbeat(f *inspect.Facts, nodes []string) string {
	var up, down []string
	for _, name := range nodes {
		if n, ok := f.Node(name); ok && f.Snapshot.NodeHealth(n).Alive == catalog.No {
			down = append(down, name)
			continue
		}
		up = append(up, name)
	}
	var out []string
	switch len(up) {
	case 0:
	case 1:
		out = append(out, nodeNames(up)+" loses its heartbeat at its next reconnect or restart")
	default:
		out = append(out, nodeNames(up)+" lose their heartbeat at their next reconnect or restart")
	}
	switch len(down) {
	case 0:
	case 1:
		out = append(out, nodeNames(down)+" has no heartbeat, and gets none before its repair")
	default:
		out = append(out, nodeNames(down)+" have no heartbeat, and get none before their repair")
	}
	return strings.Join(out, "; ")
}

func kubeletLoaded(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	for _, n := range nodesRead(f) {
		if own := n.OutdatedKubeconfig(); own != "" {
			out = append(out, assess.Finding{
				Assessment: assess.Assessment{
					Severity: assess.Warning,
					Reason:   fmt.Sprintf("%s: kubelet has not read %s since it was changed", foreign.Name(n.Name), own),
					Impact:   "until it is restarted, it trusts what the file said before",
					Evidence: fmt.Sprintf("the kubelet on %s runs since %s and has not read %s, changed %s", n.Name, day(n.Kubelet.Started), own, day(n.File(own).Written())),
					// Not a bare restart: with a file that lacks the CA, the node is NotReady after it.
					Remediation: commandOf(n, f.Hints().Next("{} fix-api-int --nodes %s --dry-run=client", n.Name)).
						Saying("preview its restart, which first checks the file against what the API server presents"),
				},
				At: []pki.Location{inspect.OnNode(n, own)},
			})
		} else if own := n.PerhapsOutdatedKubeconfig(); own != "" {
			file := n.File(own)
			out = append(out, assess.Finding{
				Assessment: assess.Assessment{
					Severity: assess.Info,
					Reason:   fmt.Sprintf("%s: kubelet may not have read %s", foreign.Name(n.Name), own),
					Impact:   "if its content was changed: until it is restarted, the kubelet trusts what the file said before",
					Evidence: fmt.Sprintf("the kubelet on %s runs since %s; the mode, owner, label or content of %s changed %s, and its content is dated %s: a copy with the times of its original looks the same",
						n.Name, day(n.Kubelet.Started), own, day(file.Changed), day(file.Modified)),
					Remediation: restartSafe(f.Hints(), n).
						Saying("if its content was changed, see whether the kubelet would come back, then restart it on the node: systemctl restart kubelet"),
				},
				At: []pki.Location{inspect.OnNode(n, own)},
			})
		}
	}
	return out
}

// commandOf is a command for a node; a text that says why there is none where its name fits in none.
func commandOf(n *inspect.Node, command string) assess.Remediation {
	if !foreign.Word(n.Name) {
		return assess.Advise(command)
	}
	return assess.FixedCommand(command)
}

func restartSafe(hints inspect.Hints, n *inspect.Node) assess.Remediation {
	ask := hints.UnreadRestart("{} verify restart-safe --nodes %s", n.Name)
	if hints.OfFile() {
		return assess.Advise(ask)
	}
	return commandOf(n, ask)
}

// calledTrusted holds the CA bundles by which the API server calls Services
// against what these may present.
func calledTrusted(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	for _, c := range f.ServiceCalls() {
		switch {
		case c.Bundle == nil:
			finding := callFinding(c)
			finding.Reason = subject(finding.At) + " names no CA for Service " + c.Name
			finding.Impact = "now: " + callFailing(c)
			finding.Evidence = "it names no CA for the Service " + c.Name + ": the API server then trusts its system's CAs, none of which signs for a Service"
			out = append(out, finding)
		case c.Unjudged != "":
			finding := callFinding(c)
			finding.Reason = fmt.Sprintf("%s: trust in Service %s is unknown", subject(finding.At), c.Name)
			finding.Impact = "if it does not: " + callFailing(c)
			finding.Evidence = fmt.Sprintf("whether the CA bundle verifies what the Service %s presents is unknown: %s", c.Name, c.Unjudged)
			finding.Remediation = assess.Advise("look at what the Service presents, and verify it with the CA bundle: openssl s_client -connect HOST:PORT -showcerts -CAfile BUNDLE, from a pod; Secrets in its namespace with its name that are not its own can go")
			out = append(out, finding)
		case c.Problem != nil:
			out = append(out, callFails(c))
		}
	}
	return out
}

// callFailing says what fails where the API server refuses what a Service presents.
func callFailing(c inspect.ServiceCall) string {
	switch c.From.Kind {
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService", "CustomResourceDefinition":
		return distrust(c.From, c.Bundle)
	}
	return "the API server's calls of it fail"
}

func callFinding(c inspect.ServiceCall) assess.Finding {
	return assess.Finding{Assessment: assess.Assessment{Severity: assess.Warning, Remediation: assess.Advise("have the owner of the CA bundle put the CA there that signs the Service's certificate (cert-manager's cainjector, service-ca's annotation, the operator), or restart it")}, At: []pki.Location{c.From}}
}

// callFails is the finding about a call that its bundle verifies nothing for.
func callFails(c inspect.ServiceCall) assess.Finding {
	finding := callFinding(c)
	var certs []*pki.Cert
	for _, h := range c.Presented {
		finding.At = append(finding.At, h.At)
		finding.Certs = append(finding.Certs, h.Leaf().Fingerprint)
		if !slices.Contains(certs, h.Leaf()) {
			certs = append(certs, h.Leaf())
		}
	}
	finding.Reason = fmt.Sprintf("%s: CA bundle does not verify Service %s", subject([]pki.Location{c.From}), c.Name)
	finding.Evidence = fmt.Sprintf("the CA bundle does not verify what the Service %s has to present, %s: %v", c.Name, names(certs), c.Problem)
	if c.ByServiceCA {
		finding.Severity, finding.Impact = assess.Critical, "now: "+callFailing(c)
	} else {
		finding.Impact = "if the Service presents this certificate: " + callFailing(c)
		finding.Remediation = assess.Advise("check first what the Service's port presents (it may have a certificate of its own, in memory): if it is one of these, " + finding.Remediation.Text)
	}
	return finding
}
