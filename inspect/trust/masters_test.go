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
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// published makes kube-root-ca.crt hold these.
func (k *kubeadm) published(ca ...[]byte) {
	at := pki.Location{Kind: catalog.ConfigMap, Namespace: "team", Name: "kube-root-ca.crt", Key: "ca.crt"}
	k.s.Bundles = slices.DeleteFunc(k.s.Bundles, func(b inspect.Bundle) bool { return b.At == at })
	for _, f := range k.sc.Scan(pkitest.Bundle(ca...)) {
		k.s.Bundles = append(k.s.Bundles, inspect.Bundle{At: at, Object: &inspect.Object{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name}, Content: f.Content})
	}
}

// roles says what the API says of kubeadm's nodes.
func (k *kubeadm) roles() {
	k.published(k.ca.CertPEM)
	for i := range k.s.Nodes {
		k.s.Nodes[i].Role = catalog.RoleMaster
		if k.s.Nodes[i].Name == "n3" {
			k.s.Nodes[i].Role = catalog.RoleWorker
		}
	}
}

// unasked makes a node one that was not to be read.
func (k *kubeadm) unasked(name string) {
	n := k.node(name)
	k.s.OtherNodes = append(k.s.OtherNodes, inspect.Node{Name: name, Role: n.Role, Addresses: n.Addresses})
	k.s.Nodes = slices.DeleteFunc(k.s.Nodes, func(n inspect.Node) bool { return n.Name == name })
	k.s.Bundles = slices.DeleteFunc(k.s.Bundles, func(b inspect.Bundle) bool { return b.At.Node == name })
}

// serves makes a master have presented this for kubernetes.default.svc, by its own address.
func (k *kubeadm) serves(node, address string, pem []byte) {
	k.s.Served = append(k.s.Served, inspect.Served{Node: "n1", Server: catalog.ListenerAPIServer, Of: node, Address: address, Name: "kubernetes.default.svc", Chain: k.sc.Scan(pem)[0].Content.Certs})
}

// calls makes a node's kubelet.conf name this server, and what that presented to it; nil:
// no handshake was made.
func (k *kubeadm) calls(node, server string, pem []byte) {
	n := k.node(node)
	i := slices.IndexFunc(n.Kubeconfigs, func(c inspect.Kubeconfig) bool { return c.Path == "/etc/kubernetes/kubelet.conf" })
	c := &n.Kubeconfigs[i].Clusters[0]
	c.Server = server
	if address, name, err := c.Dialled(); err == nil && pem != nil {
		k.s.Served = append(k.s.Served, inspect.Served{Node: node, Address: address, Name: name, Chain: k.sc.Scan(pem)[0].Content.Certs})
	}
}

