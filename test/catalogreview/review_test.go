package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const page = `# The catalog

| mark | means |
|---|---|
| V | read |

## etcd

| place | owner | holds for | source |
|---|---|---|---|
| ` + "`Secret/a`" + ` | etcd | etcd 4.16+ | V: openshift/cluster-etcd-operator pkg/{tls,sync}/a.go and pod*.yaml (of each) @ release-4.12 0123456; openshift/library-go pkg/b.go @ 1234567 |
| ` + "`Secret/b`" + ` | etcd | etcd | V: cluster-etcd-operator pkg/gone.go @ release-4.12 |
`

func TestWhatARowCites(t *testing.T) {
	rows := rowsOf(page)
	if len(rows) != 2 || rows[0].name != "etcd: `Secret/a` (etcd 4.16+)" || rows[0].line != 11 {
		t.Fatalf("%+v", rows)
	}
	for repository, want := range map[string][]string{
		"openshift/cluster-etcd-operator": {"pkg/tls/a.go", "pkg/sync/a.go", "pod*.yaml"},
		"openshift/library-go":            {"pkg/b.go"},
		"openshift/api":                   nil,
	} {
		if got := rows[0].paths(repository); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", repository, got, want)
		}
	}
	for _, c := range []struct {
		cited, file string
		want        bool
	}{
		{"pkg/tls", "pkg/tls/a.go", true},
		{"pkg/tls", "vendor/x/pkg/tls/a.go", false},
		{"pod*.yaml", "bindata/etcd/pod.gotpl.yaml", true},
		{"tls/a.go", "pkg/tls/a.go", true},
		{"tls/a.go", "pkg/tls/b.go", false},
		{"a.go", "vendor/x/a.go", false},
	} {
		if got := cites(c.cited, c.file); got != c.want {
			t.Errorf("%s cites %s: %v", c.cited, c.file, got)
		}
	}
}

// TestRowsWithEmptyCellsAreRead: they are listed and drawn, as the others are.
func TestRowsWithEmptyCellsAreRead(t *testing.T) {
	page := "## S\n\n| a | b | c | holds for | source |\n|---|---|---|---|---|\n| `x` |  |  | y | V: s |\n| `jq .a \\| jq .b` | b | c | z |  |\n"
	got := rowsOf(page)
	if len(got) != 2 || got[0].name != "S: `x` (y)" || got[0].source != "V: s" || got[1].name != "S: `jq .a \\| jq .b` (z)" || got[1].source != "" {
		t.Errorf("%+v", got)
	}
}

func there(string) bool { return true }

// TestReviewedAtIsOfTheRepository: a row of a copy names the commit of what has the copy.
func TestReviewedAtIsOfTheRepository(t *testing.T) {
	const reviews = "openshift/a\t4.22 bbbbbbb\tx.go\n" + "openshift/a\tas vendored in b 4.22 eeeeeee\tx.go\n"
	own := func(commit string) bool { return commit == "bbbbbbb" }
	if got, _ := reviewedAt(reviews, "openshift/a", "release-4.22", own); got != "bbbbbbb" {
		t.Error(got)
	}
}

func TestReviewedAt(t *testing.T) {
	const reviews = "openshift/a\t4.12 aaaaaaa, 4.22 bbbbbbb, 4.23/5.0 ccccccc; openshift/b 4.24 fffffff\tx.go\n" + "openshift/a\t4.12 ddddddd\tx.go\n" + "openshift/b\t4.12 eeeeeee\tx.go\n"
	for branch, want := range map[string]string{"release-4.22": "bbbbbbb", "release-5.0": "ccccccc", "release-4.12": "ddddddd"} {
		if got, _ := reviewedAt(reviews, "openshift/a", branch, there); got != want {
			t.Errorf("%s: %s, want %s", branch, got, want)
		}
	}
}

