package plugin

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// applying shows a plan, asks, and does it.
type applying struct {
	mendFlags
	workplace *workplace // nil: the plan is only to be shown
	command   string
	run       string // ID of the journal
	lapsed    string // from whom the Lease was taken over; empty: nobody
	deeds     []deed
	person    string // the user whose credentials are used; empty: not asked yet, or unknown
	undoes    string // the run that is put back, if one is
	resume    string // the command line that goes on; empty: the same as before
	saying    sync.Mutex
	noLease   bool // go on where the Lease can't be written
	read      gather.Options
	past      string // the line that leaves out masters; empty: there is none
	named     string // the line for nodes that are named; empty: there is none
	others    string // the line that goes past workers that are not back; empty: there is none
	risks     []string
	again     []string // checks that are asked again meanwhile; none: all of those
	// verified judges the whole cluster after all was done; nil: it is not asked.
	verified func(context.Context, *applying) error
	// plan makes the plan from facts that are read now.
	plan func(context.Context) (*remediate.Plan, error)
	// about says what the plan is built on, for people.
	about func(io.Writer, *remediate.Plan)
}

// attempts is how often a plan is made anew because nodes changed meanwhile.
const attempts = 3

func (a *applying) do(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		p, err := a.plan(ctx)
		if err != nil {
			return a.left(refused(err))
		}
		if err := a.show(p); err != nil {
			return a.left(err)
		}
		switch {
		case p.Empty() && len(p.Unknown) > 0:
			return a.left(&exitError{code: exitIncomplete, err: unknownNodes(p, "there is nothing else to do")})
		case p.Empty() && len(lostOf(p)) > 0:
			return a.left(&exitError{code: exitIncomplete, err: withHint(fmt.Errorf("there is nothing to do, and not all nodes are Ready, with a heartbeat: %s", lifeOf(p, lostOf(p))), "kubectl describe node; on the node: journalctl -u kubelet -n 50")})
		case p.Empty():
			return nil
		case a.dryRun == dryRunClient || a.workplace == nil:
			return &exitError{code: exitFindings}
		}
		if err := a.consent(ctx); err != nil {
			return a.left(err)
		}
		held, release, err := a.hold(ctx)
		if err != nil {
			return a.left(err)
		}
		j, err := a.begin(p)
		if err != nil {
			release()
			return a.left(err)
		}
		err = a.apply(held, p, j)
		release()
		_ = j.Close() // each line is on the disk already
		if err == nil || !changedMeanwhile(err) || attempt == attempts || ctx.Err() != nil {
			if err = a.ended(p, err); err == nil {
				err = a.open(p)
			}
			if err == nil && a.verified != nil {
				err = a.verified(ctx, a)
			}
			return err
		}
		// What is on nodes belongs to the run that wrote it: going on is another run.
		a.run = remediate.NewRun(collect.Taken())
		a.say("\nA node changed after it was read: nothing was written over it. Reading again.\n")
	}
}

// changedMeanwhile reports whether the only failure is that nodes changed after they
// were read.
func changedMeanwhile(err error) bool {
	var stopped *remediate.Stopped
	if errors.As(err, &stopped) {
		for _, o := range stopped.Others {
			if !errors.Is(o, remediate.ErrChanged) {
				return false
			}
		}
	}
	return errors.Is(err, remediate.ErrChanged)
}

// unknownNodes says of which nodes it is not known what they need.
func unknownNodes(p *remediate.Plan, done string) error {
	var names []string
	for _, r := range p.Unknown {
		names = append(names, r.Node)
	}
	return withHint(fmt.Errorf("%s, and %s could not be judged: %s", done, count(len(names), "node"), strings.Join(names, ", ")), "%s", p.Unknown[0].Next)
}

