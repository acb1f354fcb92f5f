package plugin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// applying shows a plan, asks, and does it.
type applying struct {
	mendFlags
	workplace *workplace // nil: the plan is only to be shown
	command   string
	run       string // ID of the journal
	undoes    string // the run that is put back, if one is
	read      gather.Options
	// plan makes the plan from facts that are read now.
	plan func(context.Context) (*remediate.Plan, error)
	// about says what the plan is built on, for people.
	about func(io.Writer, *remediate.Plan)
}

// attempts is how often a plan is made anew because nodes changed meanwhile.
const attempts = 3

func (a applying) do(ctx context.Context) error {
	var journal *remediate.Journal
	defer func() {
		if journal != nil {
			_ = journal.Close() // each line is on the disk already
		}
	}()
	for attempt := 1; ; attempt++ {
		p, err := a.plan(ctx)
		if err != nil {
			return refused(err)
		}
		if err := a.show(p); err != nil {
			return err
		}
		switch {
		case p.Empty():
			return nil
		case a.dryRun == dryRunClient || a.workplace == nil:
			return &exitError{code: exitFindings}
		}
		if err := a.consent(ctx); err != nil {
			return err
		}
		if journal == nil {
			if journal, err = a.begin(p); err != nil {
				return err
			}
		}
		err = a.apply(ctx, p, journal)
		if err == nil || !errors.Is(err, remediate.ErrChanged) || attempt == attempts || ctx.Err() != nil {
			return a.ended(err)
		}
		a.say("\nA node changed after it was read: nothing was written over it. Reading again.\n")
	}
}

// say prints for people, where the plan is not for a program.
func (a applying) say(format string, args ...any) {
	out := a.app.Streams.Out
	if a.output == "json" || a.output == "yaml" {
		out = a.app.Streams.ErrOut
	}
	printf(out, format, args...)
}

func (a applying) show(p *remediate.Plan) error {
	out := a.app.Streams.Out
	switch a.output {
	case "json", "yaml":
		return printPlanDocument(out, a.output, a.command, p)
	case "diff":
		return printPlanDiff(out, a.app.Streams.ErrOut, p)
	}
	return printPlan(out, a, p)
}

// consent asks on a terminal, and is refused elsewhere.
func (a applying) consent(ctx context.Context) error {
	if a.yes {
		return nil
	}
	q := a.workplace.choice.ask
	if q == nil {
		q = &questions{app: a.app, ended: ctx.Done()}
	}
	in, ok := q.terminal()
	if !ok {
		return &exitError{code: exitRefused, err: withHint(errors.New("nothing was changed: nobody can be asked here"), "look at the plan, then run it again with --yes")}
	}
	defer q.alone()()
	_, _ = fmt.Fprint(a.app.Streams.ErrOut, "\nDo this? Type yes to go on: ")
	answer, err := q.await(in, func() ([]byte, error) {
		line, err := bufio.NewReader(io.LimitReader(in, 100)).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return []byte(line), err
	})
	if err != nil {
		return &exitError{code: exitRefused, err: fmt.Errorf("nothing was changed: %w", err)}
	}
	if strings.TrimSpace(string(answer)) != "yes" {
		return &exitError{code: exitRefused, err: errors.New("nothing was changed: the answer was not yes")}
	}
	return nil
}

func (a applying) begin(p *remediate.Plan) (*remediate.Journal, error) {
	js, err := journals()
	if err != nil {
		return nil, err
	}
	h := remediate.Header{Run: a.run, Command: a.command, Undoes: a.undoes, Server: p.Basis.Cluster.Server, Started: collect.Taken(), Certrot: a.app.Version, Nodes: []string{}}
	for _, n := range p.Nodes {
		h.Nodes = append(h.Nodes, n.Name)
	}
	j, err := js.Begin(h, collect.Taken)
	if err != nil {
		return nil, &exitError{code: exitRefused, err: withHint(fmt.Errorf("nothing was changed: %w", err), "set XDG_STATE_HOME to a folder in which the journal can be kept")}
	}
	return j, nil
}

func (a applying) apply(ctx context.Context, p *remediate.Plan, j *remediate.Journal) (err error) {
	run := a.run
	if a.undoes != "" {
		run = a.undoes // whose folder on nodes it is
	}
	env := a.workplace.env(run, a.read)
	defer func() {
		if closed := env.Close(); closed != nil {
			_, _ = fmt.Fprintf(a.app.Streams.ErrOut, "warning: clean up: %v\n", closed)
		}
	}()
	a.say("\nRun %s\n", a.run)
	last := ""
	r := remediate.Runner{Env: env, Journal: j, Observe: func(action remediate.Action, e remediate.Event, c *remediate.Change, err error) {
		if action.Node() != last {
			last = action.Node()
			a.say("%s\n", clean(last))
		}
		what := action.ID()
		if c != nil {
			what = c.Summary
		}
		switch e {
		case remediate.Begun:
			a.say("  … %s\n", clean(what))
		case remediate.Done:
			if c == nil {
				a.say("  ✓ %s: so already\n", clean(what))
				return
			}
			a.say("  ✓ %s: done, and checked\n", clean(what))
		case remediate.Undone:
			a.say("  ✗ %s: %s\n    put back\n", clean(what), clean(oneLine(err.Error())))
		case remediate.Unseen:
			a.say("  ? %s: not seen\n", clean(what))
		default:
			a.say("  ✗ %s\n", clean(what))
		}
	}}
	return r.Run(ctx, p)
}

// ended turns how a run ended into what the user is told, and the exit code.
func (a applying) ended(err error) error {
	js, _ := journals() // it worked before
	if err == nil && a.undoes != "" {
		a.say("\nDone: the files are what they were before run %s.\n", a.undoes)
		return nil
	}
	if err == nil {
		a.say("\nDone. What was before is on the nodes; to put it back: %s undo %s\n", a.app.Called, a.run)
		return nil
	}
	var unknown *remediate.Unknown
	var late *remediate.Late
	switch {
	case errors.As(err, &unknown):
		return &exitError{code: exitIncomplete, err: withHint(fmt.Errorf("everything was done, and %w", err), "kubectl get nodes; journal: %s/%s.jsonl", js.Folder, a.run)}
	case errors.As(err, &late):
		return &exitError{code: exitStopped, err: withHint(fmt.Errorf("the files are right and the kubelet was restarted, but %w. Nothing was put back", err),
			"look at its pending requests and its kubelet: kubectl get csr; journalctl -u kubelet. To put it back all the same: %s undo %s", a.app.Called, a.run)}
	}
	if a.undoes != "" {
		return &exitError{code: exitStopped, err: withHint(err, "what was done is in %s/%s.jsonl. Run the same command again to go on from there", js.Folder, a.run)}
	}
	return &exitError{code: exitStopped, err: withHint(err, "what was done is in %s/%s.jsonl. Run the same command again to go on from there; to put it back: %s undo %s", js.Folder, a.run, a.app.Called, a.run)}
}

// refused gives refusals their exit code.
func refused(err error) error {
	var r *remediate.Refusal
	if !errors.As(err, &r) {
		return err
	}
	wrapped := fmt.Errorf("refused, nothing was changed: %w", err)
	if r.Next != "" {
		wrapped = withHint(wrapped, "%s", r.Next)
	}
	return &exitError{code: exitRefused, err: wrapped}
}
