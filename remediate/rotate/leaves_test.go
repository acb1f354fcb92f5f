package rotate

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// signing follows what the signer signs, whose CA every verifier has.
func signing(c *turning) {
	c.tracker.name = "openshift-kube-apiserver/aggregator-client"
	c.tracker.next = "certrot rotate --leaf " + followed
	c.tracker.signer, c.tracker.before = c.tracker.before, nil
	c.signers, c.bundles = map[int]*pkitest.Authority{0: c.signer("new", -150)}, 0
}

// TestAwaitLeaf: what can't be read is not taken to be rotated.
func TestAwaitLeaf(t *testing.T) {
	for _, c := range []struct {
		title string
		but   func(*turning)
		took  time.Duration // at least, and a minute more at most
		code  Outcome
		says  string
	}{
		{"it is signed", func(c *turning) { c.leaf = 150 }, 150 * time.Second, done, ""},
		{"it can't be read", func(c *turning) { c.leaf, c.mute = 150, func(int) bool { return true } }, 20 * time.Second, Unknown, "whether the newest signer has signed it is unknown: leaf: not read"},
		{"it can't be read once", func(c *turning) {
			c.leaf, c.mute = 150, func(after int) bool { return after > 140 && after < 155 }
		}, 155 * time.Second, done, ""},
		{"it can't be read at the end", func(c *turning) { c.mute = func(after int) bool { return after > 230 } }, 4 * time.Minute, Unknown, "is unknown"},
		{"it is not signed", func(*turning) {}, 4 * time.Minute, Pending, "is signed by old"},
	} {
		t.Run(c.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, out := runnerForTest()
				world := turn(r)
				signing(world)
				c.but(world)
				err := r.awaitLeaf(t.Context(), world.tracker)
				out.keep(err)
				next := came(err) != Unknown || strings.Contains(out.String(), "kubectl auth can-i list secrets -A; then: certrot rotate --leaf "+followed)
				if took := time.Since(world.began); came(err) != c.code || took < c.took || took > c.took+time.Minute || !strings.Contains(out.String(), c.says) || !next {
					t.Errorf("code %d after %s, want %d after %s and %q:\n%s", came(err), took, c.code, c.took, c.says, out)
				}
			})
		})
	}
}

// TestRecheckLeaf: who signed a leaf between two readings decides whether it is rotated:
// its owner may have been quicker, by the newest signer or by the previous one.
func TestRecheckLeaf(t *testing.T) {
	for _, c := range []struct {
		title string
		but   func(c *turning, now *Planned)
		want  error // nil: it is due
		code  Outcome
	}{
		{"nothing happened", func(*turning, *Planned) {}, nil, done},
		{"by the newest signer", func(c *turning, _ *Planned) { c.leaf = 0 }, errRotated, Unread},
		{"by the signer of before", func(c *turning, _ *Planned) { clear(c.leaves) }, nil, done},
		{"its owner was told", func(_ *turning, now *Planned) {
			delete(now.Of.Entry.Object.Annotations, catalog.AnnotationNotAfter)
		}, errRotated, Unread},
		{"it can't be read", func(c *turning, _ *Planned) { c.mute = func(int) bool { return true } }, nil, Unread},
		{"another signer was made", func(c *turning, _ *Planned) { c.signers[0] = c.signer("newer", -140) }, remediate.ErrChanged, Refused},
	} {
		t.Run(c.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _ := runnerForTest()
				world := turn(r)
				signing(world)
				look := func() Planned {
					p, _, err := world.tracker.look(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					return p
				}
				before := look()
				c.but(world, &before)
				now := look()
				if before.Of.Triggered() {
					now, before = before, look()
				}
				err := recheckLeaf(now, before)
				if came(err) != c.code || c.want != nil && !errors.Is(err, c.want) || retryable(t.Context(), err) != (c.code == Unread) {
					t.Errorf("%v (code %d), want %v (%d)", err, came(err), c.want, c.code)
				}
			})
		})
	}
}

// TestToldLeafIsJudged: of what is rotated in any case it is told who does not trust
// the signer, and that delays nothing.
func TestToldLeafIsJudged(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r, _ := runnerForTest()
			r.Leaves = true
			world := turn(r)
			signing(world)
			if !trusted {
				world.bundles = 1 << 30
			}
			reading, err := world.Recheck(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			leaf, err := reading.Find("aggregator-client")
			if err != nil {
				t.Fatal(err)
			}
			delete(leaf.Entry.Object.Annotations, catalog.AnnotationNotAfter)
			p := Planned{Reading: reading}
			if p.Of, err = reading.Find(followed); err != nil {
				t.Fatal(err)
			}
			if err := r.judgeAll(&p, false); err != nil || len(p.Leaves) != 1 {
				t.Fatalf("%d leaves: %v", len(p.Leaves), err)
			}
			told := p.Leaves[0]
			i := slices.IndexFunc(told.Checks, func(v preflight.Verdict) bool { return v.ID == SignerTrusted })
			if i < 0 || told.Checks[i].Blocks() == trusted || len(told.Awaited)+len(told.Accepted) > 0 {
				t.Errorf("trusted %t, awaited %q, accepted %q: %+v", trusted, told.Awaited, told.Accepted, told.Checks)
			}
		})
	}
}

