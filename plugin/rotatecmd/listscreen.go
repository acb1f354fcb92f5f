package rotatecmd

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

const (
	// maxReasons is how many reasons stand below the list.
	maxReasons = 12
	// listColumns are those behind the name: the next rotation, the expiry, and whether it rotates now.
	listColumns = 2 + len("NEXT ROTATION") + 2 + len(time.DateOnly) + 2 + len("unknown")
)

// managedCheck is the one that fails where certrot does not rotate something at all.
const managedCheck = "managed"

// printList prints --list on a screen: a line each, the most urgent first, and below them each reason
// why something would not be rotated now, once.
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
		wide = max(wide, ui.Width(ui.Clean(e.Name)))
	}
	wide = max(len("NAME"), min(wide, w.Columns()-listColumns))
	if !o.noHeaders {
		ui.Wrap(w, "", "NEXT ROTATION: when it rotates automatically. NOW: can it be rotated now?")
		ui.Printf(w, "\n%-*s  NEXT ROTATION  EXPIRES     NOW\n", wide, "NAME")
	}
	for _, e := range all {
		ui.Printf(w, "%s  %-13s  %-10s  %s\n", ui.Padded(ui.Clean(e.Name), wide), day(e.Next), day(e.NotAfter), e.Rotates)
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

// whys are the reasons why it would not be rotated now, in few words.
func (e rotationEntry) whys() []why {
	var out []why
	for _, c := range e.Checks {
		if !c.blocks {
			continue
		}
		reason := e.inFewWords(c)
		if reason == notThere { // what else blocks it follows from that
			return []why{{c.ID, reason, c.Status}}
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

// notThere is the reason of what its operator has not made, or not yet.
const notThere = "it does not exist in this cluster"

// inFewWords is why a check blocks: --details and the plan have its whole reason.
func (e rotationEntry) inFewWords(c rotationCheck) string {
	const absent = " is not there"
	switch {
	case strings.Contains(c.Reason, placeOf(e.Secret)+absent):
		return notThere
	case e.By != "" && strings.Contains(c.Reason, placeOf(e.By)+absent):
		return "its signer does not exist"
	}
	for _, w := range whyNotNow() {
		switch {
		case w.id != c.ID:
		case c.Status == assess.Unknown && w.unknown != "":
			return w.unknown
		default:
			return w.fail
		}
	}
	// Its own place, and that of its signer, are not named: the reason is the same of each that shares it.
	reason := strings.ReplaceAll(c.Reason, placeOf(e.Secret), "it")
	if e.By != "" {
		reason = strings.ReplaceAll(reason, placeOf(e.By), "its signer")
	}
	return ui.Clean(ui.OneLine(reason))
}

// notNow says in few words why a check blocks a rotation.
type notNow struct {
	id, fail string
	unknown  string // where something was not read; empty: as fail
}

// whyNotNow are those of all checks before a rotation.
func whyNotNow() []notNow {
	return []notNow{
		{managedCheck, "certrot does not rotate it", "how it rotates depends on a version that is unknown"},
		{"control-plane-here", "the control plane runs in another cluster", ""},
		{"annotations-agree", "its annotations disagree with its certificate", "its Secret was not read"},
		{"signer-type", "operators would delete a signer of this Secret type", "the Secret type of its signer is unknown"},
		{"chain-settled", "its last rotation is still under way", "not read: is its last rotation still under way?"},
		{rotate.ReachesVerifiers, "nodes do not get its new CA in this version", "not read: do nodes get its new CA?"},
		{"leaf-young", "what it signs is due soon: rotate that first", "what it signs was not read"},
		{"signer-age", "its signer is too new to be trusted everywhere", "the age of its signer is unknown"},
		{rotate.SignerTrusted, "some clients do not trust its signer yet", "not read: do its clients trust its signer?"},
		{rotate.OutsideVerifiers, "clients outside the cluster can't be checked", ""},
		{rotate.PodsMemory, "pods have only the previous CA loaded", "not read: which CA have pods loaded?"},
		{rotate.OwnKubeconfig, "your kubeconfig does not trust its signer", "not read: does your kubeconfig trust its signer?"},
		{"topology", "it restarts kubelets, which may not restart here", "not read: does it restart kubelets?"},
		{"operators-settled", "operators are not well or not at rest", "operators were not read"},
		{"upgrade-running", "an upgrade is under way", "not read: is an upgrade under way?"},
		{preflight.StaticPodsSettled, "static pods are rolling out", "static pods were not read"},
		{"pools-ready", "a pool is paused, updating or degraded", "pools were not read"},
		{"nodes-ready", "nodes are NotReady or have no heartbeat", "nodes were not read"},
		{preflight.UnreviewedVersion, "this version was not reviewed", ""},
	}
}

// printReasons prints why something would not be rotated now: each reason once, with its checks, and
// below it as many names as fit.
func (o *rotateOptions) printReasons(w *ui.Page, all []rotationEntry) {
	var order []why
	names := map[why][]string{}
	for _, e := range all {
		for _, k := range e.whys() {
			if names[k] == nil {
				order = append(order, k)
			}
			names[k] = append(names[k], ui.Clean(e.Name))
		}
	}
	if len(order) > 0 {
		ui.Printf(w, "Why not now:\n")
	}
	const indent = "    "
	for i, k := range order {
		if i == maxReasons && len(order) > maxReasons+1 {
			ui.Printf(w, "  %s: --details\n", ui.Count(len(order)-i, "more reason"))
			break
		}
		lead := ui.StatusMark(k.status) + " " + k.reason + " ("
		ids := ui.NamesThatFit(strings.Split(k.ids, ", "), max(w.Columns()-ui.Width(lead)-1, 1))
		ui.Printf(w, "%s\n", ui.Shortened(lead+ids+")", w.Columns()))
		ui.Printf(w, "%s%s\n", indent, ui.NamesThatFit(names[k], w.Columns()-len(indent)))
	}
	ui.Printf(w, "%s%s\n", label("next"), inspect.LiveHints(o.app.ProgramName).Next("{} rotate NAME --dry-run=client"))
	ui.Printf(w, "%s\n", moreDetails)
}

// placeOf is the place of a certificate as checks write it.
func placeOf(secret string) string { return "Secret/" + secret + "[tls.crt]" }
