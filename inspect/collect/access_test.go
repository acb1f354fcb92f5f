package collect

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestAccess reads kubeconfigs as files: what Access says of places has to be where
// Kubeconfig found the certificates.
func TestAccess(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	now := time.Now()
	ca := pkitest.NewCA("clients", now, now.Add(time.Hour))
	user := ca.Issue("system:admin", now, now.Add(time.Hour))
	b64 := base64.StdEncoding.EncodeToString
	for _, c := range []struct {
		name, cluster, user string
		want                inspect.Access
	}{
		{"embedded", "certificate-authority-data: " + b64(ca.CertPEM), "client-certificate-data: " + b64(user.CertPEM) + "\n    client-key-data: " + b64(user.KeyPEM),
			inspect.Access{Presents: inspect.CredentialCertificate, CA: inspect.CAEmbedded}},
		{"files", "certificate-authority: ca.crt", "client-certificate: user.crt\n    client-key: user.key", inspect.Access{Presents: inspect.CredentialCertificate, CA: inspect.CAFile}},
		{"a token", "insecure-skip-tls-verify: true", "token: sha256~abc", inspect.Access{Presents: inspect.CredentialToken, How: "a token", CA: inspect.CAIgnored}},
		{"a program", "tls-server-name: example.com", "exec: {apiVersion: client.authentication.k8s.io/v1, command: /usr/bin/oc, interactiveMode: Never}",
			inspect.Access{Presents: inspect.CredentialOther, How: "the program oc", CA: inspect.CASystem}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "config")
			text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: me\nclusters:\n- name: there\n  cluster:\n    server: %s\n    %s\ncontexts:\n- name: me\n  context: {cluster: there, user: i}\nusers:\n- name: i\n  user:\n    %s\n", server.URL, c.cluster, c.user)
			for name, data := range map[string][]byte{path: []byte(text), dir + "/ca.crt": ca.CertPEM, dir + "/user.crt": user.CertPEM, dir + "/user.key": user.KeyPEM} {
				if err := os.WriteFile(name, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			config, err := clientcmd.LoadFromFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s := Access(*config, "me", server.URL).Collect(t.Context())
			if s.Access == nil || len(s.Served) != 1 || s.Served[0].Node != "" || s.Served[0].Address != s.Access.Server {
				t.Fatalf("%+v, served %+v", s.Access, s.Served)
			}
			got := *s.Access
			found := inspect.Merge(s, Kubeconfig(pki.NewScanner(), *config, "me").Collect(t.Context()))
			for name, at := range map[string]pki.Location{"CN=clients": got.Trust, "CN=system:admin": got.Certificate} {
				if c.want.Presents != inspect.CredentialCertificate {
					if at != (pki.Location{}) {
						t.Errorf("%s is at %s", name, at)
					}
					continue
				}
				seen := false
				for _, b := range found.Bundles {
					seen = seen || b.At == at && b.Content.Certs[0].Subject == name
				}
				if !seen {
					t.Errorf("no %s at %s: %+v", name, at, found.Bundles)
				}
			}
			c.want.Context, c.want.Server, c.want.Name, c.want.Certificate, c.want.Trust = "me", got.Server, got.Name, got.Certificate, got.Trust
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestSnapshotKeepsWhatWasAsked says that a file judges as the cluster did.
func TestSnapshotKeepsWhatWasAsked(t *testing.T) {
	t.Parallel()
	want := &inspect.RestartProbe{
		Problem: "p",
		Kubeconfig: inspect.ProbedKubeconfig{Path: "/own", Presents: inspect.CredentialCertificate, Certificate: "/pem", Field: "f", Answers: []inspect.ProbeAnswer{
			{Question: inspect.AskNode, Server: "a:1", Name: "a", Address: "10.0.0.1", Code: 401, Reason: "Unauthorized"}, {Question: inspect.AskLease, Failure: inspect.FailedTrust, Detail: "d"},
		}},
		Bootstrap: inspect.ProbedKubeconfig{Path: "/boot", Absent: true, Refused: "r", Unread: "u"},
	}
	access := &inspect.Access{Context: "c", Presents: inspect.CredentialToken, How: "a token", CA: inspect.CAFile, Server: "s", Problem: "p", Trust: pki.Location{Kind: pki.KindFile, Path: "/ca"}}
	var file bytes.Buffer
	if err := WriteSnapshot(&file, inspect.Snapshot{Nodes: []inspect.Node{{Name: "asked", RestartProbe: want}, {Name: "unasked"}}, Access: access}); err != nil {
		t.Fatal(err)
	}
	s, err := File{Path: "-", Stdin: &file, Scanner: pki.NewScanner()}.Read()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, s.Nodes[0].RestartProbe); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(access, s.Access); d != "" || s.Nodes[1].RestartProbe != nil {
		t.Errorf("%s; %v", d, s.Nodes[1].RestartProbe)
	}
}
