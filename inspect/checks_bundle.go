package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// trustBundles groups the CA bundles by content: what is identical is judged
// once.
func trustBundles(f *Facts) [][]*Held {
	index := map[*pki.Content]int{}
	var out [][]*Held
	for i := range f.Held {
		h := &f.Held[i]
		if h.Use != UseTrust || len(h.Content.Certs) == 0 {
			continue
		}
		n, ok := index[h.Content]
		if !ok {
			n = len(out)
			index[h.Content] = n
			out = append(out, nil)
		}
		out[n] = append(out[n], h)
	}
	return out
}

// inBundles says of each distinct bundle something about the certificates that
// pick chooses. None of it harms anybody now: Info.
func inBundles(f *Facts, pick func([]*pki.Cert) []*pki.Cert, say func([]*pki.Cert) string) []Finding {
	var out []Finding
	for _, held := range trustBundles(f) {
		picked := pick(held[0].Content.Certs)
		if len(picked) == 0 {
			continue
		}
		in, _ := inForce(held)
		finding := Finding{Severity: Info, Message: say(picked), At: locations(in), Due: picked[0].NotAfter}
		for _, c := range picked {
			finding.Certs = append(finding.Certs, c.Fingerprint)
		}
		out = append(out, finding)
	}
	return out
}

func bundleExpired(f *Facts) []Finding {
	pick := func(certs []*pki.Cert) []*pki.Cert {
		var gone []*pki.Cert
		for _, c := range certs {
			if c.NotAfter.Before(f.Now) {
				gone = append(gone, c)
			}
		}
		if len(gone) == len(certs) {
			return nil // certificate-expired says it
		}
		return gone
	}
	return inBundles(f, pick, func(gone []*pki.Cert) string {
		return fmt.Sprintf("%d expired beside valid ones: %s", len(gone), names(gone))
	})
}

func bundleDuplicate(f *Facts) []Finding {
	pick := func(certs []*pki.Cert) []*pki.Cert {
		var twice []*pki.Cert
		seen := map[pki.Fingerprint]bool{}
		for _, c := range certs {
			if seen[c.Fingerprint] && !slices.Contains(twice, c) {
				twice = append(twice, c)
			}
			seen[c.Fingerprint] = true
		}
		return twice
	}
	return inBundles(f, pick, func(twice []*pki.Cert) string {
		return fmt.Sprintf("%d more than once: %s", len(twice), names(twice))
	})
}

func bundleNotCA(f *Facts) []Finding {
	pick := func(want func(c *pki.Cert, alone bool) bool) func([]*pki.Cert) []*pki.Cert {
		return func(certs []*pki.Cert) []*pki.Cert {
			alone := !slices.ContainsFunc(certs, func(c *pki.Cert) bool { return c.IsCA || c.SelfSigned })
			var out []*pki.Cert
			for _, c := range certs {
				if !c.IsCA && want(c, alone) {
					out = append(out, c)
				}
			}
			return out
		}
	}
	out := inBundles(f, pick(func(_ *pki.Cert, alone bool) bool { return alone }),
		func(certs []*pki.Cert) string {
			return fmt.Sprintf("no CA at all, but %d without CA:TRUE: Go's readers accept exactly these, OpenSSL's refuse them: %s", len(certs), names(certs))
		})
	out = append(out, inBundles(f, pick(func(c *pki.Cert, alone bool) bool { return !alone && !c.SelfSigned }), func(certs []*pki.Cert) string {
		return fmt.Sprintf("%d without CA:TRUE beside CAs, which issue nothing: %s", len(certs), names(certs))
	})...)
	return append(out, inBundles(f, pick(func(c *pki.Cert, _ bool) bool { return c.SelfSigned }), func(certs []*pki.Cert) string {
		return fmt.Sprintf("%d self-signed without CA:TRUE, which verify themselves only: %s", len(certs), names(certs))
	})...)
}

// names lists certificates, the first three by name.
func names(certs []*pki.Cert) string {
	var out []string
	for i, c := range certs {
		if i == 3 {
			out = append(out, fmt.Sprintf("%d more", len(certs)-3))
			break
		}
		out = append(out, name(c))
	}
	return strings.Join(out, ", ")
}

// bundleComplete compares each aggregate of the catalog with its parts.
func bundleComplete(f *Facts) []Finding {
	var out []Finding
	for _, c := range f.compositions() {
		out = append(out, lacking(f, c.Aggregate, c.targets, c.wanted)...)
	}
	return out
}

// composition is an aggregate of the catalog, as it was read.
type composition struct {
	catalog.Aggregate
	targets []*Held
	wanted  map[pki.Fingerprint]source // what the parts hold
	unread  []catalog.Ref              // the parts that may be there, and were not read
}

