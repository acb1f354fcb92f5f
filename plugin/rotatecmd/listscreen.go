package rotatecmd

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

const (
	// maxReasons is how many reasons stand below the list.
	maxReasons = 12
	// leastName is the least width of the column of names.
	leastName = 20
)

// managedCheck is the one that fails where certrot does not rotate something at all.
const managedCheck = "managed"

// printList prints --list on a screen: a line each, the most urgent first, and below them each reason
// why something would not be rotated now, once.
func (o *rotateOptions) printList(out io.Writer, d rotationsDocument, now time.Time, asOf string) error {
	w := ui.NewPage(out)
	printHead(w, d.Cluster, now, o.from())
	if asOf != "" {
		ui.Printf(w, "The status of the cluster is %s.\n", asOf)
	}
	ui.Printf(w, "\n")
	if len(d.Rotations) == 0 {
		ui.Printf(w, "There is nothing here that certrot knows to rotate.\n")
		_, err := io.WriteString(out, ui.CleanLines(w.String()))
		return err
	}
	all := marked(d.Rotations)
	slices.SortStableFunc(all, mostUrgent)
	rows, folded := o.folded(all)
	next, why, shared := o.reading.Hints().Next("{} rotate NAME --dry-run=client"), "WHY", ""
	if taken := accepted(d.Rotations); taken != "" && !o.noHeaders {
		ui.Wrap(w, "", taken)
		ui.Printf(w, "\n")
		next += " --accept-risk=" + strings.Join(o.risks, ",")
	}
	if stops, is := sharedReason(rows); is && !o.noHeaders {
		shared = rows[0].nothingNow(stops, w.Columns())
		ui.Wrap(w, "", shared)
		ui.Printf(w, "\n")
		if strings.HasPrefix(stops.Remediation.Text, o.app.ProgramName+" ") {
			next = stops.Remediation.Text
		}
		rows, why = without(rows, stops.ID), "ALSO"
		var unasked string
		if rows, unasked = askedOf(rows); unasked != "" {
			folded = unasked + strings.TrimSuffix("; "+folded, "; ")
		}
	}
	o.printTable(w, rows, why)
	if folded != "" {
		ui.Wrap(w, "", folded)
	}
	bottom := ui.NewPage(w)
	if shared != "" && lines(w.String()) > screenLines { // what is first has scrolled away
		ui.Wrap(bottom, "", shared)
	}
	bottom.Command("next", next)
	ui.Printf(bottom, "%s\n", moreDetails)
	legend := ui.NewPage(w)
	printReasons(legend, all)
	ui.Printf(w, "\n")
	if o.noHeaders || lines(w.String()+legend.String()+bottom.String()) <= screenLines {
		ui.Printf(w, "%s", legend)
	}
	ui.Printf(w, "%s", bottom)
	_, err := io.WriteString(out, ui.CleanLines(w.String()))
	return err
}

// byOthers reports whether certrot does not rotate it at all.
func (e rotationEntry) byOthers() bool {
	return slices.ContainsFunc(e.Checks, func(c rotationCheck) bool { return c.ID == managedCheck && c.blocks })
}

// folded are the rows of what exists and certrot rotates, and a line that counts the others. Scripts, which want no
// headers, get them all.
func (o *rotateOptions) folded(all []rotationEntry) (rows []rotationEntry, line string) {
	if o.noHeaders {
		return all, ""
	}
	absent, others := 0, 0
	for _, e := range all {
		switch why := e.whys(); {
		case e.byOthers() && e.Rotates == rotates(assess.Fail):
			others++
		case len(why) == 1 && why[0].reason == notThere:
			absent++
		default:
			rows = append(rows, e)
		}
	}
	var counts []string
	count := func(n int, one, many string) {
		switch n {
		case 0:
		case 1:
			counts = append(counts, "1 "+one)
		default:
			counts = append(counts, fmt.Sprintf("%d %s", n, many))
		}
	}
	count(absent, "does not exist", "do not exist")
	count(others, "is not rotated by certrot", "are not rotated by certrot")
	if len(counts) == 0 {
		return rows, ""
	}
	return rows, strings.Join(counts, ", ") + ": --details"
}

// leastForWhy is the width below which the table does not say why.
const leastForWhy = 60

