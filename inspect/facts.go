package inspect

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Facts is all that a check may look at: a snapshot, the time, and what the
// catalog says of each place. It is made once and never changed.
type Facts struct {
	Snapshot          Snapshot
	Now               time.Time
	ExpiryWindow      time.Duration // how near an end of validity is worth saying
	ExpiryWindowGiven bool          // see ForWindow
	Entries           []Entry       // one for each of Snapshot.Bundles
	Certs             []StoredCert  // one for each distinct certificate, by subject
	Leaves            []StoredCert  // those that are the leaf of an identity, and where
	over              func() bool   // see Within
	byNode            byNode
}

// nodePath is a file of a node.
type nodePath struct{ node, path string }

// Use is what the certificates at a place are there for.
type Use string

// The uses. A place whose use can't be told is UseOther: checks that need to
// know pass it over.
const (
	UseOther    Use = ""
	UseIdentity Use = "identity" // presented to others: the leaf first, its chain after it
	UseTrust    Use = "trust"    // which CAs to trust: a CA bundle
	UseRecord   Use = "record"   // kept for the record only, as in a CertificateSigningRequest
)

// Entry is a bundle with what is known of its place.
type Entry struct {
	*Bundle
	Row *catalog.Place // nil: the catalog does not know it
	Use Use
	// Revision is the static pod revision that the object is a copy for, else
	// 0; Superseded says that there is a newer one. So is a file that was replaced,
	// and a MachineConfig that was rendered for a pool that uses others.
	Revision   int
	Superseded bool
	named      bool // by the cluster's configuration: see Reference
	worker     bool // see markWorkers
}

// StoredCert is one certificate and the places that hold it.
type StoredCert struct {
	*pki.Cert
	Entries []*Entry
}

// NewFacts prepares a snapshot, which must be sorted, for judging.
func NewFacts(s Snapshot, now time.Time, within time.Duration) *Facts {
	f := &Facts{Snapshot: s, Now: now, ExpiryWindow: within, Entries: make([]Entry, len(s.Bundles)), byNode: newByNode(&s)}
	newest := map[pki.Location]int{}
	refs := refsOf(s.References)
	for i := range s.Bundles {
		f.Entries[i] = newEntry(&s.Bundles[i], s.Cluster.Versions, refs)
		h := &f.Entries[i]
		if h.Revision > 0 {
			newest[h.base()] = max(newest[h.base()], h.Revision)
		}
	}
	for i := range f.Entries {
		h := &f.Entries[i]
		h.Superseded = h.Revision > 0 && h.Revision < newest[h.base()] || refs.unused(h.At)
	}
	f.supersedeOnNodes()
	f.markWorkers()
	f.Certs = storedCerts(f.Entries)
	f.Leaves = servedLeaves(f.Certs)
	return f
}

// Hints write the next steps that the facts lead to.
func (f *Facts) Hints() Hints { return f.Snapshot.Hints }

// ForWindow returns the facts for a user who asks what expires within f.ExpiryWindow: each
// certificate that does is a finding then, whatever share of its life is left.
func (f *Facts) ForWindow() *Facts {
	out := *f
	out.ExpiryWindowGiven = true
	return &out
}

// Within returns the facts for who judges them no longer than ctx lasts.
func (f *Facts) Within(ctx context.Context) *Facts {
	out := *f
	out.over = func() bool { return ctx.Err() != nil }
	return &out
}

// Over reports whether the ctx of Within is done: what is not judged yet is not needed.
func (f *Facts) Over() bool { return f.over != nil && f.over() }

// ReadAll reports whether all objects of a kind were read: what is "secrets" or the
// like, as in Read.What.
func (f *Facts) ReadAll(what string) bool {
	whole := slices.ContainsFunc(f.Snapshot.Reads, func(r Read) bool {
		return r.What == what && r.Where == "" && r.Note == "" && !r.Skipped
	})
	return whole && !slices.ContainsFunc(f.Snapshot.Gaps, func(g Gap) bool { return g.What == what })
}

// Absent reports whether a place that was not found is known not to be there: all
// objects of its kind were read, in the cluster or in its namespace.
func (f *Facts) Absent(r catalog.Ref) bool {
	if slices.Contains(f.Snapshot.Listed, Listed{pki.Kind(r.Kind), r.Namespace}) {
		return true
	}
	switch r.Kind {
	case catalog.Secret:
		return f.ReadAll("secrets")
	case catalog.ConfigMap:
		return f.ReadAll("configmaps")
	}
	return false
}

