package trust_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// kubeadm is a cluster as kubeadm makes it: the control plane nodes n1 and n2, the
// worker n3, etcd on the former.
type kubeadm struct {
	*world
	ca, etcd *pkitest.Authority
}

func newKubeadm() *kubeadm {
	k := &kubeadm{world: newWorld(catalog.Versions{NotOpenShift: true, Kubernetes: "v1.35.4"})}
	k.ca, k.etcd = pkitest.NewCA("kubernetes", from(-400), from(3640)), pkitest.NewCA("etcd-ca", from(-10), from(3640))
	k.s.Nodes = nil
	for node, address := range map[string]string{"n1": "10.0.0.1", "n2": "10.0.0.2", "n3": "10.0.0.3"} {
		k.s.Nodes = append(k.s.Nodes, inspect.Node{Name: node, Via: "ssh", Addresses: []string{address}})
	}
	slices.SortFunc(k.s.Nodes, func(a, b inspect.Node) int { return strings.Compare(a.Name, b.Name) })
	for _, node := range []string{"n1", "n2", "n3"} {
		server := "https://api.example.com:6443"
		k.file(node, "ca.crt", k.ca.CertPEM)
		k.conf(node, "kubelet.conf", server)
		if node == "n3" {
			continue
		}
		address := map[string]string{"n1": "10.0.0.1", "n2": "10.0.0.2"}[node]
		k.conf(node, "scheduler.conf", "https://"+address+":6443")
		k.file(node, "ca.key", nil)
		k.file(node, "etcd/ca.crt", k.etcd.CertPEM)
		k.file(node, "etcd/ca.key", nil)
		k.file(node, "apiserver.crt", k.ca.Issue("kube-apiserver", from(-10), from(355), pkitest.DNS("kubernetes.default.svc", "api.example.com"), pkitest.IPs(address)).CertPEM)
		for _, name := range []string{"etcd/server.crt", "etcd/peer.crt"} {
			k.file(node, name, k.etcd.Issue(node, from(-10), from(355), pkitest.DNS(node), pkitest.IPs(address)).CertPEM)
		}
	}
	return k
}

func (k *kubeadm) node(name string) *inspect.Node {
	n, _ := k.s.Node(name)
	return n
}

func (k *kubeadm) bundle(at pki.Location, pem ...[]byte) {
	k.s.Bundles = slices.DeleteFunc(k.s.Bundles, func(b inspect.Bundle) bool { return b.At == at })
	for _, f := range k.sc.Scan(pkitest.Bundle(pem...)) {
		k.s.Bundles = append(k.s.Bundles, inspect.Bundle{At: at, Content: f.Content})
	}
}

// file puts one into kubeadm's folder on a node, in place of what was there; nil: a key.
func (k *kubeadm) file(node, name string, pem []byte) {
	path := "/etc/kubernetes/pki/" + name
	n := k.node(node)
	if n.File(path) == nil {
		n.Files = append(n.Files, inspect.NodeFile{Path: path, Secret: pem == nil})
		slices.SortFunc(n.Files, func(a, b inspect.NodeFile) int { return strings.Compare(a.Path, b.Path) })
	}
	if pem != nil {
		k.bundle(pki.Location{Kind: pki.KindFile, Node: node, Path: path}, pem)
	}
}

func (k *kubeadm) conf(node, name, server string) {
	const field = "clusters[0].cluster.certificate-authority-data"
	path := "/etc/kubernetes/" + name
	n := k.node(node)
	n.Files = append(n.Files, inspect.NodeFile{Path: path})
	slices.SortFunc(n.Files, func(a, b inspect.NodeFile) int { return strings.Compare(a.Path, b.Path) })
	n.Kubeconfigs = append(n.Kubeconfigs, inspect.Kubeconfig{Path: path, Current: "c", Clusters: []inspect.KubeconfigCluster{{Name: "c", Server: server, CAData: true, Field: field}}})
	k.bundle(pki.Location{Kind: pki.KindFile, Node: node, Path: path, Field: field}, k.ca.CertPEM)
}

