package pki

import (
	"encoding/pem"
	"fmt"
	"slices"
)

// EncodePEM is PEM as OpenShift's operators write it.
func EncodePEM(certs []*Cert) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.DER})...)
	}
	return out
}

// Without are those of certs that are not among others.
func Without(certs, others []*Cert) []*Cert {
	return slices.DeleteFunc(slices.Clone(certs), func(c *Cert) bool { return Contains(others, c) })
}

// Named is a certificate for people: its subject and the first digits of its fingerprint.
func Named(c *Cert) string {
	return fmt.Sprintf("%s (sha256 %s)", Foreign(c.Subject), c.Fingerprint.Short())
}

// LoadedPEM returns the certificates in PEM text that client-go loads, in its order.
func LoadedPEM(sc *Scanner, text []byte) []*Cert {
	var out []*Cert
	for _, found := range sc.Scan(text) {
		if found.Field == "" { // a document is no PEM
			loaded, _ := found.Content.LoadedBy(ReaderGo)
			out = append(out, loaded...)
		}
	}
	return out
}

// Contains reports whether a certificate is among others, by its bytes.
func Contains(certs []*Cert, c *Cert) bool {
	return slices.ContainsFunc(certs, func(x *Cert) bool { return x.Fingerprint == c.Fingerprint })
}
