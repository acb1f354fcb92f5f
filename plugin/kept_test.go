package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// keptAnswers is what a snapshot of an earlier release tells, a fact a line.
type keptAnswers struct{ lines []string }

func (a *keptAnswers) add(format string, args ...any) {
	a.lines = append(a.lines, fmt.Sprintf(format, args...))
}

// ask runs a command with -o json and reads its document.
func (a *keptAnswers) ask(t *testing.T, into any, args ...string) {
	t.Helper()
	var out, said bytes.Buffer
	code := Main(t.Context(), cli.VersionOf(""), append(append([]string{"kubectl-certrot"}, args...), "-o", "json"), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &said})
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		t.Fatalf("%q ended with %d: %v\n%s%s", args, code, err, &out, &said)
	}
	command := strings.Join(slices.DeleteFunc(slices.Clone(args), func(s string) bool { return strings.HasSuffix(s, ".certrot") || s == "--from" }), " ")
	a.add("%s ends with %d", command, code)
}

type keptStatus struct {
	ID, Node, Status string
	NotNeeded        bool
}

// claimed is what the status of a claim was called when the answers were kept.
func (s keptStatus) claimed() string {
	return map[string]string{"pass": "holds", "warn": "will break", "fail": "broken", "unknown": "unknown"}[s.Status]
}

// answered is what the status of an answer was called then.
func (s keptStatus) answered() string {
	if s.NotNeeded {
		return "none"
	}
	return map[string]string{"pass": "yes", "warn": "caution", "fail": "no", "unknown": "unknown"}[s.Status]
}

type keptRenewal struct {
	By    string
	Known bool
}

// called is what a renewal was called then.
func (r keptRenewal) called() string {
	switch {
	case !r.Known:
		return "unknown"
	case r.By == "":
		return "none"
	}
	return "automatic"
}

// answersOf are those of all commands that read a snapshot.
func answersOf(t *testing.T, file string) string {
	t.Helper()
	var a keptAnswers
	var inv struct {
		Certificates []struct {
			SHA256  string
			Renewal keptRenewal
		}
		Findings []struct {
			ID, Severity string
			Locations    []any
		}
		Gaps []any
	}
	a.ask(t, &inv, "inspect", "--from", file, "--all")
	a.add("%d gaps", len(inv.Gaps))
	for _, c := range inv.Certificates {
		a.add("certificate %s %s", c.SHA256, c.Renewal.called())
	}
	for _, f := range inv.Findings {
		a.add("finding %s %s, %d places", f.ID, f.Severity, len(f.Locations))
	}
	var verified struct{ Claims []keptStatus }
	a.ask(t, &verified, "verify", "--from", file)
	for _, c := range verified.Claims {
		a.add("claim %s %s %s", c.ID, c.Node, c.claimed())
	}
	var restart struct {
		Nodes []struct {
			Name      string
			ComesBack keptStatus
			Answers   []keptStatus
		}
		Access keptStatus
	}
	a.ask(t, &restart, "verify", "restart-safe", "--from", file)
	a.add("access %s", restart.Access.answered())
	for _, n := range restart.Nodes {
		a.add("restart of %s %s", n.Name, n.ComesBack.answered())
		for _, q := range n.Answers {
			a.add("restart of %s, %s %s", n.Name, q.ID, q.answered())
		}
	}
	var plan struct {
		Nodes []struct {
			Name  string
			Steps []struct {
				Action string
				Change bool
				File   struct {
					SHA256 string
					Added  []struct{ SHA256 string }
				}
			}
		}
	}
	a.ask(t, &plan, "fix-api-int", "--from", file, "--nodes", "all", "--dry-run=client")
	for _, n := range plan.Nodes {
		for _, s := range n.Steps {
			a.add("step %s %t", s.Action, s.Change)
			for _, ca := range s.File.Added {
				a.add("step %s adds %s to %s", s.Action, ca.SHA256, s.File.SHA256)
			}
		}
	}
	slices.Sort(a.lines)
	return strings.Join(a.lines, "\n") + "\n"
}

// TestKeptSnapshots: a snapshot of an earlier release tells what it told that release. Where an
// answer is to change, it is changed there by hand, and with the reason in the commit.
//
// Answers that are not there yet are written.
func TestKeptSnapshots(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/kept/*/*.certrot")
	if err != nil || len(files) < 2 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		answers := strings.TrimSuffix(file, ".certrot") + ".txt"
		want, err := os.ReadFile(answers)
		got := answersOf(t, file)
		if os.IsNotExist(err) {
			if err := os.WriteFile(answers, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Errorf("%s was not there, and is written", answers)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		had, has := strings.Split(string(want), "\n"), strings.Split(got, "\n")
		for _, line := range had {
			if !slices.Contains(has, line) {
				t.Errorf("%s: not any more: %s", file, line)
			}
		}
		for _, line := range has {
			if !slices.Contains(had, line) {
				t.Errorf("%s: new: %s", file, line)
			}
		}
		if string(want) != got && !t.Failed() {
			t.Errorf("%s: a line stands there another number of times", file)
		}
	}
}
