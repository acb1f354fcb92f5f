package trust

import (
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// Kind names the document that verify prints as JSON and YAML, of the API version
// of inspect's (docs/output.md).
const Kind = "Verification"

// Report is what verify answers.
type Report struct {
	APIVersion string                  `json:"apiVersion"`
	Kind       string                  `json:"kind"`
	Cluster    report.InventoryCluster `json:"cluster"`
	Taken      time.Time               `json:"taken"` // when the facts were read
	Now        time.Time               `json:"now"`   // the time for which they are judged
	Story      []Event                 `json:"story"` // of the CA of api-int, and of what kubeadm made, in order
	Claims     []ReportClaim           `json:"claims"`
	Gaps       []report.InventoryGap   `json:"gaps"`
}

// ReportClaim is an edge in one place.
type ReportClaim struct {
	ID       string           `json:"id"`   // of the edge, see docs/catalog.md
	Part     string           `json:"part"` // of the cluster
	Claim    string           `json:"claim"`
	Status   string           `json:"status"` // holds, unknown, will break, broken
	Verifier string           `json:"verifier"`
	Node     string           `json:"node,omitempty"`
	Trust    []pki.Location   `json:"trust,omitempty"`
	Shown    *pki.Location    `json:"shown,omitempty"`
	Server   string           `json:"server,omitempty"` // of the handshake, host:port
	Name     string           `json:"name,omitempty"`   // that the certificate must be for
	SHA256   *pki.Fingerprint `json:"sha256,omitempty"` // of the leaf that is shown
	Held     *ReportCert      `json:"held,omitempty"`   // by the server's place, where that is not what is shown
	Why      string           `json:"why,omitempty"`
	Lacks    *ReportCert      `json:"lacks,omitempty"`
	From     *time.Time       `json:"from,omitempty"`      // when it breaks at the earliest
	Runs     *time.Time       `json:"runsSince,omitempty"` // the process that has the trust anchors in memory
	Logs     []pki.Location   `json:"logs,omitempty"`      // of servers that say so
	Seen     *ReportSeen      `json:"seen,omitempty"`      // what they say of a client
	Next     *Next            `json:"next,omitempty"`      // absent: who verifies is known by a server's log only
	Lost     string           `json:"lost,omitempty"`      // what fails then
	Mend     string           `json:"mend,omitempty"`      // what repairs it
	Advice   string           `json:"-"`                   // the same, with NODE for any node
}

// ReportCert names a certificate.
type ReportCert struct {
	Subject string          `json:"subject"`
	SHA256  pki.Fingerprint `json:"sha256"`
	Since   time.Time       `json:"since"` // its notBefore
}

// ReportSeen is a client that refuses a server.
type ReportSeen struct {
	Client string    `json:"client"`          // its address
	Whose  string    `json:"whose,omitempty"` // for people; empty: nobody's of this cluster, as far as is known
	Reason string    `json:"reason"`          // TLS's name of the alert that it sent
	Count  int       `json:"count"`           // of handshakes
	Last   time.Time `json:"last,omitzero"`
}

// NewReport judges the facts. parts are those of the cluster to speak of; none:
// all.
func NewReport(f *inspect.Facts, parts ...catalog.Part) Report {
	s := &f.Snapshot
	r := Report{
		APIVersion: report.InventoryAPIVersion, Kind: Kind, Cluster: report.ClusterOf(s.Cluster), Taken: s.Taken, Now: f.Now,
		Claims: []ReportClaim{}, Gaps: []report.InventoryGap{},
	}
	claims := Judge(f)
	next := forecasts(f, claims)
	r.Story = storyOf(f, claims, parts)
	for i, c := range claims {
		if len(parts) == 0 || slices.Contains(parts, c.Part) {
			e := entry(c)
			e.Next = next[i]
			r.Claims = append(r.Claims, e)
		}
	}
	for _, g := range s.Gaps {
		r.Gaps = append(r.Gaps, report.InventoryGap(g))
	}
	return r
}

func entry(c Claim) ReportClaim {
	e := ReportClaim{
		ID: c.ID, Part: string(c.Part), Claim: c.Edge.Claim, Status: c.Status.String(), Verifier: c.Verifier, Node: c.Node,
		Trust: c.Trust, Server: c.Server, Name: c.Name, Why: c.Why,
	}
	if c.Shown != (pki.Location{}) {
		e.Shown = &c.Shown
	}
	if len(c.Chain) > 0 {
		e.SHA256 = &c.Chain[0].Fingerprint
	}
	if c.Lacks != nil {
		e.Lacks = &ReportCert{Subject: c.Lacks.Subject, SHA256: c.Lacks.Fingerprint, Since: c.Lacks.NotBefore}
	}
	if c.Held != nil {
		e.Held = &ReportCert{Subject: c.Held.Subject, SHA256: c.Held.Fingerprint, Since: c.Held.NotBefore}
	}
	if !c.From.IsZero() {
		e.From = &c.From
	}
	if !c.Runs.IsZero() {
		e.Runs = &c.Runs
	}
	e.Logs = c.Logs
	if c.Seen != nil {
		e.Seen = &ReportSeen{c.Seen.Client, c.Seen.Whose, c.Seen.Reason, c.Seen.Count, c.Seen.Last}
	}
	if c.Status == Broken || c.Status == WillBreak {
		e.Lost, e.Mend, e.Advice = c.Lost, strings.ReplaceAll(c.Mend, "NODE", c.Node), c.Mend
	}
	return e
}

// Worst is the worst status among the claims; Unknown where there are none.
func (r *Report) Worst() Status {
	if len(r.Claims) == 0 {
		return Unknown
	}
	worst := Holds
	for _, c := range r.Claims {
		for s := Holds; s <= Broken; s++ {
			if s.String() == c.Status {
				worst = max(worst, s)
			}
		}
	}
	return worst
}