// TestKubeadmMasters: each master presents a certificate of its own, and who calls one of them
// is judged by that one's.
func TestKubeadmMasters(t *testing.T) {
	strange := pkitest.NewCA("kubernetes", from(-30), from(3640))
	const n2 = "https://10.0.0.2:6443"
	var ofN2 []byte
	for name, c := range map[string]struct {
		given func(k *kubeadm)
		want  map[string]string // of n3's kubelet, and the master
		why   string
	}{
		"the address of a master that was read":     {func(k *kubeadm) { k.calls("n3", n2, nil) }, map[string]string{"n3 n2": "pass"}, ""},
		"the address of a master that nobody asked": {func(k *kubeadm) { k.unasked("n2"); k.calls("n3", n2, nil) }, map[string]string{"n3 n2": "unknown"}, "the certificate that n2 presents was not seen"},
		"who was asked himself":                     {func(k *kubeadm) { k.unasked("n2"); k.calls("n3", n2, nil); k.serves("n2", "10.0.0.2:6443", ofN2) }, map[string]string{"n3 n2": "pass"}, ""},
		"who signs with a CA of its own, perhaps": {func(k *kubeadm) {
			k.unasked("n2")
			k.calls("n3", n2, nil)
			k.serves("n2", "10.0.0.2:6443", ofN2)
			k.published(k.ca.CertPEM, pkitest.NewCA("kubernetes", from(-1), from(3640)).CertPEM)
		}, map[string]string{"n3 n2": "unknown"}, "trusted now; the signer of the next certificate is unknown: "},
		"on a port of its own": {func(k *kubeadm) { k.unasked("n2"); k.calls("n3", n2, nil); k.serves("n2", "10.0.0.2:8443", ofN2) }, map[string]string{"n3 n2": "pass"}, ""},
		"who shows what another CA has signed": {func(k *kubeadm) {
			k.unasked("n2")
			k.calls("n3", n2, nil)
			k.serves("n2", "10.0.0.2:6443", leafOf(strange, "10.0.0.2"))
		}, map[string]string{"n3 n2": "fail"}, "unknown authority"},
		"another master does, of whom it knows not": {func(k *kubeadm) { k.calls("n3", n2, nil); k.serves("n1", "10.0.0.1:6443", leafOf(strange, "10.0.0.1")) }, map[string]string{"n3 n2": "pass"}, ""},
		"all behind a balancer":                     {func(*kubeadm) {}, map[string]string{"n3 n1": "pass", "n3 n2": "pass"}, ""},
		"all, and one of them nobody asked":         {func(k *kubeadm) { k.unasked("n2") }, map[string]string{"n3 n1": "pass", "n3 n2": "unknown"}, "the certificate that n2 presents was not seen"},
		"all, and one shows what another CA signed": {func(k *kubeadm) {
			k.calls("n3", "https://api.example.com:6443", ofN2)
			k.serves("n1", "10.0.0.1:6443", leafOf(strange, "10.0.0.1"))
		}, map[string]string{"n3 n1": "fail"}, "by n1, one of the control plane nodes: x509: certificate signed by unknown authority"},
		"an address of which nobody knows whose":  {func(k *kubeadm) { k.calls("n3", "https://10.9.9.9:6443", nil) }, map[string]string{"n3 n1": "unknown", "n3 n2": "unknown"}, "whether n1 answers there was not seen"},
		"the address of the only master, wrongly": {func(k *kubeadm) { k.unasked("n2"); k.s.OtherNodes = nil; k.calls("n3", "https://10.9.9.9:6443", nil) }, map[string]string{"n3 n1": "fail"}, "10.9.9.9"},
		"that one, and the API did not say who is one": {func(k *kubeadm) {
			k.unasked("n2")
			k.s.OtherNodes = nil
			k.node("n1").Role = ""
			k.calls("n3", "https://10.9.9.9:6443", nil)
		}, map[string]string{"n3 n1": "unknown"}, "was not seen"},
		"a renewed file that is not shown yet": {func(k *kubeadm) {
			k.calls("n3", n2, nil)
			k.serves("n2", "10.0.0.2:6443", ofN2)
			k.file("n2", "apiserver.crt", leafOf(strange, "10.0.0.2"))
		}, map[string]string{"n3 n2": "warn"}, "/etc/kubernetes/pki/apiserver.crt already holds another certificate, and a control plane node that has read it presents that one: "},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKubeadm()
			k.roles()
			ofN2 = leafOf(k.ca, "10.0.0.2")
			for _, node := range []string{"n1", "n2"} { // what is presented is theirs alone
				k.file(node, "apiserver.crt", leafOf(k.ca, k.node(node).Addresses[0]))
			}
			c.given(k)
			got, why := map[string]string{}, ""
			for where, claim := range are(k.report(), "kubeadm-kubelet-api") {
				if strings.HasPrefix(where, "n3") {
					got[where] = claim.Status.String()
					why += claim.Reason
				}
			}
			for where, status := range c.want {
				if got[where] != status {
					t.Errorf("%s: %q, want %s: %v: %s", where, got[where], status, got, why)
				}
			}
			if len(got) != len(c.want) || !strings.Contains(why, c.why) || c.why == "" && why != "" {
				t.Errorf("%v: %s", got, why)
			}
		})
	}
}

// leafOf is what one master presents: for its own address, and the balancer's name.
func leafOf(ca *pkitest.Authority, address string) []byte {
	return ca.Issue("kube-apiserver", from(-10), from(355), pkitest.DNS("kubernetes.default.svc", "api.example.com"), pkitest.IPs(address)).CertPEM
}

