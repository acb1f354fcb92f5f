package collect

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestAMachineIsTheNodeOnlyIfItsKubeletOrHostNameSaysSo: the program that reads runs for
// real; the machine is this one, with a folder for its files.
func TestAMachineIsTheNodeOnlyIfItsKubeletOrHostNameSaysSo(t *testing.T) {
	t.Parallel()
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	ca := pkitest.NewCA("ca", from, to)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	kubelet := func(t *testing.T, user string) folder {
		t.Helper()
		root := nodeRoot(t, ca)
		if user == "" {
			return folder{root: root}
		}
		p := ca.Issue(user, from, to)
		at := filepath.Join(root, "/var/lib/kubelet/pki/kubelet-client-2026.pem")
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, append(p.CertPEM, p.KeyPEM...), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Base(at), filepath.Join(root, inspect.KubeletClient)); err != nil {
			t.Fatal(err)
		}
		return folder{root: root}
	}
	for _, c := range []struct{ name, node, kubelet, want string }{
		{"its kubelet says so", "w9", "system:node:w9", ""},
		{"its kubelet is another node's", "w9", "system:node:w8", `another node: its kubelet is "system:node:w8"`},
		{"its kubelet is another node's, and the host name fits", host, "system:node:w8", `another node: its kubelet is "system:node:w8"`},
		{"its host name says so", host, "", ""},
		{"its host name without the domain", strings.Split(host, ".")[0] + ".example.com", "", ""},
		{"another machine, without a kubelet", "w9", "", "calls itself " + foreign.QuotedName(host)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := IsNode(t.Context(), kubelet(t, c.kubelet), c.node)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "nothing else was read there")) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	t.Run("it does not answer", func(t *testing.T) {
		t.Parallel()
		err := IsNode(t.Context(), folder{root: t.TempDir(), run: func(context.Context) ([]byte, error) { return nil, io.ErrUnexpectedEOF }}, host)
		if err == nil || !strings.Contains(err.Error(), "identify node "+host) {
			t.Error(err)
		}
	})
}
