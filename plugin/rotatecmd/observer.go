package rotatecmd

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// humanObserver prints how rotations go: what changes on the error stream, and at the end
// the answer in the form that was asked for.
type humanObserver struct{ *rotateOptions }

// progress prints what is under way.
func (o *rotateOptions) progress() *ui.Board {
	if o.board == nil {
		o.board = ui.NewBoard(o.app.Streams.ErrOut, collect.Now)
	}
	return o.board
}

// show draws what is under way on a terminal. Elsewhere an event is a line; empty: nothing worth
// one happened.
func (o *rotateOptions) show(id string, row ui.Row, event string) {
	if b := o.progress(); b.Live() {
		b.Set(id, row)
	} else if event != "" {
		b.Print(ui.Clean(event) + "\n")
	}
}

// Stage prints that a stage is reached, or not any more.
func (o humanObserver) Stage(of string, s rotate.Stage, after time.Duration) {
	lead := of
	if of != "" {
		lead += ", "
	}
	o.show(of+" "+s.ID, ui.Row{Text: o.oneLine(of, rotate.Planned{}, s)},
		fmt.Sprintf("%safter %s: %s %s: %s", lead, duration.HumanDuration(after), reachedMark(s.Status), s.ID, s.Reason))
}

// Judged prints what is awaited at each stage, and since when.
func (o humanObserver) Judged(of string, p rotate.Planned, stages []rotate.Stage, began time.Time) {
	for _, s := range stages {
		row := ui.Row{Text: o.oneLine(of, p, s)}
		if s.Status != assess.Pass {
			row.Since = began
		}
		o.show(of+" "+s.ID, row, "")
	}
}

// oneLine is a stage in one line of the terminal, with the reason of what is late where there is room.
func (o humanObserver) oneLine(of string, p rotate.Planned, s rotate.Stage) string {
	if of != "" {
		of += " "
	}
	columns := ui.Columns(o.app.Streams.ErrOut) - len(of) - elapsedColumns
	text := of + stageText(p, s, columns)
	if reason := lateReason(s); s.Status != assess.Pass && reason != "" {
		text += " (" + ui.OneLine(reason) + ")"
	}
	return text
}

// elapsedColumns are kept for the elapsed time.
const elapsedColumns = 10

// reachedMark is ui.StatusMark, but for a stage that is on its way: nothing is wrong with it.
func reachedMark(s assess.Status) string {
	if s == assess.Warn {
		return "○"
	}
	return ui.StatusMark(s)
}

// Waiting prints which checks block a leaf.
func (o humanObserver) Waiting(leaf string, blocked []preflight.Verdict) {
	var out []string
	for _, v := range blocked {
		out = append(out, v.Named())
	}
	o.show("waiting "+leaf, ui.Row{Text: "○ " + leaf + " waits for " + ui.OneLine(out[0]), Since: collect.Now()},
		fmt.Sprintf("waiting, before %s is rotated: %s", leaf, strings.Join(out, "; ")))
}

// Triggering prints what changes at a leaf.
func (o humanObserver) Triggering(leaf rotate.Planned, replaced *pki.Cert) {
	o.progress().Keep()
	b := &strings.Builder{}
	ui.Printf(b, "\n%s, of %s\n", leaf.Of.At, leaf.Owner())
	if replaced != nil {
		ui.Printf(b, "  rotated meanwhile, and not by the newest signer: %s\n", apply.Identity(replaced))
	}
	printDiff(b, leaf)
	o.say("%s", ui.CleanLines(b.String()))
}

// Rotated prints that an owner has rotated what was named.
func (o humanObserver) Rotated(p rotate.Planned) {
	o.progress().Keep()
	o.say("\nDone: %s has rotated it. %s\n", ui.Clean(p.Owner()), "A rotation can't be undone.")
	if o.wait == 0 {
		o.say("How far its CA is, at any time: %s\n", o.app.Hints().Next("{} rotate status %s", p.Of.Name)+o.reads)
	}
}

// Concluded prints how far a rotation is.
func (o humanObserver) Concluded(p rotate.Progress) error {
	o.progress().Clear()
	switch o.output {
	case "":
		ui.Printf(o.app.Streams.Out, "\n")
	case "yaml":
		ui.Printf(o.app.Streams.Out, "---\n")
	}
	if err := o.showStages(p); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// say prints for people, where the answer is not for a program.
func (o humanObserver) say(format string, args ...any) {
	(&apply.Execution{Options: apply.Options{App: o.app, Output: o.output}}).Printf(format, args...)
}
