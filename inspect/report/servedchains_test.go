package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// presented is what a server at this address presents.
func presented(t *testing.T, address string, pem ...[]byte) inspect.Handshake {
	t.Helper()
	to, err := inspect.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	h := inspect.Handshake{Address: to}
	for _, found := range pki.NewScanner().Scan(pkitest.Bundle(pem...)) {
		h.Chain = found.Content.Certs
	}
	return h
}

// servedIn judges what a server presents beside what was read.
func servedIn(t *testing.T, f *inspecttest.Fixture, h inspect.Handshake) report.ServedChains {
	t.Helper()
	s := f.Snapshot
	s.Bundles = slices.Clone(s.Bundles)
	s.AddHandshakes([]inspect.Handshake{h})
	return report.NewServedChains(t.Context(), inspect.NewFacts(s, inspecttest.Noon, 30*inspecttest.Day), []inspect.Handshake{h}, nil)
}

// TestAPresentedCertificateIsRenewedWhereItIsStored: that a server presents it says nothing of who
// renews it, and takes nothing from what its Secret says.
func TestAPresentedCertificateIsRenewedWhereItIsStored(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("ca", inspecttest.DaysFromNoon(-300), inspecttest.DaysFromNoon(300))
	leaf := ca.Issue("shop", inspecttest.DaysFromNoon(-80), inspecttest.DaysFromNoon(10), pkitest.DNS("shop.example.com"))
	h := presented(t, "shop.example.com:443", leaf.CertPEM)
	for name, c := range map[string]struct {
		annotations map[string]string
		renewed     bool
	}{"by hand": {nil, false}, "by cert-manager": {map[string]string{catalog.AnnotationCertManager: "shop"}, true}} {
		d := servedIn(t, inspecttest.NewFixture("4.15.1").Secret("shop", "shop-tls", c.annotations, leaf), h)
		server := d.Servers[0]
		if got := server.Certificates[0].Renewal.Automatic(); got != c.renewed {
			t.Errorf("%s: renewed automatically: %t", name, got)
		}
		if len(server.Stored) != 1 || server.Stored[0].Name != "shop-tls" {
			t.Errorf("%s: stored in %v", name, server.Stored)
		}
		for _, f := range d.Findings {
			if !slices.Equal(f.Locations, []pki.Location{h.At()}) || strings.Contains(f.Remediation.Command, "server") {
				t.Errorf("%s: %s in %v, next %q", name, f.ID, f.Locations, f.Remediation.Command)
			}
		}
		if id := map[bool]string{true: "rotation-overdue", false: "certificate-expiring"}[c.renewed]; !slices.ContainsFunc(d.Findings, func(f report.Finding) bool { return f.ID == id }) {
			t.Errorf("%s: no %s among %v", name, id, d.Findings)
		}
	}
}

// TestTheBudgetOfAServerIsItsOwn: a server chooses its keys, and leaves what the platform's cost.
func TestTheBudgetOfAServerIsItsOwn(t *testing.T) {
	t.Parallel()
	h := presented(t, "a.example.com:443", pkitest.SelfSigned("a", inspecttest.Noon, inspecttest.Noon.Add(time.Hour)).CertPEM)
	e := inspect.Entry{Bundle: &inspect.Bundle{At: h.At()}}
	if e.Payer() == "" {
		t.Error("the platform pays")
	}
}

// TestNobodyTrustsAChain: that is no finding where all was read, and unknown where not all was.
func TestNobodyTrustsAChain(t *testing.T) {
	t.Parallel()
	from, to := inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99)
	h := presented(t, "www.example.com:443", pkitest.NewCA("web CA", from, to).Issue("www", from, to, pkitest.DNS("www.example.com")).CertPEM)
	f := inspecttest.NewFixture("4.15.1").ConfigMap("shop", "ca", "ca.crt", pkitest.NewCA("other", from, to).CertPEM)
	d := servedIn(t, f, h)
	if a := d.Servers[0].Check(report.ServedTrust); a.Status != assess.Warn || a.Severity != assess.Info || d.Unread() || d.Servers[0].Check(report.ServedClients) != nil {
		t.Errorf("all was read: %+v", d.Servers[0].Checks)
	}
	f.Snapshot.Gaps = []inspect.Gap{{What: "secrets", Reason: "forbidden"}}
	d = servedIn(t, f, h)
	if a := d.Servers[0].Check(report.ServedTrust); a.Status != assess.Unknown || !d.Unread() {
		t.Errorf("secrets were not read: %+v", a)
	}
	h.NotRead = 5
	h.Problem = "cut short"
	f.Snapshot.Gaps = nil
	d = servedIn(t, f, h)
	if a := d.Servers[0].Check(report.ServedTrust); a.Status != assess.Unknown {
		t.Errorf("the chain was cut short: %+v", a)
	}
}

// TestAChainThatVerifiesInItself: its end is found among CAs of one name, too.
func TestAChainThatVerifiesInItself(t *testing.T) {
	t.Parallel()
	from, to := inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(99)
	ca, previous := pkitest.NewCA("ca", from, to), pkitest.NewCA("ca", from, to, pkitest.KeyName("previous"))
	leaf := ca.Issue("a", from, to, pkitest.DNS("a.example.com"))
	for name, c := range map[string]struct {
		chain  [][]byte
		status assess.Status
		reason string
	}{
		"the leaf alone":            {[][]byte{leaf.CertPEM}, assess.Pass, `a CA that is not in the chain: "ca"`},
		"its root":                  {[][]byte{leaf.CertPEM, ca.CertPEM}, assess.Pass, `it leads to its root, "ca"`},
		"a previous CA of the name": {[][]byte{leaf.CertPEM, ca.CertPEM, previous.CertPEM}, assess.Pass, `it leads to its root, "ca"`},
		"out of order":              {[][]byte{leaf.CertPEM, previous.CertPEM, ca.CertPEM}, assess.Warn, "out of order"},
		"another CA of the name":    {[][]byte{leaf.CertPEM, previous.CertPEM}, assess.Warn, ""},
		"an expired one":            {[][]byte{ca.Issue("b", from, inspecttest.Noon.Add(-time.Hour)).CertPEM}, assess.Warn, "does not verify in itself"},
		"self-signed":               {[][]byte{pkitest.SelfSigned("c", from, to).CertPEM}, assess.Pass, "its own root"},
	} {
		d := servedIn(t, inspecttest.NewFixture("4.15.1"), presented(t, "a.example.com:443", c.chain...))
		if a := d.Servers[0].Check(report.ServedInItself); a.Status != c.status || !strings.Contains(a.Reason, c.reason) {
			t.Errorf("%s: %s, %s", name, a.Status, a.Because())
		}
	}
}