// supersedeOnNodes marks the pairs that certificate managers on nodes (of the
// kubelet, multus, ovnkube-node) have replaced: they keep old ones beside the one
// that their link names.
func (f *Facts) supersedeOnNodes() {
	type manager struct{ node, prefix string }
	current := map[manager]string{} // the path in use
	for i := range f.Snapshot.Nodes {
		n := &f.Snapshot.Nodes[i]
		for j := range n.Files {
			if l := &n.Files[j]; IsCurrentLink(l) && l.Target != "" {
				current[manager{n.Name, strings.TrimSuffix(l.Path, currentSuffix)}] = l.Target
			}
		}
	}
	for i := range f.Entries {
		h := &f.Entries[i]
		if h.At.Node == "" || strings.HasSuffix(h.At.Path, currentSuffix) {
			continue
		}
		// kubelet-client of kubelet-client-2026-01-31-12-00-00.pem, and one part more.
		for end, parts := len(h.At.Path), 0; end > 0 && parts < 7; parts++ {
			end = strings.LastIndexByte(h.At.Path[:end], '-')
			if end <= 0 {
				break
			}
			if used, ok := current[manager{h.At.Node, h.At.Path[:end]}]; ok {
				h.Superseded = used != h.At.Path
				break
			}
		}
	}
}

// storedCerts groups the places by certificate. All certificates share one list of
// places: tens of thousands of small ones would weigh more than what they hold.
func storedCerts(entries []Entry) []StoredCert {
	type stored struct {
		cert   *pki.Cert
		places int
		last   *Entry // a bundle that holds a certificate twice is one place
		to     *StoredCert
	}
	by := map[pki.Fingerprint]*stored{}
	var order []*stored
	places := 0
	for i := range entries {
		for _, c := range entries[i].Content.Certs {
			s := by[c.Fingerprint]
			if s == nil {
				s = &stored{cert: c}
				by[c.Fingerprint] = s
				order = append(order, s)
			}
			if s.last != &entries[i] {
				s.last = &entries[i]
				s.places++
				places++
			}
		}
	}
	slices.SortFunc(order, func(a, b *stored) int {
		return cmp.Or(strings.Compare(a.cert.Subject, b.cert.Subject), bytes.Compare(a.cert.Fingerprint[:], b.cert.Fingerprint[:]))
	})
	out, all := make([]StoredCert, len(order)), make([]*Entry, places)
	for i, s := range order {
		out[i] = StoredCert{Cert: s.cert, Entries: all[:0:s.places]}
		all = all[s.places:]
		s.to, s.last = &out[i], nil
	}
	for i := range entries {
		for _, c := range entries[i].Content.Certs {
			if s := by[c.Fingerprint]; s.last != &entries[i] {
				s.last = &entries[i]
				s.to.Entries = append(s.to.Entries, s.last)
			}
		}
	}
	return out
}

// base is the location of which a revision is a copy.
func (e *Entry) base() pki.Location {
	at := e.At
	if base, _, ok := catalog.RevisionOf(string(at.Kind), at.Namespace, at.Name); ok {
		at.Name = base
	}
	return at
}

func newEntry(b *Bundle, v catalog.Versions, refs refs) Entry {
	h := Entry{Bundle: b}
	at := b.At
	h.named = refs.names(at)
	if at.Kind == pki.KindFile {
		if at.Node != "" { // a file of this machine is no node's
			h.row(catalog.Lookup(catalog.File, "", at.Path, "", v))
		}
	} else if b.Object != nil {
		o := catalog.Object{Kind: string(at.Kind), Namespace: at.Namespace, Name: at.Name, Type: b.Object.Type, Signer: b.Object.Signer, Labels: b.Object.Labels, Annotations: b.Object.Annotations}
		h.row(catalog.LookupObject(o, h.key(), v))
		if path, ok := FileIn(at); ok && h.Row == nil { // what nodes will have there
			h.row(catalog.Lookup(catalog.File, "", path, "", v))
		}
		if _, n, ok := catalog.RevisionOf(string(at.Kind), at.Namespace, at.Name); ok {
			h.Revision = n
		}
	}
	h.Use = useOf(&h)
	return h
}

