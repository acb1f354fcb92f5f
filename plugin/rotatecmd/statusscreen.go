package rotatecmd

import (
	"io"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// stagesScreen prints how far a rotation is: a line for each stage, and where it is not reached for
// some, the first of them and why.
func (o *rotateOptions) stagesScreen(out io.Writer, p rotate.Progress) error {
	a, page := ui.NewOneScreen(out), ui.NewPage(out)
	o.head(a, page, p.Planned.Reading)
	about(a, "status", p.Planned)
	a.Gap()
	var said []string
	fails := failing(p.Stages)
	for _, s := range p.Stages {
		said = showStage(a, p.Planned, s, fails(s), said)
	}
	if took := times(p); took != "" {
		a.Prose(ui.Useful, 2, label("took"), took)
	}
	a.Gap()
	if command, text := o.afterStatus(p); command != "" {
		a.Whole("%s", label("next")+command)
	} else if text != "" {
		prose, command := o.withCommand(text)
		a.Prose(ui.Always, 3, label("next"), prose)
		if command != "" {
			a.Whole("%s", label("")+command)
		}
	}
	return a.Print(out, screenLines, moreDetails)
}

// showStage adds the lines of a stage. The first for which it is not reached stands in its line where
// there is room, else below, with why. said are those of which why was said before, with this one.
func showStage(a *ui.OneScreen, p rotate.Planned, s rotate.Stage, fails bool, said []string) []string {
	name, more := firstLate(s)
	lead, words := stageLead(s), stageWords(p, s)
	if fails {
		lead, words = leadOf(failingMark(s), s), failingWords(p, s)
	}
	switch {
	case s.Status == assess.Pass || name == "":
		a.Prose(ui.Always, 2, lead, words)
		return said
	case !fails:
		words += lateWord(s)
	}
	text := lead + words
	indent, room := strings.Repeat(" ", reasonColumns), a.Columns()-reasonColumns
	reason := ui.Clean(ui.OneLine(lateReason(s)))
	name = ui.Clean(name)
	now := name + more + reason
	if slices.Contains(said, now) {
		reason = ""
	}
	fits := ui.Width(text+name+more) <= a.Columns()
	if fits {
		a.Line(ui.Always, "%s", text+name+more)
	} else {
		a.Line(ui.Always, "%s", strings.TrimSuffix(text, " "))
		if whole := name + more + ": " + reason; reason != "" && ui.Width(whole) <= room {
			more, reason = more+": "+reason, ""
		}
		a.Line(ui.Always, "%s%s%s", indent, ui.Middle(name, max(room-ui.Width(more), 1)), more)
	}
	if reason != "" {
		a.Prose(ui.Useful, 2, indent, reason)
	}
	return append(said, now)
}

// afterStatus is the next step: a command that runs as it stands, else what to do.
func (o *rotateOptions) afterStatus(p rotate.Progress) (command, text string) {
	i := slices.IndexFunc(p.Stages, func(s rotate.Stage) bool { return s.Status == assess.Warn })
	if i < 0 { // of what is unknown, that which can be read
		i = slices.IndexFunc(p.Stages, func(s rotate.Stage) bool {
			return s.Status == assess.Unknown && !s.NothingToDo()
		})
	}
	if i < 0 {
		i = slices.IndexFunc(p.Stages, func(s rotate.Stage) bool { return s.Status == assess.Unknown })
	}
	if i < 0 {
		return "", "nothing: all stages are reached"
	}
	s := p.Stages[i]
	live := len(o.reading.From) == 0
	switch {
	case s.Status == assess.Unknown || len(s.Remediation.Command) > 0:
	case s.Settling && live:
		return o.command("rotate status --wait 10m", p.Planned.Of.Name), ""
	case s.ID == rotate.StageTrust || s.ID == rotate.StageEdges:
		return o.afterTrust(p, live), ""
	case s.ID == rotate.StageServed && live:
		return o.command("verify --nodes all"), ""
	case s.ID == rotate.StageServed:
		return o.command("verify"), ""
	case s.ID == rotate.StageLeaf && s.NothingToDo():
	case s.ID == rotate.StageAggregates:
		return "oc get clusteroperators kube-apiserver kube-controller-manager kube-scheduler machine-config", ""
	case s.Remediation.Text != "" && (s.ID == rotate.StageSigner || s.ID == rotate.StageBundle || s.ID == rotate.StageLeaf):
		// Not a part of the text: what operators say may be in it.
		const all = "oc get clusteroperators"
		if name, ok := strings.CutSuffix(p.Planned.Owner(), "-operator"); ok {
			return foreign.Command(all, "oc get clusteroperator %s", name), ""
		}
		return all, ""
	}
	if s.Remediation.Text == "" && live {
		return o.command("rotate status --wait 10m", p.Planned.Of.Name), ""
	}
	return s.Remediation.Command, s.Remediation.Text
}

// withCommand splits a text that ends with a command of the program's, which stands on a line of its own
// to be copied.
func (o *rotateOptions) withCommand(text string) (prose, command string) {
	i := strings.LastIndex(text, ": "+o.app.ProgramName+" ")
	if i < 0 || strings.ContainsAny(text[i:], ";(") {
		return text, ""
	}
	return text[:i+1], text[i+2:]
}

// afterTrust is the command that repairs clients which do not trust the new CA, else the one that
// names them.
func (o *rotateOptions) afterTrust(p rotate.Progress, live bool) string {
	of := p.Planned.Of
	if _, withheld := of.Rotation.Undelivered(p.Planned.Facts.Snapshot.Cluster.Versions); withheld == catalog.Yes {
		if leaf := slices.IndexFunc(p.Stages, func(s rotate.Stage) bool { return s.ID == rotate.StageLeaf }); leaf >= 0 && p.Stages[leaf].Status == assess.Pass {
			return o.preview("fix-api-int")
		}
		return o.preview("pretrust")
	}
	if live {
		return o.command("verify --nodes all")
	}
	return o.command("verify")
}
