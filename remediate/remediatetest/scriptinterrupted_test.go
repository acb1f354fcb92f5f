package remediatetest

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/kubeconfigtest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
)

// TestScriptRemovesWhatAKilledOneLeftWhereNothingIsToBeDone: it is killed when the last
// file is written, and the kubelet is restarted by hand. The same again has nothing to do,
// and leaves nothing behind.
func TestScriptRemovesWhatAKilledOneLeftWhereNothingIsToBeDone(t *testing.T) {
	t.Parallel()
	files := catalog.KubeletKubeconfigs()
	for _, k := range []struct {
		args []string
		last string
		says string
	}{
		{[]string{"--yes"}, KubeletFile, "Nothing is to be done"},
		{[]string{"undo", "--yes", "--accept-risk=breaks-trust"}, BootstrapFile, "Nothing is to be put back"},
	} {
		t.Run(k.args[0], func(t *testing.T) {
			t.Parallel()
			c := newConsole(t, dashCore)
			c.quick(t)
			if k.args[0] == "undo" {
				c.want(t, c.script(), 0, "Done", "--yes")
				c.later(t)
			}
			heal := c.killedBehind(t, k.last)
			if out, code := c.run(t, c.script(), k.args...); code != -1 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			heal()
			const pending = host.DefaultFolder + "/run-1/pending"
			if left := c.leftovers(t); len(left) != 1 || left[0] != pending {
				t.Fatalf("killed behind the last file, it left %q", left)
			}
			c.restarted(t, func(time.Time) time.Time { return time.Now().Add(time.Minute) })
			dry := slices.DeleteFunc(slices.Clone(k.args), func(arg string) bool { return arg == "--yes" })
			c.want(t, c.script(), 0, k.says, append(dry, "--dry-run")...)
			if left := c.leftovers(t); len(left) != 1 {
				t.Errorf("a dry run removed it: %q", left)
			}
			c.want(t, c.script(), 0, k.says, k.args...)
			if left := c.leftovers(t); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			if c.Read(t, host.DefaultFolder+"/.held") != nil {
				t.Error("the node is still held")
			}
			for _, path := range files {
				if k.args[0] != "undo" && !c.fileRepaired(t, path) {
					t.Errorf("%s is not repaired", path)
				}
			}
		})
	}
}

// TestScriptUndoKilledBeforeTheRestart: the files are what they were, and a kubelet that was
// started less than a minute before has not read them. The same again restarts it.
func TestScriptUndoKilledBeforeTheRestart(t *testing.T) {
	t.Parallel()
	c := newConsole(t, dashCore)
	c.quick(t)
	c.want(t, c.script(), 0, "Done", "--yes")
	c.later(t)
	const tool = "/usr/local/bin/systemd-run"
	c.Write(t, tool, []byte("#!/bin/sh\nkill -9 0\n"))
	if err := os.Chmod(c.At(tool), 0o755); err != nil {
		t.Fatal(err)
	}
	args := []string{"undo", "--yes", "--accept-risk=breaks-trust"}
	if out, code := c.run(t, c.script(), args...); code != -1 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	c.remove(t, tool)
	c.original(t)
	if bytes.Equal(c.Read(t, "/fake/loaded"), c.files[KubeletFile]) {
		t.Fatal("it was restarted before it was killed")
	}
	c.later(t)
	c.want(t, c.script(), 1, "restart kubelet.service", "undo", "--dry-run", "--accept-risk=breaks-trust")
	c.want(t, c.script(), 0, "Done", args...)
	if !bytes.Equal(c.Read(t, "/fake/loaded"), c.files[KubeletFile]) {
		t.Error("the kubelet has not read what was put back")
	}
	c.want(t, c.script(), 0, "Nothing is to be put back", args...)
}

// TestScriptLeavesAKubeletThatWroteItsFile: a kubelet that has to join writes its own file when it starts. It is
// younger than that start, and needs no other.
func TestScriptLeavesAKubeletThatWroteItsFile(t *testing.T) {
	t.Parallel()
	c := newConsole(t, dashCore)
	c.quick(t)
	c.want(t, c.script(), 0, "Done", "--yes")
	c.later(t)
	c.want(t, c.script(), 0, "Nothing is to be done", "--dry-run")
	c.Write(t, KubeletFile, []byte(kubeconfigtest.Older(string(c.Read(t, KubeletFile)))))
	c.want(t, c.script(), 0, "Nothing is to be done", "--dry-run")
	c.restarted(t, func(time.Time) time.Time { return time.Now().Add(-5 * time.Minute) })
	c.want(t, c.script(), 1, "restart kubelet.service", "--dry-run")
}

