package pki_test

import (
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestVerifyIsWhatAHandshakeSays: crypto/x509 does not look at the key of a leaf, and the handshake
// signs with it.
func TestVerifyIsWhatAHandshakeSays(t *testing.T) {
	t.Parallel()
	now := time.Now()
	from, to := now.Add(-time.Hour), now.Add(time.Hour)
	ca := pkitest.NewCA("ca", from, to)
	roots := x509.NewCertPool()
	roots.AddCert(ca.Cert)
	certs := func(pem []byte) []*pki.Cert { return pki.NewScanner().Scan(pem)[0].Content.Certs }
	good := ca.Issue("good", from, to, pkitest.DNS("a.b"))
	for name, key := range map[string]pkitest.Option{
		"RSA 512": pkitest.RSA(512), "RSA 1022": pkitest.RSA(1022), "RSA 1024": pkitest.RSA(1024), "P-256": pkitest.Curve(elliptic.P256()),
		"P-384": pkitest.Curve(elliptic.P384()), "P-521": pkitest.Curve(elliptic.P521()), "Ed25519": pkitest.Ed25519(),
	} {
		leaf := ca.Issue("leaf", from, to, pkitest.DNS("a.b"), key, pkitest.Usages(x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth))
		chain, anchors := certs(leaf.CertPEM), certs(ca.CertPEM)
		server := shakes(t, roots, leaf, good)
		if err := pki.Verify(chain, anchors, "a.b", now); (err == nil) != (server == nil) {
			t.Errorf("%s: of a server: %v, and its handshake: %v", name, err, server)
		}
		client := shakes(t, roots, good, leaf)
		if err := pki.VerifyClient(chain, anchors, now); (err == nil) != (client == nil) {
			t.Errorf("%s: of a client: %v, and its handshake: %v", name, err, client)
		}
	}
}

// shakes is what the handshake of a server and a client comes to.
func shakes(t *testing.T, roots *x509.CertPool, server, client pkitest.Pair) error {
	t.Helper()
	pair := func(p pkitest.Pair) []tls.Certificate {
		c, err := tls.X509KeyPair(p.CertPEM, p.KeyPEM)
		if err != nil {
			t.Fatal(err)
		}
		return []tls.Certificate{c}
	}
	asked := tls.NoClientCert
	if len(client.Cert.ExtKeyUsage) > 1 {
		asked = tls.RequireAndVerifyClientCert
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	b, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	a, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{a, b} {
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	one := tls.Server(a, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: pair(server), ClientAuth: asked, ClientCAs: roots})
	other := tls.Client(b, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: pair(client), RootCAs: roots, ServerName: "a.b"})
	said := make(chan error, 1)
	go func() {
		defer a.Close()
		said <- one.Handshake()
	}()
	err = other.Handshake()
	if refused := <-said; err == nil { // of the client, after it is done
		err = refused
	}
	return err
}
