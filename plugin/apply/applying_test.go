package apply

import (
	"errors"
	"io"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
)

// TestHowRunsEnd is about what is said, and the exit code: once something was
// changed, nothing may say that nothing was.
func TestHowRunsEnd(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	refusal := &remediate.Refusal{Name: "kubelet-known", Node: "worker-1", Reason: "no answer", Next: "look"}
	await := action.AwaitNode{NodeName: "worker-0"}
	stopped := func(inner error, left ...string) error {
		return &remediate.Stopped{Action: await, Inner: inner, NotStarted: left}
	}
	unknown, late := &remediate.UnknownEffectError{Reason: "no server to ask"}, &remediate.LateEffectError{Inner: errors.New("not yet")}
	upgrade := &remediate.Refusal{Name: "upgrade-running", Reason: "the cluster goes to 4.15.1", Next: "wait for its end", Risk: true}
	masters := &remediate.Plan{Basis: inspect.Snapshot{Nodes: []inspect.Node{{Name: "worker-0", Role: catalog.RoleMaster}}}}
	noConsent := cli.Refused(cli.NothingChanged(errors.New("no terminal to ask for confirmation")))
	for _, c := range []struct {
		name    string
		changed []string
		end     func(a *Execution) error
		code    int
		says    []string
		never   string
	}{
		{"refused at once", nil, func(a *Execution) error { return a.left(Refused(refusal)) }, cli.ExitRefused, []string{"nothing was changed", "kubelet-known"}, "undo"},
		{"refused after a first run", []string{"run-1"}, func(a *Execution) error { return a.left(Refused(refusal)) }, cli.ExitStopped, []string{"stopped half-way", "undo run-1"}, "nothing was changed"},
		{"no consent after a first run", []string{"run-1"}, func(a *Execution) error { return a.left(noConsent) }, cli.ExitStopped, []string{"no terminal to ask for confirmation", "undo run-1"}, "nothing was changed"},
		{"a plain error after a first run", []string{"run-1", "run-2"}, func(a *Execution) error { return a.left(io.ErrUnexpectedEOF) }, cli.ExitStopped, []string{"undo run-2", "undo run-1"}, ""},
		{"all is well", []string{"run-1"}, func(a *Execution) error { return a.ended(nil, nil) }, cli.ExitFine, nil, ""},
		{"stopped", []string{"run-1"}, func(a *Execution) error { return a.ended(nil, stopped(io.ErrUnexpectedEOF)) }, cli.ExitStopped, []string{"undo run-1", "run the same command again"}, ""},
		{"stopped before anything was changed", nil, func(a *Execution) error { return a.ended(nil, stopped(io.ErrUnexpectedEOF)) }, cli.ExitStopped, []string{"run the same command again"}, "undo"},
		{"not seen at the last node", []string{"run-1"}, func(a *Execution) error { return a.ended(nil, stopped(unknown)) }, cli.ExitIncomplete, []string{"everything was done", "no server to ask"}, ""},
		{"not seen, and others are left", []string{"run-1"}, func(a *Execution) error { return a.ended(nil, stopped(unknown, "worker-1", "worker-2")) }, cli.ExitStopped, []string{"Not begun: worker-1, worker-2"}, "everything"},
		{"late", []string{"run-1"}, func(a *Execution) error { return a.ended(nil, stopped(late)) }, cli.ExitStopped, []string{"the files are right", "Nothing was put back"}, ""},
		{"late, and others are left", []string{"run-1"}, func(a *Execution) error { return a.ended(nil, stopped(late, "worker-1")) }, cli.ExitStopped, []string{"Not begun: worker-1"}, ""},
		{"asked again, before anything was begun", nil, func(a *Execution) error { return a.ended(nil, stopped(upgrade, "worker-1")) }, cli.ExitRefused, []string{"nothing was changed", "upgrade-running", "--accept-risk=upgrade-running"}, "half-way"},
		{"asked again, in between", []string{"run-1"}, func(a *Execution) error { return a.ended(nil, stopped(upgrade, "worker-1")) }, cli.ExitStopped, []string{"wait for its end", "--accept-risk=upgrade-running", "undo run-1", "Not begun: worker-1"}, "nothing was changed"},
		{"a master that does not come back", []string{"run-1"}, func(a *Execution) error { return a.ended(masters, stopped(late, "worker-1")) }, cli.ExitStopped, []string{"certrot fix-api-int --only workers --accept-risk=masters-first", "kube-root-ca.crt may stay old"}, ""},
		{"at a master, by Ctrl-C", []string{"run-1"}, func(a *Execution) error {
			return a.ended(masters, &remediate.Stopped{Action: await, Inner: errors.New("interrupt"), Interrupted: true, NotStarted: []string{"worker-1"}})
		}, cli.ExitStopped, []string{"Not begun: worker-1"}, "masters-first"},
		{"a worker that does not", []string{"run-1"}, func(a *Execution) error { return a.ended(&remediate.Plan{}, stopped(late, "worker-1")) }, cli.ExitStopped, []string{"Not begun", "can't be recovered", "certrot fix-api-int --accept-risk=workers-back"}, "masters-first"},
	} {
		var out strings.Builder
		a := &Execution{Lines: Lines{PastMasters: PastMasters("certrot fix-api-int", nil), PastWorkers: "certrot fix-api-int --accept-risk=workers-back"}, Options: Options{App: cli.App{ProgramName: "certrot", Streams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}}}, RunID: "run-9"}
		for _, run := range c.changed {
			a.Changed = append(a.Changed, journaledStep{run: run, step: "any", undoable: true})
		}
		err := c.end(a)
		if code := cli.CodeOf(err); code != c.code {
			t.Errorf("%s: exit code %d, want %d: %v", c.name, code, c.code, err)
		}
		if err != nil {
			cli.PrintError(a.App.Streams, err)
		}
		for _, word := range c.says {
			if !strings.Contains(out.String(), word) {
				t.Errorf("%s: does not say %q: %s", c.name, word, out.String())
			}
		}
		if c.never != "" && strings.Contains(out.String(), c.never) {
			t.Errorf("%s: says %q: %s", c.name, c.never, out.String())
		}
	}
}

// TestErrorsAreCleanForATerminal has escapes in what a node or a file said.
func TestErrorsAreCleanForATerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	cli.PrintError(genericiooptions.IOStreams{ErrOut: ui.NewScreen(&out)}, cli.WithHint(errors.New("red \x1b[31m\r and\na second line"), "\x1b]0;title\x07"))
	if strings.ContainsAny(out.String(), "\x1b\r\x07") || !strings.Contains(out.String(), "\n  | a second line\n  next: ") {
		t.Errorf("%q", out.String())
	}
}
