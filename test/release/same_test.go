package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestSameBytes makes the release once more: of a copy of the checkout in a folder of
// another name, whose files have other times and another owner, with another home, user's
// name, time zone, language, umask and folder for temporary files. Each file is the same.
// CERTROT_EMPTY_CACHE has that compile everything by itself. CERTROT_DIST is a release
// that was made before, of the version CERTROT_VERSION: that one is compared.
func TestSameBytes(t *testing.T) {
	dir, version, when := os.Getenv("CERTROT_DIST"), os.Getenv("CERTROT_VERSION"), made
	if dir == "" {
		dir, version = releaseOf(t), tag
	} else {
		var err error
		if when, err = sourceTime(root); err != nil {
			t.Fatal(err)
		}
	}
	one := sumsOf(t, dir)
	two := sumsOf(t, releaseOfCopy(t, version, when))
	if len(one) < 10 {
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

// releaseOfCopy makes a release of a copy of the checkout, and gives its folder.
func releaseOfCopy(t *testing.T, version string, made time.Time) string {
	t.Helper()
	checkout := filepath.Join(t.TempDir(), "quite", "another path", "with-a-long-name")
	copyCheckout(t, checkout)
	goenv := func(name string) string {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	cache := goenv("GOCACHE")
	if os.Getenv("CERTROT_EMPTY_CACHE") != "" {
		cache = t.TempDir()
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(checkout, "dist")
	cmd := exec.Command("sh", "-c", `umask 077; exec "$@"`, "sh", self, "-root", ".", "-out", out, "-version", version, "-platforms", platformsToTest())
	cmd.Dir = checkout
	cmd.Env = []string{
		"CERTROT_RUN_RELEASE=1", "SOURCE_DATE_EPOCH=" + strconv.FormatInt(made.Unix(), 10),
		"PATH=" + filepath.Join(goenv("GOROOT"), "bin") + ":/usr/bin:/bin", "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(),
		"USER=builder", "LOGNAME=builder", "TZ=Pacific/Chatham", "LANG=de_DE.UTF-8", "HOSTNAME=other",
		"GOCACHE=" + cache, "GOMODCACHE=" + goenv("GOMODCACHE"), "GOPROXY=" + goenv("GOPROXY"), "GOSUMDB=" + goenv("GOSUMDB"), "GOTOOLCHAIN=local",
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make a release of a copy: %v\n%s", err, out)
	}
	return out
}

// sumsOf gives the sha256 of each file below a folder.
func sumsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
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
func copyCheckout(t *testing.T, to string) {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v\n%s", err, stderrOf(err))
	}
	day := time.Date(1999, time.May, 6, 7, 8, 9, 0, time.UTC)
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
		if err := os.WriteFile(copied, data, info.Mode().Perm()&^0o077); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() == 0 {
			if err := os.Chown(copied, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(copied, day, day); err != nil {
			t.Fatal(err)
		}
	}
}
