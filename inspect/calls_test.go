package inspect

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// callsOf are as many webhooks that call one Service, in whose namespace a Secret has the
// certificate of a CA. It is followed by so many twins of the CA.
func callsOf(t *testing.T, webhooks, twins int, namespaces ...string) (*Facts, int) {
	t.Helper()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ca := pkitest.NewCA("ca", now.AddDate(-1, 0, 0), now.AddDate(1, 0, 0))
	scan := func(pem []byte) *pki.Cert { return pki.NewScanner().Scan(pem)[0].Content.Certs[0] }
	root, cost := scan(ca.CertPEM), 0
	var s Snapshot
	for _, namespace := range namespaces {
		chain := []*pki.Cert{scan(ca.Issue("hook", now.AddDate(0, -1, 0), now.AddDate(0, 1, 0), pkitest.DNS("hook."+namespace+".svc")).CertPEM)}
		for i := range twins { // a key that is only said to be large costs nothing here
			twin := *root
			twin.Fingerprint, twin.PublicKey = pki.FingerprintOf([]byte{byte(i)}), "RSA 8192"
			chain = append(chain, &twin)
		}
		cost = pki.Cost(chain, []*pki.Cert{root})
		at := pki.Location{Kind: "Secret", Namespace: namespace, Name: "tls", Key: "tls.crt"}
		s.Bundles = append(s.Bundles, Bundle{At: at, Object: &Object{Kind: at.Kind, Namespace: namespace, Name: at.Name}, Content: &pki.Content{Certs: chain}})
	}
	bundle := &pki.Content{Certs: []*pki.Cert{root}}
	for i := range webhooks {
		at := pki.Location{Kind: "ValidatingWebhookConfiguration", Name: fmt.Sprintf("w%04d", i), Field: "webhooks[0].clientConfig.caBundle"}
		s.Bundles = append(s.Bundles, Bundle{At: at, Object: &Object{Kind: at.Kind, Name: at.Name}, Content: bundle})
		s.References = append(s.References, Reference{From: at, To: pki.Location{Kind: kindService, Namespace: namespaces[i%len(namespaces)], Name: "hook"}})
	}
	s.Sort()
	return NewFacts(s, now, 0), cost
}

// TestCallsOfOneServiceAreVerifiedOnce: an operator has a webhook for each of its kinds.
func TestCallsOfOneServiceAreVerifiedOnce(t *testing.T) {
	t.Parallel()
	f, cost := callsOf(t, 500, 0, "team")
	b := NewBudget(0)
	for _, c := range f.serviceCalls(b) {
		if c.Trusted == nil || c.Unjudged != "" {
			t.Fatalf("%v, %s", c.Problem, c.Unjudged)
		}
	}
	if spent := b.spent["team"]; cost == 0 || spent != cost {
		t.Errorf("500 calls cost %d units, one costs %d", spent, cost)
	}
}

// TestWhatServicesPresentCostsWhatIsBounded: a tenant's chain may have a hundred CAs of one name.
// What is not verified for that is unknown, and the platform's is verified.
func TestWhatServicesPresentCostsWhatIsBounded(t *testing.T) {
	t.Parallel()
	var namespaces []string
	for i := range 100 {
		namespaces = append(namespaces, fmt.Sprintf("team-%02d", i))
	}
	f, cost := callsOf(t, 101, 100, append(namespaces, "openshift-operators-redhat")...)
	b := NewBudget(len(f.Certs))
	most := b.tenants
	unjudged, trusted := 0, 0
	for _, c := range f.serviceCalls(b) {
		switch {
		case c.To.Namespace == "openshift-operators-redhat" && c.Trusted == nil:
			t.Errorf("the platform's: %v, %s", c.Problem, c.Unjudged)
		case c.Trusted != nil:
			trusted++
		case c.Unjudged == "" || c.Problem != nil:
			t.Errorf("%s: %v, %q", c.To.Namespace, c.Problem, c.Unjudged)
		default:
			unjudged++
		}
	}
	if want := most/cost + 1; trusted != want || unjudged != 101-want || unjudged == 0 {
		t.Errorf("%d are verified, want %d; %d are unknown", trusted, want, unjudged)
	}
}
