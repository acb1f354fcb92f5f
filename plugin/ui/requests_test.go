package ui

import (
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// TestPendingRequestsAreCounted: by node, with how long the first one waits; requests of no node, and
// those that were answered, keep what the findings say.
func TestPendingRequestsAreCounted(t *testing.T) {
	request := func(name string) pki.Location { return pki.Location{Kind: "CertificateSigningRequest", Name: name} }
	finding := func(reason string, at ...pki.Location) report.Finding {
		return report.Finding{Assessment: assess.Assessment{ID: "csr-answered", Severity: assess.Warning, Status: assess.Warn, Reason: reason}, Locations: at}
	}
	node := func(name string) pki.Location { return inspect.OnNode(&inspect.Node{Name: name}, "") }
	for want, findings := range map[string][]report.Finding{
		"3 CSRs pending: worker-2 (2, for 5h), worker-1 (1, for 32m)": {
			finding("a (+1 request) pending for 5h", request("a"), request("b"), node("worker-2")), finding("c pending for 32m", request("c"), node("worker-1")),
		},
		"8 CSRs pending: worker-2 (7, for 5h13m), worker-1 (1, for 32m)": { // the places of inspect nodes
			finding("csr-b4x9f (+6 requests) pending for 5h13m", node("worker-2")), finding("csr-8tq2z pending for 32m", node("worker-1")),
		},
		"title: name":  {finding("a pending for 5h", request("a"))},
		"title: name ": {finding("a approved 5h ago, no certificate issued", request("a"), node("worker-2"))},
	} {
		p := (HumanPrinter{}).folded(findings)[0]
		title, names := requestsPending(p, findings, "title", []string{"name"})
		if got := title + ": " + strings.Join(names, ", "); got != strings.TrimSpace(want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
