package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// running is what systemd 239 says of a kubelet.
const running = `Id=kubelet.service
LoadState=loaded
ActiveState=active
SubState=running
Result=success
MainPID=1234
ActiveEnterTimestamp=Fri 2026-11-20 10:00:00 UTC
NRestarts=3
NeedDaemonReload=no
`

// systemd is a world with a fake of it: systemctl prints a text, and both
// programs write down how they were called.
func (w world) systemd(t *testing.T, shown string) (world, string) {
	t.Helper()
	dir := newFolder(t)
	log, text := filepath.Join(dir, "log"), filepath.Join(dir, "shown")
	write(t, text, shown)
	return w.faked(t, map[string]string{
		"systemctl":   fmt.Sprintf("printf '%%s|' \"$TZ$LC_ALL\" systemctl \"$@\" >>%s; echo >>%s\ncase $* in *'-p LoadState --'*) while read -r line; do case $line in LoadState*) echo \"$line\" ;; esac; done <%s; exit ;; esac\nexec cat %s\n", log, log, text, text),
		"systemd-run": fmt.Sprintf("case $* in --help) echo '  --collect'; exit ;; esac\nprintf '%%s|' systemd-run \"$@\" >>%s; echo >>%s\necho 'Running timer as unit' >&2\n", log, log),
	}), log
}

func TestUnits(t *testing.T) {
	inBothShells(t, func(t *testing.T, w world) {
		w, log := w.systemd(t, running)
		u, err := LookUnit(t.Context(), w.node(t), "kubelet.service")
		if err != nil {
			t.Fatal(err)
		}
		if age := time.Since(u.Now); age < -time.Minute || age > time.Minute {
			t.Errorf("now is %s ago", age)
		}
		want := Unit{Name: "kubelet.service", Active: "active", Sub: "running", Result: "success", MainPID: 1234, Restarts: 3,
			Entered: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), Now: u.Now}
		if u != want {
			t.Errorf("%+v", u)
		}
		if called := read(t, log); !strings.HasPrefix(called, "UTC0C|systemctl|show|-p|Id,LoadState,") || !strings.HasSuffix(called, "|--|kubelet.service|\n") {
			t.Errorf("called %s", called)
		}
	})
}

func TestUnitsThatAreNotAsUsual(t *testing.T) {
	w := shell("dash", "dash")
	if w.skip != "" {
		t.Skip(w.skip)
	}
	for _, c := range []struct {
		name, old, new string
		fails          string
		right          func(Unit) bool
	}{
		{"unknown", "LoadState=loaded", "LoadState=not-found", "not-found", nil},
		{"masked", "LoadState=loaded", "LoadState=masked", "masked", nil},
		{"no answer", running, "", "not understood", nil},
		{"in a chroot, systemctl does nothing", running, "Running in chroot, ignoring request: show\n", "Running in chroot", nil},
		{"never active", "Fri 2026-11-20 10:00:00 UTC", "", "", func(u Unit) bool { return u.Entered.IsZero() }},
		{"never active, in other words", "Fri 2026-11-20 10:00:00 UTC", "n/a", "", func(u Unit) bool { return u.Entered.IsZero() }},
		{"another time zone", "UTC", "JST", "no time in UTC", nil},
		{"does not count restarts", "NRestarts=3\n", "", "", func(u Unit) bool { return u.Restarts == -1 }},
		{"counts nonsense", "NRestarts=3", "NRestarts=-3", "NRestarts", nil},
		{"is to be reloaded", "NeedDaemonReload=no", "NeedDaemonReload=yes", "", func(u Unit) bool { return u.NeedDaemonReload }},
		{"no MainPID", "MainPID=1234\n", "", "MainPID", nil},
		{"not running", "MainPID=1234", "MainPID=0", "", func(u Unit) bool { return u.MainPID == 0 }},
		{"an answer twice", running, running + running, "not understood", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, _ := w.systemd(t, strings.Replace(running, c.old, c.new, 1))
			u, err := LookUnit(t.Context(), w.node(t), "kubelet.service")
			switch {
			case c.fails == "" && (err != nil || !c.right(u)):
				t.Errorf("%+v, %v", u, err)
			case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails) || !strings.Contains(err.Error(), "kubelet.service on worker-3")):
				t.Errorf("%v", err)
			}
		})
	}
	without := w.faked(t, map[string]string{"systemctl": ""})
	if _, err := LookUnit(t.Context(), without.node(t), "kubelet.service"); err == nil || !strings.Contains(err.Error(), "no systemctl") {
		t.Error(err)
	}
}

