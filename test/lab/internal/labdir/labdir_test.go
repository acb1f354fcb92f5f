//go:build linux

package labdir

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestAProcessThatIsNotTheLabsIsNeverAlive(t *testing.T) {
	dir := Dir(t.TempDir())
	self, err := Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if dir.Alive(self) {
		t.Error("this test passes for the supervisor of a lab")
	}
}

func TestAliveNeedsTheIDTheStartTimeAndTheProgram(t *testing.T) {
	dir := Dir(t.TempDir())
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("needs a program that does nothing for a while: ", err)
	}
	text, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir.Bin(""), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir.Bin("lab"), text, 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(dir.Bin("lab"), "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := Identify(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if !dir.Alive(p) {
		t.Error("the lab's own program is not alive")
	}
	if dir.Alive(Process{PID: p.PID, Start: "1"}) {
		t.Error("a process with another start time passes for it")
	}
	if found, err := dir.Supervisors(); err != nil || len(found) > 0 {
		t.Errorf("it passes for a supervisor without the command line of one: %v, %v", found, err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil || dir.Alive(p) {
		t.Errorf("after its end (%v) it is still alive", err)
	}
}

func TestASupervisorIsFoundByItsFolderWhateverFollows(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(shell)
	if err != nil {
		t.Fatal(err)
	}
	dir := Dir(t.TempDir())
	if err := dir.Prepare(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir.Bin("lab"), text, 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(dir.Bin("lab"), "-c", "read line", "supervise", string(dir), "--goaway-chance=0.001")
	stdin, err := c.StdinPipe() // it ends when that does
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	found, err := dir.Supervisors()
	if err != nil || len(found) != 1 || found[0].PID != c.Process.Pid {
		t.Errorf("found %v, %v, want process %d", found, err, c.Process.Pid)
	}
	if found, err := Dir(string(dir) + "-2").Supervisors(); err != nil || len(found) > 0 {
		t.Errorf("of another lab: found %v, %v", found, err)
	}
	_ = stdin.Close()
	_ = c.Wait() // it has read nothing, which is no success
}

func TestLockIsForOneAndSurvivesTheFoldersDeletion(t *testing.T) {
	dir := Dir(filepath.Join(t.TempDir(), "lab"))
	unlock, err := dir.Lock(t.Context(), func() { t.Error("the first has to wait") })
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan struct{})
	second := make(chan error, 1)
	go func() {
		unlock, err := dir.Lock(t.Context(), func() { close(waits) })
		if err == nil {
			defer unlock()
			_, err = os.Stat(string(dir))
		}
		second <- err
	}()
	<-waits
	if err := dir.Clear(true); err != nil {
		t.Fatal(err)
	}
	unlock()
	if err := <-second; err != nil {
		t.Errorf("the second, after the first deleted the folder: %v", err)
	}
}

func TestLockEndsWithItsContext(t *testing.T) {
	dir := Dir(t.TempDir())
	unlock, err := dir.Lock(t.Context(), func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := dir.Lock(ctx, func() {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a lock that another holds: %v, want the deadline", err)
	}
}

func TestStateIsWhatWasWritten(t *testing.T) {
	dir := Dir(t.TempDir())
	if _, found, err := dir.State(); found || err != nil {
		t.Errorf("the state of an empty folder: found %v, %v", found, err)
	}
	want := State{Supervisor: Process{PID: 7, Start: "8"}, Port: 9, Version: "4.15", Ready: true}
	if err := dir.WriteState(want); err != nil {
		t.Fatal(err)
	}
	if got, found, err := dir.State(); got != want || !found || err != nil {
		t.Errorf("read %+v, %v, %v, want %+v", got, found, err, want)
	}
}
