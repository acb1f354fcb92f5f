package gather

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

func TestLargeFilesAreNotRead(t *testing.T) {
	id := newIdentity()
	root := newRoot(t)
	tree(t, root, map[string]string{"/etc/kubernetes/ca.crt": string(id.ca.CertPEM), "/etc/kubernetes/big.kubeconfig": bootstrap(id.ca.CertPEM, strings.Repeat("secret", 900000)), "/etc/kubernetes/sparse.pem": ""})
	if err := os.Truncate(root+"/etc/kubernetes/sparse.pem", 2<<30); err != nil {
		t.Fatal(err)
	}
	inEveryShell(t, func(t *testing.T, w world) {
		n, r := w.read(t, root, Options{})
		for _, name := range []string{"/etc/kubernetes/big.kubeconfig", "/etc/kubernetes/sparse.pem"} {
			f, ok := r.File(name)
			if !ok || f.Kind != KindTooLarge || f.Meta.Size < 5<<20 || f.Content != nil {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if len(r.Gaps) < 2 || len(n.raw) > 20000 {
			t.Errorf("%d bytes, gaps %+v", len(n.raw), r.Gaps)
		}
	})
}

// many makes n small files of which every tenth is a certificate.
func many(t *testing.T, n int) string {
	t.Helper()
	id := newIdentity()
	root := newRoot(t)
	files := map[string]string{}
	for i := range n {
		data := fmt.Sprintf("file %d\n", i)
		if i%10 == 0 {
			data = string(id.ca.CertPEM) + fmt.Sprintf("# %d\n", i)
		}
		files[fmt.Sprintf("/etc/kubernetes/many/%d/%d.crt", i/500, i)] = data
	}
	tree(t, root, files)
	return root
}

// TestManyFiles has 4,000, or as many as one likes: CERTROT_FILES=10000.
func TestManyFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of files take a while")
	}
	t.Parallel()
	files := asMany(t, "CERTROT_FILES", 4000)
	root := many(t, files)
	somewhere(t, func(t *testing.T, w world) {
		path, want := "/etc/kubernetes", files+(files+499)/500+2
		if strings.HasPrefix(w.name, "busybox") { // some, in the one that no node has
			path, want = "/etc/kubernetes/many/[01]", 1000+2
		}
		o := Options{Only: true, Paths: []string{path}, Limits: Limits{Files: 20000, Time: 2 * time.Minute, Output: 8 << 20}}
		n, r := w.read(t, root, o)
		if len(r.Files) != want || len(r.Gaps) > 1 {
			t.Errorf("%d files, gaps %+v", len(r.Files), r.Gaps)
		}
		t.Logf("%d files, %d bytes, %s", len(r.Files), len(n.raw), n.timed)
		o.Limits.Files = 300
		if _, r = w.read(t, root, o); len(r.Files) != 300 || !says(r, "largest number of files") {
			t.Errorf("%d files, gaps %+v", len(r.Files), r.Gaps)
		}
	})
}

// TestACrowdedDirectory leaves what is beside it alone.
func TestACrowdedDirectory(t *testing.T) {
	id := newIdentity()
	root := newRoot(t)
	files := map[string]string{"/etc/kubernetes/a/z.crt": string(id.ca.CertPEM), "/etc/kubernetes/zz.crt": string(id.ca.CertPEM)}
	files["/etc/kubernetes/a/junk/odd\nname.txt"] = ""
	for i := range 1500 {
		files[fmt.Sprintf("/etc/kubernetes/a/junk/%d.txt", i)] = ""
	}
	tree(t, root, files)
	somewhere(t, func(t *testing.T, w world) {
		_, r := w.read(t, root, Options{Only: true, Paths: []string{"/etc/kubernetes"}, Limits: Limits{Files: 1200}})
		if !says(r, "more than 1,000 files in this directory") || says(r, "largest number of files") {
			t.Errorf("gaps %+v", r.Gaps)
		}
		for _, name := range []string{"/etc/kubernetes/a/z.crt", "/etc/kubernetes/zz.crt"} {
			if f, ok := r.File(name); !ok || f.Content == nil || len(f.Content.certs()) != 1 {
				t.Errorf("%s was not read: %+v", name, f)
			}
		}
		if want := 1000 + 5; len(r.Files) != want {
			t.Errorf("%d files, want %d", len(r.Files), want)
		}
	})
}

func says(r Result, reason string) bool {
	for _, g := range r.Gaps {
		if strings.Contains(g.Reason, reason) {
			return true
		}
	}
	return false
}

