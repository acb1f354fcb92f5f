//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

func (f *fixing) wrongCAs(t *testing.T, node string) {
	before := f.stands(t, node)
	now := time.Now()
	other := pkitest.NewCA("another CA", now.AddDate(0, 0, -1), now.AddDate(1, 0, 0))
	expired := pkitest.NewCA("an expired CA", now.AddDate(-2, 0, 0), now.AddDate(0, 0, -1))
	leaf := other.Issue("leaf.e2e.example.com", now.AddDate(0, 0, -1), now.AddDate(1, 0, 0), pkitest.DNS("leaf.e2e.example.com"))
	f.secret.key("a key in a file of CAs", other.KeyPEM)
	for name, c := range map[string]struct {
		text []byte
		code int
		says string
	}{
		"a CA that has signed nothing here": {other.CertPEM, 5, "does not verify the certificate that api-int.lab.test:6443 presents"},
		"a CA that has ended":               {expired.CertPEM, 5, "valid"},
		"no CA":                             {leaf.CertPEM, 5, "is no CA"},
		"a CA and its key":                  {pkitest.Bundle(other.CertPEM, other.KeyPEM), 5, "a private key is in it"},
		"nothing":                           {nil, 5, "no certificate is in it"},
		"a CA that is cut off":              {f.published(t)[:700], 5, "ca-usable"},
	} {
		file := filepath.Join(t.TempDir(), "ca.crt")
		if err := os.WriteFile(file, c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		r := f.inLab(t, "fix-api-int", "--nodes", node, "--via", "ssh", "--ca-file", file, "--yes")
		if r.code != c.code || !strings.Contains(r.said(), c.says) || !strings.Contains(r.said(), "nothing was changed") {
			t.Errorf("%s: ended with %d, want %d and %q:\n%s", name, r.code, c.code, c.says, r.said())
		}
	}
	f.untouched(t, node, before)
	if runs := f.journals(t); len(runs) > 0 {
		t.Errorf("there are journals of %v", runs)
	}
}

func (f *fixing) badDisks(t *testing.T, node string) {
	f.reset(t, node)
	// What certrot keeps runs in is hidden by what is mounted there.
	mustDo(t, f.lab, "ssh", node, "sudo mkdir -p -m 700 "+runsOnNode)
	before := f.stands(t, node)
	for _, c := range []struct{ name, damage, at, says, nothing string }{
		{"no room for what was before", `mount -t tmpfs -o size=64k,mode=700 tmpfs ` + runsOnNode + `; dd if=/dev/zero of=` + runsOnNode + `/full bs=4k 2>/dev/null || true`, runsOnNode, "No space left on device", "not begun"},
		{"no room for the new file", `cp -a /etc/kubernetes ` + savedOn + `/there; mount -t tmpfs -o size=1m,mode=755 tmpfs /etc/kubernetes; cp -a ` + savedOn + `/there/. /etc/kubernetes; dd if=/dev/zero of=/etc/kubernetes/full bs=4k 2>/dev/null || true`, "/etc/kubernetes", "No space left on device", "nothing was changed"},
		{"a read-only folder of the file", `mount --bind /etc/kubernetes /etc/kubernetes; mount -o remount,bind,ro /etc/kubernetes`, "/etc/kubernetes", "Read-only file system", "nothing was changed"},
		{"a read-only folder for runs", `mount --bind ` + runsOnNode + ` ` + runsOnNode + `; mount -o remount,bind,ro ` + runsOnNode, runsOnNode, "Read-only file system", "not begun"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Cleanup(func() {
				if _, err := labDo(f.lab, "ssh", node, "sudo umount -l "+c.at); err != nil {
					t.Error(err)
				}
			})
			mustDo(t, f.lab, "ssh", node, "sudo sh -ec "+nodeexec.Quote(c.damage))
			r := f.inLab(t, "fix-api-int", "--nodes", node, "--via", "ssh", "--yes")
			ends(t, r, 4, c.says, c.nothing, joinConfig, "to go on from there")
			now := f.stands(t, node)
			sameFiles(t, before, now)
			if now.pid != before.pid || now.litter != "" {
				t.Errorf("the kubelet is process %s and was %s; left: %s", now.pid, before.pid, now.litter)
			}
			run := runOf(t, r)
			if r := f.inLab(t, "undo", run, "--via", "ssh", "--yes"); r.code != 0 {
				t.Errorf("undo of what was not done ended with %d:\n%s", r.code, r.said())
			}
			sameFiles(t, before, f.stands(t, node))
		})
	}
	sameFiles(t, before, f.stands(t, node))
}

