package trust

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Event is something that happened to the CA of api-int, or is going to; or the end of
// what does not renew itself on nodes.
type Event struct {
	Part catalog.Part `json:"part"` // of the cluster under which it is told
	What string       `json:"what"` // for people
	// When it was, or will be at the earliest; zero: now, or unknown.
	When time.Time `json:"when,omitzero"`
	// Until is when it will be at the latest; zero: When says it all.
	Until   time.Time `json:"until,omitzero"`
	Sources []string  `json:"sources"` // the facts: places, or rows of the catalog
	// Remediation is what to do.
	Remediation assess.Remediation `json:"remediation,omitzero"`
}

// timeline tells what has become of the CA of api-int, and what will: from the name of
// its signer, what api-int presents, and whether this version brings CAs to the kubelets.
// Empty where the signer was not read: the claims say that.
func (j *judge) timeline(claims []Claim) []Event {
	signers := j.presented(catalog.LoadBalancerSigner(), catalog.ObjectSelector{})
	if len(signers) == 0 {
		return nil
	}
	at, ca := signers[0].at.String(), signers[0].chain[0]
	row, made, known := catalog.SignerNamed(pki.CommonName(ca.Subject))
	var out []Event
	switch {
	case !known:
		out = append(out, Event{What: fmt.Sprintf("the load balancer's signer is called %s, as neither the installer nor its operator calls it", foreign.QuotedName(pki.CommonName(ca.Subject))), When: ca.NotBefore, Sources: []string{at}})
	case row.ByInstaller:
		out = append(out, Event{What: "the load balancer's signer is still the installer's, made", When: ca.NotBefore, Sources: []string{at, row.Source}})
	default:
		out = append(out, Event{What: "the load balancer's signer was replaced", When: made, Sources: []string{at, row.Source}})
	}
	out = append(out, j.birth(row.ByInstaller)...)
	if known && row.ByInstaller {
		return append(out, j.replaced(ca, at)...)
	}
	return append(append(out, j.turn(claims, ca)...), j.delivery(claims, ca)...)
}

// birth tells where the cluster is of those that lose their first signer early.
func (j *judge) birth(first bool) []Event {
	c, early := j.f.Snapshot.Cluster, catalog.EarlySignerRotation()
	minor, ok := catalog.ParseMinor(c.InitialVersion)
	if !ok || minor.Compare(early.To) > 0 {
		return nil
	}
	e := Event{What: fmt.Sprintf("the cluster was born with %s: %s", c.InitialVersion, early.Doc), When: c.Created, Sources: []string{"ClusterVersion/version", early.Source}}
	if first {
		e.What += "; here that has not happened"
	}
	return []Event{e}
}

// replaced tells when the installer's signer is going to be replaced in its own time.
func (j *judge) replaced(ca *pki.Cert, at string) []Event {
	life, answer := catalog.LifetimeOf(catalog.LoadBalancerSigner(), j.f.Snapshot.Cluster.Versions)
	due, ok := life.LatestRenewal(ca.NotBefore, ca.NotAfter)
	if answer != catalog.Yes || !ok {
		return nil
	}
	return []Event{{What: "its operator replaces it", When: due, Sources: []string{at, life.Source}}}
}

// turn tells whether what api-int presents is of the signer already, and if not, when it
// will be.
func (j *judge) turn(claims []Claim, ca *pki.Cert) []Event {
	leaf, from := j.leaf(claims)
	if leaf == nil {
		return []Event{{What: "the certificate that api-int presents was not read", Sources: []string{catalog.InternalLoadBalancerServing().String()}}}
	}
	if certifiedBy(leaf, ca) {
		return []Event{{What: "the certificate that api-int presents is signed by it, since", When: leaf.NotBefore, Sources: []string{from}}}
	}
	e := Event{What: "the certificate that api-int presents is still signed by the previous signer", Sources: []string{from}}
	life, answer := catalog.LifetimeOf(catalog.InternalLoadBalancerServing(), j.f.Snapshot.Cluster.Versions)
	if answer != catalog.Yes {
		return []Event{e}
	}
	// The later one of the two rules counts where its operator is late.
	life.Refresh, e.When = 0, life.EarliestReissue(leaf.NotBefore, leaf.NotAfter, ca.NotBefore)
	e.Until, _ = life.LatestRenewal(leaf.NotBefore, leaf.NotAfter)
	e.What += ", and is rotated"
	e.Sources = append(e.Sources, life.Source)
	return []Event{e}
}

