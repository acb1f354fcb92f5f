package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// unreadable reports what claims to be a certificate and is none. Identical
// values are one finding.
func unreadable(f *inspect.Facts) []assess.Finding {
	groups := map[*pki.Content]*assess.Finding{}
	uses := map[*pki.Content]inspect.Use{} // the one that matters most
	var order []*pki.Content
	for i := range f.Entries {
		h := &f.Entries[i]
		if len(h.Content.Bad) == 0 {
			continue
		}
		g := groups[h.Content]
		if g == nil {
			g = &assess.Finding{Assessment: assess.Assessment{Severity: unreadableSeverity(h), Evidence: unreadableMessage(h.Content)}}
			groups[h.Content] = g
			order = append(order, h.Content)
		}
		g.Severity = max(g.Severity, unreadableSeverity(h))
		g.At = append(g.At, h.At)
		if h.Use == inspect.UseTrust || h.Use == inspect.UseIdentity {
			uses[h.Content] = h.Use
		}
	}
	var out []assess.Finding
	for _, c := range order {
		g := groups[c]
		what := "unreadable value in "
		switch b := c.Bad[0]; {
		case strings.HasPrefix(b.Reason, pki.CutOff):
			what = "truncated PEM in "
		case b.Index >= 0:
			what = fmt.Sprintf("unreadable block %d in ", b.Index+1)
		}
		g.Reason = what + subject(g.At)
		if g.Severity > assess.Info {
			switch uses[c] {
			case inspect.UseTrust:
				g.Impact = "now: Go and OpenSSL skip or refuse it, so that a CA in it is not trusted"
			case inspect.UseIdentity:
				g.Impact = "now: a server or client that loads it does not start, or presents another certificate"
			default:
				g.Impact = "now: Go and OpenSSL skip or refuse it"
			}
		}
		g.Remediation = restore(g.At)
		if c.CutByOthers() { // the value is not to blame
			g.Remediation = assess.Advise(readAlone(f))
			if g.Severity > assess.Info {
				g.Impact = "now: what it holds is unknown, and what was to be read after it of namespace " + foreign.Name(g.At[0].Namespace)
			}
		}
		out = append(out, *g)
	}
	return slices.Concat(manyAsOne(out), named(skippedCerts(f)), withoutCertificate(f), badRequests(f))
}

// mostOfObject is of how many values of one object each is a finding. An object has room for more than ten thousand.
const mostOfObject = 10

// manyAsOne makes one finding of those of one object and severity, where they are many: their number, a few of their
// keys, and the place of each.
func manyAsOne(all []assess.Finding) []assess.Finding {
	type group struct {
		object   pki.Location
		severity assess.Severity
	}
	groups := map[group]int{}
	groupOf := func(f *assess.Finding) group { return group{inspect.ObjectAt(f.At[0]), f.Severity} }
	for i := range all {
		groups[groupOf(&all[i])]++
	}
	merged := map[group]int{}
	var out []assess.Finding
	for i := range all {
		f := &all[i]
		g := groupOf(f)
		many := groups[g]
		first, seen := merged[g]
		switch {
		case many <= mostOfObject || g.object.Name == "":
			out = append(out, *f)
			continue
		case !seen:
			first = len(out)
			merged[g] = first
			one := *f
			one.At = slices.Clone(f.At)
			one.Reason = fmt.Sprintf("%d unreadable values in %s", many, place(g.object))
			one.Evidence = fmt.Sprintf("%d values of the object can't be read, the first of them: %s", many, f.Evidence)
			out = append(out, one)
			continue
		}
		one := &out[first]
		one.At = append(one.At, f.At...)
		if strings.HasPrefix(f.Impact, one.Impact) { // it says more
			one.Impact = f.Impact
		}
	}
	for _, i := range merged {
		var keys []string
		for _, at := range out[i].At {
			if key := pki.Quoted(cmp.Or(at.Key, at.Field)); !slices.Contains(keys, key) {
				if len(keys) == keysNamed {
					break
				}
				keys = append(keys, key)
			}
		}
		out[i].Evidence += "; keys: " + strings.Join(keys, ", ") + " and others"
	}
	return out
}

// keysNamed are those that such a finding names.
const keysNamed = 3

// restore is the next step where a value can't be read.
func restore(in []pki.Location) assess.Remediation {
	at := in[0]
	for _, l := range in[1:] {
		if beforeIn(l, at) {
			at = l
		}
	}
	if at.Kind != "ConfigMap" {
		return advise("look at where the value comes from, and write it again from there", at)
	}
	return assess.Command("", "kubectl -n %s get configmap %s -o yaml", at.Namespace, at.Name).Saying("look at where the value comes from, and write it again from there")
}

