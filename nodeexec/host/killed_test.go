package host

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// everyStep says at which of a script's steps to interrupt it: at all of them with
// CERTROT_EVERY_STEP=1, which takes ten minutes; else at every eleventh in one way, and
// at fewer in the others.
func everyStep(way int) (from, by int) {
	switch {
	case os.Getenv("CERTROT_EVERY_STEP") == "1":
		return 1, 1
	case testing.Short():
		return 1 + way, 61
	case way == 0:
		return 1, 11
	}
	return 1 + way, 53
}

// mortal is the world with tools that count their calls, and do something at
// call CERTROT_STEP. Functions of the script's own shell do that, which is half as
// much work as a shell for each tool, and goes in a busybox, too.
func (w world) mortal(t *testing.T, how string) (mortal world, count string) {
	t.Helper()
	count = filepath.Join(newFolder(t), "count")
	counting := fmt.Sprintf("printf x >>%s\nIFS= read -r calls <%s\n", count, count)
	if how == "the script's shell is gone" { // which may be that of a $(...), and its tool goes on
		fakes := map[string]string{}
		for _, name := range usedTools() {
			if bin := w.tool(name); bin != "" {
				fakes[name] = counting + "[ ${#calls} -ne \"$CERTROT_STEP\" ] || { echo $$ >" + count + ".pid; kill -9 $PPID; }\nexec " + bin + ` "$@"` + "\n"
			}
		}
		return w.faked(t, fakes), count
	}
	for _, name := range usedTools() {
		if w.tool(name) == "" {
			continue
		}
		const kill = "[ ${#calls} -lt \"$CERTROT_STEP\" ] || kill -9 0\n"
		run := "command " + name + ` "$@"`
		w.over += name + "() {\n" + map[string]string{
			"killed before a tool runs": counting + kill + run,
			"killed after a tool has":   counting + run + "\nended=$?\n" + kill + "return $ended",
			"a tool fails":              counting + "[ ${#calls} -ne \"$CERTROT_STEP\" ] || { echo it does not work >&2; return 1; }\n" + run,
			"a tool is killed":          counting + "[ ${#calls} -ne \"$CERTROT_STEP\" ] || { sh -c 'kill -9 $$'; return; }\n" + run,
		}[how] + "\n}\n"
	}
	return w, count
}

// onStep is a node whose tools do what they do at this step.
func (w world) onStep(t *testing.T, count string, step int) *testNode {
	t.Helper()
	for _, file := range []string{count, count + ".pid"} {
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
	}
	n := w.node(t)
	n.env = []string{fmt.Sprintf("CERTROT_STEP=%d", step)}
	return n
}

// reached tells whether there was such a step. A tool whose shell was killed is gone then.
func reached(t *testing.T, count string, step int) bool {
	t.Helper()
	if len(read(t, count)) < step {
		return false
	}
	number, err := os.ReadFile(count + ".pid")
	if err != nil { // none had
		return true
	}
	pid := strings.TrimSpace(string(number))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return true
		}
		if time.Now().After(deadline) {
			t.Fatalf("step %d: process %s, whose shell was killed, still runs: %s", step, pid, stat)
		}
	}
}

