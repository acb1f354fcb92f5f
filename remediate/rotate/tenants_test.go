package rotate

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// TestATenantsCopyHoldsNoRotationUp: users of a namespace may replace its kube-root-ca.crt, and make it
// immutable. Copies in the platform's namespaces hold rotations up as ever, and are named.
func TestATenantsCopyHoldsNoRotationUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		title   string
		without []string // namespaces whose copy lacks the new CA
		reached assess.Status
		says    string
	}{
		{"all have it", nil, assess.Pass, ""},
		{"a tenant's does not", []string{"team"}, assess.Pass, "; without it, in namespaces whose users may write it: ConfigMap/team/kube-root-ca.crt"},
		{"the platform's does not", []string{"openshift-z"}, assess.Warn, "without it: ConfigMap/openshift-z/kube-root-ca.crt"},
		{"many tenants' and the platform's do not", []string{"a", "b", "c", "d", "e", "openshift-z"}, assess.Warn, "without it: ConfigMap/openshift-z/kube-root-ca.crt[ca.crt]; without it, in namespaces"},
	} {
		r := newRotating(loadBalancer, "4.15.3")
		both := pkitest.Bundle(r.old.CertPEM, r.new.CertPEM)
		r.put(r.rotation().Signer, "kubernetes.io/tls", r.new.CertPEM)
		for _, at := range append([]catalog.Ref{r.rotation().Bundle}, r.carried()...) {
			r.take(at)
			if at.Namespace != "*" {
				r.put(at, "", both)
			}
		}
		copied := func(namespace string, pem []byte) { r.publish(namespace, "kube-root-ca.crt", "ca.crt", pem) }
		copied("openshift-y", both)
		for _, namespace := range c.without {
			copied(namespace, r.old.CertPEM)
		}
		for _, s := range r.preflight(t, loadBalancer).stages() {
			if s.ID == StageAggregates && (s.Status != c.reached || !strings.Contains(s.Reason, c.says) || (len(s.Remediation.Text) > 0) != (c.reached != assess.Pass)) {
				t.Errorf("%s: %s: %s; next %s", c.title, s.Status, s.Reason, s.Remediation.Text)
			}
		}
	}
}

// publish adds a copy that every namespace has.
func (r *rotating) publish(namespace, name, key string, pem []byte) {
	at := pki.Location{Kind: catalog.ConfigMap, Namespace: namespace, Name: name, Key: key}
	r.s.Bundles = append(r.s.Bundles, inspect.Bundle{At: at, Object: &inspect.Object{Kind: at.Kind, Namespace: namespace, Name: name}, Content: r.sc.Scan(pem)[0].Content})
}

// TestATenantsStoreHoldsNoRotationUp: nor does what they say their pods trust as a Service.
func TestATenantsStoreHoldsNoRotationUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		namespace string
		holds     bool
	}{{"team", true}, {"openshift-z", false}} {
		r := newRotating("signing-key", "4.15.3")
		store := func(namespace string, pem []byte) {
			r.publish(namespace, "openshift-service-ca.crt", "service-ca.crt", pem)
		}
		r.put(catalog.Ref{Kind: catalog.ConfigMap, Namespace: "openshift-ingress", Name: "service-ca-bundle", Key: "service-ca.crt"}, "", r.old.CertPEM)
		store("openshift-y", r.old.CertPEM)
		store(c.namespace, pkitest.NewCA("own", r.at.AddDate(0, -1, 0), r.at.AddDate(1, 0, 0)).CertPEM)
		r.put(catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-y", Name: "serving", Key: "tls.crt"}, "kubernetes.io/tls", r.old.Issue("svc", r.at.AddDate(0, -1, 0), r.at.AddDate(1, 0, 0)).CertPEM)
		r.s.Bundles[len(r.s.Bundles)-1].Object.Annotations = map[string]string{catalog.AnnotationServiceName: "svc"}
		for _, s := range r.preflight(t, "signing-key").stages() {
			if s.ID == StageTrust && (strings.Contains(s.Reason, "do not trust it") == c.holds || strings.Contains(s.Reason, "not judged by, as their users may write it: namespaces "+c.namespace) != c.holds) {
				t.Errorf("%s: %s: %s", c.namespace, s.Status, s.Reason)
			}
			if s.ID == StageEdges && c.holds && strings.Contains(s.Reason, "do not hold") {
				t.Errorf("%s: %s: %s", c.namespace, s.Status, s.Reason)
			}
		}
	}
}

// TestTenantsStoresCostARotationWhatIsBounded: each may have a hundred CAs of the new signer's name,
// with large keys.
func TestTenantsStoresCostARotationWhatIsBounded(t *testing.T) {
	t.Parallel()
	r := newRotating("signing-key", "4.15.3")
	ca := *pki.NewScanner().Scan(r.old.CertPEM)[0].Content.Certs[0]
	var roots []*pki.Cert
	for i := range 100 {
		one := ca
		one.Fingerprint, one.PublicKey = pki.FingerprintOf([]byte{byte(i)}), "RSA 16384"
		roots = append(roots, &one)
	}
	b := inspect.NewBudget(0)
	for namespace, want := range map[string]int{"team": 0, "openshift-console": 50} {
		got := 0
		for range 50 {
			if paid(b, trust.Claim{Tenant: "team", Trust: []pki.Location{{Kind: catalog.ConfigMap, Namespace: namespace}}, Roots: roots}, []*pki.Cert{&ca}) {
				got++
			}
		}
		if got != want {
			t.Errorf("by trust anchors in %s: %d", namespace, got)
		}
	}
	if !paid(b, trust.Claim{Tenant: "team", Trust: []pki.Location{{Kind: catalog.ConfigMap, Namespace: "team"}}, Roots: roots[:1]}, []*pki.Cert{&ca}) {
		t.Error("one CA costs too much")
	}
}