func (f *Facts) compositions() []composition {
	var out []composition
	var aggregates []catalog.Aggregate
	for _, a := range catalog.Aggregates() {
		if a.In.Holds(f.Snapshot.Cluster.Versions) == catalog.Yes {
			aggregates = append(aggregates, a)
		}
	}
	byObject := f.byObject(aggregates)
	for _, a := range aggregates {
		c := composition{Aggregate: a, targets: f.targets(a, byObject), wanted: map[pki.Fingerprint]source{}}
		for _, part := range a.Parts {
			held := byObject[objectKey(part)]
			if len(held) == 0 && !f.Absent(part) {
				c.unread = append(c.unread, part)
			}
			for _, h := range held {
				for _, cert := range wantedOf(f, h, part) {
					if _, ok := c.wanted[cert.Fingerprint]; !ok {
						c.wanted[cert.Fingerprint] = source{cert, h.At}
					}
				}
			}
		}
		out = append(out, c)
	}
	return out
}

// Made is a bundle that is made of others, or a file that is a copy of one.
type Made struct {
	At    []pki.Location // copies with the same content are one
	Certs []*pki.Cert
	Lacks []*pki.Cert // of what it is made of
	// Skipped are those of what it is made of that stand in it, and that some readers skip.
	Skipped []pki.Skipped
	From    []string      // where those are
	Unread  []catalog.Ref // what it is made of, too, and was not read
}

// Made returns the bundles that the catalog says to be made of others, where any of
// those were read.
func (f *Facts) Made() []Made {
	var out []Made
	for _, c := range f.compositions() {
		if len(c.wanted) == 0 {
			continue // of certificates that are no CAs there is nothing to hold
		}
		seen := map[*pki.Content]int{}
		for _, t := range c.targets {
			if t.Use != UseTrust {
				continue
			}
			if n, ok := seen[t.Content]; ok {
				out[n].At = append(out[n].At, t.At)
				continue
			}
			seen[t.Content] = len(out)
			m := Made{At: []pki.Location{t.At}, Certs: t.Content.Certs, Unread: c.unread}
			m.Skipped = skippedOf(t, func(fp pki.Fingerprint) bool { _, ok := c.wanted[fp]; return ok })
			for _, s := range missing(t, c.wanted) {
				m.Lacks = append(m.Lacks, s.cert)
				if from := s.at.String(); !slices.Contains(m.From, from) {
					m.From = append(m.From, from)
				}
			}
			out = append(out, m)
		}
	}
	return out
}

// skippedOf are the certificates of a bundle that are wanted in it, and that some readers
// skip.
func skippedOf(h *Held, wanted func(pki.Fingerprint) bool) []pki.Skipped {
	_, skipped := h.Content.LoadedBy(pki.ReaderUnknown)
	var out []pki.Skipped
	for _, s := range skipped {
		if wanted(s.Fingerprint) {
			out = append(out, s)
		}
	}
	return out
}

// missing is what a bundle lacks, by subject.
func missing(t *Held, wanted map[pki.Fingerprint]source) []source {
	var out []source
	for fp, s := range wanted {
		if !slices.ContainsFunc(t.Content.Certs, func(c *pki.Cert) bool { return c.Fingerprint == fp }) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(x, y source) int {
		return strings.Compare(x.cert.Subject+x.cert.Fingerprint.String(), y.cert.Subject+y.cert.Fingerprint.String())
	})
	return out
}

// source is a certificate that a bundle must hold, and where it comes from.
type source struct {
	cert *pki.Cert
	at   pki.Location
}

