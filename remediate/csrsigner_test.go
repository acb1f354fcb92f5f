package remediate

import (
	"context"
	"errors"
	"os"
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
)

// validSigner is a csr-signer that signs now.
func validSigner(context.Context, catalog.Ref) (collect.Signer, error) {
	return collect.Signer{NotBefore: testNow.AddDate(0, 0, -1), NotAfter: testNow.AddDate(0, 0, 29), Asked: testNow}, nil
}

// TestNoApprovalBeforeTheSignerIsValid: after a power-off the csr-signer has expired, and
// kube-controller-manager backs off for up to 16 minutes if something is approved then.
func TestNoApprovalBeforeTheSignerIsValid(t *testing.T) {
	t.Parallel()
	openshift, plain := catalog.Versions{Cluster: "4.15.0"}, catalog.Versions{Plain: true, Kubernetes: "v1.35.4"}
	valid, expired := [2]time.Time{testNow.AddDate(0, 0, -1), testNow.AddDate(0, 0, 29)}, [2]time.Time{testNow.AddDate(0, 0, -40), testNow.AddDate(0, 0, -10)}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "csr-signer", errors.New("no"))
	for name, c := range map[string]struct {
		signer    func(looks int, of catalog.Ref) (collect.Signer, error)
		approved  bool
		says      string // the end, or what was told
		versions  catalog.Versions
		plainFile []byte
	}{
		"it is valid": {signer: func(int, catalog.Ref) (collect.Signer, error) {
			return collect.Signer{NotBefore: valid[0], NotAfter: valid[1], Asked: testNow}, nil
		}, approved: true},
		"it has expired": {signer: func(int, catalog.Ref) (collect.Signer, error) {
			return collect.Signer{NotBefore: expired[0], NotAfter: expired[1], Asked: testNow}, nil
		},
			says: "csr-signer: Secret/openshift-kube-controller-manager/csr-signer[tls.crt] expired 20"},
		"it expired by this machine's clock alone": {signer: func(int, catalog.Ref) (collect.Signer, error) {
			return collect.Signer{NotBefore: expired[0], NotAfter: expired[1], Asked: expired[0].Add(time.Hour)}, nil
		}, approved: true},
		"it is not valid yet": {signer: func(int, catalog.Ref) (collect.Signer, error) {
			return collect.Signer{NotBefore: testNow.Add(time.Hour), NotAfter: valid[1], Asked: testNow}, nil
		}, says: "is not valid before"},
		"it is renewed meanwhile": {signer: func(looks int, of catalog.Ref) (collect.Signer, error) {
			if of == catalog.CSRSigner() && looks < 8 {
				return collect.Signer{NotBefore: expired[0], NotAfter: expired[1], Asked: testNow}, nil
			}
			return collect.Signer{NotBefore: valid[0], NotAfter: valid[1], Asked: testNow}, nil
		}, approved: true, says: "Secret/openshift-kube-controller-manager-operator/csr-signer[tls.crt] is renewed, and is copied there"},
		"it may not be read": {signer: func(int, catalog.Ref) (collect.Signer, error) { return collect.Signer{}, forbidden },
			says: "kubectl auth can-i get secret/csr-signer -n openshift-kube-controller-manager"},
		"the API server's time is not known": {signer: func(int, catalog.Ref) (collect.Signer, error) {
			return collect.Signer{NotBefore: valid[0], NotAfter: valid[1], Asked: time.Time{}}, nil
		}, says: "does not say what time it is"},
		"plain, and not read":       {versions: plain, approved: true, says: "/etc/kubernetes/pki/ca.crt of control plane nodes) is valid is unknown"},
		"plain, and it is valid":    {versions: plain, approved: true, plainFile: pkitest.NewCA("kubernetes", valid[0], valid[1]).CertPEM},
		"plain, and it has expired": {versions: plain, plainFile: pkitest.NewCA("kubernetes", expired[0], expired[1]).CertPEM, says: "/etc/kubernetes/pki/ca.crt expired"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &requestsAPI{signs: true}
			w := newWorld(t)
			env, told := approvals(t, w, api)
			now := testNow
			env.Now, env.Sleep = func() time.Time { return now }, func(ctx context.Context, d time.Duration) error { now = now.Add(d); return context.Cause(ctx) }
			looks := 0
			env.Signer = func(_ context.Context, of catalog.Ref) (collect.Signer, error) {
				looks++
				return c.signer(looks, of)
			}
			if c.signer == nil {
				env.Signer = nil
			}
			api.add(clientAsking(t).made(t))
			facts := inspect.Snapshot{Cluster: inspect.Cluster{Versions: openshift, Clock: inspect.Clock{Sent: testNow, Before: testNow, After: testNow, Received: testNow}}, Nodes: []inspect.Node{{Name: "worker-0", Via: "ssh"}}}
			if c.versions.Plain {
				facts.Cluster.Versions = plain
				api.requests[0].Spec.Username, api.requests[0].Spec.Groups = "system:bootstrap:abcdef", []string{"system:bootstrappers", "system:authenticated"}
			}
			if c.plainFile != nil {
				found := pki.NewScanner().Scan(c.plainFile)
				facts.Bundles = []inspect.Bundle{{At: pki.Location{Kind: pki.KindFile, Node: "master-0", Path: catalog.KubeadmCA}, Content: found[0].Content}}
			}
			a := NewLeftCSRs([]string{"worker-0"}, true, true)
			change, err := a.Diff(facts, testNow)
			if err != nil || change == nil {
				t.Fatal(change, err)
			}
			err = a.Apply(t.Context(), env, change)
			if got := slices.Contains(api.log, "csr-client"); got != c.approved || (err == nil) != c.approved {
				t.Errorf("approved %t, want %t: %v\n%s", got, c.approved, err, told)
			}
			text := told.String()
			if err != nil {
				text += err.Error()
				var refusal *Refusal
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

// TestPlansThatWaitForASigner: a kubelet that joins anew waits for its certificate, one that
// has a valid one does not.
func TestPlansThatWaitForASigner(t *testing.T) {
	t.Parallel()
	for _, joins := range []bool{true, false} {
		j := newJoining(t)
		if joins {
			if err := os.Remove(j.at(inspect.KubeletClient)); err != nil {
				t.Fatal(err)
			}
		}
		if p := j.plan(t, "run-1"); p.Empty() || Approves(p) != joins {
			t.Errorf("joins %t: waits for the signer %t: %q", joins, Approves(p), stepsOf(p))
		}
	}
}

// TestPreflightOfTheSigner refuses a rejoin before anything is changed.
func TestPreflightOfTheSigner(t *testing.T) {
	t.Parallel()
	clock := inspect.Clock{Sent: testNow, Before: testNow, After: testNow, Received: testNow}
	expired := pki.NewScanner().Scan(pkitest.NewCA("kubernetes", testNow.AddDate(0, 0, -40), testNow.AddDate(0, 0, -10)).CertPEM)[0].Content
	plain := inspect.Snapshot{Cluster: inspect.Cluster{Versions: catalog.Versions{Plain: true, Kubernetes: "v1.35.4"}, Clock: clock}}
	withCA := plain
	withCA.Bundles = []inspect.Bundle{{At: pki.Location{Kind: pki.KindFile, Node: "master-0", Path: catalog.KubeadmCA}, Content: expired}}
	for name, c := range map[string]struct {
		p     Preflight
		asked bool
		holds catalog.Answer
		blind bool
	}{
		"nothing is approved":       {p: Preflight{}},
		"no API":                    {p: Preflight{Approves: true}, asked: true, holds: catalog.Unknown, blind: true},
		"may not be read":           {p: Preflight{Approves: true, Machinery: &inspect.Machinery{}, Signer: &SignerVerdict{Reason: "forbidden"}}, asked: true, holds: catalog.Unknown},
		"valid":                     {p: Preflight{Approves: true, Machinery: &inspect.Machinery{}, Signer: &SignerVerdict{Holds: catalog.Yes}}, asked: true, holds: catalog.Yes},
		"plain, and not read":       {p: Preflight{Approves: true, Machinery: &inspect.Machinery{}, Facts: plain, Now: testNow}, asked: true, holds: catalog.Yes},
		"plain, and its CA expired": {p: Preflight{Approves: true, Machinery: &inspect.Machinery{}, Facts: withCA, Now: testNow}, asked: true, holds: catalog.No},
	} {
		checks := c.p.Check()
		v := checks[len(checks)-1]
		if (v.Name == csrSigner) != c.asked || c.asked && (v.Holds != c.holds || v.Risk || v.Blind != c.blind) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
