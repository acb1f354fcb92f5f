package rootfs

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What a container runtime checks before it takes an image: the manifest names
// files that are there, and the layer has the digest that the image expects.
func TestImageArchiveIsWhole(t *testing.T) {
	layer, err := busyboxLayer([]byte("not really busybox"), []string{"sh", "nc", "busybox"})
	if err != nil {
		t.Fatal(err)
	}
	above := filepath.Join(t.TempDir(), "above")
	if err := os.WriteFile(above, []byte("not really a layer"), 0o600); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := imageArchive(&text, imageList(), layer, file{from: above}); err != nil {
		t.Fatal(err)
	}
	files := unpacked(t, text.Bytes())
	var manifests []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if err := json.Unmarshal(files["manifest.json"], &manifests); err != nil {
		t.Fatal(err)
	}
	if len(manifests) != len(imageList()) {
		t.Errorf("%d images, want %d", len(manifests), len(imageList()))
	}
	for i, m := range manifests {
		if m.RepoTags[0] != imageList()[i].Name {
			t.Errorf("image %d is called %v", i, m.RepoTags)
		}
		var config struct {
			RootFS struct {
				DiffIDs []string `json:"diff_ids"`
			} `json:"rootfs"`
		}
		if err := json.Unmarshal(files[m.Config], &config); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, l := range m.Layers {
			sum := sha256.Sum256(files[l])
			want = append(want, "sha256:"+hex.EncodeToString(sum[:]))
		}
		if len(want) != 2 || !slices.Equal(config.RootFS.DiffIDs, want) {
			t.Errorf("%s expects layers %s, and they are %s", m.RepoTags, config.RootFS.DiffIDs, want)
		}
	}
	if got := string(files["layer-1.tar"]); got != "not really a layer" {
		t.Errorf("the upper layer is %q", got)
	}
	lowest := unpacked(t, files["layer-0.tar"])
	for name, want := range map[string]string{"bin/busybox": "not really busybox", "bin/sh": "-> busybox", "bin/nc": "-> busybox"} {
		if got := string(lowest[name]); got != want {
			t.Errorf("%s in the image is %q, want %q", name, got, want)
		}
	}
}

func unpacked(t *testing.T, text []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Linkname != "" {
			b = []byte("-> " + h.Linkname)
		}
		if _, twice := files[h.Name]; twice {
			t.Errorf("%s is there twice", h.Name)
		}
		files[h.Name] = b
	}
}
