package preflight

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestAPauseThatSomebodyLifts has a health check act again in the middle of a run.
func TestAPauseThatSomebodyLifts(t *testing.T) {
	t.Parallel()
	check := inspect.Actor{Resource: catalog.MachineHealthChecks, Namespace: "openshift-machine-api", Name: "all", Active: catalog.Yes, Paused: []string{"certrot run-1"}}
	again := &RecheckGate{ControlPlane: func(context.Context) *inspect.ControlPlaneStatus {
		m := remediatetest.Settled()
		m.Actors = append(m.Actors, check)
		return m
	}}
	env := &remediate.Env{Now: func() time.Time { return remediatetest.TestNow }}
	if _, err := again.ask(t.Context(), env, []string{"worker-0"}); err != nil {
		t.Errorf("while it is paused: %v", err)
	}
	check.Paused = nil
	var r *remediate.Refusal
	if _, err := again.ask(t.Context(), env, []string{"worker-0"}); !errors.As(err, &r) || r.Name != remediationActive {
		t.Errorf("when it is not: %v", err)
	}
}
