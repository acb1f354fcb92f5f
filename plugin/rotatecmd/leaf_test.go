package rotatecmd

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// signing follows what the signer signs, whose CA is with everybody.
func signing(c *turning) {
	c.followed.name = "openshift-kube-apiserver/aggregator-client"
	c.followed.next = "certrot rotate --leaf " + followed
	c.followed.signer, c.followed.since = c.followed.since, nil
	c.signers, c.bundles = map[int]*pkitest.Authority{0: c.signer("new", -150)}, 0
}

// TestAwaitLeaf: what can't be read is not taken to be signed anew.
func TestAwaitLeaf(t *testing.T) {
	for _, c := range []struct {
		title string
		but   func(*turning)
		took  time.Duration // at least, and a minute more at most
		code  int
		says  string
	}{
		{"it is signed", func(c *turning) { c.leaf = 150 }, 150 * time.Second, cli.ExitFine, ""},
		{"it can't be read", func(c *turning) { c.leaf, c.mute = 150, func(int) bool { return true } }, 20 * time.Second, cli.ExitIncomplete, "whether the newest signer has signed it is not known: leaf: not read"},
		{"it can't be read once", func(c *turning) {
			c.leaf, c.mute = 150, func(after int) bool { return after > 140 && after < 155 }
		}, 155 * time.Second, cli.ExitFine, ""},
		{"it can't be read at the end", func(c *turning) { c.mute = func(after int) bool { return after > 230 } }, 4 * time.Minute, cli.ExitIncomplete, "is not known"},
		{"it is not signed", func(*turning) {}, 4 * time.Minute, cli.ExitFindings, "is signed by old"},
	} {
		t.Run(c.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, out := flagsForTest()
				world := turn(f)
				signing(world)
				c.but(world)
				err := f.awaitLeaf(t.Context(), world.followed)
				if err != nil {
					cli.PrintError(f.seen.App.Streams, err)
				}
				next := cli.CodeOf(err) != cli.ExitIncomplete || strings.Contains(out.String(), "kubectl auth can-i list secrets -A; then: certrot rotate --leaf "+followed)
				if took := time.Since(world.began); cli.CodeOf(err) != c.code || took < c.took || took > c.took+time.Minute || !strings.Contains(out.String(), c.says) || !next {
					t.Errorf("code %d after %s, want %d after %s and %q:\n%s", cli.CodeOf(err), took, c.code, c.took, c.says, out)
				}
			})
		})
	}
}

// TestStillDue: who signed a leaf while nobody looked decides whether it is signed anew:
// its owner may have been quicker, by the newest signer or by the one of before.
func TestStillDue(t *testing.T) {
	for _, c := range []struct {
		title string
		but   func(c *turning, now *rotation)
		want  error // nil: it is due
		code  int
	}{
		{"nothing happened", func(*turning, *rotation) {}, nil, cli.ExitFine},
		{"by the newest signer", func(c *turning, _ *rotation) { c.leaf = 0 }, errAlready, cli.ExitUsage},
		{"by the signer of before", func(c *turning, _ *rotation) { clear(c.leaves) }, nil, cli.ExitFine},
		{"its owner was told", func(_ *turning, now *rotation) {
			delete(now.of.Entry.Object.Annotations, catalog.AnnotationNotAfter)
		}, errAlready, cli.ExitUsage},
		{"it can't be read", func(c *turning, _ *rotation) { c.mute = func(int) bool { return true } }, nil, cli.ExitUsage},
		{"another signer was made", func(c *turning, _ *rotation) { c.signers[0] = c.signer("newer", -140) }, remediate.ErrChanged, cli.ExitRefused},
	} {
		t.Run(c.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, _ := flagsForTest()
				world := turn(f)
				signing(world)
				look := func() rotation {
					p, _, err := world.followed.look(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					return p
				}
				before := look()
				c.but(world, &before)
				now := look()
				if before.of.Triggered() {
					now, before = before, look()
				}
				err := stillDue(now, before)
				if cli.CodeOf(err) != c.code || c.want != nil && !errors.Is(err, c.want) || passing(t.Context(), err) != (c.code == cli.ExitUsage) {
					t.Errorf("%v (code %d), want %v (%d)", err, cli.CodeOf(err), c.want, c.code)
				}
			})
		})
	}
}

// TestToldLeafIsJudged: of what is signed anew in any case it is told who does not trust
// the signer, and that holds up nothing.
func TestToldLeafIsJudged(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f, _ := flagsForTest()
			f.leaf = true
			world := turn(f)
			signing(world)
			if !trusted {
				world.bundles = 1 << 30
			}
			r, err := world.read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			leaf, err := r.find(f.seen.App, "aggregator-client")
			if err != nil {
				t.Fatal(err)
			}
			delete(leaf.Entry.Object.Annotations, catalog.AnnotationNotAfter)
			p := rotation{rotations: r}
			if p.of, err = r.find(f.seen.App, followed); err != nil {
				t.Fatal(err)
			}
			if err := f.judgeAll(&p, false); err != nil || len(p.leaves) != 1 {
				t.Fatalf("%d leaves: %v", len(p.leaves), err)
			}
			var out strings.Builder
			p.printChecks(&out)
			text := strings.Join(strings.Fields(out.String()), " ")
			says := strings.Contains(text, "Its owner was told already, and makes it anew whatever this says: aggregator-client: signer-trusted: ")
			if says == trusted || strings.Contains(text, "Checked signer-trusted") != trusted || len(p.leaves[0].awaited) > 0 {
				t.Errorf("trusted %t, awaited %q: %s", trusted, p.leaves[0].awaited, out.String())
			}
		})
	}
}
