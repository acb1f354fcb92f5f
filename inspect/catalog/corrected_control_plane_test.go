package catalog

import (
	"slices"
	"strings"
	"testing"
)

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