// open says what a plan that was done left open.
func (a *applying) open(p *remediate.Plan) error {
	if len(p.Unknown) > 0 {
		return &exitError{code: exitIncomplete, err: unknownNodes(p, "everything else was done")}
	}
	var lost []*inspect.Node
	for _, n := range p.Nodes() {
		if node, ok := p.Basis.Node(n.Name); ok && !n.Changes() && p.Basis.Life(node).Lost() && !slices.Contains(lost, node) {
			lost = append(lost, node)
		}
	}
	if len(lost) > 0 && len(p.Waves) > 1 {
		return &exitError{code: exitIncomplete, err: withHint(fmt.Errorf("everything was done, and nodes with nothing to do were not Ready, with a heartbeat: %s", lifeOf(p, lost)), "kubectl describe node; on the node: journalctl -u kubelet -n 50")}
	}
	return nil
}

// lifeOf names nodes that are lost, with what is wrong.
func lifeOf(p *remediate.Plan, nodes []*inspect.Node) string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.Name+": "+p.Basis.Life(n).String())
	}
	return strings.Join(out, "; ")
}

// left turns the end of a later attempt into one that tells what the earlier ones
// did.
func (a *applying) left(err error) error {
	if err == nil || len(a.deeds) == 0 {
		return err
	}
	var e *exitError
	if errors.As(err, &e) && e.err != nil {
		err = e.err
	}
	var u *unchanged
	if errors.As(err, &u) { // by this attempt, which is no longer what matters
		err = u.inner
	}
	return &exitError{code: exitStopped, err: withHint(fmt.Errorf("stopped half-way: %w", err), "%s", a.back())}
}

// unchanged says that nothing was changed, and why.
type unchanged struct {
	how   string
	inner error
}

func (e *unchanged) Error() string { return e.how + ": " + e.inner.Error() }
func (e *unchanged) Unwrap() error { return e.inner }

func refusedUnchanged(inner error) error { return &unchanged{"refused, nothing was changed", inner} }

func nothingChanged(inner error) error { return &unchanged{"nothing was changed", inner} }

// back says how to go on, and how to go back.
func (a *applying) back() string {
	js, _ := journals() // it worked before
	text := "run the same command again to go on from there; what was done is in " + js.Folder
	if a.resume != "" {
		text = "to go on from there:\n    " + a.resume + "\n  what was done is in " + js.Folder
	}
	if undos := a.undos(); a.undoes == "" && len(undos) > 0 {
		text += "; to put it back: " + strings.Join(undos, "; ")
	}
	if earlier := a.earlier(); a.undoes == "" && earlier != "" {
		text += "\n" + earlier
	}
	return text
}

// say prints for people, where the plan is not for a program.
func (a *applying) say(format string, args ...any) {
	out := a.app.Streams.Out
	if a.output == "json" || a.output == "yaml" {
		out = a.app.Streams.ErrOut
	}
	a.saying.Lock() // several nodes may have something to say
	defer a.saying.Unlock()
	printf(out, format, args...)
}

// tell prints what an action has to say of a node, below its step.
func (a *applying) tell(_, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		a.say("    %s\n", clean(line))
	}
}

func (a *applying) show(p *remediate.Plan) error {
	out := a.app.Streams.Out
	switch a.output {
	case "json", "yaml":
		return printPlanDocument(out, a.output, a.command, p)
	case "diff":
		return printPlanDiff(out, a.app.Streams.ErrOut, a, p)
	}
	return printPlan(out, a, p)
}

func (a *applying) consent(ctx context.Context) error {
	if a.yes {
		return nil
	}
	return consent(ctx, a.app, a.workplace.choice.ask)
}

