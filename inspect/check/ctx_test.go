package check

import (
	"context"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestChecksEndWithTheirContext: a user who interrupts does not wait for the checks that are left.
func TestChecksEndWithTheirContext(t *testing.T) {
	t.Parallel()
	leaf := &pki.Cert{Subject: "CN=a", Issuer: "CN=b", NotBefore: inspecttest.Noon.AddDate(-1, 0, 0), NotAfter: inspecttest.Noon.Add(-time.Hour)}
	f := factsOf(places(1, "tls.crt", same(leaf), "a")...)
	if found := Judge(t.Context(), f); len(found) == 0 {
		t.Fatal("nothing is found")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if found := Judge(ctx, f); len(found) > 0 {
		t.Errorf("%d findings of checks that ran after the end", len(found))
	}
}
