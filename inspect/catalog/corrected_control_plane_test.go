package catalog

import (
	"slices"
	"strings"
	"testing"
)

// TestWhoElseWrites: beside each kube-apiserver, kube-controller-manager and kube-scheduler runs
// another writer, of bundles and copies at any time, of what is signed once that is expired.
func TestWhoElseWrites(t *testing.T) {
	t.Parallel()
	const always, expired = false, true
	want := map[Ref]bool{
		bundle(kasTarget, "client-ca"):                                              always,
		secret(kcmTarget, "csr-signer"):                                             always,
		bundle(kcmOperator, "csr-signer-ca"):                                        always,
		bundle(kcmOperator, "csr-controller-ca"):                                    always,
		bundle(managed, "csr-controller-ca"):                                        always,
		secret(kcmTarget, "kube-controller-manager-client-cert-key"):                always,
		secret(schedulerTarget, "kube-scheduler-client-cert-key"):                   always,
		secret(mcoTarget, "internal-release-image-tls"):                             always,
		{Kind: ConfigMap, Namespace: "kube-system", Name: "root-ca", Key: "ca.crt"}: always,
	}
	for _, r := range append(kubeAPIServerRotations(), kubeControllerManagerRotations()[0]) {
		want[r.Bundle] = always
		for _, signed := range append([]Ref{r.Signer}, r.Targets...) {
			want[signed] = expired
		}
	}
	got := 0
	for _, p := range Places() {
		if p.SecondWriter == "" {
			continue
		}
		got++
		whenExpired, ok := want[p.Ref]
		if !ok || whenExpired != strings.Contains(p.SecondWriter, "once it is expired") || !strings.Contains(p.WrittenBy(), "also written by "+p.SecondWriter) {
			t.Errorf("%s: %s", rowName(p), p.WrittenBy())
		}
	}
	if got != len(want) {
		t.Errorf("%d places have a second writer, want %d", got, len(want))
	}
	for _, trigger := range Triggers() {
		p, ok := Lookup(trigger.Secret.Kind, trigger.Secret.Namespace, trigger.Secret.Name, trigger.Secret.Key, Versions{Cluster: "4.19.9"})
		if trigger.SecondIssuer != "" && (!ok || !strings.Contains(p.SecondWriter, trigger.SecondIssuer)) {
			t.Errorf("%s: %s may issue it, and %q writes it", trigger.Secret, trigger.SecondIssuer, p.SecondWriter)
		}
	}
}

// TestWhoFillsIn: an operator makes the token's Secret, without data.
func TestWhoFillsIn(t *testing.T) {
	t.Parallel()
	for at, want := range map[Ref]string{
		{Kind: Secret, Namespace: kasTarget, Name: "localhost-recovery-client-token"}:       kasOwner + ", written by kube-controller-manager",
		{Kind: Secret, Namespace: kcmTarget, Name: "localhost-recovery-client-token"}:       kcmOwner + ", written by kube-controller-manager",
		{Kind: Secret, Namespace: schedulerTarget, Name: "localhost-recovery-client-token"}: schedulerOwner + ", written by kube-controller-manager",
		bundle(kasTarget, "user-client-ca"):                                                 "user, written by " + kasOwner,
	} {
		if p, ok := Lookup(at.Kind, at.Namespace, at.Name, at.Key, Versions{Cluster: "4.19.9"}); !ok || p.WrittenBy() != want {
			t.Errorf("%s: %s, want %s", at, p.WrittenBy(), want)
		}
	}
}

// TestNothingOutlivesItsSigner: library-go's rotation gives no more than the signer has left.
func TestNothingOutlivesItsSigner(t *testing.T) {
	t.Parallel()
	for title, v := range goldenVersions() {
		for _, r := range Rotations() {
			signer, known := LifetimeOf(r.Signer, v)
			if r.In.Holds(v) != Yes || known != Yes || signer.Validity == 0 {
				continue
			}
			for _, target := range r.Targets {
				if life, known := LifetimeOf(target, v); known == Yes && life.Validity > signer.Validity {
					t.Errorf("%s: %s lives %s, its signer %s", title, target, length(life.Validity), length(signer.Validity))
				}
			}
		}
	}
}

// TestNoDefaultServingCertificate: APIServer spec.servingCerts has named ones only.
func TestNoDefaultServingCertificate(t *testing.T) {
	t.Parallel()
	at, v := secret(kasTarget, "user-serving-cert"), Versions{Cluster: "4.19.9"}
	if p, ok := Lookup(at.Kind, at.Namespace, at.Name, at.Key, v); ok {
		t.Errorf("%s: %s", at, p.Doc)
	}
	if _, read := staticPodInputOf(at, v); read != No || slices.Contains(NamedCertificates(), at) {
		t.Errorf("%s is read: %s, served: %v", at, read, NamedCertificates())
	}
}

// TestMetricsHaveTheirOwnSigner: etcd-signer signs nothing of etcd's metrics.
func TestMetricsHaveTheirOwnSigner(t *testing.T) {
	t.Parallel()
	p, ok := Lookup(Secret, userConfig, "etcd-signer", "tls.crt", Versions{Cluster: "4.15.9"})
	if !ok || !strings.Contains(p.Doc, "peer, serving and client") {
		t.Errorf("%q", p.Doc)
	}
}

// TestWhatEtcdLeavesBehind: what an earlier version synced, and nothing deletes.
func TestWhatEtcdLeavesBehind(t *testing.T) {
	t.Parallel()
	for at, last := range map[Ref]string{
		secret(userConfig, "etcd-metric-client"):            "4.15.9",
		bundle(etcdTarget, "etcd-serving-ca"):               "4.16.9",
		bundle(etcdTarget, "etcd-peer-client-ca"):           "4.16.9",
		bundle(userConfig, "etcd-metric-serving-ca"):        "4.16.9",
		bundle(etcdTarget, "etcd-metrics-proxy-client-ca"):  "4.16.9",
		bundle(etcdTarget, "etcd-metrics-proxy-serving-ca"): "4.16.9",
	} {
		for version, writer := range map[string]string{last: "", "4.17.1": noComponent, "4.22.1": noComponent} {
			if p, ok := Lookup(at.Kind, at.Namespace, at.Name, at.Key, Versions{Cluster: version}); !ok || p.Writer != writer {
				t.Errorf("%s in %s: %q, %q", at, version, p.Writer, p.Doc)
			}
		}
	}
}
