package host

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// HoldTime is how long a node stays locked by a holder that is silent: more than all the
// steps on a node take.
const HoldTime = 30 * time.Minute

// LockedError says who changes a node. It wraps ErrBusy.
type LockedError struct {
	By  string        // as the node has it: it is compared, and marked where it is printed
	For time.Duration // by the node's clock; 0: the node tells no time that can be
}

func (e *LockedError) Error() string {
	since := ""
	if e.For > 0 {
		since = fmt.Sprintf(" (for %s)", e.For)
	}
	return fmt.Sprintf("%s is changing this node%s; the node is released at the end of that run, or after %s. If that run is known to be gone: %s on the node", foreign.Text(e.By), since, HoldTime, foreign.Command("", "rm -r %s/.held", DefaultFolder))
}
func (e *LockedError) Unwrap() error { return ErrBusy }

// Hold keeps others off the node until Release, a restart of the node, or HoldTime has
// gone by. holder says who, in one line; over is a holder that is known to be gone, or
// empty. A second Hold by the same holder starts its time again. The error is a
// *LockedError where another holder is at work there.
//
// Only those who ask keep off; what guards against all others is that no file is
// replaced that is not as it was read.
func (r RunFolder) Hold(ctx context.Context, n nodeexec.Node, holder, over string) error {
	return r.lock(ctx, n, "keep", holder, over, strconv.Itoa(int(HoldTime/time.Second)))
}

// Release undoes Hold. Another holder's lock stays.
func (r RunFolder) Release(ctx context.Context, n nodeexec.Node, holder string) error {
	return r.lock(ctx, n, "release", holder)
}

func (r RunFolder) lock(ctx context.Context, n nodeexec.Node, op, holder string, more ...string) error {
	folder, err := folderOr(r.Folder)
	if err == nil && (holder == "" || strings.ContainsAny(holder+strings.Join(more, ""), "\n\x00")) {
		err = fmt.Errorf("%q is not one line that names a holder", holder)
	}
	if err == nil {
		var a answer
		if a, err = ask(ctx, n, request{op: op, args: append([]string{folder, holder}, more...), changes: true}); err == nil {
			err = a.failure()
		}
		if other, ok := parseLocked(a); ok {
			err = other
		}
	}
	if err != nil {
		return fmt.Errorf("%s node %s: %w", map[string]string{"keep": "keep others off", "release": "release"}[op], n.Name(), err)
	}
	return nil
}

// parseLocked reads "locked SECONDS HOLDER".
func parseLocked(a answer) (*LockedError, bool) {
	if a.code != "busy" || len(a.lines) != 1 {
		return nil, false
	}
	f := strings.SplitN(a.lines[0], " ", 3)
	if len(f) != 3 || f[0] != "locked" {
		return nil, false
	}
	age, err := strconv.Atoi(f[1])
	if age < 0 || age > int(HoldTime/time.Second) { // a clock that was set, or a node that says so
		age = 0
	}
	return &LockedError{By: f[2], For: time.Duration(age) * time.Second}, err == nil
}
