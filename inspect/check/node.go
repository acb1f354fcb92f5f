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
	judge := func(low, high time.Duration, whoseClock, than, next string, at []pki.Location) {
		off, way := low, "ahead of"
		if high < 0 {
			off, way = -high, "behind"
		}
		if off < skewSeen {
			return
		}
		severity := assess.Warning
		if off >= skewBad {
			severity = assess.Critical
		}
		out = append(out, assess.Finding{
			Assessment: assess.Assessment{
				Severity:    severity,
				Remediation: assess.Advise(next),
				Reason:      fmt.Sprintf("the clock of %s is at least %s %s %s: it judges by it what is valid", whoseClock, off.Round(time.Second), way, than),
			},
			At: at,
		})
	}
	if known {
		judge(-most, -least, "this machine", "the API server's", "set it right (timedatectl) and inspect again: everything here was judged by it, or give --now", nil)
	}
	for _, n := range nodesRead(f) {
		if low, high, ok := n.Clock.Ahead(); ok {
			judge(low-most, high-least, "node "+n.Name, whose, "on the node: chronyc tracking; systemctl status chronyd", []pki.Location{inspect.OnNode(n, "")})
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
				Reason:      fmt.Sprintf("kubelet.service on %s is %s (%s)", n.Name, k.Active, k.Sub),
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
					Reason:      fmt.Sprintf("the kubelet on %s has rotateCertificates: false: its client certificate is not renewed, and without one it can't reach the API", n.Name),
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
	for _, n := range nodesRead(f) {
		for i := range n.Files {
			l := &n.Files[i]
			if !inspect.IsCurrentLink(l) {
				continue
			}
			message := ""
			switch target := n.File(l.Target); {
			case l.Target == "":
				message = "leads nowhere (" + foreign.Text(l.Link) + ")"
			case l.Whole && target == nil && f.InNode(n, l.Target) == nil:
				message = "leads to " + foreign.Text(l.Target) + ", which holds no certificate that could be read"
			}
			if message != "" {
				out = append(out, assess.Finding{
					Assessment: assess.Assessment{
						Severity:    assess.Critical,
						Reason:      fmt.Sprintf("%s on %s %s: whoever starts with it has no certificate", foreign.Text(path.Base(l.Path)), n.Name, message),
						Remediation: assess.Advise("a kubelet asks for a new one when it is restarted with a bootstrap kubeconfig that works: approve its request (kubectl get csr), or on OpenShift " + f.Hints().Next("{} fix-api-int --nodes %s --rebootstrap --approve-csrs, which asks first whether it works", n.Name)),
					},
					At: []pki.Location{inspect.OnNode(n, l.Path)},
				})
			}
		}
	}
	return out
}

// filePrivate looks at who may read or change what only root should.
func filePrivate(f *inspect.Facts) []assess.Finding {
	type kind struct {
		message  string
		severity assess.Severity
	}
	found := map[kind][]pki.Location{}
	var order []kind
	add := func(k kind, at pki.Location) {
		if found[k] == nil {
			order = append(order, k)
		}
		found[k] = append(found[k], at)
	}
	for _, n := range nodesRead(f) {
		for i := range n.Files {
			file := &n.Files[i]
			perm := file.Mode.Perm()
			switch at := inspect.OnNode(n, file.Path); {
			case file.Link != "":
			case file.Secret && perm&0o007 != 0:
				add(kind{fmt.Sprintf("every user on the node may read a key or a token (mode %04o)", perm), assess.Critical}, at)
			case perm&0o022 != 0:
				add(kind{fmt.Sprintf("others than the owner may change it (mode %04o)", perm), assess.Critical}, at)
			case file.Secret && file.GID != 0 && perm&0o040 != 0:
				add(kind{fmt.Sprintf("group %d may read a key or a token (mode %04o)", file.GID, perm), assess.Warning}, at)
			case file.Secret && file.UID != 0:
				add(kind{fmt.Sprintf("a key or a token belongs to user %d, not to root", file.UID), assess.Warning}, at)
			}
		}
	}
	var out []assess.Finding
	for _, k := range order {
		out = append(out, assess.Finding{Assessment: assess.Assessment{Severity: k.severity, Reason: k.message, Remediation: assess.Advise("chmod 0600 and chown root:root, after finding out who changed it; replace the key if others could read it")}, At: found[k]})
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
				p.At, p.Reason = []pki.Location{inspect.OnNode(n, k.Path)}, k.Path+" on "+n.Name+": "+p.Reason
				out = append(out, p)
			}
		}
	}
	return out
}

