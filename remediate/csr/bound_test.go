package csr

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	certificatesapi "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestOneNodesFloodOfRequests is named, none of its requests is approved, and those of another node are. The
// flood is of another node's kubelet, in its own name or in the name of worker-0.
func TestOneNodesFloodOfRequests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		subject string
		number  int
		length  int
	}{
		"in its own name":         {"system:node:worker-9", 11, 66_000},
		"in the name of worker-0": {"system:node:worker-0", 20, 60_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own, nine := remediatetest.WorkerZero(), remediatetest.WorkerZero()
			nine.Name, nine.Status.Addresses = "worker-9", nil
			api := &remediatetest.RequestsAPI{Signs: true, Nodes: map[string]*corev1.Node{"worker-0": own, "worker-9": nine}}
			api.Add(remediatetest.ServingAsking(t).Made(t))
			flood := remediatetest.ServingAsking(t)
			flood.CSR.Spec.Username, flood.Asks.Subject.CommonName = "system:node:worker-9", c.subject
			made := flood.Made(t)
			if pad := c.length - len(made.Spec.Request); pad > 0 {
				made.Spec.Request = append(made.Spec.Request, bytes.Repeat([]byte("\n"), pad)...)
			}
			for i := range c.number {
				one := made.DeepCopy()
				one.Name = fmt.Sprintf("a-flood-%d", i)
				api.Add(one)
			}
			w := remediatetest.NewWorld(t)
			env, _ := remediatetest.Approvals(t, w, api)
			all, change := NewApprovePending([]string{"worker-9", "worker-0"}, true, true), &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}
			applied := all.Apply(t.Context(), env, change)
			if len(api.Log) != 1 || strings.HasPrefix(api.Log[0], "a-flood") {
				t.Errorf("approved %q", api.Log)
			}
			err := all.Verify(t.Context(), env, change)
			if err == nil {
				t.Fatal("nothing is open")
			}
			if c.subject == "system:node:worker-9" {
				const named = "in the name of node worker-9 are too many, or too large: none of them is approved"
				if applied == nil || !strings.Contains(applied.Error(), named) || !strings.Contains(err.Error(), named) {
					t.Errorf("%v, %v", applied, err)
				}
			}
		})
	}
}

// TestAnOwnFloodOfRequestsKeepsNoOtherNodeFromItsRepair: none of them is approved, which is said with the node's name;
// whether the node is back is for the next step to see. Its serving certificate has expired, or not.
func TestAnOwnFloodOfRequestsKeepsNoOtherNodeFromItsRepair(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ serving, earlier bool }{{}, {serving: true}, {earlier: true}, {true, true}} {
		api := &remediatetest.RequestsAPI{Signs: true}
		made := remediatetest.ServingAsking(t).Made(t)
		made.Spec.Request = append(made.Spec.Request, bytes.Repeat([]byte("\n"), 66_000-len(made.Spec.Request))...)
		for i := range 11 {
			one := made.DeepCopy()
			one.Name = fmt.Sprintf("a-flood-%d", i)
			api.Add(one)
		}
		env, told := remediatetest.Approvals(t, remediatetest.NewWorld(t), api)
		a, change := Approve{NodeName: "worker-0", Serving: c.serving, State: newApproving()}, &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}
		var err error
		if c.earlier {
			err = a.State.NoteEarlier(t.Context(), env, "worker-0")
		}
		if err == nil {
			err = a.Apply(t.Context(), env, change)
		}
		if err == nil {
			err = a.Verify(t.Context(), env, change)
		}
		if err != nil {
			t.Errorf("the run stops: %v", err)
		}
		if len(api.Log) > 0 {
			t.Errorf("approved %q", api.Log)
		}
		if want := "worker-0: the pending requests in the name of node worker-0 are too many, or too large: none of them is approved"; strings.Count(told.String(), want) != 1 {
			t.Errorf("told is %q", told)
		}
	}
}

