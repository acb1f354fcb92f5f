package inspect

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

func onNode(n *Node, file string) pki.Location {
	return pki.Location{Kind: pki.KindFile, Node: n.Name, Path: file}
}

// read returns the nodes on which something was read.
func (f *Facts) read() []*Node {
	var out []*Node
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
func clockSkew(f *Facts) []Finding {
	var out []Finding
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
		severity := Warning
		if off >= skewBad {
			severity = Critical
		}
		out = append(out, Finding{Severity: severity, At: at, Next: next,
			Message: fmt.Sprintf("the clock of %s is at least %s %s %s: it judges by it what is valid", whoseClock, off.Round(time.Second), way, than)})
	}
	if known {
		judge(-most, -least, "this machine", "the API server's", "set it right (timedatectl) and inspect again: everything here was judged by it, or give --now", nil)
	}
	for _, n := range f.read() {
		if low, high, ok := n.Clock.Ahead(); ok {
			judge(low-most, high-least, "node "+n.Name, whose, "on the node: chronyc tracking; systemctl status chronyd", []pki.Location{onNode(n, "")})
		}
	}
	return out
}

// kubeletRuns looks at the state of kubelet.service.
func kubeletRuns(f *Facts) []Finding {
	var out []Finding
	for _, n := range f.read() {
		k := n.Kubelet
		if k.Active == "" || k.Active == "active" && k.Sub == "running" {
			continue
		}
		out = append(out, Finding{Severity: Critical, At: []pki.Location{onNode(n, "")},
			Message: fmt.Sprintf("kubelet.service on %s is %s (%s)", n.Name, k.Active, k.Sub),
			Next:    "on the node: systemctl status kubelet; journalctl -u kubelet -n 50"})
	}
	return out
}

// kubeletRotates looks at who renews the kubelet's client certificate.
func kubeletRotates(f *Facts) []Finding {
	var out []Finding
	for _, n := range f.read() {
		if r := n.Kubelet.RotateCertificates; r != nil && !*r {
			out = append(out, Finding{Severity: Warning, At: []pki.Location{onNode(n, "")},
				Message: fmt.Sprintf("the kubelet on %s has rotateCertificates: false: nobody renews its client certificate, and without one it can't reach the API", n.Name),
				Next:    "set rotateCertificates: true in the kubelet's configuration, as OpenShift and kubeadm do"})
		}
	}
	return out
}

// currentLinks looks at the links by which certificate managers name the pair in
// use.
func currentLinks(f *Facts) []Finding {
	var out []Finding
	for _, n := range f.read() {
		for i := range n.Files {
			l := &n.Files[i]
			if !isCurrentLink(l) {
				continue
			}
			message := ""
			switch target := n.File(l.Target); {
			case l.Target == "":
				message = "leads nowhere (" + foreign.Text(l.Link) + ")"
			case l.Whole && target == nil && f.inNode(n, l.Target) == nil:
				message = "leads to " + foreign.Text(l.Target) + ", which holds no certificate that could be read"
			}
			if message != "" {
				out = append(out, Finding{Severity: Critical, At: []pki.Location{onNode(n, l.Path)},
					Message: fmt.Sprintf("%s on %s %s: whoever starts with it has no certificate", foreign.Text(path.Base(l.Path)), n.Name, message),
					Next:    "a kubelet asks for a new one when it is restarted with a bootstrap kubeconfig that works: approve its request (kubectl get csr), or on OpenShift " + f.Hints().Next("{} fix-api-int --nodes %s --rebootstrap --approve-csrs, which asks first whether it works", n.Name)})
			}
		}
	}
	return out
}

const currentSuffix = "-current.pem"

func isCurrentLink(l *NodeFile) bool { return l.Link != "" && strings.HasSuffix(l.Path, currentSuffix) }

// File returns what was read of a file or link on the node; nil: nothing, or it
// holds nothing that matters here.
func (n *Node) File(p string) *NodeFile {
	i, ok := slices.BinarySearchFunc(n.Files, p, func(f NodeFile, p string) int { return strings.Compare(f.Path, p) })
	if !ok {
		return nil
	}
	return &n.Files[i]
}

