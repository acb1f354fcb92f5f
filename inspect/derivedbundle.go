package inspect

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Composition is an aggregate of the catalog, as it was read.
type Composition struct {
	catalog.Aggregate
	Targets  []*Entry
	Expected map[pki.Fingerprint]Source // what the parts hold
	unread   []catalog.Ref              // the parts that may be there, and were not wholly read
	cut      bool                       // one of them was read in part
}

// Compositions are the bundles that are made of others.
func (f *Facts) Compositions() []Composition {
	var out []Composition
	var aggregates []catalog.Aggregate
	for _, a := range catalog.Aggregates() {
		if a.In.Holds(f.Snapshot.Cluster.Versions) == catalog.Yes {
			aggregates = append(aggregates, a)
		}
	}
	byObject := f.byObject(aggregates)
	for _, a := range aggregates {
		c := Composition{Aggregate: a, Targets: f.targets(a, byObject), Expected: map[pki.Fingerprint]Source{}}
		for _, part := range a.Parts {
			entries := byObject[objectKey(part)]
			there := len(entries) > 0
			if !there && !f.Absent(part) {
				c.unread, there = append(c.unread, part), true
			}
			for _, h := range entries {
				if h.Content.CutShort() != "" && !slices.Contains(c.unread, part) {
					c.unread, c.cut = append(c.unread, part), true
				}
				for _, cert := range wantedOf(f, h, part) {
					if _, ok := c.Expected[cert.Fingerprint]; !ok {
						c.Expected[cert.Fingerprint] = Source{cert, h.At}
					}
				}
			}
			if there && a.Relation == catalog.FirstCopy {
				break // or it may be there
			}
		}
		out = append(out, c)
	}
	return out
}

// DerivedBundle is a bundle that is made of others, or a file that is a copy of one.
type DerivedBundle struct {
	At      []pki.Location // copies with the same content are one
	Of      string         // the object of which it is a copy, for people; empty: it is made of others
	Certs   []*pki.Cert
	Missing []*pki.Cert // of what it is made of
	// Skipped are those of what it is made of that stand in it, and that some readers skip.
	Skipped []pki.Skipped
	Sources []string      // where those are
	Unread  []catalog.Ref // what it is made of, too, and was not read
}

// Aggregates returns the bundles that the catalog says to be made of others, where any of
// those were read.
func (f *Facts) Aggregates() []DerivedBundle {
	var out []DerivedBundle
	for _, c := range f.Compositions() {
		if len(c.Expected) == 0 && !c.cut {
			continue // of certificates that are no CAs there is nothing to hold
		}
		seen := map[*pki.Content]int{}
		for _, t := range c.Targets {
			if t.Use != UseTrust {
				continue
			}
			if n, ok := seen[t.Content]; ok {
				out[n].At = append(out[n].At, t.At)
				continue
			}
			seen[t.Content] = len(out)
			m := DerivedBundle{At: []pki.Location{t.At}, Certs: t.Content.Certs, Unread: c.unread}
			m.Skipped = skippedOf(t, func(fp pki.Fingerprint) bool { _, ok := c.Expected[fp]; return ok })
			for _, s := range Missing(t, c.Expected) {
				m.Missing = append(m.Missing, s.Cert)
				if from := s.At.String(); !slices.Contains(m.Sources, from) {
					m.Sources = append(m.Sources, from)
				}
			}
			out = append(out, m)
		}
	}
	return out
}

// skippedOf are the certificates of a bundle that are wanted in it, and that some readers
// skip.
func skippedOf(h *Entry, wanted func(pki.Fingerprint) bool) []pki.Skipped {
	_, skipped := h.Content.LoadedBy(pki.ReaderUnknown)
	var out []pki.Skipped
	for _, s := range skipped {
		if wanted(s.Fingerprint) {
			out = append(out, s)
		}
	}
	return out
}

