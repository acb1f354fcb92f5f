package main

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/kubeconfigtest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

const (
	apiInt         = "api-int.okd.example.com"
	kubeletServing = "/var/lib/kubelet/pki/kubelet-server-current.pem"
)

// loadBalancer are the signer of the load balancer's certificates that the
// installer made, and the one that replaced it.
func loadBalancer() (old, renewed *pkitest.Authority) {
	return pkitest.NewCA("kube-apiserver-lb-signer", born, born.Add(years(10))),
		pkitest.NewCA(generated(op, "loadbalancer-serving-signer", upgraded), upgraded, upgraded.Add(years(10)))
}

// kubeletSigners sign kube-apiserver's client certificate for kubelets, and kubelets' certificates.
func kubeletSigners() (toKubelet, csrSigner *pkitest.Authority) {
	from, signed := at("2023-08-20 04:00"), at("2024-01-14 04:00")
	return pkitest.NewCA(generated(op, "kube-apiserver-to-kubelet-signer", from), from, from.Add(365*day)),
		pkitest.NewCA(generated("openshift-kube-controller-manager-operator", "csr-signer-signer", signed), signed, signed.Add(60*day))
}

// clientCAs sign the certificates of kube-apiserver's clients, and of kubelets' clients.
func clientCAs() []*pkitest.Authority {
	toKubelet, csrSigner := kubeletSigners()
	signed := at("2024-01-20 04:00")
	return []*pkitest.Authority{
		pkitest.NewCA("admin-kubeconfig-signer", born, born.Add(years(10))), csrSigner, toKubelet,
		pkitest.NewCA(generated(op, "kube-control-plane-signer", signed), signed, signed.Add(60*day)),
	}
}

// servedAtAPIInt is the certificate that api-int serves since the night.
func servedAtAPIInt(ca *pkitest.Authority) pkitest.Pair {
	return ca.Issue(apiInt, resigned, resigned.Add(30*day), pkitest.DNS(apiInt), pkitest.Usages(x509.ExtKeyUsageServerAuth))
}

// addNodes adds two workers as they were read by ssh: one that rebooted in the
// night and has no heartbeat, one that still works by the connection that it has.
func addNodes(s *inspect.Snapshot) error {
	old, renewed := loadBalancer()
	authorities := []*pkitest.Authority{old, pkitest.NewCA("kube-apiserver-localhost-signer", born, born.Add(years(10))), pkitest.NewCA("kube-apiserver-service-network-signer", born, born.Add(years(10)))}
	sc := pki.NewScanner()
	served := sc.Scan(pkitest.Bundle(servedAtAPIInt(renewed).CertPEM, renewed.CertPEM))[0].Content.Certs
	for _, n := range []struct {
		name, ready        string
		started, heartbeat time.Time
	}{
		{"worker-1", "True", at("2024-01-31 16:20"), taken.Add(-4 * time.Second)},
		{"worker-2", "Unknown", at("2024-02-10 01:16"), at("2024-02-10 01:12")},
	} {
		node := inspect.Node{
			Name: n.name, Hostname: n.name, Via: "ssh", Ready: n.ready, Role: catalog.RoleWorker, Heartbeat: n.heartbeat,
			Clock:   inspect.Clock{Sent: taken.Add(-time.Second), Before: taken.Add(-time.Second), After: taken.Add(-time.Second), Received: taken},
			Kubelet: inspect.Kubelet{Active: "active", Sub: "running", Started: n.started, BootstrapConfig: catalog.KubeletKubeconfigs()[0], Kubeconfig: catalog.KubeletKubeconfigs()[1]},
		}
		ca, server := base64.StdEncoding.EncodeToString(blocks(authorities)), "https://"+apiInt+":6443"
		// The token is overwritten on its way from a node.
		for i, text := range []string{kubeconfigtest.MachineConfigServer(ca, server, strings.Repeat("x", 1024)), kubeconfigtest.Kubelet(ca, server)} {
			path := catalog.KubeletKubeconfigs()[i]
			cluster := inspect.KubeconfigCluster{Name: []string{"local", "default-cluster"}[i], Server: server, CAData: true, Field: "clusters[0].cluster.certificate-authority-data"}
			node.Files = append(node.Files, inspect.NodeFile{
				Path: path, Mode: 0o600, Size: int64(len(text)), Modified: at("2023-07-22 05:10"), Whole: true, Secret: i == 0,
				SHA256: pki.FingerprintOf([]byte(n.name + text)), // not of this text: in the file there are no x
			})
			node.Kubeconfigs = append(node.Kubeconfigs, inspect.Kubeconfig{Path: path, Users: 1, Current: cluster.Name, Clusters: []inspect.KubeconfigCluster{cluster}, Text: []byte(text)})
			found := sc.Scan([]byte(text))
			if len(found) != 1 {
				return fmt.Errorf("%s holds %d values", path, len(found))
			}
			s.Bundles = append(s.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: n.name, Path: path, Field: cluster.Field}, Content: found[0].Content})
		}
		for _, f := range kubeletFiles(n.name) {
			found := sc.Scan(f.pem)
			if len(found) != 1 {
				return fmt.Errorf("%s holds %d values", f.Path, len(found))
			}
			node.Files = append(node.Files, f.NodeFile)
			if f.Path == kubeletServing {
				s.Served = append(s.Served, inspect.Served{Node: n.name, Address: n.name + ":10250", Chain: found[0].Content.Certs, Server: "kubelet", Of: n.name})
			}
			s.Bundles = append(s.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: n.name, Path: f.Path}, Content: found[0].Content})
		}
		slices.SortFunc(node.Files, func(a, b inspect.NodeFile) int { return strings.Compare(a.Path, b.Path) })
		s.Nodes = append(s.Nodes, node)
		s.Served = append(s.Served, inspect.Served{Node: n.name, Address: apiInt + ":6443", Name: apiInt, Chain: served})
	}
	s.Reads = append(s.Reads, inspect.Read{What: "nodes", Objects: 2, Note: "8 files; 2 via ssh"})
	return nil
}

type pemFile struct {
	inspect.NodeFile
	pem []byte
}

// kubeletFiles are a kubelet's CA for its clients, and its own certificates. worker-2 lost the latter.
func kubeletFiles(node string) []pemFile {
	_, csrSigner := kubeletSigners()
	ca := pemFile{inspect.NodeFile{Path: "/etc/kubernetes/kubelet-ca.crt", Mode: 0o644, Modified: upgraded}, blocks(clientCAs())}
	files := []pemFile{ca}
	if node == "worker-1" {
		from := at("2024-01-29 21:40")
		name, in := "system:node:"+node, pkitest.Template(func(c *x509.Certificate) { c.Subject.Organization = []string{"system:nodes"} })
		client := csrSigner.Issue(name, from, from.Add(30*day), in, pkitest.Usages(x509.ExtKeyUsageClientAuth))
		serving := csrSigner.Issue(name, from, from.Add(30*day), in, pkitest.DNS(node), pkitest.Usages(x509.ExtKeyUsageServerAuth))
		files = append(files,
			pemFile{inspect.NodeFile{Path: inspect.KubeletClient, Mode: 0o600, Modified: from, Secret: true}, client.CertPEM},
			pemFile{inspect.NodeFile{Path: kubeletServing, Mode: 0o600, Modified: from, Secret: true}, serving.CertPEM})
	}
	for i, f := range files {
		files[i].Size, files[i].SHA256, files[i].Whole = int64(len(f.pem)), pki.FingerprintOf(f.pem), true
	}
	return files
}
