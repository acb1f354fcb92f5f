package rotatecmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

func (o *rotateOptions) showList(ctx context.Context) error {
	r, err := o.read(ctx)
	if err != nil {
		return err
	}
	if len(o.reading.From) == 0 {
		conn, err := connect.Connect(ctx, o.app, o.reading.Config, pki.NewScanner(), connect.ToRead)
		if err != nil {
			return err
		}
		ask(ctx, conn, &r)
	}
	d := rotationsDocument{
		APIVersion: report.APIVersion, Kind: "Rotations", Cluster: report.ClusterOf(r.Facts.Snapshot.Cluster), Taken: r.Facts.Snapshot.Taken,
		Rotations: []rotationEntry{}, Gaps: []report.Gap{},
	}
	for _, of := range r.All {
		d.Rotations = append(d.Rotations, entryOf(r, of, o.risks))
	}
	for _, g := range r.Facts.Snapshot.Gaps {
		d.Gaps = append(d.Gaps, report.GapOf(g))
	}
	out := o.app.Streams.Out
	switch {
	case o.listed != nil:
		err = o.listed(out, d)
	case o.output == "json" || o.output == "yaml":
		err = ui.PrintDocument(out, o.output, d)
	case o.output == "name":
		for _, e := range d.Rotations {
			_, name, _ := strings.Cut(e.Secret, "/")
			ui.Printf(out, "secret/%s\n", ui.Clean(name))
		}
	case !o.details && o.output != "wide":
		err = o.printList(out, d, r.Facts.Now, r.Facts.Snapshot.AsOf())
	default:
		err = printRotations(out, d, rotationsForm{wide: o.output == "wide", noHeaders: o.noHeaders, from: o.from()}, r.Facts.Now, r.Facts.Snapshot.AsOf())
	}
	switch {
	case err != nil:
		return fmt.Errorf("print: %w", err)
	case (len(d.Gaps) > 0 || d.Cluster.Unreviewed != "") && slices.ContainsFunc(d.Rotations, func(e rotationEntry) bool { return e.Rotates == "unknown" }):
		return cli.Incomplete(nil)
	}
	return nil
}

// rotationsForm is how --list is printed for people; from are the files.
type rotationsForm struct {
	wide, noHeaders bool
	from            string
}

// from are the files that are read, for people.
func (o *rotateOptions) from() string { return ui.Clean(strings.Join(o.reading.From, ", ")) }

// printHead says which cluster it is, and as of when.
func printHead(w *ui.Page, c report.Cluster, now time.Time, from string) {
	for _, line := range (ui.HumanPrinter{}).Head(w, c, now, from, "") {
		ui.Printf(w, "%s\n", ui.Shortened(line, w.Columns()))
	}
}

// printRotations prints --list for people: a line each, and below the lines why something
// would not be rotated now, each reason once. asOf is when the cluster's status was read, where
// that is a file's.
func printRotations(out io.Writer, d rotationsDocument, form rotationsForm, now time.Time, asOf string) error {
	b := ui.NewPage(out)
	printHead(b, d.Cluster, now, form.from)
	if asOf != "" {
		ui.Printf(b, "The status of the cluster is %s.\n", asOf)
	}
	ui.Printf(b, "\n")
	if taken := accepted(d.Rotations); taken != "" && !form.noHeaders {
		ui.Wrap(b, "", taken)
		ui.Printf(b, "\n")
	}
	if len(d.Rotations) == 0 {
		ui.Printf(b, "There is nothing here that certrot knows to rotate.\n")
	}
	if table := rotationsTable(d, form, now); form.wide || form.noHeaders || ui.Widest(table) <= b.Columns() {
		ui.Printf(b, "%s", table)
	} else {
		rows := marked(d.Rotations)
		for i, e := range rows {
			rows[i].Name = indentOf(e) + e.Name
		}
		(&rotateOptions{}).printTable(b, rows, "WHY")
	}
	type reason struct{ check, text, next string }
	var reasons []reason
	of := map[reason][]string{}
	for _, e := range d.Rotations {
		for _, v := range e.Checks {
			if !v.blocks {
				continue
			}
			text := reason{v.ID, v.Reason, v.Remediation.Text}
			if v.NoAPI { // one reason for all of them
				text.check = strings.Join(e.unasked(), ", ")
			}
			if of[text] == nil {
				reasons = append(reasons, text)
			}
			if name := foreign.Text(e.Name); !slices.Contains(of[text], name) {
				of[text] = append(of[text], name)
			}
		}
	}
	for _, why := range reasons {
		ui.Printf(b, "\n")
		ui.Wrap(b, "", why.check+", of "+apply.NodeNames(of[why])+":")
		printWhy(b, assess.Assessment{Reason: why.text, Remediation: assess.Advise(why.next)})
	}
	_, err := io.WriteString(out, ui.CleanLines(b.String()))
	return err
}

// indentOf is of what a signer above it signs.
func indentOf(e rotationEntry) string {
	if e.Role == "signer" {
		return ""
	}
	return "  "
}

