package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// trustBundles groups the CA bundles by content: what is identical is judged
// once.
func trustBundles(f *inspect.Facts) [][]*inspect.Entry {
	index := map[*pki.Content]int{}
	var out [][]*inspect.Entry
	for i := range f.Entries {
		h := &f.Entries[i]
		if h.Use != inspect.UseTrust || len(h.Content.Certs) == 0 {
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
// pick chooses. None of it does harm now: Info. A reason follows the name of the place.
func inBundles(f *inspect.Facts, pick func([]*pki.Cert) []*pki.Cert, say func([]*pki.Cert) assess.Assessment) []assess.Finding {
	var out []assess.Finding
	for _, entries := range trustBundles(f) {
		picked := pick(entries[0].Content.Certs)
		if len(picked) == 0 {
			continue
		}
		in, _ := inForce(entries)
		finding := assess.Finding{Assessment: say(picked), At: inspect.Locations(in), Due: picked[0].NotAfter}
		finding.Severity, finding.Reason = assess.Info, subject(finding.At)+finding.Reason
		for _, c := range picked {
			finding.Certs = append(finding.Certs, c.Fingerprint)
		}
		out = append(out, finding)
	}
	return out
}

func bundleExpired(f *inspect.Facts) []assess.Finding {
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
	return inBundles(f, pick, func(gone []*pki.Cert) assess.Assessment {
		return assess.Assessment{
			Reason:   ": " + count(len(gone), "expired CA") + " beside valid ones",
			Evidence: fmt.Sprintf("%d expired beside valid ones: %s", len(gone), names(gone)),
		}
	})
}

func bundleDuplicate(f *inspect.Facts) []assess.Finding {
	pick := func(certs []*pki.Cert) []*pki.Cert {
		var twice []*pki.Cert
		copies := map[pki.Fingerprint]int{}
		for _, c := range certs {
			if copies[c.Fingerprint]++; copies[c.Fingerprint] == 2 {
				twice = append(twice, c)
			}
		}
		return twice
	}
	return inBundles(f, pick, func(twice []*pki.Cert) assess.Assessment {
		return assess.Assessment{
			Reason:   ": " + count(len(twice), "certificate") + " more than once",
			Evidence: fmt.Sprintf("%d more than once: %s", len(twice), names(twice)),
		}
	})
}

func bundleNotCA(f *inspect.Facts) []assess.Finding {
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
		func(certs []*pki.Cert) assess.Assessment {
			return assess.Assessment{
				Reason:   ": no CA, but " + count(len(certs), "certificate") + " without CA:TRUE",
				Impact:   "OpenSSL's readers refuse what is verified with it; Go's accept exactly these certificates",
				Evidence: fmt.Sprintf("no CA at all, but %d without CA:TRUE: %s", len(certs), names(certs)),
			}
		})
	out = append(out, inBundles(f, pick(func(c *pki.Cert, alone bool) bool { return !alone && !c.SelfSigned }), func(certs []*pki.Cert) assess.Assessment {
		return assess.Assessment{
			Reason:   ": " + count(len(certs), "certificate") + " without CA:TRUE beside CAs",
			Evidence: fmt.Sprintf("%d without CA:TRUE beside CAs, which issue nothing: %s", len(certs), names(certs)),
		}
	})...)
	return append(out, inBundles(f, pick(func(c *pki.Cert, _ bool) bool { return c.SelfSigned }), func(certs []*pki.Cert) assess.Assessment {
		return assess.Assessment{
			Reason:   ": " + count(len(certs), "self-signed certificate") + " without CA:TRUE",
			Evidence: fmt.Sprintf("%d self-signed without CA:TRUE, which verify themselves only: %s", len(certs), names(certs)),
		}
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
		out = append(out, inspect.CertName(c))
	}
	return strings.Join(out, ", ")
}

// bundleComplete compares each aggregate of the catalog with its parts.
func bundleComplete(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	for _, c := range f.Compositions() {
		out = append(out, lacking(f, c.Aggregate, c.Targets, c.Expected)...)
	}
	return out
}

// lacking makes one finding for all targets that lack the same certificates.
func lacking(f *inspect.Facts, a catalog.Aggregate, targets []*inspect.Entry, wanted map[pki.Fingerprint]inspect.Source) []assess.Finding {
	groups := map[string]*assess.Finding{}
	byContent := map[*pki.Content]*assess.Finding{} // copies are compared once; nil: one lacks nothing
	var order []string
	for _, t := range targets {
		g, known := byContent[t.Content]
		if !known {
			if missing := inspect.Missing(t, wanted); len(missing) > 0 {
				id := idOf(missing)
				if g = groups[id]; g == nil {
					g = lackingFinding(a, missing)
					if settling(f, missing) {
						g.Severity = assess.Info
						g.Impact = "until it follows: its readers refuse what that CA signs"
						g.Evidence += ", made within the hour: copies follow in minutes"
					}
					groups[id] = g
					order = append(order, id)
				}
			}
			byContent[t.Content] = g
		}
		if g != nil {
			g.At = append(g.At, t.At)
		}
	}
	var out []assess.Finding
	for _, id := range order {
		g := groups[id]
		g.Reason = subject(g.At) + " lacks " + g.Reason
		out = append(out, *g)
	}
	return out
}

// idOf tells lists of what is missing apart.
func idOf(missing []inspect.Source) string {
	var b strings.Builder
	for _, m := range missing {
		b.WriteString(m.Cert.Fingerprint.Short())
	}
	return b.String()
}

// settling reports whether all that is missing was made a moment ago: copies
// follow their source in seconds, but kube-root-ca.crt follows only when a new
// revision of kube-controller-manager runs on every master.
func settling(f *inspect.Facts, missing []inspect.Source) bool {
	return !slices.ContainsFunc(missing, func(m inspect.Source) bool { return f.Now.Sub(m.Cert.NotBefore) > time.Hour })
}

func lackingFinding(a catalog.Aggregate, missing []inspect.Source) *assess.Finding {
	certs := make([]*pki.Cert, len(missing))
	from := map[string]bool{}
	for i, m := range missing {
		certs[i] = m.Cert
		from[m.At.String()] = true
	}
	var sources []string
	for s := range from {
		sources = append(sources, s)
	}
	slices.Sort(sources)
	owner := "its owner"
	if p, ok := catalog.Lookup(a.Target.Kind, a.Target.Namespace, a.Target.Name, a.Target.Key, catalog.Versions{}); ok {
		owner = p.Owner
	}
	g := &assess.Finding{
		Assessment: assess.Assessment{
			Severity:    assess.Warning,
			Reason:      "CA " + shortNames(certs), // after the places, which are not all known yet
			Impact:      "now: its readers refuse what that CA signs",
			Evidence:    fmt.Sprintf("lacks %s of %s", names(certs), strings.Join(sources, ", ")),
			Remediation: askOwner("do not edit the copy; find out why "+owner+" does not update it", owner),
		},
		Due: certs[0].NotBefore,
	}
	for _, c := range certs {
		g.Certs = append(g.Certs, c.Fingerprint)
	}
	return g
}

// rootCopy is the copy with which pods verify the API server.
const rootCopy = "kube-root-ca.crt"

// copiesAgree finds published copies that differ from most.
func copiesAgree(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	for _, published := range slices.Sorted(maps.Keys(catalog.PublishedCopies())) {
		refuse := "the API server"
		if published != rootCopy {
			refuse = "services"
		}
		groups := map[pki.Fingerprint][]*inspect.Entry{} // by the certificates, in their order
		byContent := map[*pki.Content]pki.Fingerprint{}  // the same, of what was looked at
		var order []pki.Fingerprint
		for i := range f.Entries {
			h := &f.Entries[i]
			if h.At.Kind != "ConfigMap" || h.At.Name != published {
				continue
			}
			id, known := byContent[h.Content]
			if !known {
				id = sequence(h.Content.Certs)
				byContent[h.Content] = id
			}
			if groups[id] == nil {
				order = append(order, id)
			}
			groups[id] = append(groups[id], h)
		}
		if len(order) < 2 {
			continue
		}
		slices.SortStableFunc(order, func(a, b pki.Fingerprint) int { return len(groups[b]) - len(groups[a]) })
		most := order[0]
		for _, c := range order[1:] {
			at := inspect.Locations(groups[c])
			out = append(out, assess.Finding{
				Assessment: assess.Assessment{
					Severity: assess.Warning,
					Reason:   fmt.Sprintf("%s differs from the %d other copies", subject(at), len(groups[most])),
					Impact:   "now: pods of these namespaces may refuse " + refuse,
					Evidence: fmt.Sprintf("%s holds %s, the others hold %s", published, contentNames(groups[c][0].Content), contentNames(groups[most][0].Content)),
					Remediation: assess.Command("", "kubectl -n %s get configmap %s -o yaml", groups[c][0].At.Namespace, published).
						Saying("do not edit it: its publisher overwrites it. Find out whether the publisher runs"),
				},
				At: at,
			})
		}
	}
	return out
}

// sequence tells lists of certificates apart.
func sequence(certs []*pki.Cert) pki.Fingerprint {
	all := make([]byte, 0, len(certs)*len(pki.Fingerprint{}))
	for _, c := range certs {
		all = append(all, c.Fingerprint[:]...)
	}
	return pki.FingerprintOf(all)
}

func contentNames(c *pki.Content) string {
	if len(c.Certs) == 0 {
		return "no readable certificate"
	}
	return names(c.Certs)
}
