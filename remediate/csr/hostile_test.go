package csr

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesapi "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// leftOver is a run's last step for worker-0, on a cluster of some version.
func leftOver(t *testing.T, v catalog.Versions, api *remediatetest.RequestsAPI, change func(*remediate.Env)) (approved []string, told string, err error) {
	t.Helper()
	w := remediatetest.NewWorld(t)
	env, text := remediatetest.Approvals(t, w, api)
	if change != nil {
		change(env)
	}
	a, c := NewApprovePending([]string{"worker-0"}, true, true), &remediate.Change{Versions: v}
	if err = a.Apply(t.Context(), env, c); err == nil {
		err = a.Verify(t.Context(), env, c)
	}
	return api.Log, text.String(), err
}

// TestTheFirstApprovalWaitsForWhoElseAsks: a stolen token asks beside the kubelet, some
// seconds later.
func TestTheFirstApprovalWaitsForWhoElseAsks(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]bool{"one asks": false, "two ask": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := remediatetest.NewJoining(t)
			j.Lost(t)
			api := &remediatetest.RequestsAPI{Signs: true}
			env, told := remediatetest.Approvals(t, j.World, api)
			api.Add(remediatetest.ClientAsking(t).Made(t))
			began := env.Now()
			env.Sleep = func(_ context.Context, d time.Duration) error {
				if second && len(api.Requests) == 1 {
					a := remediatetest.ClientAsking(t)
					a.CSR.Name = "csr-second"
					api.Add(a.Made(t))
				}
				return j.Sleep(t.Context(), d)
			}
			a := NewApprovePending([]string{"worker-0"}, true, true)
			if err := a.Apply(t.Context(), env, &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}); err != nil {
				t.Fatal(err)
			}
			if waited := env.Now().Sub(began); !second && waited < settling {
				t.Errorf("it waited for %s", waited)
			}
			if want := !second; (len(api.Log) > 0) != want {
				t.Errorf("approved %q\n%s", api.Log, told)
			}
		})
	}
}

// TestARequestThatIsLeftToAPersonHoldsUpNoNode: the step of its node is done; the end of the
// run says what is left.
func TestARequestThatIsLeftToAPersonHoldsUpNoNode(t *testing.T) {
	t.Parallel()
	w := remediatetest.NewWorld(t)
	api := &remediatetest.RequestsAPI{Signs: true}
	env, told := remediatetest.Approvals(t, w, api)
	a := remediatetest.ServingAsking(t)
	a.Asks.DNSNames = []string{"worker-0.example.com"} // of its Node, and of nothing else
	api.Add(a.Made(t))
	step := Approve{NodeName: "worker-0", Serving: true, State: newApproving()}
	c := &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}
	if err := errors.Join(step.Apply(t.Context(), env, c), step.Verify(t.Context(), env, c)); err != nil || len(api.Log) > 0 {
		t.Errorf("%v, approved %q", err, api.Log)
	}
	if !strings.Contains(told.String(), "kubectl certificate approve csr-serving") {
		t.Errorf("told\n%s", told)
	}
	end := NewApprovePending([]string{"worker-0"}, true, true)
	var late *remediate.LateEffectError
	if err := errors.Join(end.Apply(t.Context(), env, c), end.Verify(t.Context(), env, c)); !errors.As(err, &late) || !strings.Contains(err.Error(), "kubectl certificate approve csr-serving") {
		t.Errorf("at the end: %v", err)
	}
}

// TestARequestIsJudgedOnceMoreRightBeforeItsApproval: what proved its address is gone by then.
func TestARequestIsJudgedOnceMoreRightBeforeItsApproval(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*remediatetest.RequestsAPI, *certificatesapi.CertificateSigningRequest){
		"its Machine is gone": func(s *remediatetest.RequestsAPI, _ *certificatesapi.CertificateSigningRequest) {
			delete(s.Others, machinesPath)
		},
		"it is another of the same name": func(_ *remediatetest.RequestsAPI, c *certificatesapi.CertificateSigningRequest) { c.UID = "another" },
		"it changed": func(_ *remediatetest.RequestsAPI, c *certificatesapi.CertificateSigningRequest) {
			c.ResourceVersion = "8"
		},
		"its Node is gone": func(s *remediatetest.RequestsAPI, _ *certificatesapi.CertificateSigningRequest) {
			delete(s.Nodes, "worker-0")
		},
		"a Service has the address by now": func(s *remediatetest.RequestsAPI, _ *certificatesapi.CertificateSigningRequest) {
			s.Others["/api/v1/services"] = corev1.ServiceList{Items: []corev1.Service{{Spec: corev1.ServiceSpec{ClusterIP: "192.0.2.7"}}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &remediatetest.RequestsAPI{Signs: true}
			api.Add(remediatetest.ServingAsking(t).Made(t))
			api.Before = func(method, path string) *apierrors.StatusError {
				if method == "GET" && strings.HasSuffix(path, "/csr-serving") {
					change(api, api.Requests[0])
				}
				return nil
			}
			w := remediatetest.NewWorld(t)
			env, told := remediatetest.Approvals(t, w, api)
			a := NewApprovePending([]string{"worker-0"}, true, true)
			if err := a.Apply(t.Context(), env, &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}); err != nil || len(api.Log) > 0 {
				t.Errorf("%v, approved %q\n%s", err, api.Log, told)
			}
		})
	}
}

// TestWhatCannotBeReadRightBeforeAnApprovalIsTold: the run does not go on as if someone else
// had changed the request.
func TestWhatCannotBeReadRightBeforeAnApprovalIsTold(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/csr-serving": "read request csr-serving", "/nodes/worker-0": "read node worker-0"} {
		api, judged := &remediatetest.RequestsAPI{Signs: true}, false
		api.Add(remediatetest.ServingAsking(t).Made(t))
		api.Before = func(method, at string) *apierrors.StatusError {
			judged = judged || strings.HasSuffix(at, "/csr-serving")
			if judged && method == "GET" && strings.HasSuffix(at, path) {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "y", errors.New("no"))
			}
			return nil
		}
		if approved, _, err := leftOver(t, catalog.Versions{Cluster: "4.15.0"}, api, nil); len(approved) > 0 || !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: approved %q, %v", path, approved, err)
		}
	}
}

// TestANodeIsReadForRequestsToJoinAlone: a kubelet that renews its certificate is known by
// the one that it has.
func TestANodeIsReadForRequestsToJoinAlone(t *testing.T) {
	t.Parallel()
	a, api, opened := remediatetest.ClientAsking(t), &remediatetest.RequestsAPI{Signs: true}, false
	a.CSR.Spec.Username, a.CSR.Spec.Groups = "system:node:worker-0", []string{"system:nodes"}
	api.Add(a.Made(t))
	approved, told, err := leftOver(t, catalog.Versions{Cluster: "4.15.0"}, api, func(env *remediate.Env) {
		env.Open = func(ctx context.Context, name string) (nodeexec.Node, error) {
			opened = true
			return remediatetest.Nowhere(ctx, name)
		}
	})
	if err != nil || opened || !slices.Equal(approved, []string{"csr-client"}) {
		t.Errorf("%v, approved %q, the node was opened: %v\n%s", err, approved, opened, told)
	}
}
