package inspect

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// refers adds what one field names.
func (f *fixture) refers(from, to pki.Location, target Target) *fixture {
	f.snapshot.References = append(f.snapshot.References, Reference{From: from, To: to, Target: target})
	return f
}

// reports adds what a controller says of a certificate of the API server's bundle.
func (f *fixture) reports(at pki.Location, p pkitest.Pair) *fixture {
	r := Reported{At: at, Bundle: "KubeAPIServerServingCAData", Subject: p.Cert.Subject.String(), NotAfter: p.Cert.NotAfter}
	if at.Kind == kindControllerConfig {
		r.Signer, r.NotBefore = p.Cert.Issuer.String(), p.Cert.NotBefore
	}
	f.snapshot.Reported = append(f.snapshot.Reported, r)
	return f
}

func (f *fixture) controllerConfig(values map[string][]byte) *fixture {
	return f.object(Object{Kind: kindControllerConfig, Name: "machine-config-controller"}, values)
}

// unfinished is a report of 4.14, which knew no times.
func (f *fixture) unfinished() *fixture {
	for i := range f.snapshot.Reported {
		r := &f.snapshot.Reported[i]
		*r = Reported{At: r.At, Bundle: r.Bundle, Subject: r.Subject, Signer: r.Signer}
	}
	return f
}

