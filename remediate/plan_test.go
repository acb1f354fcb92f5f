package remediate

import (
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestAFindingThatGetsWorseIsAdded: place by place, and only what is a warning or more.
func TestAFindingThatGetsWorseIsAdded(t *testing.T) {
	t.Parallel()
	one, other := pki.Location{Kind: "Secret", Name: "one"}, pki.Location{Kind: "Secret", Name: "other"}
	finding := func(s assess.Severity, at ...pki.Location) assess.Finding {
		return assess.Finding{Assessment: assess.Assessment{ID: "expired", Severity: s}, At: at}
	}
	for _, c := range []struct {
		name          string
		before, after []assess.Finding
		added         int // places
	}{
		{"as it was", []assess.Finding{finding(assess.Critical, one)}, []assess.Finding{finding(assess.Critical, one)}, 0},
		{"less", []assess.Finding{finding(assess.Critical, one)}, []assess.Finding{finding(assess.Warning, one)}, 0},
		{"worse", []assess.Finding{finding(assess.Warning, one)}, []assess.Finding{finding(assess.Critical, one)}, 1},
		{"in another place, too", []assess.Finding{finding(assess.Warning, one)}, []assess.Finding{finding(assess.Warning, one, other)}, 1},
		{"new", nil, []assess.Finding{finding(assess.Warning, one, other)}, 2},
		{"new, and of no matter", nil, []assess.Finding{finding(assess.Info, one)}, 0},
	} {
		places := 0
		for _, f := range missing(c.after, c.before) {
			places += len(f.At)
		}
		if places != c.added {
			t.Errorf("%s: %d places are added, want %d", c.name, places, c.added)
		}
	}
}

func TestAPlanHasNoEmptyWave(t *testing.T) {
	t.Parallel()
	d := NewDraft("run-1", inspect.Snapshot{}, time.Time{})
	d.AddWave(Wave{Name: WaveWorkers})
	d.AddWave(Wave{Name: WaveMasters, Nodes: []NodePlan{{Name: "master-0"}}})
	if waves := d.Plan.Waves; len(waves) != 1 || waves[0].Name != WaveMasters {
		t.Errorf("%+v", waves)
	}
	if title := (NodePlan{}).Title(); title != "" {
		t.Errorf("what has neither a name nor a step is called %q", title)
	}
}

func TestWhenARunStarted(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 3, 4, 5, 6, 7, time.FixedZone("", 3600))
	if at, ok := RunStarted(NewRun(now)); !ok || !at.Equal(now.Truncate(time.Second)) {
		t.Errorf("%s, %t", at, ok)
	}
	for _, run := range []string{"", "run-1", "20260203"} {
		if at, ok := RunStarted(run); ok {
			t.Errorf("%q started at %s", run, at)
		}
	}
}