// brokenUnit has a kubelet that ends before it begins: everything was right, and
// stays.
func (f *fixing) brokenUnit(t *testing.T, node string, before standing) {
	const dropIn = "/run/systemd/system/kubelet.service.d/e2e.conf"
	const mendUnit = "sudo rm -rf /run/systemd/system/kubelet.service.d; sudo systemctl daemon-reload; sudo systemctl reset-failed kubelet; sudo systemctl restart kubelet"
	t.Cleanup(func() {
		if _, err := labDo(f.lab, "ssh", node, mendUnit); err != nil {
			t.Error(err)
		}
	})
	mustDo(t, f.lab, "ssh", node, "sudo mkdir -p "+filepath.Dir(dropIn)+" && printf '[Service]\\nExecStartPre=/bin/false\\n' | sudo tee "+dropIn+" && sudo systemctl daemon-reload")
	r := f.inLab(t, "fix-api-int", "--nodes", node, "--via", "ssh", "--yes")
	ends(t, r, 4, "kubelet.service on "+node+" does not come up", "journalctl -u kubelet", "undo "+runOf(t, r))
	if strings.Contains(r.said(), "put back\n") {
		t.Errorf("something was put back:\n%s", r.said())
	}
	t.Log("note:", r.stderr)
	published := f.published(t)
	after := f.stands(t, node)
	for path, text := range before.files {
		if err := repaired(text, after.files[path], published); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	mustDo(t, f.lab, "ssh", node, mendUnit)
	f.lab.WaitReady(t, node)
	ends(t, f.inLab(t, "fix-api-int", "--nodes", node, "--via", "ssh", "--yes"), 0, "already up to date")

	// and back, for the next: by the script, as a user at a console does
	out := mustDo(t, f.lab, "ssh", node, "sudo sh "+runsOnNode+"/"+runOf(t, r)+"/undo")
	if strings.Count(out, ": put back") != 2 || !strings.Contains(out, "systemctl restart kubelet.service") {
		t.Errorf("the node's own undo says:\n%s", out)
	}
	sameFiles(t, before, f.stands(t, node))
}

// terminal is a program that runs on a terminal.
type terminal struct {
	mu    sync.Mutex
	shown bytes.Buffer
	keys  io.WriteCloser
	cmd   *exec.Cmd
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shown.Write(p)
}

func (t *terminal) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shown.String()
}

// onTerminal starts certrot on a terminal of this host.
func (f *fixing) onTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("script(1), which runs programs on a terminal, is not installed")
	}
	program := f.here(t, args...)
	c := exec.Command(script, "-qec", nodeexec.Quote(program.Args...), "/dev/null")
	c.Env = program.Env
	term := &terminal{cmd: c}
	c.Stdout, c.Stderr = term, term
	if term.keys, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return term
}

// asked waits until the question stands there as many times.
func (t *terminal) asked(test *testing.T, times int) {
	test.Helper()
	eventually(test, fmt.Sprintf("it asks for the %d. time", times), func() string {
		if strings.Count(t.text(), "Type yes to go on: ") != times {
			return "it shows " + t.text()
		}
		return ""
	})
}

func (t *terminal) answer(test *testing.T, text string) {
	test.Helper()
	if _, err := io.WriteString(t.keys, text+"\n"); err != nil {
		test.Fatal(err)
	}
}

