//go:build linux

package e2e

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// emptyImage gives a node an image without any program, until the end of the
// test, and returns its name.
func emptyImage(t *testing.T, lab *labtest.Lab, node string) string {
	t.Helper()
	const name = "localhost/certrot-e2e/empty:1"
	t.Cleanup(func() {
		if _, err := labDo(lab, "ssh", node, "sudo ctr -n k8s.io images rm "+name); err != nil {
			t.Error(err)
		}
	})
	layer := archive(t, map[string][]byte{"README": []byte("nothing to run\n")}, "README")
	sum := sha256.Sum256(layer)
	config := asJSON(object{
		"architecture": runtime.GOARCH, "os": "linux", "config": object{"Entrypoint": []string{"/none"}},
		"rootfs": object{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}},
	})
	manifest, err := json.Marshal([]object{{"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := lab.SSHCommand(ctx, node, "sudo ctr -n k8s.io images import -")
	c.Stdin = bytes.NewReader(archive(t, map[string][]byte{"layer.tar": layer, "config.json": config, "manifest.json": manifest},
		"layer.tar", "config.json", "manifest.json"))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("import an image on %s: %v\n%s", node, err, out)
	}
	return name
}

func archive(t *testing.T, files map[string][]byte, order ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range order {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name])), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