// wantedOf returns the unexpired CAs of a part.
func wantedOf(f *Facts, h *Held, part catalog.Ref) []*pki.Cert {
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

// lacking makes one finding for all targets that lack the same certificates.
func lacking(f *Facts, a catalog.Aggregate, targets []*Held, wanted map[pki.Fingerprint]source) []Finding {
	groups := map[string]*Finding{}
	var order []string
	for _, t := range targets {
		missing := missing(t, wanted)
		if len(missing) == 0 {
			continue
		}
		id := ""
		for _, m := range missing {
			id += m.cert.Fingerprint.Short()
		}
		g := groups[id]
		if g == nil {
			g = lackingFinding(a, missing)
			if settling(f, missing) {
				g.Severity = Info
			}
			groups[id] = g
			order = append(order, id)
		}
		g.At = append(g.At, t.At)
	}
	var out []Finding
	for _, id := range order {
		out = append(out, *groups[id])
	}
	return out
}

// settling reports whether all that is missing was made a moment ago: copies
// follow their source in seconds, but kube-root-ca.crt follows only when a new
// revision of kube-controller-manager runs on every master.
func settling(f *Facts, missing []source) bool {
	return !slices.ContainsFunc(missing, func(m source) bool { return f.Now.Sub(m.cert.NotBefore) > time.Hour })
}

func lackingFinding(a catalog.Aggregate, missing []source) *Finding {
	certs := make([]*pki.Cert, len(missing))
	from := map[string]bool{}
	for i, m := range missing {
		certs[i] = m.cert
		from[m.at.String()] = true
	}
	var sources []string
	for s := range from {
		sources = append(sources, s)
	}
	slices.Sort(sources)
	g := &Finding{
		Severity: Warning, Due: certs[0].NotBefore,
		Message: fmt.Sprintf("lacks %s of %s: its readers refuse what that CA signs", names(certs), strings.Join(sources, ", ")),
		Next:    "do not edit the copy; find out why its owner does not update it",
	}
	for _, c := range certs {
		g.Certs = append(g.Certs, c.Fingerprint)
	}
	if p, ok := catalog.Lookup(a.Target.Kind, a.Target.Namespace, a.Target.Name, a.Target.Key, catalog.Versions{}); ok {
		g.Next = "do not edit the copy; find out why " + p.Owner + " does not update it" + clusterOperatorHint(p.Owner)
	}
	return g
}

// objectKey is a place without its key, "*" namespaces kept as they are.
func objectKey(r catalog.Ref) catalog.Ref { r.Key = ""; return r }

// byObject finds the objects that aggregates speak of.
func (f *Facts) byObject(aggregates []catalog.Aggregate) map[catalog.Ref][]*Held {
	m := map[catalog.Ref][]*Held{}
	for _, a := range aggregates {
		m[objectKey(a.Target)] = nil
		for _, part := range a.Parts {
			m[objectKey(part)] = nil
		}
	}
	for i := range f.Held {
		h := &f.Held[i]
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

// targets are the places of an aggregate: one object, or its copies in all
// namespaces.
func (f *Facts) targets(a catalog.Aggregate, byObject map[catalog.Ref][]*Held) []*Held {
	var out []*Held
	r := a.Target
	if a.Carries != (catalog.Carries{}) {
		for i := range f.Held {
			h := &f.Held[i]
			if string(h.At.Kind) == r.Kind && h.annotation(a.Carries.Annotation) != "" && (r.Key == h.key() || r.Key == "" && h.Use == UseTrust) {
				out = append(out, h)
			}
		}
		return out
	}
	take := func(held []*Held) {
		for _, h := range held {
			// Of a kubeconfig, it is the clusters that hold them, and not the users.
			if r.Key == "" && h.Use == UseTrust || r.Key != "" && r.Key == h.key() {
				out = append(out, h)
			}
		}
	}
	if r.Namespace != "*" {
		take(byObject[objectKey(r)])
		return out
	}
	for i := range f.Held {
		h := &f.Held[i]
		if string(h.At.Kind) == r.Kind && h.At.Name == r.Name {
			take([]*Held{h})
		}
	}
	return out
}

// copiesAgree finds published copies that differ from most.
func copiesAgree(f *Facts) []Finding {
	var out []Finding
	for _, published := range slices.Sorted(maps.Keys(catalog.PublishedCopies())) {
		groups := map[string][]*Held{} // by the certificates, in their order
		var order []string
		for i := range f.Held {
			h := &f.Held[i]
			if h.At.Kind != "ConfigMap" || h.At.Name != published {
				continue
			}
			id := sequence(h.Content.Certs)
			if groups[id] == nil {
				order = append(order, id)
			}
			groups[id] = append(groups[id], h)
		}
		if len(order) < 2 {
			continue
		}
		slices.SortStableFunc(order, func(a, b string) int { return len(groups[b]) - len(groups[a]) })
		most := order[0]
		for _, c := range order[1:] {
			message := fmt.Sprintf("%s differs from the %d other copies: holds %s, they hold %s", published, len(groups[most]), contentNames(groups[c][0].Content), contentNames(groups[most][0].Content))
			out = append(out, Finding{
				Severity: Warning, At: locations(groups[c]), Message: message,
				Next: "do not edit it, its publisher overwrites it; look whether the publisher runs: " + foreign.Command("", "kubectl -n %s get configmap %s -o yaml", groups[c][0].At.Namespace, published),
			})
		}
	}
	return out
}

// sequence tells lists of certificates apart.
func sequence(certs []*pki.Cert) string {
	var b strings.Builder
	for _, c := range certs {
		b.Write(c.Fingerprint[:])
	}
	return b.String()
}

func contentNames(c *pki.Content) string {
	if len(c.Certs) == 0 {
		return "no readable certificate"
	}
	return names(c.Certs)
}
