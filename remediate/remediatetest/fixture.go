package remediatetest

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/kubeconfigtest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// Silent has nodes Ready=True without a heartbeat, as they are after a power-off.
func (f *Fixture) Silent(names ...string) {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		n.Lease = inspect.Lease{Duration: 40 * time.Second, Asked: TestNow}
		if slices.Contains(names, n.Name) {
			n.Heartbeat = TestNow.Add(-14 * time.Minute)
		}
	}
}

// CaOf are the CAs that the fixture's kubelets are to trust.
func (f *Fixture) CaOf() []*pki.Cert { return pki.LoadedPEM(f.Sc, f.ConfigMap) }

// Began makes a node one to which a run did everything before it was stopped, and that did
// not report since.
func (f *Fixture) Began(name string) {
	f.Right(name)
	n, _ := f.Snapshot.Node(name)
	n.Kubelet.Started = TestNow.Add(-time.Minute)
	n.Ready, n.Heartbeat = "Unknown", TestNow.Add(-time.Hour)
}

// HasAPIServer makes a node a master by its files alone.
func (f *Fixture) HasAPIServer(name string) {
	n, _ := f.Snapshot.Node(name)
	n.Role = ""
	f.Pem(name, "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/internal-loadbalancer-serving-certkey/tls.crt", f.Young.CertPEM)
	slices.SortFunc(n.Files, func(a, b inspect.NodeFile) int { return strings.Compare(a.Path, b.Path) })
}

// Joins gives nodes a client certificate that is valid, and a bootstrap file that is accepted.
func (f *Fixture) Joins(names ...string) {
	for _, name := range names {
		p := f.Old.Issue("system:node:"+name, TestNow.Add(-time.Hour), TestNow.Add(time.Hour))
		f.Bundles = append(f.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: name, Path: inspect.KubeletClient}, Content: f.Sc.Scan(p.CertPEM)[0].Content})
		n, _ := f.Snapshot.Node(name)
		n.RestartProbe = &inspect.RestartProbe{
			Kubeconfig: inspect.ProbedKubeconfig{Path: KubeletFile, Presents: inspect.CredentialCertificate, Certificate: inspect.KubeletClient},
			Bootstrap:  inspect.ProbedKubeconfig{Path: BootstrapFile, Presents: inspect.CredentialToken, Answers: []inspect.ProbeAnswer{{Code: 200}}},
		}
	}
	f.Sort()
}

// KubeadmFixture is NewFixture of a cluster that kubeadm made, in the incident: nodes of it
// have joined.
func KubeadmFixture(names ...string) *Fixture {
	f := NewFixture(names...)
	f.Cluster.Versions, f.Cluster.Topology = catalog.Versions{Kubernetes: "v1.30.0", NotOpenShift: true}, ""
	files := catalog.KubeadmKubeconfigs()
	for i := range f.Nodes {
		n := &f.Nodes[i]
		f.Drop(n.Name, BootstrapFile)
		f.Drop(n.Name, KubeletFile)
		f.Embed(n.Name, files[1], f.Before)
		n.Kubelet.BootstrapConfig, n.Kubelet.Kubeconfig = files[0], files[1]
		f.Pem(n.Name, catalog.KubeadmCA, f.Before)
	}
	return f
}

// Pem gives a node a file of certificates.
func (f *Fixture) Pem(node, path string, text []byte) {
	n, _ := f.Snapshot.Node(node)
	n.Files = append(n.Files, inspect.NodeFile{Path: path, Modified: TestNow.Add(-48 * time.Hour)})
	for _, found := range f.Sc.Scan(text) {
		f.Bundles = append(f.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: node, Path: path}, Content: found.Content})
	}
	f.Sort()
}

// APIIntHost is the host name of api-int.
const APIIntHost = "api-int.example.com"

// Fixture are facts in the making: nodes that were read in the incident.
type Fixture struct {
	Incident
	inspect.Snapshot
	Sc *pki.Scanner
}

// NewFixture is a cluster before the repair: nodes have the old CA.
func NewFixture(names ...string) *Fixture {
	f := &Fixture{Incident: NewIncident(TestNow), Sc: pki.NewScanner()}
	f.Taken = TestNow
	f.Cluster = inspect.Cluster{Server: "https://api", Versions: catalog.Versions{Cluster: "4.15.0"}, Topology: "HighlyAvailable"}
	if len(names) == 0 {
		names = []string{"worker-0"}
	}
	for _, n := range names {
		f.AddNode(n)
	}
	leaf := f.Young.Issue(APIIntHost, TestNow.Add(-time.Hour), TestNow.Add(time.Hour), pkitest.DNS(APIIntHost))
	f.Object(catalog.APIServerCA(), f.ConfigMap)
	f.Object(catalog.LoadBalancerSigner(), f.Young.CertPEM)
	f.Serve(leaf)
	f.Sort()
	return f
}

// AddNode adds a node with both kubeconfigs.
func (f *Fixture) AddNode(name string) {
	node := inspect.Node{
		Name: name, Hostname: name, Via: "ssh", Ready: "Unknown", Heartbeat: TestNow.Add(-25 * time.Hour),
		Clock:   inspect.Clock{Sent: TestNow, Before: TestNow, After: TestNow, Received: TestNow},
		Kubelet: inspect.Kubelet{Active: "active", Sub: "running", Started: TestNow.Add(-24 * time.Hour), BootstrapConfig: BootstrapFile, Kubeconfig: KubeletFile},
	}
	f.Nodes = append(f.Nodes, node)
	f.Embed(name, BootstrapFile, f.Before)
	f.Embed(name, KubeletFile, f.Before)
}

