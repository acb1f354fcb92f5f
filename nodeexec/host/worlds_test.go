package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// world is a shell with the tools that it finds: nodes differ in both.
type world struct {
	name string
	sh   []string // in place of /bin/sh
	path string   // of the tools; empty: this machine's
	over string   // functions that come before the script, and stand for its tools
	skip string   // why it is not to be had here
}

// shells are what has the least, and starts its tools fastest; what RHCOS has; and Debian's.
func shells(t *testing.T) []world {
	t.Helper()
	return []world{
		busybox(t),
		shell("bash with coreutils", "bash", "--posix"),
		shell("dash with coreutils", "dash"),
	}
}

func shell(name, sh string, args ...string) world {
	bin, err := exec.LookPath(sh)
	if err != nil {
		return world{name: name, skip: sh + " is not installed"}
	}
	return world{name: name, sh: append([]string{bin}, args...)}
}

// busybox has nothing but its own applets.
func busybox(t *testing.T) world {
	t.Helper()
	w := shell("busybox alone", "busybox", "sh")
	if w.skip != "" {
		return w
	}
	w.path = newFolder(t)
	if out, err := exec.Command(w.sh[0], "--install", "-s", w.path).CombinedOutput(); err != nil {
		w.skip = "busybox --install: " + err.Error() + string(out)
	}
	return w
}

// usedTools are the tools that the script needs to change files.
func usedTools() []string {
	return []string{"cat", "chmod", "chown", "cp", "flock", "head", "id", "ln", "mkdir", "mktemp", "mv", "readlink", "rm", "rmdir", "sha256sum", "stat", "sync", "tail", "touch", "chcon"}
}

// tool is where a world has it; empty if it has not.
func (w world) tool(name string) string {
	if w.path == "" {
		bin, _ := exec.LookPath(name)
		return bin
	}
	bin := filepath.Join(w.path, name)
	if _, err := os.Stat(bin); err != nil {
		return ""
	}
	return bin
}

// faked is the world with some tools that are not the real ones: shell scripts.
// An empty text takes the tool away. A busybox's shell takes its own tools
// whatever PATH says, so dash is in its place.
func (w world) faked(t *testing.T, fakes map[string]string) world {
	t.Helper()
	if strings.HasPrefix(w.name, "busybox") {
		dash := shell("", "dash")
		if dash.skip != "" {
			t.Skip(dash.skip)
		}
		w.sh = dash.sh
	}
	dir := newFolder(t)
	for _, name := range append(usedTools(), "date", "sleep", "systemctl", "systemd-run") {
		text, fake := fakes[name]
		var err error
		if bin := w.tool(name); !fake && bin != "" {
			err = os.Symlink(bin, filepath.Join(dir, name))
		} else if text != "" {
			err = os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.path = dir
	return w
}

// testNode is this machine in a world.
type testNode struct {
	nodeexec.Node
	world
	env   []string
	user  string                    // UID:GID; empty: as the test runs
	stdin func(io.Reader) io.Reader // what becomes of stdin on its way
}

func (w world) node(t *testing.T) *testNode {
	t.Helper()
	n, err := nodeexec.Local{Node: "worker-3"}.Dial(t.Context(), "worker-3")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return &testNode{Node: n, world: w}
}

func (n *testNode) Run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	if n.stdin != nil {
		stdin = n.stdin(stdin)
	}
	return n.Node.Run(ctx, stdin, n.command(argv)...)
}

func (n *testNode) command(argv []string) []string {
	var words []string
	if n.user != "" {
		words = append(words, "chroot", "--userspec="+n.user, "/")
	}
	path := n.path
	if path == "" {
		path = os.Getenv("PATH")
	}
	words = append(words, "/usr/bin/env", "PATH="+path, "LANG=C.UTF-8", "TZ=Asia/Tokyo")
	words = append(append(words, n.env...), n.sh...)
	first := len(words) - 1
	words = append(words, argv[1:]...) // without /bin/sh
	if i := slices.Index(words[first:], "certrot"); n.over != "" && i >= 0 {
		words[first+i+1] = n.over + words[first+i+1]
	}
	return words
}

// inEveryShell runs a test in all shells at the same time with CERTROT_EVERY_STEP=1, else in
// the first one: each change starts some hundred processes.
func inEveryShell(t *testing.T, test func(*testing.T, world)) {
	t.Helper()
	inShells(t, 1, test)
}

// inBothShells is inEveryShell for what each verb does when all is well: it is in RHCOS's shell, too.
func inBothShells(t *testing.T, test func(*testing.T, world)) {
	t.Helper()
	inShells(t, 2, test)
}

// inShells runs a test in so many shells.
func inShells(t *testing.T, n int, test func(*testing.T, world)) {
	t.Helper()
	worlds := shells(t)
	switch {
	case os.Getenv("CERTROT_EVERY_STEP") == "1":
	case testing.Short():
		worlds = worlds[:1]
	default:
		worlds = worlds[:n]
	}
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			if w.skip != "" && os.Getenv("CERTROT_REQUIRE_LAB") == "1" {
				t.Fatal("CERTROT_REQUIRE_LAB=1, but " + w.skip)
			} else if w.skip != "" {
				t.Skip(w.skip)
			}
			t.Parallel()
			test(t, w)
		})
	}
}

