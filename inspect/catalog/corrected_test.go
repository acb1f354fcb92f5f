package catalog

import (
	"slices"
	"strings"
	"testing"
)

// TestPrometheusAdapterUpTo415: 4.16 enables metrics-server by default, and the adapter's last Secret stays.
func TestPrometheusAdapterUpTo415(t *testing.T) {
	t.Parallel()
	for version, writer := range map[string]string{"4.15.9": "", "4.16.3": noComponent, "4.22.1": noComponent} {
		for _, key := range []string{"client-ca-file", "requestheader-client-ca-file"} {
			p, ok := Lookup(Secret, monitoringTarget, "prometheus-adapter-8ra6", key, Versions{Cluster: version})
			if !ok || p.Writer != writer || strings.Contains(p.Doc, "left over") != (writer != "") {
				t.Errorf("%s %s: %q, %q", version, key, p.Writer, p.Doc)
			}
		}
	}
}

// TestAuthConfigIsARevision: from 4.19 on, with the CAs of the OIDC provider.
func TestAuthConfigIsARevision(t *testing.T) {
	t.Parallel()
	at := Ref{Kind: ConfigMap, Namespace: kasTarget, Name: "auth-config"}
	for version, want := range map[string]Tristate{"4.12.60": No, "4.18.9": No, "4.19.1": Yes, "4.22.1": Yes, "": Unknown} {
		if row, got := staticPodInputOf(at, Versions{Cluster: version}); got != want || got == Yes && !row.Rollout {
			t.Errorf("%q: %s, %+v", version, got, row)
		}
		if _, got := staticPodInputOf(bundle(kasTarget, "etcd-serving-ca"), Versions{Cluster: version}); version != "" && got != Yes {
			t.Errorf("%q: etcd-serving-ca: %s", version, got)
		}
	}
}

// TestImpactsNameNoMore: what is named beside does not depend on that trust.
func TestImpactsNameNoMore(t *testing.T) {
	t.Parallel()
	for id, wrong := range map[string]string{
		"controller-manager-api-int": "no certificate request is approved", // cluster-machine-approver approves kubelets' serving certificates
		"node-registry":              "builds",                             // their pods have the service CA
		"new-node-registry":          "builds",
		"apiserver-node-admin":       "all of the kubeconfigs", // control-plane-node-kubeconfig has another client certificate
	} {
		rows := slices.DeleteFunc(allEdges(), func(e Edge) bool { return e.ID != id })
		if len(rows) != 1 || strings.Contains(rows[0].Impact, wrong) {
			t.Errorf("%s: %+v", id, rows)
		}
	}
}

// TestIgnitionStubsWithTwoCAs: neither machine-config-controller nor oc changes them.
func TestIgnitionStubsWithTwoCAs(t *testing.T) {
	t.Parallel()
	p, ok := Lookup(Secret, "openshift-machine-api", "worker-user-data", "userData", Versions{Cluster: "4.19.9"})
	if !ok || !strings.Contains(p.Doc, "neither changes a stub with two CAs") {
		t.Errorf("%q", p.Doc)
	}
}

// TestTheSigningKeysBundle is made by a rotation: the first signer has none.
func TestTheSigningKeysBundle(t *testing.T) {
	t.Parallel()
	p, ok := Lookup(Secret, serviceCATarget, "signing-key", "ca-bundle.crt", Versions{Cluster: "4.19.9"})
	if !ok || !strings.HasPrefix(p.Doc, "after a rotation: ") {
		t.Errorf("%q", p.Doc)
	}
}
