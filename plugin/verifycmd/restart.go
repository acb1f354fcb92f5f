package verifycmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// restartSafe is the argument of verify that asks another question: would each
// kubelet come back?
const restartSafe = "restart-safe"

// restartOptions is what a run of verify restart-safe needs.
type restartOptions struct {
	app          cli.App
	reading      connect.Reading
	now          time.Time // zero: the time of the facts
	allowUnknown bool
	print        func(io.Writer, *report.RestartReport) error
}

func (f *verifyFlags) toRestartOptions(ctx context.Context, args []string) (*restartOptions, error) {
	if len(args) > 1 {
		return nil, fmt.Errorf("%s is a question of its own: no part goes with it", restartSafe)
	}
	if f.wait > 0 {
		return nil, fmt.Errorf("--wait goes with the checks of verify, not with %s", restartSafe)
	}
	o := &restartOptions{app: f.app, allowUnknown: f.allowUnknown}
	human := printRestartSummary(f.rows.NoHeaders)
	if f.details {
		human = printRestartHuman(false, f.rows.NoHeaders)
	}
	listed, err := f.rows.ToPrinter(ctx, f.output, ui.RowsOf[trust.RestartNode]("nodes"), verifyForms()...)
	if err != nil {
		return nil, err
	}
	o.print = map[string]func(io.Writer, *report.RestartReport) error{
		"": human, "wide": printRestartHuman(true, f.rows.NoHeaders), "json": restartDocument("json"), "yaml": restartDocument("yaml"), "junit": restartJUnit,
	}[f.output]
	if listed != nil {
		o.print = func(w io.Writer, r *report.RestartReport) error { return listed(w, r) }
	}
	if o.now, err = f.asOf(); err != nil {
		return nil, err
	}
	o.reading, err = f.toReading(ctx)
	o.reading.Nodes.RestartProbe = true
	return o, err
}

func (o *restartOptions) run(ctx context.Context) error {
	s, err := o.reading.Read(ctx)
	if err != nil {
		return err
	}
	now := o.now
	if now.IsZero() {
		now = s.Taken
	}
	report := report.NewRestartReport(ctx, inspect.NewFacts(s, now, connect.DefaultWithin))
	if err := o.print(o.app.Streams.Out, &report); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if ctx.Err() != nil {
		return cli.Interrupted()
	}
	return cli.Judged(report.Worst(), false, o.allowUnknown)
}

func restartDocument(format string) func(io.Writer, *report.RestartReport) error {
	return func(w io.Writer, r *report.RestartReport) error { return ui.PrintDocument(w, format, r) }
}

// restartJUnit writes a test suite for each node: its questions and the verdict.
func restartJUnit(w io.Writer, r *report.RestartReport) error {
	var doc ui.JunitDocument
	add := func(s *ui.JunitSuite, name string, a trust.RestartAnswer, counts bool) {
		t, why := ui.JunitCase{Name: name, Class: a.ID}, answerWord(a)+": "+ui.OneLine(a.Because())
		switch {
		case counts && a.Status.Wrong():
			t.Fail(why)
		case a.Status == assess.Unknown || !counts && a.Status == assess.Fail:
			t.Skip(why)
		}
		s.Add(t)
	}
	for _, n := range r.Nodes {
		s := ui.JunitSuite{Name: n.Name}
		add(&s, trust.ComesBackQuestion().Text, n.ComesBack, true)
		for i, q := range trust.RestartQuestions() {
			add(&s, q.Text, n.Answers[i], false)
		}
		doc.Suites = append(doc.Suites, s)
	}
	s := ui.JunitSuite{Name: "cluster"}
	add(&s, trust.NewNodeQuestion().Text, r.NewNode, true)
	add(&s, trust.AccessQuestion().Text, r.Access, false)
	doc.Suites = append(doc.Suites, s)
	return doc.Write(w)
}

func restartMark(a trust.RestartAnswer) string {
	if a.NotNeeded {
		return "–"
	}
	return ui.StatusMark(a.Status)
}

// answerWord says the status of an answer to people.
func answerWord(a trust.RestartAnswer) string {
	switch {
	case a.NotNeeded:
		return "none"
	case a.Status == assess.Pass:
		return "yes"
	case a.Status == assess.Warn:
		return "caution"
	case a.Status == assess.Fail:
		return "no"
	}
	return "unknown"
}

