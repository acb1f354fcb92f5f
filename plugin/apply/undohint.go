package apply

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// journaledStep is a step of a run that changed something, or may have.
type journaledStep struct {
	run, step string
	undoable  bool // undo takes it back: a file on a node, or a pause
}

// begun takes down that a step was begun.
func (a *Execution) begun(step remediate.Action, c *remediate.Change) {
	a.Changed = append(a.Changed, journaledStep{a.RunID, step.ID(), remediate.IsUndoable(step, c)})
}

// notApplied forgets a step that changed nothing, or that put back what it had changed.
func (a *Execution) notApplied(step remediate.Action) {
	a.Changed = slices.DeleteFunc(a.Changed, func(d journaledStep) bool { return d.run == a.RunID && d.step == step.ID() })
}

// changed are the runs that changed something.
func (a *Execution) changed() (runs []string) {
	for _, d := range a.Changed {
		if !slices.Contains(runs, d.run) {
			runs = append(runs, d.run)
		}
	}
	return runs
}

// undos are the commands that put back what this command changed, the last run first.
func (a *Execution) undos() (lines []string) {
	for _, d := range slices.Backward(a.Changed) {
		if line := a.undoOf(d.run); d.undoable && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// undoOf is the command that puts a run back, by the way onto nodes that this command has.
func (a *Execution) undoOf(run string) string {
	return a.App.Hints().Next("{} undo %s", run) + a.Lines.Reads
}

// repairTime is how far back other runs of a repair are looked for.
const repairTime = 24 * time.Hour

// earlier says which runs before this command changed files that are not put back; empty:
// none did. An undo is of one run.
func (a *Execution) earlier() string {
	this := cmp.Or(a.Undoes, a.RunID)
	js, err := Journals()
	if err != nil {
		return ""
	}
	record, err := js.Read(this)
	if err != nil { // as of a run of another user
		return ""
	}
	var lines []string
	for _, run := range js.NotUndone(record.Header, collect.Now().Add(-repairTime)) {
		if run != this && !slices.Contains(a.changed(), run) {
			lines = append(lines, a.undoOf(run))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "Each undo is of one run. Other runs of this repair changed files, too: " + strings.Join(lines, "; ")
}

func (a *Execution) printEarlier() {
	if earlier := a.earlier(); earlier != "" {
		a.Printf("%s\n", earlier)
	}
}

// unwritable says what keeps a file from being written, how to see it, and how to go past
// its node; empty where that is not why a run stopped. The same command would stop there
// again.
func (a *Execution) unwritable(p *remediate.Plan, stopped *remediate.Stopped) string {
	if stopped == nil || p == nil {
		return ""
	}
	var text string
	var nodes []string
	for _, s := range append([]*remediate.Stopped{stopped}, stopped.OtherFailures...) {
		var before *remediate.NotAppliedError
		file := fileOf(p, s.Action)
		if file == "" || !errors.As(s.Inner, &before) || slices.Contains(nodes, s.Action.Node()) {
			continue
		}
		switch why := before.Error(); {
		case strings.Contains(why, "Operation not permitted"):
			text += fmt.Sprintf("on %s: %s: the attribute i (immutable) refuses the write; chattr -i removes it", s.Action.Node(), foreign.Command("", "lsattr -d %s %s", path.Dir(file), file))
		case strings.Contains(why, "Read-only file system"):
			text += fmt.Sprintf("on %s: %s: the mount option ro refuses the write. A file system that turned read-only by itself has a damaged disk: dmesg", s.Action.Node(), foreign.Command("", "findmnt -T %s", file))
		default:
			continue
		}
		text += "\n"
		nodes = append(nodes, s.Action.Node())
	}
	if text == "" {
		return ""
	}
	text += "until then the same command stops there again\n"
	if others := a.withoutNodes(p, nodes); others != "" && !ofMaster(p, stopped) {
		text += "to go past it:\n    " + others + "\n"
	}
	return text
}

// fileOf is the file that a step of a plan changes; empty: none.
func fileOf(p *remediate.Plan, action remediate.Action) string {
	for _, n := range p.Nodes() {
		for _, s := range n.Steps {
			if s.Change != nil && s.Change.File != nil && s.Action.ID() == action.ID() {
				return s.Change.File.Path
			}
		}
	}
	return ""
}

// withoutNodes is the line for all nodes of a plan to which something is to be done but
// for some; empty: there are no others.
func (a *Execution) withoutNodes(p *remediate.Plan, but []string) string {
	var names []string
	for _, n := range p.Nodes() {
		if n.Name != "" && n.Changes() && !slices.Contains(but, n.Name) && !slices.Contains(names, n.Name) {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 || a.Lines.NamedNodes == "" {
		return ""
	}
	return a.lineFor(names)
}
