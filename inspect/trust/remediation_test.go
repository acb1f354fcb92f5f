package trust

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// TestNextStepsArePasted: what repairs an edge is a command that runs as it stands; what is restarted
// after it is another step, with commands of its own.
func TestNextStepsArePasted(t *testing.T) {
	restarted := 0
	for _, e := range catalog.Edges() {
		if !assess.IsCommand(e.Remediation) {
			if e.RestartedPods != "" || strings.Contains(e.Remediation, "only then") {
				t.Errorf("%s: %q", e.ID, e.Remediation)
			}
			continue
		}
		if !strings.Contains(e.Remediation, "--dry-run=client") && strings.Contains(e.Remediation, "fix-api-int") {
			t.Errorf("%s writes at once: %s", e.ID, e.Remediation)
		}
		c := Claim{Edge: e, Advice: assess.FixedCommand(inspect.FileHints("oc certrot", "--from f").Next(e.Remediation))}
		r := c.RemediationOn("worker-2", "worker-1")
		if strings.ContainsAny(strings.ReplaceAll(r.Command, "worker-2,worker-1", ""), ",;") || strings.Contains(r.Command, "NODE") {
			t.Errorf("%s: %q", e.ID, r.Command)
		}
		if e.RestartedPods == "" {
			continue
		}
		restarted++
		if !strings.Contains(r.Then, "only once") || !strings.HasSuffix(r.Then, "pod on worker-2, worker-1") || strings.Count(r.ThenRun, "\n") != 1 || !strings.Contains(r.ThenRun, "kubectl -n openshift-") ||
			!strings.Contains(r.ThenRun, "--field-selector spec.nodeName=worker-1") || !strings.Contains(r.Text, r.Then) {
			t.Errorf("%s: %+v", e.ID, r)
		}
		if odd := c.RemediationOn("worker-2", "$(reboot)"); odd.Command != "" || odd.ThenRun != "" {
			t.Errorf("%s: %+v", e.ID, odd)
		}
	}
	if restarted != 3 {
		t.Errorf("%d edges after which pods are restarted", restarted)
	}
}

// TestEachEdgeThatFailsHasANextStep: at least what explains it.
func TestEachEdgeThatFailsHasANextStep(t *testing.T) {
	t.Parallel()
	for _, e := range catalog.Edges() {
		c := Claim{Edge: e, Assessment: assess.Assessment{Status: assess.Fail}}
		c.conclude(inspect.LiveHints("kubectl certrot"))
		if c.Assessment.Remediation.Text == "" || c.Advice.Text == "" {
			t.Errorf("%s has no next step", e.ID)
		}
		if e.Remediation == "" && c.Assessment.Remediation.Command != "kubectl certrot explain "+e.ID {
			t.Errorf("%s: %+v", e.ID, c.Assessment.Remediation)
		}
	}
}