// TestTheBoundOfANodesRequests: those of its own user end the look, those of others are counted.
func TestTheBoundOfANodesRequests(t *testing.T) {
	t.Parallel()
	request := func(outsider bool) *Request {
		csr := &certificatesapi.CertificateSigningRequest{}
		csr.Spec.Username = map[bool]string{true: "system:node:worker-9", false: "system:node:worker-0"}[outsider]
		return &Request{CertificateSigningRequest: csr, outsider: outsider, mismatch: "why"}
	}
	var found requestsOfNode
	for range maxOfOthers + 100 {
		if err := found.add(request(true), "worker-0", 500); err != nil {
			t.Fatal(err)
		}
	}
	for range maxOfNode {
		if err := found.add(request(false), "worker-0", 500); err != nil {
			t.Fatal(err)
		}
	}
	each, more := described(found.all("worker-0"))
	if want := fmt.Sprintf("%d more requests of system:node:worker-9, system:node:worker-0, which", maxOfOthers+100-3+maxOfNode-50); len(each) != 53 || !strings.Contains(more, want) {
		t.Errorf("%d are described; %q, want %q", len(each), more, want)
	}
	if err := found.add(request(false), "worker-0", 500); !isTooMany(err) || !strings.Contains(err.Error(), "node worker-0 ") {
		t.Errorf("one more: %v", err)
	}
}

// TestManyThatJoinInANodesName keep its own request from no answer, and are not approved.
func TestManyThatJoinInANodesName(t *testing.T) {
	t.Parallel()
	request := func(user string) *Request {
		csr := &certificatesapi.CertificateSigningRequest{}
		csr.Spec.Username = user
		return &Request{CertificateSigningRequest: csr}
	}
	const bootstrapper = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
	for _, c := range []struct {
		number  int
		refused bool
	}{{9, false}, {11, true}} {
		var found requestsOfNode
		for range c.number {
			if err := found.add(request(bootstrapper), "worker-0", 66_000); err != nil {
				t.Fatal(err)
			}
		}
		if err := found.add(request("system:node:worker-0"), "worker-0", 500); err != nil {
			t.Errorf("%d: its own: %v", c.number, err)
		}
		all := found.all("worker-0")
		own := all[len(all)-1]
		if own.Spec.Username != "system:node:worker-0" || own.mismatch != "" {
			t.Errorf("%d: its own: %+v", c.number, own)
		}
		for _, r := range all[:len(all)-1] {
			if (r.mismatch != "") != c.refused {
				t.Errorf("%d: one that joins: %q", c.number, r.mismatch)
			}
		}
	}
}

// TestOfARequestWhatIsNeededIsKept: not the page that it came in, nor what its client wrote beside it.
func TestOfARequestWhatIsNeededIsKept(t *testing.T) {
	t.Parallel()
	api := &remediatetest.RequestsAPI{Nodes: map[string]*corev1.Node{"worker-0": remediatetest.WorkerZero()}}
	made := remediatetest.ServingAsking(t).Made(t)
	made.Labels = map[string]string{"a": "b"}
	made.Annotations = map[string]string{"a": "b"}
	made.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "a"}}
	api.Add(made)
	requests, err := PendingOf(t.Context(), api.Client(t), RequestedNode{Name: "worker-0", Versions: catalog.Versions{Cluster: "4.15.0"}})
	if err != nil || len(requests) != 1 {
		t.Fatalf("%v, %v", requests, err)
	}
	r := requests[0]
	if len(r.Spec.Request)+len(r.Labels)+len(r.Annotations)+len(r.ManagedFields) > 0 {
		t.Errorf("kept: %+v", r.CertificateSigningRequest)
	}
	if r.Name != made.Name || r.Spec.SignerName != made.Spec.SignerName || r.Spec.Username != made.Spec.Username || !slices.Equal(r.Spec.Groups, made.Spec.Groups) || !slices.Equal(r.Spec.Usages, made.Spec.Usages) || r.pkcs10 == nil {
		t.Errorf("lacks: %+v", r.CertificateSigningRequest)
	}
}
