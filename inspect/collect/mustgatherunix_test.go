//go:build unix

package collect

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

func TestOddDirectories(t *testing.T) {
	t.Parallel()
	dir := directoryOf(t, caseConfigMap...)
	for _, err := range []error{
		os.Symlink(".", filepath.Join(dir, "loop")),
		os.Symlink("/etc", filepath.Join(dir, "mg/image/namespaces/etc")),
		os.Symlink("/etc/passwd", filepath.Join(dir, "mg/image/namespaces/a/core/secrets.yaml")),
		syscall.Mkfifo(filepath.Join(dir, "mg/image/namespaces/a/core/events.yaml"), 0o600),
		os.MkdirAll(filepath.Join(dir, strings.Repeat("d/", 100)), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := File{Path: dir, Scanner: pki.NewScanner()}.Read()
	if err != nil || places(s.Bundles) != "ConfigMap/a/c[ca.crt]" || len(s.Gaps) != 2 || !strings.Contains(reasons(s.Gaps), "deeper than 64") || !strings.Contains(reasons(s.Gaps), "secrets.yaml: is a link, or no file") || !strings.Contains(notes(s.Reads), "4 links and devices, not followed") {
		t.Errorf("bundles %s, reads %s, gaps %s, %v", places(s.Bundles), notes(s.Reads), reasons(s.Gaps), err)
	}
}

func TestUnreadableDirectory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("not on this platform: root may read every directory")
	}
	dir := directoryOf(t, append(slices.Clone(caseConfigMap), "mg/image/namespaces/b/core/secrets.yaml", list())...)
	closed := filepath.Join(dir, "mg/image/namespaces/b")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(closed, 0o700) })
	s, err := File{Path: dir, Scanner: pki.NewScanner()}.Read()
	if err != nil || len(s.Bundles) != 1 || len(s.Gaps) != 1 || !strings.Contains(reasons(s.Gaps), "namespaces/b: read: ") {
		t.Errorf("bundles %s, gaps %s, %v", places(s.Bundles), reasons(s.Gaps), err)
	}
}