// certifiedBy reports whether a certificate is one of a signer.
func certifiedBy(leaf, ca *pki.Cert) bool {
	at := leaf.NotBefore
	if ca.NotBefore.After(at) {
		at = ca.NotBefore
	}
	return pki.VerifyCA(leaf, []*pki.Cert{ca}, at) == nil
}

// leaf is what api-int presents: what a handshake saw, else what is in the Secret.
func (j *judge) leaf(claims []Claim) (leaf *pki.Cert, from string) {
	for _, c := range claims {
		if c.Edge.Presented == catalog.InternalLoadBalancerServing() && c.Server != "" && len(c.Chain) > 0 {
			return c.Chain[0], "a handshake with " + c.Server + " from " + c.Node
		}
	}
	for _, s := range j.presented(catalog.InternalLoadBalancerServing(), catalog.ObjectSelector{}) {
		return s.chain[0], s.at.String()
	}
	return nil, ""
}

// delivery tells whether this version brings the CA to the kubelets, and how many of
// them have it.
func (j *judge) delivery(claims []Claim, ca *pki.Cert) []Event {
	var have, lack, unread []string
	for _, c := range claims {
		switch {
		case c.Trust == nil || c.Trust[0].Path != catalog.KubeletKubeconfigCA().Name || c.Edge.ID != "kubelet-api-int":
		case len(c.Roots) == 0:
			unread = append(unread, c.Node)
		case slices.ContainsFunc(c.Roots, func(r *pki.Cert) bool { return r.Fingerprint == ca.Fingerprint }):
			have = append(have, c.Node)
		default:
			lack = append(lack, c.Node)
		}
	}
	version := "this version"
	if v := j.f.Snapshot.Cluster.Versions.Cluster; v != "" {
		version += " (" + v + ")"
	}
	d, answer := catalog.DeliveryOf(catalog.KubeletKubeconfigCA(), j.f.Snapshot.Cluster.Versions)
	e := Event{Sources: []string{d.Source}}
	switch {
	case answer != catalog.Yes:
		e = Event{What: "whether this version brings it to the kubelets' kubeconfigs is unknown", Sources: []string{"ClusterVersion/version"}}
	case d.Delivered:
		e.What = version + " brings it to the kubelets' kubeconfigs: " + d.Doc
	default:
		e.What = version + " does not bring it to the kubelets' kubeconfigs: " + d.Doc
	}
	out := []Event{e}
	if len(have)+len(lack)+len(unread) == 0 {
		return append(out, Event{What: "no kubelet's kubeconfig was read: whether they have it is unknown", Sources: []string{catalog.KubeletKubeconfigCA().String()}, Remediation: assess.Advise(j.f.Hints().UnreadNodes("{} verify --nodes all"))})
	}
	known := map[string]bool{}
	for _, name := range slices.Concat(have, lack, unread) {
		known[name] = true
	}
	for _, n := range j.f.Snapshot.AllNodes() {
		if n.Via == "" && !known[n.Name] {
			known[n.Name] = true
			unread = append(unread, n.Name)
		}
	}
	e = Event{What: fmt.Sprintf("of %d kubelets' kubeconfigs %d have it, %d lack it, %d were not read", len(have)+len(lack)+len(unread), len(have), len(lack), len(unread)), Sources: []string{catalog.KubeletKubeconfigCA().String()}}
	if len(lack) > 0 {
		e.What += ": a node that lacks it has no heartbeat once its kubelet reconnects and api-int presents a certificate of the new signer"
		e.Remediation = assess.FixedCommand(j.f.Hints().Next("{} fix-api-int --dry-run=client"))
		if leaf, _ := j.leaf(claims); leaf != nil && !certifiedBy(leaf, ca) && answer == catalog.Yes && !d.Delivered {
			e.Remediation = assess.FixedCommand(j.f.Hints().Next("{} pretrust --dry-run=client")) // ahead of its first certificate each node keeps its heartbeat
		}
	}
	return append(out, e)
}

// TimelineOf is what happened and will happen to the parts that are spoken of.
func TimelineOf(f *inspect.Facts, claims []Claim, parts []catalog.Part) []Event {
	j, out := newJudge(f), []Event{}
	tell := func(part catalog.Part, events func() []Event) {
		if len(parts) > 0 && !slices.Contains(parts, part) {
			return
		}
		for _, e := range events() {
			e.Part = part
			out = append(out, e)
		}
	}
	if !f.Snapshot.Cluster.Versions.NotOpenShift {
		tell(catalog.PartAPIInt, func() []Event { return j.timeline(claims) })
		tell(catalog.PartServices, j.services)
	}
	tell(catalog.PartControlPlane, j.unknownMaker)
	tell(catalog.PartControlPlane, j.ending)
	return out
}

