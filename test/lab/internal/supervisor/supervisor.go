//go:build linux

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
)

// Command is the command line argument that makes the lab's program a
// supervisor; the lab's folder follows, and then flags for the API server.
const Command = "supervise"

// listenerFD is where the host's listener arrives: the first of ExtraFiles.
const listenerFD = 3

// Start starts a lab's supervisor in namespaces of its own and returns at once.
// The listener is one that the host's programs reach; what connects to it gets
// the API server, which gets these flags beside its own. The supervisor's own words
// go to its log.
func Start(dir labdir.Dir, listener *net.TCPListener, flags []string) (*exec.Cmd, error) {
	log, err := os.OpenFile(dir.Log("supervisor"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the supervisor's log: %w", err)
	}
	defer func() { _ = log.Close() }()
	socket, err := listener.File()
	if err != nil {
		return nil, fmt.Errorf("hand the listener to the supervisor: %w", err)
	}
	defer func() { _ = socket.Close() }()
	c := exec.Command(dir.Bin("lab"), append([]string{Command, string(dir)}, flags...)...)
	c.Stdout, c.Stderr = log, log
	c.ExtraFiles = []*os.File{socket}
	// Nothing of the caller's environment: a proxy or a KUBECONFIG in it would
	// change what the components do.
	c.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/"}
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Setsid:     true, // a Ctrl-C in the terminal is for `up`, which decides
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("start the supervisor in namespaces of its own (this needs root and, in a container, CAP_SYS_ADMIN): %w", err)
	}
	return c, nil
}

// Run is the supervisor. It returns only when something failed; a signal to end
// ends the process.
func Run(dir labdir.Dir, flags []string) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-signals
		cancel()
	}()
	err := run(ctx, dir, flags)
	clearMachines(dir)
	if ctx.Err() != nil {
		return nil // asked to end
	}
	var failed *componentError
	status := labdir.Status{Error: err.Error()}
	if errors.As(err, &failed) {
		status.Failed = failed.name
	}
	return errors.Join(err, dir.WriteStatus(status))
}

func run(ctx context.Context, dir labdir.Dir, flags []string) error {
	if os.Getpid() != 1 {
		return errors.New("supervise is started by `up`, as process 1 of a PID namespace")
	}
	plan, err := node.ReadPlan(dir.Plan())
	if err != nil {
		return err
	}
	children := newChildren(dir)
	if err := isolateMounts(dir, plan.Nodes); err != nil {
		return err
	}
	if err := syscall.Sethostname([]byte(pki.NodeName)); err != nil {
		return fmt.Errorf("set the lab's host name: %w", err)
	}
	if err := createNetwork(ctx, children); err != nil {
		return err
	}
	if err := forward(os.NewFile(listenerFD, "listener"), "127.0.0.1:"+apiPort); err != nil {
		return err
	}
	if err := startMachines(ctx, dir, plan, flags, children); err != nil {
		return err
	}
	balancer := newBalancer(plan.Nodes)
	if balancer != nil {
		flags = append(flags, sharePort)
		if err := balancer.serve(ctx); err != nil {
			return err
		}
	}
	if err := startControlPlane(ctx, dir, flags, children); err != nil {
		return err
	}
	if balancer == nil {
		go probe(ctx)
	}
	if err := joinNodes(ctx, dir, plan); err != nil {
		return err
	}
	if err := dir.WriteStatus(labdir.Status{Ready: true}); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-children.failed:
			// A lab with a part missing proves nothing: end it as a whole.
			return err
		case <-time.After(2 * time.Second):
			if _, found, err := dir.Status(); err == nil && !found {
				return fmt.Errorf("%s was deleted: this lab can no longer be used", dir)
			}
		}
	}
}