// skippedCerts finds CAs in bundles that seem to be trusted, and that Go's reader skips:
// kubelets, kubectl and most of the cluster do not trust them. What a server or client is to
// present, it loads in the same way, but for PEM headers (crypto/tls, X509KeyPair).
func skippedCerts(f *inspect.Facts) []assess.Finding {
	type group struct {
		*pki.Content
		presented bool
	}
	groups := map[group]int{}
	var out []assess.Finding
	for i := range f.Entries {
		h := &f.Entries[i]
		presented := h.Use == inspect.UseIdentity && h.At.Field == "" && h.At.Key == "tls.crt"
		of := group{h.Content, presented}
		if h.Use != inspect.UseTrust && !presented || len(h.Content.Skipped) == 0 || len(h.Content.Bad) > 0 || strings.HasSuffix(h.At.Path, ".trust.crt") { // that format is OpenSSL's alone
			continue
		}
		if n, ok := groups[of]; ok {
			if n >= 0 {
				out[n].At = append(out[n].At, h.At)
			}
			continue
		}
		_, skipped := h.Content.LoadedBy(pki.ReaderGo)
		skipped = slices.DeleteFunc(skipped, func(s pki.Skipped) bool {
			return !s.InPEM() || presented && s.HasHeaders()
		})
		if len(skipped) == 0 {
			groups[of] = -1
			continue
		}
		finding := assess.Finding{
			Assessment: assess.Assessment{
				Severity:    unreadableSeverity(h),
				Reason:      "Go skips CA " + short(skipped[0].Cert),
				Impact:      "now: kubelets, kubectl and whatever else is written in Go do not trust it",
				Evidence:    "CA bundle: " + skipped[0].String(),
				Remediation: assess.Advise("write the block as plain PEM: a line BEGIN CERTIFICATE, base64, a line END CERTIFICATE"),
			},
			At: []pki.Location{h.At},
		}
		if presented {
			finding.Reason, finding.Evidence = "Go skips certificate "+short(skipped[0].Cert), skipped[0].String()
			finding.Impact = "now: a server or client written in Go that loads it does not start, or presents another certificate"
		}
		for _, s := range skipped {
			finding.Certs = append(finding.Certs, s.Fingerprint)
		}
		if more := len(skipped) - 1; more > 0 {
			finding.Evidence += fmt.Sprintf("; and %d more", more)
		}
		groups[of] = len(out)
		out = append(out, finding)
	}
	return out
}

// justMade is how long a controller may take to fill a Secret that it made: some
// make it first, and wait for the certificate.
const justMade = time.Hour

// withoutCertificate finds places that are there to hold certificates, and hold
// none. Copies in every namespace are left to copies-agree. What is alike is one
// finding.
func withoutCertificate(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	for i := range f.Entries {
		h := &f.Entries[i]
		if len(h.Content.Certs) > 0 || len(h.Content.Bad) > 0 || len(h.Content.Locked) > 0 || h.Object == nil {
			continue
		}
		_, copied := catalog.PublishedCopies()[h.At.Name]
		a := assess.Assessment{Severity: assess.Warning}
		switch {
		case h.At.Kind == "Secret" && h.Object.Type == "kubernetes.io/tls" && h.At.Key == "tls.crt":
			a.Reason = "no certificate in it"
			a.Impact = "now: a server that reads it does not start, or presents another one"
			a.Evidence = "a Secret of type kubernetes.io/tls holds no certificate"
			a.Remediation = assess.Advise("look at what should fill it (a cert-manager Certificate, an annotation of service-ca), and at its events")
			if f.Now.Sub(h.Object.Created) < justMade {
				a.Severity, a.Impact = assess.Info, ""
				a.Reason = "no certificate in it yet"
				a.Evidence = "a new Secret of type kubernetes.io/tls holds no certificate yet"
			}
		case h.At.Kind == "ConfigMap" && h.Role() == string(catalog.CABundle) && h.Content.Empty() && !copied:
			a.Reason = "no certificate in the CA bundle"
			a.Impact = "now: " + distrust(h.At)
			a.Evidence = "a CA bundle holds no certificate"
			a.Remediation = askOwner("find out why its owner, "+h.Owner()+", does not fill it", h.Owner())
		default:
			continue
		}
		if h.Superseded {
			a.Severity, a.Impact = assess.Info, ""
		}
		n := slices.IndexFunc(out, func(o assess.Finding) bool { return o.Assessment == a })
		if n < 0 {
			n = len(out)
			out = append(out, assess.Finding{Assessment: a})
		}
		out[n].At = append(out[n].At, h.At)
	}
	for i := range out {
		if at := out[i].At[0]; at.Kind == "Secret" {
			out[i].Remediation = before(advise(out[i].Remediation.Text, at), ". When it is of no use any more, delete it")
		}
	}
	return named(out)
}

