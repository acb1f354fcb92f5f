package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What signs in an OpenShift of some version, with the bundle that publishes it and
// what it signs, is written down here a second time, from the operators' sources,
// to hold the rows against.
func TestEverySignerHasItsBundleAndItsTargets(t *testing.T) {
	signers := []struct {
		signer, bundle, targets string // "namespace/name", or a file's path
		from, to                int    // minors of 4; 0 is open
	}{
		{"openshift-kube-apiserver-operator/aggregator-client-signer", "openshift-config-managed/kube-apiserver-aggregator-client-ca", "openshift-kube-apiserver/aggregator-client", 0, 0},
		{"openshift-kube-apiserver-operator/kube-apiserver-to-kubelet-signer", "openshift-kube-apiserver-operator/kube-apiserver-to-kubelet-client-ca", "openshift-kube-apiserver/kubelet-client", 0, 0},
		{"openshift-kube-apiserver-operator/localhost-serving-signer", "openshift-kube-apiserver-operator/localhost-serving-ca", "openshift-kube-apiserver/localhost-serving-cert-certkey", 0, 0},
		{"openshift-kube-apiserver-operator/service-network-serving-signer", "openshift-kube-apiserver-operator/service-network-serving-ca", "openshift-kube-apiserver/service-network-serving-certkey", 0, 0},
		{"openshift-kube-apiserver-operator/loadbalancer-serving-signer", "openshift-kube-apiserver-operator/loadbalancer-serving-ca", "openshift-kube-apiserver/external-loadbalancer-serving-certkey openshift-kube-apiserver/internal-loadbalancer-serving-certkey", 0, 0},
		{"openshift-kube-apiserver-operator/localhost-recovery-serving-signer", "openshift-kube-apiserver-operator/localhost-recovery-serving-ca", "openshift-kube-apiserver/localhost-recovery-serving-certkey", 0, 0},
		{"openshift-kube-apiserver-operator/kube-control-plane-signer", "openshift-kube-apiserver-operator/kube-control-plane-signer-ca",
			"openshift-config-managed/kube-controller-manager-client-cert-key openshift-config-managed/kube-scheduler-client-cert-key openshift-kube-apiserver/control-plane-node-admin-client-cert-key openshift-kube-apiserver/check-endpoints-client-cert-key", 0, 0},
		{"openshift-kube-apiserver-operator/node-system-admin-signer", "openshift-kube-apiserver-operator/node-system-admin-ca", "openshift-kube-apiserver-operator/node-system-admin-client", 0, 0},
		{"openshift-kube-controller-manager-operator/csr-signer-signer", "openshift-kube-controller-manager-operator/csr-controller-signer-ca", "openshift-kube-controller-manager-operator/csr-signer", 0, 0},
		{"openshift-kube-controller-manager/csr-signer", "openshift-kube-controller-manager-operator/csr-signer-ca", "/var/lib/kubelet/pki/kubelet-client-*.pem /var/lib/kubelet/pki/kubelet-server-*.pem", 0, 0},
		{"openshift-config/etcd-signer", "openshift-config/etcd-ca-bundle", "openshift-etcd/etcd-peer-* openshift-etcd/etcd-serving-*", 0, 15},
		{"openshift-config/etcd-signer", "openshift-etcd/etcd-ca-bundle", "openshift-etcd/etcd-peer-* openshift-etcd/etcd-serving-* openshift-etcd/etcd-client", 16, 16},
		{"openshift-etcd/etcd-signer", "openshift-etcd/etcd-ca-bundle", "openshift-etcd/etcd-peer-* openshift-etcd/etcd-serving-* openshift-etcd/etcd-client", 17, 0},
		{"openshift-config/etcd-metric-signer", "openshift-config/etcd-metric-serving-ca", "openshift-etcd/etcd-serving-metrics-*", 0, 15},
		{"openshift-config/etcd-metric-signer", "openshift-etcd/etcd-metrics-ca-bundle", "openshift-etcd/etcd-serving-metrics-* openshift-etcd/etcd-metric-client", 16, 16},
		{"openshift-etcd/etcd-metric-signer", "openshift-etcd/etcd-metrics-ca-bundle", "openshift-etcd/etcd-serving-metrics-* openshift-etcd/etcd-metric-client", 17, 0},
		{"openshift-service-ca/signing-key", "openshift-service-ca/signing-cabundle", "", 0, 0},
		{"openshift-ingress-operator/router-ca", "openshift-config-managed/default-ingress-cert", "openshift-ingress/router-certs-*", 0, 0},
		{"openshift-machine-config-operator/machine-config-server-ca", "openshift-machine-config-operator/machine-config-server-ca", "openshift-machine-config-operator/machine-config-server-tls", 0, 0},
		{"openshift-ovn-kubernetes/ovn-ca", "openshift-ovn-kubernetes/ovn-ca", "openshift-ovn-kubernetes/ovn-cert", 0, 0},
		{"openshift-ovn-kubernetes/signer-ca", "openshift-ovn-kubernetes/signer-ca", "openshift-ovn-kubernetes/signer-cert", 0, 0},
		{"openshift-network-node-identity/network-node-identity-ca", "openshift-network-node-identity/network-node-identity-ca", "openshift-network-node-identity/network-node-identity-cert", 14, 0},
	}
	name := func(r Ref) string {
		if r.Kind == File {
			return r.Name
		}
		return r.Namespace + "/" + r.Name
	}
	for title, v := range goldenVersions() {
		if v.NotOpenShift {
			continue
		}
		minor := counted(v)
		var want, got []string
		for _, s := range signers {
			if minor >= s.from && (s.to == 0 || minor <= s.to) {
				want = append(want, s.signer+" > "+s.bundle+" > "+s.targets)
			}
		}
		for _, r := range Rotations() {
			if r.In.Holds(v) != Yes {
				continue
			}
			var targets []string
			for _, target := range r.Targets {
				targets = append(targets, name(target))
			}
			got = append(got, name(r.Signer)+" > "+name(r.Bundle)+" > "+strings.Join(targets, " "))
		}
		for _, line := range want {
			if !slices.Contains(got, line) {
				t.Errorf("%s: no rotation %s", title, line)
			}
		}
		for _, line := range got {
			if !slices.Contains(want, line) {
				t.Errorf("%s: who says %s", title, line)
			}
		}
	}
}

