package inspect

import (
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Renewal is what is known of how a certificate is renewed.
type Renewal struct {
	// Automatic says whether it is renewed automatically. Unknown: there are rules, and
	// the version that decides between them is unknown.
	Automatic catalog.Tristate
	None      bool      // the catalog says that nothing renews it; without that, No is that nothing is known to
	By        string    // who renews it, or would; empty where Automatic is No
	Due       time.Time // when, at the latest, if all goes well; zero unless Automatic is Yes
	From      time.Time // when, at the earliest: Due, unless chance or the patch version decides
	Rule      string    // the rule, for people
}

// stored are the places that hold a certificate: what a server presents says nothing of who renews it,
// unless no place was read.
func stored(in []*Entry) []*Entry {
	if !slices.ContainsFunc(in, func(h *Entry) bool { return h.At.Kind == KindServer }) {
		return in
	}
	if out := slices.DeleteFunc(slices.Clone(in), func(h *Entry) bool { return h.At.Kind == KindServer }); len(out) > 0 {
		return out
	}
	return in
}

// ByWriter groups places by who may write them: one group of the platform's and of administrators',
// else, where there are none, a group for each node, else one for each namespace, else for each server. What one place
// says of a certificate holds for the others of its group, which are copies.
func ByWriter(in []*Entry) [][]*Entry {
	var groups [][]*Entry
	first := WriterServer
	at := map[string]int{}
	for _, h := range stored(in) {
		w := h.Writer()
		if w > first {
			continue
		}
		if w < first {
			first, groups = w, nil
			clear(at)
		}
		i, seen := at[h.WrittenIn()]
		if !seen {
			i, at[h.WrittenIn()] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], h)
	}
	return groups
}

// Renewal tells how a certificate is renewed, by the places that present it: those in
// force go before older revisions, and one where it is renewed before others, which are
// copies of it. Of places that several nodes or tenants write the worst counts.
func (f *Facts) Renewal(c StoredCert) Renewal {
	for _, superseded := range []bool{false, true} {
		var presented []*Entry
		for _, h := range c.Entries {
			if leaf := h.Leaf(); h.Superseded == superseded && leaf != nil && leaf.Fingerprint == c.Fingerprint {
				presented = append(presented, h)
			}
		}
		if len(presented) == 0 {
			continue
		}
		var worst Renewal
		for i, copies := range ByWriter(presented) {
			r := f.renewalAmong(copies)
			if more := f.urgencyOf(c, r) - f.urgencyOf(c, worst); i == 0 || more > 0 || more == 0 && r.Due.After(worst.Due) {
				worst = r
			}
		}
		return worst
	}
	return Renewal{Automatic: catalog.No}
}

// renewalAmong is how the leaf of copies is renewed.
func (f *Facts) renewalAmong(copies []*Entry) Renewal {
	best := Renewal{Automatic: catalog.No}
	for _, h := range copies {
		switch r := RenewalOf(h, f.Snapshot.Cluster.Versions); {
		case r.Automatic == catalog.Yes:
			return r
		case r.Automatic == catalog.Unknown && best.Automatic == catalog.No:
			best = r
		case best.Automatic == catalog.No:
			best.None = best.None || r.None
		}
	}
	return best
}

// urgencyOf orders what is known of a renewal: one that is overdue is worse than none, which
// is worse than one that may be.
func (f *Facts) urgencyOf(c StoredCert, r Renewal) int {
	switch {
	case f.Overdue(c, r):
		return 3
	case r.Automatic == catalog.No:
		return 2
	case r.Automatic == catalog.Unknown:
		return 1
	}
	return 0
}

// RenewalOf is Renewal for a certificate that was read.
func (f *Facts) RenewalOf(c *pki.Cert) Renewal {
	i := slices.IndexFunc(f.Leaves, func(h StoredCert) bool { return h.Fingerprint == c.Fingerprint })
	if i < 0 {
		return Renewal{Automatic: catalog.No}
	}
	return f.Renewal(f.Leaves[i])
}

// RenewalOf tells how the leaf of h is renewed: by what its own annotations
// say, else by the catalog's row for the version that runs.
func RenewalOf(h *Entry, v catalog.Versions) Renewal {
	none := Renewal{Automatic: catalog.No}
	leaf := h.Leaf()
	if leaf == nil {
		return none
	}
	owner := h.Owner()
	if owner == "" || owner == byUser {
		owner = "its operator"
	}
	life := catalog.Lifetime{RenewAtPercent: 80, Renewer: owner}
	rule := "80 % of its validity"
	managed := h.Annotation(catalog.AnnotationNotAfter) != "" || h.Annotation(catalog.AnnotationNotBefore) != ""
	row, answer := catalog.Lifetime{}, catalog.No
	if h.Row != nil {
		row, answer = h.Row.Lifetime(v)
	}
	switch period, err := time.ParseDuration(h.Annotation(catalog.AnnotationRefreshPeriod)); {
	case err == nil && period > 0:
		life.Refresh = period
		rule = "its refresh period of " + days(period)
	case answer == catalog.Yes:
		life = row
		rule = ruleOf(row)
	case managed:
	case answer == catalog.Unknown:
		return Renewal{Automatic: catalog.Unknown, By: owner}
	default:
		return none
	}
	due, ok := life.LatestRenewal(leaf.NotBefore, leaf.NotAfter)
	if !ok {
		none.None = true
		return none
	}
	from, _ := life.EarliestRenewal(leaf.NotBefore, leaf.NotAfter)
	return Renewal{Automatic: catalog.Yes, By: life.Renewer, From: from, Due: due, Rule: rule}
}

