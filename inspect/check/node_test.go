package check

import (
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

func nodeCases() []verdictCase {
	const (
		v414, v416   = "4.14.20", "4.16.3"
		bootstrap    = "/etc/kubernetes/kubeconfig"
		own          = "/var/lib/kubelet/kubeconfig"
		clientCA     = "/etc/kubernetes/kubelet-ca.crt"
		served       = "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/internal-loadbalancer-serving-certkey/tls.crt"
		pem, current = "/var/lib/kubelet/pki/kubelet-client-2024-05-20-12-00-00.pem", "/var/lib/kubelet/pki/kubelet-client-current.pem"
	)
	old := pkitest.NewCA("old-lb-signer", inspecttest.DaysFromNoon(-1000), inspecttest.DaysFromNoon(2000))
	young := pkitest.NewCA("new-lb-signer", inspecttest.DaysFromNoon(-9), inspecttest.DaysFromNoon(3600))
	leaf := young.Issue("api-int", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(29), pkitest.DNS("api-int.example.com"))
	other := young.Issue("other", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(29), pkitest.DNS("other.example.com"))
	twin := pkitest.NewCA("new-lb-signer", inspecttest.DaysFromNoon(-9), inspecttest.DaysFromNoon(3600), pkitest.KeyName("twin"))
	earlier := old.Issue("api-int", inspecttest.DaysFromNoon(-20), inspecttest.DaysFromNoon(10), pkitest.DNS("api-int.example.com"))
	fresh := pkitest.NewCA("fresh-signer", inspecttest.Noon.Add(-time.Minute), inspecttest.DaysFromNoon(3600))
	recovery := pkitest.NewCA("openshift-kube-apiserver-operator_localhost-recovery-serving-signer@1716000000", inspecttest.DaysFromNoon(-9), inspecttest.DaysFromNoon(3600))
	kubelet := old.Issue("system:node:worker-0", inspecttest.DaysFromNoon(-10), inspecttest.DaysFromNoon(20))
	gone := old.Issue("system:node:worker-0", inspecttest.DaysFromNoon(-60), inspecttest.DaysFromNoon(-30), pkitest.KeyName("gone"))
	cluster := func(version string) *inspecttest.Fixture {
		return inspecttest.NewFixture(version).ConfigMap(inspecttest.ManagedNS, "kube-apiserver-server-ca", "ca-bundle.crt", old.CertPEM, young.CertPEM)
	}
	lacksRecovery := func(file string) *inspecttest.Fixture {
		return inspecttest.NewFixture(v416).ConfigMap(inspecttest.ManagedNS, "kube-apiserver-server-ca", "ca-bundle.crt", old.CertPEM, recovery.CertPEM).
			Secret(inspecttest.OperatorNS, "loadbalancer-serving-signer", nil, old.Pair).Secret(inspecttest.TargetNS, "internal-loadbalancer-serving-certkey", nil, earlier).
			Embedded(file, nil, old.CertPEM)
	}
	yes, no := true, false
	set := func(rotate *bool) func(*inspect.Node) {
		return func(n *inspect.Node) { n.Kubelet.RotateCertificates = rotate }
	}
	state := func(active, sub string) func(*inspect.Node) {
		return func(n *inspect.Node) { n.Kubelet.Active, n.Kubelet.Sub = active, sub }
	}
	silent := func(f *inspecttest.Fixture, since time.Duration) *inspecttest.Fixture {
		return f.With(func(n *inspect.Node) {
			n.Ready, n.Heartbeat, n.Lease = "Unknown", inspecttest.Noon.Add(-since), inspect.Lease{Asked: inspecttest.Noon}
		})
	}
	joins := func(f *inspecttest.Fixture) *inspecttest.Fixture {
		f.Snapshot.Requests = append(f.Snapshot.Requests, inspect.SigningRequest{
			Object: &inspect.Object{Kind: "CertificateSigningRequest", Name: "csr-1"}, Signer: catalog.KubeletClientSigner, Condition: inspect.Pending, Since: inspecttest.Noon.Add(-time.Hour),
			Requester: "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper", Request: &pki.Request{Subject: "CN=system:node:" + f.Snapshot.Nodes[0].Name + ",O=system:nodes"},
		})
		return f
	}
	unread := func(f *inspecttest.Fixture) *inspecttest.Fixture {
		f.Snapshot.Gaps = append(f.Snapshot.Gaps, inspect.Gap{What: "node/" + f.Snapshot.Nodes[0].Name, Where: "/var/lib/kubelet/pki", Reason: "permission denied"})
		return f
	}
	serving := func(f *inspecttest.Fixture) *inspecttest.Fixture {
		return f.Secret(inspecttest.TargetNS, "internal-loadbalancer-serving-certkey", nil, leaf)
	}
	return []verdictCase{
		{"node-file-current", "kubeconfig with both CAs", serving(cluster(v414)).Embedded(own, nil, old.CertPEM, young.CertPEM), "", "", 0},
		{"node-file-current", "kubeconfig with more than both", serving(cluster(v414)).Embedded(own, nil, old.CertPEM, young.CertPEM, fresh.CertPEM), "", "", 0},
		{"node-file-current", "kubeconfig lacks the CA that api-int uses", serving(cluster(v414)).Embedded(bootstrap, nil, old.CertPEM).Embedded(own, nil, old.CertPEM), "critical", "fails with x509", 2},
		{"node-file-current", "kubeconfig lacks a CA not in use yet", cluster(v414).Secret(inspecttest.OperatorNS, "loadbalancer-serving-signer", nil, young.Pair).
			Secret(inspecttest.TargetNS, "internal-loadbalancer-serving-certkey", nil, earlier).Embedded(own, nil, old.CertPEM), "warning", `lacks "new-lb-signer"`, 1},
		{"node-file-current", "kubeconfig lacks a CA, and the certificate that api-int presents was not read", cluster(v414).Embedded(own, nil, old.CertPEM), "warning", "whether api-int uses it was not read", 1},
		{"node-file-current", "kubeconfig lacks the CA of localhost", inspecttest.NewFixture(v414).ConfigMap(inspecttest.ManagedNS, "kube-apiserver-server-ca", "ca-bundle.crt", old.CertPEM, fresh.CertPEM).
			Secret(inspecttest.OperatorNS, "loadbalancer-serving-signer", nil, old.Pair).Secret(inspecttest.TargetNS, "internal-loadbalancer-serving-certkey", nil, earlier).
			Embedded(own, nil, old.CertPEM), "info", "signs nothing that is presented to kubelets", 1},
		{"node-file-current", "kubeconfig lacks the CA of localhost-recovery alone", lacksRecovery(own), "info", "machine-config-daemon does not write the file at once", 1},
		{"node-file-current", "bootstrap kubeconfig lacks the CA of localhost-recovery alone", lacksRecovery(bootstrap), "info", "signs nothing that is presented to kubelets", 1},
		{"node-file-current", "an empty file", inspecttest.NewFixture(v414).ConfigMap(inspecttest.ManagedNS, "kube-apiserver-client-ca", "ca-bundle.crt", old.CertPEM).
			OnNode(clientCA, 0o644).With(func(n *inspect.Node) { n.Files[0].Whole = true }), "critical", "holds no certificate", 1},
		{"node-file-current", "a file that was not read", inspecttest.NewFixture(v414).ConfigMap(inspecttest.ManagedNS, "kube-apiserver-client-ca", "ca-bundle.crt", old.CertPEM).OnNode(clientCA, 0o644), "", "", 0},
		{"node-file-current", "a CA that was made a minute ago", inspecttest.NewFixture(v416).Secret(inspecttest.OperatorNS, "loadbalancer-serving-signer", nil, fresh.Pair).ConfigMap(inspecttest.ManagedNS, "kube-apiserver-server-ca", "ca-bundle.crt", old.CertPEM, fresh.CertPEM).Embedded(own, nil, old.CertPEM), "info", "on its way", 1},
		{"node-file-current", "client CAs the same", inspecttest.NewFixture(v414).ConfigMap(inspecttest.ManagedNS, "kube-apiserver-client-ca", "ca-bundle.crt", old.CertPEM).OnNode(clientCA, 0o644, old.CertPEM), "", "", 0},
		{"node-file-current", "client CAs behind", inspecttest.NewFixture(v414).ConfigMap(inspecttest.ManagedNS, "kube-apiserver-client-ca", "ca-bundle.crt", old.CertPEM, young.CertPEM).OnNode(clientCA, 0o644, old.CertPEM), "warning", "kube-apiserver-client-ca", 1},
		{"node-file-current", "serving certificate of a static pod behind", serving(inspecttest.NewFixture(v414)).OnNode(served, 0o600, earlier.CertPEM), "warning", "holds", 1},
		{"node-file-current", "the object was not read", inspecttest.NewFixture(v414).Embedded(own, nil, old.CertPEM), "", "", 0},

		{"api-trusted", "both CAs", inspecttest.NewFixture(v414).Embedded(own, nil, old.CertPEM, young.CertPEM).Shown(leaf), "", "", 0},
		{"api-trusted", "only the old one", inspecttest.NewFixture(v414).Embedded(bootstrap, nil, old.CertPEM).Embedded(own, nil, old.CertPEM).Shown(leaf), "critical", "unknown authority", 2},
		{"api-trusted", "no handshake was made", inspecttest.NewFixture(v414).Embedded(own, nil, old.CertPEM), "", "", 0},
		{"api-trusted", "a certificate for another name", inspecttest.NewFixture(v414).Embedded(own, nil, young.CertPEM).Shown(other), "critical", "not api-int.example.com", 1},
		{"api-trusted", "the name that the kubeconfig asks for", inspecttest.NewFixture(v414).Embedded(own, func(k *inspect.Kubeconfig) { k.Clusters[0].ServerName = "other.example.com" }, young.CertPEM).Shown(other), "", "", 0},
		{"api-trusted", "not yet valid by the node's clock", inspecttest.NewFixture(v414).Embedded(own, nil, young.CertPEM).Shown(leaf).Clock(-48 * time.Hour), "critical", "not yet valid", 1},
		{"api-trusted", "nothing shown", inspecttest.NewFixture(v414).Embedded(own, nil, young.CertPEM).Shown(), "critical", "no certificate was presented", 1},
		{"api-trusted", "a CA that signs it, under the name of another", inspecttest.NewFixture(v414).Embedded(own, nil, twin.CertPEM).Shown(leaf), "critical", "unknown authority", 1},

		{"kubelet-loaded", "older than the kubelet", inspecttest.NewFixture(v414).Embedded(own, nil, old.CertPEM).Changed(own, inspecttest.Noon.Add(-time.Hour), inspecttest.Noon.Add(-time.Minute)), "", "", 0},
		{"kubelet-loaded", "written as it started", inspecttest.NewFixture(v414).Embedded(own, nil, old.CertPEM).Changed(own, inspecttest.Noon.Add(-time.Hour+3*time.Second), inspecttest.Noon.Add(-time.Hour)), "", "", 0},
		{"kubelet-loaded", "changed right after it said that it runs", inspecttest.NewFixture(v414).Embedded(own, nil, old.CertPEM).Changed(own, inspecttest.Noon.Add(-time.Hour+3*time.Second), inspecttest.Noon.Add(-time.Hour)).
			With(func(n *inspect.Node) { n.Kubelet.Notified = inspecttest.Noon.Add(-time.Hour + time.Second) }), "warning", "has not read", 1},
		{"kubelet-loaded", "changed before it said that it runs", inspecttest.NewFixture(v414).Embedded(own, nil, old.CertPEM).Changed(own, inspecttest.Noon.Add(-time.Hour+30*time.Second), inspecttest.Noon.Add(-time.Hour)).
			With(func(n *inspect.Node) { n.Kubelet.Notified = inspecttest.Noon.Add(-time.Hour + 31*time.Second) }), "", "", 0},
		{"kubelet-loaded", "changed since", inspecttest.NewFixture(v414).Embedded(own, nil, old.CertPEM).Changed(own, inspecttest.Noon.Add(-time.Minute), inspecttest.Noon.Add(-time.Hour)), "warning", "has not read", 1},
		{"kubelet-loaded", "put back since, with the time that it had", putBack(inspecttest.NewFixture(v414).Embedded(own, nil, old.CertPEM).Changed(own, inspecttest.Noon.Add(-2*time.Hour), inspecttest.Noon.Add(-time.Hour)), inspecttest.Noon.Add(-time.Minute)), "info", "may not have read", 1},
		{"kubelet-loaded", "labelled again at boot, before it started", putBack(inspecttest.NewFixture(v414).Embedded(own, nil, old.CertPEM).Changed(own, inspecttest.Noon.Add(-2*time.Hour), inspecttest.Noon.Add(-time.Hour)), inspecttest.Noon.Add(-61*time.Minute)), "", "", 0},
		{"kubelet-loaded", "the bootstrap file is not what it runs with", inspecttest.NewFixture(v414).Embedded(bootstrap, nil, old.CertPEM).Changed(bootstrap, inspecttest.Noon.Add(-time.Minute), inspecttest.Noon.Add(-time.Hour)), "", "", 0},

		{"kubelet-runs", "runs", inspecttest.NewFixture(v414).With(state("active", "running")), "", "", 0},
		{"kubelet-runs", "not told", inspecttest.NewFixture(v414).With(state("", "")), "", "", 0},
		{"kubelet-runs", "starts again and again", inspecttest.NewFixture(v414).With(state("activating", "auto-restart")), "critical", "auto-restart", 1},

		{"kubelet-current", "leads to the pair", inspecttest.NewFixture(v414).OnNode(pem, 0o600, kubelet.CertPEM, kubelet.KeyPEM).Link(current, pem), "", "", 0},
		{"kubelet-current", "leads nowhere", inspecttest.NewFixture(v414).Link(current, ""), "critical", "leads nowhere", 1},
		{"kubelet-current", "leads to what holds nothing", inspecttest.NewFixture(v414).Link(current, "/var/lib/kubelet/pki/empty.pem").With(func(n *inspect.Node) { n.Files[0].Whole = true }), "critical", "holds no certificate", 1},
		{"kubelet-current", "there is none, and no heartbeat", joins(silent(inspecttest.NewFixture(v414).Embedded(own, nil, old.CertPEM), 5*time.Hour)), "critical", "there is no /var/lib/kubelet/pki/kubelet-client-current.pem", 1},
		{"kubelet-current", "there is none, and the node reports by other credentials", joins(silent(inspecttest.NewFixture(v414).Embedded(own, nil, old.CertPEM), time.Second)), "", "", 0},
		{"kubelet-current", "whether there is one was not read", unread(joins(silent(inspecttest.NewFixture(v414).Embedded(own, nil, old.CertPEM), 5*time.Hour))), "", "", 0},
		{"kubelet-current", "files of kubelets were not looked for", silent(inspecttest.NewFixture(v414).Embedded(own, nil, old.CertPEM), 5*time.Hour), "", "", 0},
		{"kubelet-current", "leads to what was not read", inspecttest.NewFixture(v414).Link(current, "/var/lib/kubelet/pki/closed.pem"), "", "", 0},

		{"kubelet-rotates", "does", inspecttest.NewFixture(v414).With(set(&yes)), "", "", 0},
		{"kubelet-rotates", "not told", inspecttest.NewFixture(v414).With(set(nil)), "", "", 0},
		{"kubelet-rotates", "does not", inspecttest.NewFixture(v414).With(set(&no)), "warning", "rotateCertificates: false", 1},

		{"kubeconfig-sound", "sound", inspecttest.NewFixture(v414).Embedded(own, nil, old.CertPEM), "", "", 0},
		{"kubeconfig-sound", "no CA", inspecttest.NewFixture(v414).Embedded(own, func(k *inspect.Kubeconfig) { k.Clusters[0].CAData = false }), "critical", "no CA", 1},
		{"kubeconfig-sound", "no CA in plain Kubernetes", inspecttest.NewFixture("").Embedded("/etc/kubernetes/admin.conf", func(k *inspect.Kubeconfig) { k.Clusters[0].CAData = false }), "warning", "no CA", 1},
		{"kubeconfig-sound", "a CA that stayed on the node", inspecttest.NewFixture(v414).Embedded(own, func(k *inspect.Kubeconfig) { k.Clusters[0].Masked = true }), "", "", 0},
		{"kubeconfig-sound", "a context that leads nowhere", inspecttest.NewFixture(v414).Embedded(own, func(k *inspect.Kubeconfig) { k.Current = "" }, old.CertPEM), "critical", "leads to no cluster", 1},
		{"kubeconfig-sound", "no CA in it", inspecttest.NewFixture(v414).Embedded(own, nil, kubelet.CertPEM), "critical", "holds no CA", 1},
		{"kubeconfig-sound", "two clusters", inspecttest.NewFixture(v414).Embedded(own, func(k *inspect.Kubeconfig) {
			k.Clusters = append(k.Clusters, inspect.KubeconfigCluster{Name: "second"})
		}, old.CertPEM), "warning", "2 clusters", 1},
		{"kubeconfig-sound", "checks nobody", inspecttest.NewFixture(v414).Embedded(own, func(k *inspect.Kubeconfig) { k.Clusters[0].Insecure = true }, old.CertPEM), "critical", "insecure", 1},
		{"kubeconfig-sound", "can't be read", inspecttest.NewFixture(v414).Embedded(own, func(k *inspect.Kubeconfig) { k.Problem = "line 7: did not find expected key" }), "critical", "line 7", 1},
		{"kubeconfig-sound", "a file that is taken away", inspecttest.NewFixture(v414).Embedded(own, func(k *inspect.Kubeconfig) { k.Clusters[0].Insecure = true }, old.CertPEM).With(func(n *inspect.Node) { n.Files = nil }), "", "", 0},
		{"kubeconfig-sound", "no cluster", inspecttest.NewFixture(v414).Embedded(own, func(k *inspect.Kubeconfig) { k.Clusters = nil }), "critical", "no cluster", 1},

		{"file-private", "as it should be", inspecttest.NewFixture(v414).OnNode(pem, 0o600, kubelet.CertPEM, kubelet.KeyPEM).OnNode(clientCA, 0o644, old.CertPEM), "", "", 0},
		{"file-private", "key for everybody", inspecttest.NewFixture(v414).OnNode(pem, 0o644, kubelet.CertPEM, kubelet.KeyPEM), "critical", "mode 0644", 1},
		{"file-private", "trust that others may change", inspecttest.NewFixture(v414).OnNode(clientCA, 0o664, old.CertPEM), "critical", "may change it", 1},
		{"file-private", "for another group", inspecttest.NewFixture(v414).OnNode(pem, 0o640, kubelet.CertPEM, kubelet.KeyPEM).With(func(n *inspect.Node) { n.Files[0].GID = 27 }), "warning", "group 27", 1},
		{"file-private", "of another user", inspecttest.NewFixture(v414).OnNode(pem, 0o600, kubelet.CertPEM, kubelet.KeyPEM).With(func(n *inspect.Node) { n.Files[0].UID = 1000 }), "warning", "user 1000", 1},

		{"token-in-logs", "none", inspecttest.NewFixture(v416).OnNode(pem, 0o600, kubelet.CertPEM, kubelet.KeyPEM), "", "", 0},
		{"token-in-logs", "a token on a node", inspecttest.NewFixture(v416).Logged("worker-0", 2, 0, inspecttest.Noon.Add(-time.Hour)), "warning", "anyone who reads it can ask for the certificate of a node; a log of the machine-config-daemon on worker-0 holds a token of a kubeconfig (2 lines, the last of 2024-06-01 11:00 UTC)", 1},
		{"token-in-logs", "two nodes, a key on one of them", inspecttest.NewFixture(v416).Logged("worker-0", 1, 0, inspecttest.Noon.Add(-time.Hour)).Logged("master-0", 0, 1, time.Time{}), "warning", "hold a token and a private key of a kubeconfig (2 lines", 2},
		{"token-in-logs", "in a must-gather", inspecttest.NewFixture(v416).Logged("", 1, 0, time.Time{}), "warning", "anyone who reads it can ask for the certificate of a node, and so can whoever was sent this must-gather; a log of the machine-config-daemon holds a token of a kubeconfig (1 line)", 1},
		{"token-in-logs", "the Secret was made anew since", inspecttest.NewFixture(v416).Logged("worker-0", 1, 0, inspecttest.Noon.Add(-2*time.Hour)).BootstrapToken(inspecttest.Noon.Add(-time.Hour), old.CertPEM), "info", "that token is refused", 1},
		{"token-in-logs", "the Secret is older", inspecttest.NewFixture(v416).Logged("worker-0", 1, 0, inspecttest.Noon.Add(-2*time.Hour)).BootstrapToken(inspecttest.Noon.Add(-3*time.Hour), old.CertPEM), "warning", "a token of a kubeconfig", 1},
		{"token-in-logs", "nobody knows when", inspecttest.NewFixture(v416).Logged("worker-0", 1, 0, time.Time{}).BootstrapToken(inspecttest.Noon.Add(-time.Hour), old.CertPEM), "warning", "(1 line)", 1},
		{"token-in-logs", "a key ends with no Secret", inspecttest.NewFixture(v416).Logged("master-0", 0, 1, inspecttest.Noon.Add(-2*time.Hour)).BootstrapToken(inspecttest.Noon.Add(-time.Hour), old.CertPEM), "warning", "a private key of a kubeconfig", 1},

		{"clock-skew", "agree", inspecttest.NewFixture(v414).Clock(2 * time.Second), "", "", 0},
		{"clock-skew", "behind", inspecttest.NewFixture(v414).Clock(-time.Minute), "warning", "behind this machine's", 1},
		{"clock-skew", "far ahead", inspecttest.NewFixture(v414).Clock(time.Hour), "critical", "ahead of", 1},
		{"clock-skew", "ours is wrong", inspecttest.NewFixture(v414).Clock(time.Hour).APIClock(time.Hour), "critical", "the clock of this machine is at least", 0},

		{"certificate-expired", "an old pair of the kubelet", inspecttest.NewFixture(v414).OnNode(pem, 0o600, kubelet.CertPEM, kubelet.KeyPEM).
			OnNode("/var/lib/kubelet/pki/kubelet-client-2024-04-01-12-00-00.pem", 0o600, gone.CertPEM, gone.KeyPEM).Link(current, pem), "info", "", 1},
		{"key-matches", "key in a file beside it", inspecttest.NewFixture(v414).OnNode("/etc/certs/tls.crt", 0o600, kubelet.CertPEM).OnNode("/etc/certs/tls.key", 0o600, kubelet.KeyPEM), "", "", 0},
		{"key-matches", "another key in the file beside it", inspecttest.NewFixture(v414).OnNode("/etc/certs/tls.crt", 0o600, kubelet.CertPEM).OnNode("/etc/certs/tls.key", 0o600, gone.KeyPEM), "critical", "do not belong together", 1},
	}
}

func TestClockTellsBounds(t *testing.T) {
	t.Parallel()
	c := inspect.Clock{Sent: inspecttest.Noon, Before: inspecttest.Noon.Add(time.Minute), After: inspecttest.Noon.Add(time.Minute + time.Second), Received: inspecttest.Noon.Add(3 * time.Second)}
	least, most, ok := c.Ahead()
	if !ok || least != 58*time.Second || most != 61*time.Second {
		t.Errorf("%v to %v, %v", least, most, ok)
	}
	if _, _, ok := (inspect.Clock{}).Ahead(); ok {
		t.Error("a clock that did not say anything")
	}
}

// putBack has the files changed at a time, while the one at which they were modified is kept.
func putBack(f *inspecttest.Fixture, at time.Time) *inspecttest.Fixture {
	return f.With(func(n *inspect.Node) {
		for i := range n.Files {
			n.Files[i].Changed = at
		}
	})
}
