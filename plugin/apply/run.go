package apply

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// Execution prints a plan, asks, and does it.
type Execution struct {
	Options
	Session *Session // nil: the plan is only printed
	Command string
	RunID   string // ID of the journal
	Undoes  string // the run that is put back, if one is
	Read    gather.Options
	Lines   Lines
	Recheck Recheck
	NoLease bool // go on where the Lease can't be written
	// Plan makes the plan from facts that are read now.
	Plan func(context.Context) (*remediate.Plan, error)
	// Summary: the plan is printed on one screen, not in full.
	Summary  bool
	CASource string // from where the CAs are that are written, for the summary
	// PrintBasis says what the plan is built on, for people.
	PrintBasis func(io.Writer, *remediate.Plan)
	// Verified judges the whole cluster after all was done; nil: it is not asked.
	Verified func(context.Context, *Execution) error

	// Found out on the way.
	Changed       []journaledStep
	leftOut       []*remediate.Refusal // nodes that the last run began no more
	lastAttempt   bool                 // no plan is made again: a worker that changes once more is left out
	User          string               // the user whose credentials are used; empty: not asked yet, or unknown
	board         *ui.Board            // of the nodes that are worked on; nil: none are yet
	expiredHolder string               // the holder from which the Lease was taken over; empty: from no run
	printing      sync.Mutex
}

// Lines are the commands that a run names where it stopped. An empty one is not named.
type Lines struct {
	Resume      string // goes on; empty: the same command does
	NamedNodes  string // is for nodes that are named
	PastMasters string // leaves out control plane nodes
	PastWorkers string // goes past workers that have no heartbeat again
	OfFile      bool   // the plan is of a file: what does it is previewed first, on the cluster as it is now
	Apply       string // does what a dry run printed
	ApplyNamed  string // the same, for nodes that are named: --nodes goes behind it; empty: they are
	Details     string // prints the plan in full
	Reads       string // the flags by which nodes are reached, behind a blank; empty: none. See ReadingFlags
}

// Recheck says which checks are asked again while a plan is carried out.
type Recheck struct {
	Accept []string // risks, by name
	Only   []string // these checks; none: all that are asked again
}

// attempts is how often a plan is made again because what it is for changed meanwhile.
const attempts = 3

// Execute prints the plan, asks, and runs it.
func (a *Execution) Execute(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		p, err := a.Plan(ctx)
		if err != nil {
			return a.left(Refused(err))
		}
		if err := a.show(p); err != nil {
			return a.left(err)
		}
		switch {
		case p.Empty() && len(p.Unknown) > 0:
			return a.left(cli.Incomplete(unknownNodes(p, "there is nothing else to do")))
		case p.Empty() && len(unhealthyNodes(p)) > 0:
			return a.left(cli.Incomplete(cli.WithHint(fmt.Errorf("there is nothing to do, and not all nodes are Ready, with a heartbeat: %s", lifeOf(p, unhealthyNodes(p))), "kubectl describe node; on the node: journalctl -u kubelet -n 50")))
		case p.Empty() && len(NodesOf(p)) == 0 && p.Basis.LacksControlPlane(): // those that were asked for
			return a.left(cli.Incomplete(nil))
		case p.Empty():
			return nil
		case a.DryRun || a.Session == nil:
			return cli.Findings(nil)
		}
		if err := a.Consent(ctx); err != nil {
			return a.left(err)
		}
		leased, release, err := a.Hold(ctx)
		if err != nil {
			return a.left(err)
		}
		j, err := a.Begin(p)
		if err != nil {
			release()
			return a.left(err)
		}
		a.lastAttempt = attempt == attempts
		err = a.Apply(leased, p, j)
		release()
		_ = j.Close() // each line is on the disk already
		changed := changedMeanwhile(err)
		if err == nil {
			changed = changedOn(a.leftOut)
		}
		if len(changed) == 0 || attempt == attempts || ctx.Err() != nil {
			if err = a.ended(p, err); err == nil {
				err = a.open(p)
			}
			if err == nil && a.Verified != nil {
				err = a.Verified(ctx, a)
			}
			return err
		}
		// What is on nodes belongs to the run that wrote it: going on is another run.
		a.RunID = remediate.NewRun(collect.Now())
		a.Printf("\nChanged after it was read, and left as it is:\n  %s\nReading again.\n", strings.Join(changed, "\n  "))
	}
}

