package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// follower tells how a plan is carried out. On a terminal there is a line for each node under
// way, which stays when the node is done; elsewhere a line for each step that is awaited or done.
// The engine calls it for one step after another, also where several nodes are worked on.
type follower struct {
	run   *Execution
	plan  *remediate.Plan
	board *ui.Board
	waves map[string]string // the names of waves, by action
	wave  string
	nodes int                  // to be done in that wave
	done  int                  // of them
	begun map[string]time.Time // steps, by action, and nodes of the wave, by name
	under []string             // nodes on which something was begun, and which are not done
	// interrupted: nothing more is begun.
	interrupted atomic.Bool
}

func newFollower(a *Execution, p *remediate.Plan, board *ui.Board) *follower {
	f := &follower{run: a, plan: p, board: board, waves: wavesOf(p), begun: map[string]time.Time{}}
	f.nodes = f.dueIn("")
	return f
}

// dueIn is on how many nodes something is to be done in a wave: not on those that were left out.
func (f *follower) dueIn(wave string) (nodes int) {
	for _, w := range f.plan.Waves {
		if w.Name != wave {
			continue
		}
		for _, n := range w.Due() {
			if !slices.ContainsFunc(f.run.leftOut, func(r *remediate.Refusal) bool { return r.Node == n.Name }) {
				nodes++
			}
		}
		return nodes
	}
	return 0
}

// leftOut tells that a node is left out of the rest of the run.
func (f *follower) leftOut(node string, why error) {
	var r *remediate.Refusal
	if !errors.As(why, &r) {
		r = &remediate.Refusal{Node: node, Reason: why.Error()}
	}
	f.run.leftOut = append(f.run.leftOut, r)
	f.nodes = f.dueIn(f.wave)
	f.print("? %s  left out: %s\n", titleOf(node), ui.OneLine(r.Name+": "+r.Reason))
	f.footer()
}

// observe is told of each step.
func (f *follower) observe(action remediate.Action, e remediate.Event, c *remediate.Change, err error) {
	if now := f.waves[action.ID()]; now != f.wave {
		f.wave, f.done, f.nodes = now, 0, f.dueIn(now)
		f.print("Wave %s\n", now)
	}
	name, what := titleOf(action.Node()), action.ID()
	if e == remediate.LeftOut {
		f.leftOut(action.Node(), err)
		return
	}
	if c != nil {
		what = c.Summary
	}
	now := collect.Now()
	if _, ok := f.begun[f.wave+" "+name]; !ok {
		f.begun[f.wave+" "+name] = now
		f.under = append(f.under, name)
	}
	switch e {
	case remediate.Begun:
		f.begun[action.ID()] = now
		f.run.begun(action, c)
		f.board.Set(name, ui.Row{Name: name, Text: ui.OneLine(what), Since: now})
		if !f.board.Live() && c.File == nil { // a file is written in no time
			f.print("○ %s  %s\n", name, what)
		}
	case remediate.Done:
		f.stepDone(action, name, what, c != nil)
	case remediate.Undone:
		f.run.notApplied(action)
		f.ended(name, "✗ %s  %s: %s\n    put back\n", name, what, ui.OneLine(err.Error()))
	case remediate.Unseen:
		f.ended(name, "? %s  %s: not seen%s\n", name, what, f.took(action.ID()))
	default:
		var before *remediate.NotAppliedError
		if errors.As(err, &before) {
			f.run.notApplied(action)
		}
		f.ended(name, "✗ %s  %s: %s\n", name, what, ui.OneLine(err.Error()))
	}
	f.footer()
}

// stepDone tells that a step is done, and on a terminal that its node is. changed: it was not
// as it is to be before.
func (f *follower) stepDone(action remediate.Action, name, what string, changed bool) {
	how := "done, and checked" + f.took(action.ID())
	if !changed {
		how = "already up to date"
	}
	if !f.board.Live() {
		f.print("✓ %s  %s: %s\n", name, what, how)
	}
	words, last := f.lastOf(action)
	if !last {
		f.board.Set(name, ui.Row{Name: name, Text: ui.OneLine(what + ": " + how), Since: collect.Now()})
		return
	}
	f.done++
	if f.board.Live() {
		f.ended(name, "✓ %s  %s: done, and checked%s\n", name, words, f.took(f.wave+" "+name))
		return
	}
	f.ended(name, "")
}

// lastOf reports whether an action is the last one of its node in its wave, and says in few
// words what was done there.
func (f *follower) lastOf(action remediate.Action) (words string, last bool) {
	for _, w := range f.plan.Waves {
		for _, n := range w.Due() {
			if due := n.Due(); due[len(due)-1].Action.ID() == action.ID() {
				return strings.Join(InFewWords(n), ", "), true
			}
		}
	}
	return "", false
}

// took is how long something takes since it was begun; empty: less than a second.
func (f *follower) took(key string) string {
	since, ok := f.begun[key]
	if took := collect.Now().Sub(since); ok && took >= time.Second {
		return " (" + ui.Elapsed(took) + ")"
	}
	return ""
}

// ended tells that nothing more is done to a node in this wave.
func (f *follower) ended(name, format string, args ...any) {
	delete(f.begun, f.wave+" "+name)
	f.under = slices.DeleteFunc(f.under, func(n string) bool { return n == name })
	f.board.Drop(name)
	if format != "" {
		f.print(format, args...)
	}
}

// footer says how far the wave is.
func (f *follower) footer() {
	if f.interrupted.Load() {
		f.board.Footer("interrupted: the steps under way are completed, then this stops")
		return
	}
	text := fmt.Sprintf("%d of %s done; Ctrl-C stops after the steps under way", f.done, ui.Count(f.nodes, "node"))
	if f.wave != "" {
		text = "wave " + f.wave + ": " + text
	}
	f.board.Footer(text)
}

// print writes lines that stay: none of a text that others chose is among them.
func (f *follower) print(format string, args ...any) {
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = ui.Clean(text)
		}
	}
	text := fmt.Sprintf(format, args...)
	if f.board.Live() {
		page := ui.NewPage(f.run.out())
		for line := range strings.Lines(text) {
			ui.Hang(page, strings.TrimSuffix(line, "\n"), 4)
		}
		text = page.String()
	}
	f.run.Printf("%s", text)
}

// follow begins to tell how a plan is carried out, until the function that it returns is called.
func (a *Execution) follow(ctx context.Context, p *remediate.Plan) (*follower, func()) {
	board := ui.NewBoard(a.out(), collect.Now)
	f := newFollower(a, p, board)
	a.board = board
	if q := a.Session.Choice.Prompter; q != nil {
		q.Progress = board
	}
	f.footer()
	forget := context.AfterFunc(ctx, func() {
		f.interrupted.Store(true)
		board.Footer("interrupted: the steps under way are completed, then this stops")
	})
	return f, func() {
		forget()
		board.Close()
		if board.Live() {
			for _, name := range f.under {
				f.print("○ %s  stopped before its last step\n", name)
			}
		}
	}
}
