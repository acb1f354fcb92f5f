package check_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/check"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestAKubeletRejoinsWithAPreviewFirst: certificates are approved after it alone.
func TestAKubeletRejoinsWithAPreviewFirst(t *testing.T) {
	t.Parallel()
	f := inspecttest.NewFixture("4.15.1").Link(inspect.KubeletClient, "")
	told := 0
	for _, c := range check.Checks() {
		for _, finding := range c.Run(inspect.NewFacts(f.Snapshot, inspecttest.Noon, 30*inspecttest.Day)) {
			if text := finding.Remediation.Text; strings.Contains(text, "--rebootstrap") {
				told++
				if !strings.HasSuffix(text, "fix-api-int --nodes worker-0 --rebootstrap --approve-csrs --dry-run=client") {
					t.Errorf("%s: %s", c.ID, text)
				}
			}
		}
	}
	if told != 1 {
		t.Errorf("%d findings", told)
	}
}

// TestNoBareRestartIsAdvised: a file that was changed may still lack the CA, and a kubelet that
// starts with it has no heartbeat.
func TestNoBareRestartIsAdvised(t *testing.T) {
	t.Parallel()
	const own = "/var/lib/kubelet/kubeconfig"
	ca := pkitest.NewCA("old", inspecttest.DaysFromNoon(-100), inspecttest.DaysFromNoon(100))
	f := inspecttest.NewFixture("4.15.1").Embedded(own, nil, ca.CertPEM).Changed(own, inspecttest.Noon.Add(-time.Hour), inspecttest.Noon.Add(-2*time.Hour))
	told := 0
	for _, c := range check.Checks() {
		if c.ID != "kubelet-loaded" {
			continue
		}
		for _, finding := range c.Run(inspect.NewFacts(f.Snapshot, inspecttest.Noon, 30*inspecttest.Day)) {
			told++
			if r := finding.Remediation; strings.Contains(r.Text+r.Command, "systemctl restart") || !strings.Contains(r.Command, "fix-api-int --nodes worker-0 --dry-run=client") {
				t.Errorf("%+v", r)
			}
		}
	}
	if told != 1 {
		t.Errorf("%d findings", told)
	}
}
