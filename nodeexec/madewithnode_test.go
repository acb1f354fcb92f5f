package nodeexec

import (
	"strings"
	"testing"
)

// TestAPasswordMadeWithTheNodesNameIsLeftOut, however little else is in it. A user or a port beside the name
// is none.
func TestAPasswordMadeWithTheNodesNameIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ word, said, hidden string }{
		{"{node}#42", "bad option: worker-0#42", "worker-0#42"},
		{"S3.{node}.cr", "S3.worker-0.cr", "S3.worker-0.cr"},
		{"A1!{node}", "A1!worker-0", "A1!worker-0"},
		{"PW=A1!{node} foo", "A1!worker-0", "A1!worker-0"},
		{"-p{node}!x9", "-pworker-0!x9", "worker-0!x9"},
		{"me@{node}", "me@worker-0: no route", ""},
		{"{node}:22", "worker-0:22 is closed", ""},
		{"{node}", "worker-0 is down", ""},
	} {
		got := string(unsaidOf([]string{"sshpass", c.word}, "worker-0").in([]byte(c.said)))
		if c.hidden != "" && strings.Contains(got, c.hidden) || c.hidden == "" && got != c.said {
			t.Errorf("%s: %q is passed on as %q", c.word, c.said, got)
		}
	}
}
