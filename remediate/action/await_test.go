package action

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

func TestWhatIsNotAccepted(t *testing.T) {
	t.Parallel()
	file := inspect.ProbedKubeconfig{Path: remediatetest.KubeletFile}
	unasked, refused, distrusted := file, file, file
	refused.Refused = "it is empty"
	unasked.Answers = []inspect.ProbeAnswer{{Question: inspect.AskLease, Code: 200}}
	distrusted.Answers = []inspect.ProbeAnswer{{Question: inspect.AskNode, Failure: inspect.FailedTrust, Detail: "the CA does not verify it"}}
	for want, c := range map[string]*inspect.RestartProbe{
		"neither curl nor openssl":      {Problem: "neither curl nor openssl"},
		"no credentials":                {Kubeconfig: unasked},
		"it is empty":                   {Kubeconfig: refused},
		"the CA does not verify it":     {Kubeconfig: distrusted},
		"the restart probe did not run": nil,
	} {
		if err := accepted(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