func TestEverySignerThatARowNamesHasARotation(t *testing.T) {
	// What signs nothing any more, or not yet, or on demand.
	idle := []string{"openshift-config/etcd-signer", "openshift-config/etcd-metric-signer", "openshift-etcd/etcd-signer", "openshift-etcd/etcd-metric-signer",
		"openshift-kube-controller-manager-operator/csr-signer", "openshift-machine-config-operator/machine-config-server-ca", "openshift-ingress/istio-ca-secret"}
	for title, v := range goldenVersions() {
		for _, p := range Places() {
			if p.Role != Signer || p.Kind != Secret || p.Selector != (ObjectSelector{}) || p.In.Holds(v) != Yes || v.NotOpenShift {
				continue
			}
			signs := slices.ContainsFunc(Rotations(), func(r Rotation) bool { return r.Signer == p.Ref && r.In.Holds(v) == Yes })
			if !signs && !slices.Contains(idle, p.Namespace+"/"+p.Name) {
				t.Errorf("%s: %s signs what?", title, p.Ref)
			}
		}
	}
}

func TestEveryLifetimeIsInAGolden(t *testing.T) {
	shown := map[Lifetime]bool{}
	for title, v := range goldenVersions() {
		golden := table(v)
		for _, p := range Places() {
			if p.In.Holds(v) != Yes {
				continue
			}
			l, answer := p.Lifetime(v)
			shown[l] = shown[l] || answer == Yes
			if answer == Yes && !strings.Contains(golden, rowName(p)+" ") {
				t.Errorf("%s: %s is not in it", title, rowName(p))
			}
		}
	}
	// A golden has one patch version of its minor; the others' answers are in TestLifetimeByPatchVersion.
	patched := func(in Range) Versions {
		version := fmt.Sprintf("%s.%d", in.To, in.Before.Lacks)
		if in.Since != (Change{}) {
			version = fmt.Sprintf("%s.%d", in.From, in.Since.Has)
		}
		return Versions{Cluster: version}
	}
	for _, p := range Places() {
		for _, l := range p.Lifetimes {
			if l.In.Since != (Change{}) || l.In.Before != (Change{}) {
				reached, answer := p.Lifetime(patched(l.In))
				shown[reached] = shown[reached] || answer == Yes
			}
			// A copy shares the lifetimes of its original, of which not all are its own.
			if !shown[l] {
				t.Errorf("%s: its lifetime of %s is in no golden", rowName(p), l.In)
			}
		}
	}
}

// TestLifetimesAreOfVersionsThatHaveThePlace: docs/catalog.md prints each of them beside its place.
func TestLifetimesAreOfVersionsThatHaveThePlace(t *testing.T) {
	for _, p := range Places() {
		for _, l := range p.Lifetimes {
			if l.In.Component == p.In.Component && !l.In.overlaps(p.In) {
				t.Errorf("%s: it is in %s, and a lifetime of it in %s", rowName(p), p.In, l.In)
			}
		}
	}
}

func TestTheRegistryOnMastersHasACertificateOfTenYears(t *testing.T) {
	for _, l := range internalReleaseLives() {
		if l.Validity != 10*year {
			t.Errorf("%s: %s", l.In, l.Validity)
		}
	}
}