func openShiftCases() []verdictCase {
	ca, other := pkitest.NewCA("a CA", from(-300), from(3000)), pkitest.NewCA("another CA", from(-200), from(3000))
	fresh := pkitest.NewCA("fresh CA", noon.Add(-600e9), from(3000))
	leaf, stranger := ca.Issue("shop.example.com", from(-10), from(300)), ca.Issue("else.example.com", from(-10), from(300))
	cc := pki.Location{Kind: kindControllerConfig, Name: "machine-config-controller", Field: "status.controllerCertificates[0]"}
	pool := pki.Location{Kind: kindPool, Name: "worker", Field: "status.certExpirys[0]"}
	const api, root = "spec.kubeAPIServerServingCAData", "spec.rootCAData"
	holding := func(certs ...[]byte) *fixture {
		return newFixture("4.15.1").controllerConfig(map[string][]byte{api: pkitest.Bundle(certs...)})
	}
	proxy := pki.Location{Kind: "Proxy", Name: "cluster", Field: "spec.trustedCA.name"}
	image := pki.Location{Kind: "Image", Name: "cluster", Field: "spec.additionalTrustedCA.name"}
	router := pki.Location{Kind: "IngressController", Namespace: "openshift-ingress-operator", Name: "default", Field: "spec.defaultCertificate.name"}
	bundle := pki.Location{Kind: "ConfigMap", Namespace: "openshift-config", Name: "custom-ca", Key: "ca-bundle.crt"}
	anyKey := pki.Location{Kind: "ConfigMap", Namespace: "openshift-config", Name: "custom-ca"}
	apps := pki.Location{Kind: "Secret", Namespace: "openshift-ingress", Name: "apps", Key: "tls.crt"}
	named := func(f *fixture) *fixture { return f.refers(proxy, bundle, TargetThere) }
	route := func(values map[string][]byte) *fixture {
		return newFixture("4.15.1").object(Object{Kind: kindRoute, Namespace: "shop", Name: "front"}, values)
	}
	config := func(f *fixture, name string, values map[string][]byte) *fixture {
		return f.object(Object{Kind: kindMachineConfig, Name: name}, values)
	}
	usedBy := func(f *fixture, name string) *fixture {
		return f.refers(pki.Location{Kind: kindPool, Name: "worker", Field: "spec.configuration.name"}, pki.Location{Kind: kindMachineConfig, Name: name}, "")
	}
	current, old := "rendered-worker-"+strings.Repeat("a", 32), "rendered-worker-"+strings.Repeat("b", 32)
	ended := ca.Issue("old.example.com", from(-300), from(-3))
	endedFile := map[string][]byte{"spec.config.storage.files[/etc/x/tls.crt]": ended.CertPEM}
	keyFile := map[string][]byte{"spec.config.storage.files[/etc/x/tls.key]": leaf.KeyPEM}
	within := []byte("apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n    certificate-authority-data: " + base64.StdEncoding.EncodeToString(ca.CertPEM) + "\n")
	return []verdictCase{
		{"mco-reports-agree", "both report what there is", holding(ca.CertPEM).reports(cc, ca.Pair).reports(pool, ca.Pair), "", "", 0},
		{"mco-reports-agree", "nobody reports, as before 4.14", holding(ca.CertPEM), "", "", 0},
		{"mco-reports-agree", "a report without times", holding(ca.CertPEM).reports(cc, ca.Pair).unfinished(), "", "", 0},
		{"mco-reports-agree", "a report without times, of another", holding(ca.CertPEM).reports(cc, other.Pair).unfinished(), "warning", `lists “another CA”, which it does not hold`, 3},
		{"mco-reports-agree", "the status lacks a CA", holding(ca.CertPEM, other.CertPEM).reports(cc, ca.Pair), "warning", `does not list “another CA”`, 2},
		{"mco-reports-agree", "the status lacks a bundle", newFixture("4.15.1").controllerConfig(map[string][]byte{api: ca.CertPEM, root: other.CertPEM}).reports(cc, ca.Pair), "warning", `bundle RootCAData does not list “another CA”`, 2},
		{"mco-reports-agree", "the status lists a CA that is gone", holding(ca.CertPEM).reports(cc, ca.Pair).reports(cc, other.Pair), "warning", `lists “another CA”, which it does not hold`, 3},
		{"mco-reports-agree", "the status lacks a CA of ten minutes ago", holding(ca.CertPEM, fresh.CertPEM).reports(cc, ca.Pair), "info", `does not list “fresh CA”`, 2},
		{"mco-reports-agree", "a pool lacks a CA", holding(ca.CertPEM, other.CertPEM).reports(pool, ca.Pair), "warning", "MachineConfigPool/worker", 2},
		{"mco-reports-agree", "a pool lists a CA that is gone", holding(ca.CertPEM).reports(pool, ca.Pair).reports(pool, other.Pair), "info", "MachineConfigPool/worker", 3},
		{"mco-reports-agree", "reports, and the ControllerConfig was not read", newFixture("4.15.1").reports(pool, ca.Pair), "", "", 0},
		{"mco-reports-agree", "data at which the controller stops", holding(ca.CertPEM, ca.CertPEM[:200], []byte("\n"), other.CertPEM).reports(cc, ca.Pair), "", "", 0},

		{"reference-resolves", "an Ingress of Kubernetes' own names a Secret that is not there", newFixture("4.15.1").refers(pki.Location{Kind: kindIngress, Namespace: "shop", Name: "front", Field: "spec.tls[0].secretName"},
			pki.Location{Kind: "Secret", Namespace: "shop", Name: "tls", Key: "tls.crt"}, TargetAbsent), "warning", "the Ingress' controller presents its default certificate", 1},
		{"reference-resolves", "it is there", newFixture("4.15.1").configMap("openshift-config", "custom-ca", "ca-bundle.crt", ca.CertPEM).refers(proxy, bundle, TargetThere), "", "", 0},
		{"reference-resolves", "under any key", newFixture("4.15.1").configMap("openshift-config", "custom-ca", "r.example.com..5000", ca.CertPEM).refers(image, anyKey, TargetThere), "", "", 0},
		{"reference-resolves", "a ConfigMap that is not there", newFixture("4.15.1").refers(proxy, bundle, TargetAbsent), "warning", "custom-ca[ca-bundle.crt], which is not there", 1},
		{"reference-resolves", "one that two fields name", newFixture("4.15.1").refers(proxy, bundle, TargetAbsent).refers(router, bundle, TargetAbsent), "warning", "which is not there", 2},
		{"reference-resolves", "a ConfigMap with its CAs under another key", newFixture("4.15.1").configMap("openshift-config", "custom-ca", "ca.crt", ca.CertPEM).refers(proxy, bundle, TargetThere), "warning", "holds no certificate", 1},
		{"reference-resolves", "a ConfigMap with its CAs in a kubeconfig", newFixture("4.15.1").configMap("openshift-config", "custom-ca", "ca-bundle.crt", within).refers(proxy, bundle, TargetThere), "", "", 0}, // it does hold them
		{"reference-resolves", "a Secret that is not there", newFixture("4.15.1").refers(router, apps, TargetAbsent), "critical", "does not start", 1},
		{"reference-resolves", "what may not be read", newFixture("4.15.1").refers(router, apps, TargetUnknown), "", "", 0},
		{"reference-resolves", "a MachineConfig, which holds none", usedBy(newFixture("4.15.1"), current), "", "", 0},

		{"key-in-place", "the key of a Route's certificate", route(map[string][]byte{routeCertificate: leaf.CertPEM, routeKey: leaf.KeyPEM}), "", "", 0},
		{"key-in-place", "a key in what a Route trusts", route(map[string][]byte{"spec.tls.destinationCACertificate": pkitest.Bundle(ca.CertPEM, ca.KeyPEM)}), "critical", "CA bundle", 1},
		{"key-in-place", "a key in two MachineConfigs", config(config(newFixture("4.15.1"), "99-own", keyFile), current, keyFile), "critical", "of kind MachineConfig", 2},
		{"key-matches", "a Route's own key", route(map[string][]byte{routeCertificate: leaf.CertPEM, routeKey: leaf.KeyPEM}), "", "", 0},
		{"key-matches", "a Route with another key", route(map[string][]byte{routeCertificate: leaf.CertPEM, routeKey: stranger.KeyPEM}), "critical", "do not belong together", 1},
		{"key-matches", "files of a MachineConfig of two pairs", config(newFixture("4.15.1"), "99-own", map[string][]byte{
			"spec.config.storage.files[/etc/x/tls.crt]": stranger.CertPEM, "spec.config.storage.files[/etc/x/tls.key]": leaf.KeyPEM}), "critical", "do not belong together", 1},
		{"key-matches", "files of a MachineConfig in two directories", config(newFixture("4.15.1"), "99-own", map[string][]byte{
			"spec.config.storage.files[/etc/x/tls.crt]": stranger.CertPEM, "spec.config.storage.files[/etc/y/tls.key]": leaf.KeyPEM}), "", "", 0},
		{"certificate-expired", "a Route's", route(map[string][]byte{routeCertificate: ended.CertPEM}), "critical", "expired 3d ago", 1},
		{"certificate-expired", "in a MachineConfig that a pool uses", usedBy(config(newFixture("4.15.1"), current, endedFile), current), "critical", "expired 3d ago", 1},
		{"certificate-expired", "in a MachineConfig that its pool does not use", usedBy(config(newFixture("4.15.1"), old, endedFile), current), "info", "MachineConfigs that no pool uses", 1},
		{"certificate-expired", "in a rendered MachineConfig, and its pool was not read", config(newFixture("4.15.1"), old, endedFile), "critical", "expired 3d ago", 1},
		{"certificate-expired", "a leaf alone in what the configuration names as trust", named(newFixture("4.15.1").configMap("openshift-config", "custom-ca", "registry.example.com", leaf.CertPEM)), "", "", 0},
	}
}

