package apiprobe

import (
	"context"
	"crypto/sha256"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// master has a client certificate and its key in files, and a file of CAs.
type master struct {
	dir string
	Credentials
}

func newMaster(t *testing.T, pair pkitest.Pair, ca []byte) master {
	t.Helper()
	dir := t.TempDir()
	m := master{dir, Credentials{Certificate: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), CA: filepath.Join(dir, "ca-bundle.crt")}}
	for file, text := range map[string][]byte{m.Certificate: pair.CertPEM, m.Key: pair.KeyPEM, m.CA: ca} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m.SHA256 = pki.Fingerprint(sha256.Sum256(pair.CertPEM))
	return m
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w world) {
		a := newAPI(t)
		server := a.Listener.Addr().String()
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		nobody := silent.Addr().String()
		_ = silent.Close()
		now := time.Now()
		good := a.clients.Issue("system:node:n1", now.Add(-time.Hour), now.Add(time.Hour))
		for _, c := range []struct {
			name  string
			m     master
			code  int
			fails inspect.Failure
			shown int32 // requests that the server saw a certificate of
		}{
			{"known", newMaster(t, good, a.ca.CertPEM), 200, "", 2},
			{"known, and may not", newMaster(t, a.clients.Issue("other", now.Add(-time.Hour), now.Add(time.Hour)), a.ca.CertPEM), 403, "", 2},
			{"of a signer that is not known", newMaster(t, a.ca.Issue("system:node:n1", now.Add(-time.Hour), now.Add(time.Hour)), a.ca.CertPEM), 401, "", 2},
			{"to a server that is not verified, nothing is shown", newMaster(t, good, a.clients.CertPEM), 0, inspect.FailedTrust, 0},
			{"the key is another one's", func() master {
				m := newMaster(t, good, a.ca.CertPEM)
				if err := os.WriteFile(m.Key, a.ca.Issue("x", now, now.Add(time.Hour)).KeyPEM, 0o600); err != nil {
					t.Fatal(err)
				}
				return m
			}(), 0, inspect.FailedTool, 0},
			{"the certificate is another one by now", func() master {
				m := newMaster(t, good, a.ca.CertPEM)
				m.SHA256[0]++
				return m
			}(), 0, inspect.FailedChanged, 0},
		} {
			before := a.shown.Load()
			got, err := Accepted(t.Context(), w, c.m.Credentials, "/api/v1/nodes/n1", []string{server, nobody, server})
			if err != nil || len(got) != 3 {
				t.Errorf("%s: %+v, %v", c.name, got, err)
				continue
			}
			for _, i := range []int{0, 2} { // one that is not there keeps no one from being asked
				if got[i].Code != c.code || got[i].Failure != c.fails || got[i].Server != server || (c.code == 0) != (got[i].Detail != "") {
					t.Errorf("%s: %+v", c.name, got[i])
				}
			}
			if got[1].Code != 0 || c.fails == "" && got[1].Failure != inspect.FailedConnect {
				t.Errorf("%s: nobody answered %+v", c.name, got[1])
			}
			if n := a.shown.Load() - before; n != c.shown {
				t.Errorf("%s: a certificate was shown %d times, want %d", c.name, n, c.shown)
			}
		}
	})
}

// refuser is a node on which nothing runs, after so many times.
type refuser struct {
	world
	left int
	told *strings.Builder
}

func (r *refuser) Run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	r.told.WriteString(strings.Join(argv, "\n"))
	if r.left--; r.left < 0 {
		return nil, context.DeadlineExceeded
	}
	return r.world.Run(ctx, stdin, argv...)
}

// TestWhatIsAnsweredStays: of many servers some may be asked before a node goes away.
func TestWhatIsAnsweredStays(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	now := time.Now()
	pair := a.clients.Issue("system:node:n1", now.Add(-time.Hour), now.Add(time.Hour))
	m := newMaster(t, pair, a.ca.CertPEM)
	w := &refuser{world{name: "sh", sh: []string{"sh"}, tmp: t.TempDir()}, 1, &strings.Builder{}}
	var servers []string
	for range atOnce + 3 {
		servers = append(servers, a.Listener.Addr().String())
	}
	got, err := Accepted(t.Context(), w, m.Credentials, "/api/v1/nodes/n1", servers)
	if err == nil || len(got) != atOnce || got[atOnce-1].Code != 200 {
		t.Errorf("%d answers, %v", len(got), err)
	}
	if told := w.told.String(); strings.Contains(told, "PRIVATE") || strings.Contains(told, strings.Split(string(pair.KeyPEM), "\n")[1]) || !strings.Contains(told, m.Key) {
		t.Error("the node is told where the key is, and never the key")
	}
}
