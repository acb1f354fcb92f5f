package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// TestImageRuns unpacks the image and runs its entry point there, as its user and as one
// that OpenShift chose, with nothing else below the root.
func TestImageRuns(t *testing.T) {
	runnable(t)
	index := imagesOf(t, filepath.Join(releaseOf(t), "kubectl-certrot_"+tag+"_image.tar"))
	img, config := imageFor(t, index, linux)
	if got := config.Config; got.User != "65532:65532" || strings.Join(got.Entrypoint, " ") != "/kubectl-certrot" {
		t.Errorf("user %q, entry point %q", got.User, got.Entrypoint)
	}
	if !config.Created.Equal(made) {
		t.Errorf("created at %s, want the time of the sources", config.Created)
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // for other users
		t.Fatal(err)
	}
	rc := mutate.Extract(img)
	untar(t, rc, dir)
	for _, name := range []string{"licenses/LICENSE", "licenses/THIRD_PARTY_LICENSES"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("not on this platform: changing the root needs the right to")
	}
	snapshot, err := os.ReadFile(filepath.Join(root, "testdata/demo/okd-4.15-api-int.certrot"))
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range []syscall.Credential{{Uid: 65532, Gid: 65532}, {Uid: 1000710000, Gid: 0}} {
		for _, c := range []struct {
			args, want string
			code       int
		}{
			{"version", "certrot " + tag + " ", 0},
			{"inspect --from -", "api-int", 1},
		} {
			cmd := exec.Command(config.Config.Entrypoint[0], strings.Fields(c.args)...)
			cmd.Dir, cmd.Env, cmd.Stdin = config.Config.WorkingDir, config.Config.Env, strings.NewReader(string(snapshot))
			cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &user}
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != c.code || !strings.Contains(string(out), c.want) {
				t.Errorf("%s as %d: %v\n%s", c.args, user.Uid, err, out)
			}
		}
	}
}

func TestImageOfEveryLinux(t *testing.T) {
	images := map[platform]v1.Image{}
	for _, p := range platforms() {
		if p.OS != "linux" {
			continue
		}
		img, err := image(root, tag, p, placeholders(t, p), made)
		if err != nil {
			t.Fatal(err)
		}
		images[p] = img
	}
	var sums [2]string
	for i := range sums {
		path := filepath.Join(t.TempDir(), "image.tar")
		if err := writeImages(path, images, made); err != nil {
			t.Fatal(err)
		}
		index := imagesOf(t, path)
		if err := validate.Index(index); err != nil {
			t.Error(err)
		}
		for p := range images {
			img, config := imageFor(t, index, p)
			if config.OS != p.OS || config.Architecture != p.Arch {
				t.Errorf("the image of %s is of %s/%s", p, config.OS, config.Architecture)
			}
			dir := t.TempDir()
			untar(t, mutate.Extract(img), dir)
			if got, err := os.ReadFile(filepath.Join(dir, "kubectl-certrot")); err != nil || string(got) != p.String() {
				t.Errorf("the image of %s has the program of %s: %v", p, got, err)
			}
		}
		var err error
		if sums[i], err = sha256Of(path); err != nil {
			t.Fatal(err)
		}
	}
	if sums[0] != sums[1] {
		t.Errorf("the same files gave %s, then %s", sums[0], sums[1])
	}
}

// imagesOf reads the index of images of all platforms from a tar file.
func imagesOf(t *testing.T, path string) v1.ImageIndex {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	untar(t, file, dir)
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("index.json: %v\n%+v", err, manifest)
	}
	index, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func imageFor(t *testing.T, index v1.ImageIndex, p platform) (v1.Image, *v1.ConfigFile) {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifest.Manifests {
		if m.Platform.OS == p.OS && m.Platform.Architecture == p.Arch {
			img, err := index.Image(m.Digest)
			if err != nil {
				t.Fatal(err)
			}
			config, err := img.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			return img, config
		}
	}
	t.Fatalf("no image of %s: %+v", p, manifest.Manifests)
	return nil, nil
}

// untar unpacks files and folders, with their modes, and their owners where it may.
func untar(t *testing.T, rc io.ReadCloser, dir string) {
	t.Helper()
	defer rc.Close()
	for r := tar.NewReader(rc); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.Clean("/"+h.Name))
		mode := h.FileInfo().Mode()
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
					err = os.WriteFile(path, data, mode.Perm())
				}
			}
		}
		if err == nil && os.Getuid() == 0 {
			err = os.Chown(path, h.Uid, h.Gid)
		}
		if err == nil {
			err = os.Chmod(path, mode.Perm()|mode&os.ModeSticky)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
