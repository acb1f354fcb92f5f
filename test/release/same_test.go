package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain is also the program, for tests that run it as another user would.
func TestMain(m *testing.M) {
	if os.Getenv("CERTROT_RUN_RELEASE") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestSameBytes makes a release twice: of two copies of the checkout in folders of other
// names, whose files have other times and belong to another user, by other users with
// other homes, time zones, languages, umasks and folders for temporary files. Each file of
// both is the same. CERTROT_PLATFORMS names more platforms than this one, or all;
// CERTROT_EMPTY_CACHE has the second compile everything by itself.
func TestSameBytes(t *testing.T) {
	wanted := "linux/amd64"
	if more, ok := os.LookupEnv("CERTROT_PLATFORMS"); ok {
		wanted = strings.TrimPrefix(more, "all")
	}
	one := bytesOf(t, wanted, "a", nil, 0o022, "/bin:/usr/bin",
		"USER=root", "TZ=UTC", "LANG=C", "HOSTNAME=one")
	two := bytesOf(t, wanted, "quite/another path/with-a-long-name", []string{"CERTROT_EMPTY_CACHE"}, 0o077, "/usr/bin:/bin",
		"USER=builder", "LOGNAME=builder", "TZ=Pacific/Chatham", "LANG=de_DE.UTF-8", "HOSTNAME=two", "SUDO_USER=x")
	if len(one) < 2 {
		t.Fatalf("only %d files were made: %v", len(one), one)
	}
	for name, sum := range one {
		if two[name] == "" {
			t.Errorf("%s is made in one folder only", name)
		} else if two[name] != sum {
			t.Errorf("%s: sha256 %s, and of the same sources elsewhere %s", name, sum, two[name])
		}
	}
	if len(two) != len(one) {
		t.Errorf("%d files, and of the same sources elsewhere %d", len(one), len(two))
	}
}

// bytesOf makes a release of a copy of the checkout, and gives the sha256 of each file.
func bytesOf(t *testing.T, wanted, dir string, emptyCache []string, umask int, path string, env ...string) map[string]string {
	t.Helper()
	checkout := filepath.Join(t.TempDir(), dir)
	copyCheckout(t, checkout, umask)
	home := t.TempDir()
	goenv := func(name string) string {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		return name + "=" + strings.TrimSpace(string(out))
	}
	cache := goenv("GOCACHE")
	if slices.ContainsFunc(emptyCache, func(name string) bool { return os.Getenv(name) != "" }) {
		cache = "GOCACHE=" + t.TempDir()
	}
	gobin := filepath.Join(strings.TrimPrefix(goenv("GOROOT"), "GOROOT="), "bin")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `umask "$1"; shift; exec "$@"`, "sh", map[int]string{0o022: "022", 0o077: "077"}[umask],
		self, "-root", checkout, "-out", filepath.Join(checkout, "dist"), "-version", tag, "-platforms", wanted)
	cmd.Dir = checkout
	cmd.Env = append([]string{
		"CERTROT_RUN_RELEASE=1", "PATH=" + gobin + ":" + path, "HOME=" + home, "TMPDIR=" + t.TempDir(),
		"SOURCE_DATE_EPOCH=1772600767", cache, goenv("GOMODCACHE"), goenv("GOPROXY"), goenv("GOSUMDB"), "GOTOOLCHAIN=local",
	}, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make a release in %s: %v\n%s", dir, err, out)
	}
	sums := map[string]string{}
	err = filepath.WalkDir(filepath.Join(checkout, "dist"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(checkout, path)
		if err != nil {
			return err
		}
		sums[name], err = sha256Of(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// copyCheckout copies what git has, or would take, with times and modes of its own.
func copyCheckout(t *testing.T, to string, umask int) {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v\n%s", err, stderrOf(err))
	}
	day := time.Date(1999+umask%10, time.May, 6, 7, 8, 9, 0, time.UTC)
	for _, name := range strings.Split(string(bytes.TrimRight(out, "\x00")), "\x00") {
		from := filepath.Join(root, name)
		info, err := os.Stat(from)
		if err != nil || !info.Mode().IsRegular() { // deleted, and not yet in git
			continue
		}
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(copied), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied, data, info.Mode().Perm()&^os.FileMode(umask)); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() == 0 && umask != 0o022 {
			if err := os.Chown(copied, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(copied, day, day); err != nil {
			t.Fatal(err)
		}
	}
}
