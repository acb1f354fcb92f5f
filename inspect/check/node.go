package check

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// nodesRead returns the nodes on which something was read.
func nodesRead(f *inspect.Facts) []*inspect.Node {
	var out []*inspect.Node
	for i := range f.Snapshot.Nodes {
		if f.Snapshot.Nodes[i].Via != "" {
			out = append(out, &f.Snapshot.Nodes[i])
		}
	}
	return out
}

// The clock differences that matter: what a kubelet's certificate request is
// backdated by (5 min) is where fresh certificates are refused.
const (
	skewSeen = 30 * time.Second
	skewBad  = 5 * time.Minute
)

// clockSkew compares each node's clock with the API server's, or with ours where
// that one did not say.
func clockSkew(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	least, most, known := f.Snapshot.Cluster.Clock.Ahead()
	whose := "the API server's"
	if !known {
		least, most, whose = 0, 0, "this machine's"
	}
	judge := func(low, high time.Duration, short, whole, than string, next assess.Remediation, at []pki.Location) {
		off, way, effect := low, "ahead of", "to it, certificates expire %s early"
		if high < 0 {
			off, way, effect = -high, "behind", "to it, certificates become valid %s late"
		}
		if off < skewSeen {
			return
		}
		severity := assess.Warning
		if off >= skewBad {
			severity = assess.Critical
		}
		off = off.Round(time.Second)
		out = append(out, assess.Finding{
			Assessment: assess.Assessment{
				Severity:    severity,
				Reason:      fmt.Sprintf("%s is at least %s %s %s", short, off, way, than),
				Impact:      "now: " + fmt.Sprintf(effect, off),
				Evidence:    fmt.Sprintf("the clock of %s is at least %s %s %s: it judges by it what is valid", whole, off, way, than),
				Remediation: next,
			},
			At: at,
		})
	}
	if known {
		judge(-most, -least, "the clock of this machine", "this machine", "the API server's", assess.FixedCommand("timedatectl").Saying("set it right and inspect again: everything here was judged by it, or give --now"), nil)
	}
	for _, n := range nodesRead(f) {
		if low, high, ok := n.Clock.Ahead(); ok {
			judge(low-most, high-least, foreign.Name(n.Name)+": clock", "node "+n.Name, whose, assess.Advise("on the node: chronyc tracking; systemctl status chronyd"), []pki.Location{inspect.OnNode(n, "")})
		}
	}
	return out
}

// kubeletRuns looks at the state of kubelet.service.
func kubeletRuns(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	for _, n := range nodesRead(f) {
		k := n.Kubelet
		if k.Active == "" || k.Active == "active" && k.Sub == "running" {
			continue
		}
		out = append(out, assess.Finding{
			Assessment: assess.Assessment{
				Severity:    assess.Critical,
				Reason:      fmt.Sprintf("%s: kubelet.service is %s (%s)", foreign.Name(n.Name), k.Active, k.Sub),
				Impact:      "now: the node has no heartbeat while its kubelet does not run",
				Remediation: assess.Advise("on the node: systemctl status kubelet; journalctl -u kubelet -n 50"),
			},
			At: []pki.Location{inspect.OnNode(n, "")},
		})
	}
	return out
}

// kubeletRotates looks at who renews the kubelet's client certificate.
func kubeletRotates(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	for _, n := range nodesRead(f) {
		if r := n.Kubelet.RotateCertificates; r != nil && !*r {
			out = append(out, assess.Finding{
				Assessment: assess.Assessment{
					Severity:    assess.Warning,
					Reason:      foreign.Name(n.Name) + ": kubelet has rotateCertificates: false",
					Impact:      "when its client certificate expires, the kubelet can't reach the API server",
					Evidence:    "its client certificate is not renewed",
					Remediation: assess.Advise("set rotateCertificates: true in the kubelet's configuration, as OpenShift and kubeadm do"),
				},
				At: []pki.Location{inspect.OnNode(n, "")},
			})
		}
	}
	return out
}