// TestNextLeaf: nothing is rotated before every verifier is seen to trust the signer.
func TestNextLeaf(t *testing.T) {
	for _, c := range []struct {
		title string
		but   func(*turning)
		leaf  bool
		took  time.Duration // at least, and a minute more at most
		code  Outcome
		says  string
	}{
		{"everybody trusts it in time", func(*turning) {}, true, 125 * time.Second, done, "waiting, before aggregator-client: "},
		{"it was signed by itself meanwhile", func(c *turning) { c.leaf = 60 }, false, 125 * time.Second, done, ""},
		{"bundles never get it", func(c *turning) { c.bundles = 1 << 30 }, false, 4 * time.Minute, Pending, "not rotated yet"},
		{"who verifies can't be read at all", func(c *turning) { c.unread = func(int) bool { return true } }, false, 125 * time.Second, Unknown, "trust anchors were not read"},
		{"who verifies can't be read once", func(c *turning) {
			c.unread = func(after int) bool { return after > 120 && after < 135 }
		}, true, 135 * time.Second, done, ""},
	} {
		t.Run(c.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, out := runnerForTest()
				world := turn(r)
				c.but(world)
				leaf, err := r.nextLeaf(t.Context(), world.tracker)
				took := time.Since(world.began)
				if err != nil {
					out.WriteString(err.Error())
				}
				if (leaf != nil) != c.leaf || came(err) != c.code || took < c.took || took > c.took+time.Minute || !strings.Contains(out.String(), c.says) {
					t.Errorf("leaf %t after %s, code %d: want %t after %s, %d and %q:\n%s", leaf != nil, took, came(err), c.leaf, c.took, c.code, c.says, out)
				}
			})
		})
	}
}

// TestEachLeaf: an API server that is rolled out by what was done before ends nothing, and
// one that stays unreachable is no refusal.
func TestEachLeaf(t *testing.T) {
	gone := errors.New("connection refused")
	for _, c := range []struct {
		title string
		fails int // attempts
		with  error
		tries int
		code  Outcome
	}{
		{"it is there", 0, nil, 1, done},
		{"it is away for a moment", 2, unchanged(gone), 3, done},
		{"it stays away", 99, unchanged(gone), 3, Stopped},
		{"it refuses", 99, asError(&remediate.Refusal{Name: "rbac", Reason: "forbidden"}), 1, Stopped},
	} {
		t.Run(c.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, out := runnerForTest()
				world := turn(r)
				tries := 0
				err := r.eachLeaf(t.Context(), world.tracker, true, func(Planned) (bool, error) {
					if tries++; tries <= c.fails {
						return false, c.with
					}
					world.leaf = 0 // it is signed
					return true, nil
				})
				if unserved := came(err) == Unknown && strings.Contains(out.String(), "in the end: pass leaf"); unserved { // no server was asked
					err = nil
				}
				if tries != c.tries || came(err) != c.code || err != nil && strings.Contains(err.Error(), "nothing was changed") {
					t.Errorf("tried %d times, code %d, want %d and %d: %v\n%s", tries, came(err), c.tries, c.code, err, out)
				}
			})
		})
	}
}

// TestNothingIsBegunTooLate: when the time of --wait is over, what could be rotated by
// then is not, and it is said what waits.
func TestNothingIsBegunTooLate(t *testing.T) {
	for left, want := range map[time.Duration]string{
		time.Minute: "x is done; aggregator-client is not rotated yet: the time of --wait (4m0s) is over",
		0:           "x is done; aggregator-client is not rotated yet: the time of --wait (4m0s) is over",
	} {
		synctest.Test(t, func(t *testing.T) {
			r, _ := hurried(left)
			world := turn(r)
			world.signers, world.bundles = map[int]*pkitest.Authority{0: world.signer("new", -150)}, 0
			world.tracker.rotated = []string{"x"}
			if left > 0 {
				world.hold = left + time.Second // reading it takes that long
			}
			leaf, err := r.nextLeaf(t.Context(), world.tracker)
			if leaf != nil || came(err) != Pending || err.Error() != want {
				t.Errorf("%s are left: %v, code %d: %v", left, leaf != nil, came(err), err)
			}
		})
	}
}
