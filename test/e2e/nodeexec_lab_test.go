//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// waitLimit is for whatever a kubelet or a controller is to do; most of it takes
// a second or two.
const waitLimit = 4 * time.Minute

// restConfig is the administrator's way to the lab's API server.
func restConfig(t *testing.T, lab *labtest.Lab) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", lab.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// inNetwork runs a function in the network of a node. Sockets that it opens stay
// there, whatever uses them.
func inNetwork(lab *labtest.Lab, node string, open func() error) error {
	data, err := os.ReadFile(filepath.Join(lab.Dir, "state.json"))
	if err != nil {
		return err
	}
	var state struct{ Supervisor struct{ PID int } }
	if err := json.Unmarshal(data, &state); err != nil {
		return err
	}
	ns, err := os.Open(fmt.Sprintf("/proc/%d/root/run/netns/%s", state.Supervisor.PID, node))
	if err != nil {
		return err
	}
	defer ns.Close()
	// Package syscall is older than this call.
	setns, known := map[string]uintptr{"amd64": 308, "arm64": 268}[runtime.GOARCH]
	if !known {
		return fmt.Errorf("enter the network of %s: not known how on %s", node, runtime.GOARCH)
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if _, _, errno := syscall.RawSyscall(setns, ns.Fd(), syscall.CLONE_NEWNET, 0); errno != 0 {
			done <- fmt.Errorf("enter the network of %s: %w", node, errno)
			return
		}
		done <- open()
	}()
	return <-done
}

// listenOn opens a port on a node's 127.0.0.1.
func listenOn(lab *labtest.Lab, node string) func(t *testing.T) net.Listener {
	return func(t *testing.T) net.Listener {
		t.Helper()
		var ln net.Listener
		err := inNetwork(lab, node, func() (err error) {
			ln, err = net.Listen("tcp4", "127.0.0.1:0")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return ln
	}
}

// sshTo reaches the lab's nodes by ssh: from here, by a port on 127.0.0.1 that
// leads to theirs.
func sshTo(t *testing.T, lab *labtest.Lab, node string) *nodeexec.SSH {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() { forward(lab, node, c) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		all.Wait()
	})
	port := ln.Addr().(*net.TCPAddr).Port
	known := filepath.Join(t.TempDir(), "known_hosts")
	key, err := os.ReadFile(filepath.Join(lab.Dir, "ssh", node+".pub"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(known, fmt.Appendf(nil, "[127.0.0.1]:%d %s", port, key), 0o600); err != nil {
		t.Fatal(err)
	}
	inventory := nodeexec.Inventory{node: {Host: "127.0.0.1", User: "core", Port: port}}
	return &nodeexec.SSH{
		Home: t.TempDir(), Config: "none", Inventory: inventory,
		Keys:     nodeexec.Keys{Files: []string{filepath.Join(lab.Dir, "ssh", "id_ed25519")}},
		HostKeys: nodeexec.HostKeys{Files: []string{known}},
	}
}

func forward(lab *labtest.Lab, node string, near net.Conn) {
	defer near.Close()
	var far net.Conn
	err := inNetwork(lab, node, func() (err error) {
		far, err = net.DialTimeout("tcp4", "127.0.0.1:22", 5*time.Second)
		return err
	})
	if err != nil {
		return
	}
	defer far.Close()
	var up sync.WaitGroup
	up.Go(func() {
		_, _ = io.Copy(far, near)
		_ = far.(*net.TCPConn).CloseWrite()
	})
	_, _ = io.Copy(near, far)
	_ = near.(*net.TCPConn).CloseWrite()
	up.Wait()
}

// eventually waits until a condition holds: what is "" or why not.
func eventually(t *testing.T, what string, why func() string) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	last := ""
	for end := time.After(waitLimit); ; {
		if last = why(); last == "" {
			return
		}
		select {
		case <-end:
			t.Fatalf("%s: not within %s: %s", what, waitLimit, last)
		case <-tick.C:
		}
	}
}

// ours selects what debug pods are marked with.
const ours = "kubectl-certrot.github.io/debug"

// labDo runs kubectl, or with ssh as the first word a command on a node. It also
// works at the end of a test, when the test's own context is over.
func labDo(lab *labtest.Lab, words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var c *exec.Cmd
	if words[0] == "ssh" {
		c = lab.SSHCommand(ctx, words[1], words[2:]...)
	} else {
		c = lab.OnHost(ctx, append([]string{"kubectl"}, words...)...)
	}
	out, err := c.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, out)
	}
	return string(out), err
}

// mustDo is labDo, and ends the test if it fails.
func mustDo(t *testing.T, lab *labtest.Lab, words ...string) string {
	t.Helper()
	out, err := labDo(lab, words...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// leftBehind is what debug pods have left: objects in the cluster, and processes
// on nodes.
func leftBehind(lab *labtest.Lab) string {
	var left strings.Builder
	// A namespace that is on its way out takes the controller manager 5 s.
	const objects = `go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{.kind}} {{.metadata.name}}{{"\n"}}{{end}}{{end}}`
	for _, get := range [][]string{{"pods", "-A", "-o", "name"}, {"namespaces", "-o", objects}} {
		out, err := labDo(lab, append([]string{"get", "-l", ours}, get...)...)
		left.WriteString(strings.TrimPrefix(out, "No resources found\n"))
		if err != nil {
			left.WriteString(err.Error())
		}
	}
	for _, node := range lab.Nodes() {
		// The [] keep the pattern from finding itself.
		out, err := labDo(lab, "ssh", node, `pgrep -a -f 'certro[t]-exec|certro[t]-relay|^/bin/slee[p] [0-9]{1,5}$|^slee[p] 12345' || true`)
		left.WriteString(out)
		if err != nil {
			left.WriteString(err.Error())
		}
	}
	return left.String()
}

// noneLeft fails the test unless everything that debug pods are made of is gone,
// at the latest in a moment.
func noneLeft(t *testing.T, lab *labtest.Lab) {
	t.Helper()
	eventually(t, "nothing is left", func() string { return leftBehind(lab) })
}
