package catalog

import (
	"slices"
	"strconv"
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

// TestWhatStaticPodsReadOtherwise: a copy of the cloud API's CAs was part of revisions, and trusted-ca-bundle is
// written while the process runs, which reads it at its next start.
func TestWhatStaticPodsReadOtherwise(t *testing.T) {
	t.Parallel()
	for namespace, last := range map[string]int{kasTarget: 16, kcmTarget: 15} {
		at := Ref{Kind: ConfigMap, Namespace: namespace, Name: "cloud-config", Key: "ca-bundle.pem"}
		for minor := 12; minor <= 22; minor++ {
			v := Versions{Cluster: "4." + strconv.Itoa(minor) + ".1"}
			want := No
			if minor <= last {
				want = Yes
			}
			if row, got := staticPodInputOf(at, v); got != want || got == Yes && !row.Rollout {
				t.Errorf("%s in %s: %s", at, v.Cluster, got)
			}
			into := DownstreamAggregates(Ref{Kind: ConfigMap, Namespace: managed, Name: "kube-cloud-config", Key: "ca-bundle.pem"}, v)
			if slices.ContainsFunc(into, func(a Aggregate) bool { return a.Target == at }) != (want == Yes) {
				t.Errorf("%s in %s is a copy: %v", at, v.Cluster, want != Yes)
			}
			if row, got := staticPodInputOf(bundle(namespace, "trusted-ca-bundle"), v); got != Yes || row.Rollout || !row.AtStart {
				t.Errorf("trusted-ca-bundle of %s in %s: %s, %+v", namespace, v.Cluster, got, row)
			}
			if row, got := staticPodInputOf(bundle(namespace, "client-ca"), v); got != Yes || row.Rollout || row.AtStart {
				t.Errorf("client-ca of %s in %s: %s, %+v", namespace, v.Cluster, got, row)
			}
		}
	}
}

// TestEtcdOfTwoFencedNodes: pacemaker runs it, so that a revision does not restart it.
func TestEtcdOfTwoFencedNodes(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"4.18.1": false, "4.19.1": true, "4.22.1": true} {
		row, got := staticPodInputOf(bundle(etcdTarget, "etcd-all-bundles"), Versions{Cluster: version})
		if got != Yes || strings.Contains(row.Doc, "this does not restart etcd itself, which pacemaker runs") != want {
			t.Errorf("%s: %s, %q", version, got, row.Doc)
		}
	}
}

// TestThePartsOfUnions: the service CA's bundle is the key that a rotation makes, once it is there.
func TestThePartsOfUnions(t *testing.T) {
	t.Parallel()
	for target, want := range map[Ref]Ref{
		bundle(serviceCATarget, "signing-cabundle"): {Kind: Secret, Namespace: serviceCATarget, Name: "signing-key", Key: "ca-bundle.crt"},
		controllerConfig("spec.rootCAData"):         {Kind: ConfigMap, Namespace: "kube-system", Name: "root-ca", Key: "ca.crt"},
		userData("*-user-data-managed"):             {Kind: ConfigMap, Namespace: "kube-system", Name: "root-ca", Key: "ca.crt"},
	} {
		found := false
		for _, a := range Aggregates() {
			if a.Target == target && a.In.Holds(Versions{Cluster: "4.19.9"}) == Yes {
				found = slices.Contains(a.Parts, want) && len(a.Parts) == 2
			}
		}
		if !found {
			t.Errorf("%s is not made of %s, too", target, want)
		}
	}
}

// TestWhoApprovesNodesThatJoin: a request without a Machine waits.
func TestWhoApprovesNodesThatJoin(t *testing.T) {
	t.Parallel()
	row := KubeletRequesters()[0]
	if !row.ManualApproval || !strings.Contains(row.Doc, "a Machine with that InternalDNS name, without nodeRef and not older than 2 hours") {
		t.Errorf("%q", row.Doc)
	}
}
