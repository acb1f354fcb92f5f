package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFromAnIndex does what a user does once the plugin is in an index: install by its name, upgrade to the next
// version, uninstall. The index is a git repository of this machine, and archives come from a server of this machine.
func TestFromAnIndex(t *testing.T) {
	runnable(t)
	const next = "v0.1.3"
	archives := http.NewServeMux()
	server := httptest.NewServer(archives)
	t.Cleanup(server.Close)
	index := filepath.Join(t.TempDir(), "an-index")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", index, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	release := func(version string, real ...string) {
		t.Helper()
		made, manifest := publish(t, version, real...)
		text, err := os.ReadFile(manifest)
		if err != nil {
			t.Fatal(err)
		}
		const from = "https://github.com/kubectl-certrot/kubectl-certrot/releases/download/"
		if !strings.Contains(string(text), from+version+"/") {
			t.Fatalf("the manifest has no archive below %s:\n%s", from+version, text)
		}
		for _, path := range made {
			archives.HandleFunc("/"+version+"/"+filepath.Base(path), func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, path) })
		}
		local := strings.ReplaceAll(string(text), from, server.URL+"/")
		if err := os.WriteFile(filepath.Join(index, "plugins", "certrot.yaml"), []byte(local), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", "-A")
		git("commit", "-qm", version)
	}
	if err := os.MkdirAll(filepath.Join(index, "plugins"), 0o755); err != nil {
		t.Fatal(err)
	}
	git("init", "-q")
	k := newKrew(t)
	release(tag, filepath.Join(releaseOf(t), linux.archive(tag)))
	k.run(t, linux, "index", "add", "ours", index)
	k.run(t, linux, "install", "ours/certrot")
	linked := filepath.Join(k.root, "bin", "kubectl-certrot")
	if out, err := exec.Command(linked, "version").CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "certrot "+tag+" ") {
		t.Errorf("version: %v\n%s", err, out)
	}

	release(next) // placeholders: it is krew that is looked at
	k.run(t, linux, "upgrade")
	if to, err := os.Readlink(linked); err != nil || to != filepath.Join(k.root, "store", "certrot", next, "kubectl-certrot") {
		t.Errorf("after krew upgrade: %s leads to %s: %v", linked, to, err)
	}
	if _, err := os.Lstat(filepath.Join(k.root, "store", "certrot", tag)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("krew upgrade left %s: %v", tag, err)
	}
	k.run(t, linux, "uninstall", "certrot")
	if _, err := os.Lstat(linked); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after krew uninstall: %v", err)
	}
}

// TestKrewsValidator is what the krew index asks of a pull request. It installs nothing here: for each platform,
// TestInstallEveryPlatform does.
func TestKrewsValidator(t *testing.T) {
	validator := goTool(t, "validate-krew-manifest")
	validate := func(manifest string) (string, error) {
		out, err := exec.Command(validator, "-skip-install", "-manifest", manifest).CombinedOutput()
		return string(out), err
	}
	_, manifest := publish(t, tag)
	if out, err := validate(manifest); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), manifestFile)
	if err := os.WriteFile(wrong, []byte(strings.Replace(string(text), "name: certrot", "name: kubectl-certrot", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := validate(wrong); err == nil {
		t.Errorf("it takes another name:\n%s", out)
	}
}