// Missing is what a bundle lacks, by subject.
func Missing(t *Entry, wanted map[pki.Fingerprint]Source) []Source {
	has := make(map[pki.Fingerprint]bool, len(t.Content.Certs))
	for _, c := range t.Content.Certs {
		has[c.Fingerprint] = true
	}
	var out []Source
	for fp, s := range wanted {
		if !has[fp] {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(x, y Source) int {
		return strings.Compare(x.Cert.Subject+x.Cert.Fingerprint.String(), y.Cert.Subject+y.Cert.Fingerprint.String())
	})
	return out
}

// Source is a certificate that a bundle must hold, and where it comes from.
type Source struct {
	Cert *pki.Cert
	At   pki.Location
}

// wantedOf returns the unexpired CAs of a part.
func wantedOf(f *Facts, h *Entry, part catalog.Ref) []*pki.Cert {
	if part.Key != "" && part.Key != h.key() || h.Use == UseRecord {
		return nil
	}
	var out []*pki.Cert
	for _, c := range h.Content.Certs {
		if c.IsCA && !c.NotAfter.Before(f.Now) {
			out = append(out, c)
		}
	}
	return out
}

// objectKey is a place without its key, "*" namespaces kept as they are.
func objectKey(r catalog.Ref) catalog.Ref { r.Key = ""; return r }

// byObject finds the objects that aggregates speak of.
func (f *Facts) byObject(aggregates []catalog.Aggregate) map[catalog.Ref][]*Entry {
	m := map[catalog.Ref][]*Entry{}
	for _, a := range aggregates {
		m[objectKey(a.Target)] = nil
		for _, part := range a.Parts {
			m[objectKey(part)] = nil
		}
	}
	for i := range f.Entries {
		h := &f.Entries[i]
		if h.Revision > 0 {
			continue
		}
		k := catalog.Ref{Kind: string(h.At.Kind), Namespace: h.At.Namespace, Name: h.At.Name}
		if _, wanted := m[k]; wanted {
			m[k] = append(m[k], h)
		}
	}
	return m
}

// targets are the places of an aggregate: one object, its copies in all
// namespaces, or all objects of a pattern.
func (f *Facts) targets(a catalog.Aggregate, byObject map[catalog.Ref][]*Entry) []*Entry {
	var out []*Entry
	r := a.Target
	if a.Selector != (catalog.ObjectSelector{}) {
		for i := range f.Entries {
			h := &f.Entries[i]
			if string(h.At.Kind) == r.Kind && h.Object != nil && a.Selector.Annotated(h.Object.Annotations) && (r.Key == h.key() || r.Key == "" && h.Use == UseTrust) {
				out = append(out, h)
			}
		}
		return out
	}
	take := func(entries []*Entry) {
		for _, h := range entries {
			// Of a kubeconfig, it is the clusters that hold them, and not the users.
			if r.Key == "" && h.Use == UseTrust || r.Key != "" && r.Key == h.key() {
				out = append(out, h)
			}
		}
	}
	if r.Namespace != "*" && !strings.Contains(r.Name, "*") {
		take(byObject[objectKey(r)])
		return out
	}
	for i := range f.Entries {
		h := &f.Entries[i]
		named, _ := path.Match(r.Name, h.At.Name)
		if string(h.At.Kind) == r.Kind && named && (r.Namespace == "*" || r.Namespace == h.At.Namespace) && (h.Revision == 0 || r.Namespace == "*") {
			take([]*Entry{h})
		}
	}
	return out
}

// NodeCopies returns the bundles on nodes that are copies of objects that were read.
// Kubeconfigs are none: each is judged by what servers present to it.
func (f *Facts) NodeCopies() []DerivedBundle {
	var out []DerivedBundle
	sources := map[catalog.Ref]*Entry{}
	for i := range f.Entries {
		h := &f.Entries[i]
		if h.At.Node == "" || h.Superseded || h.Use != UseTrust {
			continue
		}
		row, ok := catalog.NodeCopyOf(h.At.Path, f.Snapshot.Cluster.Versions)
		if !ok || row.Embedded || h.At.Field != "" {
			continue
		}
		source, known := sources[row.Object]
		if !known {
			source = f.At(row.Object)
			sources[row.Object] = source
		}
		if source == nil {
			continue
		}
		_, _, missing := CopyDelay(h, source)
		m := DerivedBundle{At: []pki.Location{h.At}, Of: row.Object.Kind + " " + row.Object.Namespace + "/" + row.Object.Name, Certs: h.Content.Certs, Missing: missing}
		m.Skipped = skippedOf(h, func(fp pki.Fingerprint) bool {
			return slices.ContainsFunc(source.Content.Certs, func(c *pki.Cert) bool { return c.Fingerprint == fp })
		})
		if len(missing) > 0 {
			m.Sources = []string{source.At.String()}
		}
		if source.Content.CutShort() != "" {
			m.Unread = []catalog.Ref{row.Object}
		}
		out = append(out, m)
	}
	return out
}

// CopyDelay says what a copy lacks, since when, and which certificates; nothing where
// it lacks nothing. More than the source has is no harm: old CAs stay for a
// while.
func CopyDelay(h, source *Entry) (what string, since time.Time, missing []*pki.Cert) {
	if h.Use == UseIdentity {
		mine, theirs := h.Leaf(), source.Leaf()
		if mine == nil || theirs == nil || mine.Fingerprint == theirs.Fingerprint {
			return "", since, nil
		}
		return fmt.Sprintf("holds %s and not %s", CertName(mine), CertName(theirs)), theirs.NotBefore, []*pki.Cert{theirs}
	}
	var names []string
	for _, c := range source.Content.Certs {
		if !slices.ContainsFunc(h.Content.Certs, func(x *pki.Cert) bool { return x.Fingerprint == c.Fingerprint }) {
			missing = append(missing, c)
			names = append(names, CertName(c))
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
