package undocmd

import (
	"slices"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// TestARunIsNotDoneWhileWhatItPausedIsPaused: an undo without an API server puts files back and resumes no
// health check.
func TestARunIsNotDoneWhileWhatItPausedIsPaused(t *testing.T) {
	t.Parallel()
	const workers, infra, file = "machinehealthchecks openshift-machine-api/workers", "machinehealthchecks openshift-machine-api/infra", "/var/lib/kubelet/kubeconfig"
	const server = "https://api.a.example.com:6443"
	did := func(action, node, path string) []remediate.Record {
		return []remediate.Record{{Event: remediate.Begun, Action: action, Node: node, Path: path}, {Event: remediate.Done, Action: action, Node: node, Path: path}}
	}
	began := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	record := func(run, undoes, server string, after time.Duration, records ...[]remediate.Record) remediate.RunRecord {
		return remediate.RunRecord{Header: remediate.Header{Run: run, Undoes: undoes, Server: server, Nodes: []string{"worker-0"}, Started: began.Add(after)}, Records: slices.Concat(records...)}
	}
	const run = "20261120-120000-1a2b3c"
	pause, change := did("pause "+workers, "", ""), did("replace worker-0:"+file, "worker-0", file)
	restore, resume, finished := did("restore worker-0:"+file, "worker-0", file), did("resume "+workers, "", ""), []remediate.Record{{Event: remediate.Finished}}
	interrupted := record(run, "", server, 0, pause, change)
	offline := record("20261120-130000-1a2b3c", run, "", time.Hour, restore, finished)

	// The undo's plan without an API server has nothing that resumes.
	var p remediate.Plan
	if err := (&apply.Session{}).AddUnpauseSteps(t.Context(), run, interrupted, &p); err != nil || len(p.Waves) > 0 || len(p.Notes) != 1 {
		t.Fatalf("%v, %v, %v", err, p.Waves, p.Notes)
	}
	for name, c := range map[string]struct {
		run   remediate.RunRecord
		later []remediate.RunRecord
		want  string
	}{
		"undone without an API server":           {interrupted, []remediate.RunRecord{offline}, undoYes},
		"undone with one":                        {interrupted, []remediate.RunRecord{record(offline.Run, run, server, time.Hour, restore, resume, finished)}, undoDone},
		"undone with one, resumed by hand":       {interrupted, []remediate.RunRecord{record(offline.Run, run, server, time.Hour, restore, finished)}, undoDone},
		"resumed by an undo after that":          {interrupted, []remediate.RunRecord{offline, record("20261120-140000-1a2b3c", run, server, 2*time.Hour, resume, finished)}, undoDone},
		"resumed by itself":                      {record(run, "", server, 0, pause, change, resume, finished), []remediate.RunRecord{offline}, undoDone},
		"resumed by the next run":                {interrupted, []remediate.RunRecord{record("20261120-121000-1a2b3c", "", server, time.Minute, resume, finished), offline}, undoDone},
		"resumed by a run of another cluster":    {interrupted, []remediate.RunRecord{record("20261120-121000-1a2b3c", "", "https://api.b.example.com:6443", time.Minute, resume, finished), offline}, undoYes},
		"one of two resumed by the next run":     {record(run, "", server, 0, pause, did("pause "+infra, "", ""), change), []remediate.RunRecord{record("20261120-121000-1a2b3c", "", server, time.Minute, resume, finished), offline}, undoYes},
		"paused alone, resumed by itself":        {record(run, "", server, 0, pause, resume, finished), nil, ""},
		"paused alone, and not resumed":          {record(run, "", server, 0, pause), nil, undoYes},
		"it paused nothing":                      {record(run, "", server, 0, change), []remediate.RunRecord{offline}, undoDone},
		"its resume failed":                      {record(run, "", server, 0, pause, change, []remediate.Record{{Event: remediate.Begun, Action: "resume " + workers}, {Event: remediate.Failed, Action: "resume " + workers}}), []remediate.RunRecord{offline}, undoYes},
		"its undo with one was interrupted":      {interrupted, []remediate.RunRecord{record(offline.Run, run, server, time.Hour, restore)}, undoYes},
		"an undo of another run resumed its own": {interrupted, []remediate.RunRecord{offline, record("20261120-140000-1a2b3c", "20261119-120000-1a2b3c", server, 2*time.Hour, resume, finished)}, undoYes},
	} {
		if got := undoable(c.run, append([]remediate.RunRecord{c.run}, c.later...)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
