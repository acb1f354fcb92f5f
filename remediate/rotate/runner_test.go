package rotate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// TestAfterChanges: once something was done, nothing may say that nothing was.
func TestAfterChanges(t *testing.T) {
	t.Parallel()
	refusal := &Error{Outcome: Refused, Err: errors.New("not Ready: worker-0"), Next: "look at worker-0", Unchanged: true}
	gone := errors.New("connection refused")
	for _, c := range []struct {
		title    string
		err      error
		code     Outcome // nothing was done before
		halfWay  Outcome // something was
		says     string
		nextStep string
	}{
		{"a check that does not hold", refusal, Refused, Stopped, "worker-0", "look at worker-0"},
		{"a read that failed", unchanged(gone), Unread, Stopped, "connection refused", ""},
		{"an API that did not answer", &Error{Outcome: Unread, Err: gone, Next: "is it there?"}, Unread, Stopped, "connection refused", "is it there?"},
		{"somebody else wrote it", &Error{Outcome: Stopped, Err: remediate.ErrChanged, Next: "look at it", Unchanged: true}, Stopped, Stopped, "", "look at it"},
		{"something that is not read", &Error{Outcome: Unknown}, Unknown, Unknown, "", ""},
		{"nothing", nil, done, done, "", ""},
	} {
		if err := afterChanges(c.err, false); !errors.Is(err, c.err) || came(err) != c.code {
			t.Errorf("%s, and nothing was done: %d: %v", c.title, came(err), err)
		}
		err := afterChanges(c.err, true)
		text, next := "", ""
		if err != nil {
			text = err.Error()
		}
		if e := asError(err); e != nil {
			next = e.Next
		}
		if came(err) != c.halfWay || strings.Contains(text, "nothing was changed") || !strings.Contains(text, c.says) || next != c.nextStep {
			t.Errorf("%s, and something was done: %d, want %d: %v; next: %q", c.title, came(err), c.halfWay, err, next)
		}
	}
}

// TestInTurn: the first failure stops, what was done before it is not denied, and the line
// that goes on names those that were not begun.
func TestInTurn(t *testing.T) {
	t.Parallel()
	a, b := Planned{Of: Rotatable{Name: "a"}}, Planned{Of: Rotatable{Name: "b"}}
	refusal := &Error{Outcome: Refused, Err: errors.New("not Ready: worker-0"), Next: "look at worker-0", Unchanged: true}
	for _, c := range []struct {
		title string
		ends  map[string]error
		asked string
		code  Outcome
		says  string
	}{
		{"all is well", nil, "a b", done, ""},
		{"the first is refused", map[string]error{"a": refusal}, "a", Refused, "nothing was changed"},
		{"the second is refused", map[string]error{"b": refusal}, "a b", Stopped, "stopped half-way: "},
		{"the second can't be read", map[string]error{"b": errors.New("connection refused")}, "a b", Stopped, "stopped half-way: connection refused; done: a; not begun: b"},
		{"the first is not known to be in all bundles", map[string]error{"a": &Error{Outcome: Unknown, Err: errors.New("not read")}}, "a", Unknown, "not read"},
		{"the first is done as far as it is known", map[string]error{"a": &Error{Outcome: Unknown}}, "a b", Unknown, ""},
	} {
		r, _ := runnerForTest()
		asked := ""
		err := r.inTurn([]Planned{a, b}, func(p Planned, later, last bool) (bool, error) {
			asked += " " + p.Of.Name
			if later != (p.Of.Name == "b") || last != (p.Of.Name == "b") {
				t.Errorf("%s: %s is later %t and last %t", c.title, p.Of.Name, later, last)
			}
			err := c.ends[p.Of.Name]
			return err == nil, err
		})
		text := ""
		if err != nil {
			text = err.Error()
		}
		e := asError(err)
		if strings.TrimSpace(asked) != c.asked || came(err) != c.code || !strings.Contains(text, c.says) || c.says != "" && !strings.HasSuffix(e.Next, " b") {
			t.Errorf("%s: asked %q, code %d, want %q, %d and %q: %v", c.title, asked, came(err), c.asked, c.code, c.says, err)
		}
	}
}

