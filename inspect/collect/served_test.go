package collect

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// apiServer presents a chain of this CA to those who ask for api-int.example.com.
func apiServer(t *testing.T, ca *pkitest.Authority, clients tls.ClientAuthType) (dial func(context.Context, string, string) (net.Conn, error), leaf pki.Fingerprint) {
	t.Helper()
	p := ca.Issue("api-int", time.Now().Add(-time.Hour), time.Now().Add(time.Hour), pkitest.DNS("api-int.example.com"))
	pair, err := tls.X509KeyPair(pkitest.Bundle(p.CertPEM, ca.CertPEM), p.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that clients end
	server.TLS = &tls.Config{ClientAuth: clients, GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if hello.ServerName != "api-int.example.com" {
			t.Errorf("somebody asked for %q", hello.ServerName)
		}
		return &pair, nil
	}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != "api-int.example.com:6443" {
			t.Errorf("somebody dialled %s", addr)
		}
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}, pki.FingerprintOf(p.Cert.Raw)
}

func TestNodesTellWhatIsServed(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("ca", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	root := nodeRoot(t, ca)
	kubeconfig := "clusters:\n- cluster:\n    server: https://api-int.example.com:6443\n  name: local\ncontexts:\n- context:\n    cluster: local\n    user: kubelet\n  name: kubelet\ncurrent-context: kubelet\nusers:\n- name: kubelet\n  user:\n    token: sesame\n"
	if err := os.WriteFile(root+"/etc/kubernetes/kubeconfig", []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, clients := range map[string]tls.ClientAuthType{"whoever comes": tls.NoClientCert, "only who has a certificate": tls.RequireAnyClientCert} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dial, leaf := apiServer(t, ca, clients)
			nodes := testNodes(func(context.Context, string) (OnNode, error) { return folder{root: root, dial: dial}, nil }, "worker-0")
			nodes.Served, nodes.Options.Texts = true, true
			s := nodes.Collect(t.Context())
			if len(gapsOf(s)) > 0 || len(s.Served) != 1 || len(s.Served[0].Chain) != 2 {
				t.Fatalf("served %+v, gaps %+v", s.Served, s.Gaps)
			}
			if got := s.Served[0]; got.Chain[0].Fingerprint != leaf || got.Node != "worker-0" || got.Address != "api-int.example.com:6443" {
				t.Errorf("served %+v", got)
			}
			text := string(s.Nodes[0].Kubeconfigs[0].Text)
			if len(text) != len(kubeconfig) || strings.Contains(text, "sesame") || !strings.Contains(text, "token: xxxxxx\n") {
				t.Errorf("text:\n%s", text)
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		nodes := testNodes(func(context.Context, string) (OnNode, error) { return folder{root: root}, nil }, "worker-0")
		nodes.Served = true
		s := nodes.Collect(t.Context())
		if len(s.Served) > 0 || len(gapsOf(s)) != 1 || !strings.Contains(gapsOf(s)[0].Reason, "handshake") || len(s.Nodes[0].Kubeconfigs) != 1 {
			t.Errorf("served %+v, gaps %+v", s.Served, s.Gaps)
		}
		if s.Nodes[0].Kubeconfigs[0].Text != nil {
			t.Error("a text that nobody asked for")
		}
	})
}

// gapsOf leaves out that there is no systemd where tests run.
func gapsOf(s inspect.Snapshot) []inspect.Gap {
	return slices.DeleteFunc(slices.Clone(s.Gaps), func(g inspect.Gap) bool { return strings.HasPrefix(g.Reason, "units of services") })
}

// TestHandshakeEnds meets a server that says nothing.
func TestHandshakeEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	mute := folder{dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { _ = theirs.Close() })
		return ours, nil
	}}
	if chain, err := handshake(ctx, mute, "a:1", "a"); err == nil || len(chain) > 0 {
		t.Errorf("chain %v, %v", chain, err)
	}
}

