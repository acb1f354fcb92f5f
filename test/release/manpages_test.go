package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestManPages(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(releaseOf(t), "man", "man1", "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 15 {
		t.Fatalf("only %d pages: %v", len(pages), pages)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), `"Mar 2026" "certrot `+tag+`"`) {
			t.Errorf("%s has another time than the sources, or another version", page)
		}
		if strings.Contains(string(text), home+"/") {
			t.Errorf("%s names the home of who made it", page)
		}
	}
	for _, name := range []string{"", "-inspect", "-fix-api-int-status", "-rotate", "-undo"} {
		if _, err := os.Stat(filepath.Join(releaseOf(t), "man", "man1", "kubectl-certrot"+name+".1")); err != nil {
			t.Error(err)
		}
	}
}

// TestManPagesAreRead has man lay them out: it warns of nothing, and no escape is left over.
func TestManPagesAreRead(t *testing.T) {
	man := tool(t, "man")
	dir := filepath.Join(releaseOf(t), "man", "man1")
	for name, wants := range map[string][]string{
		"kubectl-certrot":             {"certrot finds every certificate and CA bundle", "unless NO_COLOR is set", "$HOME/.kube/cache"},
		"kubectl-certrot-inspect":     {"KIND[.VERSION.GROUP][,KIND...]", "--expiring-within"},
		"kubectl-certrot-fix-api-int": {"--nodes", "--dry-run"},
	} {
		cmd := exec.Command(man, "--warnings", "-l", filepath.Join(dir, name+".1"))
		cmd.Env = append(os.Environ(), "MANWIDTH=200", "LC_ALL=C.UTF-8", "MAN_KEEP_FORMATTING=", "MANPAGER=cat")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil || stderr.Len() > 0 {
			t.Errorf("man of %s: %v\n%s", name, err, stderr.String())
		}
		words := strings.Join(strings.Fields(string(out)), " ")
		for _, want := range wants {
			if !strings.Contains(words, want) {
				t.Errorf("man of %s lacks %q:\n%s", name, want, out)
			}
		}
		if strings.Contains(words, `\`) {
			t.Errorf("man of %s has a backslash:\n%s", name, out)
		}
	}
}
