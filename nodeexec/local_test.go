package nodeexec_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/nodetest"
)

// open gets onto a node, or ends the test.
func open(t *testing.T, by nodeexec.Transport, node string) nodeexec.Node {
	t.Helper()
	n, err := by.Dial(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}

func local(t *testing.T) nodeexec.Node { return open(t, nodeexec.Local{Node: "here"}, "here") }

func TestLocal(t *testing.T) {
	noLeaks(t)
	nodetest.TestNode(t, local, nodetest.Options{})
}

func TestLocalInAChroot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may chroot")
	}
	noLeaks(t)
	// A link to the root is a root of its own to chroot, and has all programs.
	root := filepath.Join(t.TempDir(), "host")
	if err := os.Symlink("/", root); err != nil {
		t.Fatal(err)
	}
	nodetest.TestNode(t, func(t *testing.T) nodeexec.Node {
		n := open(t, nodeexec.Local{Node: "here", Root: root, Chroot: true}, "here")
		if n.Path("/etc") != "/etc" {
			t.Errorf("a command in a chroot is told %s", n.Path("/etc"))
		}
		return n
	}, nodetest.Options{NoHalfClose: true}) // bash
}

func TestLocalBelowAFolderLeadsPathsIntoIt(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	n := open(t, nodeexec.Local{Node: "here", Root: root}, "here")
	for in, want := range map[string]string{
		"/etc/kubernetes/kubeconfig": filepath.Join(root, "etc/kubernetes/kubeconfig"),
		"/../../x":                   filepath.Join(root, "x"),
		"/":                          root,
	} {
		if got := n.Path(in); got != want {
			t.Errorf("Path(%s) = %s, want %s", in, got, want)
		}
	}
	if out, err := n.Run(t.Context(), nil, "ls", n.Path("/")); err != nil || string(out) != "etc\n" {
		t.Errorf("ls: %q, %v", out, err)
	}
}

func TestLocalIsNoOtherNode(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if n := open(t, nodeexec.Local{}, strings.ToUpper(host)); n.Path("/x") != "/x" {
		t.Error("a plain local node changes paths")
	}
	for _, l := range []nodeexec.Local{{}, {Node: "worker-1"}, {Node: "worker-2", Root: "/certrot-no-such-folder"}, {Node: "worker-2", Root: "/etc/passwd"}, {Node: "worker-2", Root: "/etc", Chroot: true}} {
		if _, err := l.Dial(t.Context(), "worker-2"); err == nil {
			t.Errorf("%+v is worker-2", l)
		}
	}
}

func TestOutputHasALimit(t *testing.T) {
	noLeaks(t)
	n := open(t, nodeexec.Local{Node: "here", MaxOutput: 1000}, "here")
	if out, err := n.Run(t.Context(), nil, "head", "-c", "1000", "/dev/zero"); err != nil || len(out) != 1000 {
		t.Errorf("as much as allowed: %d bytes, %v", len(out), err)
	}
	start := time.Now()
	_, err := n.Run(t.Context(), nil, "cat", "/dev/zero")
	if !errors.Is(err, nodeexec.ErrOutputLimit) || time.Since(start) > 5*time.Second {
		t.Errorf("without end: %v after %s", err, time.Since(start))
	}
}

// relayed is a node whose connections go through a relay.
type relayed struct {
	nodeexec.Node
	relays []string
}

func (r relayed) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if network != "tcp" {
		return nil, errors.New("only tcp")
	}
	return nodeexec.Relay(ctx, r.Node, addr, r.relays...)
}

func TestRelays(t *testing.T) {
	for _, relay := range nodeexec.AllRelays() {
		t.Run(relay, func(t *testing.T) {
			if _, err := exec.LookPath(relay); err != nil {
				t.Skipf("%s is not installed", relay)
			}
			noLeaks(t)
			nodetest.TestNode(t, func(t *testing.T) nodeexec.Node { return relayed{local(t), []string{relay}} },
				nodetest.Options{DialOnly: true, NoHalfClose: relay == "bash", LateRefusal: relay != "bash", NoFarEnd: relay == "ncat" || relay == "nc"})
			nothingLeft(t, "certrot-relay NAME")
		})
	}
}

// nothingLeft fails when a process of this machine has such a command line. Those of other PID
// namespaces are not this test's: a lab may run beside it.
func nothingLeft(t *testing.T, text string) {
	t.Helper()
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	none := func() bool {
		left = nil
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, f := range files {
			if at, err := os.Readlink(filepath.Join(filepath.Dir(f), "ns/pid")); err != nil || at != own {
				continue
			}
			if data, err := os.ReadFile(f); err == nil && strings.Contains(string(data), text) {
				left = append(left, filepath.Dir(f)+" "+strings.ReplaceAll(string(data), "\x00", " "))
			}
		}
		return len(left) == 0
	}
	if !await(none) {
		t.Errorf("still running:\n%.500s", strings.Join(left, "\n"))
	}
}

func TestWithoutAnyRelayThatIsSaid(t *testing.T) {
	t.Setenv("PATH", onlyPrograms(t, "sh"))
	_, err := nodeexec.Relay(t.Context(), local(t), "127.0.0.1:1", nodeexec.AllRelays()...)
	if !errors.Is(err, nodeexec.ErrNoRelay) {
		t.Error(err)
	}
}

// onlyPrograms is a folder with links to a few programs.
func onlyPrograms(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestARelayThatHangsEndsWithTheDial(t *testing.T) {
	noLeaks(t)
	dir := onlyPrograms(t, "sh", "sleep")
	write(t, filepath.Join(dir, "bash"), "#!/bin/sh\nsleep 4321.5\n") // it answers as much as one whose packets are dropped
	if err := os.Chmod(filepath.Join(dir, "bash"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := nodeexec.Relay(ctx, local(t), "127.0.0.1:443", "bash")
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
		t.Errorf("after %s: %v", time.Since(start), err)
	}
	nothingLeft(t, "sleep\x004321.5")
}

// The far side may have said all and be gone before the relay has got its
// processes up.
func TestTheBashRelaySeesAnEndThatComesAtOnce(t *testing.T) {
	noLeaks(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("bye"))
			_ = c.Close()
		}
	}()
	n := local(t)
	for range 50 {
		c, err := nodeexec.Relay(t.Context(), n, ln.Addr().String(), "bash")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(c); string(got) != "bye" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
		_ = c.Close()
	}
	nothingLeft(t, "certrot-relay NAME")
}
