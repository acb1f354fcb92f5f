package rotatecmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// reasonColumns is where the words of a stage stand, behind its mark and its ID.
const reasonColumns = 14

// stageLead is the beginning of the line of a stage.
func stageLead(s rotate.Stage) string { return leadOf(reachedMark(s.Status), s) }

func leadOf(mark string, s rotate.Stage) string {
	return fmt.Sprintf("%s %-*s", mark, reasonColumns-2, s.ID)
}

// failing tells of a stage whether it is part of an outage: the CA signs already, and clients that do
// not trust it fail. Then nothing is waited for.
func failing(stages []rotate.Stage) func(rotate.Stage) bool {
	of := map[string]rotate.Stage{}
	for _, s := range stages {
		of[s.ID] = s
	}
	trust, edges := of[rotate.StageTrust], of[rotate.StageEdges]
	outage := of[rotate.StageLeaf].Reached > 0 && edges.Status != assess.Pass && trust.Status == assess.Warn && len(trust.Late) > 0
	return func(s rotate.Stage) bool {
		switch s.ID {
		case rotate.StageTrust, rotate.StageLeaf:
			return outage
		case rotate.StageEdges: // they are judged once it signs
			return s.Status == assess.Warn && len(s.Late) > 0
		}
		return false
	}
}

// failingMark is that of a stage that is part of an outage: where it is reached, it should not be.
func failingMark(s rotate.Stage) string {
	if s.ID == rotate.StageLeaf {
		return "!"
	}
	return ui.StatusMark(assess.Fail)
}

// failingWords say what a stage is to an outage, before the names of those that are late.
func failingWords(p rotate.Planned, s rotate.Stage) string {
	switch s.ID {
	case rotate.StageTrust:
		return fmt.Sprintf("%d of %d clients do not trust it: ", len(s.Late), s.All)
	case rotate.StageEdges:
		return fmt.Sprintf("checks fail in %d of %d places: ", len(s.Late), s.All)
	}
	words := stageWords(p, s)
	if s.Status != assess.Pass {
		words += lateWord(s)
	}
	return strings.Replace(words, "it signs", "it already signs", 1)
}

// stageText is a stage in one line: its mark, its ID, how far it is, and the first for which it is
// not reached.
func stageText(p rotate.Planned, s rotate.Stage, columns int) string {
	words := stageWords(p, s)
	name, more := firstLate(s)
	if name == "" {
		return stageLead(s) + words
	}
	end := lateWord(s) + name
	switch {
	case words == "" || ui.Width(stageLead(s)+words+end+more) <= columns:
	case none(s): // its ID says of what
		words = fmt.Sprintf("%d of %d unknown", s.All, s.All)
	default:
		words = fmt.Sprintf("%d of %d", s.Reached, s.All)
	}
	return ui.Shortened(stageLead(s)+words+end, columns-len(more)) + more
}

// lateWord stands before the names of those for which a stage is not reached.
func lateWord(s rotate.Stage) string {
	switch {
	case s.ID == rotate.StageServed && none(s):
		return "unknown: "
	case none(s):
		return ": "
	case s.Status == assess.Unknown:
		return "; unknown: "
	}
	return "; not yet: "
}

// none reports whether it is unknown of all clients, or of all that servers present.
func none(s rotate.Stage) bool {
	return s.Status == assess.Unknown && s.Reached == 0 && (s.ID == rotate.StageServed || s.ID == rotate.StageTrust || s.ID == rotate.StageEdges)
}

// firstLate is the first for which a stage is not reached, and how many others there are.
func firstLate(s rotate.Stage) (name, more string) {
	if s.ID == rotate.StageBundle { // its words name it
		return "", ""
	}
	names := 0
	for _, l := range s.Late {
		if l.Name == "" {
			continue
		}
		if names++; names == 1 {
			name = l.Name
			if s.ID == rotate.StageAggregates {
				name = shortPlace(name)
			}
		}
	}
	if names > 1 {
		more = fmt.Sprintf(" +%d", names-1)
	}
	return name, more
}

// lateReason is why it is not reached for the first; empty: its line says it.
func lateReason(s rotate.Stage) string {
	if s.All == 0 || len(s.Late) == 0 || s.ID == rotate.StageBundle {
		return ""
	}
	return s.Late[0].Reason
}

