package pkitest

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"math/big"
	"time"
)

// Oversized returns a self-issued certificate and a request, in PEM, for an RSA key of any
// size. The signatures have the length that this key needs and verify with no key: finding
// the private half of a key of a million bits would take months.
func Oversized(cn string, bits int, from, to time.Time, opts ...Option) (certPEM, requestPEM []byte) {
	o := newOrder(cn, from, to, nil, authority, opts)
	small := newRSA(o.keyName, 1024)
	name := o.keyName + " oversized"
	n := new(big.Int).SetBytes(stream(name, bits/8))
	n.SetBit(n, bits-1, 1).SetBit(n, 0, 1)
	signature := stream(name+" signature", bits/8)
	signature[0] = 0 // below the modulus
	old, err := x509.MarshalPKIXPublicKey(&small.PublicKey)
	must(err)
	large, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: n, E: 65537})
	must(err)
	cert, err := x509.CreateCertificate(nil, &o.template, &o.template, &small.PublicKey, small)
	must(err)
	request, err := x509.CreateCertificateRequest(nil, &x509.CertificateRequest{
		Subject: o.template.Subject, DNSNames: o.template.DNSNames, IPAddresses: o.template.IPAddresses,
	}, small)
	must(err)
	return encode("CERTIFICATE", withKey(cert, old, large, signature)), encode("CERTIFICATE REQUEST", withKey(request, old, large, signature))
}

// withKey puts another public key and another signature into a certificate or a request.
func withKey(der, old, key, signature []byte) []byte {
	var outer struct{ Signed, Algorithm, Signature asn1.RawValue }
	_, err := asn1.Unmarshal(der, &outer)
	must(err)
	var signed []byte
	for rest := outer.Signed.Bytes; len(rest) > 0; {
		var part asn1.RawValue
		rest, err = asn1.Unmarshal(rest, &part)
		must(err)
		if bytes.Equal(part.FullBytes, old) {
			part.FullBytes = key
		}
		signed = append(signed, part.FullBytes...)
	}
	outer.Signed = asn1.RawValue{Class: asn1.ClassUniversal, Tag: asn1.TagSequence, IsCompound: true, Bytes: signed}
	outer.Signature = asn1.RawValue{Class: asn1.ClassUniversal, Tag: asn1.TagBitString, Bytes: append([]byte{0}, signature...)}
	der, err = asn1.Marshal(outer)
	must(err)
	return der
}
