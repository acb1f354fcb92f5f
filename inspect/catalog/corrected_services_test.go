package catalog

import (
	"strings"
	"testing"
)

// placeIn is the row of a place by its name, in a version of the cluster.
func placeIn(t *testing.T, version string, at Ref) Place {
	t.Helper()
	p, ok := Lookup(at.Kind, at.Namespace, at.Name, at.Key, Versions{Cluster: version})
	if !ok {
		t.Fatalf("%s: no row for %s", version, at)
	}
	return p
}

// TestWhoReadsClientCA: controllercmd's server, of openshift-controller-manager from 4.20 on and of
// route-controller-manager from 4.14 on, verifies its clients by delegated authentication.
func TestWhoReadsClientCA(t *testing.T) {
	t.Parallel()
	for namespace, last := range map[string]Minor{"openshift-controller-manager": {4, 19}, "openshift-route-controller-manager": {4, 13}} {
		for version, v := range openShifts(reviewed()) {
			minor, _ := ParseMinor(v.Cluster)
			reads := minor.Compare(last) <= 0
			if p := placeIn(t, v.Cluster, bundle(namespace, "client-ca")); strings.Contains(p.Doc, "verifies its clients' certificates with it") != reads || strings.Contains(p.Doc, "does not read it") == reads {
				t.Errorf("%s of %s: %s", version, namespace, p.Doc)
			}
		}
	}
}

// TestTrustedCAsOfMonitoring: 4.16 deletes the copies for one component each, 4.17 those of user
// workload monitoring; telemeter-client keeps its own.
func TestTrustedCAsOfMonitoring(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		namespace, name string
		last            Minor // zero: all have it
	}{
		{monitoringTarget, "alertmanager-trusted-ca-bundle-8ra6", Minor{4, 15}},
		{monitoringTarget, "telemeter-trusted-ca-bundle-8ra6", Minor{}},
		{userMonitoring, "prometheus-user-workload-trusted-ca-bundle-8ra6", Minor{4, 16}},
	} {
		for version, v := range openShifts(reviewed()) {
			minor, _ := ParseMinor(v.Cluster)
			want := c.last == (Minor{}) || minor.Compare(c.last) <= 0
			if p, ok := Lookup(ConfigMap, c.namespace, c.name, "ca-bundle.crt", v); ok != want {
				t.Errorf("%s: %s is %q", version, c.name, p.Doc)
			}
		}
	}
}

// TestServersThatReadTheirCertificateAtStart: the row says by which command a new one is presented.
func TestServersThatReadTheirCertificateAtStart(t *testing.T) {
	t.Parallel()
	canary := secret("openshift-ingress-canary", "canary-serving-cert")
	for _, c := range []struct {
		at             Ref
		version, owner string
		restart        string // empty: none is needed
	}{
		{secret("openshift-console", "console-serving-cert"), "4.15.1", serviceCAOwner, "oc -n openshift-console delete pod -l app=console,component=ui"},
		{secret("openshift-network-console", "networking-console-plugin-cert"), "4.22.1", serviceCAOwner, "oc -n openshift-network-console rollout restart deployment/networking-console-plugin"},
		{secret(monitoringTarget, "monitoring-plugin-cert"), "4.14.1", serviceCAOwner, "oc -n openshift-monitoring rollout restart deployment/monitoring-plugin"},
		{secret("openshift-console", "console-serving-cert"), "4.20.1", serviceCAOwner, ""},
		{secret(monitoringTarget, "monitoring-plugin-cert"), "4.16.1", serviceCAOwner, ""},
		{canary, "4.17.1", serviceCAOwner, "oc -n openshift-ingress-canary rollout restart daemonset/ingress-canary"},
		{canary, "4.20.30", serviceCAOwner, "oc -n openshift-ingress-canary rollout restart daemonset/ingress-canary"},
		{canary, "4.21.4", serviceCAOwner, "oc -n openshift-ingress-canary rollout restart daemonset/ingress-canary"},
		{canary, "4.21.6", ingressOwner, "oc -n openshift-ingress-canary rollout restart daemonset/ingress-canary"},
		{canary, "4.22.1", ingressOwner, ""},
	} {
		p := placeIn(t, c.version, c.at)
		if p.Owner != c.owner || p.Role != Serving || p.Restart != c.restart || strings.Contains(p.Doc, "only when it starts") != (c.restart != "") {
			t.Errorf("%s: %s, %s, %s: %s: %q", c.version, c.at, p.Owner, p.Role, p.Doc, p.Restart)
		}
	}
	if p, ok := Lookup(Secret, canary.Namespace, canary.Name, canary.Key, Versions{Cluster: "4.16.9"}); ok {
		t.Errorf("4.16 has no %s: %s", canary, p.Doc)
	}
}

// TestServiceCertificatesLiveAlike: a row by name says no less of how long it lives.
func TestServiceCertificatesLiveAlike(t *testing.T) {
	t.Parallel()
	v := Versions{Cluster: "4.18.9"}
	carries := map[string]string{AnnotationServiceName: "console"}
	other, _ := LookupObject(Object{Kind: Secret, Namespace: "team", Name: "served", Annotations: carries}, "tls.crt", v)
	named, ok := LookupObject(Object{Kind: Secret, Namespace: "openshift-console", Name: "console-serving-cert", Annotations: carries}, "tls.crt", v)
	want, _ := other.Lifetime(v)
	if got, known := named.Lifetime(v); !ok || named.Name == "" || known != Yes || got != want || want.Validity == 0 {
		t.Errorf("%s: %+v, want %+v", named.Ref, got, want)
	}
}

// TestCopiesOfAnAdministrators: who writes them, and that they are an administrator's.
func TestCopiesOfAnAdministrators(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at     Ref
		writer string
		role   Role
	}{
		{Ref{Kind: Route, Namespace: "openshift-console", Name: "console", Key: "spec.tls.certificate"}, consoleOwner, Serving},
		{Ref{Kind: Route, Namespace: "openshift-console", Name: "downloads", Key: "spec.tls.certificate"}, consoleOwner, Serving},
		{Ref{Kind: ConfigMap, Namespace: "openshift-ingress", Name: "router-client-ca-default", Key: "ca-bundle.pem"}, ingressOwner, CABundle},
		{Ref{Kind: ConfigMap, Namespace: "openshift-authentication", Name: "v4-0-config-user-idp-0-ca", Key: "ca.crt"}, authOwner, CABundle},
		{secret("openshift-authentication", "v4-0-config-user-idp-1-tls-client-cert"), authOwner, Client},
		{bundle("openshift-controller-manager", "openshift-user-ca"), openShiftKCMOwner, CABundle},
	} {
		for _, version := range []string{"4.12.1", "4.22.1"} {
			if p := placeIn(t, version, c.at); p.Owner != "user" || p.Writer != c.writer || p.Role != c.role {
				t.Errorf("%s: %s: %s, written by %q, %s", version, c.at, p.Owner, p.Writer, p.Role)
			}
		}
	}
}

// TestTheSigningKeyHasNoBridgeWhereItWasDeleted: initializeSigningSecret makes a new CA, alone.
func TestTheSigningKeyHasNoBridgeWhereItWasDeleted(t *testing.T) {
	t.Parallel()
	if p := placeIn(t, "4.22.1", secret(serviceCATarget, "signing-key")); !strings.Contains(p.Doc, "deletion does not") {
		t.Error(p.Doc)
	}
}
