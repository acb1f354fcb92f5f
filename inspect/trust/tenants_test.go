package trust_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// services is a cluster whose platform has so many Services, all of them signed by a CA.
func services(ca *pkitest.Authority, many int) *world {
	w := newWorld(catalog.Versions{Cluster: "4.15.3"})
	w.put(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-service-ca", Name: "signing-key", Key: "tls.crt"}, ca.CertPEM)
	w.publish("openshift-console", "", ca.CertPEM)
	for i := range many {
		w.service(fmt.Sprintf("openshift-p%d", i), ca)
	}
	return w
}

// publish adds what a field of a ConfigMap openshift-service-ca.crt holds.
func (w *world) publish(namespace, field string, pem []byte) {
	w.add(pki.Location{Kind: catalog.ConfigMap, Namespace: namespace, Name: "openshift-service-ca.crt", Key: "service-ca.crt", Field: field}, nil, pem)
}

// service adds a Secret that carries service-ca's annotation.
func (w *world) service(namespace string, ca *pkitest.Authority) {
	w.add(pki.Location{Kind: catalog.Secret, Namespace: namespace, Name: "serving", Key: "tls.crt"}, map[string]string{catalog.AnnotationServiceName: "svc"},
		ca.Issue("svc", from(-1), from(29), pkitest.DNS("svc."+namespace+".svc")).CertPEM)
}

func (w *world) add(at pki.Location, annotations map[string]string, pem []byte) {
	o := &inspect.Object{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name, Annotations: annotations}
	w.s.Bundles = append(w.s.Bundles, inspect.Bundle{At: at, Object: o, Content: w.sc.Scan(pem)[0].Content})
}

// TestATenantsStoreIsItsOwnNamespaces: what a tenant writes as trust anchors breaks nothing of the
// platform's, and is said once.
func TestATenantsStoreIsItsOwnNamespaces(t *testing.T) {
	t.Parallel()
	ca, own := pkitest.NewCA("service-signer@1", from(-10), from(900)), pkitest.NewCA("own", from(-10), from(900))
	w := services(ca, 5)
	w.publish("team", "", own.CertPEM)
	w.service("other", own)
	w.publish("same", "", ca.CertPEM)
	byTenant := map[string]int{}
	for _, c := range w.judge("service-ca") {
		byTenant[c.Tenant]++
		if broken := c.Tenant != ""; broken != (c.Status == assess.Fail) || broken && (!strings.Contains(c.Assessment.Impact, "namespace "+c.Tenant) || strings.Contains(c.Assessment.Impact, "the cluster's own components")) {
			t.Errorf("%q: %s, %s", c.Tenant, c.Status, c.Assessment.Impact)
		}
	}
	if byTenant[""] != 5 || byTenant["team"] != 1 || byTenant["other"] != 1 || byTenant["same"] != 0 {
		t.Errorf("claims by tenant: %v", byTenant)
	}
	// What it trusts, it trusts of its own namespace, too.
	w = services(ca, 2)
	w.publish("team", "", bytes.Join([][]byte{ca.CertPEM, own.CertPEM}, nil))
	w.service("team", own)
	for _, c := range w.judge("service-ca") {
		if c.Tenant == "team" && len(c.Roots) == 2 && c.Status != assess.Pass {
			t.Errorf("%s: %s", c.Status, c.Reason)
		}
	}
}

// TestANamedServiceCertificateIsOneOfThem: that the catalog has a row by its name takes it from no edge.
func TestANamedServiceCertificateIsOneOfThem(t *testing.T) {
	t.Parallel()
	ca, own := pkitest.NewCA("service-signer@1", from(-10), from(900)), pkitest.NewCA("own", from(-10), from(900))
	e := edge(t, "service-ca")
	w := newWorld(catalog.Versions{Cluster: "4.18.9"})
	w.trust(e, ca.CertPEM)
	w.put(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-console", Name: "console-serving-cert", Key: "tls.crt"}, leafFor(e, own, -1, 59).CertPEM)
	w.s.Bundles[len(w.s.Bundles)-1].Object.Annotations = map[string]string{catalog.AnnotationServiceName: "console"}
	for _, c := range w.judge(e.ID) {
		if c.Presented.Name == "console-serving-cert" && c.Status == assess.Fail {
			return
		}
	}
	t.Errorf("%+v", w.judge(e.ID))
}

// TestATenantsStoresAreFew: one value may hold thousands of them.
func TestATenantsStoresAreFew(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("service-signer@1", from(-10), from(900))
	for _, many := range []int{20, 80} {
		w := services(ca, 2)
		for i := range many {
			other := pkitest.NewCA(fmt.Sprintf("t%d", i), from(-10), from(900))
			w.publish("team", fmt.Sprintf("[%d]", i), bytes.Join([][]byte{ca.CertPEM, other.CertPEM}, nil))
		}
		holds, unknown := 0, 0
		for _, c := range w.judge("service-ca") {
			switch {
			case c.Tenant == "":
			case c.Status == assess.Pass:
				holds++
			case c.Status == assess.Unknown && strings.Contains(c.Reason, "were not compared") && len(c.Trust) == many-5:
				unknown++
			default:
				t.Errorf("%s: %s, %d places", c.Status, c.Reason, len(c.Trust))
			}
		}
		if holds != 5 || unknown != 1 {
			t.Errorf("of %d stores %d hold, %d claims are unknown", many, holds, unknown)
		}
	}
}

// TestTenantsAreComparedSoOften: any number of namespaces may have a store of their own, each of
// which verifies what all Services present.
func TestTenantsAreComparedSoOften(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("service-signer@1", from(-10), from(900))
	const many, stores = 20, 300
	w := services(ca, many)
	own := w.sc.Scan(ca.CertPEM)[0].Content.Certs[0]
	for i := range stores {
		at := pki.Location{Kind: catalog.ConfigMap, Namespace: fmt.Sprintf("team-%04d", i), Name: "openshift-service-ca.crt", Key: "service-ca.crt"}
		w.s.Bundles = append(w.s.Bundles, inspect.Bundle{At: at, Object: &inspect.Object{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name}, Content: &pki.Content{Certs: []*pki.Cert{own}}})
	}
	byStatus := map[assess.Status]int{}
	for _, c := range w.judge("service-ca") {
		if c.Tenant != "" {
			byStatus[c.Status]++
		}
	}
	if byStatus[assess.Pass] != 5_000/many || byStatus[assess.Unknown] != stores-5_000/many {
		t.Errorf("%v", byStatus)
	}
}

// TestCostlyChainsAreFew: CAs of one name with large keys cost a hundred signatures each time.
// What they cost leaves no claim of the platform's unjudged.
func TestCostlyChainsAreFew(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("service-signer@1", from(-10), from(900))
	w := services(ca, 1)
	own := w.sc.Scan(ca.CertPEM)[0].Content.Certs[0]
	large := []*pki.Cert{own}
	for i := range 100 { // a key that is only said to be large costs nothing here
		one := *own
		one.Fingerprint, one.PublicKey = pki.FingerprintOf([]byte{byte(i)}), "RSA 8192"
		large = append(large, &one)
	}
	const stores = 40
	for i := range stores {
		at := pki.Location{Kind: catalog.ConfigMap, Namespace: fmt.Sprintf("team-%04d", i), Name: "openshift-service-ca.crt", Key: "service-ca.crt"}
		w.s.Bundles = append(w.s.Bundles, inspect.Bundle{At: at, Object: &inspect.Object{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name}, Content: &pki.Content{Certs: large[:len(large):len(large)]}})
	}
	costly := 0
	for _, c := range w.judge("service-ca") {
		switch {
		case c.Tenant == "" && c.Status != assess.Pass, c.Tenant != "" && c.Status == assess.Fail:
			t.Errorf("%q: %s: %s", c.Tenant, c.Status, c.Reason)
		case c.Status == assess.Unknown && strings.Contains(c.Reason, "costs too much"):
			costly++
		}
	}
	if costly < stores/2 {
		t.Errorf("%d of %d are said to cost too much", costly, stores)
	}
}

// TestWhatATenantsServicesPresentIsBounded: one value may hold thousands of certificates. What is left
// out is unknown, and other Secrets of the namespace are judged.
func TestWhatATenantsServicesPresentIsBounded(t *testing.T) {
	t.Parallel()
	ca, own := pkitest.NewCA("service-signer@1", from(-10), from(900)), pkitest.NewCA("own", from(-10), from(900))
	for _, many := range []int{100, 700} {
		w := services(ca, 2)
		w.service("team", ca)
		fields := w.sc.Scan(own.Issue("svc", from(-1), from(29), pkitest.DNS("svc.team.svc")).CertPEM)[0].Content
		for i := range many {
			at := pki.Location{Kind: catalog.Secret, Namespace: "team", Name: "a-list", Key: "tls.crt", Field: fmt.Sprintf("[%d]", i)}
			o := &inspect.Object{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name, Annotations: map[string]string{catalog.AnnotationServiceName: "svc"}}
			w.s.Bundles = append(w.s.Bundles, inspect.Bundle{At: at, Object: o, Content: fields})
		}
		w.s.Sort()
		whole, failed, left := 0, 0, 0
		for _, c := range w.judge("service-ca") {
			switch {
			case c.Tenant == "" && c.Status != assess.Pass:
				t.Errorf("the platform's: %s, %s", c.Status, c.Reason)
			case c.Tenant == "":
			case c.Presented.Name == "serving" && c.Status == assess.Pass:
				whole++
			case c.Status == assess.Fail && c.Tenant == "team":
				failed++
			case c.Status == assess.Unknown && c.Tenant == "team" && strings.Contains(c.Reason, fmt.Sprintf("this one and %d more were not compared", many-500)):
				left++
			default:
				t.Errorf("%s: %s, %s", c.Presented, c.Status, c.Reason)
			}
		}
		if whole != 1 || failed != min(many, 499) || left != many/500 {
			t.Errorf("of %d: %d whole values pass, %d fail, %d claims of what is left out", many, whole, failed, left)
		}
	}
}