// services tells when service-ca replaces its signer, by its own rule, and whether who
// has not read the new one still trusts what it signs.
func (j *judge) services() []Event {
	var out []Event
	for _, r := range catalog.Rotations() {
		if r.Bridge == (catalog.Ref{}) || r.In.Holds(j.f.Snapshot.Cluster.Versions) != catalog.Yes {
			continue
		}
		life, answer := catalog.LifetimeOf(r.Signer, j.f.Snapshot.Cluster.Versions)
		for _, s := range j.presented(r.Signer, catalog.ObjectSelector{}) {
			if due, ok := life.LatestRenewal(s.chain[0].NotBefore, s.chain[0].NotAfter); ok && answer == catalog.Yes {
				out = append(out, Event{What: "service-ca's signer is replaced, with a bridge for clients that trust only this one,", When: due, Sources: []string{s.at.String(), life.Source}})
			}
		}
		for _, b := range j.presented(r.Bridge, catalog.ObjectSelector{}) {
			if end := b.chain[0].NotAfter; end.After(j.f.Now) {
				out = append(out, Event{What: "the bridge for clients that trust only the previous signer expires", When: end, Sources: []string{b.at.String(), r.Source}})
			}
		}
	}
	return out
}

// unknownMaker tells what is not judged in a cluster of which the catalog does not know who
// made it.
func (j *judge) unknownMaker() []Event {
	if s := &j.f.Snapshot; !s.Cluster.Versions.NotOpenShift || s.MadeByKubeadm() != catalog.No {
		return nil
	}
	return []Event{{
		What:    "this cluster is neither OpenShift nor made by kubeadm (there is no ConfigMap kube-system/kubeadm-config, or nodes lack its kubelet.conf): the CAs that its kubelets, its API servers and etcd trust are in files of its own, which the catalog does not know, and were not judged",
		Sources: []string{"ConfigMap/kube-system/kubeadm-config", "File:" + catalog.KubeadmKubeconfigs()[1]},
	}}
}

// ending tells when what kubeadm made on nodes expires: the first of each node's
// certificates, and each CA. None of it renews itself.
func (j *judge) ending() []Event {
	var out []Event
	if j.f.Snapshot.Cluster.Versions.NotOpenShift && j.f.Snapshot.MadeByKubeadm() == catalog.No {
		return nil
	}
	first, cas := map[string]*Event{}, map[pki.Fingerprint]bool{}
	for i := range j.f.Entries {
		h := &j.f.Entries[i]
		if h.At.Node == "" || h.Row == nil || h.Row.In.Component != catalog.Kubernetes || h.Superseded || h.Use != inspect.UseIdentity && h.Row.Role != catalog.Signer || len(h.Content.Certs) == 0 {
			continue
		}
		life, answer := h.Row.Lifetime(j.f.Snapshot.Cluster.Versions)
		if answer != catalog.Yes || life.SelfRotating() {
			continue
		}
		leaf := h.Content.Certs[0]
		e := Event{When: leaf.NotAfter, Sources: []string{h.At.String(), life.Source}}
		if leaf.IsCA {
			e.What = fmt.Sprintf("the CA %s (%s) expires", foreign.QuotedName(pki.CommonName(leaf.Subject)), life.Doc)
			if !cas[leaf.Fingerprint] {
				out = append(out, e)
			}
			cas[leaf.Fingerprint] = true
			continue
		}
		e.What = fmt.Sprintf("the first of kubeadm's certificates on %s (%s; %s) expires", h.At.Node, h.At.Path, life.Doc)
		e.Remediation = assess.Advise("on " + h.At.Node + ": kubeadm certs renew all, then restart its static pods")
		if before := first[h.At.Node]; before == nil || e.When.Before(before.When) {
			first[h.At.Node] = &e
		}
	}
	for _, node := range slices.Sorted(maps.Keys(first)) {
		e := *first[node]
		if e.When.Sub(j.f.Now) > j.f.ExpiryWindow {
			e.Remediation = assess.Remediation{} // there is time
		}
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b Event) int { return a.When.Compare(b.When) })
	return out
}
