package inspect

import "testing"

func TestKubeletReads(t *testing.T) {
	t.Parallel()
	n := Node{Kubelet: Kubelet{Kubeconfig: "/etc/kubernetes/kubelet.conf"}, Kubeconfigs: []Kubeconfig{
		{Path: "/etc/kubernetes/admin.conf", Current: "c", Clusters: []KubeconfigCluster{{Name: "c", CAFile: "/admin.crt"}}},
		{Path: "/etc/kubernetes/kubelet.conf", Current: "c", Clusters: []KubeconfigCluster{{Name: "b", CAFile: "/b.crt"}, {Name: "c", CAFile: "/ca.crt"}}},
	}}
	for path, want := range map[string]bool{
		"/etc/kubernetes/kubelet.conf": true, "/ca.crt": true,
		"/b.crt": false, "/admin.crt": false, "/etc/kubernetes/admin.conf": false, "/var/lib/kubelet/kubeconfig": false, "": false,
	} {
		if n.KubeletReads(path) != want {
			t.Errorf("%q: want %t", path, want)
		}
	}
}
