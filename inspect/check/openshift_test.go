package check

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

func openShiftCases() []verdictCase {
	ca, other := pkitest.NewCA("a CA", inspecttest.DaysFromNoon(-300), inspecttest.DaysFromNoon(3000)), pkitest.NewCA("another CA", inspecttest.DaysFromNoon(-200), inspecttest.DaysFromNoon(3000))
	fresh := pkitest.NewCA("fresh CA", inspecttest.Noon.Add(-600e9), inspecttest.DaysFromNoon(3000))
	leaf, stranger := ca.Issue("shop.example.com", inspecttest.DaysFromNoon(-10), inspecttest.DaysFromNoon(300)), ca.Issue("else.example.com", inspecttest.DaysFromNoon(-10), inspecttest.DaysFromNoon(300))
	cc := pki.Location{Kind: inspect.KindControllerConfig, Name: "machine-config-controller", Field: "status.controllerCertificates[0]"}
	pool := pki.Location{Kind: inspect.KindPool, Name: "worker", Field: "status.certExpirys[0]"}
	const api, root = "spec.kubeAPIServerServingCAData", "spec.rootCAData"
	holding := func(certs ...[]byte) *inspecttest.Fixture {
		return inspecttest.NewFixture("4.15.1").ControllerConfig(map[string][]byte{api: pkitest.Bundle(certs...)})
	}
	proxy := pki.Location{Kind: "Proxy", Name: "cluster", Field: "spec.trustedCA.name"}
	image := pki.Location{Kind: "Image", Name: "cluster", Field: "spec.additionalTrustedCA.name"}
	router := pki.Location{Kind: "IngressController", Namespace: "openshift-ingress-operator", Name: "default", Field: "spec.defaultCertificate.name"}
	bundle := pki.Location{Kind: "ConfigMap", Namespace: "openshift-config", Name: "custom-ca", Key: "ca-bundle.crt"}
	anyKey := pki.Location{Kind: "ConfigMap", Namespace: "openshift-config", Name: "custom-ca"}
	apps := pki.Location{Kind: "Secret", Namespace: "openshift-ingress", Name: "apps", Key: "tls.crt"}
	named := func(f *inspecttest.Fixture) *inspecttest.Fixture { return f.Refers(proxy, bundle, inspect.TargetThere) }
	route := func(values map[string][]byte) *inspecttest.Fixture {
		return inspecttest.NewFixture("4.15.1").Object(inspect.Object{Kind: inspect.KindRoute, Namespace: "shop", Name: "front"}, values)
	}
	config := func(f *inspecttest.Fixture, name string, values map[string][]byte) *inspecttest.Fixture {
		return f.Object(inspect.Object{Kind: inspect.KindMachineConfig, Name: name}, values)
	}
	usedBy := func(f *inspecttest.Fixture, name string) *inspecttest.Fixture {
		return f.Refers(pki.Location{Kind: inspect.KindPool, Name: "worker", Field: "spec.configuration.name"}, pki.Location{Kind: inspect.KindMachineConfig, Name: name}, "")
	}
	current, old := "rendered-worker-"+strings.Repeat("a", 32), "rendered-worker-"+strings.Repeat("b", 32)
	ended := ca.Issue("old.example.com", inspecttest.DaysFromNoon(-300), inspecttest.DaysFromNoon(-3))
	endedFile := map[string][]byte{"spec.config.storage.files[/etc/x/tls.crt]": ended.CertPEM}
	keyFile := map[string][]byte{"spec.config.storage.files[/etc/x/tls.key]": leaf.KeyPEM}
	within := []byte("apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n    certificate-authority-data: " + base64.StdEncoding.EncodeToString(ca.CertPEM) + "\n")
	return []verdictCase{
		{"mco-reports-agree", "both report what there is", holding(ca.CertPEM).Reports(cc, ca.Pair).Reports(pool, ca.Pair), "", "", 0},
		{"mco-reports-agree", "nobody reports, as before 4.14", holding(ca.CertPEM), "", "", 0},
		{"mco-reports-agree", "a report without times", holding(ca.CertPEM).Reports(cc, ca.Pair).Unfinished(), "", "", 0},
		{"mco-reports-agree", "a report without times, of another", holding(ca.CertPEM).Reports(cc, other.Pair).Unfinished(), "warning", `lists “another CA”, which it does not hold`, 3},
		{"mco-reports-agree", "the status lacks a CA", holding(ca.CertPEM, other.CertPEM).Reports(cc, ca.Pair), "warning", `does not list “another CA”`, 2},
		{"mco-reports-agree", "the status lacks a bundle", inspecttest.NewFixture("4.15.1").ControllerConfig(map[string][]byte{api: ca.CertPEM, root: other.CertPEM}).Reports(cc, ca.Pair), "warning", `bundle RootCAData does not list “another CA”`, 2},
		{"mco-reports-agree", "the status lists a CA that is gone", holding(ca.CertPEM).Reports(cc, ca.Pair).Reports(cc, other.Pair), "warning", `lists “another CA”, which it does not hold`, 3},
		{"mco-reports-agree", "the status lacks a CA of ten minutes ago", holding(ca.CertPEM, fresh.CertPEM).Reports(cc, ca.Pair), "info", `does not list “fresh CA”`, 2},
		{"mco-reports-agree", "a pool lacks a CA", holding(ca.CertPEM, other.CertPEM).Reports(pool, ca.Pair), "warning", "MachineConfigPool/worker", 2},
		{"mco-reports-agree", "a pool lists a CA that is gone", holding(ca.CertPEM).Reports(pool, ca.Pair).Reports(pool, other.Pair), "info", "MachineConfigPool/worker", 3},
		{"mco-reports-agree", "reports, and the ControllerConfig was not read", inspecttest.NewFixture("4.15.1").Reports(pool, ca.Pair), "", "", 0},
		{"mco-reports-agree", "data at which the controller stops", holding(ca.CertPEM, ca.CertPEM[:200], []byte("\n"), other.CertPEM).Reports(cc, ca.Pair), "", "", 0},

		{"reference-resolves", "an Ingress of Kubernetes' own names a Secret that is not there", inspecttest.NewFixture("4.15.1").Refers(pki.Location{Kind: inspect.KindIngress, Namespace: "shop", Name: "front", Field: "spec.tls[0].secretName"},
			pki.Location{Kind: "Secret", Namespace: "shop", Name: "tls", Key: "tls.crt"}, inspect.TargetAbsent), "warning", "the Ingress' controller presents its default certificate", 1},
		{"reference-resolves", "it is there", inspecttest.NewFixture("4.15.1").ConfigMap("openshift-config", "custom-ca", "ca-bundle.crt", ca.CertPEM).Refers(proxy, bundle, inspect.TargetThere), "", "", 0},
		{"reference-resolves", "under any key", inspecttest.NewFixture("4.15.1").ConfigMap("openshift-config", "custom-ca", "r.example.com..5000", ca.CertPEM).Refers(image, anyKey, inspect.TargetThere), "", "", 0},
		{"reference-resolves", "a ConfigMap that is not there", inspecttest.NewFixture("4.15.1").Refers(proxy, bundle, inspect.TargetAbsent), "warning", "custom-ca[ca-bundle.crt], which is not there", 1},
		{"reference-resolves", "one that two fields name", inspecttest.NewFixture("4.15.1").Refers(proxy, bundle, inspect.TargetAbsent).Refers(router, bundle, inspect.TargetAbsent), "warning", "which is not there", 2},
		{"reference-resolves", "a ConfigMap with its CAs under another key", inspecttest.NewFixture("4.15.1").ConfigMap("openshift-config", "custom-ca", "ca.crt", ca.CertPEM).Refers(proxy, bundle, inspect.TargetThere), "warning", "holds no certificate", 1},
		{"reference-resolves", "a ConfigMap with its CAs in a kubeconfig", inspecttest.NewFixture("4.15.1").ConfigMap("openshift-config", "custom-ca", "ca-bundle.crt", within).Refers(proxy, bundle, inspect.TargetThere), "", "", 0}, // it does hold them
		{"reference-resolves", "a Secret that is not there", inspecttest.NewFixture("4.15.1").Refers(router, apps, inspect.TargetAbsent), "critical", "does not start", 1},
		{"reference-resolves", "what may not be read", inspecttest.NewFixture("4.15.1").Refers(router, apps, inspect.TargetUnknown), "", "", 0},
		{"reference-resolves", "a MachineConfig, which holds none", usedBy(inspecttest.NewFixture("4.15.1"), current), "", "", 0},

		{"key-in-place", "the key of a Route's certificate", route(map[string][]byte{inspect.RouteCertificate: leaf.CertPEM, inspect.RouteKey: leaf.KeyPEM}), "", "", 0},
		{"key-in-place", "a key in what a Route trusts", route(map[string][]byte{"spec.tls.destinationCACertificate": pkitest.Bundle(ca.CertPEM, ca.KeyPEM)}), "critical", "CA bundle", 1},
		{"key-in-place", "a key in two MachineConfigs", config(config(inspecttest.NewFixture("4.15.1"), "99-own", keyFile), current, keyFile), "critical", "of kind MachineConfig", 2},
		{"key-matches", "a Route's own key", route(map[string][]byte{inspect.RouteCertificate: leaf.CertPEM, inspect.RouteKey: leaf.KeyPEM}), "", "", 0},
		{"key-matches", "a Route with another key", route(map[string][]byte{inspect.RouteCertificate: leaf.CertPEM, inspect.RouteKey: stranger.KeyPEM}), "critical", "do not belong together", 1},
		{"key-matches", "files of a MachineConfig of two pairs", config(inspecttest.NewFixture("4.15.1"), "99-own", map[string][]byte{
			"spec.config.storage.files[/etc/x/tls.crt]": stranger.CertPEM, "spec.config.storage.files[/etc/x/tls.key]": leaf.KeyPEM}), "critical", "do not belong together", 1},
		{"key-matches", "files of a MachineConfig in two directories", config(inspecttest.NewFixture("4.15.1"), "99-own", map[string][]byte{
			"spec.config.storage.files[/etc/x/tls.crt]": stranger.CertPEM, "spec.config.storage.files[/etc/y/tls.key]": leaf.KeyPEM}), "", "", 0},
		{"certificate-expired", "a Route's", route(map[string][]byte{inspect.RouteCertificate: ended.CertPEM}), "critical", "expired 3d ago", 1},
		{"certificate-expired", "in a MachineConfig that a pool uses", usedBy(config(inspecttest.NewFixture("4.15.1"), current, endedFile), current), "critical", "expired 3d ago", 1},
		{"certificate-expired", "in a MachineConfig that its pool does not use", usedBy(config(inspecttest.NewFixture("4.15.1"), old, endedFile), current), "info", "MachineConfigs that no pool uses", 1},
		{"certificate-expired", "in a rendered MachineConfig, and its pool was not read", config(inspecttest.NewFixture("4.15.1"), old, endedFile), "critical", "expired 3d ago", 1},
		{"certificate-expired", "a leaf alone in what the configuration names as trust", named(inspecttest.NewFixture("4.15.1").ConfigMap("openshift-config", "custom-ca", "registry.example.com", leaf.CertPEM)), "", "", 0},
	}
}