// stageWords says how far a stage is; what is rotated, or the CA that signs it, is "it".
func stageWords(p rotate.Planned, s rotate.Stage) string {
	switch {
	case s.ID == rotate.StageSigner:
		return signerWords(p, s)
	case s.All == 0 && (s.ID == rotate.StageServed || s.ID == rotate.StageEdges) && s.Status == assess.Warn:
		return "comes after " + rotate.StageLeaf
	case s.All == 0:
		return firstSentence(strings.ReplaceAll(s.Reason, "bundle is made of it", "CA bundle is made from it"))
	case s.ID == rotate.StageBundle:
		return bundleWords(p, s)
	}
	counted := fmt.Sprintf("%d of %d ", s.Reached, s.All)
	switch {
	case s.Status == assess.Pass:
		counted = fmt.Sprintf("all %d ", s.All)
	case none(s):
		counted = fmt.Sprintf("%d of %d ", s.All, s.All)
	}
	switch s.ID {
	case rotate.StageAggregates:
		switch {
		case s.All == 1 && s.Status == assess.Pass:
			return "in the CA bundle made from it"
		case s.Status == assess.Pass:
			return "in " + counted + "CA bundles made from it"
		}
		return counted + "CA bundles made from it have it"
	case rotate.StageTrust:
		if none(s) {
			return counted + "clients unknown"
		}
		return counted + "clients trust it"
	case rotate.StageLeaf:
		names, ok := strings.CutPrefix(s.Reason, "signed by it: ")
		if first, _, _ := strings.Cut(names, ", "); ok && s.All == 1 {
			return "it signs " + first
		} else if ok {
			return fmt.Sprintf("it signs %s +%d", first, s.All-1)
		}
		return "it signs " + strings.TrimSpace(counted)
	case rotate.StageServed:
		if none(s) {
			return ""
		}
		if s.Requests {
			return "accepted in " + counted + "requests"
		}
		return "seen in " + counted + "handshakes"
	}
	if none(s) {
		return "checks are unknown in " + counted + "places"
	}
	return "checks pass in " + counted + "places"
}

// signerWords says of when the newest certificate is, and whether it counts.
func signerWords(p rotate.Planned, s rotate.Stage) string {
	what := "new CA"
	if !p.Of.Signer() {
		what = "its CA"
	}
	if signer, ok := signerOf(p); ok {
		switch cert := signer.Cert(); {
		case s.Status == assess.Pass && cert != nil:
			return what + " made " + minute(cert.NotBefore)
		case s.Settling && cert != nil:
			return what + " made " + minute(cert.NotBefore) + ": another one may still replace it"
		case s.Status == assess.Warn && signer.Triggered():
			return "annotation removed: " + p.Owner() + " did not rotate it yet"
		}
	}
	return firstSentence(strings.TrimPrefix(strings.ReplaceAll(s.Reason, p.Of.Rotation.Signer.String(), "it"), "it: ")) // its place stands above
}

// signerOf is what signs; false: it is not among what was read.
func signerOf(p rotate.Planned) (rotate.Rotatable, bool) {
	i := slices.IndexFunc(p.All, func(r rotate.Rotatable) bool { return r.At == p.Of.Rotation.Signer })
	if i < 0 {
		return rotate.Rotatable{}, false
	}
	return p.All[i], true
}

// bundleWords says whether the CA bundle of a signer has its newest certificate.
func bundleWords(p rotate.Planned, s rotate.Stage) string {
	name := p.Of.Rotation.Bundle.Name
	if kind := p.Of.Rotation.Bundle.Kind; kind != catalog.ConfigMap && kind != catalog.Secret {
		name = p.Of.Rotation.Bundle.String()
	}
	switch name = strings.TrimSpace("its CA bundle " + name); {
	case s.Status == assess.Pass:
		return "in " + name
	case s.Status == assess.Unknown:
		return name + " was not read"
	case len(s.Late) > 0 && s.Late[0].Reason != "":
		return name + " is " + s.Late[0].Reason
	}
	return "not yet in " + name
}

// minute is a time on a screen.
func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04Z") }

// firstSentence is a text up to its first semicolon: the rest is a detail of it.
func firstSentence(s string) string {
	first, _, _ := strings.Cut(s, "; ")
	return first
}
