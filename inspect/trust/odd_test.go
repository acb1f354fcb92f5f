package trust_test

import (
	"context"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// TestOddSnapshots: facts that lack what they mostly have, or have it twice, are judged
// somehow, and nothing of them holds.
func TestOddSnapshots(t *testing.T) {
	ca := pkitest.NewCA("kubernetes", from(-10), from(3640))
	odd := func(v catalog.Versions) *kubeadm {
		k := newKubeadm()
		k.s.Cluster = inspect.Cluster{Versions: v, Internal: "%", External: "https://"}
		content := &pki.Content{}
		for _, at := range []pki.Location{
			{Kind: pki.KindFile, Node: "n1", Path: "/etc/kubernetes/pki/apiserver.crt"},
			{Kind: pki.KindFile, Node: "gone", Path: "/etc/kubernetes/pki/apiserver.crt"},
			{Kind: catalog.ConfigMap, Namespace: "team", Name: "kube-root-ca.crt", Key: "ca.crt"},
			{Kind: catalog.Secret, Namespace: "openshift-config-managed", Name: "router-certs", Key: "x"}, {},
		} {
			k.s.Bundles = append(k.s.Bundles, inspect.Bundle{At: at, Content: content}, inspect.Bundle{At: at, Object: &inspect.Object{Kind: at.Kind}, Content: content})
		}
		k.s.Nodes = append(k.s.Nodes, inspect.Node{}, inspect.Node{Name: "n1"}, inspect.Node{
			Name: "odd", Via: "ssh", Role: catalog.RoleMaster, Addresses: []string{"", "x"}, PodNetworks: []string{"x"}, RestartProbe: &inspect.RestartProbe{}, Accepted: []inspect.Accepted{{}, {Row: "kubelets-accept"}, {Row: "kubelets-accept", Of: "gone", Certificate: "x", ProbeAnswer: inspect.ProbeAnswer{Code: 401}}},
			Kubeconfigs: []inspect.Kubeconfig{{}, {Path: "/etc/kubernetes/kubelet.conf", Current: "c", Clusters: []inspect.KubeconfigCluster{{Name: "c", Server: "x", CAData: true}}}, {Path: "/var/lib/kubelet/kubeconfig", Problem: "no YAML"}},
			Processes:   []inspect.Process{{}, {Command: "kubelet"}, {Command: "multus-daemon"}}, Files: []inspect.NodeFile{{}, {Path: "/etc/kubernetes/kubelet.conf"}},
		})
		k.s.OtherNodes = []inspect.Node{{}, {Name: "n2"}, {Name: "far", Role: catalog.RoleMaster}}
		for _, row := range catalog.Servers() {
			k.s.Served = append(k.s.Served, inspect.Served{Server: row.Listener.Name}, inspect.Served{Server: row.Listener.Name, Of: "gone", Address: "x", Name: "x", Chain: k.sc.Scan(ca.CertPEM)[0].Content.Certs})
		}
		for _, row := range catalog.ServerLogs() {
			k.s.ServerLogs = append(k.s.ServerLogs, inspect.ServerLog{Row: row.ID}, inspect.ServerLog{Row: row.ID, To: noon, Refused: []inspect.Refused{{}, {Client: "x"}, {Client: "10.0.0.1", Last: noon}}})
		}
		k.s.References = []inspect.Reference{{}, {From: pki.Location{Kind: "APIService", Name: "x", Field: "spec"}}, {From: pki.Location{Kind: "Image", Name: "cluster", Field: "spec.additionalTrustedCA.name"}}}
		k.s.Access = &inspect.Access{Presents: inspect.CredentialCertificate}
		k.s.Sort()
		return k
	}
	for _, v := range []catalog.Versions{{}, {NotOpenShift: true}, {Cluster: "x"}, {Cluster: "4.12.1"}, {Cluster: "4.22.1"}} {
		for _, now := range []time.Time{{}, noon} {
			f := inspect.NewFacts(odd(v).s, now, 0)
			for _, c := range report.NewVerification(context.Background(), f).Claims {
				if c.Node == "odd" && c.Status == assess.Pass {
					t.Errorf("%+v at %s: %s holds", v, now, c.ID)
				}
			}
			for _, n := range report.NewRestartReport(context.Background(), f).Nodes {
				if n.Name == "odd" && n.ComesBack.Status == assess.Pass {
					t.Errorf("%+v at %s: it comes back", v, now)
				}
			}
		}
	}
}
