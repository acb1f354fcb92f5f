package trust

import (
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

// TestATenantNamedAsAWorker: neither pays for the other.
func TestATenantNamedAsAWorker(t *testing.T) {
	t.Parallel()
	const name, all = "worker-1", costsOfTenant
	of := func() *judge { return newJudge(inspect.NewFacts(inspect.Snapshot{}, time.Time{}, 0)) }
	if j := of(); !j.payTenant(name, all) || !j.charge(name, costsOfWorker) {
		t.Error("the namespace has spent what the worker may")
	}
	if j := of(); !j.charge(name, costsOfWorker) || !j.payTenant(name, all) {
		t.Error("the worker has spent what the namespace may")
	}
}