// TestKubeadmPods: pods are led to any master, so that each is a claim; of one that was
// neither read nor asked nothing is known.
func TestKubeadmPods(t *testing.T) {
	for name, c := range map[string]struct {
		given func(k *kubeadm)
		want  map[string]string
	}{
		"all were read":           {func(*kubeadm) {}, map[string]string{"n1": "pass", "n2": "pass"}},
		"one was not":             {func(k *kubeadm) { k.unasked("n2") }, map[string]string{"n1": "pass", "n2": "unknown"}},
		"one was not, and showed": {func(k *kubeadm) { k.unasked("n2"); k.serves("n2", "10.0.0.2:6443", leafOf(k.ca, "10.0.0.2")) }, map[string]string{"n1": "pass", "n2": "pass"}},
		"one was not, and showed, and the API did not say what it is": {func(k *kubeadm) {
			k.unasked("n2")
			k.s.OtherNodes[0].Role = ""
			k.serves("n2", "10.0.0.2:6443", leafOf(k.ca, "10.0.0.2"))
		}, map[string]string{"n1": "pass", "n2": "pass"}},
		"one shows another CA's": {func(k *kubeadm) {
			k.serves("n2", "10.0.0.2:6443", leafOf(pkitest.NewCA("kubernetes", from(-30), from(3640)), "10.0.0.2"))
		}, map[string]string{"n1": "pass", "n2": "fail"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKubeadm()
			k.roles()
			c.given(k)
			got := map[string]string{}
			for _, claim := range k.report().Claims {
				if claim.ID == "kubeadm-pods-kubernetes-service" {
					got[claim.Node] = claim.Status.String()
				}
			}
			for where, status := range c.want {
				if got[where] != status {
					t.Errorf("%s: %q, want %s", where, got[where], status)
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("%v", got)
			}
		})
	}
}

// TestOtherDistributions: where neither OpenShift nor kubeadm made a cluster, nothing is
// claimed by kubeadm's rows, and that is said once.
func TestOtherDistributions(t *testing.T) {
	for name, c := range map[string]struct {
		given  func(s *inspect.Snapshot)
		claims bool
		said   bool
	}{
		"kubeadm's ConfigMap is there":                 {func(s *inspect.Snapshot) { s.Cluster.Kubeadm = catalog.Yes }, true, false},
		"it is not there":                              {func(s *inspect.Snapshot) { s.Cluster.Kubeadm = catalog.No }, false, true},
		"nor was it read, and a node has no such file": {func(*inspect.Snapshot) {}, false, true},
		"nor was that node read":                       {func(s *inspect.Snapshot) { s.Nodes[0].Via = "" }, true, false},
		"a node has kubeadm's files": {func(s *inspect.Snapshot) {
			s.Cluster.Kubeadm = catalog.No
			s.Nodes[0].Kubeconfigs = []inspect.Kubeconfig{{Path: "/etc/kubernetes/kubelet.conf"}}
		}, true, false},
		"it is OpenShift": {func(s *inspect.Snapshot) { s.Cluster.Versions = catalog.Versions{Cluster: "4.15.3"} }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(catalog.Versions{NotOpenShift: true, Kubernetes: "v1.35.4+k3s1"})
			w.s.Cluster.Kubeadm = catalog.Unknown
			w.whole("secrets", "configmaps")
			ca := pkitest.NewCA("k3s-server-ca", from(-10), from(900))
			w.put(catalog.Ref{Kind: catalog.ConfigMap, Namespace: "team", Name: "kube-root-ca.crt", Key: "ca.crt"}, ca.CertPEM)
			c.given(&w.s)
			w.s.Sort()
			r := report.NewVerification(context.Background(), inspect.NewFacts(w.s, noon, 30*day))
			claims := slices.ContainsFunc(r.Claims, func(c report.VerificationClaim) bool { return strings.HasPrefix(c.ID, "kubeadm-") })
			said := slices.ContainsFunc(r.Timeline, func(e trust.Event) bool { return strings.Contains(e.What, "were not judged") })
			if claims != c.claims || said != c.said {
				t.Errorf("claims %v, said %v: %+v", claims, said, r)
			}
		})
	}
}

// TestNoClusterInfo: who has deleted cluster-info joins nodes by other ways.
func TestNoClusterInfo(t *testing.T) {
	k := newKubeadm()
	if got := are(k.report(), "kubeadm-new-node-api"); len(got) != 1 || got[" n1"].Status.String() != "unknown" {
		t.Errorf("not read: %+v", got)
	}
	k.whole("configmaps")
	if got := are(k.report(), "kubeadm-new-node-api"); len(got) != 0 {
		t.Errorf("not there: %+v", got)
	}
}
