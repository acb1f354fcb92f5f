package catalog

import (
	"slices"
	"strings"
	"testing"
)

// TestEtcdReadsWhatItsStaticPodNames: bindata/etcd/pod.yaml of cluster-etcd-operator names the
// files, and its starter.go the objects of which they are copies.
func TestEtcdReadsWhatItsStaticPodNames(t *testing.T) {
	t.Parallel()
	const peers, clients = "etcd's members trust each other", "etcd trusts kube-apiserver's client certificate"
	const all = "ConfigMap/openshift-etcd/etcd-all-bundles[server-ca-bundle.crt]"
	for title, v := range goldenVersions() {
		if v.NotOpenShift {
			continue
		}
		want := map[string]string{peers: "ConfigMap/openshift-etcd/etcd-peer-client-ca[ca-bundle.crt]", clients: "ConfigMap/openshift-etcd/etcd-serving-ca[ca-bundle.crt]"}
		read := []string{"etcd-serving-ca", "etcd-peer-client-ca", "etcd-metrics-proxy-serving-ca"}
		unread := []string{"etcd-all-bundles", "etcd-ca-bundle"}
		if counted(v) >= 17 {
			want = map[string]string{peers: all, clients: all}
			read, unread = []string{"etcd-all-bundles"}, []string{"etcd-serving-ca", "etcd-peer-client-ca", "etcd-ca-bundle"}
		}
		got := map[string]string{}
		for _, e := range controlPlaneEdges() {
			if e.In.Holds(v) == Yes && e.Verifier == "etcd" {
				got[e.Statement] += e.Trust.String()
			}
		}
		for claim, trust := range want {
			if got[claim] != trust {
				t.Errorf("%s: %s by %q, want %q", title, claim, got[claim], trust)
			}
		}
		for _, name := range read {
			if row, known := staticPodInputOf(bundle(etcdTarget, name), v); known != Yes || !row.Rollout {
				t.Errorf("%s: %s is part of a revision of etcd: %s", title, name, known)
			}
		}
		for _, name := range unread {
			if _, known := staticPodInputOf(bundle(etcdTarget, name), v); known != No {
				t.Errorf("%s: etcd reads %s: %s", title, name, known)
			}
		}
		for name, reads := range map[string]Tristate{"etcd-all-certs": Yes, "etcd-peer-master-0": No, "etcd-serving-master-0": No} {
			if _, known := staticPodInputOf(secret(etcdTarget, name), v); known != reads {
				t.Errorf("%s: etcd reads %s: %s, want %s", title, name, known, reads)
			}
		}
	}
}

// TestOnlyInstallerPodsWriteEtcdsFiles: its static pod has no cert-syncer.
func TestOnlyInstallerPodsWriteEtcdsFiles(t *testing.T) {
	t.Parallel()
	const dir = "/etc/kubernetes/static-pod-resources/etcd-certs/"
	for file, to := range map[string]int{
		"secrets/etcd-all-certs/etcd-peer-master-0.crt":    0,
		"configmaps/etcd-serving-ca/ca-bundle.crt":         16,
		"configmaps/etcd-peer-client-ca/ca-bundle.crt":     16,
		"configmaps/etcd-all-bundles/server-ca-bundle.crt": -17,
		"secrets/etcd-peer-master-0/tls.crt":               -99,
	} {
		for title, v := range goldenVersions() {
			if v.NotOpenShift {
				continue
			}
			minor := counted(v)
			want := to == 0 || to > 0 && minor <= to || to < 0 && minor >= -to
			row, ok := NodeCopyOf(dir+file, v)
			if ok != want || ok && row.Writer != installerPod {
				t.Errorf("%s: %s is a copy: %t, written by %q", title, file, ok, row.Writer)
			}
		}
	}
	for _, p := range nodeStaticPodPlaces() {
		if etcds := strings.Contains(p.Name, "/etcd-"); etcds && p.Writer != installerPod && p.Writer != noComponent || etcds != (p.In.Component == etcd) {
			t.Errorf("%s is written by %s", p.Ref, p.Writer)
		}
	}
}

// TestEtcdsTwoBundlesAreInOneObject: a change of either is one revision.
func TestEtcdsTwoBundlesAreInOneObject(t *testing.T) {
	t.Parallel()
	for source, key := range map[string]string{"etcd-ca-bundle": "server-ca-bundle.crt", "etcd-metrics-ca-bundle": "metrics-ca-bundle.crt"} {
		for version, want := range map[string]bool{"4.16.1": false, "4.17.1": true, "4.22.1": true} {
			into := DownstreamAggregates(bundle(etcdTarget, source), Versions{Cluster: version})
			got := slices.ContainsFunc(into, func(a Aggregate) bool {
				return a.Target == Ref{Kind: ConfigMap, Namespace: etcdTarget, Name: "etcd-all-bundles", Key: key} && a.Relation == Copy
			})
			if got != want {
				t.Errorf("%s: %s is copied into etcd-all-bundles[%s]: %t", version, source, key, got)
			}
		}
	}
}

// TestServingCertificatesOfStaticPodsArePartOfRevisions: those that service-ca signs, of which
// the operators' list of deploymentSecrets has them.
func TestServingCertificatesOfStaticPodsArePartOfRevisions(t *testing.T) {
	t.Parallel()
	for _, namespace := range []string{kcmTarget, schedulerTarget} {
		if row, known := staticPodInputOf(secret(namespace, "serving-cert"), Versions{Cluster: "4.16.1"}); known != Yes || !row.Rollout {
			t.Errorf("%s/serving-cert is part of a revision: %s", namespace, known)
		}
	}
}

// TestAggregatedAPIServersReadWhatIsPublished: their operators give them no CA of a front proxy.
func TestAggregatedAPIServersReadWhatIsPublished(t *testing.T) {
	t.Parallel()
	for _, e := range controlPlaneEdges() {
		if strings.Contains(e.Verifier, "API servers") && e.Trust != publishedRequestHeaderCA() {
			t.Errorf("%s reads %s", e.ID, e.Trust)
		}
	}
}
