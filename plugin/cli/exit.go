package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// The exit codes, documented in docs/exit-codes.md.
const (
	ExitFine       = 0 // everything asked was read and is fine
	ExitFindings   = 1 // findings at or above --fail-on, or a dry run would change something
	ExitUsage      = 2 // usage, or no access
	ExitIncomplete = 3 // no finding, but something in scope is unknown
	ExitStopped    = 4 // a write failed, was stopped or undone
	ExitRefused    = 5 // a preflight check failed, or there was no consent
)

// ExitError ends the program with a code other than that of a usage error. A
// nil err says nothing: the output said it already.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

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
	var e *ExitError
	switch {
	case err == nil:
		return ExitFine
	case errors.As(err, &e):
		return e.Code
	}
	return ExitUsage
}

// Verdict turns an inventory into an exit code: findings outrank gaps.
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

// Judged is the exit code of what was judged: what is wrong outranks what is unknown. unread:
// something in scope was not read.
func Judged(worst assess.Status, unread, allowUnknown bool) error {
	switch {
	case worst.Wrong():
		return &ExitError{Code: ExitFindings}
	case (worst != assess.Pass || unread) && !allowUnknown:
		return &ExitError{Code: ExitIncomplete}
	}
	return nil
}

// readAnything reports whether anything but the caller's own kubeconfig was
// read.
func readAnything(inv *report.Inventory) bool {
	return slices.ContainsFunc(inv.Reads, func(r report.Read) bool { return r.What != "kubeconfig" && !r.Skipped })
}
