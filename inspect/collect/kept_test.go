package collect

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	certificatesapi "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// sameItems is a cluster that answers each list with so many times the same item, which it has once.
func sameItems(t *testing.T, one []byte, n int) *Cluster {
	t.Helper()
	item := protowire.AppendBytes(protowire.AppendTag(nil, itemsField, protowire.BytesType), one)
	begin := protowire.AppendVarint(protowire.AppendTag([]byte(protobufMagic), rawField, protowire.BytesType), uint64(n*len(item)))
	return writing(t, func(w io.Writer) {
		_, _ = w.Write(begin)
		for range n {
			_, _ = w.Write(item)
		}
	})
}

// writing is a cluster that answers each request so.
func writing(t *testing.T, write func(io.Writer)) *Cluster {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { write(w) }))
	t.Cleanup(server.Close)
	client, err := NewREST(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return &Cluster{REST: client, Scanner: pki.NewScanner()}
}

// TestLargePodsTakeNoMemory: a tenant makes pods whose 1.3 MB take ten times that when they are decoded.
func TestLargePodsTakeNoMemory(t *testing.T) { //nolint:paralleltest // it measures memory
	const pods = 60
	pod := aPod("shop", "p", "worker-0")
	pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1.7e9, 0)}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Env: make([]corev1.EnvVar, 180_000)}} // names may repeat
	for i := range pod.Spec.Containers[0].Env {
		pod.Spec.Containers[0].Env[i].Name = "a"
	}
	one, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	pod.Spec.Containers = nil
	c := sameItems(t, one, pods)
	for what, read := range map[string]func() int{
		"those that are to be gone": func() int {
			count, err := c.DeletingPods(t.Context())
			if err != nil {
				t.Error(err)
			}
			return count["worker-0"]
		},
		"those of a namespace": func() int {
			found, gaps := c.Pods(t.Context(), "shop")
			if len(gaps) > 0 {
				t.Error(gaps)
			}
			return len(found)
		},
	} {
		n := 0
		most := inspecttest.MostInObjects(func() { n = read() })
		t.Logf("%s: at most %d MB for %d pods of %d bytes", what, most, n, len(one))
		if n != pods || most > 40 {
			t.Errorf("%s: %d pods, %d MB", what, n, most)
		}
	}
}

// TestLargeNamespacesTakeNoMemory: a tenant gives namespaces of its own tens of thousands of labels.
func TestLargeNamespacesTakeNoMemory(t *testing.T) { //nolint:paralleltest // it measures memory
	const namespaces = 100
	var one strings.Builder
	one.WriteString(`{"metadata":{"name":"team","labels":{"a":""`)
	for i := range 20_000 {
		fmt.Fprintf(&one, `,"%d":""`, i)
	}
	one.WriteString("}}}")
	c := writing(t, func(w io.Writer) {
		_, _ = io.WriteString(w, `{"items":[`+one.String())
		for range namespaces - 1 {
			_, _ = io.WriteString(w, ","+one.String())
		}
		_, _ = io.WriteString(w, "]}")
	})
	for what, list := range map[string]func(context.Context) ([]string, error){"namespaces": c.Namespaces, "projects": c.projects} {
		var names []string
		var err error
		most := inspecttest.MostInObjects(func() { names, err = list(t.Context()) })
		t.Logf("at most %d MB for %d %s of %d bytes", most, len(names), what, one.Len())
		if err != nil || len(names) != namespaces || names[0] != "team" || most > 20 {
			t.Errorf("%d %s, %d MB, %v", len(names), what, most, err)
		}
	}
}

// TestKeptFieldsAreEnough: what is read of an object is the same where only that is decoded.
func TestKeptFieldsAreEnough(t *testing.T) {
	t.Parallel()
	at, yes := metav1.NewTime(time.Unix(1.7e9, 0)), true
	meta := metav1.ObjectMeta{
		Name: "n", GenerateName: "g", Namespace: "ns", UID: "u", ResourceVersion: "7", Generation: 3, CreationTimestamp: at, DeletionTimestamp: &at,
		Labels: map[string]string{"component": "etcd"}, Annotations: map[string]string{"a": "b"}, Finalizers: []string{"f"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: "o", UID: types.UID("x"), Controller: &yes}},
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}
	pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{NodeName: "w", Containers: []corev1.Container{{Name: "c", Command: []string{"etcd"}, Args: []string{"--advertise-client-urls=https://10.0.0.1:2379"}, Env: []corev1.EnvVar{{Name: "a"}}}}},
		Status: corev1.PodStatus{Phase: "Running", StartTime: &at, Conditions: []corev1.PodCondition{{Type: "Ready", Status: "True", Message: "m"}}, ContainerStatuses: []corev1.ContainerStatus{{Name: "c", RestartCount: 3, State: running, LastTerminationState: running}, {RestartCount: 1}}}}
	wire, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	slim, err := decodeKept[corev1.Pod](wire, keptOfPod())
	if err != nil || cmp.Diff(podOf(pod), podOf(slim)) != "" || slim.Labels != nil || slim.Spec.Containers != nil {
		t.Errorf("%v: %s", err, cmp.Diff(podOf(pod), podOf(slim)))
	}
	if slim, err = decodeKept[corev1.Pod](wire, keptOfDeleting()); err != nil || nodeOfDeleting(slim) != "w" || slim.Name != "" {
		t.Errorf("%v: %v", err, slim)
	}
	if slim, err = decodeKept[corev1.Pod](wire, keptOfListening()); err != nil || cmp.Diff(fmt.Sprint(listenerOf(pod)), fmt.Sprint(listenerOf(slim))) != "" || slim.Spec.Containers[0].Env != nil {
		t.Errorf("%v: %v", err, listenerOf(slim))
	}
	pod.Status.Phase = corev1.PodPhase(strings.Repeat("x", 1000))
	if got := podOf(pod).Phase; len(got) > 80 {
		t.Errorf("a phase of %d bytes", len(got))
	}
	if got := flagOf([]string{"--advertise-address=" + strings.Repeat("1", 5000)}, "advertise-address"); got != "" {
		t.Errorf("a flag of %d bytes", len(got))
	}
	for _, cut := range []int{1, len(wire) / 2, len(wire) - 1} {
		if _, err := decodeKept[corev1.Pod](wire[:cut], keptOfPod()); err == nil {
			t.Errorf("%d of %d bytes are a pod", cut, len(wire))
		}
	}
}

