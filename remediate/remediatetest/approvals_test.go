package remediatetest

import (
	"bytes"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
)

// TestApprovalInANodesStep: the kubelet comes back with no certificate, and asks; then
// it reports, and asks for its serving one.
func TestApprovalInANodesStep(t *testing.T) {
	t.Parallel()
	j := NewJoining(t)
	w, kubelet := j.World, ClientAsking(t)
	j.Certificate(t, firstCert, time.Now().Add(-time.Hour), j.NewKey(t)) // ended
	api := &RequestsAPI{Signs: true}
	env, told := Approvals(t, w, api)
	stranger := ClientAsking(t)
	stranger.CSR.Name, stranger.CSR.Spec.Username, stranger.CSR.Spec.Groups = "csr-stranger", "mallory", nil
	api.Add(stranger.Made(t))
	looks, asked := 0, false
	api.Before = func(method, path string) *apierrors.StatusError {
		if slices.Contains(api.Log, "csr-client") && j.link() != NextCert {
			j.Certificate(t, NextCert, time.Now().Add(24*time.Hour), kubelet.Key.(*ecdsa.PrivateKey))
		}
		if method != http.MethodGet || !strings.HasSuffix(path, "/certificatesigningrequests") {
			return nil
		}
		switch looks++; looks {
		case 3:
			kubelet.CSR.CreationTimestamp = metav1.NewTime(w.Machines["worker-0"].Started(t))
			api.Add(kubelet.Made(t))
		default:
			if !asked && slices.Contains(api.Log, "csr-client") {
				asked = true
				api.Add(ServingAsking(t).Made(t))
			}
		}
		return nil
	}
	fix := worldFix(w)
	fix.ApproveCSRs = true
	snapshot := w.snapshot(t)
	p, err := fix.Plan("run-1", snapshot, w.Now())
	if err != nil {
		t.Fatal(err)
	}
	if ids := StepsOf(p); !slices.Equal(ids[2:], []string{"restart worker-0:kubelet.service", "approve-requests worker-0", "await worker-0"}) {
		t.Errorf("steps %q", ids)
	}
	for _, n := range p.Nodes() {
		for i, s := range n.Steps {
			if a, ok := s.Action.(csr.Approve); ok {
				a.Serving = true // as where its serving certificate has expired
				n.Steps[i].Action = a
			}
		}
	}
	m := w.Machines["worker-0"]
	env.Heartbeat = m.heartbeatOnce(func() bool { api.Mu.Lock(); defer api.Mu.Unlock(); return slices.Contains(api.Log, "csr-client") })
	if _, err := w.run(t.Context(), t, env, p); err != nil {
		t.Fatalf("%v\n%s", err, told)
	}
	if want := []string{"csr-client", "csr-serving"}; !slices.Equal(api.Log, want) {
		t.Errorf("approved %q, want %q\n%s", api.Log, want, told)
	}
	for _, r := range api.Requests {
		if r.Name != "csr-stranger" && (len(r.Status.Conditions) != 1 || r.Status.Conditions[0].Reason != "certrot" || !strings.Contains(r.Status.Conditions[0].Message, "run-1")) {
			t.Errorf("%s: %+v", r.Name, r.Status.Conditions)
		}
	}
	for _, want := range []string{"request csr-stranger", `NOT what this node's kubelet asks for: "mallory"`, "request csr-client", "approved csr-client", "names    worker-0, 192.0.2.7"} {
		if strings.Count(told.String(), want) != 1 {
			t.Errorf("%q is not told once:\n%s", want, told)
		}
	}
}

// TestLateNamesWhatIsPending: without --approve-csrs, what a node that is late waits
// for is printed, with the command.
func TestLateNamesWhatIsPending(t *testing.T) {
	t.Parallel()
	w := NewWorld(t)
	api := &RequestsAPI{}
	env, _ := Approvals(t, w, api)
	asking := ClientAsking(t)
	asking.CSR.CreationTimestamp = metav1.NewTime(time.Now().Add(time.Minute)) // after the restart
	api.Add(asking.Made(t))
	stranger := ClientAsking(t)
	stranger.CSR.Name, stranger.CSR.Spec.Username = "csr-stranger", "mallory"
	stranger.CSR.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Minute)) // before the restart
	api.Add(stranger.Made(t))
	m := w.Machines["worker-0"]
	p := repair(w, t, "run-1")
	m.mode(t, "late")
	_, err := w.run(t.Context(), t, env, p)
	var late *remediate.LateEffectError
	if !errors.As(err, &late) {
		t.Fatal(err)
	}
	for _, want := range []string{"its last heartbeat is from", "asked by " + Bootstrapper, "kubectl certificate approve csr-client", "kubectl describe csr csr-stranger", "mallory"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "approve csr-stranger") || len(api.Log) > 0 {
		t.Errorf("approved %q, and\n%v", api.Log, err)
	}
}