// unknownNodes names the nodes whose need is unknown.
func unknownNodes(p *remediate.Plan, done string) error {
	names := nodesIn(p.Unknown)
	return cli.WithHint(fmt.Errorf("%s, and %s could not be judged: %s", done, ui.Count(len(names), "node"), strings.Join(names, ", ")), "%s", p.Unknown[0].Next)
}

// open says what a plan that was done left open.
func (a *Execution) open(p *remediate.Plan) error {
	if len(a.leftOut) > 0 || a.Undoes != "" && len(p.Unknown) > 0 {
		return a.openLeftOut(p)
	}
	if len(p.Unknown) > 0 {
		return cli.Incomplete(unknownNodes(p, "everything else was done"))
	}
	var unhealthy []*inspect.Node
	for _, n := range p.Nodes() {
		if node, ok := p.Basis.Node(n.Name); ok && !n.Changes() && p.Basis.NodeHealth(node).Unhealthy() && !slices.Contains(unhealthy, node) {
			unhealthy = append(unhealthy, node)
		}
	}
	if len(unhealthy) > 0 && len(p.Waves) > 1 {
		return cli.Incomplete(cli.WithHint(fmt.Errorf("everything was done, and nodes with nothing to do were not Ready, with a heartbeat: %s", lifeOf(p, unhealthy)), "kubectl describe node; on the node: journalctl -u kubelet -n 50"))
	}
	return nil
}

// lifeOf names unhealthy nodes, with what is wrong.
func lifeOf(p *remediate.Plan, nodes []*inspect.Node) string {
	var out []string
	for _, n := range nodes {
		out = append(out, foreign.Name(n.Name)+": "+p.Basis.NodeHealth(n).String())
	}
	return strings.Join(out, "; ")
}

// left turns the end of a later attempt into one that tells what the earlier ones
// did.
func (a *Execution) left(err error) error {
	if err == nil || len(a.Changed) == 0 {
		return err
	}
	var u *cli.UnchangedError
	if errors.As(err, &u) { // by this attempt, which is no longer what matters
		err = u.Inner
	}
	return cli.Stopped(cli.WithHint(fmt.Errorf("stopped half-way: %w", err), "%s", a.undoHint()))
}

// undoHint says how to go on, and how to go back.
func (a *Execution) undoHint() string {
	js, _ := Journals() // it worked before
	text := "run the same command again to go on from there; what was done is in " + js.Folder
	if a.Lines.Resume != "" {
		text = "to go on from there:\n    " + a.Lines.Resume + "\n  what was done is in " + js.Folder
	}
	if undos := a.undos(); a.Undoes == "" && len(undos) > 0 {
		text += "; to put it back: " + strings.Join(undos, "; ")
	}
	if earlier := a.earlier(); a.Undoes == "" && earlier != "" {
		text += "\n" + earlier
	}
	return text
}

// Printf prints for people, where the plan is not for a program.
func (a *Execution) Printf(format string, args ...any) {
	a.printing.Lock() // several nodes may have something to say
	defer a.printing.Unlock()
	if a.board != nil { // below the lines that stay others may be drawn
		a.board.Print(fmt.Sprintf(format, args...))
		return
	}
	ui.Printf(a.out(), format, args...)
}

// out is where people read.
func (a *Execution) out() io.Writer {
	if a.Output == "json" || a.Output == "yaml" {
		return a.App.Streams.ErrOut
	}
	return a.App.Streams.Out
}

// tell prints what an action has to say of a node, below its step.
func (a *Execution) tell(node, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		a.Printf("    %s: %s\n", titleOf(node), ui.Clean(line))
	}
}

