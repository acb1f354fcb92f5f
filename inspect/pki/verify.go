package pki

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
		size, ok := strings.CutPrefix(c.PublicKey, "RSA ")
		if bits, err := strconv.Atoi(size); ok && err == nil && bits > most {
			return fmt.Errorf("certificate %d of the chain has an RSA key of %d bits: crypto/tls takes up to %d", i+1, bits, most)
		}
	}
	return nil
}

// VerifyChain is Verify for any usage and any name.
func VerifyChain(chain, roots []*Cert, now time.Time) error {
	return verify(chain, roots, x509.VerifyOptions{CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
}

// VerifyCA says whether a client that trusts these roots would accept what this CA
// signs.
func VerifyCA(ca *Cert, roots []*Cert, now time.Time) error {
	return VerifyChain([]*Cert{ca}, roots, now)
}

func verify(chain, roots []*Cert, opts x509.VerifyOptions) error {
	if len(chain) == 0 {
		return errors.New("no certificate was presented")
	}
	opts.Roots, opts.Intermediates = x509.NewCertPool(), x509.NewCertPool()
	chain = climb(chain)
	for _, c := range anchorsOf(chain, roots) {
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

// mostTried is how many signatures crypto/x509 verifies of one chain, at most (verify.go,
// maxChainSignatureChecks): of more certificates, most are not looked at. Parsing them costs more
// than all the rest.
const mostTried = 100

// climb is the leaf of a chain and what may lead from it to a trust anchor.
func climb(chain []*Cert) []*Cert {
	if len(chain) <= mostTried {
		return chain
	}
	by := bySubject(chain[1:])
	out, seen := chain[:1:1], map[Fingerprint]bool{}
	for n := 0; n < len(out) && len(out) <= mostTried; n++ {
		for _, c := range likeliest(out[n], by[out[n].Issuer]) {
			if isNew(seen, c.Fingerprint) {
				out = append(out, c)
			}
		}
	}
	return out[:min(len(out), mostTried+1)]
}

// anchorsOf are the trust anchors that may make a difference to a chain.
func anchorsOf(chain, roots []*Cert) []*Cert {
	related := relatedTo(chain)
	var out []*Cert
	for _, c := range roots {
		if related.to(c) {
			out = append(out, c)
		}
	}
	if len(out) <= mostTried {
		return out
	}
	by, chosen := bySubject(out), map[Fingerprint]bool{}
	for _, c := range chain {
		for _, issuer := range likeliest(c, by[c.Issuer]) {
			chosen[issuer.Fingerprint] = true
		}
	}
	return slices.DeleteFunc(out, func(c *Cert) bool { return !chosen[c.Fingerprint] && !related.certs[c.Fingerprint] })
}

func bySubject(certs []*Cert) map[string][]*Cert {
	out := map[string][]*Cert{}
	for _, c := range certs {
		out[c.Subject] = append(out[c.Subject], c)
	}
	return out
}

// likeliest are the first of those that may have issued a certificate, in the order in which
// crypto/x509 tries them: by their key identifiers.
func likeliest(c *Cert, issuers []*Cert) []*Cert {
	if len(issuers) <= mostTried {
		return issuers
	}
	rank := func(issuer *Cert) int {
		switch {
		case issuer.SubjectKey == c.IssuerKey:
			return 0
		case issuer.SubjectKey == "" || c.IssuerKey == "":
			return 1
		}
		return 2
	}
	return slices.SortedStableFunc(slices.Values(issuers), func(a, b *Cert) int { return rank(a) - rank(b) })[:mostTried]
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
