package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// keyInPlace finds private keys where many may read them, and the certificates that
// they belong to. A key that is in several places, as in each MachineConfig that was
// rendered since, is one finding.
func keyInPlace(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	var owners map[pki.Fingerprint][]inspect.StoredCert // by public key; made when it is asked for
	type exposure struct {
		where string
		keys  pki.Fingerprint
	}
	known := map[exposure]int{}
	for i := range f.Entries {
		h := &f.Entries[i]
		where := exposedIn(h)
		if where == "" {
			continue
		}
		if !slices.ContainsFunc(h.Content.Keys, unreadKey) { // of others it is unknown whether they are the same
			same := exposure{where, fingerprintOf(h.Content.Keys)}
			if n, ok := known[same]; ok {
				out[n].At = append(out[n].At, h.At)
				continue
			}
			known[same] = len(out)
		}
		if owners == nil {
			owners = byPublicKey(f)
		}
		out = append(out, exposedKeys(h, where, owners))
	}
	for i := range out {
		out[i].Reason = subject(out[i].At) + " " + out[i].Reason
	}
	return out
}

// fingerprintOf tells lists of keys apart.
func fingerprintOf(keys []pki.Key) pki.Fingerprint {
	var b []byte
	for _, k := range keys {
		b = fmt.Appendf(append(b, k.SPKI[:]...), " %t %s\n", k.Encrypted, k.Algorithm)
	}
	return pki.FingerprintOf(b)
}

// exposedIn says where the private keys of h are that do not belong there; empty: it
// holds none, or they do.
func exposedIn(h *inspect.Entry) string {
	switch {
	case len(h.Content.Keys) == 0:
		return ""
	case h.At.Kind == "ConfigMap":
		return "a ConfigMap"
	case h.Use == inspect.UseTrust && h.At.Kind != pki.KindFile:
		return "a CA bundle"
	case h.At.Kind == inspect.KindRoute && h.Use == inspect.UseIdentity: // its own: who serves it has to read it
		return ""
	case h.At.Kind != "Secret" && h.At.Kind != pki.KindFile:
		return "an object of kind " + string(h.At.Kind)
	}
	return ""
}

// unreadKey reports whether it is unknown which certificate a key belongs to.
func unreadKey(k pki.Key) bool { return k.SPKI == (pki.Fingerprint{}) }

func byPublicKey(f *inspect.Facts) map[pki.Fingerprint][]inspect.StoredCert {
	out := make(map[pki.Fingerprint][]inspect.StoredCert, len(f.Certs))
	for _, c := range f.Certs {
		out[c.SPKI] = append(out[c.SPKI], c)
	}
	return out
}

// exposedKeys is the finding about the keys of one place.
func exposedKeys(h *inspect.Entry, where string, owners map[pki.Fingerprint][]inspect.StoredCert) assess.Finding {
	keys := h.Content.Keys
	finding := assess.Finding{
		Assessment: assess.Assessment{
			Severity:    assess.Critical,
			Remediation: assess.Advise("treat it as compromised: replace its certificate with one of a new key, kept in a Secret. Then remove it here"),
		},
		At: []pki.Location{h.At},
	}
	adjective := ""
	if !slices.ContainsFunc(keys, func(k pki.Key) bool { return !k.Encrypted }) {
		finding.Severity, adjective = assess.Warning, "encrypted "
	}
	what := "a private key"
	if len(keys) > 1 {
		finding.Evidence = fmt.Sprintf("%d %sprivate keys (%s) lie in %s", len(keys), adjective, algorithms(keys), where)
		what = fmt.Sprintf("%d %sprivate keys", len(keys), adjective)
	} else if adjective != "" {
		what = "an encrypted private key"
		finding.Evidence = fmt.Sprintf("an %sprivate key (%s) lies in %s", adjective, keys[0].Algorithm, where)
	} else {
		finding.Evidence = fmt.Sprintf("a private key (%s) lies in %s", keys[0].Algorithm, where)
	}
	finding.Reason = "holds " + what // after the places, which are not all known yet
	finding.Impact = "now: all who may read it have the key"
	var matched []inspect.StoredCert
	unmatched, unread := 0, 0
	seen := map[pki.Fingerprint]bool{} // a value may hold one key very often
	for _, k := range keys {
		switch certs := owners[k.SPKI]; {
		case unreadKey(k):
			unread++
		case seen[k.SPKI]:
		case len(certs) == 0:
			unmatched++
		default:
			matched = append(matched, certs...)
		}
		seen[k.SPKI] = true
	}
	for _, c := range matched {
		finding.Certs = append(finding.Certs, c.Fingerprint)
	}
	finding.Evidence += "; " + belongs(len(keys) == 1, matched, unmatched, unread)
	return finding
}

// algorithms are the kinds of keys, each once.
func algorithms(keys []pki.Key) string {
	var out []string
	for _, k := range keys {
		if !slices.Contains(out, k.Algorithm) { // they are few: see pki.Key
			out = append(out, k.Algorithm)
		}
	}
	return strings.Join(out, ", ")
}

// ownersNamed is how many certificates of a key are named.
const ownersNamed = 3

// belongs says which certificates keys belong to.
func belongs(one bool, matched []inspect.StoredCert, unmatched, unread int) string {
	var of, out []string
	for i, c := range matched {
		if i == ownersNamed {
			of = append(of, fmt.Sprintf("%d more certificates", len(matched)-i))
			break
		}
		of = append(of, inspect.CertName(c.Cert)+" in "+presentedAt(c))
	}
	switch {
	case len(of) > 0 && one:
		out = append(out, "it is the key of "+strings.Join(of, ", "))
	case len(of) > 0:
		out = append(out, "among them the key of "+strings.Join(of, ", "))
	}
	switch {
	case one && unmatched > 0:
		out = append(out, "it matches no certificate that was read")
	case one && unread > 0:
		out = append(out, "which certificate it belongs to is unknown")
	}
	if !one && unmatched > 0 {
		out = append(out, fmt.Sprintf("%d of them match no certificate that was read", unmatched))
	}
	if !one && unread > 0 {
		out = append(out, fmt.Sprintf("which certificate %d of them belong to is unknown", unread))
	}
	return strings.Join(out, "; ")
}

// presentedAt names the place where a certificate is presented, else any, and counts the
// others.
func presentedAt(c inspect.StoredCert) string {
	in, _ := inForce(c.Entries)
	best := in[0]
	for _, h := range in {
		if leaf := h.Leaf(); leaf != nil && leaf.Fingerprint == c.Fingerprint {
			best = h
			break
		}
	}
	switch more := len(in) - 1; more {
	case 0:
		return best.At.String()
	case 1:
		return best.At.String() + " and 1 more place"
	default:
		return fmt.Sprintf("%s and %d more places", best.At, more)
	}
}