func TestWhatHasLifetimesHasOneInEveryVersion(t *testing.T) {
	for title, v := range goldenVersions() {
		for _, p := range Places() {
			if len(p.Lifetimes) == 0 || p.In.Holds(v) != Yes {
				continue
			}
			if _, answer := p.Lifetime(v); answer != Yes {
				t.Errorf("%s: %s has lifetimes, and none for this version", title, rowName(p))
			}
		}
	}
}

func TestARowIsFoundByItsOwnName(t *testing.T) {
	for title, v := range goldenVersions() {
		for _, p := range Places() {
			if p.Selector != (ObjectSelector{}) || p.In.Holds(v) != Yes {
				continue
			}
			// No name that people give is in a family by chance.
			sample := func(s string) string { return strings.ReplaceAll(s, "*", "zz") }
			got, ok := Lookup(p.Kind, sample(p.Namespace), sample(p.Name), sample(p.Key), v)
			if !ok || got.Ref != p.Ref {
				t.Errorf("%s: %s is shadowed by %s (%v)", title, rowName(p), rowName(got), ok)
			}
		}
	}
}

// A name that is a row of its own in other versions only may not become another's
// by a family's pattern.
func TestNoPatternTakesANameOfAnotherVersion(t *testing.T) {
	for title, v := range goldenVersions() {
		for _, p := range Places() {
			if p.Selector != (ObjectSelector{}) || p.isPattern() || p.In.Holds(v) == Yes {
				continue
			}
			if got, ok := Lookup(p.Kind, p.Namespace, p.Name, p.Key, v); ok && (got.Owner != p.Owner || got.Role != p.Role) && got.isPattern() {
				t.Errorf("%s: %s, which is not of this version, is taken for %s of %s", title, rowName(p), rowName(got), got.Owner)
			}
		}
	}
}

func TestWriterIsAnother(t *testing.T) {
	for _, p := range Places() {
		if p.Writer == p.Owner {
			t.Errorf("%s: the owner writes it: say nothing", rowName(p))
		}
	}
}

func TestKubeletSetupsByVersion(t *testing.T) {
	for name, c := range map[string]struct {
		v    Versions
		want []string
	}{
		"OpenShift":                       {Versions{Cluster: "4.15.0", Kubernetes: "v1.28.7+6e2789b"}, []string{"OpenShift"}},
		"plain":                           {Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}, []string{"kubeadm"}},
		"plain, of a version of its own":  {Versions{NotOpenShift: true, Kubernetes: "x"}, []string{"kubeadm"}},
		"not known":                       {Versions{}, []string{"OpenShift", "kubeadm"}},
		"who may not read ClusterVersion": {Versions{Kubernetes: "v1.28.7+6e2789b"}, []string{"OpenShift", "kubeadm"}},
	} {
		var got []string
		for _, s := range KubeletSetups(c.v) {
			got = append(got, s.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for _, s := range allKubeletSetups() {
		if s.Bootstrap == "" || s.Kubeconfig == "" || s.CA.Key == "" || s.MasterCAFile == "" || s.CARemediation == "" || s.LocalName == "" || s.Source == "" {
			t.Errorf("%s: %+v", s.Name, s)
		}
	}
}

// kube-apiserver's client-ca-file is watched (kubernetes/apiserver dynamic_cafile_content.go), so
// that only kube-controller-manager, which publishes its --root-ca-file, is restarted for a new CA.
func TestKubeadmsAPIServerReloadsItsClientCAs(t *testing.T) {
	for _, s := range allKubeletSetups() {
		for _, f := range s.OtherTrustFiles {
			if f.Path == KubeadmCA && f.Masters == Yes && (!strings.Contains(f.Reader, "kube-apiserver verifies its clients with it, at once") || !strings.Contains(f.Reader, "kube-controller-manager publishes it as it was at its start") || strings.Contains(f.Remediation, "restart kube-apiserver")) {
				t.Errorf("%s: %s; %s", f.Path, f.Reader, f.Remediation)
			}
		}
	}
	for _, e := range kubeadmEdges() {
		if e.Verifier == "kube-apiserver" && e.ServerName == NameClient && e.Reload != ReloadOnChange {
			t.Errorf("%s reads its client CAs %s", e.ID, e.Reload)
		}
	}
}

func TestDistributionsByVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.30.4+k3s1": "k3s", "v1.30.4+rke2r1": "RKE2", "v1.30.4+k0s": "k0s", "v1.29.1-eks-508b6b3": "EKS", "v1.29.4-gke.1043002": "GKE",
		"v1.35.4": "", "v1.28.7+6e2789b": "", "": "",
	} {
		d, ok := DistributionOf(Versions{NotOpenShift: true, Kubernetes: version})
		if d.Name != want || ok != (want != "") {
			t.Errorf("%q is %q, %v", version, d.Name, ok)
		}
	}
	if d, ok := DistributionOf(Versions{Cluster: "4.15.0", Kubernetes: "v1.28.7+k3s1"}); ok {
		t.Errorf("OpenShift is %s", d.Name)
	}
}
