package apply

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// PlanChecks prints, for each plan, which checks before it passed, and which are unknown because no
// API server was asked. Those that were accepted have their reasons elsewhere.
type PlanChecks struct{ remediate.Checked }

// whyUnknown says why checks that only an API server answers are unknown.
func (c PlanChecks) whyUnknown() string {
	if c.OfFile {
		return fileHasNoStatus
	}
	return noServerAsked
}

// asOf is when the cluster was read, behind and before these; empty: just now.
func (c PlanChecks) asOf(before, behind string) string {
	if c.AsOf == "" {
		return ""
	}
	return before + c.AsOf + behind
}

// InFull names all of them.
func (c PlanChecks) InFull(w io.Writer) {
	if passed := c.Passed(); len(passed) > 0 {
		ui.Wrap(w, "Checked  ", c.asOf("", ": ")+strings.Join(passed, ", "))
	}
	if unknown := c.NotAsked(); len(unknown) > 0 {
		ui.Wrap(w, "Unknown  ", "since "+c.whyUnknown()+": "+strings.Join(unknown, ", "))
	}
}

// Sentences name all of them, for a script.
func (c PlanChecks) Sentences() (out []string) {
	if passed := c.Passed(); len(passed) > 0 {
		out = append(out, "Checked of the whole cluster"+c.asOf(", ", "")+": "+strings.Join(passed, ", ")+".")
	}
	if unknown := c.NotAsked(); len(unknown) > 0 {
		out = append(out, "Unknown, since "+c.whyUnknown()+": "+strings.Join(unknown, ", ")+".")
	}
	return out
}

// Counted prints on a line how many passed, and the names of the unknown ones.
func (c PlanChecks) Counted(a *ui.OneScreen, lead string) {
	passed := fmt.Sprintf("%s%s %d pass%s", lead, ui.StatusMark(assess.Pass), len(c.Passed()), c.asOf(", ", ""))
	if unknown := c.NotAsked(); len(unknown) > 0 {
		a.Names(ui.Always, passed+"; "+ui.StatusMark(assess.Unknown)+" unknown, "+c.whyUnknown()+": ", unknown)
	} else {
		a.Line(ui.Useful, "%s", passed)
	}
}

// Marks of lines of a summary.
const (
	passMark    = "✓ PASS"
	unknownMark = "? UNKNOWN"
)

// Forms of the lines of checks in a summary.
const (
	checksInBrief = iota // a line for each status, with the names that fit
	checksInFew          // the same, and where the answer is that a file does not have
	checksWhole          // no name is left out
)

// summarize prints a line for each status, in the words of users.
func (c PlanChecks) summarize(w *ui.Page, form int) {
	line := func(mark, about string, names []string) {
		lead := note{mark: mark}.lead() + about
		switch {
		case len(names) == 0:
		case form == checksWhole:
			ui.Wrap(w, lead, strings.Join(names, ", "))
		default:
			w.Line(lead + ui.NamesThatFit(names, w.Columns()-ui.Width(lead)))
		}
	}
	about := c.whyUnknown() + ": "
	switch unknown := c.NotAsked(); {
	case !c.OfFile:
		line(unknownMark, about, unknown)
	case form == checksInFew && len(unknown) > 0:
		w.Few(note{mark: unknownMark}.lead(), about+strings.Join(inPlainWords(unknown), ", ")+"; they are on the live cluster")
	default:
		line(unknownMark, about, inPlainWords(unknown))
	}
	line(passMark, c.asOf("", ": "), passedInWords(c.Passed()))
}

// What a plan's screen says of checks that no API server answered.
const (
	fileHasNoStatus = "this file has no status"
	noServerAsked   = "no API server was asked"
)

// NotChecked are the words for checks that only an API server answers, where none was asked.
func NotChecked() []string { return []string{fileHasNoStatus, noServerAsked, "not checked"} }

// CheckWords are the checks of the whole cluster by the words that a plan's screen has of them, as explain takes
// both.
func CheckWords() map[string]string {
	out := map[string]string{}
	for _, words := range []map[string]string{plainWords(), passedWords()} {
		for id, words := range words {
			out[words] = id
		}
	}
	return out
}

// plainWords are checks as people call what is checked.
func plainWords() map[string]string {
	return map[string]string{
		"etcd-healthy": "etcd health", "static-pods-settled": "static Pods", "upgrade-running": "upgrades",
		"pools-settled": "MachineConfigPools", "remediation-active": "node remediation", "operators-settled": "operators",
	}
}

// passedWords are checks that passed, as what they found.
func passedWords() map[string]string {
	return map[string]string{
		"server-side-consistent": "published CA verifies api-int", "named-certificate": "no custom certificate", "clocks": "clocks agree",
	}
}

// inPlainWords are checks of the whole cluster in plainWords; one without them by its name.
func inPlainWords(checks []string) []string { return inWords(checks, plainWords()) }

// passedInWords are the same for checks that passed.
func passedInWords(checks []string) []string {
	words := plainWords()
	maps.Copy(words, passedWords())
	return inWords(checks, words)
}

func inWords(checks []string, words map[string]string) []string {
	out := make([]string, len(checks))
	for i, check := range checks {
		out[i] = cmp.Or(words[check], check)
	}
	return out
}
