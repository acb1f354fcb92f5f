package catalog

import (
	"strings"
	"testing"
)

// TestCellsAreShort: a cell says what decides. What is said beside it is what was false in samples.
func TestCellsAreShort(t *testing.T) {
	t.Parallel()
	short := func(where, text string, most int) {
		if n := len(strings.Fields(text)); n > most {
			t.Errorf("%s: %d words, more than %d: %s", where, n, most, text)
		}
	}
	for _, p := range Places() {
		short(rowName(p), p.Doc, 27)
		for _, l := range p.Lifetimes {
			short(rowName(p)+", lives", l.Doc, 20)
		}
	}
	for _, a := range Aggregates() {
		short(a.Target.String(), a.Doc, 25)
	}
	for _, d := range Deliveries() {
		short(d.To.String(), d.Doc, 40)
	}
	for _, p := range NodeDaemonSets() {
		short(p.ID, p.Doc, 27)
	}
	for _, e := range allEdges() {
		short(e.ID, e.Impact, 25)
	}
}