func unsound(f *inspect.Facts, n *inspect.Node, k inspect.Kubeconfig) []assess.Finding {
	const by = "compare with another node of the same kind"
	if k.Problem != "" {
		return []assess.Finding{{Assessment: assess.Assessment{Severity: assess.Critical, Reason: k.Problem, Remediation: assess.Advise(by)}}}
	}
	var out []assess.Finding
	switch {
	case len(k.Clusters) == 0:
		return []assess.Finding{{Assessment: assess.Assessment{Severity: assess.Critical, Reason: "it names no cluster", Remediation: assess.Advise(by)}}}
	case len(k.Clusters) > 1:
		out = append(out, assess.Finding{Assessment: assess.Assessment{Severity: assess.Warning, Reason: fmt.Sprintf("it names %d clusters; OpenShift reads and updates only the first", len(k.Clusters)), Remediation: assess.Advise("remove those that are not in use")}})
	}
	kubelets := k.Path == "/etc/kubernetes/kubeconfig" || k.Path == "/var/lib/kubelet/kubeconfig"
	if !slices.ContainsFunc(k.Clusters, func(c inspect.KubeconfigCluster) bool { return c.Name == k.Current }) {
		finding := assess.Finding{Assessment: assess.Assessment{Severity: assess.Warning, Reason: "its current context leads to no cluster", Remediation: assess.Advise(by)}}
		if kubelets {
			finding.Severity = assess.Critical
		}
		out = append(out, finding)
	}
	// Without a context, the first cluster counts, for who mends it.
	for i, c := range k.Clusters {
		if c.Name != k.Current && (k.Current != "" || i > 0) {
			continue
		}
		switch {
		case c.Insecure:
			out = append(out, assess.Finding{Assessment: assess.Assessment{Severity: assess.Critical, Reason: "insecure-skip-tls-verify: it talks to any server that answers at " + c.Server, Remediation: assess.Advise("remove it, and put the CA of the API server there")}})
		case !c.CAData && c.CAFile == "" && strings.HasPrefix(c.Server, "https:"):
			finding := assess.Finding{Assessment: assess.Assessment{Severity: assess.Warning, Reason: "no CA: only what the system trusts is accepted at " + c.Server, Remediation: assess.Advise("put the CA of the API server there as certificate-authority-data")}}
			if kubelets && f.Snapshot.Cluster.Versions.Cluster != "" {
				finding.Severity = assess.Critical // OpenShift's CA is in no system's trust store
			}
			out = append(out, finding)
		case c.CAData && !c.Masked:
			out = append(out, embeddedCA(f, n, k.Path, c)...)
		}
	}
	return out
}

// embeddedCA looks at certificate-authority-data.
func embeddedCA(f *inspect.Facts, n *inspect.Node, file string, c inspect.KubeconfigCluster) []assess.Finding {
	for i := range f.Entries {
		h := &f.Entries[i]
		if h.At.Node != n.Name || h.At.Path != file || h.At.Field != c.Field {
			continue
		}
		for _, cert := range h.Content.Certs {
			if cert.IsCA {
				return nil
			}
		}
	}
	return []assess.Finding{{Assessment: assess.Assessment{Severity: assess.Critical, Reason: "certificate-authority-data holds no CA: nothing is accepted at " + c.Server, Remediation: assess.Advise("put the CA of the API server there")}}}
}

// fileCurrent compares files with the objects of which they are copies.
func fileCurrent(f *inspect.Facts) []assess.Finding {
	type difference struct{ of, what string }
	found := map[difference]*assess.Finding{}
	var order []difference
	sources := map[catalog.Ref]*inspect.Entry{} // many nodes hold copies of the same few
	for i := range f.Entries {
		h := &f.Entries[i]
		if h.At.Node == "" || h.Superseded {
			continue
		}
		row, ok := catalog.NodeCopyOf(h.At.Path, f.Snapshot.Cluster.Versions)
		if !ok || row.Embedded != strings.HasSuffix(h.At.Field, "certificate-authority-data") {
			continue
		}
		source, known := sources[row.Object]
		if !known {
			source = f.At(row.Object)
			sources[row.Object] = source
		}
		if source == nil {
			continue // not read: then a gap says so, or it was not asked for
		}
		what, since, missing := inspect.CopyDelay(h, source)
		if what == "" {
			continue
		}
		d := difference{row.Object.String(), what}
		if found[d] == nil {
			finding := behind(f, row, what, since, missing)
			found[d] = &finding
			order = append(order, d)
		}
		found[d].At = append(found[d].At, h.At)
	}
	out := emptyCopies(f, sources)
	for _, d := range order {
		out = append(out, *found[d])
	}
	return out
}

