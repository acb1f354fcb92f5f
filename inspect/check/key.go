package check

import (
	"fmt"
	"maps"
	"path"
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

// keyMismatch looks at each identity and the keys that belong to it by name.
func keyMismatch(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	known := map[*pki.Content]publicHalves{}
	// the places of one object or file stand together
	for rest := f.Entries; len(rest) > 0; {
		n := 1
		for n < len(rest) && holder(rest[n].At) == holder(rest[0].At) {
			n++
		}
		out = append(out, mismatches(rest[:n], known)...)
		rest = rest[n:]
	}
	return out
}

// publicHalves are those of keys that can be read: encrypted keys answer nothing.
type publicHalves map[pki.Fingerprint]bool

// publicHalvesIn are those of a content, which many places may share.
func publicHalvesIn(c *pki.Content, known map[*pki.Content]publicHalves) publicHalves {
	halves, ok := known[c]
	if !ok && len(c.Keys) > 0 {
		halves = publicHalves{}
		for _, k := range c.Keys {
			if !k.Encrypted && !unreadKey(k) {
				halves[k.SPKI] = true
			}
		}
		known[c] = halves
	}
	return halves
}

// mismatches looks at the places of one object or file.
func mismatches(entries []inspect.Entry, known map[*pki.Content]publicHalves) []assess.Finding {
	keysAt := map[pki.Location]publicHalves{}
	joined := map[pki.Location]bool{} // those of several values: a file may have an object twice
	for i := range entries {
		at, halves := entries[i].At, publicHalvesIn(entries[i].Content, known)
		before, twice := keysAt[at]
		switch {
		case len(halves) == 0:
		case !twice:
			keysAt[at] = halves
		default:
			if !joined[at] {
				before, joined[at] = maps.Clone(before), true
				keysAt[at] = before
			}
			maps.Copy(before, halves)
		}
	}
	if len(keysAt) == 0 {
		return nil
	}
	var out []assess.Finding
	for i := range entries {
		h := &entries[i]
		if h.Use == inspect.UseTrust || h.Use == inspect.UseRecord || len(h.Content.Certs) == 0 {
			continue
		}
		keys := []publicHalves{publicHalvesIn(h.Content, known)}
		for _, at := range keyPlaces(h.At) {
			keys = append(keys, keysAt[at])
		}
		if a, ok := mismatch(h.Content.Certs, keys); ok {
			a.Severity, a.Impact = assess.Critical, "now: a server or client with it does not start, or its TLS handshakes fail"
			if h.Superseded {
				a.Severity, a.Impact = assess.Info, ""
			}
			a.Reason = place(h.At) + ": " + a.Reason
			a.Remediation = before(advise("find its owner", h.At), ". Put certificate and key of one pair there; where an operator keeps them, delete the object: it creates both again")
			out = append(out, assess.Finding{Assessment: a, At: []pki.Location{h.At}, Certs: []pki.Fingerprint{h.Content.Certs[0].Fingerprint}})
		}
	}
	return out
}

// holder is the object or file that a place is in.
func holder(at pki.Location) pki.Location {
	at.Key, at.Field = "", ""
	if at.Node != "" {
		at.Path = path.Dir(at.Path) // tls.crt and tls.key are files of one directory
	}
	return at
}

// keyPlaces are where the key of a certificate is kept, by its name.
func keyPlaces(at pki.Location) []pki.Location {
	other := at
	part, prefix, end := &other.Key, "", ""
	switch file, ok := inspect.FileIn(at); {
	case strings.HasSuffix(at.Field, "client-certificate-data"):
		other.Field = strings.TrimSuffix(at.Field, "certificate-data") + "key-data"
		return []pki.Location{other}
	case at.Kind == inspect.KindRoute && at.Field == inspect.RouteCertificate:
		other.Field = inspect.RouteKey
		return []pki.Location{other}
	case ok && at.Field == inspect.IgnitionFile+file+"]":
		part, prefix, end = &other.Field, inspect.IgnitionFile, "]"
	case at.Field != "":
		return nil
	case at.Node != "":
		part = &other.Path
	}
	whole := strings.TrimSuffix(strings.TrimPrefix(*part, prefix), end)
	if whole == "" {
		return nil
	}
	out := make([]pki.Location, 0, 3) // one for each name below: this is asked of every certificate
	stem, ext := whole, ""
	if i := strings.LastIndexByte(whole, '.'); i >= 0 {
		stem, ext = whole[:i], whole[i:]
	}
	if ext == ".crt" || ext == ".pem" || ext == ".cert" || ext == ".cer" {
		for _, name := range []string{stem + ".key", stem + "-key.pem", strings.TrimSuffix(stem, "cert") + "key" + ext} {
			if name != whole {
				*part = prefix + name + end
				out = append(out, other)
			}
		}
	}
	return out
}

// mismatch compares the first certificate with the keys that could be its.
func mismatch(certs []*pki.Cert, keys []publicHalves) (assess.Assessment, bool) {
	belongs := func(c *pki.Cert) bool {
		return slices.ContainsFunc(keys, func(h publicHalves) bool { return h[c.SPKI] })
	}
	if !slices.ContainsFunc(keys, func(h publicHalves) bool { return len(h) > 0 }) || belongs(certs[0]) {
		return assess.Assessment{}, false
	}
	for n, c := range certs {
		if belongs(c) {
			return assess.Assessment{
				Reason:   fmt.Sprintf("the key belongs to certificate %d, not the first", n+1),
				Evidence: fmt.Sprintf("the key belongs to certificate %d, %s, not to the first one, %s: a server presents the first", n+1, inspect.CertName(c), inspect.CertName(certs[0])),
			}, true
		}
	}
	return assess.Assessment{
		Reason:   "certificate and key do not belong together",
		Evidence: inspect.CertName(certs[0]) + " and the key beside it do not belong together",
	}, true
}