func TestOutputIsBounded(t *testing.T) {
	root := many(t, 300)
	somewhere(t, func(t *testing.T, w world) {
		for _, limit := range []int64{4000, 60000} {
			n, r := w.read(t, root, Options{Only: true, Paths: []string{"/etc/kubernetes"}, Limits: Limits{Output: limit}})
			if int64(len(n.raw)) > limit+1000 {
				t.Errorf("%d bytes, limit %d", len(n.raw), limit)
			}
			if !says(r, "no room left") {
				t.Errorf("nothing says that %d bytes were too few: %+v", limit, r.Gaps)
			}
			for _, f := range r.Files {
				if f.Kind == KindRead && len(f.Content.certs()) == 0 && strings.HasSuffix(f.Path, "0.crt") && len(f.Content.Notes) == 0 {
					t.Errorf("%s: its certificate is missing, and nothing says so", f.Path)
				}
			}
		}
		_, r := w.read(t, root, Options{Only: true, Paths: []string{"/etc/kubernetes"}, Limits: Limits{Total: 5000, Depth: 2}})
		if !says(r, "too deep") {
			t.Errorf("gaps %+v", r.Gaps)
		}
		_, r = w.read(t, root, Options{Only: true, Paths: []string{"/etc/kubernetes"}, Limits: Limits{Total: 5000}})
		if !says(r, "enough was read") {
			t.Errorf("gaps %+v", r.Gaps)
		}
	})
}

// TestFilesThatChange replaces files all the time, also by pipes that no one
// writes to: nothing hangs, and what is reported belongs together.
func TestFilesThatChange(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for commands that time out")
	}
	id := newIdentity()
	root := newRoot(t)
	tree(t, root, map[string]string{"/etc/kubernetes/ca.crt": string(id.ca.CertPEM)})
	contents := map[pki.Fingerprint]int{}
	var versions [][]byte
	for i := range 5 {
		data := []byte(strings.Repeat(string(id.ca.CertPEM), i) + fmt.Sprintf("# %d\n", i))
		versions = append(versions, data)
		contents[pki.FingerprintOf(data)] = i
	}
	ctx, stop := context.WithCancel(context.Background()) // t's own ends before the worlds do
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(3 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			name := fmt.Sprintf("%s/etc/kubernetes/f%d", root, i%7)
			switch i % 11 {
			case 3:
				_ = os.Remove(name)
			case 7:
				_ = os.Remove(name)
				_ = syscall.Mkfifo(name, 0o644)
			default:
				_ = os.Remove(name + ".new")
				_ = os.WriteFile(name+".new", versions[i%5], 0o644)
				_ = os.Rename(name+".new", name)
			}
			<-tick.C
		}
	}()
	t.Cleanup(func() { stop(); <-done })
	somewhere(t, func(t *testing.T, w world) {
		n, r := w.read(t, root, Options{Only: true, Paths: []string{"/etc/kubernetes"}, Limits: Limits{Time: 3 * time.Second}})
		if n.timed > 15*time.Second {
			t.Errorf("it took %s, and was to take 3", n.timed)
		}
		seen := 0
		for _, f := range r.Files {
			if f.Kind != KindRead || !strings.Contains(f.Path, "/f") {
				continue
			}
			seen++
			if want, ok := contents[f.SHA256]; !ok && f.Meta.Size > 0 || len(f.Content.certs()) != want {
				t.Errorf("%s: %d certificates, want %d (%v), size %d", f.Path, len(f.Content.certs()), want, ok, f.Meta.Size)
			}
		}
		t.Logf("%d read, gaps %+v", seen, r.Gaps)
	})
}

func TestUnreadableFilesAreGaps(t *testing.T) {
	root := newRoot(t)
	tree(t, root, map[string]string{"/etc/kubernetes/ca.crt": "x", "/etc/kubernetes/open.crt": "y", "/etc/kubernetes/closed/ca.crt": "z"})
	for name, mode := range map[string]fs.FileMode{"ca.crt": 0, "open.crt": 0o644, "closed": 0} {
		if err := os.Chmod(root+"/etc/kubernetes/"+name, mode); err != nil {
			t.Fatal(err)
		}
	}
	inEveryShell(t, func(t *testing.T, w world) {
		if os.Getuid() == 0 {
			w.uid = 65534
		}
		_, r := w.read(t, root, Options{})
		kinds := map[string]Kind{}
		for _, f := range r.Files {
			kinds[filepath.Base(f.Path)] = f.Kind
		}
		want := map[string]Kind{"kubernetes": KindDirectory, "ca.crt": KindUnreadable, "open.crt": KindRead, "closed": KindClosed}
		if !maps.Equal(kinds, want) || len(r.Gaps) < 2 || !says(r, "not readable for user") {
			t.Errorf("%q, gaps %+v", kinds, r.Gaps)
		}
	})
}

