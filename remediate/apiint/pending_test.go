package apiint

import (
	"slices"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
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
	if p := planOf(f, t); !slices.Equal(p.Unapproved, []string{node}) {
		t.Errorf("requests that the plan leaves: of %q", p.Unapproved)
	}
	want := node + ": 2 CSRs pending for 120m: to approve, add --approve-csrs"
	if notes := planOf(f, t).Notes.Texts(); !slices.Contains(notes, want) {
		t.Errorf("no %q in %q", want, notes)
	}
	fix := fixOf(f)
	fix.ApproveCSRs = true
	p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
	if err != nil || slices.Contains(p.Notes.Texts(), want) || len(p.Unapproved) > 0 {
		t.Errorf("it approves them: %q, %v", p.Notes.Texts(), err)
	}
}

// TestANodeWithoutACertificateIsBackByAnApproval: a plan that approves nothing does not claim to repair it.
func TestANodeWithoutACertificateIsBackByAnApproval(t *testing.T) {
	t.Parallel()
	for _, approve := range []bool{false, true} {
		f := remediatetest.NewFixture()
		n := f.FirstNode()
		n.Ready, n.Heartbeat, n.Lease = "Unknown", remediatetest.TestNow.Add(-5*time.Hour), inspect.Lease{Asked: remediatetest.TestNow}
		n.Files = slices.DeleteFunc(n.Files, func(file inspect.NodeFile) bool { return file.Path == inspect.KubeletClient })
		f.Bundles = slices.DeleteFunc(f.Bundles, func(b inspect.Bundle) bool { return b.At.Node == n.Name && b.At.Path == inspect.KubeletClient })
		f.Requests = []inspect.SigningRequest{{Object: &inspect.Object{Name: "csr-1"}, Signer: catalog.KubeletClientSigner, Requester: "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper", Request: &pki.Request{Subject: "CN=system:node:" + n.Name + ",O=system:nodes"}, Condition: inspect.Pending, Since: remediatetest.TestNow.Add(-time.Hour)}}
		fix := fixOf(f)
		fix.ApproveCSRs = approve
		p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Fatal(err)
		}
		solved := slices.ContainsFunc(p.Solved, func(f assess.Finding) bool { return f.ID == "kubelet-current" })
		if solved != approve || slices.Equal(p.Unapproved, []string{n.Name}) == approve {
			t.Errorf("approves %t: solved %t, unapproved %q", approve, solved, p.Unapproved)
		}
	}
}
