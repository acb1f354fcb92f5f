package undocmd

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply/applytest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
)

// sshHere is a real sshd on this machine, and the flags that lead there.
type sshHere struct {
	port  int
	dir   string
	flags connect.SSHFlags
}

func startSSHHere(t *testing.T) sshHere {
	t.Helper()
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		sshd = "/usr/sbin/sshd"
	}
	for _, program := range []string{sshd, "ssh-keygen"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed (apt-get install openssh-server openssh-client)", filepath.Base(program))
		}
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		if out, err := exec.Command("sudo", "-n", "--", "true").CombinedOutput(); err != nil {
			t.Skipf("sudo without a password is not possible here: %v %s", err, out)
		}
	} else if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // it insists, when root runs it
		t.Fatal(err)
	}
	s := sshHere{dir: t.TempDir()}
	for _, name := range []string{"key", "host"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(s.dir, name)).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.port = ln.Addr().(*net.TCPAddr).Port
	_ = ln.Close()
	s.write(t, "sshd_config", fmt.Sprintf("HostKey %s/host\nListenAddress 127.0.0.1\nPort %d\nPidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nAuthorizedKeysFile %s/key.pub\n", s.dir, s.port, s.dir))
	cmd := exec.Command(sshd, "-D", "-e", "-f", filepath.Join(s.dir, "sshd_config"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	for end := time.Now().Add(20 * time.Second); ; {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
		if err == nil {
			_ = c.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal("sshd does not start")
		}
	}
	key, err := os.ReadFile(filepath.Join(s.dir, "host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	known := s.write(t, "known_hosts", fmt.Sprintf("[127.0.0.1]:%d %s", s.port, key))
	config := s.write(t, "config", fmt.Sprintf("Host *\n User %s\n Port %d\n", me.Username, s.port))
	s.flags = connect.SSHFlags{Keys: []string{filepath.Join(s.dir, "key")}, KnownHosts: []string{known}, Config: config}
	return s
}

func (s sshHere) write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(s.dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func thisHost(t *testing.T) string {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return host
}

// ways are the flags by which ssh leads to this machine, for whatever node it is taken.
func (s sshHere) ways(t *testing.T) map[string]connect.NodeFlags {
	t.Helper()
	s.flags.Inventory = s.write(t, "inventory", "worker-9 127.0.0.1\n"+thisHost(t)+" 127.0.0.1\n")
	line := fmt.Sprintf("ssh -F %s -i %s/key -o UserKnownHostsFile=%s/known_hosts -o BatchMode=yes -o HostName=127.0.0.1 {node} --", s.flags.Config, s.dir, s.dir)
	return map[string]connect.NodeFlags{
		nodeexec.ViaSSH:     {Via: nodeexec.ViaSSH, SSH: s.flags},
		nodeexec.ViaCommand: {Via: nodeexec.ViaCommand, Command: connect.CommandFlags{Line: line}},
	}
}

// TestAnotherMachineIsNotReadAsTheNode: an address leads to a machine that is not the node.
// Nothing of that machine becomes the node's.
func TestAnotherMachineIsNotReadAsTheNode(t *testing.T) {
	s := startSSHHere(t)
	for via, f := range s.ways(t) {
		t.Run(via, func(t *testing.T) { s.readsNoOther(t, f) })
	}
}

func (s sshHere) readsNoOther(t *testing.T, f connect.NodeFlags) {
	t.Helper()
	host := thisHost(t)
	node := func(name string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}],"conditions":[{"type":"Ready","status":"True"}]}}`, name)
	}
	conn := applytest.Connect(plugintest.SettledAPI().With("/api/v1/nodes", plugintest.List(node(host), node("worker-9"))), t)
	f.Parallel, f.Timeout, f.Paths = 2, time.Minute, []string{s.dir}
	var said bytes.Buffer
	c, err := f.ToChoice(t.Context(), cli.App{Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &said, ErrOut: &said}}, collect.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	objects, _, err := c.Objects(t.Context(), conn)
	if err != nil || len(objects) != 2 {
		t.Fatal(objects, err)
	}
	ways, done := c.Transports(objects, conn)
	defer func() { _ = done() }()
	n := c.Source(objects)
	n.Scanner, n.Open = pki.NewScanner(), connect.Opener(ways...)
	got := n.Collect(t.Context())
	for _, read := range got.Nodes {
		if is := read.Via == f.Via; is != (read.Name == host) {
			t.Errorf("node %s is read via %q", read.Name, read.Via)
		}
	}
	var reasons []string
	for _, g := range got.Gaps {
		if g.What == "node/worker-9" {
			reasons = append(reasons, g.Reason)
		}
	}
	if len(reasons) != 1 || !strings.Contains(reasons[0], "identify node worker-9: the machine that was reached calls itself "+foreign.QuotedName(host)) || !strings.Contains(reasons[0], "nothing else was read there") {
		t.Errorf("%q", reasons)
	}
}

// TestPruneRemovesNothingFromAnotherMachine: a line of the inventory, or an address, that
// leads to another machine.
func TestPruneRemovesNothingFromAnotherMachine(t *testing.T) {
	s := startSSHHere(t)
	for via, f := range s.ways(t) {
		t.Run(via, func(t *testing.T) { s.prunesNoOther(t, f) })
	}
}

func (s sshHere) prunesNoOther(t *testing.T, nodes connect.NodeFlags) {
	t.Helper()
	nobody := filepath.Join(s.dir, "none")
	config := &cli.ConfigFlags{KubeConfig: nobody}
	var said bytes.Buffer
	f := apply.Flags{App: cli.App{Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &said, ErrOut: &said}}, Config: config, DryRun: apply.DryRunNone,
		Nodes: nodes}
	f.Nodes.Parallel, f.Nodes.Timeout = 1, time.Minute
	o, err := f.ToOptions(t.Context(), connect.ToRead)
	if err != nil {
		t.Fatal(err)
	}
	r := removal{run: "20000101-000000-none", still: func() error { return nil }}
	if without, err := removeFrom(t.Context(), o, r, []string{thisHost(t)}); err != nil || len(without) != 1 {
		t.Errorf("from the node itself: %v, %v", without, err)
	}
	_, err = removeFrom(t.Context(), o, r, []string{"worker-9"})
	if err == nil || !strings.Contains(err.Error(), "identify node worker-9: the machine that was reached calls itself ") || !strings.Contains(err.Error(), "nothing changed") {
		t.Errorf("from another machine: %v", err)
	}
}

// TestTheNextStepForACutNodeIsNotAWayThatFailed: ssh gets no connection to a node. What was
// tried, or needs its kubelet, is no next step.
func TestTheNextStepForACutNodeIsNotAWayThatFailed(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	_ = ln.Close() // nobody listens there now: connections are refused
	dir := t.TempDir()
	here := sshHere{dir: dir}
	conn := applytest.Connect(plugintest.SettledAPI().With("/api/v1/nodes", plugintest.List(`{"metadata":{"name":"worker-9"},"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}],"conditions":[{"type":"Ready","status":"Unknown"}]}}`)), t)
	config := here.write(t, "config", fmt.Sprintf("Host worker-9\n HostName 127.0.0.1\n Port %d\n", port))
	asked := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, via string
		ways      []string
		renewed   time.Time // of its Lease
		script    bool
		want      string
	}{
		{"no heartbeat", "ssh", nil, asked.Add(-time.Hour), true, "check the power, the network and the console (BMC) of worker-9; a script for its console: oc certrot fix-api-int --nodes worker-9 --emit-script scripts"},
		{"no heartbeat, of another command", "ssh", nil, asked.Add(-time.Hour), false, "check the power, the network and the console (BMC) of worker-9; or run it with --local at its console"},
		{"a heartbeat that was not read", "ssh", nil, time.Time{}, false, "check the power, the network and the console (BMC) of worker-9; or run it with --local at its console"},
		{"a heartbeat: only this machine is cut off", "ssh", nil, asked, false, "its kubelet has a heartbeat: try --via exec or --via debug; else check the power, the network and the console (BMC) of worker-9; or run it with --local at its console"},
		{"a heartbeat, and exec was tried", "auto", []string{"ssh", "exec"}, asked, false, "its kubelet has a heartbeat: try --via debug; else check the power, the network and the console (BMC) of worker-9; or run it with --local at its console"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := connect.NodeFlags{Via: c.via, Parallel: 1, Timeout: time.Minute, SSH: connect.SSHFlags{Config: config}}
			app := cli.App{ProgramName: "oc certrot", Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}}}
			choice, err := f.ToChoice(t.Context(), app, collect.Scope{})
			if err != nil {
				t.Fatal(err)
			}
			if c.ways != nil {
				choice.Ways = c.ways
			}
			w := &apply.Session{App: app, Choice: choice, Conn: conn, Scanner: pki.NewScanner(), Script: c.script}
			if w.Objects, _, err = choice.Objects(t.Context(), conn); err != nil {
				t.Fatal(err)
			}
			w.Objects[0].Heartbeat = c.renewed
			if !c.renewed.IsZero() {
				w.Objects[0].Lease = inspect.Lease{Duration: 40 * time.Second, Asked: asked}
			}
			ways, done := choice.Transports(w.Objects, conn)
			defer func() { _ = done() }()
			w.Open = nodeexec.FirstOf(ways...).Dial
			var next []string
			for _, g := range w.Source(gather.Options{}).Collect(t.Context()).Gaps {
				if g.What == "node/worker-9" {
					next = append(next, g.Next)
				}
			}
			if len(next) != 1 || next[0] != c.want {
				t.Errorf("next step: %q, want %q", next, c.want)
			}
		})
	}
}
