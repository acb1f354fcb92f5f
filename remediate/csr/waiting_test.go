package csr

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestTheNewestOfEachIsWaitedFor: a kubelet makes a new key for each try, and no one
// waits for the earlier ones.
func TestTheNewestOfEachIsWaitedFor(t *testing.T) {
	t.Parallel()
	n := RequestedNode{Name: "worker-0", object: remediatetest.WorkerZero(), Versions: catalog.Versions{Cluster: "4.15.0"}, kubeletState: &kubeletState{}, origins: knownWorkerZero()}
	named := func(a *remediatetest.Asking, name string, age time.Duration) *Request {
		a.CSR.Name, a.CSR.CreationTimestamp = name, metav1.NewTime(remediatetest.TestNow.Add(-age))
		return n.judge(a.Made(t))
	}
	wrong := remediatetest.ServingAsking(t)
	wrong.Asks.DNSNames = []string{"elsewhere"}
	renewal := remediatetest.ClientAsking(t)
	renewal.CSR.Spec.Username, renewal.CSR.Spec.Groups = "system:node:worker-0", []string{"system:nodes"}
	var names []string
	for _, r := range current([]*Request{
		named(remediatetest.ServingAsking(t), "serving-old", 3*time.Hour), named(wrong, "serving-wrong", 0), named(remediatetest.ServingAsking(t), "serving-new", time.Hour),
		named(remediatetest.ClientAsking(t), "client-new", time.Minute), named(remediatetest.ClientAsking(t), "client-old", time.Hour), named(renewal, "renewal", time.Second),
	}) {
		names = append(names, r.Name)
	}
	if want := []string{"client-new", "renewal", "serving-new"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

// TestNoServingRequestIsWaitedForWhereNoneIsDue: its kubelet reports, and its serving
// certificate is valid.
func TestNoServingRequestIsWaitedForWhereNoneIsDue(t *testing.T) {
	t.Parallel()
	for _, serving := range []bool{false, true} {
		w := remediatetest.NewWorld(t)
		env, _ := remediatetest.Approvals(t, w, &remediatetest.RequestsAPI{})
		env.Heartbeat = remediatetest.HeartbeatAt(w.Now().Add(time.Hour))
		step := Approve{NodeName: "worker-0", Serving: serving, State: newApproving()}
		if err := step.Apply(t.Context(), env, &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}); err != nil {
			t.Fatal(err)
		}
		if waited := time.Duration(w.Skipped.Load()); (waited >= askingServing) != serving {
			t.Errorf("its serving certificate has ended: %v; it waited for %s", serving, waited)
		}
	}
}

// TestOneNodeHoldsUpNoOther: what goes wrong with the requests of a node is told of that node.
func TestOneNodeHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	a := NewApprovePending([]string{"worker-0", "worker-1", "worker-2"}, true, true)
	var done []string
	err := a.each(t.Context(), 20*time.Millisecond, func(ctx context.Context, node string) error {
		done = append(done, node)
		if node == "worker-0" {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return nil
	})
	if len(done) != 3 || err == nil || !strings.Contains(err.Error(), "requests of node worker-0: not done within 20ms") || strings.Contains(err.Error(), "worker-1") {
		t.Errorf("%q, %v", done, err)
	}
	done = nil
	err = a.each(t.Context(), time.Minute, func(_ context.Context, node string) error {
		done = append(done, node)
		return apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "y", errors.New("no"))
	})
	if len(done) != 2 || !apierrors.IsForbidden(err) {
		t.Errorf("what is forbidden for two is asked again: %q, %v", done, err)
	}
	if got := a.Timeout(); got < 3*askingClient {
		t.Errorf("for three nodes there are %s", got)
	}

	// The API server refuses to approve the first one's.
	api := &remediatetest.RequestsAPI{Signs: true}
	env, _ := remediatetest.Approvals(t, remediatetest.NewWorld(t), api)
	worker1 := remediatetest.WorkerZero()
	worker1.Name, worker1.Status.Addresses = "worker-1", []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "worker-1"}, {Type: corev1.NodeInternalIP, Address: "192.0.2.8"}}
	api.Nodes["worker-1"] = worker1
	api.Add(remediatetest.ServingAsking(t).Made(t))
	other := remediatetest.ServingAsking(t)
	other.CSR.Name, other.CSR.Spec.Username = "csr-other", "system:node:worker-1"
	other.Asks.Subject.CommonName, other.Asks.DNSNames, other.Asks.IPAddresses = "system:node:worker-1", []string{"worker-1"}, []net.IP{net.ParseIP("192.0.2.8")}
	api.Add(other.Made(t))
	api.Before = func(method, path string) *apierrors.StatusError {
		if method == http.MethodPut && strings.Contains(path, "csr-serving") {
			return apierrors.NewRequestEntityTooLargeError("limit is 1")
		}
		return nil
	}
	a = NewApprovePending([]string{"worker-0", "worker-1"}, true, true)
	change, _ := a.Diff(inspect.Snapshot{Cluster: inspect.Cluster{Versions: catalog.Versions{Cluster: "4.15.0"}}}, remediatetest.TestNow)
	if err := a.Apply(t.Context(), env, change); err == nil || !strings.Contains(err.Error(), "requests of node worker-0: approve request csr-serving") {
		t.Errorf("%v", err)
	}
	if !slices.Equal(api.Log, []string{"csr-other"}) {
		t.Errorf("approved %q", api.Log)
	}
}

