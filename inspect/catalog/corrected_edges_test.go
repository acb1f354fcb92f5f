package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

func TestPodsReadTheirCAAtTheirStart(t *testing.T) {
	t.Parallel()
	for id, outdated := range map[string]bool{"pods-kubernetes-service": true, "kubeadm-pods-kubernetes-service": true} {
		e := edgeOf(t, id)
		if e.Reload != ReloadAtStart || e.MayBeOutdated != outdated {
			t.Errorf("%s: %s, %t", id, e.Reload, e.MayBeOutdated)
		}
	}
}

// TestReadersThatAreSeveral: of these rows, some verifiers read at their start alone, and others again.
func TestReadersThatAreSeveral(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"pods-routes", "bundle-parts", "file-copies"} {
		if e := edgeOf(t, id); e.Reload != ReloadByProgram {
			t.Errorf("%s: %s", id, e.Reload)
		}
	}
}

func TestRegistryCAIsReadForEachPull(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"node-registry", "new-node-registry"} {
		if e := edgeOf(t, id); e.Reload != ReloadEachTime {
			t.Errorf("%s: %s", id, e.Reload)
		}
	}
}

// TestKubeadmJoinReadsAllOrNone: it compares the CAs with its pinned hash, before the kubelet reads them.
func TestKubeadmJoinReadsAllOrNone(t *testing.T) {
	t.Parallel()
	if e := edgeOf(t, "kubeadm-new-node-api"); e.Reader != pki.ReaderGoAll {
		t.Errorf("%s: %s", e.ID, e.Reader)
	}
}

// TestOvnkubeNodeTrustsItsServiceAccountsCA: by the kubelet's kubeconfig it only asks for the certificate with
// which it calls the API server.
func TestOvnkubeNodeTrustsItsServiceAccountsCA(t *testing.T) {
	t.Parallel()
	e := edgeOf(t, "ovnkube-node-service-account-api-int")
	if e.Trust != rootCAOf(ovnTarget) || e.ServerName != NameInternal || e.Reload != ReloadAtStart || e.Reader != pki.ReaderGoAll || !e.Optional {
		t.Errorf("%+v", e)
	}
	if e := edgeOf(t, "ovnkube-node-api-int"); !strings.Contains(e.Verifier, "no valid client certificate") {
		t.Errorf("%s: %s", e.ID, e.Verifier)
	}
	for _, row := range NodeDaemonSets() {
		if row.DaemonSet == "ovnkube-node" && row.Trust != rootCAOf(ovnTarget) {
			t.Errorf("%s: %s", row.ID, row.Trust)
		}
	}
}

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

func TestNamedCertificatesAreNumbered(t *testing.T) {
	t.Parallel()
	if got := NamedCertificates(); len(got) != 1 || got[0] != secret(kasTarget, "user-serving-cert-*") {
		t.Errorf("%v", got)
	}
}

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

func TestKubeletsClientsOfMonitoring(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"4.12.9": "prometheus-adapter-front-proxy",
		"4.13.1": "prometheus-adapter-front-proxy kubelet-prometheus-client",
		"4.15.1": "prometheus-adapter-front-proxy kubelet-prometheus-client",
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
