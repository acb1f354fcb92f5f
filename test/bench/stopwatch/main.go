// Command stopwatch runs a program and writes what it took as JSON into a file:
//
//	stopwatch FILE PROGRAM [ARGUMENT...]
//
// A new process begins with the peak memory of the one that started it, so a
// small one has to do it.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "stopwatch:", err)
		os.Exit(1)
	}
}

func run(file string, argv []string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		for s := range interrupts {
			_ = cmd.Process.Signal(s) // it may be gone already
		}
	}()
	_ = cmd.Wait() // how it ended is in the state
	wall := time.Since(began)
	state := cmd.ProcessState
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return fmt.Errorf("no accounting of processes on this system")
	}
	data, err := json.Marshal(map[string]int64{
		"wall": wall.Nanoseconds(), "cpu": (state.UserTime() + state.SystemTime()).Nanoseconds(),
		"rss": usage.Maxrss << 10, "code": int64(state.ExitCode()),
	})
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}
