package pki

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// ParseCert reads one DER certificate. It keeps a copy of der, not der itself.
//
// Whatever crypto/x509 can read is accepted, however absurd: negative serial
// numbers, dates in the year 9999, an end before the start. The exceptions are keys
// and names that take too long to work with.
func ParseCert(der []byte) (*Cert, error) {
	return parseCert(der, func(int) error { return nil })
}

func parseCert(der []byte, charge func(cost int) error) (*Cert, error) {
	if err := boundedDER(der); err != nil {
		return nil, err
	}
	x, err := x509.ParseCertificate(bytes.Clone(der))
	if err != nil {
		return nil, fmt.Errorf("certificate can't be parsed: %w", foreign.Error(err)) // a URI in it is in the error
	}
	if err := bounded(x); err != nil {
		return nil, err
	}
	c := &Cert{
		Fingerprint: FingerprintOf(x.Raw),
		DER:         x.Raw,
		Subject:     x.Subject.String(),
		Serial:      x.SerialNumber.Text(16),
		NotBefore:   WritableTime(x.NotBefore),
		NotAfter:    WritableTime(x.NotAfter),
		Names:       names(x.DNSNames, x.IPAddresses, x.EmailAddresses, x.URIs),
		Usages:      usages(x.ExtKeyUsage, x.UnknownExtKeyUsage),
		PublicKey:   publicKeyName(x.PublicKey, x.RawSubjectPublicKeyInfo),
		Signature:   signatureName(x),
		SPKI:        FingerprintOf(x.RawSubjectPublicKeyInfo),
		SubjectKey:  hex.EncodeToString(x.SubjectKeyId),
		IssuerKey:   hex.EncodeToString(x.AuthorityKeyId),
		extensions:  extensionsOf(x),
	}
	c.Issuer = c.Subject
	if !bytes.Equal(x.RawIssuer, x.RawSubject) {
		c.Issuer = x.Issuer.String()
	} else {
		// Verifying costs more than all the rest, hence only here.
		if err := charge(c.cost()); err != nil {
			return nil, err
		}
		c.SelfSigned = x.CheckSignature(x.SignatureAlgorithm, x.RawTBSCertificate, x.Signature) == nil
	}
	c.IsCA = x.BasicConstraintsValid && x.IsCA || x.Version == 1 && c.SelfSigned
	return c, nil
}

