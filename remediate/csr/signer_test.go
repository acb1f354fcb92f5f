package csr

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestNoApprovalBeforeTheSignerIsValid: after a power-off the csr-signer has expired, and
// kube-controller-manager backs off for up to 16 minutes if something is approved then.
func TestNoApprovalBeforeTheSignerIsValid(t *testing.T) {
	t.Parallel()
	openshift, plain := catalog.Versions{Cluster: "4.15.0"}, catalog.Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}
	valid, expired := [2]time.Time{remediatetest.TestNow.AddDate(0, 0, -1), remediatetest.TestNow.AddDate(0, 0, 29)}, [2]time.Time{remediatetest.TestNow.AddDate(0, 0, -40), remediatetest.TestNow.AddDate(0, 0, -10)}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "csr-signer", errors.New("no"))
	for name, c := range map[string]struct {
		signer    func(looks int, of catalog.Ref) (collect.Signer, error)
		approved  bool
		says      string // the end, or what was told
		versions  catalog.Versions
		plainFile []byte
		worker    []byte // the same file of a worker
	}{
		"it is valid": {signer: func(int, catalog.Ref) (collect.Signer, error) {
			return collect.Signer{NotBefore: valid[0], NotAfter: valid[1], Asked: remediatetest.TestNow}, nil
		}, approved: true},
		"it has expired": {signer: func(int, catalog.Ref) (collect.Signer, error) {
			return collect.Signer{NotBefore: expired[0], NotAfter: expired[1], Asked: remediatetest.TestNow}, nil
		},
			says: "csr-signer: Secret/openshift-kube-controller-manager/csr-signer[tls.crt] expired 20"},
		"it expired by this machine's clock alone": {signer: func(int, catalog.Ref) (collect.Signer, error) {
			return collect.Signer{NotBefore: expired[0], NotAfter: expired[1], Asked: expired[0].Add(time.Hour)}, nil
		}, approved: true},
		"it is not valid yet": {signer: func(int, catalog.Ref) (collect.Signer, error) {
			return collect.Signer{NotBefore: remediatetest.TestNow.Add(time.Hour), NotAfter: valid[1], Asked: remediatetest.TestNow}, nil
		}, says: "is not valid before"},
		"it is renewed meanwhile": {signer: func(looks int, of catalog.Ref) (collect.Signer, error) {
			if of == catalog.CSRSigner() && looks < 8 {
				return collect.Signer{NotBefore: expired[0], NotAfter: expired[1], Asked: remediatetest.TestNow}, nil
			}
			return collect.Signer{NotBefore: valid[0], NotAfter: valid[1], Asked: remediatetest.TestNow}, nil
		}, approved: true, says: "Secret/openshift-kube-controller-manager-operator/csr-signer[tls.crt] is renewed, and is copied there"},
		"it may not be read": {signer: func(int, catalog.Ref) (collect.Signer, error) { return collect.Signer{}, forbidden },
			says: "kubectl auth can-i get secret/csr-signer -n openshift-kube-controller-manager"},
		"the API server's time is not known": {signer: func(int, catalog.Ref) (collect.Signer, error) {
			return collect.Signer{NotBefore: valid[0], NotAfter: valid[1], Asked: time.Time{}}, nil
		}, says: "does not say what time it is"},
		"plain, and not read":    {versions: plain, approved: true, says: "/etc/kubernetes/pki/ca.crt of control plane nodes) is valid is unknown"},
		"plain, and it is valid": {versions: plain, approved: true, plainFile: pkitest.NewCA("kubernetes", valid[0], valid[1]).CertPEM},
		"plain, a worker's is stale, and a control plane node's valid": {versions: plain, approved: true, plainFile: pkitest.NewCA("kubernetes", valid[0], valid[1]).CertPEM, worker: pkitest.NewCA("kubernetes", expired[0], expired[1]).CertPEM},
		"plain, and only a worker's was read":                          {versions: plain, approved: true, worker: pkitest.NewCA("kubernetes", expired[0], expired[1]).CertPEM, says: "/etc/kubernetes/pki/ca.crt of control plane nodes) is valid is unknown"},
		"plain, and it has two certificates": {versions: plain, approved: true, says: "is valid is unknown: on master-0 it has 2 certificates",
			plainFile: pkitest.Bundle(pkitest.NewCA("kubernetes", expired[0], expired[1]).CertPEM, pkitest.NewCA("kubernetes", valid[0], valid[1]).CertPEM)},
		"plain, and it has expired": {versions: plain, plainFile: pkitest.NewCA("kubernetes", expired[0], expired[1]).CertPEM, says: "/etc/kubernetes/pki/ca.crt expired"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &remediatetest.RequestsAPI{Signs: true}
			w := remediatetest.NewWorld(t)
			env, told := remediatetest.Approvals(t, w, api)
			now := remediatetest.TestNow
			env.Now, env.Sleep = func() time.Time { return now }, func(ctx context.Context, d time.Duration) error { now = now.Add(d); return context.Cause(ctx) }
			looks := 0
			env.Signer = func(_ context.Context, of catalog.Ref) (collect.Signer, error) {
				looks++
				return c.signer(looks, of)
			}
			if c.signer == nil {
				env.Signer = nil
			}
			api.Add(remediatetest.ClientAsking(t).Made(t))
			snapshot := inspect.Snapshot{Cluster: inspect.Cluster{Versions: openshift, Clock: inspect.Clock{Sent: remediatetest.TestNow, Before: remediatetest.TestNow, After: remediatetest.TestNow, Received: remediatetest.TestNow}}, Nodes: []inspect.Node{{Name: "worker-0", Via: "ssh"}}}
			if c.versions.NotOpenShift {
				snapshot.Cluster.Versions = plain
				api.Requests[0].Spec.Username, api.Requests[0].Spec.Groups = "system:bootstrap:abcdef", []string{"system:bootstrappers", "system:authenticated"}
			}
			snapshot.Nodes = append(snapshot.Nodes, inspect.Node{Name: "master-0", Via: "ssh", Role: catalog.RoleMaster}, inspect.Node{Name: "worker-9", Via: "ssh", Role: catalog.RoleWorker})
			for node, text := range map[string][]byte{"master-0": c.plainFile, "worker-9": c.worker} {
				if text != nil {
					snapshot.Bundles = append(snapshot.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: node, Path: catalog.KubeadmCA}, Content: pki.NewScanner().Scan(text)[0].Content})
				}
			}
			if c.worker != nil { // from when it was a control plane node
				snapshot.Bundles = append(snapshot.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: "worker-9", Path: catalog.KubeadmServing().Name}, Content: pki.NewScanner().Scan(c.worker)[0].Content})
			}
			a := NewApprovePending([]string{"worker-0"}, true, true)
			change, err := a.Diff(snapshot, remediatetest.TestNow)
			if err != nil || change == nil {
				t.Fatal(change, err)
			}
			err = a.Apply(t.Context(), env, change)
			if got := slices.Contains(api.Log, "csr-client"); got != c.approved || (err == nil) != c.approved {
				t.Errorf("approved %t, want %t: %v\n%s", got, c.approved, err, told)
			}
			text := told.String()
			if err != nil {
				text += err.Error()
				var refusal *remediate.Refusal
				if errors.As(err, &refusal) {
					text += refusal.Next
				}
				if strings.Contains(text, "next:") {
					t.Errorf("a next step is in an error's text: %s", text)
				}
			}
			if !strings.Contains(text, c.says) || strings.Count(told.String(), "waiting, before anything is approved") > 1 {
				t.Errorf("want %q:\n%s", c.says, text)
			}
		})
	}
}
