package trust

import (
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
		j := &judge{f: &inspect.Facts{Certs: c.certs}}
		for range 2 { // it is remembered
			if got := j.issuer([]*pki.Cert{leaf}); got != c.want {
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
	if got := (&judge{f: &inspect.Facts{Certs: append(many, tenant(real))}}).issuer([]*pki.Cert{leaf}); got != nil {
		t.Errorf("more than %d are tried", mostIssuers)
	}
}