// currentLinks looks at the links by which certificate managers name the pair in
// use.
func currentLinks(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	pending := f.PendingJoins()
	for _, n := range nodesRead(f) {
		if f.LacksClient(n) {
			out = append(out, lacksClient(f, n, pending[n.Name]))
		}
		for i := range n.Files {
			l := &n.Files[i]
			if !inspect.IsCurrentLink(l) {
				continue
			}
			short, message := "", ""
			switch target := n.File(l.Target); {
			case l.Target == "":
				short, message = "leads nowhere", "leads nowhere ("+foreign.Text(l.Link)+")"
			case l.Whole && target == nil && f.FirstInFile(n, l.Target) == nil:
				short, message = "leads to no certificate", "leads to "+foreign.Text(l.Target)+", which holds no certificate that could be read"
			}
			if message == "" {
				continue
			}
			link := foreign.Text(path.Base(l.Path))
			out = append(out, assess.Finding{
				Assessment: assess.Assessment{
					Severity: assess.Critical,
					Reason:   fmt.Sprintf("%s: %s %s", foreign.Name(n.Name), link, short),
					Impact:   "at its next start: what loads it has no certificate",
					Evidence: fmt.Sprintf("%s on %s %s", link, foreign.Name(n.Name), message),
					Remediation: before(assess.FixedCommand("kubectl get csr").Saying("look at what it requests"), ". A kubelet requests a new one when it is restarted with a bootstrap kubeconfig that works: approve that, or on OpenShift preview what has it ask: "+
						f.Hints().Next("{} fix-api-int --nodes %s --rebootstrap --approve-csrs --dry-run=client", n.Name)),
				},
				At: []pki.Location{inspect.OnNode(n, l.Path)},
			})
		}
	}
	return out
}

// lacksClient is the finding about a kubelet without a client certificate.
func lacksClient(f *inspect.Facts, n *inspect.Node, pending []inspect.SigningRequest) assess.Finding {
	finding := assess.Finding{
		Assessment: assess.Assessment{
			Severity: assess.Critical,
			Reason:   foreign.Name(n.Name) + ": kubelet has no client certificate",
			Impact:   "now: its kubelet cannot authenticate: no heartbeat, no new Pods on the node",
			Evidence: fmt.Sprintf("there is no %s on %s, which has %s", inspect.KubeletClient, n.Name, f.Snapshot.NodeHealth(n).Heartbeat()),
		},
		At: []pki.Location{inspect.OnNode(n, inspect.KubeletClient)},
	}
	if issued := f.APIIntIssued(); f.Snapshot.SilentBefore(n, issued) {
		finding.Evidence += ", since before api-int's certificate was issued (" + day(issued) + ")"
	}
	if len(pending) > 0 {
		first := slices.MinFunc(pending, func(a, b inspect.SigningRequest) int { return a.Since.Compare(b.Since) })
		finding.Evidence += fmt.Sprintf("; %s pending, the first one made %s", count(len(pending), "CSR"), when(waitedUntil(f), first.Since))
		if first.Since.IsZero() {
			finding.Evidence = strings.TrimSuffix(finding.Evidence, ", the first one made "+ago(waitedUntil(f), first.Since))
		}
	}
	const preview = "preview what makes its kubelet request a client certificate, and approves that"
	switch {
	case !inspect.KubeletSetupOf(f.Snapshot, n).HasOperators:
		finding.Remediation = assess.FixedCommand("kubectl get csr").Saying("with a bootstrap token that is accepted, a restart makes the kubelet request one: approve that")
	case len(pending) > 0 || distrustsAPI(f, n):
		finding.Remediation = commandOf(n, f.Hints().Next("{} fix-api-int --nodes %s --approve-csrs --dry-run=client", n.Name)).Saying(preview)
	default:
		finding.Remediation = commandOf(n, f.Hints().Next("{} fix-api-int --nodes %s --rebootstrap --approve-csrs --dry-run=client", n.Name)).Saying(preview)
	}
	return finding
}

// filePrivate looks at who may read or change what only root should.
func filePrivate(f *inspect.Facts) []assess.Finding {
	found := map[assess.Assessment][]pki.Location{}
	var order []assess.Assessment
	add := func(severity assess.Severity, reason, impact, evidence string, at pki.Location) {
		k := assess.Assessment{Severity: severity, Reason: reason, Impact: impact, Evidence: evidence}
		if found[k] == nil {
			order = append(order, k)
		}
		found[k] = append(found[k], at)
	}
	for _, n := range nodesRead(f) {
		for i := range n.Files {
			file := &n.Files[i]
			perm := file.Mode.Perm()
			mode := fmt.Sprintf(" (mode %04o)", perm)
			switch at := inspect.OnNode(n, file.Path); {
			case file.Link != "":
			case file.Secret && perm&0o007 != 0:
				add(assess.Critical, "can be read by every user"+mode, "now: every user on the node can use the key or token in it", "every user on the node may read a key or a token"+mode, at)
			case perm&0o022 != 0:
				add(assess.Critical, "can be changed by others than its owner"+mode, "now: who changes the CAs that a node trusts can act as any user", "others than the owner may change it"+mode, at)
			case file.Secret && file.GID != 0 && perm&0o040 != 0:
				add(assess.Warning, fmt.Sprintf("can be read by group %d%s", file.GID, mode), fmt.Sprintf("now: group %d can use the key or token in it", file.GID), fmt.Sprintf("group %d may read a key or a token%s", file.GID, mode), at)
			case file.Secret && file.UID != 0:
				add(assess.Warning, fmt.Sprintf("is owned by user %d, not by root", file.UID), fmt.Sprintf("now: user %d can use the key or token in it", file.UID), fmt.Sprintf("a key or a token belongs to user %d, not to root", file.UID), at)
			}
		}
	}
	var out []assess.Finding
	for _, k := range order {
		at := found[k]
		k.Remediation = assess.Advise("find out who changed it, then chmod 0600 and chown root:root; replace the key if others could read it")
		k.Reason = subject(at) + " " + k.Reason
		out = append(out, assess.Finding{Assessment: k, At: at})
	}
	return out
}

