package csr

import (
	"cmp"
	"crypto/x509"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesapi "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestSomebodyElseAsksInANodesName: of two who ask after the restart none gets an answer,
// and who asked before it neither.
func TestSomebodyElseAsksInANodesName(t *testing.T) {
	t.Parallel()
	n := RequestedNode{Name: "worker-0", object: remediatetest.WorkerZero(), Versions: catalog.Versions{Cluster: "4.15.0"}, kubeletState: &kubeletState{}, beforeRestart: map[string]bool{"csr-earlier": true}}
	api := &remediatetest.RequestsAPI{Nodes: map[string]*corev1.Node{"worker-0": remediatetest.WorkerZero()}}
	add := func(name string, a *remediatetest.Asking) {
		a.CSR.Name = name
		api.Add(a.Made(t))
	}
	names := func() (out []string) {
		requests, err := PendingOf(t.Context(), api.Client(t), n)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range current(requests) {
			out = append(out, r.Name)
		}
		return out
	}
	add("csr-earlier", remediatetest.ClientAsking(t))
	if got := names(); len(got) > 0 {
		t.Errorf("before the restart: %q", got)
	}
	add("csr-one", remediatetest.ClientAsking(t))
	if got := names(); !slices.Equal(got, []string{"csr-one"}) {
		t.Errorf("one after it: %q", got)
	}
	add("csr-two", remediatetest.ClientAsking(t))
	if got := names(); len(got) > 0 {
		t.Errorf("two after it: %q", got)
	}
	n.beforeRestart = nil // nothing was restarted: a kubelet that waits for long has made several
	if got := names(); len(got) > 0 {
		t.Errorf("without a restart: %q", got)
	}
	j := remediatetest.NewJoining(t)
	j.Lost(t)
	env, _ := remediatetest.Approvals(t, j.World, api)
	if text := PendingText(t.Context(), env, n); !strings.Contains(text, "--nodes worker-0 --rebootstrap") || strings.Contains(text, "certificate approve") {
		t.Errorf("what to do is not said: %s", text)
	}
	// Those who were refused in a node's step are not approved among what is left over.
	api.Signs = true
	left := NewApprovePending([]string{"worker-0"}, true, true)
	if err := left.Apply(t.Context(), env, &remediate.Change{Versions: n.Versions}); err != nil {
		t.Fatal(err)
	}
	if len(api.Log) > 0 {
		t.Errorf("approved among what is left over: %q", api.Log)
	}

	// One more, later, when the kubelet has its answer.
	s := newApproving()
	env, _ = remediatetest.Approvals(t, j.World, api) // of another run: this one saw two ask
	env.Heartbeat = remediatetest.HeartbeatAt(time.Time{})
	for _, name := range []string{"csr-a", "csr-b"} {
		api.Mu.Lock()
		api.Requests = slices.DeleteFunc(api.Requests, func(*certificatesapi.CertificateSigningRequest) bool { return true })
		api.Mu.Unlock()
		add(name, remediatetest.ClientAsking(t))
		requests, read, err := pendingNow(t.Context(), env, RequestedNode{Name: "worker-0", Versions: n.Versions})
		for range 2 { // seen, and settled
			if err == nil {
				err = cmp.Or(s.approve(t.Context(), env, &remediate.Change{}, read, requests), env.Sleep(t.Context(), settling))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(api.Log, []string{"csr-a"}) {
		t.Errorf("approved %q", api.Log)
	}
}

// TestAServersNamesAreNoOtherNodes: a Node's addresses are written by its own kubelet.
func TestAServersNamesAreNoOtherNodes(t *testing.T) {
	t.Parallel()
	rogue, other := remediatetest.WorkerZero(), remediatetest.WorkerZero()
	rogue.Status.Addresses = append(rogue.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "192.0.2.10"}, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: "master-0"})
	other.Name = "master-0"
	other.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.10"}, {Type: corev1.NodeHostName, Address: "master-0"}}
	for name, change := range map[string]func(*x509.CertificateRequest){
		"address": func(r *x509.CertificateRequest) { r.IPAddresses = append(r.IPAddresses, net.ParseIP("192.0.2.10")) },
		"name":    func(r *x509.CertificateRequest) { r.DNSNames = append(r.DNSNames, "MASTER-0") },
	} {
		api := &remediatetest.RequestsAPI{Nodes: map[string]*corev1.Node{"worker-0": rogue, "master-0": other}}
		a := remediatetest.ServingAsking(t)
		change(&a.Asks)
		api.Add(a.Made(t))
		requests, err := PendingOf(t.Context(), api.Client(t), RequestedNode{Name: "worker-0", Versions: catalog.Versions{Cluster: "4.15.0"}})
		if err != nil || len(requests) != 1 || !strings.Contains(requests[0].mismatch, " of Node master-0, too") {
			t.Errorf("%s: %+v, %v", name, requests, err)
		}
	}
	forbidden := &remediatetest.RequestsAPI{Nodes: map[string]*corev1.Node{"worker-0": remediatetest.WorkerZero()}}
	forbidden.Before = func(_, path string) *apierrors.StatusError {
		if path == "/api/v1/nodes" {
			return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "no"}}
		}
		return nil
	}
	forbidden.Add(remediatetest.ServingAsking(t).Made(t))
	if _, err := PendingOf(t.Context(), forbidden.Client(t), RequestedNode{Name: "worker-0", Versions: catalog.Versions{Cluster: "4.15.0"}}); err == nil || !strings.Contains(err.Error(), "no other one's certificate") {
		t.Errorf("with Nodes that can't be listed: %v", err)
	}
}
