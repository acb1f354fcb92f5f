//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/cgroup"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
)

// down ends the lab and deletes its folder. The kernel does most of it: see
// package supervisor.
func down(ctx context.Context, dir labdir.Dir) error {
	if _, err := os.Stat(string(dir)); errors.Is(err, fs.ErrNotExist) {
		// A lab whose folder was deleted may still be running.
		if err := stop(dir); err != nil {
			return err
		}
		fmt.Println("no lab in", dir)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	unlock, err := dir.Lock(ctx, func() { fmt.Println("another lab command is at work on", dir, "- waiting for it") })
	if err != nil {
		return err
	}
	defer unlock()
	began := time.Now()
	if err := stop(dir); err != nil {
		return err
	}
	if err := dir.Clear(true); err != nil {
		return err
	}
	fmt.Printf("the lab in %s is gone (%.1fs)\n", dir, time.Since(began).Seconds())
	return nil
}

// stop ends the lab's supervisor, and with it every process of the lab. It is
// done when the kernel is: process 1 of a PID namespace is the last to end. Then
// the nodes' control groups are empty, and only they are left to remove.
func stop(dir labdir.Dir) error {
	for _, step := range []struct {
		signal syscall.Signal
		limit  time.Duration
	}{{syscall.SIGTERM, 5 * time.Second}, {syscall.SIGKILL, 10 * time.Second}} {
		left, err := dir.Supervisors()
		if err != nil {
			return err
		}
		for _, p := range left {
			if err := syscall.Kill(p.PID, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("end the lab's supervisor, process %d: %w", p.PID, err)
			}
		}
		if gone(left, step.limit) {
			return cgroup.Remove(cgroup.Prefix(string(dir)))
		}
	}
	return fmt.Errorf("end the lab in %s: its supervisor is there 10 s after SIGKILL: look at `ps -ef` for %s", dir, dir.Bin("lab"))
}

func gone(processes []labdir.Process, limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	for _, p := range processes {
		for !p.Ended() {
			if time.Now().After(deadline) {
				return false
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return true
}
