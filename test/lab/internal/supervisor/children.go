//go:build linux

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
)

// children starts processes and reaps them, as process 1 must: its own and those
// that lost their parent inside the lab. That is why nothing in this package may
// call Wait or Run of an exec.Cmd: it would race for the exit status.
type children struct {
	dir    labdir.Dir
	failed chan error // the first component that ended

	mu      sync.Mutex
	running map[int]chan syscall.WaitStatus
}

// componentError says which component's log to look into.
type componentError struct {
	name string
	err  error
}

func (e *componentError) Error() string { return e.name + ": " + e.err.Error() }
func (e *componentError) Unwrap() error { return e.err }

func newChildren(dir labdir.Dir) *children {
	c := &children{dir: dir, failed: make(chan error, 1), running: map[int]chan syscall.WaitStatus{}}
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	go func() {
		for range died {
			c.reap()
		}
	}()
	return c
}

// component starts a long-running program with a log of its own, unless it is held.
// When it ends, failed hears of it; Restart ends it and starts it again.
func (c *children) component(name, program string, args ...string) error {
	var pid int
	var ended <-chan syscall.WaitStatus
	if !onHold(c.dir, name) {
		var err error
		if pid, ended, err = c.launch(name, program, args); err != nil {
			return err
		}
	}
	go func() {
		for {
			var err error
			select {
			case status := <-ended:
				err = &componentError{name, fmt.Errorf("ended (%s)", describe(status))}
			case <-time.After(askInterval):
				_, asked := os.Stat(restartFile(c.dir, name))
				hold := onHold(c.dir, name)
				if ended != nil && (asked == nil || hold) {
					log.Printf("%s: ending it, as asked", name)
					_ = syscall.Kill(pid, syscall.SIGKILL) // it keeps nothing that could be lost
					<-ended
					ended = nil
				}
				switch {
				case hold:
					err = confirmHold(c.dir, name) // the answer to who asked
				case ended == nil:
					pid, ended, err = c.launch(name, program, args)
				}
				if err == nil && asked == nil {
					err = os.Remove(restartFile(c.dir, name)) // likewise
				}
			}
			if err != nil {
				select {
				case c.failed <- err:
				default: // something else failed first
				}
				return
			}
		}
	}()
	return nil
}

// launch starts a component, or starts it again.
func (c *children) launch(name, program string, args []string) (pid int, ended <-chan syscall.WaitStatus, err error) {
	log, err := os.OpenFile(c.dir.Log(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return 0, nil, &componentError{name, fmt.Errorf("open its log: %w", err)}
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = "/"
	pid, ended, err = c.start(cmd)
	if err != nil {
		return 0, nil, &componentError{name, fmt.Errorf("start it: %w", err)}
	}
	return pid, ended, nil
}

// Restart has the supervisor of a running lab restart a component, and waits until
// that is done. It is for programs that read what they trust at start only, and
// can be called inside the lab and outside.
func Restart(ctx context.Context, dir labdir.Dir, name string) error {
	if err := os.WriteFile(restartFile(dir, name), nil, 0o644); err != nil {
		return fmt.Errorf("restart %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, restartLimit)
	defer cancel()
	for {
		if _, err := os.Stat(restartFile(dir, name)); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		select {
		case <-ctx.Done():
			_ = os.Remove(restartFile(dir, name))
			return fmt.Errorf("restart %s: the supervisor did not do it in %s: see %s; a lab that is older than this program can't: `make lab-down lab-up`", name, restartLimit, dir.Log("supervisor"))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Hold has the supervisor of a running lab end a component and not start it again
// before Release; it returns when it has exited.
func Hold(ctx context.Context, dir labdir.Dir, name string) error {
	if err := os.WriteFile(holdFile(dir, name), nil, 0o644); err != nil {
		return fmt.Errorf("hold %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, restartLimit)
	defer cancel()
	for {
		if said, err := os.ReadFile(holdFile(dir, name)); err == nil && string(said) == stoppedNow {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("hold %s: the supervisor did not do it in %s: see %s", name, restartLimit, dir.Log("supervisor"))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// confirmHold makes no file: it may have been released meanwhile.
func confirmHold(dir labdir.Dir, name string) error {
	f, err := os.OpenFile(holdFile(dir, name), os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &componentError{name, fmt.Errorf("hold it: %w", err)}
	}
	if _, err := f.WriteString(stoppedNow); err != nil {
		_ = f.Close()
		return &componentError{name, fmt.Errorf("hold it: %w", err)}
	}
	return f.Close()
}

// StartOnHold has a component wait for Release when a lab is started.
func StartOnHold(dir labdir.Dir, name string) error {
	if err := os.WriteFile(holdFile(dir, name), nil, 0o644); err != nil {
		return fmt.Errorf("hold %s: %w", name, err)
	}
	return nil
}

// Release lets a component start that is held, and does nothing to another.
func Release(dir labdir.Dir, name string) error {
	if err := os.Remove(holdFile(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("start %s again: %w", name, err)
	}
	return nil
}

const (
	restartLimit = 10 * time.Second
	askInterval  = 200 * time.Millisecond
	stoppedNow   = "stopped"
)

func restartFile(dir labdir.Dir, name string) string { return dir.Inner("restart-" + name) }

func holdFile(dir labdir.Dir, name string) string { return dir.Inner("hold-" + name) }

func onHold(dir labdir.Dir, name string) bool {
	_, err := os.Stat(holdFile(dir, name))
	return err == nil
}

// run runs a short program to its end; its words go to the supervisor's log.
func (c *children) run(ctx context.Context, argv ...string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	_, ended, err := c.start(cmd)
	if err != nil {
		return fmt.Errorf("run %q: %w", argv, err)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case status := <-ended:
		if status != 0 {
			return fmt.Errorf("run %q: %s: see the supervisor's log", argv, describe(status))
		}
		return nil
	}
}

func (c *children) start(cmd *exec.Cmd) (pid int, ended <-chan syscall.WaitStatus, err error) {
	c.mu.Lock() // so that reap can't come before the process is known
	defer c.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return 0, nil, err
	}
	status := make(chan syscall.WaitStatus, 1)
	pid = cmd.Process.Pid // which Release forgets
	c.running[pid] = status
	return pid, status, cmd.Process.Release()
}

func (c *children) reap() {
	for {
		c.mu.Lock()
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if pid > 0 && c.running[pid] != nil {
			c.running[pid] <- status
			delete(c.running, pid)
		}
		c.mu.Unlock()
		if err == syscall.EINTR {
			continue
		}
		if pid <= 0 || err != nil {
			return
		}
	}
}

func describe(s syscall.WaitStatus) string {
	if s.Signaled() {
		return "signal " + s.Signal().String()
	}
	return fmt.Sprintf("exit code %d", s.ExitStatus())
}
