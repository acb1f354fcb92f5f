package pkitest

import (
	"crypto/elliptic"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"net/url"
)

// Option changes what is minted.
type Option func(*order)

// order is a certificate to be minted.
type order struct {
	template x509.Certificate
	keyName  string
	newKey   func(name string) signer
}

// Subject sets the whole subject in place of the common name alone.
func Subject(name pkix.Name) Option {
	return func(o *order) { o.template.Subject = name }
}

// DNS adds DNS names.
func DNS(names ...string) Option {
	return func(o *order) { o.template.DNSNames = append(o.template.DNSNames, names...) }
}

// IPs adds IP addresses, as text.
func IPs(addresses ...string) Option {
	return func(o *order) {
		for _, a := range addresses {
			ip := net.ParseIP(a)
			if ip == nil {
				panic(fmt.Sprintf("pkitest: %q is no IP address", a))
			}
			o.template.IPAddresses = append(o.template.IPAddresses, ip)
		}
	}
}

// URIs adds URIs, as text.
func URIs(uris ...string) Option {
	return func(o *order) {
		for _, text := range uris {
			u, err := url.Parse(text)
			must(err)
			o.template.URIs = append(o.template.URIs, u)
		}
	}
}

// Usages sets the extended key usages; without it, a leaf may serve and be a
// client. No arguments: none at all.
func Usages(usages ...x509.ExtKeyUsage) Option {
	return func(o *order) { o.template.ExtKeyUsage = usages }
}

// Serial sets the serial number, which may be negative, as some in the field
// are.
func Serial(n int64) Option {
	return func(o *order) { o.template.SerialNumber = big.NewInt(n) }
}

// Template changes anything else of the certificate.
func Template(change func(*x509.Certificate)) Option {
	return func(o *order) { change(&o.template) }
}

// KeyName derives the key from this name, in place of one made of the common
// name, the start of validity and the issuer: certificates with equal key names
// share their key.
func KeyName(name string) Option {
	return func(o *order) { o.keyName = name }
}

// Curve makes an ECDSA key on the curve. The default is P-256.
func Curve(c elliptic.Curve) Option {
	return func(o *order) {
		o.newKey = func(name string) signer { return newECDSA(name, c) }
	}
}

// Ed25519 makes an Ed25519 key.
func Ed25519() Option {
	return func(o *order) {
		o.newKey = func(name string) signer { return newEd25519(name) }
	}
}

// RSA makes an RSA key. It takes some tenths of a second.
func RSA(bits int) Option {
	return func(o *order) {
		o.newKey = func(name string) signer { return newRSA(name, bits) }
	}
}
