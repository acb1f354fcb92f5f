package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNothingOfAnEarlierReleaseStays: what it left in the folder is neither published nor packed. A user's own files stay.
func TestNothingOfAnEarlierReleaseStays(t *testing.T) {
	r := release{root: root, out: t.TempDir(), version: tag, made: made}
	old := []string{
		"kubectl-certrot_v0.0.9_linux_amd64.tar.gz", "kubectl-certrot_v0.0.9_linux_amd64.tar.gz.cdx.json", "kubectl-certrot_v0.0.9_windows_amd64.zip",
		"kubectl-certrot_0.0.9_amd64.deb", "kubectl-certrot-0.0.9-1.x86_64.rpm", "kubectl-certrot_v0.0.9_image.tar", "certrot.yaml", "checksums.txt",
		"checksums.txt.sigstore.json", "man/man1/kubectl-certrot-gone.1", "man/man1/kubectl-certrot-gone.1.gz", "linux_s390x/kubectl-certrot", "linux_s390x/THIRD_PARTY_LICENSES",
	}
	own := []string{"notes.txt", "kubectl-certrot", "man/man1/other.1", "linux_s390x/notes.txt"}
	for _, name := range slices.Concat(old, own) {
		path := filepath.Join(r.out, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.clear(); err != nil {
		t.Fatal(err)
	}
	for name := range sumsOf(t, r.out) {
		if i := slices.Index(own, name); i < 0 {
			t.Errorf("%s stays", name)
		} else {
			own = slices.Delete(own, i, i+1)
		}
	}
	if len(own) > 0 {
		t.Errorf("%v are gone", own)
	}
}

// TestEachFileThatIsPublishedHasItsChecksum: of what lies in the folder itself.
func TestEachFileThatIsPublishedHasItsChecksum(t *testing.T) {
	dir := releaseOf(t)
	text, err := os.ReadFile(filepath.Join(dir, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		said[name] = sum
	}
	there := 0
	for name, sum := range sumsOf(t, dir) {
		if strings.Contains(name, "/") || name == "checksums.txt" {
			continue
		}
		there++
		if said[name] != sum {
			t.Errorf("%s: checksums.txt has %q, it is %s", name, said[name], sum)
		}
	}
	if there != len(said) || there < 4 {
		t.Errorf("%d files, %d checksums", there, len(said))
	}
}