// TestAwaitBundles: the next one is begun only when the one before is seen to be in all bundles.
func TestAwaitBundles(t *testing.T) {
	for _, c := range []struct {
		title string
		but   func(*turning)
		code  Outcome
		says  string
	}{
		{"it comes", func(*turning) {}, done, ""},
		{"it does not", func(c *turning) { c.bundles = 1 << 30 }, Pending, "not complete"},
		{"its bundle can't be read", func(c *turning) { c.blind = true }, Unknown, "whether it is in all bundles could not be read"},
	} {
		t.Run(c.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, out := runnerForTest()
				world := turn(r)
				c.but(world)
				err := r.awaitBundles(t.Context(), world.tracker)
				if came(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("code %d, want %d and %q: %v\n%s", came(err), c.code, c.says, err, out)
				}
			})
		})
	}
}

// TestAwaitChecks: that the API server is unreachable for a moment, since what was done before has
// it rolled out, ends nothing.
func TestAwaitChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, out := runnerForTest()
		world := turn(r)
		world.signers = nil
		world.down = func(after int) bool { return after < 60 }
		world.tracker.before, world.tracker.signer, world.tracker.begun = nil, nil, false
		var p Planned
		if err := r.awaitChecks(t.Context(), world.tracker, &p); err != nil || p.Facts == nil || time.Since(world.began) < time.Minute {
			t.Errorf("after %s: %v\n%s", time.Since(world.began), err, out)
		}
	})
}

// TestResumedInTheRollout: the same line goes on while the cluster is still busy with what
// it did before it was interrupted, and is refused where nothing was done yet.
func TestResumedInTheRollout(t *testing.T) {
	progressing := func(m *inspect.ControlPlaneStatus) { m.Operators[0].Progressing = "True" }
	for _, c := range []struct {
		title   string
		made    bool // the signer
		resumed bool // one before it was
		but     func(*inspect.ControlPlaneStatus)
		awaited string // of what comes first; empty: refused
	}{
		{"operators at work", true, false, progressing, "operators-settled"},
		{"a rollout", true, false, func(m *inspect.ControlPlaneStatus) { m.StaticPods[0].Masters[0].Target = 8 }, "static-pods-settled"},
		{"a pool at work", true, false, func(m *inspect.ControlPlaneStatus) { m.Pools[0].Desired = "rendered-2" }, "pools-ready"},
		{"a kubelet that starts", true, false, func(m *inspect.ControlPlaneStatus) { m.Nodes[1].Ready = "False" }, "nodes-ready"},
		{"an operator that says nothing", true, false, func(m *inspect.ControlPlaneStatus) { m.Operators[0].Progressing = "" }, ""},
		{"an upgrade", true, false, func(m *inspect.ControlPlaneStatus) { m.Update.Progressing = "True" }, ""},
		{"nothing was done yet", false, false, progressing, ""},
		{"one before it was", false, true, progressing, "operators-settled"},
	} {
		t.Run(c.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := runnerForTest()
				r.Leaves = true
				world := turn(r)
				if !c.made {
					world.signers = nil
				}
				time.Sleep(200 * time.Second)
				reading, err := world.Recheck(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				reading.ControlPlane = &inspect.ControlPlaneStatus{
					Update:     inspect.Update{Progressing: "False"},
					Operators:  []inspect.OperatorState{{Name: "kube-apiserver", Available: "True", Progressing: "False", Degraded: "False"}},
					StaticPods: []inspect.StaticPods{{Resource: "kubeapiservers", Latest: 7, Masters: []inspect.StaticPodState{{Node: "master-0", Current: 7}}}},
					Pools:      []inspect.Pool{{Name: "worker", Current: "rendered-1", Desired: "rendered-1", Machines: 1, Updated: 1, Updating: "False", Degraded: "False"}},
					Nodes:      []inspect.NodeState{{Name: "master-0", Ready: "True", Master: true, Lease: inspect.Lease{Advanced: true}}, {Name: "worker-0", Ready: "True", Lease: inspect.Lease{Advanced: true}}},
				}
				c.but(reading.ControlPlane)
				p := Planned{Reading: reading}
				if p.Of, err = reading.Find(followed); err != nil {
					t.Fatal(err)
				}
				err = r.judgeAll(&p, c.resumed)
				if c.awaited == "" {
					if came(err) != Refused {
						t.Errorf("not refused: %v", err)
					}
					return
				}
				if err != nil || p.Rotates() == c.made {
					t.Fatalf("itself %t: %v", p.Rotates(), err)
				}
				first := p
				if c.made {
					first = p.Leaves[0]
				}
				if strings.Join(first.Awaited, " ") != c.awaited {
					t.Errorf("waits for %q, want %q", first.Awaited, c.awaited)
				}
			})
		})
	}
}

