package rotate

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// TestTracker waits for the signer that stays, by a clock of its own.
func TestTracker(t *testing.T) {
	for _, c := range []struct {
		title string
		but   func(*turning)
		wait  time.Duration
		ok    bool
		took  time.Duration // at least, and a minute more at most
	}{
		{"it stays for two minutes", func(*turning) {}, 10 * time.Minute, true, 125 * time.Second},
		{"a second one takes its place", func(c *turning) { c.signers[100] = c.signer("newer", 100) }, 10 * time.Minute, true, 220 * time.Second},
		{"bundles are late", func(c *turning) { c.bundles = 200 }, 10 * time.Minute, true, 200 * time.Second},
		{"the API server is away for a while", func(c *turning) { c.down = func(after int) bool { return after > 20 && after < 240 } }, 10 * time.Minute, true, 240 * time.Second},
		{"nobody makes it", func(c *turning) { c.signers = nil }, 2 * time.Minute, false, 2 * time.Minute},
		{"the time is over", func(*turning) {}, time.Minute, false, time.Minute},
	} {
		t.Run(c.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, out := runnerForTest()
				world := turn(r)
				c.but(world)
				_, ok, err := world.tracker.until(t.Context(), c.wait, func(p Planned, stages []Stage) bool { return complete(p, stages) })
				took := time.Since(world.began)
				if err != nil || ok != c.ok || took < c.took || took > c.took+time.Minute {
					t.Errorf("through %t after %s, %v; want %t after %s:\n%s", ok, took, err, c.ok, c.took, out)
				}
				if limit := int(took/pollEvery) + 2; world.reads > limit {
					t.Errorf("it was read %d times in %s", world.reads, took)
				}
			})
		})
	}
}

// TestTrackerTellsTimes: each stage has the time at which it was first seen reached, and
// one that is not reached any more has none.
func TestTrackerTellsTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := runnerForTest()
		world := turn(r)
		_, _, err := world.tracker.until(t.Context(), r.Wait, complete)
		if err != nil {
			t.Fatal(err)
		}
		seconds := map[string]int{}
		for name, took := range world.tracker.took {
			seconds[name] = int(took.Seconds())
		}
		for name, from := range map[string]int{StageSigner: 125, StageAggregates: 30, StageTrust: 30} {
			if got := seconds[name]; got < from || got > from+20 {
				t.Errorf("%s after %d s, want from %d on", name, got, from)
			}
		}
		if at, ok := seconds[StageLeaf]; ok {
			t.Errorf("the leaf is not rotated, and reached after %d s", at)
		}
	})
}

// TestASettlingLeafIsWaitedFor: what follows by itself days later is not waited for, and
// csr-signer is, until it is seen which one stays.
func TestASettlingLeafIsWaitedFor(t *testing.T) {
	t.Parallel()
	reading := NewReading(context.Background(), inspect.NewFacts(inspect.Snapshot{Cluster: inspect.Cluster{Versions: catalog.Versions{Cluster: "4.20.1"}}}, time.Unix(0, 0), 0))
	of, err := reading.Find("csr-signer-signer")
	if err != nil {
		t.Fatal(err)
	}
	p := Planned{Reading: reading, Of: of}
	leaf := stageOf(StageLeaf, assess.Warn)
	stages := func(leaf Stage) []Stage {
		return []Stage{stageOf(StageSigner, assess.Pass), leaf, stageOf(StageServed, assess.Unknown)}
	}
	if !complete(p, stages(leaf)) {
		t.Error("what follows by itself is waited for")
	}
	leaf.Settling = true
	if complete(p, stages(leaf)) {
		t.Error("a csr-signer in whose place another one may come is not waited for")
	}
}

// stageOf is a stage with this status.
func stageOf(id string, status assess.Status) Stage {
	return Stage{Assessment: assess.Assessment{ID: id, Status: status}}
}
