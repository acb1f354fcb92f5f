package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// strength finds keys and signatures that today's readers refuse.
func strength(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	for _, c := range f.Certs {
		if c.NotAfter.Before(f.Now) {
			continue
		}
		key := weakKey(c.PublicKey)
		signature := weakness{}
		if !c.SelfSigned { // its own signature proves nothing, and no client checks it
			signature = weakSignature(c.Signature)
		}
		if key.what == "" && signature.what == "" {
			continue
		}
		// Who trusts a CA as such takes its key, and does not check who signed it.
		sent := func(h *inspect.Entry) bool { return h.Use == inspect.UseIdentity }
		in, current := inForce(c.Entries)
		var at []*inspect.Entry
		for _, h := range in {
			if sent(h) || h.Use == inspect.UseTrust && key.what != "" {
				at = append(at, h)
			}
		}
		if len(at) == 0 {
			continue
		}
		severity := assess.Info
		if current && slices.ContainsFunc(at, sent) {
			severity = assess.Warning
		}
		var has, refused []string
		for _, w := range []weakness{key, signature} {
			if w.what != "" {
				has, refused = append(has, w.what), append(refused, w.what+": "+w.refused)
			}
		}
		locations := inspect.Locations(at)
		finding := assess.Finding{
			Assessment: assess.Assessment{
				Severity:    severity,
				Reason:      subject(locations) + ": " + strings.Join(has, ", "),
				Evidence:    whole(c.Cert) + " valid until " + day(c.NotAfter),
				Remediation: assess.Advise("have it issued again with RSA 2048 or ECDSA P-256 at least, and SHA-256"),
			},
			At: locations, Certs: []pki.Fingerprint{c.Fingerprint}, Due: c.NotAfter,
		}
		if len(refused) == 1 { // the reason says what
			_, refused[0], _ = strings.Cut(refused[0], ": ")
		}
		if current {
			finding.Impact = "now: " + strings.Join(refused, "; ")
		} else {
			finding.Evidence += "; " + strings.Join(refused, "; ")
		}
		out = append(out, finding)
	}
	return out
}

// weakness is what is wrong with a key or a signature; the zero weakness: nothing known.
type weakness struct{ what, refused string }

// weakKey says what is wrong with a key of this kind, as Cert.PublicKey has it.
func weakKey(kind string) weakness {
	if bits, ok := strings.CutPrefix(kind, "RSA "); ok {
		what := "RSA key of " + bits + " bits"
		switch n, err := strconv.Atoi(bits); {
		case err != nil:
		case n < 1024:
			return weakness{what, "Go and OpenSSL refuse it"}
		case n < 2048:
			return weakness{what, "OpenSSL refuses it by the default policies of today's systems"}
		}
		return weakness{}
	}
	switch kind {
	case "ECDSA P-224":
		return weakness{"ECDSA key on P-224", "today's systems refuse it by default"}
	case "DSA":
		return weakness{"DSA key", "Go and OpenSSL refuse it"}
	}
	return weakness{}
}

// weakSignature is weakKey for Cert.Signature.
func weakSignature(algorithm string) weakness {
	for _, hash := range []string{"MD2", "MD5", "SHA1"} {
		if slices.Contains(strings.Split(algorithm, "-"), hash) {
			return weakness{"signature by " + algorithm, "Go refuses it since 1.18"}
		}
	}
	return weakness{}
}

// signerType finds signers in Secrets of a type that makes their operator delete
// them.
func signerType(f *inspect.Facts) []assess.Finding {
	rotated := map[catalog.Ref]bool{}
	for _, r := range catalog.Rotations() {
		rotated[r.Signer] = true
	}
	var out []assess.Finding
	for i := range f.Entries {
		h := &f.Entries[i]
		if h.Object == nil || !rotated[catalog.Ref{Kind: string(h.At.Kind), Namespace: h.At.Namespace, Name: h.At.Name, Key: h.At.Key}] {
			continue
		}
		row, answer := catalog.SignerTypeOf(h.Object.Type, f.Snapshot.Cluster.Versions)
		if answer != catalog.Yes {
			continue
		}
		finding := assess.Finding{
			Assessment: assess.Assessment{
				Severity:    assess.Info,
				Reason:      fmt.Sprintf("%s: a signer in a Secret of type %.40q", place(h.At), h.Object.Type),
				Evidence:    row.Doc,
				Remediation: assess.Advise(row.Next),
			},
			At: []pki.Location{h.At},
		}
		if row.NeedsAction {
			finding.Severity = assess.Warning
			finding.Impact = "when its annotations change: its operator deletes it, and a second CA may be made"
		}
		if leaf := h.Leaf(); leaf != nil {
			finding.Evidence = inspect.CertName(leaf) + ": " + finding.Evidence
			finding.Certs, finding.Due = []pki.Fingerprint{leaf.Fingerprint}, leaf.NotAfter
		}
		out = append(out, finding)
	}
	return out
}