// consent asks on a terminal, and is refused elsewhere. q may be nil.
func consent(ctx context.Context, app App, q *questions) error {
	if q == nil {
		q = &questions{app: app, ended: ctx.Done()}
	}
	in, ok := q.terminal()
	if !ok {
		return &exitError{code: exitRefused, err: withHint(nothingChanged(errors.New("nobody can be asked here")), "look at the plan, then run it again with --yes")}
	}
	defer q.alone()()
	_, _ = fmt.Fprint(app.Streams.ErrOut, "\nDo this? Type yes to go on: ")
	answer, err := q.await(in, func() ([]byte, error) {
		line, err := bufio.NewReader(io.LimitReader(in, 100)).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return []byte(line), err
	})
	if err != nil {
		return &exitError{code: exitRefused, err: nothingChanged(err)}
	}
	if strings.TrimSpace(string(answer)) != "yes" {
		return &exitError{code: exitRefused, err: nothingChanged(errors.New("the answer was not yes"))}
	}
	return nil
}

func (a *applying) begin(p *remediate.Plan) (*remediate.Journal, error) {
	js, err := journals()
	if err != nil {
		return nil, err
	}
	h := remediate.Header{Run: a.run, Command: a.command, Undoes: a.undoes, Server: p.Basis.Cluster.Server, Started: collect.Taken(), Certrot: a.app.Version, Lapsed: a.lapsed, Nodes: []string{}}
	h.Nodes = append(h.Nodes, nodesOf(p)...)
	j, err := js.Begin(h, collect.Taken)
	if err != nil {
		return nil, &exitError{code: exitRefused, err: withHint(nothingChanged(err), "set XDG_STATE_HOME to a folder in which the journal can be kept")}
	}
	return j, nil
}

func (a *applying) apply(ctx context.Context, p *remediate.Plan, j *remediate.Journal) (err error) {
	run := a.run
	if a.undoes != "" {
		run = a.undoes // whose folder on nodes it is
	}
	env := a.workplace.env(run, a.read)
	env.Holder, env.Lapsed = a.holder(), a.lapsed
	if js, err := journals(); err == nil {
		env.Earlier = js.Lapsed(collect.Taken().Add(-host.HoldTime))
	}
	defer func() {
		if closed := env.Close(); closed != nil {
			warn(a.app.Streams, "clean up: ", closed)
		}
	}()
	env.Tell = a.tell
	a.say("\nRun %s\n", a.run)
	waves := wavesOf(p)
	wave, last := "", ""
	r := remediate.Runner{Env: env, Journal: j, Observe: func(action remediate.Action, e remediate.Event, c *remediate.Change, err error) {
		if now := waves[action.ID()]; now != wave {
			wave, last = now, ""
			a.say("Wave %s\n", clean(wave))
		}
		if now := cmp.Or(action.Node(), theCluster); now != last {
			last = now
			a.say("%s\n", clean(last))
		}
		what := action.ID()
		if c != nil {
			what = c.Summary
		}
		switch e {
		case remediate.Begun:
			a.begun(action, c)
			a.say("  … %s\n", clean(what))
		case remediate.Done:
			if c == nil {
				a.say("  ✓ %s: so already\n", clean(what))
				return
			}
			a.say("  ✓ %s: done, and checked\n", clean(what))
		case remediate.Undone:
			a.unmade(action)
			a.say("  ✗ %s: %s\n    put back\n", clean(what), clean(oneLine(err.Error())))
		case remediate.Unseen:
			a.say("  ? %s: not seen\n", clean(what))
		default:
			var before *remediate.Unmade
			if errors.As(err, &before) {
				a.unmade(action)
			}
			a.say("  ✗ %s\n", clean(what))
		}
	}}
	if conn := a.workplace.conn; conn != nil {
		r.Gate = &preflight.Again{Facts: p.Basis, Machinery: conn.cluster.Machinery, StaticPods: a.workplace.staticPods, Accept: a.risks, Only: a.again, Say: func(text string) { a.say("    %s\n", clean(text)) }}
	}
	return r.Run(ctx, p)
}

// theCluster stands for steps that are done to no node.
const theCluster = "the cluster"

// wavesOf are the names of waves by the IDs of actions.
func wavesOf(p *remediate.Plan) map[string]string {
	of := map[string]string{}
	for _, w := range p.Waves {
		for _, n := range w.Nodes {
			for _, s := range n.Steps {
				of[s.Action.ID()] = w.Name
			}
		}
	}
	return of
}