// TestNothingIsLeftBehind looks at the node's files and at the place for
// temporary ones.
func TestNothingIsLeftBehind(t *testing.T) {
	root := newIdentity().plant(t, "secret")
	tmp := t.TempDir()
	list := func() (names []string) {
		for _, dir := range []string{root, tmp} {
			_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
				info, _ := d.Info()
				names = append(names, fmt.Sprint(name, info.Mode(), info.ModTime(), info.Size()))
				return err
			})
		}
		return names
	}
	before := list()
	inEveryShell(t, func(t *testing.T, w world) {
		w.tmp = tmp
		w.read(t, root, Options{TrustStores: true})
		if after := list(); !slices.Equal(before, after) {
			t.Errorf("changed: %q", after)
		}
	})
}

// TestHostileFiles are made to keep a careless reader busy for hours.
func TestHostileFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("it keeps a slow awk busy")
	}
	t.Parallel()
	id := newIdentity()
	ca := string(id.ca.CertPEM)
	fill := func(s string) string { return strings.Repeat(s, 300000/len(s)) } // enough for most limits of gather.awk
	root := newRoot(t)
	tree(t, root, map[string]string{
		"/etc/kubernetes/a.pem":        ca + fill("-----BEGIN CERTIFICATE-----"),
		"/etc/kubernetes/b.pem":        ca + fill("-----BEGIN CERTIFICATE-----\n"),
		"/etc/kubernetes/c.pem":        ca + "-----BEGIN CERTIFICATE-----\n" + strings.Repeat("a\n", 210000),
		"/etc/kubernetes/d.json":       `{"clusters":` + fill("[") + `"users`,
		"/etc/kubernetes/e.json":       `{"clusters":[],"users":[` + fill(`"a",`) + `1]}`,
		"/etc/kubernetes/f.json":       `{"clusters":[],"users":"` + fill(`\"`) + `"}`,
		"/etc/kubernetes/g.kubeconfig": "clusters:\n" + strings.Repeat("- - - - a:\n", 110000) + "users:\n",
		"/etc/kubernetes/h.txt":        strings.Repeat("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t", 35000),
		"/etc/kubernetes/i.txt":        fill("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t "),
		"/etc/kubernetes/z.crt":        ca,
	})
	somewhere(t, func(t *testing.T, w world) {
		n, r := w.read(t, root, Options{Only: true, Paths: []string{"/etc/kubernetes"}})
		if f, ok := r.File("/etc/kubernetes/z.crt"); !says(r, "stopped because it took too long") && (!ok || len(f.Content.certs()) != 1) {
			t.Errorf("the file beside them is not read: %+v, %+v", f, r.Gaps)
		}
		for _, g := range r.Gaps {
			t.Logf("%s: %s", g.Where, g.Reason)
		}
		t.Logf("%d bytes, %s", len(n.raw), n.timed)
	})
}

// TestWhatIsNotListedIsAGap has a find that fails, is killed in the middle of a
// name, or takes all of the time.
func TestWhatIsNotListedIsAGap(t *testing.T) {
	root := newRoot(t)
	tree(t, root, map[string]string{"/etc/kubernetes/ca.crt": "x", "/etc/other/ca.crt": "y"})
	for name, c := range map[string]struct{ script, where, reason string }{
		"fails":   {`printf '%s\n' "$1" "$1/ca.crt"; exit 1`, "/etc/kubernetes", "not listed completely"},
		"killed":  {`printf '%s\n%s' "$1" "$1/ca.c"; kill -KILL $$`, "/etc/kubernetes", "not listed completely"},
		"hanging": {`printf '%s\n' "$1" "$1/ca.crt"; exec sleep 30`, "", "took too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shell("dash", "dash")
			if w.skip != "" {
				t.Skip(w.skip)
			}
			find := newRoot(t) + "/find"
			if err := os.WriteFile(find, []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			w.path = tools(t, map[string]string{"find": find, "timeout": ""})
			n, r := w.read(t, root, Options{Only: true, Paths: []string{"/etc/kubernetes", "/etc/other"}, Limits: Limits{Time: 2 * time.Second}})
			if !slices.ContainsFunc(r.Gaps, func(g inspect.Gap) bool { return g.Where == c.where && strings.Contains(g.Reason, c.reason) }) {
				t.Errorf("gaps: %+v", r.Gaps)
			}
			if n.timed > 10*time.Second {
				t.Errorf("it took %s, and was to take 2", n.timed)
			}
		})
	}
}