// emptyCopies finds files that were read whole, are to hold what an object holds,
// and hold no certificate: truncated by a full disk, or overwritten.
func emptyCopies(f *inspect.Facts, sources map[catalog.Ref]*inspect.Entry) []assess.Finding {
	var out []assess.Finding
	for _, n := range nodesRead(f) {
		for i := range n.Files {
			file := &n.Files[i]
			row, ok := catalog.NodeCopyOf(file.Path, f.Snapshot.Cluster.Versions)
			if !ok || row.Embedded || !file.Whole || file.Link != "" || f.InNode(n, file.Path) != nil {
				continue
			}
			if _, known := sources[row.Object]; !known {
				sources[row.Object] = f.At(row.Object)
			}
			if source := sources[row.Object]; source != nil && len(source.Content.Certs) > 0 {
				out = append(out, assess.Finding{
					Assessment: assess.Assessment{
						Severity:    assess.Critical,
						Reason:      fmt.Sprintf("%s on %s holds no certificate; it is a copy of %s", foreign.Text(path.Base(file.Path)), n.Name, row.Object),
						Remediation: assess.Advise("look whether the disk of the node is full; the file is brought there by " + row.Writer),
					},
					At: []pki.Location{inspect.OnNode(n, file.Path)},
				})
			}
		}
	}
	return out
}

// copying is how long a copy may take: a kubelet and a syncer look once a
// minute, an operator's rollout over a few nodes some more.
const copying = 10 * time.Minute

// behind is the finding for a copy that lacks something.
func behind(f *inspect.Facts, row catalog.NodeCopy, what string, since time.Time, missing []*pki.Cert) assess.Finding {
	finding := assess.Finding{
		Assessment: assess.Assessment{
			Severity:    assess.Warning,
			Reason:      fmt.Sprintf("a copy of %s %s", row.Object, what),
			Remediation: assess.Advise("find out why it was not brought there by " + row.Writer),
		},
		Due: since,
	}
	for _, c := range missing {
		finding.Certs = append(finding.Certs, c.Fingerprint)
	}
	if row.Object == catalog.APIServerCA() {
		addDistrust(f, &finding, missing)
	}
	if f.Now.Sub(since) < copying && finding.Severity == assess.Warning {
		finding.Severity = assess.Info
		finding.Reason += " (made " + ago(f.Now, since) + ": it may be on its way)"
	}
	return finding
}

// addDistrust tells what it means for a kubelet to lack a CA of the API server. Of
// those only the load balancer's signs what is presented to kubelets: what the API
// presents at localhost and in the service network is no kubelet's business.
func addDistrust(f *inspect.Facts, finding *assess.Finding, missing []*pki.Cert) {
	serving, signer := f.At(catalog.InternalLoadBalancerServing()), f.At(catalog.LoadBalancerSigner())
	matters := func(ca *pki.Cert) bool {
		return serving != nil && serving.Leaf() != nil && signedBy(serving.Leaf(), ca) ||
			signer != nil && signer.Leaf() != nil && signer.Leaf().Fingerprint == ca.Fingerprint
	}
	if !slices.ContainsFunc(missing, matters) {
		finding.Severity = assess.Info
		finding.Reason += ", which signs nothing that is presented to kubelets"
		finding.Remediation = assess.Remediation{}
		if serving == nil || signer == nil {
			finding.Severity = assess.Warning
			finding.Reason = strings.TrimSuffix(finding.Reason, ", which signs nothing that is presented to kubelets") + "; whether api-int uses it was not read"
			finding.Remediation = assess.Advise("read " + catalog.InternalLoadBalancerServing().String() + " and " + catalog.LoadBalancerSigner().String() + " too")
		}
		return
	}
	delivery, answer := catalog.DeliveryOf(catalog.KubeletKubeconfigCA(), f.Snapshot.Cluster.Versions)
	if answer == catalog.Yes && !delivery.Delivered {
		command := f.Hints().Next("{} fix-api-int")
		if serving != nil && serving.Leaf() != nil && !slices.ContainsFunc(missing, func(ca *pki.Cert) bool { return signedBy(serving.Leaf(), ca) }) {
			command = f.Hints().Next("{} pretrust, ahead of the first certificate that it signs,")
		}
		finding.Remediation = assess.Advise("nothing brings it there in this version. " + command + " puts the CAs of the ConfigMap into both kubeconfigs of each kubelet, keeps the old ones, and restarts it: masters first, one at a time")
	}
	if serving == nil || serving.Leaf() == nil {
		return
	}
	for _, ca := range missing {
		if signedBy(serving.Leaf(), ca) {
			finding.Severity = assess.Critical
			finding.Reason += ", which signs api-int's certificate: a kubelet that reconnects or restarts with this file fails with x509: certificate signed by unknown authority"
			return
		}
	}
}