// inNode returns the first place in a file of a node; nil if there is none.
func (f *Facts) inNode(n *Node, file string) *Held {
	for i := range f.Held {
		if h := &f.Held[i]; h.At.Node == n.Name && h.At.Path == file {
			return h
		}
	}
	return nil
}

// filePrivate looks at who may read or change what only root should.
func filePrivate(f *Facts) []Finding {
	type kind struct {
		message  string
		severity Severity
	}
	found := map[kind][]pki.Location{}
	var order []kind
	add := func(k kind, at pki.Location) {
		if found[k] == nil {
			order = append(order, k)
		}
		found[k] = append(found[k], at)
	}
	for _, n := range f.read() {
		for i := range n.Files {
			file := &n.Files[i]
			perm := file.Mode.Perm()
			switch at := onNode(n, file.Path); {
			case file.Link != "":
			case file.Secret && perm&0o007 != 0:
				add(kind{fmt.Sprintf("everybody on the node may read a key or a token (mode %04o)", perm), Critical}, at)
			case perm&0o022 != 0:
				add(kind{fmt.Sprintf("others than the owner may change it (mode %04o)", perm), Critical}, at)
			case file.Secret && file.GID != 0 && perm&0o040 != 0:
				add(kind{fmt.Sprintf("group %d may read a key or a token (mode %04o)", file.GID, perm), Warning}, at)
			case file.Secret && file.UID != 0:
				add(kind{fmt.Sprintf("a key or a token belongs to user %d, not to root", file.UID), Warning}, at)
			}
		}
	}
	var out []Finding
	for _, k := range order {
		out = append(out, Finding{Severity: k.severity, At: found[k], Message: k.message, Next: "chmod 0600 and chown root:root, after finding out who changed it; replace the key if others could read it"})
	}
	return out
}

// kubeconfigSound looks at how kubeconfigs on nodes are put together.
func kubeconfigSound(f *Facts) []Finding {
	var out []Finding
	for _, n := range f.read() {
		for _, k := range n.Kubeconfigs {
			if n.File(k.Path) == nil {
				continue
			}
			for _, p := range f.unsound(n, k) {
				p.At, p.Message = []pki.Location{onNode(n, k.Path)}, k.Path+" on "+n.Name+": "+p.Message
				out = append(out, p)
			}
		}
	}
	return out
}

func (f *Facts) unsound(n *Node, k Kubeconfig) []Finding {
	const by = "compare with another node of the same kind"
	if k.Problem != "" {
		return []Finding{{Severity: Critical, Message: k.Problem, Next: by}}
	}
	var out []Finding
	switch {
	case len(k.Clusters) == 0:
		return []Finding{{Severity: Critical, Message: "it names no cluster", Next: by}}
	case len(k.Clusters) > 1:
		out = append(out, Finding{Severity: Warning, Message: fmt.Sprintf("it names %d clusters; OpenShift reads and mends only the first", len(k.Clusters)), Next: "remove those that are not in use"})
	}
	kubelets := k.Path == "/etc/kubernetes/kubeconfig" || k.Path == "/var/lib/kubelet/kubeconfig"
	if !slices.ContainsFunc(k.Clusters, func(c KubeconfigCluster) bool { return c.Name == k.Current }) {
		finding := Finding{Severity: Warning, Message: "its current context leads to no cluster", Next: by}
		if kubelets {
			finding.Severity = Critical
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
			out = append(out, Finding{Severity: Critical, Message: "insecure-skip-tls-verify: it talks to anybody who answers at " + c.Server, Next: "remove it, and put the CA of the API server there"})
		case !c.CAData && c.CAFile == "" && strings.HasPrefix(c.Server, "https:"):
			finding := Finding{Severity: Warning, Message: "no CA: only what the system trusts is accepted at " + c.Server, Next: "put the CA of the API server there as certificate-authority-data"}
			if kubelets && f.Snapshot.Cluster.Versions.Cluster != "" {
				finding.Severity = Critical // OpenShift's CA is in no system's trust store
			}
			out = append(out, finding)
		case c.CAData && !c.Masked:
			out = append(out, f.embeddedCA(n, k.Path, c)...)
		}
	}
	return out
}