// printTable prints a line for each. A name is whole: it is what is typed. One that is longer than
// its column has a line of its own; the expiry goes first where there is no room, then why.
func (o *rotateOptions) printTable(w *ui.Page, all []rotationEntry, header string) {
	if len(all) == 0 {
		return
	}
	if slices.ContainsFunc(all, func(e rotationEntry) bool { return len(e.whys()) > 1 }) {
		header += " (+1: one more)"
	}
	longest, now, why := len("NAME"), len("NOW"), len(header)
	for _, e := range all {
		longest, now, why = max(longest, ui.Width(ui.Clean(e.Name))), max(now, len(e.Rotates)), max(why, ui.Width(e.why()))
	}
	const date = 2 + len(time.DateOnly)
	says, least := o.noHeaders || w.Columns() >= leastForWhy, leastName
	if !says {
		why, least = -2, leastName/2
	}
	room := w.Columns() - date - 2 - now - 2 - why
	expires := longest+date <= room
	wide := max(min(longest, room), least)
	line := func(name, next, expiry, rotates, why string) {
		if ui.Width(name) > wide {
			ui.Printf(w, "%s\n", name)
			name = ""
		}
		rest := fmt.Sprintf("  %-10s", next)
		if expires {
			rest += fmt.Sprintf("  %-10s", expiry)
		}
		if rest += fmt.Sprintf("  %-*s", now, rotates); says {
			rest += "  " + why
		}
		ui.Printf(w, "%s%s\n", ui.Padded(name, wide), strings.TrimRight(rest, " "))
	}
	if !o.noHeaders {
		line("NAME", "NEXT", "EXPIRES", "NOW", header)
	}
	for _, e := range all {
		line(ui.Clean(e.Name), day(e.Next), day(e.NotAfter), e.Rotates, e.why())
	}
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
		case e.byOthers() && e.Rotates == rotates(assess.Fail):
			return 4
		case e.byOthers():
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

// why is one reason, the checks that give it, and what the table has of it.
type why struct {
	short, ids, reason string
	status             assess.Status
}

// why is what the table says of why it would not be rotated now: the first reason, and how many checks
// more there are.
func (e rotationEntry) why() string {
	all := e.whys()
	if len(all) == 0 {
		return ""
	}
	if more := len(all) - 1; more > 0 {
		return fmt.Sprintf("%s +%d", all[0].short, more)
	}
	return all[0].short
}

// whys are the reasons why it would not be rotated now, in few words: what fails, then what is unknown.
func (e rotationEntry) whys() []why {
	var out []why
	for _, c := range e.Checks {
		if !c.blocks {
			continue
		}
		reason := e.inFewWords(c)
		if c.NoAPI {
			reason = onlyLive
		}
		if reason == notThere { // what else blocks it follows from that
			return []why{{"does not exist", c.ID, reason, c.Status}}
		}
		i := slices.IndexFunc(out, func(w why) bool { return w.reason == reason && w.status == c.Status })
		switch {
		case i < 0 && reason == noSigner:
			out = append(out, why{"no signer", c.ID, reason, c.Status})
		case i < 0:
			out = append(out, why{inAWord(c), c.ID, reason, c.Status})
		default:
			out[i].ids += ", " + c.ID
		}
	}
	for i, w := range out {
		if w.reason == onlyLive {
			out[i].short = notChecked(len(e.unasked()))
		}
	}
	slices.SortStableFunc(out, func(a, b why) int {
		return cmp.Compare(certainty(a.status), certainty(b.status))
	})
	return out
}

// certainty is lower of what is known to fail.
func certainty(s assess.Status) int {
	if s == assess.Fail {
		return 0
	}
	return 1
}

const (
	// notThere is the reason of what its operator has not made, or not yet.
	notThere = "its operator has not made it"
	// noSigner is the reason of what such a signer signs.
	noSigner = "its signer does not exist"
	// onlyLive is the reason of checks that only the API server answers, where none was asked.
	onlyLive = "only the live cluster tells"
)

// inFewWords is why a check blocks: --details and the plan have its whole reason.
func (e rotationEntry) inFewWords(c rotationCheck) string {
	const absent = " is not there"
	switch {
	case strings.Contains(c.Reason, placeOf(e.Secret)+absent):
		return notThere
	case e.By != "" && strings.Contains(c.Reason, placeOf(e.By)+absent):
		return noSigner
	}
	if w, ok := notNowOf(c); ok {
		if c.Status == assess.Unknown && w.unknown != "" {
			return w.unknown
		}
		return w.fail
	}
	// Its own place, and that of its signer, are not named: the reason is the same of each that shares it.
	reason := strings.ReplaceAll(c.Reason, placeOf(e.Secret), "it")
	if e.By != "" {
		reason = strings.ReplaceAll(reason, placeOf(e.By), "its signer")
	}
	return ui.Clean(ui.OneLine(reason))
}

// inAWord is the same for the table.
func inAWord(c rotationCheck) string {
	w, ok := notNowOf(c)
	switch {
	case !ok:
		return c.ID
	case c.Status == assess.Unknown && w.shortUnknown != "":
		return w.shortUnknown
	}
	return w.short
}

// notNowOf are the words about a check; false: there are none.
func notNowOf(c rotationCheck) (notNow, bool) {
	all := whyNotNow()
	i := slices.IndexFunc(all, func(w notNow) bool { return w.id == c.ID })
	if i < 0 {
		return notNow{}, false
	}
	return all[i], true
}

// notNow says in few words why a check blocks a rotation.
type notNow struct {
	id, short, fail string // short is for the table: its name says what the check wants
	// Where something was not read; empty: as where it fails.
	shortUnknown, unknown string
}

// whyNotNow are those of all checks before a rotation.
func whyNotNow() []notNow {
	return []notNow{
		{managedCheck, "not by certrot", "certrot does not rotate it; NAME --explain says who does", "version unknown", "how it rotates depends on a version that is unknown"},
		{"control-plane-here", "hosted", "another cluster has the control plane", "", ""},
		{"annotations-agree", "annotations wrong", "they contradict its certificate", "Secret unread", "its Secret was not read"},
		{"signer-type", "Secret type", "operators would delete such a signer", "type unknown", "the Secret type of its signer is unknown"},
		{"chain-settled", "rotation running", "its last rotation is still under way", "rotation unread", "is its last rotation still under way?"},
		{rotate.ReachesVerifiers, "CA not delivered", "nodes get no new CA in this version", "delivery unknown", "do nodes get its new CA?"},
		{"leaf-young", "leaf due soon", "what it signs is due: rotate that first", "leaf unread", "what it signs was not read"},
		{"signer-age", "signer too new", "some clients may not have its signer yet", "age unknown", "the age of its signer is unknown"},
		{rotate.SignerTrusted, "untrusted signer", "some clients do not trust its signer yet", "clients unknown", "do its clients trust its signer?"},
		{rotate.OutsideVerifiers, "outside clients", "certrot can't check clients elsewhere", "", ""},
		{rotate.PodsMemory, "pods have old CA", "pods have only the previous CA loaded", "pods unread", "which CA have pods loaded?"},
		{rotate.OwnKubeconfig, "your kubeconfig", "your kubeconfig does not trust its signer", "", "does your kubeconfig trust its signer?"},
		{"topology", "kubelet restart", "kubelets may not restart here", "topology unread", "does it restart kubelets?"},
		{"operators-settled", "operators unwell", "operators are not well or not at rest", "operators unread", "operators were not read"},
		{"upgrade-running", "upgrade running", "an upgrade is under way", "upgrade unknown", "is an upgrade under way?"},
		{preflight.StaticPodsSettled, "pods rolling out", "static pods are rolling out", "rollout unknown", "static pods were not read"},
		{"pools-ready", "pools not ready", "a pool is paused, updating or degraded", "pools unread", "pools were not read"},
		{"nodes-ready", "nodes not ready", "nodes are NotReady or have no heartbeat", "nodes unread", "nodes were not read"},
		{preflight.UnreviewedVersion, "not reviewed", "this version was not reviewed", "", ""},
	}
}

// Whys are the checks by the words that the table has of them, as explain takes both.
func Whys() map[string]string {
	out := map[string]string{"does not exist": "there", "no signer": "there"}
	for _, w := range whyNotNow() {
		out[w.short] = w.id
		if w.shortUnknown != "" {
			out[w.shortUnknown] = w.id
		}
	}
	return out
}

// printReasons prints what the table says of why something would not be rotated now, in few words.
func printReasons(w *ui.Page, all []rotationEntry) {
	var order []why
	wide := 0
	for _, e := range all {
		for _, k := range e.whys() {
			if !slices.Contains(order, k) {
				order, wide = append(order, k), max(wide, len(k.short))
			}
		}
	}
	if len(order) > 0 {
		ui.Printf(w, "Why not now:\n")
	}
	for i, k := range order {
		if i == maxReasons && len(order) > maxReasons+1 {
			ui.Printf(w, "  %s: --details\n", ui.Count(len(order)-i, "more reason"))
			break
		}
		if k.reason == onlyLive { // each of them is named
			ui.Wrap(w, fmt.Sprintf("%s %-*s  ", ui.StatusMark(k.status), wide, k.short), k.reason+": "+k.ids)
			continue
		}
		line := fmt.Sprintf("%s %-*s  %s", ui.StatusMark(k.status), wide, k.short, k.reason)
		if k.ids != k.short && k.ids != managedCheck { // by that name it is accepted, where it may be
			line += " (" + k.ids + ")"
		}
		ui.Printf(w, "%s\n", ui.Shortened(line, w.Columns()))
	}
}

// placeOf is the place of a certificate as checks write it.
func placeOf(secret string) string { return "Secret/" + secret + "[tls.crt]" }