func TestWhatOnlyTheConfigurationNamesIsTheUsers(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("a CA", from(-300), from(3000))
	leaf := ca.Issue("r.example.com", from(-10), from(300))
	f := newFixture("4.15.1").configMap("openshift-config", "registries", "r.example.com..5000", leaf.CertPEM).
		configMap("openshift-config", "user-ca-bundle", "ca-bundle.crt", ca.CertPEM).
		refers(pki.Location{Kind: "Image", Name: "cluster", Field: "spec.additionalTrustedCA.name"}, pki.Location{Kind: "ConfigMap", Namespace: "openshift-config", Name: "registries"}, TargetThere)
	f.snapshot.Sort()
	for _, h := range NewFacts(f.snapshot, noon, 0).Held {
		if h.Use != UseTrust || h.Owner() != "user" {
			t.Errorf("%s is used for %q, by %q", h.At, h.Use, h.Owner())
		}
	}
}

func TestFilesOfMachineConfigsAreWhatNodesWillHave(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("a CA", from(-300), from(3000))
	f := newFixture("4.15.1").object(Object{Kind: kindMachineConfig, Name: "00-worker"}, map[string][]byte{
		"spec.config.storage.files[/etc/kubernetes/kubelet-ca.crt]": ca.CertPEM,
	})
	if h := NewFacts(f.snapshot, noon, 0).Held[0]; h.Use != UseTrust || h.Row == nil || !strings.Contains(h.Owner(), "machine-config") {
		t.Errorf("%s is used for %q, by %q", h.At, h.Use, h.Owner())
	}
}

func TestChoosingAKindChoosesWhatItNames(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("a CA", from(-300), from(3000))
	f := newFixture("4.15.1").configMap("openshift-config", "custom-ca", "ca-bundle.crt", ca.CertPEM).configMap("a", "b", "ca.crt", ca.CertPEM).
		refers(pki.Location{Kind: "Proxy", Name: "cluster", Field: "spec.trustedCA.name"}, pki.Location{Kind: "ConfigMap", Namespace: "openshift-config", Name: "custom-ca", Key: "ca-bundle.crt"}, TargetThere)
	f.snapshot.Sort()
	inv := NewInventory(NewFacts(f.snapshot, noon, 0), Filter{Place: func(at pki.Location, _ *Object) bool { return at.Kind == "Proxy" }})
	if len(inv.Certificates) != 1 || inv.Certificates[0].Places() != 1 || inv.Certificates[0].Locations()[0].Name != "custom-ca" || len(inv.References) != 1 {
		t.Errorf("%+v, %+v", inv.Certificates, inv.References)
	}
}
