package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// answerLimit is how long a user waits for "it can't be reached".
const answerLimit = 10 * time.Second

// Who can't get in is told what was tried, on what, and the next step.
func TestWithoutAccess(t *testing.T) {
	t.Parallel()
	w := enter(t)
	server := w.userKubeconfig(t).cluster["server"].(string)
	refused, silent := closedPort(t), silentServer(t)
	other := pkitest.NewCA("another CA", time.Now().Add(-day), time.Now().Add(day))
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"the port is closed", []string{"--server", "https://" + refused}, []string{"read https://" + refused + "/version", "connection refused", `kubectl --context "lab" get --raw /readyz`}},
		{"the server says nothing", []string{"--server", "https://" + silent, "--request-timeout=2s"}, []string{"read https://" + silent + "/version", "next:"}},
		{"the kubeconfig is missing", []string{"--kubeconfig", "/no/such/file"}, []string{"kubeconfig: stat /no/such/file: no such file", "--kubeconfig or KUBECONFIG"}},
		{"the kubeconfig is none", []string{"--kubeconfig", garbageFile(t)}, []string{"kubeconfig:", "next:"}},
		{"the context is unknown", []string{"--context", "nope"}, []string{`context "nope" does not exist`, "next:"}},
		{"the CA is another one", []string{"--kubeconfig", w.withCA(t, other.CertPEM)}, []string{
			"read " + server + "/version", "certificate signed by unknown authority", `presents a certificate issued by "CN=kube-apiserver-`, "(sha256 ", `(context "lab")`, "next: if the load balancer's CA was rotated"}},
		{"the server has another name", []string{"--tls-server-name", "other.example"}, []string{"read " + server + "/version", "other.example", "next: the server's certificate is for other names"}},
		{"the client certificate has expired", []string{"--kubeconfig", w.withExpiredClient(t)}, []string{"read " + server + "/version", "it has expired, or the API server does not trust its CA", "next: log in again"}},
		{"the token is wrong", []string{"--kubeconfig", w.userKubeconfig(t).as(map[string]any{"token": "wrong"}).write(t)}, []string{"read " + server + "/version", "Tokens of oc login are refused although they are good", "next: log in again"}},
		{"the server is no API server", []string{"--kubeconfig", w.withServer(t, webServer(t))}, []string{"/version", "next:"}},
	} {
		for _, verb := range [][]string{{"inspect"}, {"inspect", "-o", "json"}, {"snapshot", "-o", filepath.Join(t.TempDir(), "snapshot")}} {
			t.Run(c.name+" for "+strings.Join(verb[:min(len(verb), 2)], " "), func(t *testing.T) {
				t.Parallel()
				r := w.run(t, append(verb, c.args...)...)
				if r.code != 2 || r.stdout != "" {
					t.Errorf("ended with %d, want 2; stdout:\n%s", r.code, r.stdout)
				}
				for _, want := range c.says {
					if !strings.Contains(r.stderr, want) {
						t.Errorf("does not say %q:\n%s", want, r.stderr)
					}
				}
				if !strings.HasPrefix(r.stderr, "error: ") || strings.Count(r.stderr, "\n") > 4 {
					t.Errorf("is no short error:\n%s", r.stderr)
				}
				if r.took > answerLimit {
					t.Errorf("took %s", r.took)
				}
				if verb[0] == "snapshot" {
					if _, err := os.Stat(verb[2]); err == nil {
						t.Error("wrote a snapshot of nothing")
					}
				}
			})
		}
	}
}

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// silentServer accepts and never says a word.
func silentServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// webServer answers everything with a page, as a captive portal or a wrong
// port does.
func webServer(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		_, _ = rw.Write([]byte("<html><body>Welcome to our hotel</body></html>"))
	}))
	t.Cleanup(s.Close)
	return s
}

func (w *world) withServer(t *testing.T, s *httptest.Server) string {
	t.Helper()
	k := w.userKubeconfig(t).as(map[string]any{"token": "x"})
	k.cluster["server"], k.cluster["certificate-authority-data"] = s.URL, asPEM(s.Certificate().Raw)
	return k.write(t)
}

func (w *world) withCA(t *testing.T, ca []byte) string {
	t.Helper()
	k := w.userKubeconfig(t)
	k.cluster["certificate-authority-data"] = ca
	return k.write(t)
}

// withExpiredClient has a certificate of the lab's own signer that expired an
// hour ago.
func (w *world) withExpiredClient(t *testing.T) string {
	t.Helper()
	stem := filepath.Join(w.lab.Dir, "pki", "admin-kubeconfig-signer")
	signer, err := tls.LoadX509KeyPair(stem+".crt", stem+".key")
	if err != nil {
		t.Fatal(err)
	}
	if signer.Leaf == nil {
		t.Fatal("the signer was not parsed")
	}
	now := time.Now()
	pair := pkitest.SelfSigned(w.planted.id+" expired", now.Add(-2*time.Hour), now.Add(-time.Hour), pkitest.Usages(x509.ExtKeyUsageClientAuth))
	template := *pair.Cert
	// The algorithm is the signer's, which may have another kind of key.
	template.Issuer, template.AuthorityKeyId, template.SignatureAlgorithm = signer.Leaf.Subject, nil, 0
	der, err := x509.CreateCertificate(nil, &template, signer.Leaf, pair.Key.Public(), signer.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return w.userKubeconfig(t).as(map[string]any{"client-certificate-data": asPEM(der), "client-key-data": pair.KeyPEM}).write(t)
}

func garbageFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(path, fmt.Appendf(nil, "{[%s", noise(1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
