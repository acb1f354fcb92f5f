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
