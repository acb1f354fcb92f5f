package catalog

import (
	"slices"
	"strings"
	"testing"
)

// TestSignerTypesByPatch: a fix came with a patch, of OpenShift alone.
func TestSignerTypesByPatch(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]Tristate{"4.15.0": Yes, "4.15.9": Yes, "4.15.10-rc.1": No, "4.15.33": No, "4.15.0-0.okd-2024-03-10-010116": Yes, "4.16.1": No, "4.14.33": No, "4.15": Unknown, "4.15.x": Unknown} {
		row, known := SignerTypeOf("SecretTypeTLS", Versions{Cluster: version})
		got := known
		if known == Yes && !row.NeedsAction {
			got = No
		}
		if got != want {
			t.Errorf("%s: it harms: %s, want %s", version, got, want)
		}
	}
}

func TestWhereARotationGoes(t *testing.T) {
	t.Parallel()
	rotation := func(signer string) Rotation {
		all := kubeAPIServerRotations()
		return all[slices.IndexFunc(all, func(r Rotation) bool { return r.Signer.Name == signer })]
	}
	in := func(version string) Versions { return Versions{Cluster: version} }
	for _, c := range []struct {
		signer, version string
		carriers        string
		withheld        Tristate
		brought         string // to which files, and whether a paused pool holds it up
	}{
		{"kube-apiserver-to-kubelet-signer", "4.12.3", "client-ca kube-apiserver-client-ca", No, "/etc/kubernetes/kubelet-ca.crt pools"},
		{"kube-apiserver-to-kubelet-signer", "4.15.3", "client-ca kube-apiserver-client-ca", No, "/etc/kubernetes/kubelet-ca.crt"},
		{"loadbalancer-serving-signer", "4.15.3", "kube-apiserver-server-ca kube-root-ca.crt", Yes, "/var/lib/kubelet/kubeconfig"},
		{"loadbalancer-serving-signer", "4.16.3", "kubeconfig-data", No, "/var/lib/kubelet/kubeconfig"},
		{"aggregator-client-signer", "4.15.3", "aggregator-client-ca", No, ""},
		{"loadbalancer-serving-signer", "", "kube-apiserver-server-ca", Unknown, ""},
		// What else is in a bundle comes to nodes with it, whatever verifies by it there.
		{"kube-control-plane-signer", "4.12.3", "client-ca", No, ""},
		{"kube-control-plane-signer", "4.13.3", "client-ca", No, "/etc/kubernetes/kubelet-ca.crt"},
		{"localhost-serving-signer", "4.15.3", "kube-apiserver-server-ca", No, ""},
		{"localhost-serving-signer", "4.16.3", "kubeconfig-data", No, "/var/lib/kubelet/kubeconfig"},
	} {
		v := in(c.version)
		r := rotation(c.signer)
		var carriers []string
		for _, a := range DownstreamAggregates(r.Bundle, v) {
			carriers = append(carriers, a.Target.Name)
		}
		for want := range strings.FieldsSeq(c.carriers) {
			if !slices.Contains(carriers, want) {
				t.Errorf("%s in %s: %s is not among what carries it: %s", c.signer, c.version, want, carriers)
			}
		}
		if _, got := r.Undelivered(v); got != c.withheld {
			t.Errorf("%s in %s: withheld %s, want %s", c.signer, c.version, got, c.withheld)
		}
		var brought []string
		for _, d := range r.Deliveries(v) {
			brought = append(brought, d.To.Name)
			if d.Pools {
				brought = append(brought, "pools")
			}
		}
		if got := strings.Join(brought, " "); got != c.brought {
			t.Errorf("%s in %s: brought to %q, want %q", c.signer, c.version, got, c.brought)
		}
	}
}

// TestWhoVerifiesWhatIsSigned: of all that a signer signs, and that is rotated with it,
// a verifier is known: else it could never be said that it is trusted.
func TestWhoVerifiesWhatIsSigned(t *testing.T) {
	t.Parallel()
	v := Versions{Cluster: "4.16.3"}
	asked := 0
	for _, r := range Rotations() {
		if trigger, known := TriggerOf(r.Signer, v); known != Yes || trigger.Annotation == "" || r.In.Holds(v) != Yes {
			continue
		}
		for _, leaf := range r.Targets {
			if IsExternalServingCert(leaf) {
				continue // people outside do, which is said
			}
			if asked++; !slices.ContainsFunc(Edges(), func(e Edge) bool { return e.Presented == leaf && e.In.Holds(v) == Yes }) {
				t.Errorf("%s signs %s, and no edge says who verifies that", r.Signer, leaf)
			}
		}
	}
	if asked < 10 {
		t.Errorf("only %d were asked about", asked)
	}
}

// TestASignerWithoutARotationIsOneAllTheSame: what the catalog lists is not denied.
func TestASignerWithoutARotationIsOneAllTheSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, version string
		want          bool
	}{
		{"machine-config-server-ca", "4.18.1", false},
		{"machine-config-server-ca", "4.19.1", false},
		{"openshift-etcd/etcd-signer", "4.16.1", true},
		{"openshift-config/etcd-signer", "4.17.1", true},
		{"openshift-config/etcd-signer", "4.16.1", false},
		{"csr-signer", "4.16.1", false},
		{"loadbalancer-serving-signer", "4.16.1", false},
		{"machine-config-server-ca", "new", false},
		{"kubelet-client", "4.16.1", false},
		{"", "4.16.1", false},
	} {
		if p, ok := UnrotatedSigner(c.name, Versions{Cluster: c.version}); ok != c.want {
			t.Errorf("%s in %s: %s, %t", c.name, c.version, p.Ref, ok)
		}
	}
}

// TestRotationReplacesASecretOfAnotherType: library-go up to release-4.14 sets the type
// whenever it rotates, and a Secret's type can't be changed.
func TestRotationReplacesASecretOfAnotherType(t *testing.T) {
	t.Parallel()
	for version, want := range map[string][2]bool{
		"4.12.1": {true, false}, "4.14.30": {true, false}, "4.15.9": {false, true}, "4.15.10": {false, false}, "4.16.0": {false, false}, "4.22.1": {false, false},
	} {
		row, known := SignerTypeOf("SecretTypeTLS", Versions{Cluster: version})
		if got := [2]bool{row.ReplacedByRotation, row.NeedsAction}; known != Yes || got != want {
			t.Errorf("%s: %t, %s; want %t", version, got, known, want)
		}
	}
}
