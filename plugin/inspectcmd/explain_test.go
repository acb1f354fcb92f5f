package inspectcmd

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/check"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// TestEveryTopicSaysWhatToDo: each topic says in one line what it is, then what it means and what to
// do; no line of prose is wider than the terminal, no command is wrapped, and the last line ends.
func TestEveryTopicSaysWhatToDo(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	e := explainer{program: "kubectl certrot"}
	for _, topic := range topics() {
		if topic.name == "" || topic.kind == "" || topic.claim == "" || topic.means == "" || len(topic.todo) == 0 {
			t.Errorf("%s: without what it is, means, or what to do: %+v", topic.name, topic.help)
		}
		w := ui.NewPage(&bytes.Buffer{})
		topic.print(w, e)
		text := w.String()
		if !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") || strings.Contains(text, "\n\n\n") {
			t.Errorf("%s: lines and sections do not end:\n%q", topic.name, text)
		}
		begins := topic.kind + ". "
		if topic.kind == "Check" {
			begins = "What is checked: "
		}
		if lines := strings.Split(text, "\n"); lines[0] != topic.name || !strings.HasPrefix(lines[1], begins) {
			t.Errorf("%s: begins with %q", topic.name, lines[:2])
		}
		for line := range strings.Lines(text) {
			words := strings.Fields(line)
			if command := e.isCommand(strings.TrimSpace(line)); !command && len(words) > 2 && len([]rune(line)) > len(" next:")+81 && !strings.Contains(line, "/") { // no line begins with a label
				t.Errorf("%s: %d columns: %s", topic.name, len([]rune(line)), line)
			}
		}
		for _, step := range topic.todo {
			if e.isCommand(step) && !strings.Contains(text, "\n  "+strings.ReplaceAll(step, "{}", e.program)+"\n") {
				t.Errorf("%s: %q is not whole:\n%s", topic.name, step, text)
			}
		}
	}
}

// TestHelpIsOfKnownNames: each check has help, and no help is of a check that there is not.
func TestHelpIsOfKnownNames(t *testing.T) {
	t.Parallel()
	for _, c := range check.Checks() {
		if !slices.ContainsFunc(checkHelp(), func(h help) bool { return h.name == c.ID }) {
			t.Errorf("%s has no row in checkHelp of explainchecks.go", c.ID)
		}
	}
	for _, h := range checkHelp() {
		if !slices.ContainsFunc(check.Checks(), func(c check.Check) bool { return c.ID == h.name }) {
			t.Errorf("%s is no check of inspect", h.name)
		}
	}
	for _, h := range beforeHelp() {
		if !slices.ContainsFunc(topics(), func(t topic) bool { return t.name == h.name && strings.HasPrefix(t.kind, "Check before") }) {
			t.Errorf("%s is no check before a change", h.name)
		}
	}
}

// TestExplainAServedSecret: the title says of which versions it is, and the restart is a command on a
// line of its own.
func TestExplainAServedSecret(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	for name, c := range map[string]struct {
		has, once string
		no        []string
	}{
		"secret/openshift-console/console-serving-cert": {" (console to 4.19)\n", "renewed 1 hour before its end", []string{" 0 % of its validity"}},
		"secret/openshift-network-console/networking-console-plugin-cert": {
			"\n  oc -n openshift-network-console rollout restart deployment/networking-console-plugin\n", "(network 4.17+)", nil,
		},
		"route/openshift-console/console": {"\nRoute: the administrator's certificate for the console", "the chain of a Route's certificate", []string{"rollout restart"}},
	} {
		w := ui.NewPage(&bytes.Buffer{})
		e := explainer{program: "kubectl certrot"}
		if err := e.object(context.Background(), w, name); err != nil {
			t.Fatal(err)
		}
		got := w.String()
		if !strings.Contains(got, c.has) || strings.Count(got, c.once) != 1 {
			t.Errorf("%s: not %q, or not once %q:\n%s", name, c.has, c.once, got)
		}
		for _, no := range c.no {
			if strings.Contains(got, no) {
				t.Errorf("%s: %q:\n%s", name, no, got)
			}
		}
	}
}

// TestATenantsProblemsHideNoneOfThePlatform: of many that a title may mean, the platform's are explained, and the
// rest is counted.
func TestATenantsProblemsHideNoneOfThePlatform(t *testing.T) {
	t.Parallel()
	var all []told
	for n := range 40 {
		all = append(all, told{Problem: ui.Problem{Title: fmt.Sprintf("truncated PEM in tenant-%d/ca", n)}})
	}
	all = append(all, told{Problem: ui.Problem{Title: "truncated PEM in openshift-config/ca", Platform: true}}, all[0])
	var out strings.Builder
	(&explainer{}).printApart(&out, nil, apart(called(all, titleOf("truncated PEM in …"))))
	for _, want := range []string{"41 problems in this file", "\n\ntruncated PEM in openshift-config/ca\nUnknown", "\nOthers\n  truncated PEM in tenant-2/ca\n", "\n  26 more problems\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
