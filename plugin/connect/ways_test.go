package connect

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// chosen is what these flags come to.
func chosen(t *testing.T, f NodeFlags) NodeChoice {
	t.Helper()
	f.Parallel, f.Timeout = 1, time.Minute
	c, err := f.ToChoice(t.Context(), cli.App{Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}}, collect.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// made are the ways that it makes, but for local: that depends on this machine.
func made(c NodeChoice) string {
	ways, _ := c.Transports([]collect.NodeObject{{Name: "worker-1"}}, &Connection{})
	var names []string
	for _, way := range ways {
		if way.Name() != nodeexec.ViaLocal {
			names = append(names, way.Name())
		}
	}
	return strings.Join(names, " ")
}

func TestWhatAutoTries(t *testing.T) {
	for _, c := range []struct {
		name, read, repair, hint, another string
		flags                             NodeFlags
	}{
		{"nothing is given", "exec ssh", "ssh exec", "--via ssh, --allow-pods (starts a privileged pod on each), or certrot", "--via ssh or --via debug;", NodeFlags{Via: ViaAuto}},
		{"pods are allowed", "exec ssh debug", "ssh exec debug", "--via ssh, or certrot", "--via ssh;", NodeFlags{Via: ViaAuto, AllowPods: true}},
		{"a command is given", "exec command ssh", "command ssh exec", "--via ssh, --allow-pods (starts a privileged pod on each), or certrot", "--via ssh or --via debug;",
			NodeFlags{Via: ViaAuto, Command: CommandFlags{Line: "env NODE={node}"}}},
		{"a way is named", "ssh", "ssh", "--via exec, --allow-pods (starts a privileged pod on each), or certrot", "--via exec or --via debug;", NodeFlags{Via: nodeexec.ViaSSH}},
	} {
		t.Run(c.name, func(t *testing.T) {
			choice := chosen(t, c.flags)
			if got := made(choice); got != c.read {
				t.Errorf("reading tries %s, want %s", got, c.read)
			}
			if got := choice.readHint("certrot"); !strings.HasPrefix(got, "try "+c.hint) {
				t.Errorf("hint %q, want %q", got, c.hint)
			}
			if got := choice.Another(); !strings.HasPrefix(got, "try another way: "+c.another) {
				t.Errorf("hint %q, want %q", got, c.another)
			}
			choice.WithoutKubeletFirst()
			if got := made(choice); got != c.repair {
				t.Errorf("a repair tries %s, want %s", got, c.repair)
			}
		})
	}
}

// Only what leads to other machines without the API is of use while it does not answer.
func TestWaysWithoutTheAPI(t *testing.T) {
	for _, w := range nodeexec.Ways() {
		c := NodeChoice{nodeWays: nodeWays{Ways: []string{w.Name}}, asked: true, Names: []string{"worker-1"}}
		if got, want := len(c.withoutAPI()) > 0, w.Name == nodeexec.ViaSSH || w.Name == nodeexec.ViaCommand; got != want {
			t.Errorf("%s reads nodes without the API: %t, want %t", w.Name, got, want)
		}
	}
}

// A way is named like the one that Transports makes of it.
func TestEachWayIsMade(t *testing.T) {
	for _, w := range nodeexec.Ways() {
		f := NodeFlags{Via: w.Name}
		if w.Name == nodeexec.ViaCommand {
			f.Command.Line = "env NODE={node}"
		}
		c := chosen(t, f)
		if names := made(c); names != w.Name && w.Name != nodeexec.ViaLocal {
			t.Errorf("--via %s makes %q", w.Name, names)
		}
	}
}

func TestTheCommandIsCheckedBeforeAnythingIsRead(t *testing.T) {
	for _, c := range []struct {
		says  string
		flags NodeFlags
	}{
		{"--via command needs --node-command", NodeFlags{Via: nodeexec.ViaCommand}},
		{"--local and --node-command exclude each other", NodeFlags{Via: ViaAuto, Local: true, Command: CommandFlags{"env {node}"}}},
		{"--via ssh and --node-command exclude each other", NodeFlags{Via: nodeexec.ViaSSH, Command: CommandFlags{"env {node}"}}},
		{`--node-command: no word has {node}`, NodeFlags{Via: nodeexec.ViaCommand, Command: CommandFlags{"env"}}},
		{`"no-such-program-here": executable file not found`, NodeFlags{Via: ViaAuto, Command: CommandFlags{"no-such-program-here {node}"}}},
		{`the sign '$' has no meaning here`, NodeFlags{Via: nodeexec.ViaCommand, Command: CommandFlags{"ssh $USER@{node}"}}},
	} {
		c.flags.Parallel, c.flags.Timeout = 1, time.Minute
		if err := c.flags.Check(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want %q", err, c.says)
		}
	}
}

// TestErrorsQuoteNoPartOfTheCommand: a password may be in it, wherever the mistake is.
func TestErrorsQuoteNoPartOfTheCommand(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"no-such-program-here -p hunter2 ssh {node}":   `--node-command: exec: "no-such-program-here": executable file not found in $PATH`,
		"/no/such/program -p hunter2 ssh {node}":       `--node-command: exec: "/no/such/program": no such file or directory`,
		"/ -p hunter2 ssh {node}":                      `--node-command: exec: "/": `,
		"SSHPASS=hunter2 sshpass -e ssh {node}":        "--node-command: its first word is no program that is found here: executable file not found",
		"'sshpass -p hunter2 ssh' {node}":              "--node-command: its first word is no program that is found here: executable file not found",
		"'/usr/bin/sshpass -p hunter2 ssh' {node}":     "--node-command: its first word is no program that is found here: no such file or directory",
		"'sshpass -p hunter2 ssh {node}'":              "--node-command: the first word is the program to run",
		"-phunter2 ssh {node}":                         "--node-command: the first word is the program to run",
		"'-p hunter2' ssh {node}":                      "--node-command: the first word is the program to run",
		"sshpass -p hunter2 ssh node":                  "--node-command: no word has {node}",
		"sshpass -p 'hunter2 ssh {node}":               "--node-command: a quote ' is not closed",
		"sshpass -p hunter2$ ssh {node}":               "--node-command: the sign '$' has no meaning here",
		"sshpass -p hunter2\t ssh {node}":              "can't be in a command",
		strings.Repeat("hunter2", 700) + " ssh {node}": "--node-command: its first word is no program that is found here: ",
	} {
		f := NodeFlags{Via: nodeexec.ViaCommand, Command: CommandFlags{line}, Parallel: 1, Timeout: time.Minute}
		err := f.Check()
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%.80s: %v, want %q", line, err, says)
		}
		var hint *cli.HintError
		if !errors.As(err, &hint) || !strings.Contains(hint.Hint, "tsh ssh root@{node}") {
			t.Errorf("%.80s: no next step: %v", line, err)
		}
	}
}

// A command that is printed to be typed leads onto nodes as this one did.
func TestTheSameWay(t *testing.T) {
	for want, f := range map[string]NodeFlags{
		"":           {Via: ViaAuto},
		" --via ssh": {Via: nodeexec.ViaSSH},
		" --via command --node-command 'COMMAND {node}'": {Via: nodeexec.ViaCommand, Command: CommandFlags{"tsh ssh {node} --"}},
		" --node-command 'COMMAND {node}'":               {Via: ViaAuto, Command: CommandFlags{"tsh ssh {node} --"}},
	} {
		if got := f.SameWay(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
