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

// HoldTime is how long a node stays held by somebody who is silent: more than all the
// steps on a node take.
const HoldTime = 30 * time.Minute

// HeldError says who changes a node. It wraps ErrBusy.
type HeldError struct {
	By  string        // as the node has it: it is compared, and marked where it is printed
	For time.Duration // by the node's clock
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s changes this node, since %s; it is let go when they end, or after %s. If they are known to be gone: %s on the node", foreign.Text(e.By), e.For, HoldTime, foreign.Command("", "rm -r %s/.held", DefaultFolder))
}
func (e *HeldError) Unwrap() error { return ErrBusy }

// Hold keeps others off the node until Release, a restart of the node, or HoldTime has
// gone by. holder says who, in one line; over is a holder that is known to be gone, or
// empty. A second Hold by the same holder begins anew. The error is a *HeldError where
// somebody else is at work there.
//
// Only those who ask keep off; what guards against all others is that nothing is
// written over what was not shown.
func (r Run) Hold(ctx context.Context, n nodeexec.Node, holder, over string) error {
	return r.held(ctx, n, "keep", holder, over, strconv.Itoa(int(HoldTime/time.Second)))
}

// Release ends Hold. What somebody else holds stays held.
func (r Run) Release(ctx context.Context, n nodeexec.Node, holder string) error {
	return r.held(ctx, n, "release", holder)
}

func (r Run) held(ctx context.Context, n nodeexec.Node, op, holder string, more ...string) error {
	folder, err := folderOr(r.Folder)
	if err == nil && (holder == "" || strings.ContainsAny(holder+strings.Join(more, ""), "\n\x00")) {
		err = fmt.Errorf("%q is no line that names somebody", holder)
	}
	if err == nil {
		var a answer
		if a, err = ask(ctx, n, request{op: op, args: append([]string{folder, holder}, more...), changes: true}); err == nil {
			err = a.failure()
		}
		if other, ok := parseHeld(a); ok {
			err = other
		}
	}
	if err != nil {
		return fmt.Errorf("%s node %s: %w", map[string]string{"keep": "keep others off", "release": "release"}[op], n.Name(), err)
	}
	return nil
}

// parseHeld reads "held SECONDS HOLDER".
func parseHeld(a answer) (*HeldError, bool) {
	if a.code != "busy" || len(a.lines) != 1 {
		return nil, false
	}
	f := strings.SplitN(a.lines[0], " ", 3)
	if len(f) != 3 || f[0] != "held" {
		return nil, false
	}
	age, err := strconv.Atoi(f[1])
	return &HeldError{By: f[2], For: time.Duration(age) * time.Second}, err == nil
}