// key is what the catalog's rows call Ref.Key: the key of a Secret or ConfigMap,
// of other objects the field, without the path inside a document that it holds.
func (e *Entry) key() string {
	if e.At.Key != "" {
		return e.At.Key
	}
	field, _, _ := strings.Cut(e.At.Field, "#")
	return field
}

// row keeps the catalog's row, where there is one.
func (e *Entry) row(p catalog.Place, known bool) {
	if known {
		row := p // a copy of its own, so that most calls, which know nothing, allocate nothing
		e.Row = &row
	}
}

// Role is the catalog's; empty where it does not know the place.
func (e *Entry) Role() string {
	if e.Row == nil {
		return ""
	}
	return string(e.Row.Role)
}

// Leaf is the certificate that an identity presents: the first one.
func (e *Entry) Leaf() *pki.Cert {
	if e.Use != UseIdentity || len(e.Content.Certs) == 0 {
		return nil
	}
	return e.Content.Certs[0]
}

// Annotation of the object; empty where there is none.
func (e *Entry) Annotation(name string) string {
	if e.Object == nil {
		return ""
	}
	return e.Object.Annotations[name]
}

// byUser is the owner of what administrators write.
const byUser = "user"

// Owner says whose the place is, for people: by the catalog, else by the
// object's own annotation, else the user's where the cluster's configuration names
// it; empty when no one says.
func (e *Entry) Owner() string {
	if e.Row != nil {
		return e.Row.Owner
	}
	owner := e.Annotation(catalog.AnnotationOwningComponent)
	if owner == "" && e.named {
		return byUser
	}
	return owner
}

// Locations are the places of entries.
func Locations(entries []*Entry) []pki.Location {
	out := make([]pki.Location, len(entries))
	for i, h := range entries {
		out[i] = h.At
	}
	return out
}

// days writes a duration in days where it is some.
func days(d time.Duration) string {
	if d >= 48*time.Hour && d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d d", d/(24*time.Hour))
	}
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}

// CertName is how a certificate is called in a sentence.
func CertName(c *pki.Cert) string {
	s := pki.CommonName(c.Subject)
	if s == "" && len(c.Names.DNS) > 0 {
		s = c.Names.DNS[0]
	}
	if s == "" {
		s = "no subject"
	}
	return fmt.Sprintf("%s (%s)", foreign.QuotedName(s), c.Fingerprint.Short())
}

// MaxSameName bounds how many CAs of one name are told apart by verifying signatures. With
// more of them, nothing is said of what they issued.
const MaxSameName = 20

// At returns the bundle at a place of the catalog; nil if none was read.
func (f *Facts) At(r catalog.Ref) *Entry {
	for i := range f.Entries {
		h := &f.Entries[i]
		if string(h.At.Kind) == r.Kind && h.At.Namespace == r.Namespace && h.At.Name == r.Name && (r.Key == "" || h.At.Key == r.Key) {
			return h
		}
	}
	return nil
}

// servedLeaves returns, for each certificate that is the leaf of an identity, the
// places where it is. Certificates kept for the record are passed over.
func servedLeaves(certs []StoredCert) []StoredCert {
	var out []StoredCert
	for _, c := range certs {
		var in []*Entry
		for _, h := range c.Entries {
			if leaf := h.Leaf(); leaf != nil && leaf.Fingerprint == c.Fingerprint {
				in = append(in, h)
			}
		}
		if len(in) > 0 {
			out = append(out, StoredCert{Cert: c.Cert, Entries: in})
		}
	}
	return out
}

// Overdue reports whether a certificate that is renewed so should have been by now.
func (f *Facts) Overdue(c StoredCert, r Renewal) bool {
	if r.Due.IsZero() || c.NotAfter.Before(f.Now) { // certificate-expired says it
		return false
	}
	// library-go lets a leaf wait until its signer is older than a tenth of
	// the refresh period; the hour is for every user's resync
	grace := max(r.Due.Sub(c.NotBefore)/10, time.Hour)
	// but never so long that no one would be warned
	grace = min(grace, c.NotAfter.Sub(r.Due)/2)
	return !f.Now.Before(r.Due.Add(grace))
}
