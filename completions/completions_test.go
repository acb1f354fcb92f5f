package completions_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestScriptsAreCurrent(t *testing.T) {
	plugin := build(t)
	for shell, file := range map[string]string{
		"bash":       "certrot.bash",
		"zsh":        "certrot.zsh",
		"fish":       "certrot.fish",
		"powershell": "certrot.ps1",
	} {
		want, err := exec.Command(plugin, "completion", shell).Output()
		if err != nil {
			t.Fatalf("completion %s: %v", shell, err)
		}
		got, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what `kubectl-certrot completion %s` writes now: run make generate", file, shell)
		}
	}
}

// TestShim runs the shim as kubectl and oc do, under each of its names, with
// nothing but the plugin on PATH: no kubectl, and no other program either.
func TestShim(t *testing.T) {
	bin := t.TempDir()
	if err := os.Symlink(build(t), filepath.Join(bin, "kubectl-certrot")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("kubectl_complete-certrot")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kubectl_complete-certrot", "oc_complete-certrot"} {
		shim := filepath.Join(bin, name)
		if err := os.WriteFile(shim, text, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(shim, "ins")
		cmd.Env = []string{"PATH=" + bin, "HOME=" + bin}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s ins: %v", name, err)
		}
		// Suggestions one a line, each with a tab and its description, and a
		// directive for the shell at the end.
		first, _, _ := strings.Cut(string(out), "\n")
		if word, _, _ := strings.Cut(first, "\t"); word != "inspect" {
			t.Errorf("%s ins: got %q, want inspect", name, out)
		}
	}
}

// TestShimPassesEmptyWord: after a space nothing is typed yet, and that empty
// word must arrive, or the word before it is completed instead.
func TestShimPassesEmptyWord(t *testing.T) {
	bin := t.TempDir()
	script := "#!/bin/sh\nfor a in \"$@\"; do echo \"[$a]\"; done\n"
	if err := os.WriteFile(filepath.Join(bin, "kubectl-certrot"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("./kubectl_complete-certrot", "inspect", "-n", "two words", "")
	cmd.Env = []string{"PATH=" + bin}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "[__complete]\n[inspect]\n[-n]\n[two words]\n[]\n"; string(out) != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestShellcheck(t *testing.T) {
	shellcheck, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed")
	}
	scripts := []string{"kubectl_complete-certrot", "../.ci/run", "../test/fuzz.sh"}
	if out, err := exec.Command(shellcheck, scripts...).CombinedOutput(); err != nil {
		t.Errorf("shellcheck: %v\n%s", err, out)
	}
}

// build returns the plugin: the one that make built, else a fresh one.
func build(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("CERTROT_BIN"); bin != "" {
		return bin
	}
	bin := filepath.Join(t.TempDir(), "kubectl-certrot")
	if out, err := exec.Command("go", "build", "-o", bin, "../cmd/kubectl-certrot").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}
