package rotatecmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// exitError gives the outcome of a rotation that of the command, and its next step. An error of
// another kind, and nil, stay as they are.
func exitError(err error) error {
	var e *rotate.Error
	if !errors.As(err, &e) {
		return err
	}
	var why error // nil: it was printed
	switch {
	case e.Err != nil && e.Next != "":
		why = cli.WithHint(e, "%s", e.Next)
	case e.Err != nil:
		why = e
	}
	switch e.Outcome {
	case rotate.Unknown:
		return cli.Incomplete(why)
	case rotate.Pending:
		return cli.Findings(why)
	case rotate.Refused:
		return cli.Refused(why)
	case rotate.Stopped:
		return cli.Stopped(why)
	default: // rotate.Unread
		return cli.NoAccess(why)
	}
}

// suggested is an error about a NAME that there is not, with what it may be a mistyped form of. from are
// the flags that name the files that are read.
func suggested(err error, name, from string) error {
	var e *rotate.Error
	if !errors.As(err, &e) || !errors.Is(err, rotate.ErrNoSuchRotation) {
		return err
	}
	with := *e
	names := append(rotate.Names(), "status", "prune")
	short := slices.DeleteFunc(slices.Clone(names), func(of string) bool {
		_, base, ok := strings.Cut(of, "/")
		return ok && !strings.Contains(name, "/") && slices.Contains(names, base) // one of the two is enough
	})
	meant := cli.DidYouMean(name, short)
	switch name {
	case "list", "explain": // commands of other programs
		meant = "; did you mean --" + name + "?"
	}
	with.Err = fmt.Errorf("%w%s", e.Err, meant)
	if strings.HasSuffix(with.Next, "--list") { // it may have them
		with.Next += from
	}
	return &with
}

// outcomeOf gives an error of what commands share its outcome of a rotation: what they refuse is
// refused, and all else was read in vain.
func outcomeOf(err error) error {
	if err == nil {
		return nil
	}
	out := &rotate.Error{Outcome: rotate.Unread, Err: err}
	var refused *cli.RefusedError
	var h *cli.HintError
	var u *cli.UnchangedError
	if errors.As(err, &refused) {
		out.Outcome, out.Err = rotate.Refused, errors.Unwrap(refused)
	}
	if errors.As(err, &h) {
		out.Next = h.Hint
	}
	if errors.As(err, &u) {
		out.Err, out.Unchanged = u.Inner, true
	}
	return out
}
