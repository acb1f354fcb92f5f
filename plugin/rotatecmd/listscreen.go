package rotatecmd

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

const (
	// maxReasons is how many reasons stand below the list.
	maxReasons = 12
	// listColumns are those behind the name: the next rotation, the expiry, and whether it rotates now.
	listColumns = 2 + len("NEXT ROTATION") + 2 + len(time.DateOnly) + 2 + len("unknown")
)

// managedCheck is the one that fails where certrot does not rotate something at all.
const managedCheck = "managed"

// printList prints --list on a screen: a line each, the most urgent first, and below them each
// reason why something would not be rotated now, once.
func (o *rotateOptions) printList(out io.Writer, d rotationsDocument, now time.Time, asOf string) error {
	w := ui.NewPage(out)
	printer := ui.HumanPrinter{}
	for _, line := range printer.Head(w, d.Cluster, now, ui.Clean(strings.Join(o.reading.From, ", ")), "") {
		ui.Printf(w, "%s\n", ui.Shortened(line, w.Columns()))
	}
	if asOf != "" {
		ui.Printf(w, "The status of the cluster is %s.\n", asOf)
	}
	ui.Printf(w, "\n")
	if len(d.Rotations) == 0 {
		ui.Printf(w, "There is nothing here that certrot knows to rotate.\n")
		_, err := io.WriteString(out, ui.CleanLines(w.String()))
		return err
	}
	all := slices.Clone(d.Rotations)
	slices.SortStableFunc(all, mostUrgent)
	wide := 0
	for _, e := range all {
		wide = max(wide, len([]rune(e.Name)))
	}
	wide = max(len("NAME"), min(wide, w.Columns()-listColumns))
	if !o.noHeaders {
		ui.Printf(w, "%-*s  NEXT ROTATION  EXPIRES     NOW\n", wide, "NAME")
	}
	for _, e := range all {
		name := ui.Clean(e.Name)
		if len([]rune(name)) > wide { // whole, to be typed
			ui.Printf(w, "%s\n", name)
			name = ""
		}
		ui.Printf(w, "%-*s  %-13s  %-10s  %s\n", wide, name, day(e.Next), day(e.NotAfter), e.Rotates)
	}
	ui.Printf(w, "\n")
	o.printReasons(w, all)
	_, err := io.WriteString(out, ui.CleanLines(w.String()))
	return err
}

func day(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format(time.DateOnly)
}

// mostUrgent orders what can be rotated now before what can't, what others rotate last, and then
// by when it is due.
func mostUrgent(a, b rotationEntry) int {
	rank := func(e rotationEntry) int {
		switch {
		case e.Rotates == rotates(assess.Pass):
			return 0
		case slices.ContainsFunc(e.Checks, func(c rotationCheck) bool { return c.ID == managedCheck && c.blocks }):
			return 3
		case e.Rotates == rotates(assess.Unknown):
			return 1
		}
		return 2
	}
	due := func(e rotationEntry) time.Time {
		switch {
		case e.Next != nil:
			return *e.Next
		case e.NotAfter != nil:
			return *e.NotAfter
		}
		return time.Unix(1<<40, 0)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), due(a).Compare(due(b)))
}

// why is one reason, and the checks that give it.
type why struct {
	ids, reason string
	status      assess.Status
}

// whys are the reasons why it would not be rotated now. Its own place, and that of its signer, are
// not named in them: so they are the same of each that shares them.
func (e rotationEntry) whys() []why {
	var out []why
	for _, c := range e.Checks {
		if !c.blocks {
			continue
		}
		reason := strings.ReplaceAll(c.Reason, placeOf(e.Secret), "it")
		if e.By != "" {
			reason = strings.ReplaceAll(reason, placeOf(e.By), "its signer")
		}
		i := slices.IndexFunc(out, func(w why) bool { return w.reason == reason && w.status == c.Status })
		if i < 0 {
			out = append(out, why{c.ID, reason, c.Status})
		} else {
			out[i].ids += ", " + c.ID
		}
	}
	return out
}

// printReasons prints why something would not be rotated now: each reason once, in a line, with its
// first name and how many others it is about.
func (o *rotateOptions) printReasons(w *ui.Page, all []rotationEntry) {
	var order []why
	names := map[why][]string{}
	for _, e := range all {
		for _, k := range e.whys() {
			if names[k] == nil {
				order = append(order, k)
			}
			names[k] = append(names[k], e.Name)
		}
	}
	for i, k := range order {
		if i == maxReasons && len(order) > maxReasons+1 {
			ui.Printf(w, "  %s: --details\n", ui.Count(len(order)-i, "more reason"))
			break
		}
		more := ""
		if n := len(names[k]) - 1; n > 0 {
			more = fmt.Sprintf(" +%d", n)
		}
		name := ui.Shortened(ui.Clean(names[k][0]), w.Columns()/2) + more
		ui.Printf(w, "%s\n", ui.Shortened(ui.StatusMark(k.status)+" "+name+": "+k.ids+": "+ui.Clean(ui.OneLine(k.reason)), w.Columns()))
	}
	ui.Printf(w, "%s%s\n", label("next"), inspect.LiveHints(o.app.ProgramName).Next("{} rotate NAME --dry-run=client"))
	ui.Printf(w, "%s\n", moreDetails)
}

// placeOf is the place of a certificate as checks write it.
func placeOf(secret string) string { return "Secret/" + secret + "[tls.crt]" }
