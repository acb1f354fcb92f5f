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
		"controller-manager-api-int":    "no certificate request is approved", // cluster-machine-approver approves kubelets' serving certificates
		"node-registry":                 "builds",                             // their pods have the service CA
		"new-node-registry":             "builds",
		"apiserver-node-admin":          "all of the kubeconfigs", // control-plane-node-kubeconfig has another client certificate
		"kubelet-client-ca":             "metrics",                // who scrapes has a certificate of its own
		"kubeadm-kubelet-client-ca":     "metrics",
		"extension-front-proxy":         "metrics",                   // metrics-server has a copy, in a Secret
		"apiserver-check-endpoints":     "between masters",           // to etcd, openshift-apiserver and the load balancers
		"service-ca":                    "webhooks",                  // they have the CA in their own configuration
		"machine-config-daemon-api-int": "from 4.16 on the delivery", // it delivers CAs from 4.13 on
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

// TestPodsReadTheirCAAtTheirStart: client-go before 0.36, which operators of 4.12 to 4.22 have, and
// oauth-proxy read it once.
func TestPodsReadTheirCAAtTheirStart(t *testing.T) {
	t.Parallel()
	for id, outdated := range map[string]bool{"pods-kubernetes-service": true, "kubeadm-pods-kubernetes-service": true, "pods-routes": false} {
		e := edgeOf(t, id)
		if e.Reload != ReloadAtStart || e.MayBeOutdated != outdated {
			t.Errorf("%s: %s, %t", id, e.Reload, e.MayBeOutdated)
		}
	}
}

// TestSuperAdminFrom129: kubeadm makes super-admin.conf from 1.29 on; before, admin.conf is of system:masters.
func TestSuperAdminFrom129(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"kubeadm-super-admin-api", "kubeadm-apiserver-super-admin"} {
		for version, want := range map[string]Tristate{"v1.28.9": No, "v1.29.0": Yes, "v1.35.4": Yes} {
			if got := edgeOf(t, id).In.Holds(Versions{NotOpenShift: true, Kubernetes: version}); got != want {
				t.Errorf("%s, %s: %s", id, version, got)
			}
		}
	}
}

// TestNamedCertificatesAreNumbered: kube-apiserver-operator configures user-serving-cert-000 to -009 alone.
func TestNamedCertificatesAreNumbered(t *testing.T) {
	t.Parallel()
	if got := NamedCertificates(); len(got) != 1 || got[0] != secret(kasTarget, "user-serving-cert-*") {
		t.Errorf("%v", got)
	}
}

// TestKubeletsReadTheirServingCertificateAtTheirStart: what they renew they present at once, and they
// don't watch the file.
func TestKubeletsReadTheirServingCertificateAtTheirStart(t *testing.T) {
	t.Parallel()
	for _, s := range Servers() {
		for _, c := range s.Certs {
			if c.From.Name == "/var/lib/kubelet/pki/kubelet-server-current.pem" && c.Reload != ReloadByRenewal || len(c.Custom) > 0 && c.Custom[0].Kind == File && c.CustomReload != ReloadByRenewal {
				t.Errorf("%s: %s, %s", s.ID, c.Reload, c.CustomReload)
			}
		}
	}
}

// TestKubeletsClientsOfMonitoring: kubelets up to 4.12 have no CA for them, and Prometheus' token does; the
// metrics API's server is metrics-server from 4.16 on, with a certificate of its own from 4.19 on.
func TestKubeletsClientsOfMonitoring(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"4.12.9": "prometheus-adapter-front-proxy",
		"4.13.1": "prometheus-adapter-front-proxy kubelet-prometheus-client",
		"4.15.1": "kubelet-prometheus-client",
		"4.16.1": "metrics-server-front-proxy kubelet-prometheus-client metrics-server-kubelet-serving",
		"4.19.1": "metrics-server-front-proxy kubelet-prometheus-client kubelet-metrics-server-client metrics-server-kubelet-serving",
	} {
		var got []string
		for _, e := range Edges() {
			if (strings.Contains(e.ID, "metrics-server") || strings.HasPrefix(e.ID, "prometheus-adapter") || e.ID == "kubelet-prometheus-client") && e.In.Holds(Versions{Cluster: version}) == Yes {
				got = append(got, e.ID)
				if !e.Optional {
					t.Errorf("%s: a cluster may be without monitoring", e.ID)
				}
			}
		}
		slices.Sort(got)
		wanted := strings.Fields(want)
		slices.Sort(wanted)
		if !slices.Equal(got, wanted) {
			t.Errorf("%s: %v", version, got)
		}
	}
}

func edgeOf(t *testing.T, id string) Edge {
	t.Helper()
	i := slices.IndexFunc(Edges(), func(e Edge) bool { return e.ID == id })
	if i < 0 {
		t.Fatalf("there is no edge %s", id)
	}
	return Edges()[i]
}
