package reporttest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rename is a row of docs/v1alpha2.md.
type rename struct{ from, to string } // one of them empty: the key is new, or gone

// newKeys begins the paragraph with the keys that v1alpha1 did not have.
const newKeys = "\nNew: "

// newDocument begins the section of a kind that v1alpha1 did not have.
const newDocument = "v1alpha1 had no such document."

// renamesOf are the rows in the section of a kind, and its new keys.
func renamesOf(page, kind string) []rename {
	_, section, _ := strings.Cut(page, "\n## "+kind+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	section, added, _ := strings.Cut(section, newKeys)
	var out []rename
	for i, piece := range strings.Split(added, "`") {
		if i%2 == 1 { // between two backquotes
			out = append(out, rename{to: piece})
		}
	}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.Contains(line, "`") {
			continue
		}
		key := func(cell string) string {
			_, rest, found := strings.Cut(cell, "`")
			if name, _, closed := strings.Cut(rest, "`"); found && closed {
				return name
			}
			return ""
		}
		out = append(out, rename{key(cells[1]), key(cells[2])})
	}
	return out
}

// checkRenames holds the page to what became of the keys of v1alpha1.
func (d Document) checkRenames(t *testing.T) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root(t), "docs", "v1alpha2.md"))
	if err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(filepath.Join(root(t), "inspect", "report", "reporttest", "testdata", "v1alpha1", d.Kind+".txt"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if !strings.Contains(string(page), "\n## "+d.Kind+"\n\n"+newDocument) {
			t.Errorf("docs/v1alpha2.md does not say of %s: %s", d.Kind, newDocument)
		}
		return
	case err != nil:
		t.Fatal(err)
	}
	for _, problem := range compared(strings.Fields(string(old)), d.Keys(), renamesOf(string(page), d.Kind)) {
		t.Errorf("docs/v1alpha2.md, %s: %s", d.Kind, problem)
	}
}

// isOfJudgement reports whether a key is one of the form that all judgements have, and what it is of is there.
// The page lists none of these that are new.
func isOfJudgement(key string, now []string) bool {
	for _, form := range []string{"status", "severity", "subject", "impact", "evidence", "remediation", "remediation.text", "remediation.command"} {
		if of, is := strings.CutSuffix(key, "."+form); is && slices.ContainsFunc(now, func(k string) bool { return strings.HasPrefix(k, of+".") }) {
			return true
		}
	}
	return false
}

// compared says what differs between the keys that there are and those that the rows make of
// the keys there were.
func compared(old, now []string, rows []rename) (problems []string) {
	expected := map[string]bool{}
	used := make([]bool, len(rows))
	for _, key := range old {
		to := key
		for i, longest := 0, ""; i < len(rows); i++ {
			r := rows[i]
			rest, below := strings.CutPrefix(key, r.from)
			if r.from == "" || !below || rest != "" && rest[0] != '.' && rest[0] != '[' || len(r.from) <= len(longest) {
				continue
			}
			if longest = r.from; r.to == "" {
				to = ""
			} else {
				to = r.to + rest
			}
			used[i] = used[i] || rest == ""
		}
		expected[to] = true
	}
	delete(expected, "")
	for i, r := range rows {
		switch {
		case r.from == "":
			expected[r.to] = true
		case !used[i]:
			problems = append(problems, "v1alpha1 had no "+r.from)
		}
	}
	for _, key := range now {
		if !expected[key] && !isOfJudgement(key, now) {
			problems = append(problems, "the page does not say where "+key+" comes from")
		}
	}
	for key := range expected {
		if !slices.Contains(now, key) {
			problems = append(problems, "there is no "+key)
		}
	}
	slices.Sort(problems)
	return problems
}
