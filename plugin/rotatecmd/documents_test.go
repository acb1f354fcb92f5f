package rotatecmd

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// TestRotatesDocumentsAreDescribed: docs/output.md names each field of what rotate prints
// for programs.
func TestRotatesDocumentsAreDescribed(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/output.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(doc), "\n## Rotations\n")
	if !found {
		t.Fatal("docs/output.md has no section about rotations")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	_, leaves, _ := strings.Cut(section, "\nleaves:")
	leaves, _, _ = strings.Cut(leaves, "\nsignerUnchanged:")
	for _, part := range []any{
		rotationsDocument{}, rotationEntry{}, rotationCheck{}, rotationPlanDocument{}, rotationLeaf{}, annotationDiff{}, rotate.Consequence{},
		rotationStatusDocument{}, rotationStage{}, rotationFlowDocument{}, rotationStep{},
	} {
		text := section
		if _, ok := part.(rotationLeaf); ok { // its fields are called as the plan's are
			text = leaves
		}
		for _, f := range reflect.VisibleFields(reflect.TypeOf(part)) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			named := func(end string) bool { return strings.Contains(text, name+end) }
			if name != "" && name != "-" && !named(":") && !named(",") && !named("}") {
				t.Errorf("%T: docs/output.md does not name %s", part, name)
			}
		}
	}
}
