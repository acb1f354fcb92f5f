package pkitest

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"time"
)

// signer is a private key.
type signer = crypto.Signer

// Pair is a certificate and its private key.
type Pair struct {
	Cert    *x509.Certificate
	Key     crypto.Signer
	CertPEM []byte // "CERTIFICATE"
	KeyPEM  []byte // "RSA PRIVATE KEY", "EC PRIVATE KEY", or "PRIVATE KEY" for Ed25519
}

// Authority is a certificate authority.
type Authority struct{ Pair }

// NewCA mints a self-signed certificate authority.
func NewCA(cn string, from, to time.Time, opts ...Option) *Authority {
	o := newOrder(cn, from, to, nil, authority, opts)
	return &Authority{mint(o, nil)}
}

// SelfSigned mints a self-signed certificate that is no authority.
func SelfSigned(cn string, from, to time.Time, opts ...Option) Pair {
	return mint(newOrder(cn, from, to, nil, leaf, opts), nil)
}

// CA mints an intermediate authority.
func (a *Authority) CA(cn string, from, to time.Time, opts ...Option) *Authority {
	return &Authority{mint(newOrder(cn, from, to, a, authority, opts), a)}
}

// Issue mints a leaf certificate, for servers and clients unless Usages says
// otherwise. It is safe for concurrent use.
func (a *Authority) Issue(cn string, from, to time.Time, opts ...Option) Pair {
	return mint(newOrder(cn, from, to, a, leaf, opts), a)
}

// Request returns a PKCS#10 request in PEM, and the PEM of its key.
func Request(cn string, opts ...Option) (requestPEM, keyPEM []byte) {
	o := newOrder(cn, time.Time{}, time.Time{}, nil, leaf, opts)
	key := o.newKey(o.keyName)
	der, err := x509.CreateCertificateRequest(nil, &x509.CertificateRequest{
		Subject:        o.template.Subject,
		DNSNames:       o.template.DNSNames,
		IPAddresses:    o.template.IPAddresses,
		URIs:           o.template.URIs,
		EmailAddresses: o.template.EmailAddresses,
	}, key)
	must(err)
	return encode("CERTIFICATE REQUEST", der), encodeKey(key)
}

// Bundle joins PEM blocks.
func Bundle(blocks ...[]byte) []byte { return bytes.Join(blocks, nil) }

func authority(t *x509.Certificate) {
	t.BasicConstraintsValid = true
	t.IsCA = true
	t.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageCertSign
}

func leaf(t *x509.Certificate) {
	t.BasicConstraintsValid = true
	t.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
}

func newOrder(cn string, from, to time.Time, by *Authority, role func(*x509.Certificate), opts []Option) *order {
	o := &order{
		keyName: cn + " from " + from.UTC().Format(time.RFC3339Nano),
		newKey:  func(name string) signer { return newECDSA(name, elliptic.P256()) },
	}
	if by != nil {
		o.keyName += " by " + hex.EncodeToString(by.Cert.SubjectKeyId)
	}
	o.template.Subject = pkix.Name{CommonName: cn}
	o.template.NotBefore, o.template.NotAfter = from, to
	role(&o.template)
	for _, opt := range opts {
		opt(o)
	}
	if o.template.SerialNumber == nil {
		seed := stream("serial "+o.keyName+" to "+to.UTC().Format(time.RFC3339Nano), 8)
		seed[0] = seed[0]&0x7f | 0x40 // positive, and always of the same length
		o.template.SerialNumber = new(big.Int).SetBytes(seed)
	}
	return o
}

// mint makes the certificate, signed by the authority or, if that is nil, by
// itself.
func mint(o *order, by *Authority) Pair {
	key := o.newKey(o.keyName)
	t := o.template
	if t.SubjectKeyId == nil {
		// Set here, since the standard library's choice changed between releases.
		spki, err := x509.MarshalPKIXPublicKey(key.Public())
		must(err)
		id := sha256.Sum256(spki)
		t.SubjectKeyId = id[:20]
	}
	parent, signedBy := &t, key
	if by != nil {
		parent, signedBy = by.Cert, by.Key
	}
	serial := t.SerialNumber
	if serial.Sign() < 0 {
		t.SerialNumber = placeholder(serial)
	}
	der, err := x509.CreateCertificate(nil, &t, parent, key.Public(), signedBy)
	must(err)
	if serial.Sign() < 0 {
		der = withSerial(der, serial, signedBy)
	}
	cert, err := x509.ParseCertificate(der)
	must(err)
	return Pair{Cert: cert, Key: key, CertPEM: encode("CERTIFICATE", der), KeyPEM: encodeKey(key)}
}

// placeholder is a positive number whose DER is as long as that of n.
func placeholder(n *big.Int) *big.Int {
	der, err := asn1.Marshal(n)
	must(err)
	return new(big.Int).SetBytes(bytes.Repeat([]byte{0x7f}, len(der)-2))
}

// withSerial puts a negative serial number, which crypto/x509 refuses to write,
// in the place of its placeholder and signs again.
func withSerial(der []byte, serial *big.Int, key signer) []byte {
	var outer struct {
		TBS       asn1.RawValue
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}
	_, err := asn1.Unmarshal(der, &outer)
	must(err)
	old, err := asn1.Marshal(placeholder(serial))
	must(err)
	with, err := asn1.Marshal(serial)
	must(err)
	tbs := bytes.Replace(outer.TBS.FullBytes, old, with, 1)
	hash := signatureHash(key)
	signature, err := crypto.SignMessage(key, nil, tbs, hash)
	must(err)
	outer.TBS = asn1.RawValue{FullBytes: tbs}
	outer.Signature = asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}
	der, err = asn1.Marshal(outer)
	must(err)
	return der
}

// signatureHash is the hash with which crypto/x509 signs by default.
func signatureHash(key signer) crypto.Hash {
	switch k := key.(type) {
	case ecdsaKey:
		switch k.Curve {
		case elliptic.P384():
			return crypto.SHA384
		case elliptic.P521():
			return crypto.SHA512
		}
	case ed25519.PrivateKey:
		return crypto.Hash(0)
	}
	return crypto.SHA256
}

func encodeKey(key signer) []byte {
	switch k := key.(type) {
	case ecdsaKey:
		der, err := x509.MarshalECPrivateKey(k.PrivateKey)
		must(err)
		return encode("EC PRIVATE KEY", der)
	case *rsa.PrivateKey:
		return encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(k))
	default:
		der, err := x509.MarshalPKCS8PrivateKey(k)
		must(err)
		return encode("PRIVATE KEY", der)
	}
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