// TestUndoWaitsForAnAnswer: a kubelet that waits for a certificate gets no other CA.
func TestUndoWaitsForAnAnswer(t *testing.T) {
	t.Parallel()
	w := NewWorld(t)
	if _, err := w.run(t.Context(), t, w.env(t, "run-1", nil), repair(w, t, "run-1")); err != nil {
		t.Fatal(err)
	}
	w.api.show(t, w.Old)
	snapshot := w.snapshot(t, "/var/lib/certrot/run-1")
	snapshot.Requests = []inspect.SigningRequest{{
		Object: &inspect.Object{Kind: "CertificateSigningRequest", Name: "csr-1"}, Signer: catalog.KubeletClientSigner, Requester: Bootstrapper, Condition: inspect.Pending,
		Request: &pki.Request{Subject: "CN=system:node:worker-0,O=system:nodes"},
	}}
	_, err := undoing(w, t, "run-1").Plan("run-1", snapshot, w.Now())
	var r *remediate.Refusal
	if !errors.As(err, &r) || r.Name != "requests-pending" || !strings.Contains(r.Next, "kubectl describe csr csr-1") {
		t.Errorf("%v", err)
	}
	accepting := undoing(w, t, "run-1")
	accepting.AcceptRequestsPending = true
	if p, err := accepting.Plan("run-1", snapshot, w.Now()); err != nil || !strings.Contains(strings.Join(p.Notes.Texts(), " "), "Accepted by name: requests-pending on worker-0: its kubelet may wait") {
		t.Errorf("accepted by name: %v", err)
	}
	snapshot.Requests[0].Condition = inspect.Issued
	p, err := undoing(w, t, "run-1").Plan("run-1", snapshot, w.Now())
	if err != nil {
		t.Fatal(err)
	}

	// One that comes while the plan is on the screen.
	api := &RequestsAPI{}
	env, _ := Approvals(t, w, api)
	env.ReadNode = w.env(t, "run-1", nil, "/var/lib/certrot/run-1").ReadNode
	api.Add(ClientAsking(t).Made(t))
	before := w.Machines["worker-0"].disk(t)
	if _, err := w.run(t.Context(), t, env, p); !errors.As(err, &r) || r.Name != "requests-pending" {
		t.Errorf("it came after the plan: %v", err)
	}
	if after := w.Machines["worker-0"].disk(t); after != before {
		t.Error("and something was put back")
	}
}

// TestPlansThatWaitForASigner: a kubelet that joins again waits for its certificate, one that
// has a valid one does not.
func TestPlansThatWaitForASigner(t *testing.T) {
	t.Parallel()
	for _, joins := range []bool{true, false} {
		j := NewJoining(t)
		if joins {
			if err := os.Remove(j.At(inspect.KubeletClient)); err != nil {
				t.Fatal(err)
			}
		}
		if p := joiningPlan(j, t, "run-1"); p.Empty() || csr.Approves(p) != joins {
			t.Errorf("joins %t: waits for the signer %t: %q", joins, csr.Approves(p), StepsOf(p))
		}
	}
}

// TestAWorkersOwnFloodOfRequestsStopsNoRun: the kubelets need no approval, and root on worker-0 makes more requests by its
// kubelet's certificate than are looked at, before its restart.
func TestAWorkersOwnFloodOfRequestsStopsNoRun(t *testing.T) {
	t.Parallel()
	w := NewWorld(t, "worker-0", "worker-1")
	api := &RequestsAPI{Signs: true}
	env, told := Approvals(t, w, api)
	made := ServingAsking(t).Made(t)
	made.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
	made.Spec.Request = append(made.Spec.Request, bytes.Repeat([]byte("\n"), 66_000-len(made.Spec.Request))...)
	for i := range 11 {
		one := made.DeepCopy()
		one.Name = fmt.Sprintf("a-flood-%d", i)
		api.Add(one)
	}
	fix := worldFix(w)
	fix.ApproveCSRs, fix.Nodes = true, nil
	s, rotates := w.snapshot(t), true
	for i := range s.Nodes {
		s.Nodes[i].Role, s.Nodes[i].Kubelet.RotateCertificates = catalog.RoleWorker, &rotates
	}
	p, err := fix.Plan("run-1", s, w.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = w.run(t.Context(), t, env, p); err != nil {
		t.Errorf("the run stops: %v", err)
	}
	if want := "worker-0: the pending requests in the name of node worker-0 are too many"; strings.Count(told.String(), want) != 1 || len(api.Log) > 0 {
		t.Errorf("approved %q, told %q", api.Log, told)
	}
}
