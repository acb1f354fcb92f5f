package connect

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMasterCA runs what is run on a master.
func TestMasterCA(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(dir+name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func() (string, error) {
		cmd := exec.CommandContext(t.Context(), "sh", "-s", "--", dir+"/node-kubeconfigs", dir+"/kube-apiserver-pod-*/ca.crt")
		cmd.Stdin = strings.NewReader(masterCA)
		out, err := cmd.Output()
		return string(out), err
	}
	if out, err := run(); err == nil {
		t.Errorf("not a master: %q", out)
	}
	for name, text := range map[string]string{"9": "nine", "10": "ten", "x": "none"} {
		put("/kube-apiserver-pod-"+name+"/ca.crt", text)
	}
	if out, err := run(); err != nil || out != "ten" {
		t.Errorf("%q, %v", out, err)
	}
	put("/node-kubeconfigs/lb-ext.kubeconfig", "clusters:\n- cluster:\n    certificate-authority-data: aGVyZQ==\n    server: s\nusers:\n- user:\n    client-key-data: c2VjcmV0\n")
	if out, err := run(); err != nil || out != "aGVyZQ==\n" {
		t.Errorf("%q, %v", out, err)
	}
}