// Embed gives a node a kubeconfig with these CAs, in place of the one that it has.
func (f *Fixture) Embed(name, path string, cas ...[]byte) {
	f.Drop(name, path)
	n, _ := f.Snapshot.Node(name)
	ca, server := base64.StdEncoding.EncodeToString(pkitest.Bundle(cas...)), "https://"+APIIntHost+":6443"
	text, current := []byte(kubeconfigtest.Kubelet(ca, server)), "default-cluster"
	if path == BootstrapFile {
		text, current = []byte(kubeconfigtest.MachineConfigServer(ca, server, strings.Repeat("x", 40))), "local"
	}
	const field = "clusters[0].cluster.certificate-authority-data"
	n.Files = append(n.Files, inspect.NodeFile{Path: path, Mode: 0o600, Size: int64(len(text)), Modified: TestNow.Add(-48 * time.Hour), Whole: true, Secret: true, SHA256: pki.FingerprintOf(append([]byte(name), text...))})
	slices.SortFunc(n.Files, func(a, b inspect.NodeFile) int { return strings.Compare(a.Path, b.Path) })
	n.Kubeconfigs = append(n.Kubeconfigs, inspect.Kubeconfig{Path: path, Users: 1, Current: current, Text: text, Clusters: []inspect.KubeconfigCluster{
		{Name: current, Server: server, CAData: true, Field: field},
	}})
	for _, found := range f.Sc.Scan(text) {
		f.Bundles = append(f.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: name, Path: path, Field: field}, Content: found.Content})
	}
	f.Sort()
}

// Drop takes a kubeconfig from a node.
func (f *Fixture) Drop(name, path string) {
	n, _ := f.Snapshot.Node(name)
	n.Files = slices.DeleteFunc(n.Files, func(x inspect.NodeFile) bool { return x.Path == path })
	n.Kubeconfigs = slices.DeleteFunc(n.Kubeconfigs, func(x inspect.Kubeconfig) bool { return x.Path == path })
	f.Bundles = slices.DeleteFunc(f.Bundles, func(b inspect.Bundle) bool { return b.At.Node == name && b.At.Path == path })
}

// Object adds an object with a bundle.
func (f *Fixture) Object(ref catalog.Ref, text []byte) {
	at := pki.Location{Kind: pki.Kind(ref.Kind), Namespace: ref.Namespace, Name: ref.Name, Key: ref.Key}
	f.Bundles = append(f.Bundles, inspect.Bundle{At: at, Object: &inspect.Object{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name}, Content: f.Sc.Scan(text)[0].Content})
}

// Serve makes this what api-int presents to all nodes.
func (f *Fixture) Serve(p pkitest.Pair) {
	f.Served = nil
	f.Bundles = slices.DeleteFunc(f.Bundles, func(b inspect.Bundle) bool { return b.At.Name == catalog.InternalLoadBalancerServing().Name })
	f.Object(catalog.InternalLoadBalancerServing(), p.CertPEM)
	defer f.Sort()
	for _, n := range f.Nodes {
		f.Served = append(f.Served, inspect.Served{Node: n.Name, Address: APIIntHost + ":6443", Name: APIIntHost, Chain: f.Sc.Scan(p.CertPEM)[0].Content.Certs})
	}
}

// FirstNode is the first node.
func (f *Fixture) FirstNode() *inspect.Node { return &f.Nodes[0] }

// Asks gives a node a request that is pending.
func (f *Fixture) Asks(node string) {
	f.Requests = append(f.Requests, inspect.SigningRequest{Object: &inspect.Object{Name: "csr-" + node}, Requester: "system:node:" + node, Condition: inspect.Pending})
}

// NewCluster are facts of a whole cluster in the incident: "master-0 worker-0 worker-1!"
// where "!" is a node that is lost.
func NewCluster(nodes string) *Fixture {
	f := NewFixture(strings.Fields(strings.ReplaceAll(nodes, "!", ""))...)
	for _, word := range strings.Fields(nodes) {
		name, isLost := strings.CutSuffix(word, "!")
		n, _ := f.Snapshot.Node(name)
		n.Ready, n.Role, n.Heartbeat = "True", catalog.RoleWorker, TestNow.Add(-time.Second)
		if isLost {
			n.Ready = "Unknown"
		}
		if strings.HasPrefix(name, "master") {
			n.Role = catalog.RoleMaster
		}
	}
	return f
}

// Right makes a node one to which nothing is to be done.
func (f *Fixture) Right(names ...string) {
	for _, name := range names {
		for _, path := range catalog.KubeletKubeconfigs() {
			f.Embed(name, path, f.ConfigMap, f.Old.CertPEM)
		}
	}
}

// Unread makes a node one that could not be read.
func (f *Fixture) Unread(name string) {
	n, _ := f.Snapshot.Node(name)
	n.Via = ""
	f.Gaps = append(f.Gaps, inspect.Gap{What: "node/" + name, Reason: "port 22 is closed", Next: "open it"})
}
