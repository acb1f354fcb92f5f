package pki

import (
	"bytes"
	"cmp"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
)

const (
	// maxRSA is the largest RSA key that is worked with, in bits. One verification takes
	// time in the square of it: milliseconds here, a quarter of an hour of a processor at a
	// million bits, which fits into any ConfigMap. crypto/tls ends at 8192.
	maxRSA = 16384
	// maxParts is the largest number of parts of a name. crypto/x509 writes names in time
	// in the square of it, and a compressed value of some kilobytes holds a million.
	maxParts = 1000
)

// TooLarge says of what can be parsed why nothing is done with it.
type TooLarge string

func (e TooLarge) Error() string { return string(e) }

// boundedKey refuses a public key with which nothing is to be computed. Other algorithms
// than RSA have keys of fixed sizes, or are never computed with.
func boundedKey(public any) error {
	if key, ok := public.(*rsa.PublicKey); ok && key.N.BitLen() > maxRSA {
		return TooLarge(fmt.Sprintf("its RSA key has %d bits: above %d bits it is neither read nor verified", key.N.BitLen(), maxRSA))
	}
	return nil
}

// boundedName refuses a name that takes too long to write.
func boundedName(what string, n pkix.Name) error {
	if len(n.Names) > maxParts {
		return TooLarge(fmt.Sprintf("its %s has %d parts: above %d it is not read", what, len(n.Names), maxParts))
	}
	return nil
}

// bounded refuses a certificate that takes too long to work with. Parsing it takes time
// in proportion to its length only.
func bounded(x *x509.Certificate) error {
	return cmp.Or(boundedKey(x.PublicKey), boundedName("subject", x.Subject), boundedName("issuer", x.Issuer))
}

// RequestBlock is the PKCS#10 request that the API server and signers read from a text: its first
// PEM block. problem says what is odd about the text: people and other readers may see another
// request in it.
func RequestBlock(text []byte) (der []byte, problem string) {
	const begin = "-----BEGIN"
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, "holds no certificate request in PEM"
	}
	read := bytes.TrimSpace(text[:len(text)-len(rest)])
	if !bytes.HasPrefix(read, []byte(begin)) || bytes.Count(read, []byte(begin)) > 1 || len(block.Headers) > 0 || len(bytes.TrimSpace(rest)) > 0 {
		problem = "holds something beside the certificate request"
	}
	return block.Bytes, problem
}

// ParseX509Request reads one DER PKCS#10 request whose key and names are of sizes that can
// be worked with. Its signature is not checked.
func ParseX509Request(der []byte) (*x509.CertificateRequest, error) {
	x, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, fmt.Errorf("certificate request can't be parsed: %w", err)
	}
	if err := cmp.Or(boundedKey(x.PublicKey), boundedName("subject", x.Subject)); err != nil {
		return nil, err
	}
	return x, nil
}

// Anchors are the trust anchors in a PEM text: those that crypto/x509 takes from it
// (AppendCertsFromPEM), without those that ParseCert refuses.
func Anchors(text []byte) *x509.CertPool {
	pool := x509.NewCertPool()
	for {
		var b *pem.Block
		if b, text = pem.Decode(text); b == nil {
			return pool
		}
		if b.Type != "CERTIFICATE" || len(b.Headers) > 0 {
			continue
		}
		if _, err := ParseCert(b.Bytes); err != nil {
			continue
		}
		if x, err := x509.ParseCertificate(b.Bytes); err == nil {
			pool.AddCert(x)
		}
	}
}
