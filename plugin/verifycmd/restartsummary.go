package verifycmd

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// restartVerdicts says a verdict of a node, the worst last: it stands above the prompt.
func restartVerdicts() []struct {
	status assess.Status
	text   string
} {
	return []struct {
		status assess.Status
		text   string
	}{
		{assess.Pass, "would come back"}, {assess.Unknown, "unknown whether it would come back"},
		{assess.Warn, "would come back only with a hand, or not for long"}, {assess.Fail, "would not come back"},
	}
}

// printRestartSummary writes the table, what is unknown, and last what comes of each node and what to do, on one screen.
func printRestartSummary(noHeaders bool) func(io.Writer, *report.RestartReport) error {
	return func(out io.Writer, r *report.RestartReport) error {
		w, a := ui.NewPage(out), ui.NewOneScreen(out)
		header := ui.HumanPrinter{}
		for _, line := range header.Head(w, r.Cluster, r.Now, "", "") {
			a.Line(ui.Always, "%s", line)
		}
		a.Gap()
		rows, unknown := told(restartRows(r, max(w.Columns(), leastTable)))
		if noHeaders {
			rows = rows[1:]
		}
		var lines strings.Builder
		if table(&lines, rows); ui.Widest(lines.String()) <= w.Columns() { // cut, it says nothing
			for line := range strings.Lines(lines.String()) {
				a.Line(ui.Extra, "%s", strings.TrimSuffix(line, "\n"))
			}
			if warn := ui.StatusMark(assess.Warn); !noHeaders && slices.ContainsFunc(rows[1:], func(row []string) bool { return slices.Contains(row[1:], warn) }) {
				a.Line(ui.Extra, "%s matters later; --details tells why and when", warn)
			}
			a.Gap()
		}
		if len(unknown) > 0 {
			a.Prose(ui.Useful, 3, "? unknown of each node: ", strings.Join(unknown, ", "))
		}
		for _, g := range ui.UnknownOf(r.Gaps) {
			a.Line(ui.Useful, "? %s", g.Title)
		}
		a.Line(ui.Useful, "%s %s  %s", restartMark(r.NewNode), trust.NewNodeQuestion().Text, answerWord(r.NewNode))
		a.Line(ui.Useful, "%s %s  %s", restartMark(r.Access), trust.AccessQuestion().Text, answerWord(r.Access))
		a.Gap()
		groups := alike(r.Nodes, verdictOf)
		for _, v := range restartVerdicts() {
			n := 0
			var others []trust.RestartNode
			for _, same := range groups {
				if same[0].ComesBack.Status != v.status {
					continue
				}
				if n++; n > mostVerdicts {
					others = append(others, same...)
					continue
				}
				verdict(a, same, v.text, same[0].ComesBack)
			}
			if len(others) > 0 { // each for another reason
				verdict(a, others, v.text, trust.RestartAnswer{Assessment: assess.Assessment{Status: v.status}})
			}
		}
		if len(r.Nodes) == 0 {
			a.Line(ui.Always, "? no node is known here")
			nextStep(a, assess.Advise(r.Hints.UnreadNodes("--nodes NAME --via ssh")))
		}
		return a.Print(out, a.Height(), "all of it: --details; each answer: -o json")
	}
}

// mostVerdicts is how many groups of nodes with one verdict are told apart.
const mostVerdicts = 3

// told is the table without what is said elsewhere: the verdicts, and questions that have no answer of any node.
func told(rows [][]string) (out [][]string, unknown []string) {
	if rows[0][0] != "" { // a row for each node
		return rows, nil
	}
	out = slices.Clip(rows[:1])
	for _, row := range rows[1 : len(rows)-1] {
		if slices.ContainsFunc(row[1:], func(mark string) bool { return mark != ui.StatusMark(assess.Unknown) }) {
			out = append(out, row)
		} else {
			unknown = append(unknown, row[0])
		}
	}
	if len(out) == 1 {
		out = append(out, rows[len(rows)-1])
	}
	return out, unknown
}

// verdict writes what comes of nodes of which the same is said, and what to do.
func verdict(a *ui.OneScreen, same []trust.RestartNode, text string, back trust.RestartAnswer) {
	names := make([]string, len(same))
	for i, n := range same {
		if names[i] = foreign.Name(n.Name); n.Alive == catalog.No.String() {
			names[i] += " (" + strings.Replace(n.Heartbeat, " (Lease)", "", 1) + ")"
		}
	}
	a.Names(ui.Always, restartMark(back)+" "+text+": ", names)
	if back.Status != assess.Pass && back.Reason != "" {
		a.Prose(ui.Always, 2, "  reason    ", back.Reason)
	}
	nextStep(a, forAll(same, back.Remediation))
}

// nextStep writes what to do: its command whole.
func nextStep(a *ui.OneScreen, r assess.Remediation) {
	text, command := ui.CommandAtEnd(r.Text)
	switch command = cmp.Or(r.Command, command); {
	case command != "":
		a.Whole("  next      %s", command)
	case text != "":
		a.Prose(ui.Useful, 2, "  next      ", text)
	}
}