func (a *Execution) show(p *remediate.Plan) error {
	out := a.App.Streams.Out
	switch a.Output {
	case "json", "yaml":
		return printPlanDocument(out, a.Output, a.Command, p)
	case "diff":
		return printPlanDiff(out, a.App.Streams.ErrOut, a, p)
	}
	if a.Summary {
		return printPlanSummary(out, a, p)
	}
	return printPlan(out, a, p)
}

// Consent asks whether to go on. Without a terminal, --yes is wanted.
func (a *Execution) Consent(ctx context.Context) error {
	if a.Yes {
		return nil
	}
	return Consent(ctx, a.App, a.Session.Choice.Prompter)
}

// Consent asks on a terminal, and is refused elsewhere. q may be nil.
func Consent(ctx context.Context, app cli.App, q *connect.Prompter) error {
	if q == nil {
		q = &connect.Prompter{App: app, Ended: ctx.Done()}
	}
	in, ok := q.Terminal()
	if !ok {
		return cli.Refused(cli.WithHint(cli.NothingChanged(errors.New("no terminal to ask for confirmation")), "look at the plan, then run it again with --yes"))
	}
	defer q.Lock()()
	_, _ = fmt.Fprint(app.Streams.ErrOut, "\nDo this? Type yes to go on: ")
	answer, err := q.Await(in, func() ([]byte, error) {
		line, err := bufio.NewReader(io.LimitReader(in, 100)).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return []byte(line), err
	})
	if err != nil {
		return cli.Refused(cli.NothingChanged(err))
	}
	if strings.TrimSpace(string(answer)) != "yes" {
		return cli.Refused(cli.NothingChanged(errors.New("the answer was not yes")))
	}
	return nil
}

// Begin opens the journal of the run.
func (a *Execution) Begin(p *remediate.Plan) (*remediate.Journal, error) {
	js, err := Journals()
	if err != nil {
		return nil, err
	}
	h := remediate.Header{Run: a.RunID, Command: a.Command, Undoes: a.Undoes, Server: p.Basis.Cluster.Server, Cluster: p.Basis.Cluster.ID, Started: collect.Now(), Certrot: a.App.Version, Lapsed: a.expiredHolder, Nodes: []string{}}
	h.Nodes = append(h.Nodes, NodesOf(p)...)
	j, err := js.Begin(h, collect.Now)
	if err != nil {
		return nil, cli.Refused(cli.WithHint(cli.NothingChanged(err), "set XDG_STATE_HOME to a folder in which the journal can be kept"))
	}
	return j, nil
}

// Apply runs the plan and says how it went.
func (a *Execution) Apply(ctx context.Context, p *remediate.Plan, j *remediate.Journal) (err error) {
	a.leftOut = nil
	run := a.RunID
	if a.Undoes != "" {
		run = a.Undoes // whose folder on nodes it is
	}
	env := a.Session.Env(run, a.Read)
	env.Holder, env.ExpiredHolder = a.Holder(), a.expiredHolder
	if js, err := Journals(); err == nil {
		env.EarlierHolders = js.ExpiredHolders(collect.Now().Add(-host.HoldTime))
	}
	defer func() {
		if closed := env.Close(); closed != nil {
			cli.Warn(a.App.Streams, "clean up: ", closed)
		}
	}()
	env.Tell = a.tell
	a.Printf("\nRun %s\n", a.RunID)
	f, done := a.follow(ctx, p)
	defer done()
	r := remediate.Runner{Env: env, Journal: j, Observe: f.observe, LeaveChanged: a.lastAttempt}
	if conn := a.Session.Conn; conn != nil {
		r.Gate = &preflight.RecheckGate{Snapshot: p.Basis, Planned: NodesOf(p), ControlPlane: conn.Cluster.ControlPlaneStatus, StaticPods: conn.Cluster.StaticPods, Accept: a.Recheck.Accept, Only: a.Recheck.Only, Print: func(text string) { a.Printf("    %s\n", ui.Clean(text)) }}
	}
	return r.Run(ctx, p)
}

// TheCluster stands for steps that are done to no node.
const TheCluster = "the cluster"