// report is what verify says, by edge, node and what is presented.
func (k *kubeadm) report() report.Verification {
	k.s.Sort()
	return report.NewVerification(context.Background(), inspect.NewFacts(k.s, noon, 30*day))
}

// are the claims of an edge, each by its node.
func are(r report.Verification, id string) map[string]report.VerificationClaim {
	out := map[string]report.VerificationClaim{}
	for _, c := range r.Claims {
		if c.ID == id {
			key := c.Node
			if c.Presented != nil && c.Presented.Node != c.Node {
				key += " " + c.Presented.Node
			}
			out[key] = c
		}
	}
	return out
}

// TestKubeadmIsWell: all that is known holds, and the timeline says when it expires.
func TestKubeadmIsWell(t *testing.T) {
	k := newKubeadm()
	r := k.report()
	for id, n := range map[string]int{"kubeadm-kubelet-api": 6, "kubeadm-scheduler-api": 2, "kubeadm-etcd-peers": 4, "kubeadm-apiserver-etcd": 4} {
		claims := are(r, id)
		if len(claims) != n {
			t.Errorf("%s: want %d claims, got %d", id, n, len(claims))
		}
		for where, c := range claims {
			if c.Status.String() != "pass" {
				t.Errorf("%s %s: %s: %s", id, where, c.Status, c.Reason)
			}
		}
	}
	var told []string
	for _, e := range r.Timeline {
		told = append(told, string(e.Part)+": "+e.What+" "+e.When.Format("2006-01-02"))
		if len(e.Sources) < 2 || e.Remediation.Text != "" {
			t.Errorf("%+v", e)
		}
	}
	all := strings.Join(told, "\n")
	for _, want := range []string{
		"control plane: the first of kubeadm's certificates on n1 (/etc/kubernetes/pki/apiserver.crt; renewed by `kubeadm upgrade` or `kubeadm certs renew` only) expires 2025-05-22",
		`control plane: the CA "kubernetes" (nothing renews it) expires 2034-05-20`,
	} {
		if !strings.Contains(all, want) || len(told) != 4 {
			t.Errorf("the story lacks %s:\n%s", want, all)
		}
	}
}

// TestKubeadmRenewal: what is renewed by hand is told before its end; and what another
// CA will sign is told from the moment at which that lies on the node with its key.
func TestKubeadmRenewal(t *testing.T) {
	other := pkitest.NewCA("kubernetes", from(-1), from(3640))
	for name, c := range map[string]struct {
		given func(k *kubeadm)
		id    string
		want  map[string]string
		why   string
	}{
		"a certificate that ends in 20 days": {func(k *kubeadm) {
			k.file("n1", "apiserver.crt", k.ca.Issue("kube-apiserver", from(-345), from(20), pkitest.DNS("api.example.com")).CertPEM)
		}, "kubeadm-kubelet-api", map[string]string{"n1": "warn", "n2 n1": "warn", "n3 n1": "warn", "n1 n2": "pass", "n2": "pass", "n3 n2": "pass"}, "the certificate presented expires and is not renewed automatically"},
		"another CA with its key on a control plane node": {func(k *kubeadm) { k.file("n2", "ca.crt", other.CertPEM) },
			"kubeadm-kubelet-api", map[string]string{"n1": "pass", "n2 n1": "pass", "n3 n1": "pass", "n1 n2": "warn", "n2": "warn", "n3 n2": "warn"}, "will be signed by"},
		"another CA on a worker signs nothing": {func(k *kubeadm) { k.file("n3", "ca.crt", other.CertPEM) },
			"kubeadm-kubelet-api", map[string]string{"n1": "pass", "n2 n1": "pass", "n3 n1": "pass", "n1 n2": "pass", "n2": "pass", "n3 n2": "pass"}, ""},
		"etcd's CA on one node is another one": {func(k *kubeadm) { k.file("n2", "etcd/ca.crt", other.CertPEM) },
			"kubeadm-etcd-peers", map[string]string{"n1": "pass", "n1 n2": "warn", "n2 n1": "fail", "n2": "fail"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKubeadm()
			c.given(k)
			claims := are(k.report(), c.id)
			for where, want := range c.want {
				got := claims[where]
				if got.Status.String() != want || want == "warn" && !strings.Contains(got.Reason, c.why) {
					t.Errorf("%s: %s: %s", where, got.Status, got.Reason)
				}
				if want == "warn" && strings.Contains(c.why, "expires") && (got.From == nil || !got.From.Equal(from(20))) {
					t.Errorf("%s: from %v", where, got.From)
				}
			}
			if len(claims) != len(c.want) {
				t.Errorf("claims: %v", claims)
			}
		})
	}
}

