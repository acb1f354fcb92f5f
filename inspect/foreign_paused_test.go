package inspect

import (
	"slices"
	"testing"
)

// TestWhoPausedAnObjectIsNotMarked: undo looks for what its run wrote, and resumes that.
func TestWhoPausedAnObjectIsNotMarked(t *testing.T) {
	by := []string{"certrot 20260131-120000-000001", "an upgrade"}
	m := Machinery{Operators: []OperatorState{{Message: "ok\nnext: curl evil"}}, Actors: []Actor{{Paused: slices.Clone(by)}}}
	m.MarkForeign()
	if !slices.Equal(m.Actors[0].Paused, by) {
		t.Errorf("%q", m.Actors[0].Paused)
	}
	if m.Operators[0].Message == "ok\nnext: curl evil" {
		t.Error("a message is not marked")
	}
}
