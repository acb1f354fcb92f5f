package fixapiintcmd

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply/applytest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
)

// staticPod is a pod that a node's kubelet runs by a file of its own.
func staticPod(name, node string) corev1.Pod {
	yes := true
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: node, Controller: &yes}}}, Spec: corev1.PodSpec{NodeName: node}}
}

// protobufOf is how an API server answers who asks for it.
func protobufOf(t *testing.T, pods ...corev1.Pod) string {
	t.Helper()
	var out strings.Builder
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(&corev1.PodList{Items: pods}, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestMastersAlone reads all nodes that may be masters, whatever their labels say.
func TestMastersAlone(t *testing.T) {
	t.Parallel()
	const operated, plain = "/api/v1/namespaces/openshift-kube-apiserver/pods", "/api/v1/namespaces/kube-system/pods"
	ca := pkitest.NewCA("lb", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	none := protobufOf(t)
	guard := staticPod("kube-apiserver-guard-worker-1", "worker-1")
	guard.OwnerReferences = nil
	pods := protobufOf(t, staticPod("kube-apiserver-master-0", "master-0"), staticPod("kube-apiserver-unlabelled", "unlabelled"), guard)
	other := protobufOf(t, staticPod("kube-apiserver-master-0", "master-0"), staticPod("haproxy-worker-1", "worker-1"))
	all := []string{"master-0", "unlabelled", "worker-1"}
	for _, c := range []struct {
		name string
		api  plugintest.LiveAPI
		only []string
		read []string
		know []string
	}{
		{"OpenShift", plugintest.SettledAPI().With(operated, pods).With(plain, none), []string{remediate.WaveMasters}, all[:2], all[:2]},
		{"kubeadm", plugintest.SettledAPI().With(operated, none).With(plain, pods), []string{remediate.WaveMasters, remediate.WaveControlPlane}, all[:2], all[:2]},
		{"all have their labels", plugintest.SettledAPI().With(operated, other).With(plain, other), []string{remediate.WaveMasters}, all[:1], all[:1]},
		{"who can't list pods has all nodes read", plugintest.SettledAPI().With(operated, "no list").With(plain, none), []string{remediate.WaveMasters}, all, nil},
		{"workers, too", plugintest.SettledAPI().With(operated, pods).With(plain, none), []string{remediate.WaveMasters, remediate.WaveWorkers}, all, all[:2]},
		{"all waves", plugintest.SettledAPI().With(operated, pods).With(plain, none), nil, all, all[:2]},
	} {
		w := &apply.Session{All: true, Conn: applytest.Connect(c.api, t)}
		for _, name := range all {
			o := collect.NodeObject{Name: name, Role: catalog.RoleWorker}
			if name == "master-0" {
				o.Role = catalog.RoleMaster
			}
			w.Objects, w.Choice.Names = append(w.Objects, o), append(w.Choice.Names, name)
		}
		o := &repairOptions{source: caSource{file: "ca.crt"}, order: apiint.Order{Only: c.only}}
		fix, err := o.repair(t.Context(), w, ca.CertPEM)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(fix.StaticPodNodes, all[:1]) { // whatever the order is: no wave of it may need the rollout
			t.Errorf("%s: operators' nodes are %q", c.name, fix.StaticPodNodes)
		}
		if !slices.Equal(w.Names(), c.read) || !slices.Equal(fix.APIServers, c.know) {
			t.Errorf("%s: read %q, and kube-apiservers are known on %q", c.name, w.Names(), fix.APIServers)
		}
	}
}
