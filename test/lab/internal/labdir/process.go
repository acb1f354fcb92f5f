package labdir

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Process names one process beyond doubt: an id is given to another process
// some day, an id with its start time is not (until the machine restarts, which
// Alive's look at the program covers).
type Process struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // in clock ticks since boot, from /proc/PID/stat
}

// Identify reads the start time of a process that is known to be ours.
func Identify(pid int) (Process, error) {
	fields, err := stat(pid)
	if err != nil {
		return Process{}, err
	}
	return Process{PID: pid, Start: fields[startField]}, nil
}

// Alive says whether p still runs and is this lab's own program. No signal may
// go to a process for which it is false.
func (d Dir) Alive(p Process) bool {
	return p.PID > 1 && !p.Ended() && d.runs(p.PID)
}

// Ended says whether nothing of p is left, nor of a PID namespace whose first
// process it is. A process that is ending has lost its program, for which Alive
// looks, before the kernel has killed the others.
func (p Process) Ended() bool {
	fields, err := stat(p.PID)
	return err != nil || fields[startField] != p.Start || fields[stateField] == "Z" || fields[stateField] == "X"
}

// Supervisors are the lab's supervisors that run, whether or not they are written
// down: `up` may have been killed, or the folder deleted under a running lab.
func (d Dir) Supervisors() ([]Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("look for the lab's supervisor: %w", err)
	}
	var found []Process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || !d.runs(pid) {
			continue
		}
		cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || !strings.Contains(string(cmdline), "\x00supervise\x00"+string(d)+"\x00") {
			continue
		}
		if p, err := Identify(pid); err == nil && d.Alive(p) {
			found = append(found, p)
		}
	}
	return found, nil
}

// runs says whether a process runs this lab's own program, deleted or not.
func (d Dir) runs(pid int) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil && strings.TrimSuffix(exe, " (deleted)") == d.Bin("lab")
}

// Positions in /proc/PID/stat, counted after the command, which is in
// parentheses and may hold spaces.
const (
	stateField = 0
	startField = 19
)

func stat(pid int) ([]string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, fmt.Errorf("read the state of process %d: %w", pid, err)
	}
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(fields) <= startField {
		return nil, fmt.Errorf("read the state of process %d: only %d fields in /proc/%d/stat", pid, len(fields), pid)
	}
	return fields, nil
}
