package plugin

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
	exitFine       = 0 // everything asked was read and is fine
	exitFindings   = 1 // findings at or above --fail-on, or a dry run would change something
	exitUsage      = 2 // usage, or no access
	exitIncomplete = 3 // no finding, but something in scope is unknown
	exitStopped    = 4 // a write failed, was stopped or undone
	exitRefused    = 5 // a preflight check failed, or there was no consent
)

// exitError ends the program with a code other than that of a usage error. A
// nil err says nothing: the output said it already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// hintError is an error with the next step.
type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }

func withHint(err error, hint string, args ...any) error {
	return &hintError{err, fmt.Sprintf(hint, args...)}
}

// codeOf returns the exit code for what a command returned.
func codeOf(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &e):
		return e.code
	}
	return exitUsage
}

// verdict turns an inventory into an exit code: findings outrank gaps.
func verdict(inv *report.Inventory, failOn *assess.Severity, allowUnknown bool, hints inspect.Hints) error {
	if len(inv.Gaps) > 0 && !readAnything(inv) {
		return withHint(errors.New("nothing that was asked for could be read"), "see what is unknown, above%s", hints.Live("; kubectl auth whoami; kubectl auth can-i --list"))
	}
	if worst, any := inv.Worst(); any && failOn != nil && worst >= *failOn {
		return &exitError{code: exitFindings}
	}
	if len(inv.Gaps) > 0 && !allowUnknown {
		return &exitError{code: exitIncomplete}
	}
	return nil
}

// readAnything reports whether anything but the caller's own kubeconfig was
// read.
func readAnything(inv *report.Inventory) bool {
	return slices.ContainsFunc(inv.Reads, func(r report.Read) bool { return r.What != "kubeconfig" && !r.Skipped })
}
