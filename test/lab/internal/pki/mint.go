package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Files of the key pair that signs service account tokens.
const (
	ServiceAccountKey = "bound-service-account-signing-key.key"
	ServiceAccountPub = "bound-service-account-signing-key.pub"
)

// CertFile is where Mint puts a certificate, with its chain if it serves.
func CertFile(dir, name string) string { return filepath.Join(dir, name+".crt") }

// KeyFile is where Mint puts a certificate's key.
func KeyFile(dir, name string) string { return filepath.Join(dir, name+".key") }

// BundleFile is where Mint puts a CA bundle.
func BundleFile(dir, name string) string { return filepath.Join(dir, "bundle-"+name+".crt") }

// Mint writes every signer, leaf and bundle of the lab into dir.
func Mint(dir string, now time.Time) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder for certificates: %w", err)
	}
	m := minter{dir: dir, now: now, signers: map[string]*pair{}}
	for _, s := range signers(now) {
		if err := m.signer(s); err != nil {
			return fmt.Errorf("mint signer %s: %w", s.name, err)
		}
	}
	for _, l := range leaves() {
		if err := m.leaf(l); err != nil {
			return fmt.Errorf("mint leaf %s: %w", l.name, err)
		}
	}
	for _, b := range bundles() {
		var all []byte
		for _, name := range b.signers {
			all = append(all, m.signers[name].pem...)
		}
		if err := os.WriteFile(BundleFile(dir, b.name), all, 0o644); err != nil {
			return fmt.Errorf("write bundle %s: %w", b.name, err)
		}
	}
	if err := serviceAccountKeys(dir); err != nil {
		return fmt.Errorf("mint the service account signing key: %w", err)
	}
	return nil
}

type minter struct {
	dir     string
	now     time.Time
	signers map[string]*pair
}

type pair struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

func (m *minter) signer(s signer) error {
	// RSA, as on OpenShift, whose controllers sign by nothing else.
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	p, err := m.create(key, &x509.Certificate{
		Subject:               pkix.Name{CommonName: s.cn},
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}, s.validity, m.signers[s.parent])
	if err != nil {
		return err
	}
	m.signers[s.name] = p
	return m.write(s.name, p, p.pem)
}

func (m *minter) leaf(l leaf) error {
	t := &x509.Certificate{
		Subject:               pkix.Name{CommonName: l.subject.cn, Organization: l.subject.groups},
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:           l.usages,
		BasicConstraintsValid: true,
	}
	for _, h := range l.hosts {
		// As OpenShift does it: an address is a DNS name too, for clients that
		// look nowhere else.
		t.DNSNames = append(t.DNSNames, h)
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		}
	}
	ca := m.signers[l.signer]
	// Not RSA: there are many of them, and these are made at once.
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	p, err := m.create(key, t, l.validity, ca)
	if err != nil {
		return err
	}
	chain := p.pem
	if len(l.hosts) > 0 {
		// OpenShift serves the signer with the leaf.
		chain = bytes.Join([][]byte{p.pem, ca.pem}, nil)
	}
	return m.write(l.name, p, chain)
}

// create makes a certificate for a key, signed by ca, or by itself when there is
// none.
func (m *minter) create(key crypto.Signer, t *x509.Certificate, validity time.Duration, ca *pair) (*pair, error) {
	var err error
	if t.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 63)); err != nil {
		return nil, err
	}
	t.NotBefore = m.now.Add(-time.Second)
	t.NotAfter = m.now.Add(validity)
	parent, signing := t, key
	if ca != nil {
		parent, signing = ca.cert, ca.key
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key.Public(), signing)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &pair{cert: cert, key: key, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, nil
}

func (m *minter) write(name string, p *pair, chain []byte) error {
	if err := writeKey(KeyFile(m.dir, name), p.key); err != nil {
		return err
	}
	return os.WriteFile(CertFile(m.dir, name), chain, 0o644)
}

func serviceAccountKeys(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if err := writeKey(filepath.Join(dir, ServiceAccountKey), key); err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	pub := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	return os.WriteFile(filepath.Join(dir, ServiceAccountPub), pub, 0o644)
}

func writeKey(path string, key crypto.Signer) error {
	block := &pem.Block{}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		block.Type, block.Bytes = "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(k)
	case *ecdsa.PrivateKey:
		der, err := x509.MarshalECPrivateKey(k)
		if err != nil {
			return err
		}
		block.Type, block.Bytes = "EC PRIVATE KEY", der
	default:
		return fmt.Errorf("a key of type %T", key)
	}
	return os.WriteFile(path, pem.EncodeToMemory(block), 0o600)
}