// TestScriptInterruptedAnywhere: each file is before or after; then the same again
// does the rest, and undo finds the backups.
func TestScriptInterruptedAnywhere(t *testing.T) {
	thorough(t)
	t.Parallel()
	by := 61
	if everything() {
		by = 1
	}
	for _, args := range [][]string{{"--yes"}, {"undo", "--yes", "--accept-risk=breaks-trust"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			reached, killed := true, 0
			for step := 1; reached; step += by {
				c := newConsole(t, dashCore)
				c.quick(t)
				if args[0] == "undo" {
					c.want(t, c.script(), 0, "Done", "--yes")
					c.later(t)
				}
				c.mortal(t)
				c.step = step
				out, code := c.run(t, c.script(), args...)
				c.immortal(t)
				reached = len(c.Read(t, "/fake/count")) >= step
				if reached && code != -1 || !reached && code != 0 {
					t.Fatalf("step %d: exit code %d\n%s", step, code, out)
				}
				if reached {
					killed++
				}
				for _, path := range catalog.KubeletKubeconfigs() {
					c.fileRepaired(t, path) // or not, and nothing between
				}
				c.dressed(t)
				c.later(t)
				c.want(t, c.script(), 0, "", args...)
				if args[0] == "undo" {
					c.original(t)
					if !bytes.Equal(c.Read(t, "/fake/loaded"), c.files[KubeletFile]) {
						t.Errorf("step %d: the kubelet has not read what was put back", step)
					}
				} else {
					c.repaired(t)
					c.want(t, c.script(), 0, "Nothing is to be done", args...)
				}
				if left := c.leftovers(t); len(left) > 0 {
					t.Errorf("step %d: left behind: %q", step, left)
				}
				if t.Failed() {
					t.Fatalf("step %d: %s", step, out)
				}
			}
			if killed < 3 {
				t.Errorf("killed at %d steps only", killed)
			}
		})
	}
}

// TestScriptCutShort: of a script that was not copied whole, nothing runs.
func TestScriptCutShort(t *testing.T) {
	t.Parallel()
	c := newConsole(t, dashCore)
	whole := c.script().Text("v0")
	for cut := len(whole) - 10; cut > 0; cut -= len(whole) / 40 {
		c.Write(t, "/root/cut.sh", whole[:cut])
		out, _ := exec.Command("chroot", c.root, "/bin/sh", "/root/cut.sh", "--yes").CombinedOutput()
		if c.asked(t) > 0 || bytes.Contains(out, []byte("written")) {
			t.Fatalf("cut after %d bytes, and it ran:\n%s", cut, out)
		}
	}
	c.original(t)
	if c.Read(t, host.DefaultFolder+"/.lock") != nil {
		t.Error("something was kept")
	}
}

// mortal makes the node's tools count their calls, and kill all at one of them.
func (c *console) mortal(t *testing.T) {
	t.Helper()
	// Two tools of a pipe may count at once, and neither see the step.
	const count = "printf x >>/fake/count\nIFS= read -r calls </fake/count\n[ \"$CERTROT_STEP\" -eq 0 ] || [ ${#calls} -lt \"$CERTROT_STEP\" ] || kill -9 0\n"
	put := func(path, text string) {
		c.Write(t, path, []byte("#!/bin/sh\n"+text))
		if err := os.Chmod(c.At(path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"awk", "base64", "cat", "chmod", "chown", "cp", "date", "fold", "head", "id", "mkdir", "mktemp", "mv", "od", "rm", "sha256sum", "stat", "sync", "tail", "touch", "tr", "wc", "grep"} {
		put("/usr/local/bin/"+name, count+"exec /bin/"+name+` "$@"`+"\n")
	}
	for _, name := range []string{"systemctl", "systemd-run"} { // not a part of what is killed
		put("/usr/local/bin/"+name, count+"PATH=/bin:/usr/bin exec /usr/bin/"+name+` "$@"`+"\n")
	}
}

// immortal gives the node its own tools again: counting makes each of them two programs.
func (c *console) immortal(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(c.At("/usr/local/bin")); err != nil {
		t.Fatal(err)
	}
}

// later makes all that happened on the node ten seconds older: what the script goes by
// are whole seconds.
func (c *console) later(t *testing.T) {
	t.Helper()
	const ago = -10 * time.Second
	for _, path := range catalog.KubeletKubeconfigs() {
		info, err := os.Stat(c.At(path))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(c.At(path), time.Time{}, info.ModTime().Add(ago)); err != nil {
			t.Fatal(err)
		}
	}
	c.restarted(t, func(at time.Time) time.Time { return at.Add(ago) })
}

// restarted changes since when the kubelet runs.
func (c *console) restarted(t *testing.T, when func(time.Time) time.Time) {
	t.Helper()
	const form = "Mon 2006-01-02 15:04:05 MST"
	shown := string(c.Read(t, "/fake/shown"))
	_, text, _ := strings.Cut(shown, "\nActiveEnterTimestamp=")
	text, _, _ = strings.Cut(text, "\n")
	entered, err := time.Parse(form, text)
	if err != nil {
		t.Fatal(err)
	}
	c.Write(t, "/fake/shown", []byte(strings.ReplaceAll(shown, text, when(entered).UTC().Format(form))))
}

// killedBehind makes the node's tools kill all where a file has just got its name, and
// before what is noted of it as pending is removed. It returns how to make them as before.
func (c *console) killedBehind(t *testing.T, path string) (heal func()) {
	t.Helper()
	tools := map[string]string{
		"mv": "/bin/mv \"$@\" || exit\nfor last; do :; done\n[ \"$last\" != " + path + " ] || : >/fake/swapped\n",
		"rm": "[ \"$*\" != '-f " + host.DefaultFolder + "/run-1/pending' ] || [ ! -e /fake/swapped ] || kill -9 0\nexec /bin/rm \"$@\"\n",
	}
	for name, text := range tools {
		c.Write(t, "/usr/local/bin/"+name, []byte("#!/bin/sh\n"+text))
		if err := os.Chmod(c.At("/usr/local/bin/"+name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return func() { c.remove(t, "/usr/local/bin/mv", "/usr/local/bin/rm", "/fake/swapped") }
}