// The rows and reviews of the catalog, as they are: a format that is not read would cite nothing.
func TestTheCatalogIsRead(t *testing.T) {
	text, err := os.ReadFile("../../docs/catalog.md")
	if err != nil {
		t.Fatal(err)
	}
	reviews, err := readReviews("../../inspect/catalog/testdata/reviews")
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(string(text))
	if len(rows) < 500 {
		t.Errorf("%d rows", len(rows))
	}
	for _, repository := range []string{"openshift/cluster-etcd-operator", "openshift/cluster-kube-apiserver-operator", "openshift/machine-config-operator", "openshift/service-ca-operator"} {
		cite := 0
		for _, r := range rows {
			if len(r.paths(repository)) > 0 {
				cite++
			}
		}
		if at, exactly := reviewedAt(reviews, repository, "release-4.22", there); cite < 10 || !exactly {
			t.Errorf("%s: %d rows cite it, read at %q", repository, cite, at)
		}
	}
}

func TestWorklist(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	commit := func(files map[string]string) string {
		t.Helper()
		for name, text := range files {
			file := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		git("add", ".")
		git("commit", "-q", "-m", "x")
		return git("rev-parse", "HEAD")
	}
	git("init", "-q", "-b", "release-4.22")
	verified := commit(map[string]string{"pkg/tls/a.go": "before\n", "pkg/sync/a.go": "as it was\n", "README": "before\n"})
	commit(map[string]string{"pkg/tls/a.go": "behind\n", "README": "behind\n"})

	var out strings.Builder
	o := options{repository: "openshift/cluster-etcd-operator", git: dir, branch: "release-4.22"}
	if err := worklist(&out, o, rowsOf(page), o.repository+"\t4.22 "+verified+"\t\n"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 of 2 changed files are cited; 2 rows cite", "M pkg/tls/a.go\n    etcd: `Secret/a` (etcd 4.16+)\n", "pkg/gone.go", "-before\n+behind\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "sync/a.go") || strings.Contains(out.String(), "README") {
		t.Errorf("it lists what no row cites, or what did not change:\n%s", out.String())
	}
}

func TestADrawIsRepeated(t *testing.T) {
	rows := rowsOf(page)
	if a, b := draw(rows, 1, 7), draw(rows, 1, 7); !slices.Equal(a, b) || len(draw(rows, 70, 7)) != 2 {
		t.Errorf("%v, then %v", a, b)
	}
}

// TestMerges: what was merged into a branch after a day, own files and vendored copies.
func TestMerges(t *testing.T) {
	dir := t.TempDir()
	git := func(day string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE="+day+"T12:00:00Z", "GIT_AUTHOR_DATE="+day+"T12:00:00Z")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	merge := func(day, subject, name string) {
		t.Helper()
		git(day, "checkout", "-q", "-b", subject)
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(subject), 0o600); err != nil {
			t.Fatal(err)
		}
		git(day, "add", ".")
		git(day, "commit", "-q", "-m", "of "+subject)
		git(day, "checkout", "-q", "release-4.16")
		git(day, "merge", "-q", "--no-ff", "-m", "Merge "+subject, subject)
	}
	git("2024-01-01", "init", "-q", "-b", "release-4.16")
	git("2024-01-01", "commit", "-q", "--allow-empty", "-m", "first")
	merge("2024-06-01", "early", "pkg/tls/a.go")
	merge("2024-08-01", "late", "pkg/tls/a.go")
	merge("2024-08-02", "bump", "vendor/github.com/openshift/library-go/pkg/b.go")
	merge("2024-08-03", "other", "pkg/other.go")

	var out strings.Builder
	o := options{repository: "openshift/cluster-etcd-operator", git: dir, branch: "release-4.16", after: "2024-06-27"}
	if err := merges(&out, o, rowsOf(page)); err != nil {
		t.Fatal(err)
	}
	for want, has := range map[string]bool{
		"2024-08-01 Merge late\n    pkg/tls/a.go\n        etcd: `Secret/a` (etcd 4.16+)\n": true, "Merge bump\n    vendor/github.com/openshift/library-go/pkg/b.go\n": true,
		"2 merges into release-4.16 after 2024-06-27": true, "early": false, "other": false, "of late": false,
	} {
		if strings.Contains(out.String(), want) != has {
			t.Errorf("%q: want %t in\n%s", want, has, out.String())
		}
	}
	o.branch = "release-4.99"
	if err := merges(&out, o, nil); err == nil || !strings.Contains(err.Error(), "no branch release-4.99") {
		t.Errorf("a branch that is not there: %v", err)
	}
}
