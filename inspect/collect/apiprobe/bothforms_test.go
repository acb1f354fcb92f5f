package apiprobe

import (
	"os"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// TestBothFormsOfACredential: client-go refuses a kubeconfig with a file beside the data, and of two tokens it
// takes the file's. What is asked with one of the two proves nothing of a kubelet.
func TestBothFormsOfACredential(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	w := world{name: "sh", sh: []string{"sh"}, tmp: t.TempDir()}
	for name, c := range map[string]struct{ before, more, want string }{
		"as it was":    {"", "", "node 200, lease 200"},
		"CAs":          {"    server:", "    certificate-authority: %\n", "a kubelet does not accept certificate-authority beside certificate-authority-data"},
		"certificates": {"    client-certificate-data:", "    client-certificate: %\n", "a kubelet does not accept client-certificate beside client-certificate-data"},
		"keys":         {"    client-certificate-data:", "    client-key: %\n", "a kubelet does not accept client-key beside client-key-data"},
	} {
		k := newKubelet(t, a, "n1")
		k.embedded = true
		k.write(t)
		more := strings.ReplaceAll(c.more, "%", k.dir+"/kubelet-client-current.pem")
		text := edited(t, k.own, c.before, more)
		config, err := clientcmd.Load([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := clientcmd.ConfirmUsable(*config, ""); (err != nil) != (more != "") {
			t.Fatalf("%s: client-go: %v", name, err)
		}
		if got := brief(k.ask(t, w).Kubeconfig); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	k := newKubelet(t, a, "n1")
	k.write(t)
	edited(t, k.joins, "    token:", "    tokenFile: "+k.dir+"/none\n")
	if got := brief(k.ask(t, w).Bootstrap); !strings.Contains(got, "not read: it has token beside tokenFile") {
		t.Errorf("two tokens: %s", got)
	}
}

// edited puts lines before another one of a file.
func edited(t *testing.T, path, before, more string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := strings.Replace(string(text), before, more+before, 1)
	if err := os.WriteFile(path, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}
