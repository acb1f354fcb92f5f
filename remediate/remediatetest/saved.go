package remediatetest

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Saved is a snapshot as --from gives it, after it was saved.
func Saved(t *testing.T, s inspect.Snapshot) inspect.Snapshot {
	t.Helper()
	s.Bundles, s.Served = slices.Clone(s.Bundles), slices.Clone(s.Served)
	for i := range s.Bundles { // fixtures leave out what no file does
		if s.Bundles[i].Content == nil {
			s.Bundles[i].Content = &pki.Content{}
		}
	}
	for i := range s.Served {
		if len(s.Served[i].Chain) == 0 && s.Served[i].Problem == "" {
			s.Served[i].Problem = "no answer"
		}
	}
	var file bytes.Buffer
	if err := collect.WriteSnapshot(&file, s); err != nil {
		t.Fatal(err)
	}
	again, err := collect.File{Path: "-", Stdin: &file, Scanner: pki.NewScanner()}.Read()
	if err != nil {
		t.Fatal(err)
	}
	again.MarkForeign()
	again.Advise(inspect.FileHints("oc certrot"))
	again.Sort()
	return again
}

// Unmarked is a text without what marks it as another's, or as one of a file.
func Unmarked(text string) string {
	text = strings.NewReplacer("“", "", "”", "", `"`, "").Replace(text)
	return regexp.MustCompile(` \(as of [-0-9]+ [:0-9]+ UTC\)`).ReplaceAllString(text, "")
}
