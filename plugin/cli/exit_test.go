package cli_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// TestOutcomesHaveCodes: each outcome has its exit code and the words of its error, and of two in one
// chain the outer one counts.
func TestOutcomesHaveCodes(t *testing.T) {
	t.Parallel()
	why := errors.New("because")
	for name, c := range map[string]struct {
		err    error
		code   int
		says   string
		silent bool
	}{
		"a plain error":                {why, cli.ExitUsage, "because", false},
		"findings that were printed":   {cli.Findings(nil), cli.ExitFindings, "exit code 1", true},
		"findings":                     {cli.Findings(why), cli.ExitFindings, "because", false},
		"no access":                    {cli.NoAccess(why), cli.ExitUsage, "because", false},
		"unknowns that were printed":   {cli.Incomplete(nil), cli.ExitIncomplete, "exit code 3", true},
		"interrupted":                  {cli.Interrupted(), cli.ExitIncomplete, "interrupted: the output is incomplete", false},
		"stopped":                      {cli.Stopped(why), cli.ExitStopped, "because", false},
		"refused":                      {cli.Refused(why), cli.ExitRefused, "because", false},
		"refused, with a next step":    {cli.WithHint(cli.Refused(why), "look"), cli.ExitRefused, "because", false},
		"stopped by a refusal":         {cli.Stopped(fmt.Errorf("half-way: %w", cli.Refused(why))), cli.ExitStopped, "half-way: because", false},
		"refused since others stopped": {cli.Refused(cli.Stopped(why)), cli.ExitRefused, "because", false},
		"not read since refused":       {cli.NoAccess(cli.Refused(why)), cli.ExitUsage, "because", false},
	} {
		if code, silent := cli.CodeOf(c.err), cli.Silent(c.err); code != c.code || silent != c.silent || c.err.Error() != c.says {
			t.Errorf("%s: code %d, silent %t: %v", name, code, silent, c.err)
		}
		if inner := errors.Is(c.err, why); inner == c.silent && name != "interrupted" {
			t.Errorf("%s: the error in it is found: %t", name, inner)
		}
	}
	if cli.CodeOf(nil) != cli.ExitFine || !cli.Silent(nil) {
		t.Error("no error is no outcome")
	}
	var refused *cli.RefusedError
	if !errors.As(cli.Stopped(cli.Refused(why)), &refused) || errors.As(cli.Stopped(why), &refused) {
		t.Error("a refusal is told from other outcomes")
	}
}
