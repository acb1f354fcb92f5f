package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// The exit codes, documented in docs/exit-codes.md. Commands do not name them: they return what
// happened.
const (
	ExitFine       = 0 // everything asked was read and is fine
	ExitFindings   = 1 // findings at or above --fail-on, or a dry run would change something
	ExitUsage      = 2 // usage, or no access
	ExitIncomplete = 3 // no finding, but something in scope is unknown
	ExitStopped    = 4 // a write failed, was stopped or undone
	ExitRefused    = 5 // a preflight check failed, or there was no consent
)

// outcome is an error that says how a command came out. Where one wraps another, the outer one
// counts.
type outcome interface {
	error
	exitCode() int
	printed() bool
}

// outcomeError is the outcome of an error. A nil err says nothing: the output said it already.
type outcomeError struct {
	code int
	err  error
}

func (e *outcomeError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *outcomeError) Unwrap() error { return e.err }
func (e *outcomeError) exitCode() int { return e.code }
func (e *outcomeError) printed() bool { return e.err == nil }

// RefusedError is a refusal to change anything.
type RefusedError struct{ outcomeError }

// Findings is the outcome where something is wrong, a dry run would change something, or what was
// waited for is not complete. As with the others, a nil err is for what the output said already.
func Findings(err error) error { return &outcomeError{ExitFindings, err} }

// NoAccess is the outcome where what a command needs could not be read, or is not there. It is that
// of an error without one, too.
func NoAccess(err error) error { return &outcomeError{ExitUsage, err} }

// Incomplete is the outcome where nothing is wrong as far as it is known, and something in scope is unknown.
func Incomplete(err error) error { return &outcomeError{ExitIncomplete, err} }

// Interrupted is Incomplete where a signal came before all of the answer.
func Interrupted() error { return Incomplete(errors.New("interrupted: the output is incomplete")) }

// Stopped is the outcome where a write failed, was stopped or undone.
func Stopped(err error) error { return &outcomeError{ExitStopped, err} }

// Refused is the outcome where a check before a change failed, or there was no consent.
func Refused(err error) error { return &RefusedError{outcomeError{ExitRefused, err}} }

// HintError is an error with the next step.
type HintError struct {
	err  error
	Hint string
}

func (e *HintError) Error() string { return e.err.Error() }
func (e *HintError) Unwrap() error { return e.err }

// WithHint adds the next step to an error.
func WithHint(err error, hint string, args ...any) error {
	return &HintError{err, fmt.Sprintf(hint, args...)}
}

// CodeOf returns the exit code for what a command returned.
func CodeOf(err error) int {
	var e outcome
	switch {
	case err == nil:
		return ExitFine
	case errors.As(err, &e):
		return e.exitCode()
	}
	return ExitUsage
}

// Silent reports whether there is nothing to print about an error: none, or the output said it.
func Silent(err error) bool {
	var e outcome
	return err == nil || errors.As(err, &e) && e.printed()
}

// Verdict turns an inventory into an outcome: findings outrank gaps.
func Verdict(inv *report.Inventory, failOn *assess.Severity, allowUnknown bool, hints inspect.Hints) error {
	if len(inv.Gaps) > 0 && !readAnything(inv) {
		return WithHint(errors.New("nothing that was asked for could be read"), "see what is unknown, above%s", hints.Live("; kubectl auth whoami; kubectl auth can-i --list"))
	}
	status := assess.Pass
	if worst, any := inv.Worst(); any && failOn != nil && worst >= *failOn {
		status = assess.Fail
	}
	return Judged(status, len(inv.Gaps) > 0, allowUnknown)
}

// Judged is the outcome of what was judged: what is wrong outranks what is unknown. unread:
// something in scope was not read.
func Judged(worst assess.Status, unread, allowUnknown bool) error {
	switch {
	case worst.Wrong():
		return Findings(nil)
	case (worst != assess.Pass || unread) && !allowUnknown:
		return Incomplete(nil)
	}
	return nil
}

// readAnything reports whether anything but the caller's own kubeconfig was
// read.
func readAnything(inv *report.Inventory) bool {
	return slices.ContainsFunc(inv.Reads, func(r report.Read) bool { return r.What != "kubeconfig" && !r.Skipped })
}
