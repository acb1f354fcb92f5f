package gather

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// world is a shell with the tools that it finds: nodes differ in both.
type world struct {
	name string
	sh   []string // in place of "sh"
	path string   // of the tools; empty: this machine's
	tmp  string   // TMPDIR
	uid  int      // 0: as the test runs
	skip string   // why it is not to be had here
}

// shells are the worlds that differ most in their shell and tools: what has the least, and
// starts its tools fastest; what RHCOS has; and Debian's.
func shells(t *testing.T) []world {
	t.Helper()
	rhcos := shell("bash with gawk", "bash", "--posix")
	if bin, err := exec.LookPath("gawk"); err == nil {
		rhcos.path = tools(t, map[string]string{"awk": bin, "timeout": "", "openssl": ""})
	} else if rhcos.skip == "" {
		rhcos.skip = "gawk is not installed"
	}
	return []world{busybox(t), rhcos, shell("dash with coreutils", "dash")}
}

// awks are worlds for each awk other than those that shells have.
func awks(t *testing.T) []world {
	t.Helper()
	usual, _ := exec.LookPath("awk")
	usual, _ = filepath.EvalSymlinks(usual)
	var all []world
	for _, awk := range []string{"mawk", "original-awk"} {
		w := shell("dash with "+awk, "dash")
		if bin, err := exec.LookPath(awk); err != nil {
			w.skip = awk + " is not installed"
		} else if real, _ := filepath.EvalSymlinks(bin); real == usual {
			continue
		} else {
			w.path = tools(t, map[string]string{"awk": bin, "timeout": "", "openssl": ""})
		}
		all = append(all, w)
	}
	return all
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
	w.path = newRoot(t)
	if out, err := exec.Command(w.sh[0], "--install", "-s", w.path).CombinedOutput(); err != nil {
		w.skip = "busybox --install: " + err.Error() + string(out)
	}
	return w
}

// tools makes a directory with the tools that the program needs, and more.
func tools(t *testing.T, more map[string]string) string {
	t.Helper()
	dir := newRoot(t)
	link := func(name, bin string) {
		if bin == "" {
			bin, _ = exec.LookPath(name)
		}
		if bin == "" {
			return
		}
		if err := os.Symlink(bin, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"awk", "stat", "find", "readlink", "sha256sum", "date", "uname", "id", "od", "tr", "sleep", "tail", "true"} {
		if _, ok := more[name]; !ok {
			link(name, "")
		}
	}
	for name, bin := range more {
		link(name, bin)
	}
	return dir
}

// node is a directory that is a node's root, in a world.
type node struct {
	world
	root  string
	raw   []byte // of the last run
	argv  []string
	timed time.Duration
	stdin []byte // what is sent in place of the program; nil: the program
}

func (n *node) Path(p string) string { return filepath.Join(n.root, p) }

func (n *node) Run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute) // whatever the test forgets
	defer cancel()
	n.argv = argv
	cmd := exec.CommandContext(ctx, n.sh[0], append(n.sh[1:len(n.sh):len(n.sh)], argv[1:]...)...)
	cmd.Stdin = stdin
	if n.stdin != nil {
		cmd.Stdin = bytes.NewReader(n.stdin)
	}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=Asia/Tokyo"}
	if n.path != "" {
		cmd.Env[0] = "PATH=" + n.path
	}
	if n.tmp != "" {
		cmd.Env = append(cmd.Env, "TMPDIR="+n.tmp)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if n.uid != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(n.uid), Gid: uint32(n.uid)}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	out, err := cmd.Output()
	n.raw, n.timed = out, time.Since(began)
	if stderr.Len() > 0 {
		return out, &exec.Error{Name: "stderr", Err: io.ErrUnexpectedEOF}
	}
	return out, err
}

// read runs the program in the world, and fails the test where it fails.
func (w world) read(t *testing.T, root string, o Options) (*node, Result) {
	t.Helper()
	n := &node{world: w, root: root}
	r, err := Read(t.Context(), n, pki.NewScanner(), o)
	if err != nil {
		t.Fatalf("%v\n%.3000s", err, n.raw)
	}
	return n, r
}

// somewhere runs a test that takes long in one world, or in the two that differ most with
// CERTROT_EVERY_STEP=1.
func somewhere(t *testing.T, test func(*testing.T, world)) {
	t.Helper()
	n := 1
	if os.Getenv("CERTROT_EVERY_STEP") == "1" {
		n = 2
	}
	inEach(t, shells(t)[:n], test)
}

// everywhere runs a test with every shell and every awk: it is about what the
// awk files do.
func everywhere(t *testing.T, test func(*testing.T, world)) {
	t.Helper()
	inEach(t, slices.Concat(shells(t), awks(t)), test)
}

// inEveryShell leaves the other awks out: the test is about the shell's part.
func inEveryShell(t *testing.T, test func(*testing.T, world)) {
	t.Helper()
	without := world{name: "dash without timeout and openssl", sh: shell("", "dash").sh, path: tools(t, nil), skip: shell("", "dash").skip}
	inEach(t, slices.Insert(shells(t), 1, without), test)
}

// inEach runs a test in the first two of these worlds at the same time, or in all of them
// with CERTROT_EVERY_STEP=1: each read starts some hundred processes. What the test shares
// with them is to be cleaned up by t.Cleanup. With -short it is the first one.
func inEach(t *testing.T, worlds []world, test func(*testing.T, world)) {
	t.Helper()
	if os.Getenv("CERTROT_EVERY_STEP") != "1" {
		worlds = worlds[:min(2, len(worlds))]
	}
	for i, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			if w.skip != "" && os.Getenv("CERTROT_REQUIRE_LAB") == "1" {
				t.Fatal("CERTROT_REQUIRE_LAB=1, but " + w.skip)
			} else if w.skip != "" {
				t.Skip(w.skip)
			}
			if testing.Short() && i > 0 {
				t.Skip("another shell, which -short leaves out")
			}
			t.Parallel()
			test(t, w)
		})
	}
}

// tree makes files: names that end in a slash are directories, those with " -> "
// are links.
func tree(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, data := range files {
		name, link, isLink := strings.Cut(name, " -> ")
		full := root + name
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case isLink:
			err = os.Symlink(link, full)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(full, 0o755)
		default:
			err = os.WriteFile(full, []byte(data), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// newRoot is a directory that others may enter too.
func newRoot(t *testing.T) string {
	t.Helper()
	root, err := os.MkdirTemp("", "certrot-gather-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}