func (f *fixing) changedAtTheQuestion(t *testing.T, node string) {
	f.reset(t, node)
	before := f.stands(t, node)
	args := append([]string{"fix-api-int", "--nodes", node}, f.ssh...)

	no := f.onTerminal(t, args...)
	no.asked(t, 1)
	no.answer(t, "y") // which is not yes
	_ = no.cmd.Wait()
	if code := no.cmd.ProcessState.ExitCode(); code != 5 || !strings.Contains(no.text(), "nothing was changed") {
		t.Errorf("y: ended with %d:\n%s", code, no.text())
	}
	f.untouched(t, node, before)

	yes := f.onTerminal(t, args...)
	yes.asked(t, 1)
	const comment = "# somebody was here"
	mustDo(t, f.lab, "ssh", node, "sudo sh -c "+nodeexec.Quote("echo '"+comment+"' >>"+ownConfig))
	yes.answer(t, "yes")
	yes.asked(t, 2)
	half := f.stands(t, node)
	if half.files[ownConfig] != before.files[ownConfig]+comment+"\n" {
		t.Error("it was written over what was not shown")
	}
	if half.pid != before.pid {
		t.Error("the kubelet was restarted")
	}
	yes.answer(t, "yes")
	_ = yes.cmd.Wait()
	f.secret.leak(t, "the terminal", yes.text()+no.text())
	if code := yes.cmd.ProcessState.ExitCode(); code != 0 || !strings.Contains(yes.text(), "Changed after it was read") || !strings.Contains(yes.text(), ownConfig+" on "+node) {
		t.Fatalf("ended with %d:\n%s", code, yes.text())
	}
	before.files[ownConfig] += comment + "\n"
	f.mended(t, node, before)
	f.reports(t, node)
	f.reset(t, node)
}

// moment is a line of a run's journal.
type moment struct{ event, action string }

func (m moment) in(journal []byte, node string) bool {
	if m.action == "" {
		return bytes.Contains(journal, []byte(`"kind":"Run"`))
	}
	return bytes.Contains(journal, fmt.Appendf(nil, `"event":%q,"action":%q`, m.event, fmt.Sprintf(m.action, node)))
}

// moments are the lines of a whole run, in their order. The first is its header.
func moments() []moment {
	out := []moment{{}}
	for _, action := range []string{"replace %s:" + joinConfig, "replace %s:" + ownConfig, "restart %s:kubelet.service", "await %s"} {
		out = append(out, moment{"begun", action}, moment{"done", action})
	}
	return out
}

// stopsAt starts certrot and sends it a signal as soon as one of these moments is
// in its journal. It returns the run, none if there was nothing to do, the moment,
// and how it ended.
func (f *fixing) stopsAt(t *testing.T, node string, signal syscall.Signal, any []moment) (run string, at int, r result) {
	t.Helper()
	known := f.journals(t)
	c := f.here(t, append([]string{"fix-api-int", "--nodes", node, "--yes"}, f.ssh...)...)
	var out, errOut bytes.Buffer
	c.Stdout, c.Stderr = &out, &errOut
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = c.Wait()
		close(ended)
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var size int64 // of the journal when it was last read
	for at = -1; ; {
		select {
		case <-ended:
			r = result{code: c.ProcessState.ExitCode(), stdout: out.String(), stderr: errOut.String()}
			f.secret.leak(t, "what was interrupted", r.said())
			return run, at, r
		case <-tick.C:
			if run == "" {
				if runs := f.journals(t); len(runs) > len(known) {
					run = runs[len(runs)-1] // they sort by time
				}
			}
			if run == "" || at >= 0 {
				continue
			}
			info, err := os.Stat(f.journal(run))
			if err == nil && info.Size() == size {
				continue
			}
			text, err := os.ReadFile(f.journal(run))
			size = int64(len(text))
			if err != nil {
				t.Fatal(err)
			}
			if at = slices.IndexFunc(any, func(m moment) bool { return m.in(text, node) }); at >= 0 {
				_ = c.Process.Signal(signal)
			}
		}
	}
}

