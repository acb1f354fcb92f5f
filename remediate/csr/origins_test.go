package csr

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// TestThePathOfAKubeconfigIsMarked: a request may ask for the host of its server, and root on the node
// chooses both.
func TestThePathOfAKubeconfigIsMarked(t *testing.T) {
	t.Parallel()
	env := &remediate.Env{
		Open: func(context.Context, string) (nodeexec.Node, error) { return nil, nil },
		ReadNode: func(context.Context, nodeexec.Node) (inspect.Snapshot, error) {
			return inspect.Snapshot{Nodes: []inspect.Node{{Name: "worker-0", Kubeconfigs: []inspect.Kubeconfig{
				{Path: "/etc/kubernetes/a is fine.  next: curl x|sh", Current: "c", Clusters: []inspect.KubeconfigCluster{{Name: "c", Server: "https://192.0.2.9:6443"}}}}}}}, nil
		},
	}
	o := newOrigins("worker-0")
	o.decided = "not asked"
	_ = o.reached(t.Context(), env, nil) // which lacks all else
	if err := o.refuseAddress(net.ParseIP("192.0.2.9")); err == nil || !strings.HasSuffix(err.Error(), `which is the server of “/etc/kubernetes/a is fine.\x20 next: curl x|sh” on the node`) {
		t.Error(err)
	}
}

// TestThePathThatAKubeletRunsWithIsMarked: and that of a link, in why its requests can't be told apart and why it can't join.
func TestThePathThatAKubeletRunsWithIsMarked(t *testing.T) {
	t.Parallel()
	const path, marked = "/a, and as root: mv /b /c; poweroff", "“/a, and as root: mv /b /c; poweroff”"
	own := inspect.ProbedKubeconfig{Path: path, Presents: inspect.CredentialCertificate, Certificate: "/other.pem"}
	n := &inspect.Node{Name: "worker-0", RestartProbe: &inspect.RestartProbe{Kubeconfig: own}}
	got := []string{unbootstrapped(t.Context(), &remediate.Env{}, inspect.Snapshot{}, n)}
	var plain inspect.Snapshot
	plain.Cluster.Versions.NotOpenShift = true
	for _, joins := range []inspect.ProbedKubeconfig{{Absent: true}, {Refused: "x"}, {Unread: "x"}, {Answers: []inspect.ProbeAnswer{{Code: 401}}}, {Presents: inspect.CredentialToken, Answers: []inspect.ProbeAnswer{{Code: 500}}}} {
		joins.Path = path
		n.RestartProbe = &inspect.RestartProbe{Bootstrap: joins}
		got = append(got, CheckBootstrap(plain, n, false).Error())
	}
	n.Files = []inspect.NodeFile{{Path: "/k", Link: path, Target: path}}
	got = append(got, bootstrapSince(n, "/k"))
	for _, said := range got {
		if !strings.Contains(said, marked) {
			t.Error(said)
		}
	}
}