func TestNamesOfUnits(t *testing.T) {
	n := world{sh: []string{"false"}}.node(t) // nothing runs
	for _, name := range []string{"", "kubelet", ".service", "-p.service", "../x.service", "a b.service", "kube*.service", "a.service b.service", "/dev/sda", "a.timer", "a\n.service", "$(id).service", ".x.service"} {
		_, err1 := LookUnit(t.Context(), n, name)
		err2 := (RunFolder{ID: "a"}).Restart(t.Context(), n, name)
		for _, err := range []error{err1, err2} {
			if err == nil || !strings.Contains(err.Error(), "plain name") {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
}

func TestRestart(t *testing.T) {
	inBothShells(t, func(t *testing.T, w world) {
		w, log := w.systemd(t, running)
		n := w.node(t)
		p := newPlace(t, content)
		for _, there := range []bool{false, true} {
			_ = os.Remove(log)
			if err := p.run.Restart(t.Context(), n, "getty@tty1.service"); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(read(t, log), "\n")
			const head, tail = "systemd-run|--collect|--unit=certrot-run-1-", "|--description=certrot run-1: restart getty@tty1.service|--on-active=3|--timer-property=AccuracySec=100ms|systemctl|restart|getty@tty1.service|"
			if len(lines) != 3 || !strings.HasPrefix(lines[1], head) || !strings.HasSuffix(lines[1], tail) {
				t.Errorf("called %q", lines)
			}
			if !there {
				if _, err := os.Stat(p.run.Folder); !os.IsNotExist(err) {
					t.Errorf("the folder: %v", err)
				}
				if _, err := p.run.Replace(t.Context(), n, p.edit(content, 0, 1, "x")); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if out, err := n.undo(t, p); err != nil || !strings.Contains(out, "systemctl restart getty@tty1.service\n") {
				t.Errorf("%v\n%s", err, out)
			}
			if err := p.run.Remove(t.Context(), n); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestRestartsThatDoNotWork(t *testing.T) {
	w := shell("dash", "dash")
	if w.skip != "" {
		t.Skip(w.skip)
	}
	p := newPlace(t, content)
	missing, log := w.systemd(t, strings.Replace(running, "=loaded", "=not-found", 1))
	err := p.run.Restart(t.Context(), missing.node(t), "kubelet.service")
	if err == nil || !strings.Contains(err.Error(), "not-found") || strings.Contains(read(t, log), "systemd-run") {
		t.Error(err)
	}
	old := w.faked(t, map[string]string{
		"systemctl":   "echo LoadState=loaded",
		"systemd-run": "case $* in --help) exit ;; *--collect*) exit 1 ;; esac\necho Failed to start transient timer unit: no >&2\nexit 1",
	})
	err = p.run.Restart(t.Context(), old.node(t), "kubelet.service")
	if err == nil || !strings.Contains(err.Error(), "Failed to start transient timer unit: no") {
		t.Error(err)
	}
	without := w.faked(t, map[string]string{"systemctl": "echo LoadState=loaded", "systemd-run": ""})
	err = p.run.Restart(t.Context(), without.node(t), "kubelet.service")
	if err == nil || !strings.Contains(err.Error(), "no systemd-run") {
		t.Error(err)
	}
}

// TestARestartThatWasKilledLeavesNothing: the next command that works on the node, of
// whatever run, removes what a killed one left in its folder.
func TestARestartThatWasKilledLeavesNothing(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		if w.tool("flock") == "" {
			return // without flock nothing tells whether a writer is dead, and only its own run sweeps
		}
		healthy, _ := w.systemd(t, running)
		real := healthy.node(t)
		for name, next := range map[string]func(RunFolder) error{
			"restart": func(r RunFolder) error { return r.Restart(t.Context(), real, "kubelet.service") },
			"hold":    func(r RunFolder) error { return r.Hold(t.Context(), real, "next", "") },
		} {
			mortal, count := healthy.mortal(t, "killed before a tool runs")
			left := 0
			for step := 1; ; step++ {
				p := newPlace(t, content)
				if _, err := p.run.Replace(t.Context(), real, p.edit(content, 0, 1, "x")); err != nil {
					t.Fatal(err)
				}
				_ = p.run.Restart(t.Context(), mortal.onStep(t, count, step), "kubelet.service")
				if !reached(t, count, step) {
					break
				}
				left += len(p.unfinished(t))
				if err := next(RunFolder{ID: "run-2", Folder: p.run.Folder}); err != nil {
					t.Fatalf("%s, step %d: %v", name, step, err)
				}
				p.tidied(t)
			}
			if left == 0 {
				t.Errorf("%s: no step left anything: this shows nothing", name)
			}
		}
	})
}
