package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	root = "../.."
	tag  = "v0.1.2-rc.3"
)

var (
	made  = time.Date(2026, time.March, 4, 5, 6, 7, 0, time.UTC)
	linux = platform{"linux", "amd64"}
)

// TestMain is also the program, for tests that run it as another user would.
func TestMain(m *testing.M) {
	if os.Getenv("CERTROT_RUN_RELEASE") != "" {
		main()
		return
	}
	code := m.Run()
	if dir, err := released(); err == nil {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

// released is the release that tests look at: of this checkout, for linux/amd64.
// CERTROT_PLATFORMS names others beside it, or all.
var released = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "certrot-release")
	if err != nil {
		return "", err
	}
	wanted, err := platformsNamed(platformsToTest())
	if err != nil {
		return "", err
	}
	return dir, release{root: root, out: dir, version: tag, made: made}.dist(wanted)
})

func platformsToTest() string {
	if named := os.Getenv("CERTROT_PLATFORMS"); named != "" {
		return strings.TrimPrefix(named, "all")
	}
	return linux.String()
}

// releaseOf gives the folder of the release.
func releaseOf(t *testing.T) string {
	t.Helper()
	dir, err := released()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// runnable skips a test that runs the program of the release where that can't be.
func runnable(t *testing.T) {
	t.Helper()
	if p := (platform{runtime.GOOS, runtime.GOARCH}); p != linux {
		t.Skipf("not on this platform: the release that is tested is for %s, this is %s", linux, p)
	}
}

// tool gives a program that reads what was made, as a second opinion or to render it.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

// placeholders are files that stand in for what is built of a platform: its name.
func placeholders(t *testing.T, p platform) parts {
	t.Helper()
	dir := t.TempDir()
	write := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(p.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return parts{binary: write("program"), notice: write("THIRD_PARTY_LICENSES"), manPages: []string{write("kubectl-certrot.1")}}
}
