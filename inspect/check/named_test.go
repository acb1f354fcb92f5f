package check

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestWhichMissingCAOfAKubeconfigMatters: of several, the one that signs what api-int presents, or will
// present, is named; and where that was not read, the impact is unknown.
func TestWhichMissingCAOfAKubeconfigMatters(t *testing.T) {
	t.Parallel()
	const own = "/var/lib/kubelet/kubeconfig"
	old, next := pkitest.NewCA("old-lb-signer", inspecttest.DaysFromNoon(-1000), inspecttest.DaysFromNoon(2000)), pkitest.NewCA("next-lb-signer", inspecttest.DaysFromNoon(-9), inspecttest.DaysFromNoon(3600))
	localhost := pkitest.NewCA("localhost-signer", inspecttest.DaysFromNoon(-900), inspecttest.DaysFromNoon(3000))
	by := func(ca *pkitest.Authority) pkitest.Pair {
		return ca.Issue("api-int", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(29), pkitest.DNS("api-int.example.com"))
	}
	cluster := func(cas ...[]byte) *inspecttest.Fixture {
		return inspecttest.NewFixture("4.14.20").ConfigMap(inspecttest.ManagedNS, "kube-apiserver-server-ca", "ca-bundle.crt", cas...).Embedded(own, nil, old.CertPEM)
	}
	signer := func(f *inspecttest.Fixture) *inspecttest.Fixture {
		return f.Secret(inspecttest.OperatorNS, "loadbalancer-serving-signer", nil, next.Pair)
	}
	serving := func(f *inspecttest.Fixture, p pkitest.Pair) *inspecttest.Fixture {
		return f.Secret(inspecttest.TargetNS, "internal-loadbalancer-serving-certkey", nil, p)
	}
	for name, c := range map[string]struct {
		given            *inspecttest.Fixture
		reason, evidence string
		impact           string
	}{
		"the next signer, beside another": {serving(signer(cluster(old.CertPEM, localhost.CertPEM, next.CertPEM)), by(old)), "lacks CA next-lb-signer", "; kubectl certrot pretrust", "once api-int's certificate is signed by it"},
		"the signer, alone":               {serving(cluster(old.CertPEM, next.CertPEM), by(next)), "lacks CA next-lb-signer", ", which signs api-int's certificate", "worker-0 loses its heartbeat"},
		"neither was read":                {cluster(old.CertPEM, next.CertPEM), "lacks CA next-lb-signer", "whether api-int uses it was not read", "unknown: whether api-int uses this CA was not read"},
		"the signer was read alone":       {signer(cluster(old.CertPEM, next.CertPEM)), "lacks CA next-lb-signer", "nothing brings it there in this version", "if api-int's certificate is signed by it"},
	} {
		got := findings(c.given, t, "node-file-current")
		if len(got) != 1 {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		if f := got[0]; !strings.Contains(f.Reason, c.reason) || !strings.Contains(f.Evidence, c.evidence) || !strings.Contains(f.Impact, c.impact) {
			t.Errorf("%s: %q, impact %q, evidence %q", name, f.Reason, f.Impact, f.Evidence)
		}
		if ahead := strings.Contains(got[0].Evidence, "pretrust"); ahead != strings.Contains(c.evidence, "pretrust") {
			t.Errorf("%s: pretrust is offered: %t", name, ahead)
		}
	}
}

func TestCommonNamesOfServers(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"shop.example.com": true, "*.Example.com": true, "192.0.2.7": true, "2001:db8::7": true, "etcd": false, "system:node:worker-0": false, "system:a.b": false} {
		if isHost(name) != want {
			t.Errorf("%s is a host: %t", name, !want)
		}
	}
}

// TestAnnotationsOfAnObjectWithoutANamespace are asked for without one.
func TestAnnotationsOfAnObjectWithoutANamespace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ namespace, want string }{
		{"", "oc get configmap/x -o jsonpath='{.metadata.annotations}'"},
		{"a", "oc get -n a configmap/x -o jsonpath='{.metadata.annotations}'"},
	} {
		if got := annotationsOf(pki.Location{Kind: "ConfigMap", Namespace: c.namespace, Name: "x"}).Text; got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestThePlaceByWhichAFindingIsNamed is the one that says most, wherever it stands among others.
func TestThePlaceByWhichAFindingIsNamed(t *testing.T) {
	t.Parallel()
	entry := func(namespace string) *inspect.Entry {
		return &inspect.Entry{Bundle: &inspect.Bundle{At: pki.Location{Kind: "Secret", Namespace: namespace, Name: "tls", Key: "tls.crt"}}}
	}
	a, b := entry("a"), entry("b")
	for _, entries := range [][]*inspect.Entry{{a, b}, {b, a}} {
		if at := bestPlace(entries); at != a.At {
			t.Errorf("%s", at)
		}
	}
}
