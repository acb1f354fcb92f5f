package catalog

import (
	"slices"
	"strings"
	"testing"
)

// TestInitialServerCACountsBeyondTheInstallation in 4.12: the operator reads it at every sync.
func TestInitialServerCACountsBeyondTheInstallation(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"4.12.60": "at all times", "4.13.9": "while a cluster is being installed", "4.22.1": "while a cluster is being installed"} {
		p, ok := Lookup(ConfigMap, userConfig, "initial-kube-apiserver-server-ca", "ca-bundle.crt", Versions{Cluster: version})
		if !ok || !strings.Contains(p.Doc, want) {
			t.Errorf("%s: %q", version, p.Doc)
		}
	}
}

// TestTheRegistryOnMastersIsIssuedAgainOnce: by a controller that is there with a MachineSet alone.
func TestTheRegistryOnMastersIsIssuedAgainOnce(t *testing.T) {
	t.Parallel()
	for version, want := range map[string][]string{"4.21.3": {"made once, at the installation"}, "4.22.7": {"made once, at the installation"}, "4.22.10": {"MachineSet", "for a new CA"}} {
		for _, at := range []Ref{secret(mcoTarget, "internal-release-image-tls"), carried("/etc/iri-registry/certs/tls.crt"), file("/etc/iri-registry/certs/tls.crt")} {
			l, known := LifetimeOf(at, Versions{Cluster: version})
			if known != Yes || l.SelfRotating() || slices.ContainsFunc(want, func(part string) bool { return !strings.Contains(l.Doc, part) }) {
				t.Errorf("%s: %s: %s, %q", version, at, known, l.Doc)
			}
		}
	}
}

// TestMachineConfigServerRotatesWithAMachineSet, whatever else of the Machine API works.
func TestMachineConfigServerRotatesWithAMachineSet(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"machine-config-server-ca", "machine-config-server-tls"} {
		if l, known := LifetimeOf(secret(mcoTarget, name), Versions{Cluster: "4.19.3"}); known != Yes || !strings.Contains(l.Doc, "MachineSet") {
			t.Errorf("%s: %s, %q", name, known, l.Doc)
		}
	}
}

// TestRegistryFoldersDoNotStay: what deletes them is in each row about them.
func TestRegistryFoldersDoNotStay(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"4.12.60", "4.13.9", "4.14.3", "4.22.1"} {
		for _, p := range slices.Concat(machineConfigFilePlaces(), nodeKubeletPlaces()) {
			if strings.Contains(p.String(), "/etc/docker/certs.d/") && p.In.Holds(Versions{Cluster: version}) == Yes && !strings.Contains(p.Doc, "delete") {
				t.Errorf("%s: %s: %q", version, rowName(p), p.Doc)
			}
		}
	}
}

// TestSchedulersHaveNoBundlesWithoutRevisions: its operator's CertConfigMaps are empty.
func TestSchedulersHaveNoBundlesWithoutRevisions(t *testing.T) {
	t.Parallel()
	const dir = "/etc/kubernetes/static-pod-resources/"
	for path, want := range map[string]bool{
		"kube-scheduler-certs/configmaps/client-ca/ca-bundle.crt":                false,
		"kube-scheduler-certs/secrets/kube-scheduler-client-cert-key/tls.crt":    true,
		"kube-controller-manager-certs/configmaps/client-ca/ca-bundle.crt":       true,
		"kube-apiserver-certs/configmaps/aggregator-client-ca/ca-bundle.crt":     true,
		"kube-apiserver-certs/secrets/internal-loadbalancer-serving-certkey/x.k": false,
	} {
		for title, v := range goldenVersions() {
			if _, ok := NodeCopyOf(dir+path, v); ok != want && !v.NotOpenShift {
				t.Errorf("%s: %s is a copy: %t", title, path, ok)
			}
		}
	}
}

// TestKubeletKubeconfigsWaitForSomeCAs: machine-config-daemon writes the kubelet's own for others.
func TestKubeletKubeconfigsWaitForSomeCAs(t *testing.T) {
	t.Parallel()
	for version, late := range map[string]int{"4.15.9": 0, "4.16.3": len(noRestart()), "4.22.1": len(noRestart())} {
		for _, path := range KubeletKubeconfigs() {
			want := late
			if path != KubeletKubeconfigCA().Name {
				want = 0
			}
			c, ok := NodeCopyOf(path, Versions{Cluster: version})
			if !ok || len(c.Late) != want || strings.Contains(c.Doc, "while machine-config-operator announces it") != (late > 0) {
				t.Errorf("%s: %s: %v, %q", version, path, c.Late, c.Doc)
			}
		}
	}
}