// kubeconfigSound looks at how kubeconfigs on nodes are put together.
func kubeconfigSound(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	for _, n := range nodesRead(f) {
		for _, k := range n.Kubeconfigs {
			if n.File(k.Path) == nil {
				continue
			}
			for _, p := range unsound(f, n, k) {
				at := inspect.OnNode(n, k.Path)
				p.Reason = place(at) + " " + p.Reason
				out = append(out, assess.Finding{Assessment: p, At: []pki.Location{at}})
			}
		}
	}
	return out
}

// unsound says what is wrong with a kubeconfig, in reasons that follow its name.
func unsound(f *inspect.Facts, n *inspect.Node, k inspect.Kubeconfig) []assess.Assessment {
	const by, fails = "compare it with another node of the same kind", "at its next start: what reads it does not reach the API server"
	if k.Problem != "" {
		return []assess.Assessment{{Severity: assess.Critical, Reason: "cannot be read", Impact: fails, Evidence: k.Problem, Remediation: assess.Advise(by)}}
	}
	var out []assess.Assessment
	switch {
	case len(k.Clusters) == 0:
		return []assess.Assessment{{Severity: assess.Critical, Reason: "names no cluster", Impact: fails, Remediation: assess.Advise(by)}}
	case len(k.Clusters) > 1:
		out = append(out, assess.Assessment{
			Severity: assess.Warning, Reason: fmt.Sprintf("names %d clusters", len(k.Clusters)), Impact: "OpenShift reads and updates only the first: another one does not get new CAs",
			Remediation: assess.Advise("remove those that are not in use"),
		})
	}
	kubelets := slices.Contains(catalog.KubeletKubeconfigs(), k.Path)
	if !slices.ContainsFunc(k.Clusters, func(c inspect.KubeconfigCluster) bool { return c.Name == k.Current }) {
		a := assess.Assessment{Severity: assess.Warning, Reason: "has a current context that leads to no cluster", Impact: fails, Remediation: assess.Advise(by)}
		if kubelets {
			a.Severity = assess.Critical
		}
		out = append(out, a)
	}
	// Without a context, the first cluster counts, for what repairs it.
	for i, c := range k.Clusters {
		if c.Name != k.Current && (k.Current != "" || i > 0) {
			continue
		}
		switch {
		case c.Insecure:
			out = append(out, assess.Assessment{
				Severity: assess.Critical, Reason: "sets insecure-skip-tls-verify", Impact: "now: it talks to any server that answers at " + c.Server,
				Remediation: assess.Advise("remove it, and put the CA of the API server there"),
			})
		case !c.CAData && c.CAFile == "" && strings.HasPrefix(c.Server, "https:"):
			a := assess.Assessment{
				Severity: assess.Warning, Reason: "holds no CA", Impact: "now: only what the system trusts is accepted at " + c.Server,
				Remediation: assess.Advise("put the CA of the API server there as certificate-authority-data"),
			}
			if kubelets && f.Snapshot.Cluster.Versions.Cluster != "" {
				a.Severity = assess.Critical // OpenShift's CA is in no system's trust store
			}
			out = append(out, a)
		case c.CAData && !c.Masked:
			out = append(out, embeddedCA(f, n, k.Path, c)...)
		}
	}
	return out
}

// embeddedCA looks at certificate-authority-data.
func embeddedCA(f *inspect.Facts, n *inspect.Node, file string, c inspect.KubeconfigCluster) []assess.Assessment {
	for _, h := range f.InFile(n.Name, file) {
		if h.At.Field != c.Field {
			continue
		}
		for _, cert := range h.Content.Certs {
			if cert.IsCA {
				return nil
			}
		}
	}
	return []assess.Assessment{{
		Severity: assess.Critical, Reason: "holds no CA in certificate-authority-data", Impact: "at its next connection: nothing is accepted at " + c.Server,
		Remediation: assess.Advise("put the CA of the API server there"),
	}}
}
