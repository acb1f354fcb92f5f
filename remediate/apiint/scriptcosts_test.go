package apiint

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestScriptsAreProvenTogether: root on a worker has many CAs in its files, which take long to judge. That is done for
// all scripts at once, as in a plan, and not once for each node. Where one worker's script is refused, too.
func TestScriptsAreProvenTogether(t *testing.T) { //nolint:paralleltest // it counts allocations
	names := []string{"master-0"}
	for i := range 12 {
		names = append(names, fmt.Sprintf("worker-%02d", i))
	}
	many := make([][]byte, 40)
	for i := range many {
		many[i] = pkitest.NewCA(fmt.Sprintf("of-root-%d", i), remediatetest.TestNow.AddDate(0, 0, -1), remediatetest.TestNow.AddDate(1, 0, 0)).CertPEM
	}
	for _, refused := range []string{"", "worker-07"} {
		cost := func(cas []byte) (scripts, plan float64) {
			f := remediatetest.NewCluster(strings.Join(names, " "))
			if refused != "" {
				f.Embed(refused, remediatetest.KubeletFile, f.Before, unmarkedTwin(f, t))
			}
			if len(cas) > 0 {
				f.Pem("worker-03", "/etc/kubernetes/ca.crt", cas)
			}
			scripts = testing.AllocsPerRun(1, func() {
				fix := wholeOf(f)
				fix.Nodes = names
				set, err := fix.Scripts("run-1", f.Snapshot, remediatetest.TestNow, true)
				if err != nil || len(set.Scripts)+len(set.LeftOut) != len(names) || slices.ContainsFunc(set.Scripts, func(s Script) bool { return s.Node == refused }) {
					t.Fatalf("%v: %d scripts, left out %v", err, len(set.Scripts), set.LeftOut)
				}
			})
			plan = testing.AllocsPerRun(1, func() {
				if _, err := wholeOf(f).Plan("run-1", f.Snapshot, remediatetest.TestNow); err != nil {
					t.Fatal(err)
				}
			})
			return scripts, plan
		}
		scripts, plan := cost(nil)
		costlyScripts, costlyPlan := cost(bytes.Join(many, nil))
		more := (costlyScripts - scripts) / (costlyPlan - plan)
		t.Logf("refused %q: %.0f and %.0f allocations for scripts, %.0f and %.0f for a plan", refused, scripts, costlyScripts, plan, costlyPlan)
		if costlyPlan <= plan || more > 3 {
			t.Errorf("refused %q: the CAs cost %.1f times as much for scripts as for a plan", refused, more)
		}
	}
}