func ruleOf(l catalog.Lifetime) string {
	switch {
	case l.Refresh > 0:
		return "its refresh period of " + days(l.Refresh)
	case l.RenewAtPercent > 0:
		return "its share of validity"
	}
	return "its end"
}

// Writer says who may write a place, and with it how far its word counts. Certificates are public:
// any user puts one into a Secret of their own, with any annotation, or as root into a file.
type Writer int

// The writers, the one whose word counts most first.
const (
	WriterPlatform Writer = iota // the platform and administrators
	WriterNode                   // who is root on a node that is not certain to be of the control plane
	WriterTenant
	WriterServer // who answers at an address that the user named
)

// Writer is the platform for an object of the whole cluster's, one in a namespace of the platform's, a
// file of a control plane node, and a file that the user named.
func (e *Entry) Writer() Writer {
	switch {
	case e.At.Kind == KindServer:
		return WriterServer
	case e.worker:
		return WriterNode
	case e.At.Namespace == "" || catalog.ReservedNamespace(e.At.Namespace):
		return WriterPlatform
	}
	return WriterTenant
}

// Reserved reports whether only the platform and administrators write the place.
func (e *Entry) Reserved() bool { return e.Writer() == WriterPlatform }

// nodeWriter is before the name of a node in WrittenIn: no namespace has a slash.
const nodeWriter = "node/"

// WrittenIn is the node ("node/NAME"), the namespace or the server ("server/HOST:PORT") whose writer
// wrote the place; empty for the platform and administrators.
func (e *Entry) WrittenIn() string {
	switch e.Writer() {
	case WriterNode:
		return nodeWriter + e.At.Node
	case WriterTenant:
		return e.At.Namespace
	case WriterServer:
		return "server/" + e.At.Name
	}
	return ""
}

// WrittenIn is Entry.WrittenIn of a place.
func (f *Facts) WrittenIn(at pki.Location) string { return f.entryAt(at).WrittenIn() }

// WriterOf is Entry.Writer of a place.
func (f *Facts) WriterOf(at pki.Location) Writer { return f.entryAt(at).Writer() }

// entryAt is an entry of which only the place is known.
func (f *Facts) entryAt(at pki.Location) *Entry {
	h := &Entry{Bundle: &Bundle{At: at}}
	if at.Node != "" {
		n, known := f.Node(at.Node)
		h.worker = !known || n.Role != catalog.RoleMaster
	}
	return h
}

// markWorkers notes which files are on nodes that the API does not say to be of the control plane. The
// role is a label that no kubelet may give its own Node; files say nothing of it, as root writes them.
func (f *Facts) markWorkers() {
	master := map[string]bool{}
	for _, n := range f.Snapshot.Nodes {
		master[n.Name] = n.Role == catalog.RoleMaster
	}
	for i := range f.Entries {
		h := &f.Entries[i]
		h.worker = h.At.Node != "" && !master[h.At.Node]
	}
}

// UndeliveredCA is the CA of api-int where it was replaced, and this version brings it to no kubelet.
type UndeliveredCA struct {
	Signer   *Entry
	CA       *pki.Cert
	Replaced time.Time
}

// UndeliveredCA is nil where the CA is the installer's, is delivered, or any of that is unknown.
func (f *Facts) UndeliveredCA() *UndeliveredCA {
	delivery, answer := catalog.DeliveryOf(catalog.KubeletKubeconfigCA(), f.Snapshot.Cluster.Versions)
	signer := f.At(catalog.LoadBalancerSigner())
	if answer != catalog.Yes || delivery.Delivered || signer == nil || signer.Leaf() == nil {
		return nil
	}
	ca := signer.Leaf()
	rotated, born := ca.NotBefore, f.Snapshot.Cluster.Created
	if !born.IsZero() && rotated.Sub(born) < 24*time.Hour { // the installer's own
		return nil
	}
	if _, unix, found := strings.Cut(pki.CommonName(ca.Subject), "@"); born.IsZero() && (!found || unix == "") {
		return nil // the installer's names carry no time
	}
	return &UndeliveredCA{signer, ca, rotated}
}

// FirstLeaf bounds how much younger than a new signer its first leaf can be: a
// leaf's refresh period, and a day. Kubelets fail in the days after that first
// leaf; a later one means that the cluster has lived through it, or was fixed
// by hand, which the API's objects don't tell.
const FirstLeaf = 16 * 24 * time.Hour

// PresentedSince is since when api-int presents certificates of a CA; zero: it presents none of it, or not its first
// one, or that is unknown.
func (f *Facts) PresentedSince(ca *UndeliveredCA) time.Time {
	h := f.At(catalog.InternalLoadBalancerServing())
	if h == nil || h.Leaf() == nil || h.Leaf().Issuer != ca.CA.Subject || h.Leaf().NotBefore.Sub(ca.Replaced) >= FirstLeaf {
		return time.Time{}
	}
	leaf, errLeaf := h.Leaf().X509()
	signer, errSigner := ca.CA.X509()
	if errLeaf != nil || errSigner != nil || leaf.CheckSignatureFrom(signer) != nil {
		return time.Time{}
	}
	return h.Leaf().NotBefore
}

// LackOnNode reports whether a kubeconfig of a kubelet was read that lacks a CA.
func (f *Facts) LackOnNode(node string, ca *pki.Cert) bool {
	n, ok := f.Node(node)
	return ok && slices.ContainsFunc(n.Kubeconfigs, func(k Kubeconfig) bool {
		roots, _ := f.Loaded(node, k)
		return len(roots) > 0 && !slices.ContainsFunc(roots, func(r *pki.Cert) bool { return r.Fingerprint == ca.Fingerprint })
	})
}
