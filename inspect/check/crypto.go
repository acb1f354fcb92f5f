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
		signature := ""
		if !c.SelfSigned { // its own signature proves nothing, and nobody checks it
			signature = weakSignature(c.Signature)
		}
		if key == "" && signature == "" {
			continue
		}
		// Who trusts a CA as such takes its key, and does not check who signed it.
		sent := func(h *inspect.Entry) bool { return h.Use == inspect.UseIdentity }
		in, current := inForce(c.Entries)
		var at []*inspect.Entry
		for _, h := range in {
			if sent(h) || h.Use == inspect.UseTrust && key != "" {
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
		out = append(out, assess.Finding{
			Assessment: assess.Assessment{
				Severity:    severity,
				Reason:      fmt.Sprintf("%s has %s", inspect.CertName(c.Cert), strings.Join(slices.DeleteFunc([]string{key, signature}, func(s string) bool { return s == "" }), ", and ")),
				Remediation: assess.Advise("have it issued again with RSA 2048 or ECDSA P-256 at least, and SHA-256"),
			},
			At: inspect.Locations(at), Certs: []pki.Fingerprint{c.Fingerprint}, Due: c.NotAfter,
		})
	}
	return out
}

// weakKey says what is wrong with a key of this kind, as Cert.PublicKey has it;
// empty: nothing known.
func weakKey(kind string) string {
	if bits, ok := strings.CutPrefix(kind, "RSA "); ok {
		switch n, err := strconv.Atoi(bits); {
		case err != nil:
		case n < 1024:
			return fmt.Sprintf("an RSA key of %d bits, which Go refuses, and OpenSSL, too", n)
		case n < 2048:
			return fmt.Sprintf("an RSA key of %d bits, which OpenSSL refuses by the default policies of today's systems", n)
		}
		return ""
	}
	switch kind {
	case "ECDSA P-224":
		return "an ECDSA key on P-224, which today's systems refuse by default"
	case "DSA":
		return "a DSA key, which Go and OpenSSL refuse"
	}
	return ""
}

// weakSignature is weakKey for Cert.Signature.
func weakSignature(algorithm string) string {
	for _, hash := range []string{"MD2", "MD5", "SHA1"} {
		if slices.Contains(strings.Split(algorithm, "-"), hash) {
			return "a signature by " + algorithm + ", which Go refuses since 1.18"
		}
	}
	return ""
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
		finding := assess.Finding{Assessment: assess.Assessment{Severity: assess.Info, Reason: fmt.Sprintf("the signer lies in a Secret of type %.40q: %s", h.Object.Type, row.Doc), Remediation: assess.Advise(row.Next)}, At: []pki.Location{h.At}}
		if row.NeedsAction {
			finding.Severity = assess.Warning
		}
		if leaf := h.Leaf(); leaf != nil {
			finding.Certs, finding.Due = []pki.Fingerprint{leaf.Fingerprint}, leaf.NotAfter
		}
		out = append(out, finding)
	}
	return out
}
