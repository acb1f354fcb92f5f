package catalog

import (
	"strings"
	"testing"
	"time"
)

// TestReloadOfServicesClients: what a change of trust anchors does, as the operators' sources say it.
func TestReloadOfServicesClients(t *testing.T) {
	t.Parallel()
	edges := map[string]Edge{}
	for _, e := range Edges() {
		edges[e.ID] = e
	}
	for id, want := range map[string]ReloadPolicy{
		// Deployments whose pods have a hash or a resourceVersion of the ConfigMap in an annotation.
		"console-oauth": ReloadByDeployment, "openshift-apiserver-etcd": ReloadByDeployment, "oauth-apiserver-etcd": ReloadByDeployment,
		"apiserver-token-review": ReloadByRollout,
		// HAProxy reads ca-file when it is reloaded: the router watches its own certificate, not this.
		"router-services": ReloadByReload,
	} {
		if got := edges[id].Reload; got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

// TestMachineConfigServersReload: from 4.19 on they watch their certificate (openshift/machine-config-operator
// pkg/server/api.go, certWatcher.Start); before, each presents what it read when it started.
func TestMachineConfigServersReload(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]ReloadPolicy{"4.12.1": ReloadAtStart, "4.14.1": ReloadAtStart, "4.18.1": ReloadAtStart, "4.19.1": ReloadOnChange, "4.22.1": ReloadOnChange} {
		var got []ReloadPolicy
		for _, s := range Servers() {
			if s.Listener.Name == "machine-config-server" && s.In.Holds(Versions{Cluster: version}) == Yes {
				got = append(got, s.Certs[0].Reload)
			}
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}

// TestLifetimesByRequest: who asks by CertificateSigningRequest renews when 20 to 25 % are left, by
// chance; the CronJob of OLM's profiles renews what lives for hours.
func TestLifetimesByRequest(t *testing.T) {
	t.Parallel()
	for _, at := range []Ref{secret("openshift-oauth-apiserver", "openshift-authenticator-certs"), secret(monitoringTarget, "metrics-client-certs")} {
		l, known := LifetimeOf(at, Versions{Cluster: "4.22.1"})
		if known != Yes || l.RenewFromPercent != 75 || l.RenewAtPercent != 80 {
			t.Errorf("%s: %s, %d to %d %%", at, known, l.RenewFromPercent, l.RenewAtPercent)
		}
	}
	for version, want := range map[string]time.Duration{"4.12.1": time.Hour, "4.13.1": day, "4.21.1": day} {
		l, known := LifetimeOf(secret("openshift-operator-lifecycle-manager", "pprof-cert"), Versions{Cluster: version})
		if known != Yes || l.Validity != want || !l.SelfRotating() {
			t.Errorf("%s: %s, %s, renewed by %q", version, known, l.Validity, l.Renewer)
		}
	}
}

// TestOLMRenewal: OLM once asked its CSV alone, and not the certificate, when to renew it.
func TestOLMRenewal(t *testing.T) {
	t.Parallel()
	const byCSV = "only where its CSV's status.certsRotateAt says when"
	served := secret("openshift-operator-lifecycle-manager", "packageserver-service-cert")
	for version, want := range map[string]bool{
		"": false, "4.12.65": true, "4.12.67": false, "4.13.49": true, "4.13.51": false, "4.14.34": true, "4.14.35": false, "4.15.21": true, "4.15.23": false,
		"4.16.0": true, "4.16.3": false, "4.17.0": false, "4.22.1": false,
	} {
		l, known := LifetimeOf(served, Versions{Cluster: version})
		if known != Yes || l.Refresh != 729*day || !l.SelfRotating() || strings.Contains(l.Doc, byCSV) != want {
			t.Errorf("%s: %s, %s, %q", version, known, l.Refresh, l.Doc)
		}
	}
	for _, p := range Places() {
		if p.Selector.Annotation == annotationOLM && len(p.Lifetimes) != len(olmLives(p.Evidence)) {
			t.Errorf("%s: %d lifetimes", rowName(p), len(p.Lifetimes))
		}
	}
}

// TestGatewayAPI: what istiod makes is there from 4.19 on; ingress-operator names its ConfigMaps from
// 4.22 on, and in later patch versions of 4.20 and 4.21.
func TestGatewayAPI(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]struct{ istiod, named bool }{
		"4.18.1": {}, "4.19.1": {true, false}, "4.19.44": {true, false}, "4.20.19": {true, false}, "4.20.21": {true, true},
		"4.21.11": {true, false}, "4.21.13": {true, true}, "4.22.0": {true, true}, "4.22.1": {true, true},
	} {
		v := Versions{Cluster: version}
		signer, ok := Lookup(Secret, "openshift-ingress", "istio-ca-secret", "ca-cert.pem", v)
		if ok != want.istiod || ok && (signer.Role != Signer || signer.Owner != "istiod") {
			t.Errorf("%s: istio-ca-secret: %v %s %s", version, ok, signer.Role, signer.Owner)
		}
		for name, want := range map[string]bool{"istio-ca-root-cert": want.istiod, "openshift-gw-ca-root-cert": want.named} {
			if p, ok := Lookup(ConfigMap, "gateways", name, "root-cert.pem", v); ok != want || ok && p.Role != CABundle {
				t.Errorf("%s: %s: %v %s", version, name, ok, p.Role)
			}
		}
	}
}
