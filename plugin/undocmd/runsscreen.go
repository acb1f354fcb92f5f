package undocmd

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// room is the room for the names of nodes, and for that of what else changed.
type room struct{ nodes, what int }

// rooms are that of a usual list, and that of a terminal that is too narrow for it.
func rooms() (usual, narrow room) { return room{24, 40}, room{14, 26} }

// Whether a run can be undone.
const (
	undoYes    = "yes"
	undoDone   = "done" // it was put back
	undoNo     = "no"
	undoByHand = "by hand" // undo says where it is written how
)

// undoable says whether undo takes a run back; empty: there is nothing to put back. all are the runs
// of this machine, the oldest first.
func undoable(record remediate.RunRecord, all []remediate.RunRecord) string {
	changed := slices.Collect(maps.Keys(record.Changed()))
	putBack, undone := putBack(record, all)
	paused := stillPaused(record, all)
	left := paused || slices.ContainsFunc(changed, func(node string) bool { return !slices.Contains(putBack, node) })
	switch {
	case record.Undoes != "":
		return undoNo
	case record.Command == rotate.RotateCommand && len(record.Records) > 0:
		return undoNo
	case record.Command == rotate.PruneCommand && len(record.Records) > 0:
		return undoByHand
	case undone && !left:
		return undoDone
	case len(changed) > 0 || paused:
		return undoYes
	case len(action.Patched(record)) > 0:
		return undoByHand
	}
	return ""
}

// putBack are the nodes on which a run was put back; undone is false where no undo of it was finished.
func putBack(record remediate.RunRecord, all []remediate.RunRecord) (nodes []string, undone bool) {
	for _, s := range all {
		if s.Undoes == record.Run && s.Outcome() == string(remediate.Finished) {
			nodes, undone = append(nodes, s.Nodes...), true
		}
	}
	return nodes, undone
}

// stillPaused reports whether something that a run paused was not resumed. An undo that asked an API
// server resumed all; one without left it. A later run resumes what earlier ones left.
func stillPaused(record remediate.RunRecord, all []remediate.RunRecord) bool {
	if !action.Paused(record) {
		return false
	}
	var later []remediate.RunRecord
	for _, s := range all {
		undo := s.Undoes == record.Run
		if undo && s.Server != "" && s.Outcome() == string(remediate.Finished) {
			return false
		}
		if undo || s.Undoes == "" && s.Run != record.Run && !s.Started.Before(record.Started) && s.SameCluster(record.Header) {
			later = append(later, s)
		}
	}
	return len(action.StillPaused(record, later...)) > 0
}

// changedWhat is what a run changed, besides files: the first thing that it began.
func changedWhat(record remediate.RunRecord) string {
	if len(record.Changed()) > 0 {
		return ""
	}
	for i, r := range record.Records {
		if r.Event == remediate.Begun && !record.FailedUnchanged(i) {
			return r.Action
		}
	}
	return ""
}

// changed says what a run changed.
func (r runEntry) changed(in room) string {
	nodes := r.changedNodes
	if nodes == nil {
		nodes = r.Nodes
	}
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = pki.Foreign(n)
	}
	switch {
	case r.Files > 0:
		return ui.Count(r.Files, "file") + " on " + ui.NamesThatFit(names, in.nodes)
	case r.what != "":
		what := r.what
		if r.Command == rotate.RotateCommand || r.Command == rotate.PruneCommand { // the name alone
			what = what[strings.LastIndex(what, "/")+1:]
		}
		return ui.Middle(foreign.Prose(what), in.what)
	case len(names) > 0:
		return "no file on " + ui.NamesThatFit(names, in.nodes)
	}
	return "nothing"
}

// printTable lists runs for people: what each changed, and whether it can be undone.
func (o *runsOptions) printTable(runs []runEntry) error {
	if len(runs) == 0 {
		o.printNone()
		return nil
	}
	usual, narrow := rooms()
	text, columns := o.table(runs, usual), ui.TableWidth(o.App.Streams.Out)
	if !o.noHeaders {
		if text = outcomesBelow(text, columns); columns > 0 && ui.Widest(text) > columns {
			text = outcomesBelow(o.table(runs, narrow), columns)
		}
	}
	if _, err := io.WriteString(o.App.Streams.Out, text); err != nil {
		return err
	}
	if !o.noHeaders {
		o.printNext(runs)
	}
	return nil
}

