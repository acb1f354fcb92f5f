package rotate

import (
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestEtcdsMetricsHaveASignerOfTheirOwn: etcd-serving-metrics-NODE fits etcd-serving-*, too.
func TestEtcdsMetricsHaveASignerOfTheirOwn(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := &rotating{sc: pki.NewScanner()}
	r.s.Cluster.Versions = catalog.Versions{Cluster: "4.18.1"}
	want := map[string]string{"etcd-serving-master-0": "etcd-signer", "etcd-serving-metrics-master-0": "etcd-metric-signer"}
	ca := pkitest.NewCA("etcd", at.AddDate(0, -2, 0), at.AddDate(5, 0, 0))
	for name := range want {
		r.put(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-etcd", Name: name, Key: "tls.crt"}, "kubernetes.io/tls", ca.Issue(name, at.AddDate(0, 0, -5), at.AddDate(2, 0, 0)).CertPEM)
	}
	r.s.Sort()
	all := rotatables(inspect.NewFacts(r.s, at, 0))
	for name, signer := range want {
		of, err := FindRotatable(all, name)
		if err != nil || of.Rotation.Signer.Name != signer {
			t.Errorf("%s is signed by %s, want %s: %v", name, of.Rotation.Signer.Name, signer, err)
		}
	}
}