// TestKubeadmKeyElsewhere: where no node has the CA's key, none signs.
func TestKubeadmKeyElsewhere(t *testing.T) {
	k := newKubeadm()
	for i := range k.s.Nodes {
		k.s.Nodes[i].Files = slices.DeleteFunc(k.s.Nodes[i].Files, func(f inspect.NodeFile) bool { return f.Secret })
	}
	for _, id := range []string{"kubeadm-kubelet-api", "kubeadm-etcd-peers"} {
		for where, c := range are(k.report(), id) {
			if c.Status.String() != "pass" {
				t.Errorf("%s %s: %s: %s", id, where, c.Status, c.Reason)
			}
		}
	}
}

// TestKubeadmServers: what they present is compared with the files of their own nodes; and
// where there is no etcd, none is missed.
func TestKubeadmServers(t *testing.T) {
	k := newKubeadm()
	shown := func(node, name string) []*pki.Cert {
		for _, b := range k.s.Bundles {
			if b.At.Node == node && b.At.Path == "/etc/kubernetes/pki/"+name {
				return b.Content.Certs
			}
		}
		return nil
	}
	serve := func(server, of, address, name string, chain []*pki.Cert, problem string) {
		k.s.Served = append(k.s.Served, inspect.Served{Node: "n1", Server: server, Of: of, Address: address, Name: name, Chain: chain, Problem: problem})
	}
	old := k.sc.Scan(k.ca.Issue("kube-apiserver", from(-375), from(-10), pkitest.DNS("kubernetes.default.svc")).CertPEM)[0].Content.Certs
	serve(catalog.ListenerAPIServer, "n1", "10.0.0.1:6443", "kubernetes.default.svc", shown("n1", "apiserver.crt"), "")
	serve(catalog.ListenerAPIServer, "n2", "10.0.0.2:6443", "kubernetes.default.svc", old, "")
	serve("etcd", "n1", "10.0.0.1:2379", "", shown("n1", "etcd/server.crt"), "")
	serve("etcd", "n2", "10.0.0.2:2379", "", nil, "connection refused")
	serve("etcd", "n3", "10.0.0.3:2379", "", nil, "connection refused") // labelled as a control plane node, and without etcd
	serve("etcd peer", "n1", "10.0.0.1:2380", "", shown("n2", "etcd/peer.crt"), "")
	serve("kubelet", "n3", "10.0.0.3:10250", "", nil, "connection refused")
	r := k.report()
	for id, want := range map[string]map[string]string{
		"kubeadm-apiservers-show-file": {"n1": "pass", "n2": "fail"},
		"kubeadm-etcd-show-file":       {"n1": "pass", "n2": "unknown"},
		"kubeadm-etcd-peers-show-file": {"n1": "fail"}, // the other node's
		"kubeadm-kubelets-show-file":   {},
		"kubeadm-etcd-peers":           {"n1": "fail", "n2": "pass", "n1 n2": "pass", "n2 n1": "fail"}, // by what was presented: it is for another address
	} {
		got := are(r, id)
		for where, status := range want {
			if got[where].Status.String() != status {
				t.Errorf("%s %s: %s: %s", id, where, got[where].Status, got[where].Reason)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %+v", id, got)
		}
	}
}

// TestKubeadmOwnAddress: what calls the API server of its own node is not presented what lies
// on others.
func TestKubeadmOwnAddress(t *testing.T) {
	k := newKubeadm()
	for _, b := range k.s.Bundles {
		if b.At.Path == "/etc/kubernetes/pki/apiserver.crt" && b.At.Node == "n1" {
			k.s.Served = append(k.s.Served, inspect.Served{Node: "n1", Address: "10.0.0.1:6443", Name: "10.0.0.1", Chain: b.Content.Certs})
		}
	}
	for where, c := range are(k.report(), "kubeadm-scheduler-api") {
		if c.Status.String() != "pass" {
			t.Errorf("%s: %s: %s", where, c.Status, c.Reason)
		}
	}
}

// TestAKubeletsAddressesMakeNoMaster: a kubelet writes the addresses of its Node. Who claims the
// balancer's, or a master's, takes no master's answers away, and adds none.
func TestAKubeletsAddressesMakeNoMaster(t *testing.T) {
	t.Parallel()
	strange := pkitest.NewCA("kubernetes", from(-30), from(3640))
	leaf := func(ca *pkitest.Authority, addresses ...string) []byte {
		return ca.Issue("kube-apiserver", from(-10), from(355), pkitest.DNS("kubernetes.default.svc"), pkitest.IPs(addresses...)).CertPEM
	}
	for _, server := range []string{"10.0.0.100", "10.0.0.2"} { // the balancer, and the other master
		for name, claim := range map[string]func(k *kubeadm){
			"nobody": func(*kubeadm) {},
			"the node": func(k *kubeadm) {
				n := k.node("n3")
				n.Addresses = append(n.Addresses, server)
			},
			"another one, unread": func(k *kubeadm) {
				n := *k.node("n3")
				n.Name, n.Via, n.Addresses, n.Kubeconfigs = "n4", "", []string{server}, nil
				k.s.OtherNodes = append(k.s.OtherNodes, n)
			},
		} {
			k := newKubeadm()
			k.roles()
			for _, node := range []string{"n1", "n2"} {
				k.file(node, "apiserver.crt", leaf(k.ca, k.node(node).Addresses[0], server))
			}
			k.calls("n3", "https://"+server+":6443", leaf(k.ca, "10.0.0.2", "10.0.0.100"))
			k.serves("n1", "10.0.0.1:6443", leaf(strange, "10.0.0.1", server))
			claim(k)
			want := "fail"
			if server == "10.0.0.2" {
				want = "pass" // n2 alone answers there, whatever a worker says
			}
			got := ""
			for where, c := range are(k.report(), "kubeadm-kubelet-api") {
				if strings.HasPrefix(where, "n3") {
					got = c.Status.String()
				}
			}
			if got != want {
				t.Errorf("%s is claimed by %s: %s, want %s", server, name, got, want)
			}
		}
	}
}

// client puts a client certificate on a node, in a file of its own or in a kubeconfig there.
func (k *kubeadm) client(node, path string, leaf pkitest.Pair) {
	at := pki.Location{Kind: pki.KindFile, Node: node, Path: path}
	n := k.node(node)
	switch {
	case strings.HasSuffix(path, ".conf"):
		at.Field = "users[0].user.client-certificate-data"
	default:
		n.Files = append(n.Files, inspect.NodeFile{Path: path})
	}
	k.bundle(at, leaf.CertPEM)
}

// TestKubeadmsAPIServersTrustTheirFile: what they publish keeps a CA that was removed from it.
func TestKubeadmsAPIServersTrustTheirFile(t *testing.T) {
	t.Parallel()
	const kubelet, scheduler = "/var/lib/kubelet/pki/kubelet-client-current.pem", "/etc/kubernetes/scheduler.conf"
	next := pkitest.NewCA("kubernetes-2", from(-1), from(3640))
	for name, c := range map[string]struct {
		given func(k *kubeadm)
		id    string
		want  map[string]string // by the node of the client
	}{
		"all have the CA": {func(*kubeadm) {}, "kubeadm-apiserver-kubelet", map[string]string{"n1": "pass", "n2": "pass", "n3": "pass"}},
		"it was removed from the file of all": {func(k *kubeadm) {
			k.file("n1", "ca.crt", next.CertPEM)
			k.file("n2", "ca.crt", next.CertPEM)
		}, "kubeadm-apiserver-kubelet", map[string]string{"n1": "fail", "n2": "fail", "n3": "fail"}},
		"a worker's file is no API server's": {func(k *kubeadm) { k.file("n3", "ca.crt", next.CertPEM) },
			"kubeadm-apiserver-kubelet", map[string]string{"n1": "pass", "n2": "pass", "n3": "pass"}},
		"a worker has an API server's certificate, too": {func(k *kubeadm) {
			k.file("n3", "ca.crt", next.CertPEM)
			k.file("n3", "apiserver.crt", next.Issue("kube-apiserver", from(-10), from(355)).CertPEM)
		}, "kubeadm-apiserver-kubelet", map[string]string{"n1": "pass", "n2": "pass", "n3": "pass"}},
		"a worker has it, and no control plane node was read": {func(k *kubeadm) {
			k.file("n3", "apiserver.crt", k.ca.Issue("kube-apiserver", from(-10), from(355)).CertPEM)
			k.unasked("n1")
			k.unasked("n2")
		}, "kubeadm-apiserver-kubelet", map[string]string{" n3": "unknown"}},
		"the clock of one is wrong": {func(k *kubeadm) {
			at := noon.AddDate(2, 0, 0)
			k.node("n1").Clock = inspect.Clock{Sent: noon, Received: noon, Before: at, After: at}
		}, "kubeadm-apiserver-kubelet", map[string]string{"n1": "pass", "n2": "pass", "n3": "pass"}},
		"no control plane node was read": {func(k *kubeadm) {
			k.unasked("n1")
			k.unasked("n2")
		}, "kubeadm-apiserver-kubelet", map[string]string{" n3": "unknown"}},
		"one node has no such client": {func(k *kubeadm) {
			k.file("n2", "ca.crt", next.CertPEM)
			k.s.Bundles = slices.DeleteFunc(k.s.Bundles, func(b inspect.Bundle) bool { return b.At.Node == "n2" && b.At.Path == scheduler })
		}, "kubeadm-apiserver-scheduler", map[string]string{"n1": "pass"}},
		"it was removed from another node's: its own is called": {func(k *kubeadm) { k.file("n2", "ca.crt", next.CertPEM) },
			"kubeadm-apiserver-scheduler", map[string]string{"n1": "pass", "n2": "fail"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKubeadm()
			k.roles()
			for _, node := range []string{"n1", "n2", "n3"} {
				k.client(node, kubelet, k.ca.Issue("system:node:"+node, from(-10), from(355)))
				if node != "n3" {
					k.client(node, scheduler, k.ca.Issue("system:kube-scheduler", from(-10), from(355)))
				}
			}
			k.put(catalog.Ref{Kind: catalog.ConfigMap, Namespace: "kube-system", Name: "extension-apiserver-authentication", Key: "client-ca-file"}, k.ca.CertPEM, next.CertPEM)
			c.given(k)
			claims := are(k.report(), c.id)
			for where, want := range c.want {
				if got := claims[where]; got.Status.String() != want {
					t.Errorf("%s: %s: %s", where, got.Status, got.Reason)
				}
			}
			if len(claims) != len(c.want) {
				t.Errorf("claims: %v", claims)
			}
		})
	}
}
