package rotatecmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// exitError gives the outcome of a rotation its exit code and its next step. An error of
// another kind, and nil, stay as they are.
func exitError(err error) error {
	var e *rotate.Error
	if !errors.As(err, &e) {
		return err
	}
	code := map[rotate.Outcome]int{
		rotate.Unread: cli.ExitUsage, rotate.Unknown: cli.ExitIncomplete, rotate.Pending: cli.ExitFindings,
		rotate.Refused: cli.ExitRefused, rotate.Stopped: cli.ExitStopped,
	}[e.Outcome]
	if e.Err == nil {
		return &cli.ExitError{Code: code}
	}
	err = e
	if e.Next != "" {
		err = cli.WithHint(err, "%s", e.Next)
	}
	return &cli.ExitError{Code: code, Err: err}
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
	if strings.HasSuffix(with.Next, "--list") {
		with.Next += from
	}
	return &with
}

// outcomeOf gives an error of what commands share the outcome that its exit code says.
func outcomeOf(err error) error {
	if err == nil {
		return nil
	}
	out := &rotate.Error{Outcome: rotate.Unread, Err: err}
	var e *cli.ExitError
	var h *cli.HintError
	var u *cli.UnchangedError
	if errors.As(err, &e) {
		out.Err = e.Err
		switch e.Code {
		case cli.ExitRefused:
			out.Outcome = rotate.Refused
		case cli.ExitStopped:
			out.Outcome = rotate.Stopped
		case cli.ExitIncomplete:
			out.Outcome = rotate.Unknown
		case cli.ExitFindings:
			out.Outcome = rotate.Pending
		}
	}
	if errors.As(err, &h) {
		out.Next = h.Hint
	}
	if errors.As(err, &u) {
		out.Err, out.Unchanged = u.Inner, true
	}
	return out
}
