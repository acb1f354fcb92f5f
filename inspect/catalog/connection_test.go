package catalog

import (
	"strings"
	"testing"
)

func TestConnectionsAreOfEdges(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range connections() {
		for _, id := range c.Edges {
			found := false
			for _, e := range Edges() {
				found = found || e.ID == id
			}
			for _, p := range StartupReaders() {
				found = found || p.ID == id
			}
			if !found || seen[id] {
				t.Errorf("%s is no edge, or there twice", id)
			}
			seen[id] = true
			if got, ok := ConnectionOf(id); !ok || got.Evidence != c.Evidence {
				t.Errorf("%s is not found", id)
			}
		}
	}
	if _, ok := ConnectionOf("whereabouts-api-int"); ok {
		t.Error("a program that is started for each pod holds no connection")
	}
}

// TestOwnClientCertificates: client-go closes the connections of who has one in files, when that is renewed.
func TestOwnClientCertificates(t *testing.T) {
	t.Parallel()
	const kubelet, multus, ovn = "File:/var/lib/kubelet/pki/kubelet-client-current.pem", "File:/etc/cni/multus/certs/multus-client-current.pem", "File:/var/lib/ovn-ic/etc/ovnkube-node-certs/ovnkube-client-current.pem"
	for id, want := range map[string]string{
		"kubelet-api-int": kubelet, "machine-config-daemon-node-writer-api-int": kubelet, "machine-config-daemon-memory-api-int": kubelet,
		"multus-api-int": multus, "multus-memory-api-int": multus, "ovnkube-node-api-int": ovn, "ovnkube-node-memory-api-int": ovn,
		"scheduler-api-int": "Secret/openshift-kube-scheduler/kube-scheduler-client-cert-key[tls.crt]",
		// Its controllers call with tokens, over connections of their own.
		"controller-manager-api-int": "",
		// Tokens, and certificates inside of a kubeconfig.
		"machine-config-daemon-api-int": "", "machine-config-daemon-reloaded-api-int": "", "pods-kubernetes-service": "", "kubeadm-scheduler-api": "",
	} {
		c, ok := ConnectionOf(id)
		got := ""
		if c.Client != (Ref{}) {
			got = c.Client.String()
			if _, known := Lookup(c.Client.Kind, c.Client.Namespace, c.Client.Name, c.Client.Key, Versions{Cluster: "4.20.1"}); !known {
				t.Errorf("%s: no row is about %s", id, got)
			}
		}
		if !ok || got != want {
			t.Errorf("%s: %t, %q, want %q", id, ok, got, want)
		}
	}
}

func TestGoaway(t *testing.T) {
	for name, c := range map[string]struct {
		topology string
		v        Versions
		want     Tristate
		chance   float64
	}{
		"4.12":                                 {"HighlyAvailable", Versions{Cluster: "4.12.0"}, Yes, 0},
		"4.17, whatever the topology":          {"", Versions{Cluster: "4.17.9"}, Yes, 0},
		"4.18":                                 {"HighlyAvailable", Versions{Cluster: "4.18.30"}, Yes, 0.001},
		"4.19":                                 {"HighlyAvailableArbiter", Versions{Cluster: "4.19.30"}, Yes, 0.001},
		"4.18.23 lacks it":                     {"HighlyAvailable", Versions{Cluster: "4.18.23"}, Yes, 0},
		"4.19.10 may have it":                  {"HighlyAvailable", Versions{Cluster: "4.19.10"}, Unknown, 0},
		"4.18.25 hosted lacks it":              {"External", Versions{Cluster: "4.18.25"}, Yes, 0},
		"4.18.26 hosted may have it":           {"External", Versions{Cluster: "4.18.26"}, Unknown, 0},
		"4.18.26, not hosted":                  {"HighlyAvailable", Versions{Cluster: "4.18.26"}, Yes, 0.001},
		"4.18.27 hosted":                       {"External", Versions{Cluster: "4.18.27"}, Yes, 0.001},
		"4.19.10 hosted lacks it":              {"External", Versions{Cluster: "4.19.10"}, Yes, 0},
		"4.19.12 hosted":                       {"External", Versions{Cluster: "4.19.12"}, Yes, 0.001},
		"4.19.10 on a single node":             {"SingleReplica", Versions{Cluster: "4.19.10"}, Yes, 0},
		"4.20 hosted":                          {"External", Versions{Cluster: "4.20.0"}, Yes, 0.001},
		"4.22":                                 {"HighlyAvailable", Versions{Cluster: "4.22.1"}, Yes, 0.001},
		"4.22 on a single node":                {"SingleReplica", Versions{Cluster: "4.22.1"}, Yes, 0},
		"4.22, the topology was not read":      {"", Versions{Cluster: "4.22.1"}, Unknown, 0},
		"no version":                           {"HighlyAvailable", Versions{}, Unknown, 0},
		"no OpenShift":                         {"", Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}, No, 0},
		"the operator is behind in an upgrade": {"HighlyAvailable", Versions{Cluster: "4.18.1", Operators: map[string]string{kas: "4.17.5"}}, Yes, 0},
		"the operator is ahead, in an upgrade": {"HighlyAvailable", Versions{Cluster: "4.17.5", Operators: map[string]string{kas: "4.18.40"}}, Yes, 0.001},
	} {
		if got, answer := GoawayOf(c.topology, c.v); answer != c.want || got.Chance != c.chance {
			t.Errorf("%s: %s, %v", name, answer, got.Chance)
		}
	}
}

// TestAnAnnotationSetsTheGoawayChanceOfHostedControlPlanes: before and after the default became another.
func TestAnAnnotationSetsTheGoawayChanceOfHostedControlPlanes(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"4.18.20", "4.18.30", "4.19.9", "4.19.20", "4.22.1"} {
		if g, known := GoawayOf("External", Versions{Cluster: version}); known != Yes || !strings.Contains(g.Doc, "hypershift.openshift.io/kube-apiserver-goaway-chance") {
			t.Errorf("%s: %s: %q", version, known, g.Doc)
		}
	}
}
