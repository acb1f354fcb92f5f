package undocmd

import (
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply/applytest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// TestRunsSayWhetherTheyCanBeUndone: each run says what it changed and whether undo takes it back, and
// the newest that it does is the next step.
func TestRunsSayWhetherTheyCanBeUndone(t *testing.T) {
	t.Parallel()
	begun := func(action, node, path string) remediate.Record {
		return remediate.Record{Event: remediate.Begun, Action: action, Node: node, Path: path}
	}
	finished := remediate.Record{Event: remediate.Finished}
	fixed := []remediate.Record{begun("replace a:/f", "a", "/f"), begun("replace b:/f", "b", "/f"), finished}
	record := func(run, command, undoes string, nodes []string, records ...remediate.Record) remediate.RunRecord {
		return remediate.RunRecord{Header: remediate.Header{Run: run, Command: command, Undoes: undoes, Nodes: nodes}, Records: records}
	}
	both := []string{"a", "b"}
	records := []remediate.RunRecord{
		record("20260131-120000-000001", "fix-api-int", "", both, fixed...),
		record("20260131-120000-000002", "fix-api-int", "", both, fixed...),
		record("20260131-120000-000003", "undo", "20260131-120000-000001", both, fixed...),
		record("20260131-120000-000004", "undo", "20260131-120000-000002", []string{"a"}, fixed[0], finished),
		record("20260131-120000-000005", "rotate", "", nil, begun("rotate Secret/n/signer", "", ""), finished),
		record("20260131-120000-000006", "rotate prune", "", nil, begun("prune ConfigMap/n/bundle", "", ""), finished),
		record("20260131-120000-000007", "fix-api-int", "", []string{"a"}, begun("pause Node/a", "", "")),
		record("20260131-120000-000008", "fix-api-int", "", []string{"a"}, begun("patch n/c", "", "")),
		record("20260131-120000-000009", "fix-api-int", "", []string{"a"}),
	}
	var out plugintest.Transcript
	o := &runsOptions{Options: apply.Options{App: applytest.OnNodes(nil, &out).App}}
	var entries []runEntry
	for _, s := range records {
		entries = append(entries, entryOf(s, records))
	}
	if err := o.print(entries); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		fields := strings.Fields(line)
		if len(fields) > 3 && strings.HasPrefix(line, "20260131") {
			line = fields[0][20:] + " " + strings.Join(fields[1:], " ")
		}
		got = append(got, strings.TrimSpace(line))
	}
	age := strings.Fields(got[1])[2]
	want := []string{
		"RUN COMMAND AGE CHANGED UNDO OUTCOME",
		"01 fix-api-int @ 2 files on a, b done finished",
		"02 fix-api-int @ 2 files on a, b yes finished",
		"03 undo @ 2 files on a, b no finished, undo of 20260131-120000-000001",
		"04 undo @ 1 file on a no finished, undo of 20260131-120000-000002",
		"05 rotate @ signer no finished",
		"06 rotate prune @ bundle by hand finished",
		"07 fix-api-int @ pause Node/a yes interrupted in: pause Node/a",
		"08 fix-api-int @ patch n/c by hand interrupted in: patch n/c",
		"09 fix-api-int @ no file on a - nothing was done",
		"",
		"undo certrot undo 20260131-120000-000002 --dry-run=client",
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || strings.Join(strings.Fields(got[i]), " ") != strings.Replace(want[i], "@", age, 1) {
			t.Fatalf("line %d of\n%s\nwant\n%s", i, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestRunsFit: an outcome for which a line has no room is on the next one.
func TestRunsFit(t *testing.T) {
	t.Parallel()
	const table = "RUN                     COMMAND  OUTCOME\n20260131-120000-000003  undo     finished, undo of 20260131-120000-000001\n20260131-120000-000001  rotate   finished\n"
	for columns, want := range map[int]string{
		0: table, 100: table,
		60: strings.Replace(table, "undo     finished, undo", "undo\n  finished, undo", 1),
	} {
		if got := outcomesBelow(table, columns); got != want {
			t.Errorf("%d columns:\n%s", columns, got)
		}
	}
}

// TestRunsFitATerminal of 80 columns: of what changed less is named.
func TestRunsFitATerminal(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	started := time.Now().Add(-6*time.Hour - 37*time.Minute)
	var out, errOut strings.Builder
	o := &runsOptions{Options: apply.Options{App: cli.App{ProgramName: "certrot", Streams: genericiooptions.IOStreams{Out: &out, ErrOut: &errOut}}}, fromNodes: true, reads: " --via ssh"}
	err := o.printTable([]runEntry{
		{Run: "20261127-195913-a1b4eb", Command: "fix-api-int", Started: &started, Nodes: []string{"master-0", "worker-0", "worker-1"}, Files: 6, Outcome: "finished", undo: undoYes},
		{Run: "20261127-195126-38f9e7", Command: rotate.RotateCommand, Started: &started, Outcome: "finished", what: "Secret/openshift-kube-apiserver-operator/kube-apiserver-to-kubelet-signer", undo: "no"},
	})
	if err != nil || ui.Widest(out.String()) > 80 || !strings.Contains(out.String(), "6 files on master-0 +2 ") || !strings.Contains(out.String(), "\n  finished\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if want := "undo 20261127-195913-a1b4eb --from-nodes --nodes master-0,worker-0,worker-1 --dry-run=client --via ssh\n"; !strings.Contains(errOut.String(), want) {
		t.Errorf("%q is not in %s", want, errOut.String())
	}
}