// WritableTime is a time in UTC, in the years that JSON can hold. In a certificate a year has four
// digits, and an offset may lead out of them.
func WritableTime(t time.Time) time.Time {
	switch t = t.UTC(); {
	case t.Year() > 9999:
		return time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)
	case t.Year() < 0:
		return time.Date(0, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	return t
}

// ParseRequest reads one DER PKCS#10 request whose key and name are of sizes that can be worked with.
// Its signature is not checked.
func ParseRequest(der []byte) (*Request, error) {
	x, err := ParseX509Request(bytes.Clone(der))
	if err != nil {
		return nil, err
	}
	return &Request{
		Subject: x.Subject.String(),
		Names:   names(x.DNSNames, x.IPAddresses, x.EmailAddresses, x.URIs),
		SPKI:    FingerprintOf(x.RawSubjectPublicKeyInfo),
		KeyAlgo: publicKeyName(x.PublicKey, x.RawSubjectPublicKeyInfo),
	}, nil
}

func names[IP, URI fmt.Stringer](dns []string, ips []IP, mails []string, uris []URI) Names {
	n := Names{DNS: dns}
	for _, ip := range ips {
		n.IPs = append(n.IPs, ip.String())
	}
	n.Others = mails
	for _, u := range uris {
		n.Others = append(n.Others, u.String())
	}
	return n
}

// usageName names an extended key usage. The words are constants: tens of
// thousands of certificates share them.
func usageName(u x509.ExtKeyUsage) string {
	switch u {
	case x509.ExtKeyUsageAny:
		return "any"
	case x509.ExtKeyUsageServerAuth:
		return "server auth"
	case x509.ExtKeyUsageClientAuth:
		return "client auth"
	case x509.ExtKeyUsageCodeSigning:
		return "code signing"
	case x509.ExtKeyUsageEmailProtection:
		return "email protection"
	case x509.ExtKeyUsageIPSECEndSystem:
		return "IPsec end system"
	case x509.ExtKeyUsageIPSECTunnel:
		return "IPsec tunnel"
	case x509.ExtKeyUsageIPSECUser:
		return "IPsec user"
	case x509.ExtKeyUsageTimeStamping:
		return "time stamping"
	case x509.ExtKeyUsageOCSPSigning:
		return "OCSP signing"
	}
	return "usage " + strconv.Itoa(int(u))
}

func usages(known []x509.ExtKeyUsage, unknown []asn1.ObjectIdentifier) []string {
	if len(known)+len(unknown) == 0 {
		return nil
	}
	list := make([]string, 0, len(known)+len(unknown))
	for _, u := range known {
		list = append(list, usageName(u))
	}
	for _, oid := range unknown {
		list = append(list, oid.String())
	}
	return list
}

// publicKeyName names a public key's algorithm and size. For an algorithm that
// crypto/x509 does not know, it gives the object identifier.
func publicKeyName(pub any, spki []byte) string {
	switch k := pub.(type) {
	case *rsa.PublicKey:
		switch n := k.N.BitLen(); n {
		case 2048:
			return "RSA 2048"
		case 3072:
			return "RSA 3072"
		case 4096:
			return "RSA 4096"
		default:
			return "RSA " + strconv.Itoa(n)
		}
	case *ecdsa.PublicKey:
		switch name := k.Curve.Params().Name; name {
		case "P-256":
			return "ECDSA P-256"
		case "P-384":
			return "ECDSA P-384"
		default:
			return "ECDSA " + name
		}
	case ed25519.PublicKey:
		return "Ed25519"
	}
	oid, ok := spkiAlgorithm(spki)
	if !ok {
		return "unknown"
	}
	return oidName(oid)
}

// oidName names the algorithms that are met in the field but unknown to
// crypto/x509; for others it writes the numbers.
func oidName(oid asn1.ObjectIdentifier) string {
	switch s := oid.String(); s {
	case "1.2.840.10040.4.1":
		return "DSA"
	case "1.2.840.113549.1.1.10":
		return "RSA-PSS"
	case "1.3.101.110":
		return "X25519"
	case "1.3.101.111":
		return "X448"
	case "1.3.101.113":
		return "Ed448"
	case "2.16.840.1.101.3.4.3.17":
		return "ML-DSA-44"
	case "2.16.840.1.101.3.4.3.18":
		return "ML-DSA-65"
	case "2.16.840.1.101.3.4.3.19":
		return "ML-DSA-87"
	default:
		return s
	}
}

// spkiAlgorithm returns the algorithm of a SubjectPublicKeyInfo.
func spkiAlgorithm(spki []byte) (asn1.ObjectIdentifier, bool) {
	var oid asn1.ObjectIdentifier
	in := cryptobyte.String(spki)
	var seq, alg cryptobyte.String
	ok := in.ReadASN1(&seq, cbasn1.SEQUENCE) &&
		seq.ReadASN1(&alg, cbasn1.SEQUENCE) &&
		alg.ReadASN1ObjectIdentifier(&oid)
	return oid, ok
}

// signatureName names the signature algorithm, by its object identifier when
// crypto/x509 does not know it.
func signatureName(x *x509.Certificate) string {
	if x.SignatureAlgorithm != x509.UnknownSignatureAlgorithm {
		return x.SignatureAlgorithm.String()
	}
	var seq cryptobyte.String
	var oid asn1.ObjectIdentifier
	in := cryptobyte.String(x.Raw)
	ok := in.ReadASN1(&seq, cbasn1.SEQUENCE) &&
		seq.SkipASN1(cbasn1.SEQUENCE) &&
		seq.ReadASN1(&in, cbasn1.SEQUENCE) &&
		in.ReadASN1ObjectIdentifier(&oid)
	if !ok {
		return "unknown"
	}
	return oidName(oid)
}

const (
	// maxRSA is the largest RSA key that is worked with, in bits. One verification takes
	// time in the square of it: milliseconds here, a quarter of an hour of a processor at a
	// million bits, which fits into any ConfigMap. crypto/tls ends at 8192.
	maxRSA = 16384
	// maxParts is the largest number of parts of a name. crypto/x509 writes names in time
	// in the square of it, and a compressed value of some kilobytes holds a million.
	maxParts = 1000
	// maxBytes is the largest certificate or request that is parsed, and maxElements how many DER
	// elements it may have. With thousands of names it has some 100 kB; crypto/x509 keeps 140 bytes of
	// a name that takes two, and a compressed value of some kilobytes holds ten million.
	maxBytes    = 512 << 10
	maxElements = 25_000
	// fewBytes are those of ordinary ones, whose elements are not counted.
	fewBytes = 2 << 10
)

// TooLarge says of what can be parsed why nothing is done with it.
type TooLarge string

func (e TooLarge) Error() string { return string(e) }

// boundedDER refuses what takes too much memory to parse.
func boundedDER(der []byte) error {
	if len(der) > maxBytes {
		return TooLarge(fmt.Sprintf("it has %d bytes: above %d it is not read", len(der), maxBytes))
	}
	if elements(der) > maxElements {
		return TooLarge(fmt.Sprintf("it has more than %d elements: it is not read", maxElements))
	}
	return nil
}

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

// MaxRequest is how many bytes of the text of a CertificateSigningRequest are read: with 100 names it
// has some 5,000.
const MaxRequest = 64 << 10

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
	if err := boundedDER(der); err != nil {
		return nil, err
	}
	x, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, fmt.Errorf("certificate request can't be parsed: %w", foreign.Error(err))
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
