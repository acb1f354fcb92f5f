package inspect

import (
	"io/fs"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// onNode adds a file of worker-0, read by ssh.
func (f *fixture) onNode(file string, mode fs.FileMode, blocks ...[]byte) *fixture {
	n := f.node()
	secret := false
	for _, found := range f.sc.Scan(pkitest.Bundle(blocks...)) {
		at := pki.Location{Kind: pki.KindFile, Node: n.Name, Path: file, Field: found.Field}
		f.snapshot.Bundles = append(f.snapshot.Bundles, Bundle{At: at, Content: found.Content})
		secret = secret || len(found.Content.Keys) > 0
	}
	n.Files = append(n.Files, NodeFile{Path: file, Mode: mode, Secret: secret})
	return f
}

// embedded adds a kubeconfig with these CAs.
func (f *fixture) embedded(file string, change func(*Kubeconfig), cas ...[]byte) *fixture {
	const field = "clusters[0].cluster.certificate-authority-data"
	n := f.node()
	k := Kubeconfig{Path: file, Users: 1, Current: "default", Clusters: []KubeconfigCluster{{Name: "default", Server: "https://api-int.example.com:6443", CAData: true, Field: field}}}
	if change != nil {
		change(&k)
	}
	n.Kubeconfigs = append(n.Kubeconfigs, k)
	n.Files = append(n.Files, NodeFile{Path: file, Mode: 0o600, Secret: true})
	for _, found := range f.sc.Scan(pkitest.Bundle(cas...)) {
		at := pki.Location{Kind: pki.KindFile, Node: n.Name, Path: file, Field: field}
		f.snapshot.Bundles = append(f.snapshot.Bundles, Bundle{At: at, Content: found.Content})
	}
	return f
}

func (f *fixture) link(path, target string) *fixture {
	n := f.node()
	n.Files = append(n.Files, NodeFile{Path: path, Mode: fs.ModeSymlink | 0o777, Link: "x.pem", Target: target})
	return f
}

// shown makes this chain what api-int shows to worker-0.
func (f *fixture) shown(chain ...pkitest.Pair) *fixture {
	s := Served{Node: f.node().Name, Address: "api-int.example.com:6443", Name: "api-int.example.com"}
	for _, p := range chain {
		s.Chain = append(s.Chain, f.sc.Scan(p.CertPEM)[0].Content.Certs...)
	}
	f.snapshot.Served = append(f.snapshot.Served, s)
	return f
}

// changed sets when a file of worker-0 was changed, and when its kubelet started.
func (f *fixture) changed(file string, when, started time.Time) *fixture {
	n := f.node()
	n.Kubelet.Started = started
	for i := range n.Files {
		if n.Files[i].Path == file {
			n.Files[i].Modified = when
		}
	}
	return f
}

func (f *fixture) node() *Node {
	if len(f.snapshot.Nodes) == 0 {
		f.snapshot.Nodes = []Node{{Name: "worker-0", Via: "ssh", Kubelet: Kubelet{Active: "active", Sub: "running"}}}
	}
	return &f.snapshot.Nodes[0]
}

func (f *fixture) with(change func(*Node)) *fixture {
	change(f.node())
	return f
}

// clock makes the node's clock differ, as told by an answer that took a second.
func (f *fixture) clock(off time.Duration) *fixture {
	f.node().Clock = Clock{Sent: noon, Before: noon.Add(off), After: noon.Add(off + time.Second), Received: noon.Add(time.Second)}
	return f
}

// logged adds a log with this many tokens and keys; no node: in a must-gather.
func (f *fixture) logged(node string, tokens, keys int, last time.Time) *fixture {
	at := pki.Location{Kind: pki.KindFile, Node: node, Path: "/var/log/pods/openshift-machine-config-operator_machine-config-daemon-x/machine-config-daemon/0.log"}
	f.snapshot.Exposed = append(f.snapshot.Exposed, Exposed{At: at, Mode: 0o640, Tokens: tokens, Keys: keys, First: last, Last: last})
	return f
}

// bootstrapToken adds the Secret of the token with which nodes join.
func (f *fixture) bootstrapToken(created time.Time, ca []byte) *fixture {
	return f.object(Object{Kind: "Secret", Namespace: "openshift-machine-config-operator", Name: "node-bootstrapper-token", Type: "kubernetes.io/service-account-token", Created: created},
		map[string][]byte{"ca.crt": ca})
}

func nodeCases() []verdictCase {
	const (
		v414, v416   = "4.14.20", "4.16.3"
		bootstrap    = "/etc/kubernetes/kubeconfig"
		own          = "/var/lib/kubelet/kubeconfig"
		clientCA     = "/etc/kubernetes/kubelet-ca.crt"
		served       = "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/internal-loadbalancer-serving-certkey/tls.crt"
		pem, current = "/var/lib/kubelet/pki/kubelet-client-2024-05-20-12-00-00.pem", "/var/lib/kubelet/pki/kubelet-client-current.pem"
	)
	old := pkitest.NewCA("old-lb-signer", from(-1000), from(2000))
	young := pkitest.NewCA("new-lb-signer", from(-9), from(3600))
	leaf := young.Issue("api-int", from(-1), from(29), pkitest.DNS("api-int.example.com"))
	other := young.Issue("other", from(-1), from(29), pkitest.DNS("other.example.com"))
	twin := pkitest.NewCA("new-lb-signer", from(-9), from(3600), pkitest.KeyName("twin"))
	earlier := old.Issue("api-int", from(-20), from(10), pkitest.DNS("api-int.example.com"))
	fresh := pkitest.NewCA("fresh-signer", noon.Add(-time.Minute), from(3600))
	kubelet := old.Issue("system:node:worker-0", from(-10), from(20))
	gone := old.Issue("system:node:worker-0", from(-60), from(-30), pkitest.KeyName("gone"))
	cluster := func(version string) *fixture {
		return newFixture(version).configMap(managedNS, "kube-apiserver-server-ca", "ca-bundle.crt", old.CertPEM, young.CertPEM)
	}
	yes, no := true, false
	set := func(rotate *bool) func(*Node) { return func(n *Node) { n.Kubelet.RotateCertificates = rotate } }
	state := func(active, sub string) func(*Node) {
		return func(n *Node) { n.Kubelet.Active, n.Kubelet.Sub = active, sub }
	}
	serving := func(f *fixture) *fixture {
		return f.secret(targetNS, "internal-loadbalancer-serving-certkey", nil, leaf)
	}
	return []verdictCase{
		{"node-file-current", "kubeconfig with both CAs", serving(cluster(v414)).embedded(own, nil, old.CertPEM, young.CertPEM), "", "", 0},
		{"node-file-current", "kubeconfig with more than both", serving(cluster(v414)).embedded(own, nil, old.CertPEM, young.CertPEM, fresh.CertPEM), "", "", 0},
		{"node-file-current", "kubeconfig lacks the CA that api-int uses", serving(cluster(v414)).embedded(bootstrap, nil, old.CertPEM).embedded(own, nil, old.CertPEM), "critical", "fails with x509", 2},
		{"node-file-current", "kubeconfig lacks a CA not in use yet", cluster(v414).secret(operatorNS, "loadbalancer-serving-signer", nil, young.Pair).
			secret(targetNS, "internal-loadbalancer-serving-certkey", nil, earlier).embedded(own, nil, old.CertPEM), "warning", `lacks "new-lb-signer"`, 1},
		{"node-file-current", "kubeconfig lacks a CA, and what api-int shows was not read", cluster(v414).embedded(own, nil, old.CertPEM), "warning", "whether api-int uses it was not read", 1},
		{"node-file-current", "kubeconfig lacks the CA of localhost", newFixture(v414).configMap(managedNS, "kube-apiserver-server-ca", "ca-bundle.crt", old.CertPEM, fresh.CertPEM).
			secret(operatorNS, "loadbalancer-serving-signer", nil, old.Pair).secret(targetNS, "internal-loadbalancer-serving-certkey", nil, earlier).
			embedded(own, nil, old.CertPEM), "info", "signs nothing that kubelets are shown", 1},
		{"node-file-current", "an empty file", newFixture(v414).configMap(managedNS, "kube-apiserver-client-ca", "ca-bundle.crt", old.CertPEM).
			onNode(clientCA, 0o644).with(func(n *Node) { n.Files[0].Whole = true }), "critical", "holds no certificate", 1},
		{"node-file-current", "a file that was not read", newFixture(v414).configMap(managedNS, "kube-apiserver-client-ca", "ca-bundle.crt", old.CertPEM).onNode(clientCA, 0o644), "", "", 0},
		{"node-file-current", "a CA that was made a minute ago", newFixture(v416).secret(operatorNS, "loadbalancer-serving-signer", nil, fresh.Pair).configMap(managedNS, "kube-apiserver-server-ca", "ca-bundle.crt", old.CertPEM, fresh.CertPEM).embedded(own, nil, old.CertPEM), "info", "on its way", 1},
		{"node-file-current", "client CAs the same", newFixture(v414).configMap(managedNS, "kube-apiserver-client-ca", "ca-bundle.crt", old.CertPEM).onNode(clientCA, 0o644, old.CertPEM), "", "", 0},
		{"node-file-current", "client CAs behind", newFixture(v414).configMap(managedNS, "kube-apiserver-client-ca", "ca-bundle.crt", old.CertPEM, young.CertPEM).onNode(clientCA, 0o644, old.CertPEM), "warning", "kube-apiserver-client-ca", 1},
		{"node-file-current", "serving certificate of a static pod behind", serving(newFixture(v414)).onNode(served, 0o600, earlier.CertPEM), "warning", "holds", 1},
		{"node-file-current", "the object was not read", newFixture(v414).embedded(own, nil, old.CertPEM), "", "", 0},

		{"api-trusted", "both CAs", newFixture(v414).embedded(own, nil, old.CertPEM, young.CertPEM).shown(leaf), "", "", 0},
		{"api-trusted", "only the old one", newFixture(v414).embedded(bootstrap, nil, old.CertPEM).embedded(own, nil, old.CertPEM).shown(leaf), "critical", "unknown authority", 2},
		{"api-trusted", "no handshake was made", newFixture(v414).embedded(own, nil, old.CertPEM), "", "", 0},
		{"api-trusted", "a certificate for another name", newFixture(v414).embedded(own, nil, young.CertPEM).shown(other), "critical", "not api-int.example.com", 1},
		{"api-trusted", "the name that the kubeconfig asks for", newFixture(v414).embedded(own, func(k *Kubeconfig) { k.Clusters[0].ServerName = "other.example.com" }, young.CertPEM).shown(other), "", "", 0},
		{"api-trusted", "not yet valid by the node's clock", newFixture(v414).embedded(own, nil, young.CertPEM).shown(leaf).clock(-48 * time.Hour), "critical", "not yet valid", 1},
		{"api-trusted", "nothing shown", newFixture(v414).embedded(own, nil, young.CertPEM).shown(), "critical", "no certificate was shown", 1},
		{"api-trusted", "a CA that signs it, under the name of another", newFixture(v414).embedded(own, nil, twin.CertPEM).shown(leaf), "critical", "unknown authority", 1},

		{"kubelet-loaded", "older than the kubelet", newFixture(v414).embedded(own, nil, old.CertPEM).changed(own, noon.Add(-time.Hour), noon.Add(-time.Minute)), "", "", 0},
		{"kubelet-loaded", "written as it started", newFixture(v414).embedded(own, nil, old.CertPEM).changed(own, noon.Add(-time.Hour+3*time.Second), noon.Add(-time.Hour)), "", "", 0},
		{"kubelet-loaded", "changed right after it said that it runs", newFixture(v414).embedded(own, nil, old.CertPEM).changed(own, noon.Add(-time.Hour+3*time.Second), noon.Add(-time.Hour)).
			with(func(n *Node) { n.Kubelet.Running = noon.Add(-time.Hour + time.Second) }), "warning", "has not read", 1},
		{"kubelet-loaded", "changed before it said that it runs", newFixture(v414).embedded(own, nil, old.CertPEM).changed(own, noon.Add(-time.Hour+30*time.Second), noon.Add(-time.Hour)).
			with(func(n *Node) { n.Kubelet.Running = noon.Add(-time.Hour + 31*time.Second) }), "", "", 0},
		{"kubelet-loaded", "changed since", newFixture(v414).embedded(own, nil, old.CertPEM).changed(own, noon.Add(-time.Minute), noon.Add(-time.Hour)), "warning", "has not read", 1},
		{"kubelet-loaded", "the bootstrap file is not what it runs with", newFixture(v414).embedded(bootstrap, nil, old.CertPEM).changed(bootstrap, noon.Add(-time.Minute), noon.Add(-time.Hour)), "", "", 0},

		{"kubelet-runs", "runs", newFixture(v414).with(state("active", "running")), "", "", 0},
		{"kubelet-runs", "not told", newFixture(v414).with(state("", "")), "", "", 0},
		{"kubelet-runs", "starts again and again", newFixture(v414).with(state("activating", "auto-restart")), "critical", "auto-restart", 1},

		{"kubelet-current", "leads to the pair", newFixture(v414).onNode(pem, 0o600, kubelet.CertPEM, kubelet.KeyPEM).link(current, pem), "", "", 0},
		{"kubelet-current", "leads nowhere", newFixture(v414).link(current, ""), "critical", "leads nowhere", 1},
		{"kubelet-current", "leads to what holds nothing", newFixture(v414).link(current, "/var/lib/kubelet/pki/empty.pem").with(func(n *Node) { n.Files[0].Whole = true }), "critical", "holds no certificate", 1},
		{"kubelet-current", "leads to what was not read", newFixture(v414).link(current, "/var/lib/kubelet/pki/closed.pem"), "", "", 0},

		{"kubelet-rotates", "does", newFixture(v414).with(set(&yes)), "", "", 0},
		{"kubelet-rotates", "not told", newFixture(v414).with(set(nil)), "", "", 0},
		{"kubelet-rotates", "does not", newFixture(v414).with(set(&no)), "warning", "rotateCertificates: false", 1},

		{"kubeconfig-sound", "sound", newFixture(v414).embedded(own, nil, old.CertPEM), "", "", 0},
		{"kubeconfig-sound", "no CA", newFixture(v414).embedded(own, func(k *Kubeconfig) { k.Clusters[0].CAData = false }), "critical", "no CA", 1},
		{"kubeconfig-sound", "no CA in plain Kubernetes", newFixture("").embedded("/etc/kubernetes/admin.conf", func(k *Kubeconfig) { k.Clusters[0].CAData = false }), "warning", "no CA", 1},
		{"kubeconfig-sound", "a CA that stayed on the node", newFixture(v414).embedded(own, func(k *Kubeconfig) { k.Clusters[0].Masked = true }), "", "", 0},
		{"kubeconfig-sound", "a context that leads nowhere", newFixture(v414).embedded(own, func(k *Kubeconfig) { k.Current = "" }, old.CertPEM), "critical", "leads to no cluster", 1},
		{"kubeconfig-sound", "no CA in it", newFixture(v414).embedded(own, nil, kubelet.CertPEM), "critical", "holds no CA", 1},
		{"kubeconfig-sound", "two clusters", newFixture(v414).embedded(own, func(k *Kubeconfig) { k.Clusters = append(k.Clusters, KubeconfigCluster{Name: "second"}) }, old.CertPEM), "warning", "2 clusters", 1},
		{"kubeconfig-sound", "checks nobody", newFixture(v414).embedded(own, func(k *Kubeconfig) { k.Clusters[0].Insecure = true }, old.CertPEM), "critical", "insecure", 1},
		{"kubeconfig-sound", "can't be read", newFixture(v414).embedded(own, func(k *Kubeconfig) { k.Problem = "line 7: did not find expected key" }), "critical", "line 7", 1},
		{"kubeconfig-sound", "a file that is taken away", newFixture(v414).embedded(own, func(k *Kubeconfig) { k.Clusters[0].Insecure = true }, old.CertPEM).with(func(n *Node) { n.Files = nil }), "", "", 0},
		{"kubeconfig-sound", "no cluster", newFixture(v414).embedded(own, func(k *Kubeconfig) { k.Clusters = nil }), "critical", "no cluster", 1},

		{"file-private", "as it should be", newFixture(v414).onNode(pem, 0o600, kubelet.CertPEM, kubelet.KeyPEM).onNode(clientCA, 0o644, old.CertPEM), "", "", 0},
		{"file-private", "key for everybody", newFixture(v414).onNode(pem, 0o644, kubelet.CertPEM, kubelet.KeyPEM), "critical", "mode 0644", 1},
		{"file-private", "trust that others may change", newFixture(v414).onNode(clientCA, 0o664, old.CertPEM), "critical", "may change it", 1},
		{"file-private", "for another group", newFixture(v414).onNode(pem, 0o640, kubelet.CertPEM, kubelet.KeyPEM).with(func(n *Node) { n.Files[0].GID = 27 }), "warning", "group 27", 1},
		{"file-private", "of another user", newFixture(v414).onNode(pem, 0o600, kubelet.CertPEM, kubelet.KeyPEM).with(func(n *Node) { n.Files[0].UID = 1000 }), "warning", "user 1000", 1},

		{"token-in-logs", "none", newFixture(v416).onNode(pem, 0o600, kubelet.CertPEM, kubelet.KeyPEM), "", "", 0},
		{"token-in-logs", "a token on a node", newFixture(v416).logged("worker-0", 2, 0, noon.Add(-time.Hour)), "warning", "a log of the machine-config-daemon on worker-0 holds a token of a kubeconfig (2 lines, the last of 2024-06-01 11:00 UTC): whoever reads it can ask", 1},
		{"token-in-logs", "two nodes, a key on one of them", newFixture(v416).logged("worker-0", 1, 0, noon.Add(-time.Hour)).logged("master-0", 0, 1, time.Time{}), "warning", "hold a token and a private key of a kubeconfig (2 lines", 2},
		{"token-in-logs", "in a must-gather", newFixture(v416).logged("", 1, 0, time.Time{}), "warning", "(1 line): whoever reads it can ask for the certificate of a node, and so can whoever was sent this must-gather", 1},
		{"token-in-logs", "the Secret was made anew since", newFixture(v416).logged("worker-0", 1, 0, noon.Add(-2*time.Hour)).bootstrapToken(noon.Add(-time.Hour), old.CertPEM), "info", "that token is refused", 1},
		{"token-in-logs", "the Secret is older", newFixture(v416).logged("worker-0", 1, 0, noon.Add(-2*time.Hour)).bootstrapToken(noon.Add(-3*time.Hour), old.CertPEM), "warning", "a token of a kubeconfig", 1},
		{"token-in-logs", "nobody knows when", newFixture(v416).logged("worker-0", 1, 0, time.Time{}).bootstrapToken(noon.Add(-time.Hour), old.CertPEM), "warning", "(1 line)", 1},
		{"token-in-logs", "a key ends with no Secret", newFixture(v416).logged("master-0", 0, 1, noon.Add(-2*time.Hour)).bootstrapToken(noon.Add(-time.Hour), old.CertPEM), "warning", "a private key of a kubeconfig", 1},

		{"clock-skew", "agree", newFixture(v414).clock(2 * time.Second), "", "", 0},
		{"clock-skew", "behind", newFixture(v414).clock(-time.Minute), "warning", "behind this machine's", 1},
		{"clock-skew", "far ahead", newFixture(v414).clock(time.Hour), "critical", "ahead of", 1},
		{"clock-skew", "ours is wrong", newFixture(v414).clock(time.Hour).apiClock(time.Hour), "critical", "the clock of this machine is at least", 0},

		{"certificate-expired", "an old pair of the kubelet", newFixture(v414).onNode(pem, 0o600, kubelet.CertPEM, kubelet.KeyPEM).
			onNode("/var/lib/kubelet/pki/kubelet-client-2024-04-01-12-00-00.pem", 0o600, gone.CertPEM, gone.KeyPEM).link(current, pem), "info", "", 1},
		{"key-matches", "key in a file beside it", newFixture(v414).onNode("/etc/certs/tls.crt", 0o600, kubelet.CertPEM).onNode("/etc/certs/tls.key", 0o600, kubelet.KeyPEM), "", "", 0},
		{"key-matches", "another key in the file beside it", newFixture(v414).onNode("/etc/certs/tls.crt", 0o600, kubelet.CertPEM).onNode("/etc/certs/tls.key", 0o600, gone.KeyPEM), "critical", "do not belong together", 1},
	}
}

func (f *fixture) apiClock(off time.Duration) *fixture {
	f.snapshot.Cluster.Clock = Clock{Sent: noon, Before: noon.Add(off), After: noon.Add(off), Received: noon.Add(time.Second)}
	return f
}

func TestClockTellsBounds(t *testing.T) {
	t.Parallel()
	c := Clock{Sent: noon, Before: noon.Add(time.Minute), After: noon.Add(time.Minute + time.Second), Received: noon.Add(3 * time.Second)}
	least, most, ok := c.Ahead()
	if !ok || least != 58*time.Second || most != 61*time.Second {
		t.Errorf("%v to %v, %v", least, most, ok)
	}
	if _, _, ok := (Clock{}).Ahead(); ok {
		t.Error("a clock that did not say anything")
	}
}
