package remediatetest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
)

const heldFile = host.DefaultFolder + "/.held"

// TestScriptHoldsTheNode while it changes something, so that certrot keeps off, and
// lets go of it; one that was killed keeps no one off.
func TestScriptHoldsTheNode(t *testing.T) {
	t.Parallel()
	inConsoles(t, func(t *testing.T, c *console) {
		c.quick(t)
		c.tool(t, "/usr/bin/systemd-run", "case $* in *restart*) cp "+heldFile+" /fake/held ;; esac")
		for _, args := range [][]string{{"--yes"}, {"undo", "--yes", "--accept-risk=breaks-trust"}} {
			c.want(t, c.script(), 0, "Done", args...)
			held := string(c.Read(t, "/fake/held"))
			who, rest, _ := strings.Cut(held, "\n")
			if c.Read(t, heldFile) != nil || !strings.HasSuffix(who, ", run run-1 by its script") {
				t.Fatalf("%q: held by %q, and at the end by %q", args, held, c.Read(t, heldFile))
			}
			_, number, _ := strings.Cut(who, " (pid ")
			number, _, _ = strings.Cut(number, " ")
			alive := strings.Replace(who, "(pid "+number+" ", fmt.Sprintf("(pid %d ", os.Getpid()), 1)
			certrot := c.env(t, "run-2", nil)
			certrot.Holder = nodeexec.ThisHolder().String() + ", run run-2"
			c.Write(t, heldFile, []byte(alive+"\n"+rest))
			var other *host.LockedError
			if _, err := certrot.Hold(t.Context(), "worker-0"); !errors.As(err, &other) || other.By != alive {
				t.Errorf("%q: while the script runs: %v", args, err)
			}
			certrot.ExpiredHolder = "somebody else"
			if _, err := certrot.Hold(t.Context(), "worker-0"); !errors.As(err, &other) {
				t.Errorf("%q: another one's Lease lapsed: %v", args, err)
			}
			certrot.ExpiredHolder = alive
			release, err := certrot.Hold(t.Context(), "worker-0")
			if err != nil {
				t.Fatalf("%q: the Lease of who holds it lapsed: %v", args, err)
			}
			release()
			c.Write(t, heldFile, []byte(held))
			release, err = certrot.Hold(t.Context(), "worker-0")
			if err != nil {
				t.Errorf("%q: after the script was killed: %v", args, err)
			} else {
				release()
			}
			c.Write(t, "/fake/held", nil)
		}
	})
}

// TestScriptKeepsOffAHeldNode as certrot does: by the same rules, and of certrot.
func TestScriptKeepsOffAHeldNode(t *testing.T) {
	thorough(t)
	t.Parallel()
	c := newConsole(t, bashCore)
	c.quick(t)
	me := nodeexec.ThisHolder().String()
	certrot := c.env(t, "run-2", nil)
	certrot.Holder = me + ", run run-2"
	release, err := certrot.Hold(t.Context(), "worker-0")
	if err != nil {
		t.Fatal(err)
	}
	c.want(t, c.script(), 1, "Not now: "+certrot.Holder+" is changing this node", "--dry-run")
	c.want(t, c.script(), 5, certrot.Holder+" is changing this node", "--yes")
	c.original(t)
	release()

	boot := strings.TrimSpace(string(c.Read(t, "/proc/sys/kernel/random/boot_id")))
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	_, machine, _ := strings.Cut(me, " of ")
	gone := fmt.Sprintf("a@b (pid %d of %s", ended.Process.Pid, machine)
	type hold struct {
		who   string
		since time.Duration
		boot  string
	}
	for name, h := range map[string]hold{
		"another machine":           {"a@b (pid 1 of 0123), run x", time.Minute, boot},
		"a process that is there":   {me, time.Minute, boot},
		"a name alone":              {"somebody", 29 * time.Minute, boot},
		"a clock that was put back": {"somebody", -29 * time.Minute, boot},
		"what a terminal obeys":     {"\x1b]0;x\x07 (pid $(id) of `id`) '\"", 0, boot},
		"no number":                 {"a@b (pid 0 of " + machine, 0, boot},
	} {
		c.holds(t, h.who, h.since, h.boot)
		before := c.Read(t, heldFile)
		if out := c.want(t, c.script(), 5, "is changing this node (for", "--yes"); strings.ContainsAny(out, "\x1b\x07") {
			t.Errorf("%s: it is shown as it is: %q", name, out)
		}
		if !bytes.Equal(c.Read(t, heldFile), before) {
			t.Errorf("%s: it is held by %q now", name, c.Read(t, heldFile))
		}
	}
	c.original(t)

	// Someone comes between the plan and the first change.
	c.tool(t, "/usr/bin/openssl", "printf '%s\\n' 'a@b (pid 1 of 0123), run x' $(date +%s) "+boot+" >"+heldFile)
	_ = os.Remove(c.At(heldFile))
	c.want(t, c.script(), 5, "a@b (pid 1 of 0123), run x is changing this node", "--yes")
	c.remove(t, "/usr/local/bin/openssl")
	c.original(t)

	for name, h := range map[string]hold{
		"a process that ended": {gone, time.Minute, boot},
		"another boot":         {"somebody", time.Minute, "another boot"},
		"half an hour":         {"somebody", host.HoldTime + time.Second, boot},
		"a file of nothing":    {"", 0, ""},
	} {
		c.holds(t, h.who, h.since, h.boot)
		c.want(t, c.script(), 0, "Done", "--yes")
		if c.Read(t, heldFile) != nil {
			t.Errorf("%s: held by %q at the end", name, c.Read(t, heldFile))
		}
		c.want(t, c.script(), 0, "Done", "undo", "--yes", "--accept-risk=breaks-trust")
		c.original(t)
	}
	c.holds(t, "somebody", 0, boot)
	c.want(t, c.script(), 5, "somebody is changing this node", "undo", "--yes")
}

// holds makes the node held by someone.
func (c *console) holds(t *testing.T, who string, since time.Duration, boot string) {
	t.Helper()
	c.Write(t, heldFile, fmt.Appendf(nil, "%s\n%d\n%s\n", who, time.Now().Add(-since).Unix(), boot))
}
