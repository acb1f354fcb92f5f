package gather

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// multus' thin entrypoint puts brackets around any host: the address leaves the node
// as it is, so that it is known by which name the API server is asked for.
func TestBracketsAroundNames(t *testing.T) {
	const path, server = "/etc/kubernetes/cni/net.d/multus.d/multus.kubeconfig", "https://[api-int.my-cluster.example.com]:6443"
	root := newRoot(t)
	ca := base64.StdEncoding.EncodeToString(pkitest.NewCA("a CA", time.Now(), time.Now().AddDate(1, 0, 0)).CertPEM)
	tree(t, root, map[string]string{path: "apiVersion: v1\nkind: Config\nclusters:\n- name: local\n  cluster:\n    server: " + server + "\n    certificate-authority-data: " + ca + "\n"})
	everywhere(t, func(t *testing.T, w world) {
		_, r := w.read(t, root, Options{})
		n := facts(t, r, "w1").Nodes[0]
		if len(n.Kubeconfigs) != 1 || len(n.Kubeconfigs[0].Clusters) != 1 || n.Kubeconfigs[0].Clusters[0].Server != server {
			t.Errorf("%+v", n.Kubeconfigs)
		}
	})
}