// TestKeptLists: the lists that approvals read have all that these ask for.
func TestKeptLists(t *testing.T) {
	t.Parallel()
	at := metav1.NewTime(time.Unix(1.7e9, 0).UTC())
	meta := metav1.ObjectMeta{Name: "n", Namespace: "ns", UID: "u", ResourceVersion: "7", CreationTimestamp: at}
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: "InternalIP", Address: "192.0.2.1"}}}}
	service := corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "n", Namespace: "ns"}, Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1", ClusterIPs: []string{"10.0.0.1", "fd00::1"}, ExternalIPs: []string{"192.0.2.2"}},
		Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.3"}, {IP: "192.0.2.4"}}}}}
	seconds := int32(600)
	request := certificatesapi.CertificateSigningRequest{ObjectMeta: meta, Spec: certificatesapi.CertificateSigningRequestSpec{
		Request: []byte("r"), SignerName: "s", ExpirationSeconds: &seconds, Usages: []certificatesapi.KeyUsage{"client auth"}, Username: "u", UID: "i", Groups: []string{"g"}, Extra: map[string]certificatesapi.ExtraValue{"k": {"v"}},
	}, Status: certificatesapi.CertificateSigningRequestStatus{Conditions: []certificatesapi.CertificateSigningRequestCondition{{Type: "Approved", Status: "True"}}, Certificate: []byte("c")}}
	request.Namespace = ""
	// What else is in them is not decoded.
	more := func(m metav1.ObjectMeta) metav1.ObjectMeta {
		m.Labels, m.Annotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
		return m
	}
	fullNode, fullService, fullRequest := node, service, request
	fullNode.ObjectMeta, fullService.ObjectMeta, fullRequest.ObjectMeta = more(node.ObjectMeta), more(service.ObjectMeta), more(request.ObjectMeta)
	plain := false
	fullNode.Status.Images, fullService.Spec.Selector = []corev1.ContainerImage{{SizeBytes: 1}}, map[string]string{"a": "b"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next := metav1.ListMeta{}
		if r.URL.Query().Get("continue") == "" {
			next.Continue = "2"
		} else if plain { // as behind a proxy that knows no protobuf
			r.Header.Del("Accept")
		}
		switch r.URL.Path {
		case "/api/v1/nodes":
			answer(w, r, http.StatusOK, &corev1.NodeList{ListMeta: next, Items: []corev1.Node{fullNode}})
		case "/api/v1/services":
			answer(w, r, http.StatusOK, &corev1.ServiceList{ListMeta: next, Items: []corev1.Service{fullService}})
		default:
			answer(w, r, http.StatusOK, &certificatesapi.CertificateSigningRequestList{ListMeta: next, Items: []certificatesapi.CertificateSigningRequest{fullRequest}})
		}
	}))
	t.Cleanup(server.Close)
	client, err := NewREST(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	check := func(want, got any) error {
		n++
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		return nil
	}
	for _, err := range []error{
		ListNodeAddresses(t.Context(), client, func(got *corev1.Node) error { return check(&node, got) }),
		ListServices(t.Context(), client, func(got *corev1.Service) error { return check(&service, got) }),
		ListRequests(t.Context(), client, func(got *certificatesapi.CertificateSigningRequest) error { return check(&request, got) }),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if n != 6 {
		t.Errorf("%d objects, want 2 of each", n)
	}
	plain, n = true, 0
	if err := ListServices(t.Context(), client, func(got *corev1.Service) error {
		n++
		if got.Name != "n" || got.Spec.ClusterIP != "10.0.0.1" {
			t.Errorf("%+v", got)
		}
		return nil
	}); err != nil || n != 2 {
		t.Errorf("%d in protobuf and in JSON, %v", n, err)
	}
}
