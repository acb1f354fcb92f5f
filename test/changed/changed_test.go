package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A module: c imports b, b's test imports a; only a reads data; e2e is left out.
var checkout = map[string]string{
	"go.mod":              "module example.com/m\n\ngo 1.26\n",
	"README.md":           "",
	"a/a.go":              "package a\n",
	"a/testdata/deep/x":   "",
	"b/b.go":              "package b\n",
	"b/b_test.go":         "package b\n\nimport _ \"example.com/m/a\"\n",
	"c/c.go":              "package c\n\nimport _ \"example.com/m/b\"\n",
	"plugin/p.go":         "package plugin\n",
	"test/e2e/e_test.go":  "package e2e\n\nimport _ \"example.com/m/a\"\n",
	"test/other/go.mod":   "module example.com/other\n\ngo 1.26\n",
	"test/other/other.go": "package other\n",
}

func commitAll(t *testing.T, date string) {
	t.Helper()
	for _, args := range [][]string{{"add", "-A"}, {"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "-m", "x"}} {
		c := exec.Command("git", args...)
		c.Env = append(os.Environ(), "GIT_COMMITTER_DATE="+date, "GIT_AUTHOR_DATE="+date)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func says(t *testing.T, what, base string) []string {
	t.Helper()
	var out bytes.Buffer
	if err := run(&out, what, base); err != nil {
		t.Fatal(err)
	}
	return strings.Fields(out.String())
}

func TestWhatAChangeTouches(t *testing.T) {
	for _, c := range []struct{ file, lint, test string }{
		{"a/a.go", "./a", "./a ./b"},
		{"a/testdata/deep/x", "./a", "./a ./b"},
		{"a/new/n.go", "./a/new", "./a/new"},
		{"b/b.go", "./b", "./b ./c"},
		{"README.md", "./plugin", "./plugin"},
		{"test/other/other.go", "", ""},
		{"go.mod", "./a ./b ./c ./plugin ./test/e2e", "./a ./b ./c ./plugin"},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if out, err := exec.Command("git", "init", "-q").CombinedOutput(); err != nil {
				t.Fatalf("git init: %v\n%s", err, out)
			}
			for name, text := range checkout {
				write(t, name, text)
			}
			if got := says(t, "lint", ""); len(got) != 5 { // no commit: all
				t.Errorf("in a folder without a commit: %q", got)
			}
			commitAll(t, "2026-01-01T00:00:00Z")

			text := checkout[c.file]
			switch filepath.Ext(c.file) {
			case ".go":
				if text == "" {
					text = "package n\n"
				}
				text += "// changed\n"
			default:
				text += "\n"
			}
			write(t, c.file, text)
			for _, committed := range []bool{false, true} {
				if committed {
					commitAll(t, "2026-01-02T12:00:00Z")
				}
				if got := strings.Join(says(t, "lint", ""), " "); got != c.lint {
					t.Errorf("lint, committed %v: %q, want %q", committed, got, c.lint)
				}
				if got := strings.Join(says(t, "test", ""), " "); got != c.test {
					t.Errorf("test, committed %v: %q, want %q", committed, got, c.test)
				}
			}
		})
	}
}

// CI runs in a fresh clone: what a day's commits changed counts, and not what is older.
func TestTargetsOfADay(t *testing.T) {
	t.Chdir(t.TempDir())
	if out, err := exec.Command("git", "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	var all []string
	for _, x := range targets {
		all = append(all, x.name)
	}
	for _, step := range []struct {
		file, date string
		want       []string
	}{
		{"README.md", "2026-01-01T00:00:00Z", all}, // no older commit to compare with
		{"remediate/plan.go", "2026-01-03T00:00:00Z", []string{"every-step"}},
		{"inspect/pki/pki.go", "2026-01-03T10:00:00Z", []string{"fuzz-inputs", "every-step"}}, // still within the day
		{"README.md", "2026-01-05T00:00:00Z", nil},
	} {
		write(t, step.file, step.date)
		commitAll(t, step.date)
		if got := says(t, "targets", ""); !slices.Equal(got, step.want) {
			t.Errorf("after a commit of %s at %s: %q, want %q", step.file, step.date, got, step.want)
		}
	}
}

// A Fuzz function that no change leads to is never run for longer than its seeds.
func TestEachFuzzFunctionHasItsFiles(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../..", func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == ".lab" || entry.Name() == ".git") {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("\nfunc Fuzz")) {
			return err
		}
		found++
		name, err := filepath.Rel("../..", path)
		if name = filepath.ToSlash(name); !slices.Contains(targetsOf(files{paths: []string{name}}), "fuzz-inputs") {
			t.Errorf("a change of %s does not lead to fuzz-inputs: name its folder in targets", name)
		}
		return err
	})
	if err != nil || found < 10 {
		t.Errorf("%d files with Fuzz functions: %v", found, err)
	}
}

// The table is about files and targets that exist.
func TestTableIsOfThisCheckout(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range targets {
		if !bytes.Contains(makefile, []byte("\n"+x.name+": ")) {
			t.Errorf("the Makefile has no target %s", x.name)
		}
		if !bytes.Contains(page, []byte("`make "+x.name+"`")) {
			t.Errorf("docs/testing.md does not name `make %s`", x.name)
		}
		for _, file := range x.files {
			if _, err := os.Stat(filepath.Join("../..", filepath.FromSlash(file))); err != nil {
				t.Error(err)
			}
		}
	}
	for _, dir := range slices.Concat(withLab, readsPages) {
		if _, err := os.Stat(filepath.Join("../..", filepath.FromSlash(dir))); err != nil {
			t.Error(err)
		}
	}
}
