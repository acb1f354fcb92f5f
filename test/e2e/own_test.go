//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// ownKubeconfig is the administrator whose own kubeconfig fails in the incident as
// kubelets' do: it trusts what a node that is not repaired trusts.
func (f *fixing) ownKubeconfig(t *testing.T, master, lost string, was standing) {
	file, config := f.failing(t, was)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	mine := []string{"--kubeconfig", file}
	with := func(args ...string) result { return f.inLab(t, append(args, mine...)...) }

	t.Run("it fails, and that says what is shown and what helps", func(t *testing.T) {
		ends(t, with("inspect"), 2, "unknown authority", "sha256 ", "fix-kubeconfig --api-ca-from ssh://")
		ends(t, with("fix-kubeconfig", "--yes"), 2, "does not verify", "presented 1: ", "--api-ca-from ssh://")
	})
	t.Run("a repair of nodes trusts the API by a master's CA", func(t *testing.T) {
		dry := []string{"fix-api-int", "--nodes", lost, "--via", "ssh", "--dry-run=client"}
		ends(t, with(dry...), 2, "--api-ca-from ssh://")
		r := with(append(dry, "--details", "--api-ca-from", "ssh://"+master)...)
		ends(t, r, 1, "ConfigMap/openshift-config-managed/kube-apiserver-server-ca")
		if strings.Contains(r.said(), "Without the API server") {
			t.Errorf("the API was not asked:\n%s", r.said())
		}
	})
	t.Run("a machine that is no master has no CA to give", func(t *testing.T) {
		ends(t, with("fix-kubeconfig", "--yes", "--api-ca-from", "ssh://"+lost), 2, "is this a control plane node?")
	})
	unchanged := func(t *testing.T) {
		t.Helper()
		if now, err := os.ReadFile(file); err != nil || string(now) != string(before) {
			t.Fatalf("the file was changed, %v", err)
		}
	}
	unchanged(t)
	t.Run("a dry run changes nothing", func(t *testing.T) {
		ends(t, with("fix-kubeconfig", "--dry-run=client", "--api-ca-from", "ssh://"+master), 1, "it verifies the served certificate", "  + ")
		ends(t, with("fix-kubeconfig", "--api-ca-from", "ssh://"+master), 5, "nothing was changed")
		unchanged(t)
	})
	t.Run("it is mended, and the file before is kept", func(t *testing.T) {
		ends(t, with("fix-kubeconfig", "--yes", "--api-ca-from", "ssh://"+master), 0, "the API server answers")
		backups, err := filepath.Glob(file + ".certrot-*")
		if err != nil || len(backups) != 1 {
			t.Fatalf("there are backups %q, %v", backups, err)
		}
		if kept, err := os.ReadFile(backups[0]); err != nil || string(kept) != string(before) {
			t.Errorf("the backup is not what was before, %v", err)
		}
		now, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		after, err := clientcmd.Load(now)
		if err != nil {
			t.Fatal(err)
		}
		// Oracle: client-go, with the file as it is, and the old CA is among the new ones.
		for name, c := range after.Clusters {
			count := 0
			for _, found := range pki.NewScanner().Scan(c.CertificateAuthorityData) {
				count += len(found.Content.Certs)
			}
			if count < 2 || c.Server != config.Clusters[name].Server {
				t.Errorf("cluster %s has %d CAs and server %s", name, count, c.Server)
			}
		}
		out, err := f.lab.Command(t.Context(), f.lab.Kubectl, "--kubeconfig", file, "get", "--raw", "/version").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "gitVersion") {
			t.Errorf("kubectl with the mended file: %v: %s", err, out)
		}
		ends(t, with("fix-kubeconfig", "--yes"), 0, "No changes")
	})
}

// failing is an administrator's kubeconfig that trusts what a node did.
func (f *fixing) failing(t *testing.T, was standing) (file string, config *clientcmdapi.Config) {
	t.Helper()
	old, err := clientcmd.Load([]byte(was.files[ownConfig]))
	if err != nil {
		t.Fatal(err)
	}
	if config, err = clientcmd.LoadFromFile(filepath.Join(f.lab.Dir, "inner", "kubeconfig")); err != nil {
		t.Fatal(err)
	}
	for _, u := range config.AuthInfos {
		f.secret.key("the administrator's key", u.ClientKeyData)
	}
	for _, c := range config.Clusters {
		for _, o := range old.Clusters {
			c.CertificateAuthority, c.CertificateAuthorityData = "", o.CertificateAuthorityData
			c.Server = o.Server // in the lab, api's certificate is not rotated with that of api-int
		}
	}
	file = filepath.Join(t.TempDir(), "admin.kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file, config
}
