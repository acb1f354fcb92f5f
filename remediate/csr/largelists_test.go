package csr

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// sameItem answers each list with so many times the same item, which it has once, and with the Node of worker-0.
func sameItem(t *testing.T, item []byte, n int) kubeclient.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		unknown := append([]byte("k8s\x00"), protowire.AppendTag(nil, 2, protowire.BytesType)...)
		if strings.HasPrefix(r.URL.Path, "/api/v1/nodes/") {
			http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`, http.StatusNotFound)
			return
		}
		one := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), item)
		_, _ = w.Write(protowire.AppendVarint(unknown, uint64(n*len(one))))
		for range n {
			_, _ = w.Write(one)
		}
	}))
	t.Cleanup(server.Close)
	kube, err := kubeclient.New(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return kube
}

// TestLargeServicesTakeNoMemory: a tenant makes Services of 1.4 MB each in a namespace of its own.
func TestLargeServicesTakeNoMemory(t *testing.T) { //nolint:paralleltest // it measures memory
	s := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "a", Labels: map[string]string{}}, Spec: corev1.ServiceSpec{ClusterIP: "172.30.0.9"}}
	for i := range 4300 {
		s.Labels[fmt.Sprintf("%s.example.com/%058d", strings.Repeat("a.", 100), i)] = strings.Repeat("b", 63)
	}
	item, err := s.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	kube, o := sameItem(t, item, 60), newOrigins("worker-0")
	most := inspecttest.MostInObjects(func() { err = o.services(t.Context(), &remediate.Env{Kube: kube}, nil) })
	t.Logf("60 Services of %d bytes: at most %d MB", len(item), most)
	if err != nil || most > 40 || o.ofServices["a.team"] == "" || o.excluded["172.30.0.9"] != "an address of Service team/a" {
		t.Errorf("%v, %d MB, %v, %v", err, most, o.excluded, o.ofServices)
	}
}

// TestLargeRequestsTakeNoMemory: a worker's kubelet makes requests of 1.4 MB each, and several nodes are looked at
// at once.
func TestLargeRequestsTakeNoMemory(t *testing.T) { //nolint:paralleltest // it measures memory
	c := remediatetest.ServingAsking(t).Made(t)
	c.Spec.Username, c.Spec.Request = "system:node:worker-9", make([]byte, 1_400_000)
	item, err := c.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	kube := sameItem(t, item, 40)
	most := inspecttest.MostInObjects(func() {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				got, err := PendingOf(t.Context(), kube, RequestedNode{Name: "worker-0", Versions: catalog.Versions{Cluster: "4.15.0"}})
				if err != nil || len(got) > 0 {
					t.Errorf("%d requests, %v", len(got), err)
				}
			})
		}
		all.Wait()
	})
	t.Logf("40 requests of %d bytes, 4 nodes: at most %d MB", len(item), most)
	if most > 120 { // 560 where all are kept
		t.Errorf("%d MB", most)
	}
}
