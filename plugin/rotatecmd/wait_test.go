package rotatecmd

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// hurried has so much time left, of the minutes of --wait.
func hurried(left time.Duration) (*rotateFlags, *bytes.Buffer) {
	f, out := flagsForTest()
	f.ends = collect.Taken().Add(left)
	return f, out
}

// TestFollowAll: all that were named are followed to the end, in the time of the whole run.
func TestFollowAll(t *testing.T) {
	for _, c := range []struct {
		title string
		left  time.Duration
		gone  bool          // the second can't be read
		took  time.Duration // at least, and 20 s more at most
		code  int
		says  string
		next  string
	}{
		{"both are through", 10 * time.Minute, false, 125 * time.Second, cli.ExitFine, "b, after", ""},
		{"the time is over", time.Minute, false, time.Minute, cli.ExitFindings, "the time of --wait (4m0s) is over: on its way: a, b", "rotate status b"},
		{"one can't be read", 3 * time.Minute, true, 3 * time.Minute, cli.ExitIncomplete, "how far it is could not be read: gone", "rotate status b"},
		{"one can't be read, and the other is late", time.Minute, true, time.Minute, cli.ExitFindings, "on its way: a; not known: b", "rotate status a"},
	} {
		t.Run(c.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, out := hurried(c.left)
				world := turn(f)
				first := world.followed
				second := *first
				first.called, first.next, second.called, second.next = "a", "certrot rotate status a", "b", "certrot rotate status b"
				first.named, second.named = true, true
				second.said, second.took = map[string]string{}, map[string]time.Duration{}
				if c.gone {
					second.read = func(context.Context) (rotations, error) { return rotations{}, errors.New("gone") }
				}
				err := f.followAll(t.Context(), []*following{first, &second})
				took := time.Since(world.began)
				if err != nil {
					cli.PrintError(f.seen.App.Streams, err)
				}
				if cli.CodeOf(err) != c.code || took < c.took || took > c.took+20*time.Second || !strings.Contains(out.String(), c.says) || !strings.Contains(out.String(), c.next) {
					t.Errorf("code %d after %s, want %d after %s and %q:\n%s", cli.CodeOf(err), took, c.code, c.took, c.says, out)
				}
			})
		})
	}
}

// TestNothingIsBegunTooLate: when the time of --wait is over, what could be signed anew by
// then is not, and it is said what waits.
func TestNothingIsBegunTooLate(t *testing.T) {
	for left, want := range map[time.Duration]string{
		time.Minute: "x is done; aggregator-client is not signed anew yet: the time of --wait (4m0s) is over",
		0:           "x is done; aggregator-client is not signed anew yet: the time of --wait (4m0s) is over",
	} {
		synctest.Test(t, func(t *testing.T) {
			f, _ := hurried(left)
			world := turn(f)
			world.signers, world.bundles = map[int]*pkitest.Authority{0: world.signer("new", -150)}, 0
			world.followed.signed = []string{"x"}
			if left > 0 {
				world.hold = left + time.Second // reading it takes that long
			}
			leaf, err := f.nextLeaf(t.Context(), world.followed)
			if leaf != nil || cli.CodeOf(err) != cli.ExitFindings || err.Error() != want {
				t.Errorf("%s are left: %v, code %d: %v", left, leaf != nil, cli.CodeOf(err), err)
			}
		})
	}
}

// TestWhereItStands: when the time is over, it is said of several NAMEs what is done, what
// is on its way and what was not begun, and which line goes on.
func TestWhereItStands(t *testing.T) {
	t.Parallel()
	plans := []rotation{{of: rotate.Rotatable{Name: "a"}}, {of: rotate.Rotatable{Name: "b"}}, {of: rotate.Rotatable{Name: "c"}}}
	for _, c := range []struct {
		title   string
		changed bool
		says    string
		next    string
	}{
		{"the second is begun", true, "the time of --wait (4m0s) is over: done: a; on its way: b; not begun: c", "certrot rotate status b\nto go on from there:\n    certrot rotate c"},
		{"the second is not begun", false, "the time of --wait (4m0s) is over: done: a; not begun: b, c", "to go on from there:\n    certrot rotate b c"},
	} {
		f, _ := hurried(0)
		f.line = "certrot rotate"
		err := f.inTurn(plans, func(p rotation, _, _ bool) (bool, error) {
			if p.of.Name == "a" {
				return true, nil
			}
			return c.changed, &cli.ExitError{Code: cli.ExitFindings}
		})
		var h *cli.HintError
		if cli.CodeOf(err) != cli.ExitFindings || err.Error() != c.says || !errors.As(err, &h) || h.Hint != c.next {
			t.Errorf("%s: code %d: %v; %+v", c.title, cli.CodeOf(err), err, h)
		}
	}
}
