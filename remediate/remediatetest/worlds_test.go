package remediatetest

import (
	"os"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
)

// repair plans what repairs the world.
func repair(w *World, t *testing.T, run string) *remediate.Plan {
	t.Helper()
	p, err := worldFix(w).Plan(run, w.snapshot(t), w.Now())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func worldFix(w *World) apiint.Repair {
	return apiint.Repair{Nodes: w.names, CA: w.ConfigMap, CASource: catalog.APIServerCA().String(), API: true}
}

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Geteuid() == 0 {
		_ = os.RemoveAll(template().dir)
	}
	os.Exit(code)
}
