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
		{"P4:{node}:x9", "bad P4:worker-0:x9", "worker-0:x9"},
		{"-pP4:{node}:x9", "bad P4:worker-0:x9", "worker-0:x9"},
		{"{node}=x9", "bad worker-0=x9", "worker-0=x9"},
		{"root:{node}=7", "bad worker-0=7", "worker-0=7"},
		{"P4:{node}:x9@bastion", "bad P4:worker-0:x9", "worker-0:x9"},
		{"{node}:x9 foo", "bad worker-0:x9", "worker-0:x9"},
		{"A+B@{node}", "bad A+B@worker-0", "A+B@"},
		{"me@{node}:22", "me@worker-0:22 is closed", ""},
		{"-oHostName={node}", "worker-0 is down", ""},
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
