package gather

import (
	"fmt"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

func read(path, text string) File {
	return File{Path: path, Kind: KindRead, Content: &Content{Text: []byte(text)}}
}

// facts are those of a node.
func facts(t *testing.T, r Result, node string) inspect.Snapshot {
	t.Helper()
	s, err := r.Snapshot(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Keys of the same length that are overwritten look alike.
const masked = "xxxx: xxxxx\nxxxx: xxxxx\n"

func TestKubeletConfigurationIsRead(t *testing.T) {
	t.Parallel()
	r := Result{
		Node: Node{Flags: []Flag{{"config", "/etc/kubernetes/kubelet.conf", true}, {"anonymous-auth", "true", true}, {"authorization-mode", "", false}}},
		Files: []File{read("/etc/kubernetes/kubelet.conf", "kind: KubeletConfiguration\n"+masked+
			"rotateCertificates: true\nserverTLSBootstrap: false\nauthentication:\n  x509:\n    clientCAFile: /etc/kubernetes/kubelet-ca.crt\n  anonymous:\n    enabled: false\nauthorization:\n  mode: Webhook\n")},
	}
	k := facts(t, r, "worker-0").Nodes[0].Kubelet
	if k.RotateCertificates == nil || !*k.RotateCertificates || k.ServerTLSBootstrap == nil || *k.ServerTLSBootstrap || k.ClientCAFile != "/etc/kubernetes/kubelet-ca.crt" || k.Authorization != "Webhook" {
		t.Errorf("%+v", k)
	}
	if k.Anonymous == nil || !*k.Anonymous {
		t.Error("a flag goes before the configuration")
	}
	if n := facts(t, r, "worker-0").Nodes[0]; len(n.Kubeconfigs) != 0 {
		t.Errorf("it is no kubeconfig: %+v", n.Kubeconfigs)
	}
}

func TestKubeconfigShapes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       inspect.Kubeconfig
		secret     bool
	}{
		{
			"a kubelet's", masked + "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    certificate-authority-data: Q0E=\n    server: https://a:6443\n  name: c\ncontexts:\n- context:\n    cluster: c\n    xxxx: x\n    xxxx: x\n  name: x\n" +
				"current-context: x\nusers:\n- name: u\n  user:\n    client-certificate: /a.pem\n    client-key: /a.pem\n",
			inspect.Kubeconfig{Users: 1, Current: "c", Clusters: []inspect.KubeconfigCluster{{Name: "c", Server: "https://a:6443", CAData: true, Field: "clusters[0].cluster.certificate-authority-data"}}}, false,
		},
		{
			"with a token", "clusters: []\nusers:\n- name: u\n  user:\n    token: xxxxxxxx\n",
			inspect.Kubeconfig{Users: 1}, true,
		},
		{
			"with a CA that did not leave", "clusters:\n- cluster:\n    certificate-authority-data: xxxxxxxx\n    server: https://a:6443\n  name: c\n",
			inspect.Kubeconfig{Clusters: []inspect.KubeconfigCluster{{Name: "c", Server: "https://a:6443", CAData: true, Masked: true, Field: "clusters[0].cluster.certificate-authority-data"}}}, false,
		},
	} {
		n := facts(t, Result{Files: []File{read("/k", c.text)}}, "n").Nodes[0]
		c.want.Path = "/k"
		if len(n.Kubeconfigs) != 1 || len(n.Files) != 1 || n.Files[0].Secret != c.secret {
			t.Errorf("%s: %+v", c.name, n)
			continue
		}
		got := n.Kubeconfigs[0]
		if got.Problem != "" || got.Current != c.want.Current || got.Users != c.want.Users || len(got.Clusters) != len(c.want.Clusters) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
			continue
		}
		for i := range got.Clusters {
			if got.Clusters[i] != c.want.Clusters[i] {
				t.Errorf("%s: cluster %+v, want %+v", c.name, got.Clusters[i], c.want.Clusters[i])
			}
		}
	}
	n := facts(t, Result{Files: []File{read("/k", "clusters:\n- cluster: {\nusers: []\n")}}, "n").Nodes[0]
	if len(n.Kubeconfigs) != 1 || n.Kubeconfigs[0].Problem == "" || !n.Files[0].Secret {
		t.Errorf("one that can't be read: %+v", n)
	}
}

// TestThePathOfAMaskedCAIsMarked: root on the node chooses it, and the gap is printed.
func TestThePathOfAMaskedCAIsMarked(t *testing.T) {
	t.Parallel()
	s := facts(t, Result{Files: []File{read("/k is read.  next: curl x|sh", "clusters:\n- cluster:\n    certificate-authority-data: xxxx\n  name: c\n")}}, "n")
	if len(s.Gaps) != 1 || s.Gaps[0].Where != `“/k is read.\x20 next: curl x|sh”` {
		t.Errorf("gaps %+v", s.Gaps)
	}
}

// TestTheGapsOfANodeAreBounded: what one node could not read does not hide what others lack, and is counted. What is
// not named is unknown still.
func TestTheGapsOfANodeAreBounded(t *testing.T) {
	t.Parallel()
	var r Result
	for i := range 3000 {
		r.Gaps = append(r.Gaps, inspect.Gap{Where: fmt.Sprintf("/etc/kubernetes/%d.crt", i), Reason: "not readable"})
	}
	s := facts(t, r, "worker-0")
	if last := s.Gaps[len(s.Gaps)-1]; len(s.Gaps) != 1001 || last.Where != "" || last.Reason != "2000 more things could not be read" {
		t.Errorf("%d gaps: %+v", len(s.Gaps), last)
	}
	if inspect.MissingFile(s, &s.Nodes[0], "/etc/kubernetes/2999.crt") {
		t.Error("a file that was not read counts as missing")
	}
	r.Gaps = r.Gaps[:1000]
	if s := facts(t, r, "worker-0"); len(s.Gaps) != 1000 || s.Gaps[999].Where == "" {
		t.Errorf("%d gaps: %+v", len(s.Gaps), s.Gaps[999])
	}
}
