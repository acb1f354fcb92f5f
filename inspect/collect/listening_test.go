package collect

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// staticPod is a pod as kubeadm's manifests make it.
func staticPod(node, component string, argv ...string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: component + "-" + node, Labels: map[string]string{"tier": "control-plane", "component": component}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: component, Command: append([]string{component}, argv...)}}},
	}
}

// TestListening: where the control plane listens is in its own pods' arguments.
func TestListening(t *testing.T) {
	t.Parallel()
	forbidden := false
	asked := ""
	server := httptest.NewServer(podAPI{pods: []corev1.Pod{
		staticPod("m1", "kube-apiserver", "--advertise-address=10.0.0.1", "--secure-port=8443"),
		staticPod("m1", "etcd", "--advertise-client-urls=https://10.0.0.1:12379,https://127.0.0.1:12379", "--initial-advertise-peer-urls=https://10.0.0.1:12380"),
		staticPod("m1", "kube-scheduler"),
		staticPod("m2", "kube-apiserver", "--advertise-address=fd00::2"),
		staticPod("m2", "etcd", "--advertise-client-urls=http://10.0.0.2:2379"), // no TLS
		staticPod("", "etcd"),
		{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system"}, Spec: corev1.PodSpec{NodeName: "m3"}},
	}, fail: func(w http.ResponseWriter, r *http.Request) bool {
		asked = r.URL.Query().Get("labelSelector")
		if forbidden {
			refuse(w, r, http.StatusForbidden, metav1.StatusReasonForbidden, "")
		}
		return forbidden
	}})
	t.Cleanup(server.Close)
	client, err := NewREST(&rest.Config{Host: server.URL, QPS: -1, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{REST: client, Scanner: pki.NewScanner()}
	want := Listening{
		"m1": {"kube-apiserver": "10.0.0.1:8443", "etcd": "10.0.0.1:12379", "etcd peer": "10.0.0.1:12380"},
		"m2": {"kube-apiserver": "[fd00::2]:6443"},
	}
	if diff := cmp.Diff(want, c.Listening(t.Context())); diff != "" || asked != "tier=control-plane" {
		t.Errorf("asked for %q (-want +got):\n%s", asked, diff)
	}
	forbidden = true
	if got := c.Listening(t.Context()); got != nil {
		t.Errorf("who may not ask is told %v", got)
	}
}

// TestAddresses: a server is asked where its pod says, else by the port that the node or a
// kubeconfig on it names, else by the usual one; and who is known not to be there is not.
func TestAddresses(t *testing.T) {
	t.Parallel()
	node := func() NodeObject {
		return NodeObject{Name: "m1", internal: "10.0.0.1", Addresses: []string{"10.0.0.1", "m1"}, Master: true}
	}
	conf := func(server string) inspect.Kubeconfig {
		return inspect.Kubeconfig{Path: "/etc/kubernetes/scheduler.conf", Current: "c", Clusters: []inspect.KubeconfigCluster{{Name: "c", Server: server}}}
	}
	usual := "kube-apiserver 10.0.0.1:6443, etcd 10.0.0.1:2379, etcd peer 10.0.0.1:2380, kubelet 10.0.0.1:10250"
	for name, c := range map[string]struct {
		given func(h *Handshakes, s *inspect.Snapshot)
		want  string
	}{
		"nobody says anything": {func(*Handshakes, *inspect.Snapshot) {}, usual},
		"its pods": {func(h *Handshakes, _ *inspect.Snapshot) {
			h.Listening = Listening{"m1": {"kube-apiserver": "10.1.0.1:8443", "etcd": "10.1.0.1:12379", "etcd peer": "10.1.0.1:12380"}}
		}, "kube-apiserver 10.1.0.1:8443, etcd 10.1.0.1:12379, etcd peer 10.1.0.1:12380, kubelet 10.0.0.1:10250"},
		"it has no etcd": {func(h *Handshakes, _ *inspect.Snapshot) {
			h.Listening = Listening{"m1": {"kube-apiserver": "10.0.0.1:6443"}}
		}, "kube-apiserver 10.0.0.1:6443, kubelet 10.0.0.1:10250"},
		"its etcd's pod is missing": {func(h *Handshakes, s *inspect.Snapshot) {
			h.Listening = Listening{"m1": {"kube-apiserver": "10.0.0.1:6443"}}
			s.Nodes[0].Files = []inspect.NodeFile{{Path: "/etc/kubernetes/pki/etcd/peer.crt"}, {Path: "/etc/kubernetes/pki/etcd/server.crt"}}
		}, usual},
		"its own kubeconfig": {func(_ *Handshakes, s *inspect.Snapshot) {
			s.Nodes[0].Kubeconfigs = []inspect.Kubeconfig{conf("https://10.0.0.1:7443")}
		}, strings.Replace(usual, "6443", "7443", 1)},
		"another one's, by name": {func(_ *Handshakes, s *inspect.Snapshot) {
			s.Nodes = append(s.Nodes, inspect.Node{Name: "w1", Kubeconfigs: []inspect.Kubeconfig{conf("https://m1:7443")}})
		}, strings.Replace(usual, "6443", "7443", 1)},
		"a worker's": {func(_ *Handshakes, s *inspect.Snapshot) {
			s.Nodes = append(s.Nodes, inspect.Node{Name: "a0", Role: catalog.RoleWorker, Kubeconfigs: []inspect.Kubeconfig{conf("https://10.0.0.1:10250")}})
		}, usual},
		"a balancer's port is not": {func(_ *Handshakes, s *inspect.Snapshot) {
			s.Nodes[0].Kubeconfigs = []inspect.Kubeconfig{conf("https://api.example.com:443")}
		}, usual},
		"the Node, of its kubelet": {func(h *Handshakes, _ *inspect.Snapshot) { h.Nodes[0].kubeletPort = 11250 }, strings.Replace(usual, "10250", "11250", 1)},
		"the node has no address":  {func(h *Handshakes, _ *inspect.Snapshot) { h.Nodes[0].internal = "" }, "kube-apiserver , etcd , etcd peer , kubelet "},
		"not made by kubeadm":      {func(_ *Handshakes, s *inspect.Snapshot) { s.Cluster.Kubeadm = catalog.No }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := Handshakes{Nodes: []NodeObject{node()}}
			s := &inspect.Snapshot{Cluster: inspect.Cluster{Versions: catalog.Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}, Kubeadm: catalog.Yes}, Nodes: []inspect.Node{{Name: "m1", Via: "ssh"}}}
			c.given(&h, s)
			var got []string
			for _, v := range h.servers(s) {
				got = append(got, v.listener.Name+" "+v.address)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestUnaskedNodes: of nodes that no one asked to read, what the API says is known, and
// stays so in a file.
func TestUnaskedNodes(t *testing.T) {
	t.Parallel()
	n := testNodes(func(context.Context, string) (OnNode, error) { return nil, ErrNoTransport }, "a")
	n.ClusterNodes = []NodeObject{{Name: "a"}, {Name: "b", Addresses: []string{"10.0.0.2"}, podCIDRs: []string{"10.128.0.0/24"}, Role: catalog.RoleMaster, Ready: "True"}}
	s := n.Collect(t.Context())
	want := []inspect.Node{{Name: "b", Addresses: []string{"10.0.0.2"}, PodNetworks: []string{"10.128.0.0/24"}, Role: catalog.RoleMaster, Ready: "True"}}
	if diff := cmp.Diff(want, s.OtherNodes); diff != "" || len(s.Nodes) != 1 {
		t.Errorf("%d nodes, and unasked: %s", len(s.Nodes), diff)
	}
	for _, answer := range []catalog.Tristate{catalog.Unknown, catalog.No, catalog.Yes} {
		s.Cluster.Kubeadm = answer
		var saved strings.Builder
		path := filepath.Join(t.TempDir(), "s")
		if err := WriteSnapshot(&saved, s); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(saved.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := File{Path: path, Scanner: pki.NewScanner()}.Read()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, again.OtherNodes); diff != "" || again.Cluster.Kubeadm != answer {
			t.Errorf("from a file: %s, %s", again.Cluster.Kubeadm, diff)
		}
	}
	if got := inspect.Newest(inspect.Snapshot{Taken: time.Unix(2, 0), Nodes: []inspect.Node{{Name: "b"}}}, inspect.Snapshot{Taken: time.Unix(1, 0), OtherNodes: want}); len(got.Nodes) != 1 || len(got.OtherNodes) != 0 {
		t.Errorf("who was asked since is not unasked: %+v", got)
	}
}

// TestKubeadmIsAsked: whether kubeadm made a cluster is known where its ConfigMap may be
// asked for.
func TestKubeadmIsAsked(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]catalog.Tristate{"there": catalog.Yes, "gone": catalog.No, "forbidden": catalog.Unknown} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/version":
				_, _ = w.Write([]byte(`{"gitVersion":"v1.35.4"}`))
			case strings.HasSuffix(r.URL.Path, "/configmaps/kubeadm-config") && name == "there":
				_, _ = w.Write([]byte(`{"metadata":{"name":"kubeadm-config"}}`))
			case strings.HasSuffix(r.URL.Path, "/configmaps/kubeadm-config") && name == "forbidden":
				refuse(w, r, http.StatusForbidden, metav1.StatusReasonForbidden, "")
			default:
				refuse(w, r, http.StatusNotFound, metav1.StatusReasonNotFound, "")
			}
		}))
		t.Cleanup(server.Close)
		client, err := NewREST(&rest.Config{Host: server.URL, QPS: -1, Timeout: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		s := (&Cluster{REST: client, Scanner: pki.NewScanner()}).Identity("https://api", "admin").Collect(t.Context())
		if !s.Cluster.Versions.NotOpenShift || s.Cluster.Kubeadm != want || len(s.Gaps) > 0 {
			t.Errorf("%s: %s, %+v", name, s.Cluster.Kubeadm, s)
		}
	}
}
