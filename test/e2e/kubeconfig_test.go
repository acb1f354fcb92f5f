package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// kubeconfig is the only cluster, user and context of a kubeconfig.
type kubeconfig struct {
	cluster, user, context map[string]any
	whole                  map[string]any
}

// userKubeconfig is a copy of the lab's kubeconfig, to be changed.
func (w *world) userKubeconfig(t *testing.T) kubeconfig {
	t.Helper()
	var k kubeconfig
	if err := json.Unmarshal(w.mustKubectl(t, "config", "view", "--raw", "--minify", "-o", "json"), &k.whole); err != nil {
		t.Fatal(err)
	}
	first := func(list, item string) map[string]any {
		return k.whole[list].([]any)[0].(map[string]any)[item].(map[string]any)
	}
	k.cluster, k.user, k.context = first("clusters", "cluster"), first("users", "user"), first("contexts", "context")
	return k
}

// as makes it another user's.
func (k kubeconfig) as(credentials map[string]any) kubeconfig {
	clear(k.user)
	for name, value := range credentials {
		k.user[name] = value
	}
	return k
}

// write returns the file's path.
func (k kubeconfig) write(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, asJSON(k.whole), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// of returns the kubeconfig of a planted user, with the certificate that the
// cluster's signer issued.
func (w *world) of(t *testing.T, name, namespace string) string {
	t.Helper()
	request := w.planted.userName(name)
	var csr struct{ Status struct{ Certificate []byte } }
	if err := w.get(&csr, "csr", request); err != nil {
		t.Fatal(err)
	}
	k := w.userKubeconfig(t).as(map[string]any{
		"client-certificate-data": csr.Status.Certificate,
		"client-key-data":         w.planted.secrets.kept[request],
	})
	k.context["namespace"] = namespace
	return k.write(t)
}