// newFolder is a folder that others may enter too.
func newFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "certrot-host-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// onlyRoot skips a test of what only root can bring about.
func onlyRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can bring this about")
	}
}

// place is a file with a run that changes it.
type place struct {
	dir  string // nothing but the file is in it
	file string
	run  RunFolder
}

// content is a file as short as one can be to look at and still have parts.
const content = "clusters:\n- cluster:\n    certificate-authority-data: QUJD\nusers: secret-token\n"

func newPlace(t *testing.T, text string) place {
	t.Helper()
	root := newFolder(t)
	p := place{dir: filepath.Join(root, "etc"), run: RunFolder{ID: "run-1", Folder: filepath.Join(root, "var", "certrot")}}
	p.file = filepath.Join(p.dir, "kubeconfig")
	if err := os.Mkdir(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, p.file, text)
	if err := os.Chmod(p.file, 0o640); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(p.file, 7, 8); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p place) edit(before string, offset, length int64, insert string) Edit {
	return Edit{Path: p.file, Before: sha256.Sum256([]byte(before)), Offset: offset, Length: length, Insert: []byte(insert)}
}

// kept is the folder of the run.
func (p place) kept() string { return filepath.Join(p.run.Folder, p.run.ID) }

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// has fails the test unless a file has this text.
func has(t *testing.T, name, text string) {
	t.Helper()
	if got := read(t, name); got != text {
		t.Fatalf("%s has %d bytes, %.200q; want %d, %.200q", name, len(got), got, len(text), text)
	}
}

// tidied fails the test if anything unfinished lies about.
func (p place) tidied(t *testing.T) {
	t.Helper()
	if left := p.unfinished(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func (p place) unfinished(t *testing.T) []string {
	t.Helper()
	var left []string
	for _, dir := range []string{p.dir, p.kept()} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			t.Fatal(err)
		}
		for _, e := range entries {
			name := e.Name()
			if strings.HasPrefix(name, ".certrot-") || strings.HasPrefix(name, "tmp-") || name == "pending" {
				left = append(left, filepath.Join(dir, name))
			}
		}
	}
	return left
}

// dressed fails the test unless the file has the mode and the owner that
// newPlace gave it.
func (p place) dressed(t *testing.T) {
	t.Helper()
	info, err := os.Lstat(p.file)
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	if os.Geteuid() == 0 && (st.Uid != 7 || st.Gid != 8) {
		t.Errorf("the owner is %d:%d", st.Uid, st.Gid)
	}
	if info.Mode() != 0o640 {
		t.Errorf("the mode is %s", info.Mode())
	}
}
