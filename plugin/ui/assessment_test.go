package ui

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
)

// TestAnAssessmentIsPrintedInReadingOrder: a command is printed once, as one line that can be
// copied, however long it is.
func TestAnAssessmentIsPrintedInReadingOrder(t *testing.T) {
	t.Parallel()
	command := "oc get " + strings.Repeat("x", 150)
	for _, c := range []struct {
		next assess.Remediation
		want string
	}{
		{assess.Remediation{Text: "look at it", Command: command}, "    next  look at it\n          " + command + "\n"},
		{assess.FixedCommand("oc get nodes"), "    next  oc get nodes\n"},
		{assess.Advise("wait"), "    next  wait\n"},
	} {
		var out strings.Builder
		Assessment(&out, "    ", assess.Assessment{Reason: "it\nis", Impact: "it fails", Evidence: "as was\x1b read", Remediation: c.next}, func() { Printf(&out, "    in    there\n") })
		want := "    it is\n    in    there\n    impact  it fails\n    detail  as was\\x1b read\n" + c.want
		if got := out.String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// TestAJudgedLineHasItsReason, and the next step below it where it does not pass.
func TestAJudgedLineHasItsReason(t *testing.T) {
	t.Parallel()
	for status, want := range map[assess.Status]string{
		assess.Pass:    "✓ trust  as it\n",
		assess.Unknown: "? trust  as it\n    next  look at it:\n          oc get nodes\n",
	} {
		var out strings.Builder
		Judged(&out, StatusMark(status)+" trust  ", "    ", assess.Assessment{Status: status, Reason: "as\nit", Remediation: assess.Advise("look at it: oc get nodes")})
		if got := out.String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}
