package collect

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// listen answers each connection; its address is returned.
func listen(t *testing.T, answer func(net.Conn)) inspect.Address {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				answer(conn)
			}()
		}
	}()
	return inspect.Address{HostPort: l.Addr().String(), Name: "127.0.0.1"}
}

// presenting does a TLS handshake by this configuration.
func presenting(config *tls.Config) func(net.Conn) {
	return func(conn net.Conn) {
		server := tls.Server(conn, config)
		if server.Handshake() == nil {
			_, _ = io.Copy(io.Discard, server)
		}
	}
}

// TestPresentReadsWhatServersPresent: a server that wants a client certificate gets none, and its
// chain is read all the same; of a chain that is too long, the rest is counted.
func TestPresentReadsWhatServersPresent(t *testing.T) {
	t.Parallel()
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	ca := pkitest.NewCA("ca", from, to, pkitest.Ed25519())
	leaf := ca.Issue("api", from, to, pkitest.Ed25519(), pkitest.IPs("127.0.0.1"))
	pair, err := tls.X509KeyPair(pkitest.Bundle(leaf.CertPEM, ca.CertPEM), leaf.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	long := pair
	for range 300 {
		long.Certificate = append(long.Certificate[:len(long.Certificate):len(long.Certificate)], ca.Cert.Raw)
	}
	servers := []inspect.Address{
		listen(t, presenting(&tls.Config{Certificates: []tls.Certificate{pair}, MaxVersion: tls.VersionTLS12, ClientAuth: tls.RequireAnyClientCert})),
		listen(t, presenting(&tls.Config{Certificates: []tls.Certificate{long}})),
		listen(t, func(net.Conn) {}),
	}
	got := Present(t.Context(), servers, 10*time.Second)
	if h := got[0]; len(h.Chain) != 2 || h.TLS != "TLS 1.2" || !h.WantsClient || h.Remote != h.HostPort || h.Problem != "" {
		t.Errorf("who wants a client certificate: %+v", h)
	}
	if h := got[1]; len(h.Chain) != mostPresented || h.NotRead != 302-mostPresented || h.TLS != "TLS 1.3" || h.WantsClient {
		t.Errorf("a long chain: %d certificates, %d not read, %s", len(h.Chain), h.NotRead, h.TLS)
	}
	if h := got[2]; len(h.Chain) > 0 || !strings.Contains(h.Problem, "it closed the connection") || h.Next == "" {
		t.Errorf("who closes the connection: %+v", h)
	}
	if _, err := handshake(t.Context(), LocalDialer{}, servers[1].HostPort, "api"); err == nil || !strings.Contains(err.Error(), "a chain of 302 certificates") {
		t.Errorf("nodes' clients: %v", err)
	}
}
