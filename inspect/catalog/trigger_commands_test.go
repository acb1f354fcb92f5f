package catalog

import (
	"regexp"
	"slices"
	"testing"
)

// TestTriggersNameCommandsThatRun: what a trigger says to verify is a part that verify has.
func TestTriggersNameCommandsThatRun(t *testing.T) {
	t.Parallel()
	found := 0
	for _, row := range Triggers() {
		for _, said := range regexp.MustCompile(`\bverify ([a-z-]+) then`).FindAllStringSubmatch(row.Doc, -1) {
			found++
			if !slices.Contains(Parts(), Part(said[1])) {
				t.Errorf("%s: verify has no part %s", row.Secret, said[1])
			}
		}
	}
	if found == 0 {
		t.Error("no trigger says what to verify")
	}
}