// printRestartHuman writes what comes of each node and what to do, then a table, and below it why for what is no plain
// yes.
func printRestartHuman(wide, noHeaders bool) func(io.Writer, *report.RestartReport) error {
	return func(out io.Writer, r *report.RestartReport) error {
		w := ui.NewPage(out)
		header := ui.HumanPrinter{}
		for _, line := range header.Head(w, r.Cluster, r.Now, "", "") {
			w.Line(line)
		}
		verdicts(w, r.Nodes)
		header.Gaps(w, &report.Inventory{Gaps: r.Gaps})
		ui.Printf(w, "\n")
		rows := restartRows(r, max(w.Columns(), leastTable))
		if noHeaders {
			rows = rows[1:]
		}
		table(w, rows)
		for _, same := range alike(r.Nodes, func(n trust.RestartNode) string { return answersOf(n, wide) }) {
			restartDetails(w, same, wide)
		}
		ui.Printf(w, "\n")
		for _, q := range []struct {
			text string
			a    trust.RestartAnswer
		}{{trust.NewNodeQuestion().Text, r.NewNode}, {trust.AccessQuestion().Text, r.Access}} {
			ui.Printf(w, "%s %s  %s\n", restartMark(q.a), q.text, answerWord(q.a))
			ui.Assessment(w, "    ", q.a.Assessment, nil)
		}
		n := map[assess.Status]int{}
		for _, node := range r.Nodes {
			n[node.ComesBack.Status]++
		}
		var tally []string
		for _, s := range []struct {
			status assess.Status
			text   string
		}{{assess.Fail, "would not come back"}, {assess.Warn, "only with a hand, or not for long"}, {assess.Unknown, "unknown"}, {assess.Pass, "would come back"}} {
			if n[s.status] > 0 {
				tally = append(tally, fmt.Sprintf("%s %d %s", ui.StatusMark(s.status), n[s.status], s.text))
			}
		}
		for _, n := range r.Nodes {
			if n.Alive == catalog.No.String() {
				ui.Printf(w, "\n%s: %s\n", foreign.Name(n.Name), n.Heartbeat)
			}
		}
		if len(tally) == 0 {
			tally = []string{"no node is known here: " + r.Hints.UnreadNodes("--nodes NAME --via ssh")}
		}
		ui.Printf(w, "\n")
		ui.WrapLine(w, "", strings.Join(tally, "   "))
		_, err := io.WriteString(out, ui.CleanLines(w.String()))
		return err
	}
}

// maxColumns is how many nodes are columns, at most, if their names fit.
const maxColumns = 8

// leastTable is the width below which the table stays as it is.
const leastTable = 80

// leastName is how much a name of a node keeps.
const leastName = 12

// restartRows are questions by nodes, or nodes by questions where they are many.
func restartRows(r *report.RestartReport, columns int) [][]string {
	questions := trust.RestartQuestions()
	head := []string{""}
	wide := 0
	for _, q := range questions {
		wide = max(wide, len(q.Text))
	}
	for _, n := range r.Nodes {
		name := foreign.Name(n.Name)
		head = append(head, name)
		wide += 2 + ui.Width(name)
	}
	if len(r.Nodes) <= maxColumns && wide <= columns {
		rows := [][]string{head}
		if !answered(r.Nodes) {
			questions = nil
		}
		for i, q := range questions {
			row := []string{q.Text}
			for _, n := range r.Nodes {
				row = append(row, restartMark(n.Answers[i]))
			}
			rows = append(rows, row)
		}
		verdict := []string{trust.ComesBackQuestion().Text}
		for _, n := range r.Nodes {
			verdict = append(verdict, restartMark(n.ComesBack)+" "+answerWord(n.ComesBack))
		}
		return append(rows, verdict)
	}
	head = []string{"NODE", trust.ComesBackQuestion().Short}
	for _, q := range questions {
		head = append(head, q.Short)
	}
	rest := 2 + len("? unknown")
	for _, short := range head[2:] {
		rest += 2 + len(short)
	}
	rows := [][]string{head}
	for _, n := range r.Nodes {
		row := []string{ui.Middle(foreign.Name(n.Name), max(columns-rest, leastName)), restartMark(n.ComesBack) + " " + answerWord(n.ComesBack)}
		for _, a := range n.Answers {
			row = append(row, restartMark(a))
		}
		rows = append(rows, row)
	}
	return rows
}