func TestWhatOnlyTheConfigurationNamesIsTheUsers(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("a CA", inspecttest.DaysFromNoon(-300), inspecttest.DaysFromNoon(3000))
	leaf := ca.Issue("r.example.com", inspecttest.DaysFromNoon(-10), inspecttest.DaysFromNoon(300))
	f := inspecttest.NewFixture("4.15.1").ConfigMap("openshift-config", "registries", "r.example.com..5000", leaf.CertPEM).
		ConfigMap("openshift-config", "user-ca-bundle", "ca-bundle.crt", ca.CertPEM).
		Refers(pki.Location{Kind: "Image", Name: "cluster", Field: "spec.additionalTrustedCA.name"}, pki.Location{Kind: "ConfigMap", Namespace: "openshift-config", Name: "registries"}, inspect.TargetThere)
	f.Snapshot.Sort()
	for _, h := range inspect.NewFacts(f.Snapshot, inspecttest.Noon, 0).Entries {
		if h.Use != inspect.UseTrust || h.Owner() != "user" {
			t.Errorf("%s is used for %q, by %q", h.At, h.Use, h.Owner())
		}
	}
}

func TestFilesOfMachineConfigsAreWhatNodesWillHave(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("a CA", inspecttest.DaysFromNoon(-300), inspecttest.DaysFromNoon(3000))
	f := inspecttest.NewFixture("4.15.1").Object(inspect.Object{Kind: inspect.KindMachineConfig, Name: "00-worker"}, map[string][]byte{
		"spec.config.storage.files[/etc/kubernetes/kubelet-ca.crt]": ca.CertPEM,
	})
	if h := inspect.NewFacts(f.Snapshot, inspecttest.Noon, 0).Entries[0]; h.Use != inspect.UseTrust || h.Row == nil || !strings.Contains(h.Owner(), "machine-config") {
		t.Errorf("%s is used for %q, by %q", h.At, h.Use, h.Owner())
	}
}
