package trust_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestManySmallCertificatesOfTenantsPayForNoLargeOnes: a tenant makes thousands.
func TestManySmallCertificatesOfTenantsPayForNoLargeOnes(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("service-signer@1", from(-10), from(900))
	afforded := func(small int) (n int) {
		w := services(ca, 1)
		own := w.sc.Scan(ca.CertPEM)[0].Content.Certs[0]
		twin := func(id string, key string) *pki.Cert {
			one := *own
			one.Fingerprint, one.PublicKey, one.IsCA = pki.FingerprintOf([]byte(id)), key, key != ""
			return &one
		}
		large := []*pki.Cert{own}
		for i := range 100 {
			large = append(large, twin(fmt.Sprint("large", i), "RSA 16384"))
		}
		for i := range small {
			at := pki.Location{Kind: catalog.Secret, Namespace: "team", Name: fmt.Sprintf("s%05d", i), Key: "tls.crt"}
			w.s.Bundles = append(w.s.Bundles, inspect.Bundle{At: at, Object: &inspect.Object{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name}, Content: &pki.Content{Certs: []*pki.Cert{twin(at.Name, "")}}})
		}
		for i := range 40 {
			at := pki.Location{Kind: catalog.ConfigMap, Namespace: fmt.Sprintf("team-%04d", i), Name: "openshift-service-ca.crt", Key: "service-ca.crt"}
			w.s.Bundles = append(w.s.Bundles, inspect.Bundle{At: at, Object: &inspect.Object{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name}, Content: &pki.Content{Certs: large[:len(large):len(large)]}})
		}
		for _, c := range w.judge("service-ca") {
			if c.Tenant != "" && !strings.Contains(c.Reason, "costs too much") {
				n++
			}
		}
		return n
	}
	few, many := afforded(1), afforded(20_000)
	if many > few+2 {
		t.Errorf("%d claims are afforded with few certificates, %d with many", few, many)
	}
}

// TestOneTenantsLargeKeysLeaveOthersJudged: what could not be paid for costs no other tenant anything.
func TestOneTenantsLargeKeysLeaveOthersJudged(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("service-signer@1", from(-10), from(900))
	w := services(ca, 1)
	own := w.sc.Scan(ca.CertPEM)[0].Content.Certs[0]
	store := func(namespace string, larger int) {
		certs := []*pki.Cert{own}
		for i := range larger { // a key that is only said to be large costs nothing here
			one := *own
			one.Fingerprint, one.PublicKey = pki.FingerprintOf(fmt.Append(nil, namespace, i)), "RSA 16384"
			certs = append(certs, &one)
		}
		for i := range 5 {
			at := pki.Location{Kind: catalog.ConfigMap, Namespace: namespace, Name: "openshift-service-ca.crt", Key: "service-ca.crt", Field: fmt.Sprintf("[%d]", i)}
			w.s.Bundles = append(w.s.Bundles, inspect.Bundle{At: at, Object: &inspect.Object{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name}, Content: &pki.Content{Certs: certs[:len(certs):len(certs)]}})
		}
	}
	store("a", 90)
	store("b", 5)
	costly := map[string]int{}
	for _, c := range w.judge("service-ca") {
		if strings.Contains(c.Reason, "costs too much") {
			costly[c.Tenant]++
		}
	}
	if costly["a"] < 4 || costly["b"] > 0 {
		t.Errorf("too costly, by tenant: %v", costly)
	}
}