// answered reports whether a question has an answer on a node.
func answered(nodes []trust.RestartNode) bool {
	return slices.ContainsFunc(nodes, func(n trust.RestartNode) bool {
		return slices.ContainsFunc(n.Answers, func(a trust.RestartAnswer) bool { return a.NotNeeded || a.Status != assess.Unknown })
	})
}

// table writes rows in columns, two blanks apart.
func table(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, row := range rows {
		ui.Printf(t, "%s\n", strings.Join(row, "\t"))
	}
	_ = t.Flush() // the page does not fail
}

// verdicts says of each node whether its kubelet would come back, why not, and what to do: of nodes of which the same is
// said together.
func verdicts(w *ui.Page, nodes []trust.RestartNode) {
	for _, same := range alike(nodes, verdictOf) {
		a := same[0].ComesBack
		ui.Printf(w, "\n")
		ui.Wrap(w, restartMark(a)+" ", namesOf(same)+": "+map[assess.Status]string{
			assess.Fail: "would not come back", assess.Warn: "would come back only with a hand, or not for long",
			assess.Unknown: "whether it would come back is unknown", assess.Pass: "would come back",
		}[a.Status])
		a.Remediation = forAll(same, a.Remediation)
		ui.Assessment(w, "    ", a.Assessment, nil)
	}
}

func namesOf(nodes []trust.RestartNode) string {
	names := make([]string, len(nodes))
	for i := range nodes {
		names[i] = foreign.Name(nodes[i].Name)
	}
	return strings.Join(names, ", ")
}

// forAll is the remediation of the first of some nodes for all of them.
func forAll(same []trust.RestartNode, r assess.Remediation) assess.Remediation {
	names := make([]string, len(same))
	for i := range same {
		names[i] = same[i].Name
	}
	all := strings.NewReplacer("--nodes "+same[0].Name, foreign.Command("", "--nodes %s", foreign.Commas(names)))
	if r.Text = all.Replace(r.Text); foreign.Fit(foreign.Commas(names)) {
		r.Command = all.Replace(r.Command)
	} else {
		r.Command = ""
	}
	return r
}

// restartDetails says what is behind the marks of nodes of which the same is to be
// said: the answers that the verdict does not speak of. What to do is said once.
func restartDetails(w io.Writer, same []trust.RestartNode, wide bool) {
	n := same[0]
	b := &strings.Builder{}
	said, done := []string{n.ComesBack.Reason}, []assess.Remediation{forAll(same, n.ComesBack.Remediation)}
	for i, q := range trust.RestartQuestions() {
		a := n.Answers[i]
		if a.Status == assess.Pass && (!wide || a.Reason == "") || slices.Contains(said, a.Reason) {
			continue
		}
		said = append(said, a.Reason)
		ui.Printf(b, "  %s %s\n", restartMark(a), q.Text)
		a.Remediation = forAll(same, a.Remediation)
		if slices.ContainsFunc(done, func(r assess.Remediation) bool { return r == a.Remediation || does(r, a.Remediation) }) {
			a.Remediation = assess.Remediation{}
		}
		done = append(done, a.Remediation)
		ui.Assessment(b, "      ", a.Assessment, nil)
	}
	if b.Len() > 0 {
		ui.Wrap(w, "\n", namesOf(same))
		ui.Printf(w, "%s", b.String())
	}
}

// does reports whether a command does what another one does: it has all of its words.
func does(r, other assess.Remediation) bool {
	words := strings.Fields(r.Command)
	return other.Command != "" && !slices.ContainsFunc(strings.Fields(other.Command), func(w string) bool { return !slices.Contains(words, w) })
}

// verdictOf is what is said of a node's verdict.
func verdictOf(n trust.RestartNode) string { return answerWord(n.ComesBack) + n.ComesBack.Reason }

// answersOf is what is said of a node; wide, of what is well too.
func answersOf(n trust.RestartNode, wide bool) string {
	key := verdictOf(n)
	for _, a := range n.Answers {
		key += "\n" + answerWord(a)
		if wide || a.Status != assess.Pass {
			key += a.Reason
		}
	}
	return key
}

// alike groups nodes of which the same is to be said.
func alike(nodes []trust.RestartNode, said func(trust.RestartNode) string) [][]trust.RestartNode {
	index := map[string]int{}
	var out [][]trust.RestartNode
	for _, n := range nodes {
		key := said(n)
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], n)
	}
	return out
}
