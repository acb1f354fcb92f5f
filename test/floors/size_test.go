package floors

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestNoFileIsTooLong: a file that no reader sees at once has two subjects. Tests are read too.
func TestNoFileIsTooLong(t *testing.T) {
	t.Parallel()
	const most = 400
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "testdata" || name == ".git" || name == ".lab") {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if n := bytes.Count(text, []byte("\n")); n > most {
			t.Errorf("%s has %d lines, more than %d: cut it where its subjects part", strings.TrimPrefix(path, "../../"), n, most)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTheProgramIsSmall measures what users download, and wait for at each start. The usual reasons of a
// failure: text/template is linked (cobra's Set…Template, cli-runtime's printer of go-template), and with
// it each exported method of all types; or client-go's kubernetes/scheme (by kubernetes, discovery,
// genericclioptions), and with it the types of every API group.
func TestTheProgramIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("it links the program: make floors and make test do")
	}
	t.Parallel()
	const (
		most      = 34_000_000 // bytes, linux/amd64
		mostStart = 50 * time.Millisecond
	)
	path := filepath.Join(t.TempDir(), "kubectl-certrot")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", path, "./cmd/kubectl-certrot")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=-buildvcs=false -trimpath")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > most {
		t.Errorf("the program has %d bytes, more than %d: go build -ldflags=-dumpdep says why each part is linked", info.Size(), most)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return
	}
	// A process takes longer on some machines, whatever it does: so does one of Go's own.
	least, peer := startTime(t, path, "version"), startTime(t, "go", "version")
	if least > max(mostStart, 4*peer) {
		t.Errorf("a start takes %s, more than %s, and than four times of `go version` (%s): GODEBUG=inittrace=1 says what each package takes", least, mostStart, peer)
	}
}

// startTime is the least processor time of ten runs: other work beside it adds to single ones.
func startTime(t *testing.T, argv ...string) time.Duration {
	t.Helper()
	least := time.Hour
	for range 10 {
		start := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		if out, err := start.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", argv, err, out)
		}
		least = min(least, start.ProcessState.UserTime()+start.ProcessState.SystemTime())
	}
	return least
}

// crowded are the packages with more files than a reader takes in, each with its reason.
// docs/architecture.md gives them to newcomers.
var crowded = map[string]string{
	"inspect/catalog": "a file of rows for each component of OpenShift, and for each part of edges",
	"inspect/collect": "a file for each thing that is read; all share one reading, with its bounds and gaps",
	"nodeexec":        "a group of files for each way onto nodes, named after it; all share the connection that keeps the promises of a Node",
}

// TestNoPackageIsCrowded: what has more than 20 files has two subjects, or a reason.
func TestNoPackageIsCrowded(t *testing.T) {
	t.Parallel()
	const most, mostCrowded = 20, 3
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]int{}
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "testdata" || name == ".git" || name == ".lab") {
			return fs.SkipDir
		}
		if !d.IsDir() && filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go") {
			files[strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../")]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 40 {
		t.Errorf("only %d packages were read", len(files))
	}
	if len(crowded) > mostCrowded {
		t.Errorf("%d packages may have more than %d files: at most %d", len(crowded), most, mostCrowded)
	}
	for dir, n := range files {
		if n > most && crowded[dir] == "" {
			t.Errorf("%s has %d files, more than %d: make a sub-subject a package of its own, or join files that are too small to stand alone", dir, n, most)
		}
	}
	for dir, why := range crowded {
		if files[dir] <= most {
			t.Errorf("%s has %d files: it needs no exception", dir, files[dir])
		}
		if line := "`" + dir + "`: " + why; !strings.Contains(string(page), line) {
			t.Errorf("docs/architecture.md does not say %q", line)
		}
	}
}
