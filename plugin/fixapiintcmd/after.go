package fixapiintcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/verifycmd"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// withPast adds the line to a refusal to go past masters.
func withPast(err error, line string) error {
	var r *remediate.Refusal
	if line == "" || !errors.As(err, &r) || r.Name != preflight.MastersFirst {
		return err
	}
	more := *r
	more.Next += fmt.Sprintf("\nif such a control plane node can't be recovered: %s\n  (%s)", line, apply.PastMastersMeans)
	return &more
}

// verification is what is checked after a run of the whole cluster: what verify api-int checks.
type verification struct {
	reading connect.Reading // of facts that are read again
	line    string          // the command that prints all of it
}

func (f *fixFlags) toVerification(ctx context.Context) (verification, error) {
	all := f.Nodes
	all.Nodes = []string{connect.AllNodes}
	nodes, err := all.ToChoice(ctx, f.App, collect.Scope{})
	nodes.Served = true
	line := f.App.Hints().Next("{} verify %s --nodes all", verifycmd.PartWords()[slices.Index(catalog.Parts(), catalog.PartAPIInt)])
	line += f.Nodes.SameWay()
	return verification{connect.Reading{App: f.App, Config: f.Config, Nodes: nodes}, line}, err
}

// longestWait is for how long the end of a run waits: half a minute, and the doubt of two clocks.
const longestWait = 3 * time.Minute

// verified checks the whole cluster after a run of it, and once more where a server's log has to
// be quiet for half a minute first. That something is unknown is said and is no failure of the run,
// of which each step was seen to work.
func (v verification) verified(ctx context.Context, a *apply.Execution) error {
	told, err := v.report(ctx)
	if wait := told.Wait(); err == nil && wait > 0 && wait <= longestWait {
		a.Printf("\nWaiting %s: then the logs tell whether the restarts ended all refusals\n", wait)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		told, err = v.report(ctx)
	}
	if err != nil {
		return cli.Incomplete(cli.WithHint(fmt.Errorf("everything was done, and whether all clients trust api-int is unknown: %w", err), "%s", v.line))
	}
	return judged(a, told, v.line)
}

func (v verification) report(ctx context.Context) (told report.Verification, err error) {
	s, err := v.reading.Read(ctx)
	if err == nil {
		told = report.NewVerification(ctx, inspect.NewFacts(s, s.Taken, connect.DefaultWithin), catalog.PartAPIInt)
	}
	if err == nil && ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	return told, err
}

// judged tells what a report says: a line, and one more for each claim that does not hold
// or is unknown, with its nodes, three at most. called is the command that prints all of it.
func judged(a *apply.Execution, r report.Verification, called string) error {
	a.Printf("\nVerified  %s (%s: exit code %d)\n", verifycmd.ClaimTally(r.Claims), called, cli.CodeOf(verifycmd.Verdict(&r, false)))
	left := ui.NewPage(a.App.Streams.Out)
	for _, g := range verifycmd.GroupClaims(r.Claims, string(catalog.PartAPIInt)) {
		if c := g[0]; c.Status != assess.Pass {
			about := ""
			if nodes := g.Nodes(); len(nodes) > 0 {
				about = " (" + apply.FirstNames(nodes, 3) + ")"
			}
			ui.Wrap(left, "  "+ui.StatusMark(c.Status)+" ", ui.Clean(c.Said()+about+": "+ui.OneLine(c.Because())))
		}
	}
	a.Printf("%s", left.String())
	if !r.Worst().Wrong() {
		return nil
	}
	var first string
	for _, c := range r.Claims {
		if c.Status.Wrong() {
			first = strings.TrimSpace(c.Said()+" "+verifycmd.Where(c)) + ": " + c.Because()
			break
		}
	}
	return cli.Incomplete(cli.WithHint(fmt.Errorf("everything was done, and not all clients trust api-int: %s", strings.TrimSpace(first)), "%s", called))
}