// hurried has so much time left, of the minutes of --wait.
func hurried(left time.Duration) (*Runner, *told) {
	r, out := runnerForTest()
	r.deadline = collect.Now().Add(left)
	return r, out
}

// gone is a cluster of which nothing can be read.
type gone struct{ *turning }

func (gone) Read(context.Context, func(*inspect.Snapshot) bool) (Reading, error) {
	return Reading{}, errors.New("gone")
}

// TestTrackAll: all that were named are followed to the end, in the time of the whole run.
func TestTrackAll(t *testing.T) {
	for _, c := range []struct {
		title string
		left  time.Duration
		gone  bool          // the second can't be read
		took  time.Duration // at least, and 20 s more at most
		code  Outcome
		says  string
		next  string
	}{
		{"both are through", 10 * time.Minute, false, 125 * time.Second, done, "b, after", ""},
		{"the time is over", time.Minute, false, time.Minute, Pending, "the time of --wait (4m0s) is over: on its way: a, b", "rotate status b"},
		{"one can't be read", 3 * time.Minute, true, 3 * time.Minute, Unknown, "how far it is could not be read: gone", "rotate status b"},
		{"one can't be read, and the other is late", time.Minute, true, time.Minute, Pending, "on its way: a; unknown: b", "rotate status a"},
	} {
		t.Run(c.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, out := hurried(c.left)
				world := turn(r)
				first := world.tracker
				second := *first
				first.called, first.next, second.called, second.next = "a", "certrot rotate status a", "b", "certrot rotate status b"
				first.several, second.several = true, true
				second.told, second.took = map[string]assess.Status{}, map[string]time.Duration{}
				if c.gone {
					second.cluster = gone{world}
				}
				err := r.trackAll(t.Context(), []*tracker{first, &second})
				took := time.Since(world.began)
				out.keep(err)
				if came(err) != c.code || took < c.took || took > c.took+20*time.Second || !strings.Contains(out.String(), c.says) || !strings.Contains(out.String(), c.next) {
					t.Errorf("code %d after %s, want %d after %s and %q:\n%s", came(err), took, c.code, c.took, c.says, out)
				}
			})
		})
	}
}

// TestStopAt: when the time is over, it is said of several NAMEs what is done, what
// is on its way and what was not begun, and which line goes on.
func TestStopAt(t *testing.T) {
	t.Parallel()
	plans := []Planned{{Of: Rotatable{Name: "a"}}, {Of: Rotatable{Name: "b"}}, {Of: Rotatable{Name: "c"}}}
	for _, c := range []struct {
		title   string
		changed bool
		says    string
		next    string
	}{
		{"the second is begun", true, "the time of --wait (4m0s) is over: done: a; on its way: b; not begun: c", "certrot rotate status b\nto go on from there:\n    certrot rotate c"},
		{"the second is not begun", false, "the time of --wait (4m0s) is over: done: a; not begun: b, c", "to go on from there:\n    certrot rotate b c"},
	} {
		r, _ := hurried(0)
		r.Resume = "certrot rotate"
		err := r.inTurn(plans, func(p Planned, _, _ bool) (bool, error) {
			if p.Of.Name == "a" {
				return true, nil
			}
			return c.changed, &Error{Outcome: Pending}
		})
		if e := asError(err); came(err) != Pending || e.Error() != c.says || e.Next != c.next {
			t.Errorf("%s: outcome %d: %v; %+v", c.title, came(err), err, e)
		}
	}
}
