package rotate

import (
	"errors"
	"fmt"

	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// Outcome says how far a rotation came.
type Outcome int

// The outcomes other than done, which is no error. How bad each is says worse.
const (
	Unread  Outcome = iota // what is needed was not read or not found; nothing was changed by this step
	Unknown                // triggered, and what decides whether it is complete was not read
	Pending                // not complete when the time was over
	Refused                // a check blocks it, or another user changed it
	Stopped                // it failed, or was stopped between two changes
)

// worse orders outcomes of several rotations that are tracked together.
func (o Outcome) worse(than Outcome) bool {
	rank := map[Outcome]int{Unknown: 1, Pending: 2, Unread: 3, Refused: 4, Stopped: 4}
	return rank[o] > rank[than]
}

// Error is a rotation that is not complete.
type Error struct {
	Outcome Outcome
	// Err says why; nil: the stages that the Observer was given say it.
	Err error
	// Next is the next step; empty: there is none.
	Next string
	// Unchanged: nothing was changed, neither by this step nor before it.
	Unchanged bool
}

func (e *Error) Error() string {
	switch {
	case e.Err == nil:
		return "not complete"
	case e.Unchanged && e.Outcome == Refused:
		return "refused, nothing was changed: " + e.Err.Error()
	case e.Unchanged:
		return "nothing was changed: " + e.Err.Error()
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// asError gives an error of others its outcome: a refusal is one, and all else was read in
// vain. nil stays nil.
func asError(err error) *Error {
	var e *Error
	var r *remediate.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return e
	case errors.As(err, &r):
		return &Error{Outcome: Refused, Err: err, Next: r.Next, Unchanged: true}
	}
	return &Error{Outcome: Unread, Err: err}
}

// unchanged is a failure of reading before anything was changed.
func unchanged(err error) error {
	e := *asError(err)
	e.Unchanged = true
	return &e
}

// silent reports whether an error has an outcome, and nothing to say.
func silent(err error, of Outcome) bool {
	e := asError(err)
	return e != nil && e.Err == nil && e.Outcome == of
}

// afterChanges is the failure of one step, where others were done before: then neither the
// error nor its outcome says that nothing was changed.
func afterChanges(err error, changed bool) error {
	e := asError(err)
	if e == nil || !changed || !e.Unchanged && e.Outcome != Unread {
		return err
	}
	return &Error{Outcome: Stopped, Err: fmt.Errorf("stopped half-way: %w", e.Err), Next: e.Next}
}