// TestOnlyWhatMayBeAKubeletsHoldsUpAnUndo: any user may make requests in any node's name.
func TestOnlyWhatMayBeAKubeletsHoldsUpAnUndo(t *testing.T) {
	t.Parallel()
	const subject = "CN=system:node:worker-0,O=system:nodes"
	for name, c := range map[string]struct {
		signer, requester string
		certificate       time.Time // of its kubelet, until then; zero: none
		holds             bool
	}{
		"its own, for its serving certificate":  {catalog.KubeletServingSigner, "system:node:worker-0", remediatetest.TestNow.Add(time.Hour), true},
		"its own, for its client certificate":   {catalog.KubeletClientSigner, "system:node:worker-0", remediatetest.TestNow.Add(time.Hour), true},
		"a bootstrapper's":                      {catalog.KubeletClientSigner, remediatetest.Bootstrapper, time.Time{}, true},
		"a bootstrapper's, its own has expired": {catalog.KubeletClientSigner, remediatetest.Bootstrapper, remediatetest.TestNow.Add(-time.Hour), true},
		"a bootstrapper's, where it has one":    {catalog.KubeletClientSigner, remediatetest.Bootstrapper, remediatetest.TestNow.Add(time.Hour), false},
		"another node's":                        {catalog.KubeletClientSigner, "system:node:worker-9", time.Time{}, false},
		"a tenant's, for another signer":        {"example.com/any", "system:serviceaccount:tenant:default", time.Time{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			snapshot := inspect.Snapshot{
				Cluster:  inspect.Cluster{Versions: catalog.Versions{Cluster: "4.15.0"}},
				Nodes:    []inspect.Node{{Name: "worker-0", Via: "ssh"}},
				Requests: []inspect.SigningRequest{{Object: &inspect.Object{Name: "csr-x"}, Signer: c.signer, Requester: c.requester, Condition: inspect.Pending, Request: &pki.Request{Subject: subject}}},
			}
			if !c.certificate.IsZero() {
				ca := pkitest.NewCA("x", remediatetest.TestNow.Add(-48*time.Hour), c.certificate)
				snapshot.Bundles = append(snapshot.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: "worker-0", Path: inspect.KubeletClient}, Content: pki.NewScanner().Scan(ca.CertPEM)[0].Content})
			}
			err := RefusePending(snapshot, "worker-0", remediatetest.TestNow)
			var r *remediate.Refusal
			if errors.As(err, &r) != c.holds || c.holds && (!r.Risk || !strings.Contains(r.Next, "--accept-risk=requests-pending")) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestWhoLacksAServingCertificate(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	ended := pkitest.NewCA("x", remediatetest.TestNow.Add(-2*time.Hour), remediatetest.TestNow.Add(-time.Hour))
	valid := pkitest.NewCA("x", remediatetest.TestNow.Add(-2*time.Hour), remediatetest.TestNow.Add(time.Hour))
	for name, c := range map[string]struct {
		asks *bool
		has  []byte
		want bool
	}{
		"it has ended":        {&yes, ended.CertPEM, true},
		"it is valid":         {&yes, valid.CertPEM, false},
		"none was read":       {&yes, nil, false},
		"it signs its own":    {&no, ended.CertPEM, false},
		"whether is not told": {nil, ended.CertPEM, false},
	} {
		f := remediatetest.NewFixture()
		f.Nodes[0].Kubelet.ServerTLSBootstrap = c.asks
		if c.has != nil {
			f.Bundles = append(f.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: "worker-0", Path: kubeletServing}, Content: f.Sc.Scan(c.has)[0].Content})
		}
		if got := lacksServing(f.Snapshot, "worker-0", remediatetest.TestNow); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Whoever has a bootstrapper's token can ask in any node's name: that is a kubelet's
// request only where it has no certificate.
func TestBootstrappersAskForKubeletsWithoutACertificate(t *testing.T) {
	t.Parallel()
	ask := func(certified string) string {
		r := RequestedNode{Name: "worker-0", object: remediatetest.WorkerZero(), Versions: catalog.Versions{Cluster: "4.15.0"}, kubeletState: &kubeletState{}, certified: certified}.judge(remediatetest.ClientAsking(t).Made(t))
		if r == nil {
			t.Fatal("it is not judged")
		}
		return r.mismatch
	}
	if why := ask(""); why != "" {
		t.Errorf("a kubelet without a certificate: %s", why)
	}
	if why := ask("its kubelet has a client certificate until tomorrow"); !strings.Contains(why, "until tomorrow") {
		t.Errorf("a kubelet with one: %q", why)
	}
}