// TestAChainWithoutItsKeyIsNoAnswer: certificates are public, and a man in the middle can present
// an old one. A server that wants a client certificate has proven that it has the key.
func TestAChainWithoutItsKeyIsNoAnswer(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("ca", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	own, other := ca.Issue("a", time.Now().Add(-time.Hour), time.Now().Add(time.Hour), pkitest.DNS("a")), ca.Issue("b", time.Now().Add(-time.Hour), time.Now().Add(time.Hour), pkitest.DNS("b"))
	pair, err := tls.X509KeyPair(own.CertPEM, own.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	stolen, err := tls.X509KeyPair(other.CertPEM, other.KeyPEM)
	if err != nil {
		t.Fatal(err)
	}
	stolen.Certificate = pair.Certificate
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, wants := range []tls.ClientAuthType{tls.NoClientCert, tls.RequireAnyClientCert} {
			for _, of := range []*tls.Certificate{&pair, &stolen} {
				from := folder{dial: func(context.Context, string, string) (net.Conn, error) {
					ours, theirs := net.Pipe()
					go func() {
						_ = tls.Server(theirs, &tls.Config{Certificates: []tls.Certificate{*of}, MinVersion: version, MaxVersion: version, ClientAuth: wants}).HandshakeContext(t.Context())
						_ = theirs.Close()
					}()
					return ours, nil
				}}
				chain, err := handshake(t.Context(), from, "a:1", "a")
				if proven := of == &pair; proven != (len(chain) == 1) || proven != (err == nil) {
					t.Errorf("%s, its own key %t, %s: %d certificates, %v", tls.VersionName(version), proven, wants, len(chain), err)
				}
			}
		}
	}
}

// TestAServerThatSignsNothingHasShownNothing: before TLS 1.3 a key exchange may be left out, until
// the client answers; a client certificate is asked for before that.
func TestAServerThatSignsNothingHasShownNothing(t *testing.T) {
	t.Parallel()
	leaf := pkitest.NewCA("ca", time.Now().Add(-time.Hour), time.Now().Add(time.Hour)).Issue("a", time.Now().Add(-time.Hour), time.Now().Add(time.Hour), pkitest.DNS("a")).Cert.Raw
	sized := func(bytes int, body ...[]byte) []byte { // a vector, with its length before it
		all := slices.Concat(body...)
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(all)))[4-bytes:], all...) //nolint:gosec // a few hundred
	}
	message := func(kind byte, body ...[]byte) []byte { return append([]byte{kind}, sized(3, body...)...) }
	for _, suite := range []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256} {
		said := sized(2,
			message(2, []byte{3, 3}, make([]byte, 32), []byte{0}, binary.BigEndian.AppendUint16(nil, suite), []byte{0}), // ServerHello
			message(11, sized(3, sized(3, leaf))),                                        // Certificate
			message(13, sized(1, []byte{1, 64}), sized(2, []byte{4, 3, 8, 4}), sized(2)), // CertificateRequest
			message(14)) // ServerHelloDone
		from := folder{dial: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				defer func() { _ = theirs.Close() }()
				head := make([]byte, 5)
				if _, err := io.ReadFull(theirs, head); err != nil {
					return
				}
				if _, err := io.CopyN(io.Discard, theirs, int64(binary.BigEndian.Uint16(head[3:]))); err != nil {
					return
				}
				_, _ = theirs.Write(append([]byte{22, 3, 3}, said...))
				_, _ = io.Copy(io.Discard, theirs)
			}()
			return ours, nil
		}}
		chain, err := handshake(t.Context(), from, "a:1", "a")
		if len(chain) > 0 || err == nil || !strings.Contains(err.Error(), "ServerKeyExchange") {
			t.Errorf("%s: %d certificates, %v", tls.CipherSuiteName(suite), len(chain), err)
		}
	}
}

// TestSnapshotKeepsServed goes through the file.
func TestSnapshotKeepsServed(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("ca", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	c, err := pki.ParseCert(ca.Cert.Raw)
	if err != nil {
		t.Fatal(err)
	}
	s := inspect.Snapshot{
		Served: []inspect.Served{
			{Node: "n", Address: "a:1", Name: "a", Chain: []*pki.Cert{c}},
			{Node: "n", Address: "b:1", Name: "b", Server: "kubelet", Of: "m", Problem: "refused"},
		},
		Cluster: inspect.Cluster{External: "https://api:6443"},
		Nodes:   []inspect.Node{{Name: "n", Heartbeat: time.Unix(1, 0).UTC(), Lease: inspect.Lease{Duration: 40 * time.Second, Asked: time.Unix(9, 0).UTC(), Unread: "x"}, Kubeconfigs: []inspect.Kubeconfig{{Path: "/k", Text: []byte("token: xxx"), Clusters: []inspect.KubeconfigCluster{{ServerName: "b"}}}}}},
	}
	var file strings.Builder
	if err := WriteSnapshot(&file, s); err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/s"
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	back, err := File{Path: path, Scanner: pki.NewScanner()}.Read()
	if err != nil {
		t.Fatal(err)
	}
	if len(back.Served) != 2 || !reflect.DeepEqual(back.Served[1], s.Served[1]) || back.Cluster.External != s.Cluster.External || back.Served[0].Chain[0].Fingerprint != c.Fingerprint || back.Served[0].Name != "a" {
		t.Errorf("served %+v", back.Served)
	}
	n := back.Nodes[0]
	if !n.Heartbeat.Equal(time.Unix(1, 0)) || n.Lease != (inspect.Lease{Duration: 40 * time.Second, Asked: time.Unix(9, 0).UTC(), Unread: "x"}) || string(n.Kubeconfigs[0].Text) != "token: xxx" || n.Kubeconfigs[0].Clusters[0].ServerName != "b" {
		t.Errorf("node %+v", n)
	}
}
