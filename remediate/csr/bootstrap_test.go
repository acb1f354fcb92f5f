package csr

import (
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestABootstrapFileWhoseCAIsAboutToBeFixed: that it does not verify the server yet is no reason to
// refuse then; that nothing answered is.
func TestABootstrapFileWhoseCAIsAboutToBeFixed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		failed  inspect.Failure
		fixed   bool
		refused bool
	}{
		{inspect.FailedTrust, true, false},
		{inspect.FailedTrust, false, true},
		{inspect.FailedConnect, true, true},
		{inspect.FailedConnect, false, true},
	} {
		n := &inspect.Node{Name: "worker-0", RestartProbe: &inspect.RestartProbe{Bootstrap: inspect.ProbedKubeconfig{
			Path: remediatetest.BootstrapFile, Presents: inspect.CredentialToken, Answers: []inspect.ProbeAnswer{{Failure: c.failed, Detail: "no"}},
		}}}
		if err := CheckBootstrap(inspect.Snapshot{}, n, c.fixed); (err != nil) != c.refused {
			t.Errorf("%s, its CA is fixed: %t: %v", c.failed, c.fixed, err)
		}
	}
}