// table is the list, a line for each run.
func (o *runsOptions) table(runs []runEntry, in room) string {
	var lines strings.Builder
	t := tabwriter.NewWriter(&lines, 0, 8, 2, ' ', 0) // 80 columns have room for one node
	now := collect.Now()
	if !o.noHeaders {
		ui.Printf(t, "RUN\tCOMMAND\tAGE\tCHANGED\tUNDO\tOUTCOME\n")
	}
	for _, r := range runs {
		age, outcome := "unknown", foreign.Prose(r.Outcome)
		if r.Started != nil {
			age = duration.HumanDuration(max(now.Sub(*r.Started), 0).Truncate(time.Second))
		}
		if r.Undoes != "" {
			outcome += ", undo of " + foreign.Prose(r.Undoes)
		}
		ui.Printf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", pki.Foreign(r.Run), ui.OrDash(foreign.Prose(r.Command)), age, r.changed(in), ui.OrDash(r.undo), ui.OrDash(outcome))
	}
	_ = t.Flush() // the buffer does not fail
	return lines.String()
}

// outcomesBelow puts the last column of a line that is too wide on a line of its own; 0: none is.
func outcomesBelow(table string, columns int) string {
	const last = "OUTCOME"
	header, _, _ := strings.Cut(table, "\n")
	at := len([]rune(strings.TrimSuffix(header, last)))
	var out strings.Builder
	for line := range strings.Lines(table) {
		if runes := []rune(line); ui.Width(strings.TrimSuffix(line, "\n")) > columns && columns > 0 && len(runes) > at {
			line = strings.TrimRight(string(runes[:at]), " ") + "\n  " + string(runes[at:])
		}
		out.WriteString(line)
	}
	return out.String()
}

// printNext prints how the newest run that can be undone is.
func (o *runsOptions) printNext(runs []runEntry) {
	hints := o.App.Hints()
	for _, r := range runs {
		if r.undo != undoYes || !remediate.ValidRun(r.Run) {
			continue
		}
		next := hints.Next("{} undo %s --dry-run=client", r.Run)
		if o.fromNodes {
			next = hints.Next("{} undo %s --from-nodes --nodes %s --dry-run=client", r.Run, foreign.Commas(r.Nodes)) + o.reads
		}
		ui.Printf(o.App.Streams.ErrOut, "\nundo      %s\n", next)
		return
	}
}

// printNone says where no run was found.
func (o *runsOptions) printNone() {
	if o.fromNodes {
		ui.Printf(o.App.Streams.ErrOut, "No runs: the nodes that were read keep none in /var/lib/certrot.\n")
		return
	}
	folder := "the folder of journals"
	if js, err := apply.Journals(); err == nil {
		folder = js.Folder
	}
	hints := o.App.Hints()
	ui.Printf(o.App.Streams.ErrOut, "No runs on this machine: no journal in %s.\n", ui.Clean(folder))
	ui.Printf(o.App.Streams.ErrOut, "Runs that nodes keep, of all machines:\nnext      %s\n", hints.Next("{} runs --from-nodes --nodes all"))
}

// entryOf is a run as its journal has it, among all runs of this machine.
func entryOf(s remediate.RunRecord, all []remediate.RunRecord) runEntry {
	changed := s.Changed()
	e := runEntry{
		Run: s.Run, Command: s.Command, Undoes: s.Undoes, Started: &s.Started, Server: s.Server, Nodes: s.Nodes, Outcome: s.Outcome(),
		undo: undoable(s, all), what: changedWhat(s), changedNodes: slices.SortedFunc(maps.Keys(changed), func(a, b string) int {
			return cmp.Or(cmp.Compare(slices.Index(s.Nodes, a), slices.Index(s.Nodes, b)), strings.Compare(a, b))
		}),
	}
	for _, files := range changed {
		e.Files += len(files)
	}
	return e
}
