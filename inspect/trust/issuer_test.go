package trust

import (
	"slices"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestATenantsTwinIsNotTheIssuer: anybody may make a CA of another one's name and key, which
// verifies the same, and is of another age.
func TestATenantsTwinIsNotTheIssuer(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	one := func(raw []byte) *pki.Cert { return pki.NewScanner().Scan(raw)[0].Content.Certs[0] }
	ca := pkitest.NewCA("lb", from, from.AddDate(1, 0, 0))
	leaf, real := one(ca.Issue("api-int", from, from.AddDate(1, 0, 0)).CertPEM), one(ca.CertPEM)
	older, younger := *real, *real
	older.NotBefore, younger.NotBefore = from.AddDate(-1, 0, 0), from.AddDate(0, 1, 0)
	in := func(namespace string) func(*pki.Cert) inspect.StoredCert {
		return func(c *pki.Cert) inspect.StoredCert {
			at := pki.Location{Kind: "Route", Namespace: namespace, Name: "r", Field: "spec.tls.caCertificate"}
			return inspect.StoredCert{Cert: c, Entries: []*inspect.Entry{{Bundle: &inspect.Bundle{At: at}, Row: &catalog.Place{}}}}
		}
	}
	known, tenant := in("openshift-kube-apiserver"), in("shop")
	for name, c := range map[string]struct {
		certs []inspect.StoredCert
		want  *pki.Cert
	}{
		"it alone":                      {[]inspect.StoredCert{known(real)}, real},
		"beside a tenant's older one":   {[]inspect.StoredCert{tenant(&older), known(real)}, real},
		"beside a tenant's younger one": {[]inspect.StoredCert{tenant(&younger), known(real)}, real},
		"two that are the platform's":   {[]inspect.StoredCert{known(real), known(&older)}, &older},
		"tenants' alone":                {[]inspect.StoredCert{tenant(real), tenant(&older)}, &older},
		"none":                          {nil, nil},
	} {
		j := newJudge(&inspect.Facts{Certs: c.certs})
		for range 2 { // it is remembered
			if got := j.issuer(&Claim{Chain: []*pki.Cert{leaf}}); got != c.want {
				t.Errorf("%s: %v", name, got)
			}
		}
	}

	// Of tenants' CAs of that name, no more are tried.
	many := make([]inspect.StoredCert, 0, mostIssuers+1)
	for range mostIssuers {
		other := *one(pkitest.NewCA("lb", from, from.AddDate(1, 0, 0), pkitest.KeyName("other")).CertPEM)
		many = append(many, tenant(&other))
	}
	if got := newJudge(&inspect.Facts{Certs: append(many, tenant(real))}).issuer(&Claim{Chain: []*pki.Cert{leaf}}); got != nil {
		t.Errorf("more than %d are tried", mostIssuers)
	}
}

// TestTryingIssuersCostsWhatIsBounded: a tenant makes any number of certificates, and for each of them
// CAs of its issuer's name with the largest keys.
func TestTryingIssuersCostsWhatIsBounded(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	one := func(raw []byte) *pki.Cert { return pki.NewScanner().Scan(raw)[0].Content.Certs[0] }
	ca := pkitest.NewCA("lb", from, from.AddDate(1, 0, 0))
	leaf, real := one(ca.Issue("api-int", from, from.AddDate(1, 0, 0)).CertPEM), one(ca.CertPEM)
	in := func(namespace string, c *pki.Cert) inspect.StoredCert {
		at := pki.Location{Kind: "Secret", Namespace: namespace, Name: "s", Key: "tls.crt"}
		return inspect.StoredCert{Cert: c, Entries: []*inspect.Entry{{Bundle: &inspect.Bundle{At: at}}}}
	}
	decoy := *one(pkitest.NewCA("lb", from, from.AddDate(1, 0, 0), pkitest.KeyName("other")).CertPEM)
	decoy.PublicKey = "RSA 16384" // a key that is only said to be large costs nothing here
	var decoys []inspect.StoredCert
	for i := range mostIssuers - 1 {
		d := decoy
		d.Fingerprint = pki.FingerprintOf([]byte{byte(i)})
		decoys = append(decoys, in("team", &d))
	}
	each := (mostIssuers-1)*pki.Cost([]*pki.Cert{leaf}, []*pki.Cert{&decoy}) + pki.Cost([]*pki.Cert{leaf}, []*pki.Cert{real})
	claim := func(namespace string) *Claim {
		top := *leaf
		c := &Claim{Chain: []*pki.Cert{&top}, Presented: pki.Location{Kind: "Secret", Namespace: namespace, Name: "s", Key: "tls.crt"}}
		return c
	}
	found := func(j *judge, namespace string) (n int) {
		for range 200 {
			if j.issuer(claim(namespace)) == real {
				n++
			}
		}
		return n
	}

	j := newJudge(&inspect.Facts{Certs: append(slices.Clone(decoys), in("team", real))})
	for _, namespace := range []string{"team", "openshift-ingress"} {
		most := j.decoys / each
		if namespace == "team" {
			most = j.costs / each
		}
		if got := found(j, namespace); got == 0 || got > most {
			t.Errorf("of certificates in %s, the issuers of %d are looked for; the budget is for %d", namespace, got, most)
		}
	}

	// The platform's own issuer costs nothing, and what a tenant could not afford is not remembered.
	j = newJudge(&inspect.Facts{Certs: append(slices.Clone(decoys), in("openshift-ingress-operator", real))})
	j.costs, j.decoys = 0, 0
	spent := claim("team")
	if got := j.issuer(spent); got != nil {
		t.Errorf("%s is found beyond the budget", got.Subject)
	}
	spent.Presented.Namespace = "openshift-ingress"
	if got := j.issuer(spent); got != real {
		t.Errorf("the platform's issuer is %v", got)
	}
}