func TestInterruptedAnywhere(t *testing.T) {
	after := "x\n" + content[1:]
	ways := []string{"killed before a tool runs", "killed after a tool has", "a tool fails", "a tool is killed", "the script's shell is gone"}
	for i, how := range ways {
		t.Run(how, func(t *testing.T) {
			inEveryShell(t, func(t *testing.T, w world) {
				if i > 0 && !strings.HasPrefix(w.name, "busybox") {
					return // the differences are in the shells' traps, and a killed shell runs none
				}
				real := w.faked(t, nil).node(t)
				mortal, count := w.mortal(t, how)
				cleanly := how == "a tool fails" || how == "a tool is killed"
				steps := 0
				from, by := everyStep(i)
				for step := from; ; step += by {
					p := newPlace(t, content)
					edit := p.edit(content, 0, 1, "x\n")
					_, err := p.run.Replace(t.Context(), mortal.onStep(t, count, step), edit)
					if !reached(t, count, step) {
						break
					}
					steps = step
					if strings.HasPrefix(how, "killed") && !errors.Is(err, nodeexec.ErrUnknownOutcome) {
						t.Errorf("step %d: killed, and its end was seen: %v", step, err)
					}
					p.between(t, step, err, cleanly, content, after)
					if read(t, p.file) == content {
						_, err = p.run.Replace(t.Context(), real, edit)
					} else {
						_, err = p.run.Restore(t.Context(), real, p.file)
					}
					if err != nil {
						t.Fatalf("step %d: the next attempt: %v", step, err)
					}
					p.dressed(t)
					p.tidied(t)
				}
				if steps < 40 {
					t.Errorf("only %d steps", steps)
				}

				p := newPlace(t, content)
				edit := p.edit(content, 0, 1, "x\n")
				for step := from; ; step += by {
					if read(t, p.file) == content {
						if _, err := p.run.Replace(t.Context(), real, edit); err != nil {
							t.Fatalf("step %d: %v", step, err)
						}
					}
					_, err := p.run.Restore(t.Context(), mortal.onStep(t, count, step), p.file)
					if !reached(t, count, step) {
						break
					}
					p.between(t, step, err, cleanly, content, after)
				}
				has(t, p.file, content)
				p.tidied(t)

				for step := from; ; step += by {
					err := p.run.Remove(t.Context(), mortal.onStep(t, count, step))
					if !reached(t, count, step) {
						if err != nil {
							t.Error(err)
						}
						break
					}
					if entries, err := p.run.Backups(t.Context(), real); err == nil && len(entries) > 0 {
						if _, err := p.run.Restore(t.Context(), real, p.file); err != nil {
							t.Errorf("step %d of Remove: the way back is lost: %v", step, err)
						}
					}
				}
				if _, err := os.Stat(p.kept()); !os.IsNotExist(err) {
					t.Errorf("the folder: %v", err)
				}
			})
		})
	}
}

// between fails the test unless the file is before or after, and the error is
// honest about it.
func (p place) between(t *testing.T, step int, err error, cleanly bool, before, after string) {
	t.Helper()
	got := read(t, p.file)
	if got != before && got != after {
		t.Fatalf("step %d: the file is %q", step, got)
	}
	p.dressed(t)
	if err != nil && !errors.Is(err, nodeexec.ErrUnknownOutcome) && !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("step %d: %v", step, err)
	}
	if !cleanly {
		return
	}
	// Only where removing is what failed does something stay.
	if left := p.unfinished(t); len(left) > 1 {
		t.Errorf("step %d: %v, and left behind: %q", step, err, left)
	}
}

// TestKilledAtAnyTime is for what happens between tools, and for shells that
// bring their own.
func TestKilledAtAnyTime(t *testing.T) {
	after := "x\n" + content[1:]
	rounds := 12
	if os.Getenv("CERTROT_EVERY_STEP") == "1" {
		rounds = 50
	}
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		p := newPlace(t, content)
		edit := p.edit(content, 0, 1, "x\n")
		began := time.Now()
		if _, err := p.run.Replace(t.Context(), n, edit); err != nil {
			t.Fatal(err)
		}
		most := time.Since(began) * 5 / 4
		for range rounds {
			ctx, cancel := context.WithTimeout(t.Context(), rand.N(most))
			var err error
			if read(t, p.file) == content {
				_, err = p.run.Replace(ctx, n, edit)
			} else {
				_, err = p.run.Restore(ctx, n, p.file)
			}
			cancel()
			if got := read(t, p.file); got != content && got != after {
				t.Fatalf("the file is %q", got)
			} else if err == nil {
				continue
			}
			p.dressed(t)
			if !errors.Is(err, nodeexec.ErrUnknownOutcome) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrBusy) {
				t.Error(err)
			}
		}
		if read(t, p.file) == content {
			if _, err := p.run.Replace(t.Context(), n, edit); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := n.undo(t, p); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		has(t, p.file, content)
		p.tidied(t)
	})
}
