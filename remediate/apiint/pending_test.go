package apiint

import (
	"slices"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestPendingRequestsAreTold: of kubelets that the plan restarts, where it approves none; what others
// request for a node is none of them.
func TestPendingRequestsAreTold(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewFixture()
	node := f.FirstNode().Name
	for i, signer := range []string{catalog.KubeletClientSigner, catalog.KubeletClientSigner, "kubernetes.io/kube-apiserver-client"} {
		f.Requests = append(f.Requests, inspect.SigningRequest{Object: &inspect.Object{Name: "csr"}, Signer: signer, Requester: "system:node:" + node, Condition: inspect.Pending, Since: remediatetest.TestNow.Add(-time.Duration(i+1) * time.Hour)})
	}
	f.Requests = append(f.Requests, inspect.SigningRequest{Object: &inspect.Object{Name: "csr-of-a-tenant"}, Signer: catalog.KubeletClientSigner, Requester: "system:serviceaccount:team:default", Request: &pki.Request{Subject: "CN=system:node:" + node}, Condition: inspect.Pending, Since: remediatetest.TestNow.Add(-9 * time.Hour)})
	want := node + ": 2 CSRs pending for 120m: to approve, add --approve-csrs"
	if notes := planOf(f, t).Notes.Texts(); !slices.Contains(notes, want) {
		t.Errorf("no %q in %q", want, notes)
	}
	fix := fixOf(f)
	fix.ApproveCSRs = true
	p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
	if err != nil || slices.Contains(p.Notes.Texts(), want) {
		t.Errorf("it approves them: %q, %v", p.Notes.Texts(), err)
	}
}