// cutShort reports whether reading a value stopped at one of the parser's
// limits: what is behind it is unknown.
// lockedNamed is how many places of locked keystores a gap names; the bundles of
// the inventory have all.
const lockedNamed = 5

// Locked turns keystores that were not read into gaps, one for each reason.
func Locked(f *inspect.Facts, place func(pki.Location, *inspect.Object) bool) []inspect.Gap {
	type group struct {
		keystores int
		at        []pki.Location
	}
	groups := map[string]*group{}
	var reasons []string
	for i := range f.Entries {
		h := &f.Entries[i]
		if !place(h.At, h.Object) {
			continue
		}
		for _, l := range h.Content.Locked {
			reason := l.Format + ": " + l.Reason
			g := groups[reason]
			if g == nil {
				g = &group{}
				groups[reason] = g
				reasons = append(reasons, reason)
			}
			g.keystores++
			if last := len(g.at) - 1; last < 0 || g.at[last] != h.At {
				g.at = append(g.at, h.At)
			}
		}
	}
	var out []inspect.Gap
	for _, reason := range reasons {
		g := groups[reason]
		where := inspect.Fold(g.at)
		if more := len(where) - lockedNamed; more > 0 {
			where = append(where[:lockedNamed], fmt.Sprintf("and %d more (bundles of -o json where locked is)", more))
		}
		what, unknown := "1 keystore locked", "what certificates it holds is unknown"
		if g.keystores > 1 {
			what, unknown = fmt.Sprintf("%d keystores locked", g.keystores), "what certificates they hold is unknown"
		}
		next := "look at it with its password and a tool for its format: keytool -list -v -keystore FILE"
		if strings.HasSuffix(reason, pki.LockedLimit) {
			next = readAlone(f)
		}
		out = append(out, inspect.Gap{What: what, Where: strings.Join(where, ", "), Reason: reason + "; " + unknown, Next: next})
	}
	return out
}

// readAlone is the next step where others of the run took what may be spent.
func readAlone(f *inspect.Facts) string {
	return f.Hints().Next("read %sits object alone: %skubectl get -n NAMESPACE secret NAME -o yaml | {} inspect --from -",
		foreign.Words(f.Hints().Live("its namespace or ")), foreign.Words(f.Hints().Live(f.Hints().Next("{} inspect -n NAMESPACE, or "))))
}

// unreadableSeverity: text that merely speaks of certificates (a template, a
// manual) is worth knowing; a bundle or an identity that can't be read harms.
func unreadableSeverity(h *inspect.Entry) assess.Severity {
	switch {
	case h.Superseded:
		return assess.Info
	case h.Use != inspect.UseOther || h.Row != nil || len(h.Content.Certs) > 0 || h.At.Kind == pki.KindFile || h.Content.CutShort() != "":
		return assess.Warning
	}
	return assess.Info
}

func unreadableMessage(c *pki.Content) string {
	b := c.Bad[0]
	where := "the value"
	if b.Index >= 0 {
		where = fmt.Sprintf("block %d", b.Index+1)
	}
	s := fmt.Sprintf("%s (%s): %s", where, b.Type, b.Reason)
	if more := len(c.Bad) - 1; more > 0 {
		s += fmt.Sprintf("; and %d more", more)
	}
	if len(c.Certs) > 0 {
		s += fmt.Sprintf("; %d certificates beside it can be read", len(c.Certs))
	}
	return s
}

func badRequests(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	for _, r := range f.Snapshot.Requests {
		if r.Bad != "" {
			out = append(out, assess.Finding{
				Assessment: assess.Assessment{
					Severity:    assess.Warning,
					Reason:      place(pki.Location{Kind: r.Object.Kind, Name: r.Object.Name}) + ": its request is malformed",
					Impact:      "what its signer reads may differ from what others see of it",
					Evidence:    r.Bad,
					Remediation: assess.Command(inspect.RequestNames, "kubectl describe csr %s", r.Object.Name).Saying("look at who made it before anything is approved"),
				},
				At: []pki.Location{{Kind: r.Object.Kind, Name: r.Object.Name, Field: "spec.request"}},
			})
		}
	}
	return out
}
