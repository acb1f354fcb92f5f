package remediatetest

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// apiServer is what listens at api-int: real TLS, and one answer to whatever is asked.
type apiServer struct {
	URL  string
	pair atomic.Pointer[tls.Certificate]
	old  atomic.Bool // it speaks no TLS above 1.2
	net.Listener
}

func newAPIServer(t *testing.T, ca *pkitest.Authority) *apiServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, l, ca)
}

// serve is an API server behind a listener.
func serve(t *testing.T, l net.Listener, ca *pkitest.Authority) *apiServer {
	t.Helper()
	s := &apiServer{Listener: l, URL: "https://" + l.Addr().String()}
	s.show(t, ca)
	t.Cleanup(func() { _ = s.Close() })
	config := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.pair.Load(), nil }}
	old := config.Clone()
	old.MaxVersion = tls.VersionTLS12
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if s.old.Load() {
			return old, nil
		}
		return nil, nil
	}
	go func() {
		for {
			conn, err := s.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
				shown := tls.Server(conn, config)
				if shown.Handshake() == nil { // a client that ends it has its reasons
					if n, _ := shown.Read(make([]byte, 1)); n > 0 { // until the client has seen it
						_, _ = io.WriteString(shown, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
					}
				}
				_ = shown.Close()
			}()
		}
	}()
	return s
}

// show makes it show a certificate of another CA from now on.
func (s *apiServer) show(t *testing.T, ca *pkitest.Authority) {
	t.Helper()
	host, _, _ := net.SplitHostPort(s.Addr().String())
	s.showAs(t, ca, "api-int", pkitest.IPs(host))
}

// showAs makes it present a certificate of this name, from another CA, from now on.
func (s *apiServer) showAs(t *testing.T, ca *pkitest.Authority, cn string, opts ...pkitest.Option) {
	t.Helper()
	p := ca.Issue(cn, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), opts...)
	pair, err := tls.X509KeyPair(pkitest.Bundle(p.CertPEM, ca.CertPEM), p.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	s.pair.Store(&pair)
}