// TestWhatAMachineConfigsRegistryFilesDo: no process reloads them.
func TestWhatAMachineConfigsRegistryFilesDo(t *testing.T) {
	t.Parallel()
	const anchors = "/etc/pki/ca-trust/source/anchors/"
	for _, c := range []struct {
		path, version string
		effect        NodeEffect
		says          string
	}{
		{anchors + "iri-root-ca.crt", "4.21.3", NodeReboot, ""},
		{anchors + "iri-root-ca.crt", "4.22.1", NodeTrust, "CRI-O is not restarted"},
		{"/etc/iri-registry/certs/tls.crt", "4.22.1", NodeService, "iri-registry.service"},
		{anchors + "openshift-config-user-ca-bundle.crt", "4.15.9", NodeCRIO, "a reload instead"},
		{anchors + "openshift-config-user-ca-bundle.crt", "4.16.3", NodeCRIO, ""},
	} {
		row, known := configFileEffectOf(c.path, Versions{Cluster: c.version})
		if known != Yes || row.Effect != c.effect || !strings.Contains(row.Doc, c.says) || (row.Doc == "") != (c.says == "") {
			t.Errorf("%s in %s: %s, %q: %q", c.path, c.version, known, row.Effect, row.Doc)
		}
	}
}

// TestFilesOfStaticPods: what the installers' lists have, by the version.
func TestFilesOfStaticPods(t *testing.T) {
	t.Parallel()
	const dir = "/etc/kubernetes/static-pod-resources/"
	for _, c := range []struct{ path, version, writer, says string }{
		{"etcd-certs/configmaps/etcd-serving-ca/ca-bundle.crt", "4.16.3", installerPod, "what etcd trusts"},
		{"etcd-certs/configmaps/etcd-serving-ca/ca-bundle.crt", "4.17.1", noComponent, "left over"},
		{"etcd-certs/configmaps/etcd-all-bundles/server-ca-bundle.crt", "4.17.1", installerPod, "what etcd trusts"},
		{"etcd-pod-12/secrets/etcd-all-certs/etcd-peer-m0.crt", "4.12.60", installerPod, "of one revision"},
		{"etcd-pod-12/configmaps/etcd-all-bundles/server-ca-bundle.crt", "4.22.1", installerPod, "etcd reads those below etcd-certs"},
		{"kube-controller-manager-pod-7/configmaps/cloud-config/ca-bundle.pem", "4.15.9", installerPod, "cloud API"},
		{"kube-controller-manager-pod-7/configmaps/cloud-config/ca-bundle.pem", "4.16.3", "", ""},
		{"kube-controller-manager-pod-7/secrets/serving-cert/tls.crt", "4.22.1", installerPod, "cluster-policy-controller"},
		{"kube-scheduler-pod-7/secrets/serving-cert/tls.crt", "4.12.60", installerPod, "10259"},
		{"kube-apiserver-certs/secrets/check-endpoints-client-cert-key/tls.crt", "4.15.9", certSyncer, "of its container check-endpoints"},
		{"kube-scheduler-certs/secrets/kube-scheduler-client-cert-key/tls.crt", "4.15.9", "installer pod of a new revision", "presents"},
	} {
		p, ok := Lookup(File, "", dir+c.path, "", Versions{Cluster: c.version})
		if ok != (c.says != "") || !strings.Contains(p.Writer, c.writer) || !strings.Contains(p.Doc, c.says) {
			t.Errorf("%s in %s: %q, %q", c.path, c.version, p.Writer, p.Doc)
		}
	}
}

// TestWhereaboutsKubeconfigIsWrittenAgain where the DaemonSet that is to do it has the directory: in the
// patch versions before that it has not, and fails at a change instead of writing.
func TestWhereaboutsKubeconfigIsWrittenAgain(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"4.12.60": false, "4.15.9": false, "4.16.3": false, "4.16.68": false, "4.16.69": true, "4.17.54": false, "4.17.56": true,
		"4.18.20": false, "4.18.37": false, "4.18.38": true, "4.19.0": false, "4.19.24": false, "4.19.26": true, "4.20.6": false, "4.20.9": true, "4.21.0": true, "4.22.1": true} {
		p, ok := Lookup(File, "", "/etc/kubernetes/cni/net.d/whereabouts.d/whereabouts.kubeconfig", "", Versions{Cluster: version})
		if !ok || strings.Contains(p.Writer, "whereabouts-token-watcher") != want || strings.Contains(p.Doc, "again when that changes") != want {
			t.Errorf("%s: written by %q: %s", version, p.Writer, p.Doc)
		}
	}
}

// TestASelfSignedKubeletCertificateIsNotRenewed, not even when it has expired.
func TestASelfSignedKubeletCertificateIsNotRenewed(t *testing.T) {
	t.Parallel()
	l, known := LifetimeOf(file("/var/lib/kubelet/pki/kubelet.crt"), Versions{NotOpenShift: true, Kubernetes: "v1.35.4"})
	if known != Yes || l.Validity != year || l.SelfRotating() {
		t.Errorf("%s: %+v", known, l)
	}
}