// embeddedCA looks at certificate-authority-data.
func (f *Facts) embeddedCA(n *Node, file string, c KubeconfigCluster) []Finding {
	for i := range f.Held {
		h := &f.Held[i]
		if h.At.Node != n.Name || h.At.Path != file || h.At.Field != c.Field {
			continue
		}
		for _, cert := range h.Content.Certs {
			if cert.IsCA {
				return nil
			}
		}
	}
	return []Finding{{Severity: Critical, Message: "certificate-authority-data holds no CA: nothing is accepted at " + c.Server, Next: "put the CA of the API server there"}}
}

// fileCurrent compares files with the objects of which they are copies.
func fileCurrent(f *Facts) []Finding {
	type difference struct{ of, what string }
	found := map[difference]*Finding{}
	var order []difference
	sources := map[catalog.Ref]*Held{} // many nodes hold copies of the same few
	for i := range f.Held {
		h := &f.Held[i]
		if h.At.Node == "" || h.Superseded {
			continue
		}
		row, ok := catalog.NodeCopyOf(h.At.Path, f.Snapshot.Cluster.Versions)
		if !ok || row.Embedded != strings.HasSuffix(h.At.Field, "certificate-authority-data") {
			continue
		}
		source, known := sources[row.Of]
		if !known {
			source = f.at(row.Of)
			sources[row.Of] = source
		}
		if source == nil {
			continue // not read: then a gap says so, or it was not asked for
		}
		what, since, missing := lag(h, source)
		if what == "" {
			continue
		}
		d := difference{row.Of.String(), what}
		if found[d] == nil {
			finding := f.behind(row, what, since, missing)
			found[d] = &finding
			order = append(order, d)
		}
		found[d].At = append(found[d].At, h.At)
	}
	out := f.emptyCopies(sources)
	for _, d := range order {
		out = append(out, *found[d])
	}
	return out
}

// emptyCopies finds files that were read whole, are to hold what an object holds,
// and hold no certificate: truncated by a full disk, or overwritten.
func (f *Facts) emptyCopies(sources map[catalog.Ref]*Held) []Finding {
	var out []Finding
	for _, n := range f.read() {
		for i := range n.Files {
			file := &n.Files[i]
			row, ok := catalog.NodeCopyOf(file.Path, f.Snapshot.Cluster.Versions)
			if !ok || row.Embedded || !file.Whole || file.Link != "" || f.inNode(n, file.Path) != nil {
				continue
			}
			if _, known := sources[row.Of]; !known {
				sources[row.Of] = f.at(row.Of)
			}
			if source := sources[row.Of]; source != nil && len(source.Content.Certs) > 0 {
				out = append(out, Finding{Severity: Critical, At: []pki.Location{onNode(n, file.Path)},
					Message: fmt.Sprintf("%s on %s holds no certificate; it is a copy of %s", foreign.Text(path.Base(file.Path)), n.Name, row.Of),
					Next:    "look whether the disk of the node is full; the file is brought there by " + row.By})
			}
		}
	}
	return out
}

// Copies returns the bundles on nodes that are copies of objects that were read.
// Kubeconfigs are none: each is judged by what it is shown.
func (f *Facts) Copies() []Made {
	var out []Made
	sources := map[catalog.Ref]*Held{}
	for i := range f.Held {
		h := &f.Held[i]
		if h.At.Node == "" || h.Superseded || h.Use != UseTrust {
			continue
		}
		row, ok := catalog.NodeCopyOf(h.At.Path, f.Snapshot.Cluster.Versions)
		if !ok || row.Embedded || h.At.Field != "" {
			continue
		}
		source, known := sources[row.Of]
		if !known {
			source = f.at(row.Of)
			sources[row.Of] = source
		}
		if source == nil {
			continue
		}
		_, _, missing := lag(h, source)
		m := Made{At: []pki.Location{h.At}, Certs: h.Content.Certs, Lacks: missing}
		m.Skipped = skippedOf(h, func(fp pki.Fingerprint) bool {
			return slices.ContainsFunc(source.Content.Certs, func(c *pki.Cert) bool { return c.Fingerprint == fp })
		})
		if len(missing) > 0 {
			m.From = []string{source.At.String()}
		}
		out = append(out, m)
	}
	return out
}

