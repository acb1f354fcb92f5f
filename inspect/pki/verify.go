package pki

import (
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// Verify says whether somebody who trusts these roots accepts this chain, the
// leaf first, from a server of that name at that time. It is the judgement of
// crypto/x509, which kubelets, and most of Kubernetes, use. roots and chain are
// only read.
func Verify(chain, roots []*Cert, name string, now time.Time) error {
	if err := handshakes(chain); err != nil {
		return err
	}
	return verify(chain, roots, x509.VerifyOptions{DNSName: name, CurrentTime: now}) // no usage: a server's
}

// VerifyClient is Verify for the certificate of a client.
func VerifyClient(chain, roots []*Cert, now time.Time) error {
	if err := handshakes(chain); err != nil {
		return err
	}
	return verify(chain, roots, x509.VerifyOptions{CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

// handshakes is the error for a chain that crypto/tls refuses before it verifies it: it
// computes with no larger RSA key of a peer (crypto/tls, handshake_client.go, checkKeySize).
func handshakes(chain []*Cert) error {
	const most = 8192
	for i, c := range chain {
		parsed, err := c.X509()
		if err != nil {
			continue // verify says so
		}
		if key, ok := parsed.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() > most {
			return fmt.Errorf("certificate %d of the chain has an RSA key of %d bits: crypto/tls takes up to %d", i+1, key.N.BitLen(), most)
		}
	}
	return nil
}

// VerifyChain is Verify for any usage and any name.
func VerifyChain(chain, roots []*Cert, now time.Time) error {
	return verify(chain, roots, x509.VerifyOptions{CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
}

// VerifyCA says whether somebody who trusts these roots would accept what this CA
// signs.
func VerifyCA(ca *Cert, roots []*Cert, now time.Time) error {
	return VerifyChain([]*Cert{ca}, roots, now)
}

func verify(chain, roots []*Cert, opts x509.VerifyOptions) error {
	if len(chain) == 0 {
		return errors.New("no certificate was shown")
	}
	opts.Roots, opts.Intermediates = x509.NewCertPool(), x509.NewCertPool()
	related := relatedTo(chain)
	for _, c := range roots {
		if !related.to(c) {
			continue // parsing it costs more than all the rest
		}
		parsed, err := c.X509()
		if err != nil {
			return fmt.Errorf("trusted certificate %s: %w", c.Fingerprint.Short(), err)
		}
		opts.Roots.AddCert(parsed)
	}
	var leaf *x509.Certificate
	for i, c := range chain {
		parsed, err := c.X509()
		if err != nil {
			return fmt.Errorf("certificate %d of the chain: %w", i+1, err)
		}
		if i == 0 {
			leaf = parsed
			continue
		}
		opts.Intermediates.AddCert(parsed)
	}
	_, err := leaf.Verify(opts)
	return foreign.Error(err) // the names in the certificate are in it
}

// related are the names of those who issued some certificates, and these certificates.
type related struct {
	issuers map[string]bool
	certs   map[Fingerprint]bool
}

func relatedTo(certs []*Cert) related {
	r := related{make(map[string]bool, len(certs)), make(map[Fingerprint]bool, len(certs))}
	for _, c := range certs {
		r.issuers[c.Issuer], r.certs[c.Fingerprint] = true, true
	}
	return r
}

// to reports whether a trust anchor may make a difference to what verifies them: crypto/x509
// looks for issuers by their names, and for the certificates themselves.
func (r related) to(anchor *Cert) bool {
	return r.issuers[anchor.Subject] || r.certs[anchor.Fingerprint]
}