// ended turns how a run ended into what the user is told, and the exit code.
func (a *applying) ended(p *remediate.Plan, err error) error {
	var r *remediate.Refusal
	if errors.As(err, &r) && len(a.deeds) == 0 && r.Risk { // asked again, before anything was begun
		return refused(&remediate.Refusal{Name: r.Name, Reason: r.Reason, Next: r.Next + "; or, in spite of it: --accept-risk=" + r.Name})
	}
	if err == nil && a.undoes != "" {
		a.say("\nDone: the files are what they were before run %s.\n", a.undoes)
		a.sayEarlier()
		return nil
	}
	if err == nil {
		how := ""
		if undos := a.undos(); len(undos) > 0 {
			how = " What was before is on the nodes; to put it back: " + strings.Join(undos, "; ")
		}
		a.say("\nDone.%s\n", how)
		a.sayEarlier()
		return nil
	}
	var unknown *remediate.Unknown
	var late *remediate.Late
	var stopped *remediate.Stopped
	back := a.back()
	if errors.As(err, &stopped) {
		back = a.unwritable(p, stopped) + back
	}
	if errors.As(err, &r) && r.Risk {
		back = r.Next + "; or, in spite of it: --accept-risk=" + r.Name + "\n" + back
	} else if r != nil && r.Next != "" {
		back = r.Next + "\n" + back
	}
	if errors.As(err, &stopped) && a.past != "" && p != nil && r == nil && !stopped.Interrupted && ofMaster(p, stopped) {
		back += fmt.Sprintf("\nwhere this master is lost for good: %s\n  (%s)", a.past, pastMastersMeans)
	}
	if _, waited := actionOf(stopped).(action.Await); errors.As(err, &late) && waited && a.others != "" && p != nil && len(stopped.Left) > 0 && !ofMaster(p, stopped) {
		back += fmt.Sprintf("\nwhere %s does not come back, whatever is done to it: %s\n  (then one worker after the other may be lost in the same way, one with each run)", stopped.Action.Node(), a.others)
	}
	if stopped != nil && len(stopped.Left)+len(stopped.Half)+len(stopped.Others) > 0 {
		if len(stopped.Half) > 0 {
			err = fmt.Errorf("%w. Begun, and not at the end: %s", err, strings.Join(stopped.Half, ", "))
		}
		if len(stopped.Left) > 0 {
			err = fmt.Errorf("%w. Not begun: %s", err, strings.Join(stopped.Left, ", "))
		}
		return &exitError{code: exitStopped, err: withHint(err, "%s", back)}
	}
	switch {
	case errors.As(err, &unknown):
		return &exitError{code: exitIncomplete, err: withHint(fmt.Errorf("everything was done, and %w", err), "kubectl get nodes; %s", back)}
	case errors.As(err, &late) && stopped != nil && stopped.Action.Node() == "":
		return &exitError{code: exitStopped, err: withHint(fmt.Errorf("%w. What was done before stays", err), "%s", back)}
	case errors.As(err, &late):
		return &exitError{code: exitStopped, err: withHint(fmt.Errorf("the files are right and the kubelet was restarted, but %w. Nothing was put back", err),
			"look at its pending requests and its kubelet: kubectl get csr; journalctl -u kubelet; %s", back)}
	}
	return &exitError{code: exitStopped, err: withHint(err, "%s", back)}
}

// refused gives refusals their exit code.
func refused(err error) error {
	var r *remediate.Refusal
	if !errors.As(err, &r) {
		return err
	}
	var wrapped error = refusedUnchanged(err)
	if r.Next != "" {
		wrapped = withHint(wrapped, "%s", r.Next)
	}
	return &exitError{code: exitRefused, err: wrapped}
}

// actionOf is at which step a run stopped; nil: at none.
func actionOf(s *remediate.Stopped) remediate.Action {
	if s == nil {
		return nil
	}
	return s.Action
}