// atRest waits until nothing of certrot runs on a node any more: what a killed
// one began goes on to its end there.
func (f *fixing) atRest(t *testing.T, node string) {
	t.Helper()
	eventually(t, "nothing of certrot runs on "+node, func() string {
		out, err := labDo(f.lab, "ssh", node, "pgrep -f 'certro[t]-host 1'; true")
		if err != nil {
			return err.Error()
		}
		return out
	})
}

// beforeOrAfter fails the test if a file is neither what it was nor repaired, and
// returns how many are repaired.
func (f *fixing) beforeOrAfter(t *testing.T, before, now standing) (changed int) {
	t.Helper()
	published := f.published(t)
	for path, text := range before.files {
		if now.dress[path] != before.dress[path] {
			t.Errorf("%s is %s", path, now.dress[path])
		}
		if now.files[path] == text {
			continue
		}
		if err := repaired(text, now.files[path], published); err != nil {
			t.Errorf("%s is neither before nor after: %v", path, err)
		}
		changed++
	}
	if now.litter != "" {
		t.Errorf("left: %s", now.litter)
	}
	return changed
}

// killed kills certrot at each line of its journal, or interrupts it as Ctrl-C does,
// each time in a run that goes on where the one before was stopped, until one has
// nothing left to do.
//
// In between, a user who hopes that this will do restarts the kubelet: by the age
// of one that has just started, it can't be told whether it has read what was written
// since.
func (f *fixing) killed(t *testing.T, node string, original standing) {
	f.reset(t, node)
	before := f.stands(t, node)
	sameFiles(t, original, before)
	var runs []string
	changed := 0
	for left := moments(); len(left) > 0; {
		signal := syscall.SIGKILL
		if left[0].event == "done" {
			signal = syscall.SIGINT
		}
		if left[0] == (moment{"begun", "replace %s:" + ownConfig}) {
			mustDo(t, f.lab, "ssh", node, "sudo systemctl restart kubelet")
			before.pid = f.stands(t, node).pid
		}
		run, at, r := f.stopsAt(t, node, signal, left)
		f.atRest(t, node)
		if at < 0 {
			ends(t, r, 0)
			break
		}
		if signal == syscall.SIGINT && left[at].action != "await %s" { // after that there is nothing to stop
			wants := []string{"to go on from there"}
			if strings.HasPrefix(left[at].action, "replace") { // a run that only restarts has nothing to undo
				wants = append(wants, "undo "+run)
			}
			ends(t, r, 4, wants...)
		}
		t.Logf("note: %s when it had %s %s", signal, left[at].event, strings.ReplaceAll(left[at].action, "%s", node))
		left = left[at+1:]
		runs = append(runs, run)
		now := f.stands(t, node)
		was := changed
		if changed = f.beforeOrAfter(t, before, now); changed < was {
			t.Errorf("%d files are repaired, and %d were", changed, was)
		}
		ends(t, f.inLab(t, "runs"), 0, run)
	}
	if len(runs) < 4 {
		t.Errorf("only %d runs were stopped", len(runs))
	}
	ends(t, f.inLab(t, "fix-api-int", "--nodes", node, "--via", "ssh", "--yes"), 0)
	f.mended(t, node, before)
	f.lab.WaitReady(t, node)

	// Each run puts back what it changed itself, the last one first: together that
	// is everything. Only the first is put back as people would, with a restart.
	kept := slices.DeleteFunc(runs, func(run string) bool { return !strings.Contains(f.stands(t, node).runs, run) })
	if len(kept) == 0 {
		t.Fatal("no run has left a way back")
	}
	for _, run := range slices.Backward(kept[1:]) {
		mustDo(t, f.lab, "ssh", node, "sudo sh "+runsOnNode+"/"+run+"/undo")
	}
	ends(t, f.inLab(t, "undo", kept[0], "--via", "ssh", "--accept-risk=breaks-trust", "--yes"), 0)
	sameFiles(t, before, f.stands(t, node))
}
