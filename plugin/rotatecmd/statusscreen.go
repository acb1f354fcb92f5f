package rotatecmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// reasonColumns is where the reason of a stage stands, below its text.
const reasonColumns = 13

// stagesScreen prints how far a rotation is: a line for each stage, and its reason where it is late.
func (o *rotateOptions) stagesScreen(out io.Writer, p rotate.Progress) error {
	a, page := ui.NewAnswer(out), ui.NewPage(out)
	o.head(a, page, p.Planned.Reading)
	about(a, "status", p.Planned)
	a.Gap()
	for _, s := range p.Stages {
		a.Line(ui.Always, "%s", stageText(p.Planned, s, a.Columns()))
		if reason := lateReason(s); s.Status != assess.Pass && reason != "" {
			a.Prose(ui.Useful, 1, strings.Repeat(" ", reasonColumns), reason)
		}
	}
	if took := times(p); took != "" {
		a.Prose(ui.Useful, 2, label("took"), took)
	}
	a.Gap()
	if command, text := o.afterStatus(p); command != "" {
		a.Whole("%s", label("next")+command)
	} else if text != "" {
		a.Prose(ui.Always, 3, label("next"), text)
	}
	return a.Print(out, screenLines, moreDetails)
}

// stageText is a stage in one line: its mark, and what of it is late.
func stageText(p rotate.Planned, s rotate.Stage, columns int) string {
	lead := fmt.Sprintf("%s %-*s", reachedMark(s.Status), reasonColumns-2, s.ID)
	switch cert := p.Of.Cert(); {
	case s.Status == assess.Pass && s.ID == rotate.StageSigner && p.Of.Signer() && cert != nil:
		return lead + "made " + remediate.Timestamp(cert.NotBefore)
	case s.Status == assess.Pass || s.All == 0:
		reason := strings.ReplaceAll(s.Reason, p.Of.Rotation.Signer.String(), "it") // its place stands above
		reason = strings.ReplaceAll(reason, "who verify what it signs trust it", "clients trust it")
		return lead + firstSentence(strings.TrimPrefix(reason, "it: "))
	}
	word := "late"
	if s.Status == assess.Unknown {
		word = "unknown"
	}
	text := fmt.Sprintf("%d of %d", s.Reached, s.All)
	var names []string
	for _, l := range s.Late {
		if l.Name != "" {
			names = append(names, l.Name)
		}
	}
	if len(names) == 0 {
		return lead + text
	}
	text += "; " + word + ": " + names[0]
	if more := len(names) - 1; more > 0 {
		count := fmt.Sprintf(" +%d", more)
		return lead + ui.Shortened(text, columns-reasonColumns-len(count)) + count
	}
	return lead + text
}

// lateReason is why the first that is late is so; empty: its line says it.
func lateReason(s rotate.Stage) string {
	if s.All == 0 || len(s.Late) == 0 {
		return ""
	}
	return s.Late[0].Reason
}

// firstSentence is a text up to its first semicolon: the rest is a detail of it.
func firstSentence(s string) string {
	first, _, _ := strings.Cut(s, "; ")
	return first
}

// afterStatus is the next step: a command that runs as it stands, else what to do.
func (o *rotateOptions) afterStatus(p rotate.Progress) (command, text string) {
	i := slices.IndexFunc(p.Stages, func(s rotate.Stage) bool { return s.Status == assess.Warn })
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
	case s.ID == rotate.StageLeaf && strings.HasPrefix(s.Remediation.Text, "nothing"):
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

// afterTrust is the command that repairs clients which do not trust the new CA, else the one that
// names them.
func (o *rotateOptions) afterTrust(p rotate.Progress, live bool) string {
	of := p.Planned.Of
	if _, withheld := of.Rotation.Undelivered(p.Planned.Facts.Snapshot.Cluster.Versions); withheld == catalog.Yes {
		if leaf := slices.IndexFunc(p.Stages, func(s rotate.Stage) bool { return s.ID == rotate.StageLeaf }); leaf >= 0 && p.Stages[leaf].Status == assess.Pass {
			return o.command("fix-api-int --dry-run=client")
		}
		return o.command("pretrust --dry-run=client")
	}
	if live {
		return o.command("verify --nodes all")
	}
	return o.command("verify")
}