// lag says what a copy lacks, since when, and which certificates; nothing where
// it lacks nothing. More than the source has is no harm: old CAs stay for a
// while.
func lag(h, source *Held) (what string, since time.Time, missing []*pki.Cert) {
	if h.Use == UseIdentity {
		mine, theirs := h.leaf(), source.leaf()
		if mine == nil || theirs == nil || mine.Fingerprint == theirs.Fingerprint {
			return "", since, nil
		}
		return fmt.Sprintf("holds %s and not %s", name(mine), name(theirs)), theirs.NotBefore, []*pki.Cert{theirs}
	}
	var names []string
	for _, c := range source.Content.Certs {
		if !slices.ContainsFunc(h.Content.Certs, func(x *pki.Cert) bool { return x.Fingerprint == c.Fingerprint }) {
			missing = append(missing, c)
			names = append(names, name(c))
			if c.NotBefore.After(since) {
				since = c.NotBefore
			}
		}
	}
	if len(missing) == 0 {
		return "", since, nil
	}
	return "lacks " + strings.Join(names, ", "), since, missing
}

// copying is how long a copy may take: a kubelet and a syncer look once a
// minute, an operator's rollout over a few nodes some more.
const copying = 10 * time.Minute

// behind is the finding for a copy that lacks something.
func (f *Facts) behind(row catalog.NodeCopy, what string, since time.Time, missing []*pki.Cert) Finding {
	finding := Finding{Severity: Warning, Due: since, Message: fmt.Sprintf("a copy of %s %s", row.Of, what),
		Next: "find out why it was not brought there by " + row.By}
	for _, c := range missing {
		finding.Certs = append(finding.Certs, c.Fingerprint)
	}
	if row.Of == catalog.APIServerCA() {
		f.distrusts(&finding, missing)
	}
	if f.Now.Sub(since) < copying && finding.Severity == Warning {
		finding.Severity = Info
		finding.Message += " (made " + ago(f.Now, since) + ": it may be on its way)"
	}
	return finding
}

// distrusts tells what it means for a kubelet to lack a CA of the API server. Of
// those only the load balancer's signs what kubelets are shown: what the API
// shows at localhost and in the service network is no kubelet's business.
func (f *Facts) distrusts(finding *Finding, missing []*pki.Cert) {
	shown, signer := f.at(catalog.InternalLoadBalancerServing()), f.at(catalog.LoadBalancerSigner())
	matters := func(ca *pki.Cert) bool {
		return shown != nil && shown.leaf() != nil && signedBy(shown.leaf(), ca) ||
			signer != nil && signer.leaf() != nil && signer.leaf().Fingerprint == ca.Fingerprint
	}
	if !slices.ContainsFunc(missing, matters) {
		finding.Severity = Info
		finding.Message += ", which signs nothing that kubelets are shown"
		finding.Next = ""
		if shown == nil || signer == nil {
			finding.Severity = Warning
			finding.Message = strings.TrimSuffix(finding.Message, ", which signs nothing that kubelets are shown") + "; whether api-int uses it was not read"
			finding.Next = "read " + catalog.InternalLoadBalancerServing().String() + " and " + catalog.LoadBalancerSigner().String() + " too"
		}
		return
	}
	delivery, answer := catalog.DeliveryOf(catalog.KubeletKubeconfigCA(), f.Snapshot.Cluster.Versions)
	if answer == catalog.Yes && !delivery.Delivered {
		command := f.Hints().Next("{} fix-api-int")
		if shown != nil && shown.leaf() != nil && !slices.ContainsFunc(missing, func(ca *pki.Cert) bool { return signedBy(shown.leaf(), ca) }) {
			command = f.Hints().Next("{} pretrust, ahead of the first certificate that it signs,")
		}
		finding.Next = "nothing brings it there in this version. " + command + " puts the CAs of the ConfigMap into both kubeconfigs of each kubelet, keeps the old ones, and restarts it: masters first, one at a time"
	}
	if shown == nil || shown.leaf() == nil {
		return
	}
	for _, ca := range missing {
		if signedBy(shown.leaf(), ca) {
			finding.Severity = Critical
			finding.Message += ", which signs what api-int shows: a kubelet that reconnects or restarts with this file fails with x509: certificate signed by unknown authority"
			return
		}
	}
}