// rotationsTable is a line each, with all checks that stop it.
func rotationsTable(d rotationsDocument, form rotationsForm, now time.Time) string {
	var out strings.Builder
	t := printers.GetNewTabWriter(&out)
	head := "NAME\tAGE\tEXPIRES\tNEXT\tROTATES NOW"
	if form.wide {
		head += "\tSECRET\tVERIFIED BY\tON NODES"
	}
	if len(d.Rotations) > 0 && !form.noHeaders {
		ui.Printf(t, "%s\n", head)
	}
	for _, e := range d.Rotations {
		age, expires, next := "-", "-", "-"
		if e.NotBefore != nil {
			age, expires = duration.HumanDuration(now.Sub(*e.NotBefore)), e.NotAfter.UTC().Format(time.DateOnly)
		}
		if e.Next != nil {
			next = e.Next.UTC().Format(time.DateOnly)
		}
		ui.Printf(t, "%s%s\t%s\t%s\t%s\t%s", indentOf(e), e.Name, age, expires, next, e.short())
		if form.wide {
			ui.Printf(t, "\t%s\t%s\t%s", e.Secret, ui.OrDash(strings.Join(e.Consumers, "; ")), ui.OrDash(strings.Join(e.Effect, "; ")))
		}
		ui.Printf(t, "\n")
	}
	_ = t.Flush() // the buffer does not fail
	return out.String()
}

// printWhy prints why a check blocks. Of several commands in an order, each is whole on a line of its own.
func printWhy(w *ui.Page, a assess.Assessment) {
	const lead = "  next  "
	next := a.Remediation.Text
	if !numbered.MatchString(next) {
		ui.Assessment(w, "  ", a, nil)
		return
	}
	a.Remediation = assess.Remediation{}
	ui.Assessment(w, "  ", a, nil)
	ui.Printf(w, "%s%s\n", lead, strings.ReplaceAll(inOrder(next, w.Columns()-len(lead)), "\n", "\n"+strings.Repeat(" ", len(lead))))
}

// unasked are the checks that only an API server answers, where none was asked.
func (e rotationEntry) unasked() (names []string) {
	for _, v := range e.Checks {
		if v.blocks && v.NoAPI {
			names = append(names, v.ID)
		}
	}
	return names
}

// short says whether it would be rotated now, and the checks that stop it.
func (e rotationEntry) short() string {
	var names []string
	for _, v := range e.Checks {
		if v.blocks && !v.NoAPI {
			names = append(names, v.ID)
		}
	}
	if n := len(e.unasked()); n > 0 {
		names = append(names, notChecked(n))
	}
	if len(names) == 0 {
		return e.Rotates
	}
	return e.Rotates + ": " + strings.Join(names, ", ")
}

// notChecked are so many checks that only an API server answers.
func notChecked(n int) string { return fmt.Sprintf("%d not checked", n) }

func lines(text string) int { return strings.Count(text, "\n") }

// sharedReason is the check that fails for each of several rows, so that none can be rotated now; false: there is none.
func sharedReason(rows []rotationEntry) (rotationCheck, bool) {
	if len(rows) < 2 {
		return rotationCheck{}, false
	}
	fails := func(e rotationEntry, id string) bool {
		return e.Rotates == rotates(assess.Fail) && slices.ContainsFunc(e.Checks, func(c rotationCheck) bool { return c.ID == id && c.blocks && c.Status == assess.Fail })
	}
	for _, c := range rows[0].Checks {
		if c.Reason == "" || c.ID == managedCheck {
			continue
		}
		if !slices.ContainsFunc(rows, func(e rotationEntry) bool { return !fails(e, c.ID) }) {
			return c, true
		}
	}
	return rotationCheck{}, false
}

// without are rows without a reason that all of them have.
func without(rows []rotationEntry, id string) []rotationEntry {
	out := slices.Clone(rows)
	for i := range out {
		out[i].Checks = slices.DeleteFunc(slices.Clone(out[i].Checks), func(c rotationCheck) bool { return c.ID == id })
	}
	return out
}

// askedOf are rows without the checks that only the API server answers, where the same are left of each, and how
// many these are; empty: rows are as they were.
func askedOf(rows []rotationEntry) (out []rotationEntry, unasked string) {
	same := rows[0].unasked()
	if len(same) == 0 || slices.ContainsFunc(rows, func(e rotationEntry) bool { return !slices.Equal(e.unasked(), same) }) {
		return rows, ""
	}
	for _, id := range same {
		rows = without(rows, id)
	}
	return rows, ui.Count(len(same), "check") + " of each need the live cluster"
}

// nothingNow says why none of the rows can be rotated: the check's reason, in few words where it is long.
func (e rotationEntry) nothingNow(stops rotationCheck, columns int) string {
	reason, _, _ := strings.Cut(stops.Reason, ". ")
	if len(reason) > columns { // of many nodes or operators
		reason = e.inFewWords(stops)
	}
	if stops.ID == "nodes-ready" { // a sentence of what it says of each node
		reason = strings.NewReplacer(": no heartbeat", " has no heartbeat", " (Lease), Ready is Unknown", "", " (Lease)", "", ": NotReady (Ready is Unknown)", " is NotReady").Replace(reason)
	}
	return "Nothing can be rotated now: " + ui.Clean(ui.OneLine(reason)) + " (" + stops.ID + ")"
}

// accepted says which checks do not pass and were accepted by name; empty: none was.
func accepted(all []rotationEntry) string {
	var names []string
	for _, e := range all {
		for _, c := range e.Checks {
			if c.Accepted && !slices.Contains(names, c.ID) {
				names = append(names, c.ID)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "! accepted: " + strings.Join(names, ", ")
}

// marked are entries by names that may stand on a screen.
func marked(entries []rotationEntry) []rotationEntry {
	out := slices.Clone(entries)
	for i := range out {
		out[i].Name = foreign.Text(out[i].Name)
	}
	return out
}
