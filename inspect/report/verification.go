package report

import (
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// VerificationKind names the document that verify prints as JSON and YAML, of the API version
// of inspect's (docs/output.md).
const VerificationKind = "Verification"

// Verification is what verify answers.
type Verification struct {
	APIVersion string              `json:"apiVersion"`
	Kind       string              `json:"kind"`
	Cluster    Cluster             `json:"cluster"`
	Taken      time.Time           `json:"taken"` // when the facts were read
	Now        time.Time           `json:"now"`   // the time for which they are judged
	Story      []trust.Event       `json:"story"` // of the CA of api-int, and of what kubeadm made, in order
	Claims     []VerificationClaim `json:"claims"`
	Gaps       []Gap               `json:"gaps"`
}

// VerificationClaim is an edge in one place.
type VerificationClaim struct {
	ID          string            `json:"id"`   // of the edge, see docs/catalog.md
	Part        string            `json:"part"` // of the cluster
	Claim       string            `json:"claim"`
	Status      string            `json:"status"` // holds, unknown, will break, broken
	Verifier    string            `json:"verifier"`
	Node        string            `json:"node,omitempty"`
	Trust       []pki.Location    `json:"trust,omitempty"`
	Presented   *pki.Location     `json:"shown,omitempty"`
	Server      string            `json:"server,omitempty"` // of the handshake, host:port
	Name        string            `json:"name,omitempty"`   // that the certificate must be for
	SHA256      *pki.Fingerprint  `json:"sha256,omitempty"` // of the leaf that is shown
	Stored      *VerificationCert `json:"held,omitempty"`   // by the server's place, where that is not what is shown
	Why         string            `json:"why,omitempty"`
	Missing     *VerificationCert `json:"lacks,omitempty"`
	From        *time.Time        `json:"from,omitempty"`      // when it breaks at the earliest
	Runs        *time.Time        `json:"runsSince,omitempty"` // the process that has the trust anchors in memory
	Logs        []pki.Location    `json:"logs,omitempty"`      // of servers that say so
	Seen        *VerificationSeen `json:"seen,omitempty"`      // what they say of a client
	Next        *trust.Next       `json:"next,omitempty"`      // absent: who verifies is known by a server's log only
	Impact      string            `json:"lost,omitempty"`      // what fails then
	Remediation string            `json:"mend,omitempty"`      // what repairs it
	Advice      string            `json:"-"`                   // the same, with NODE for any node
}

// VerificationCert names a certificate.
type VerificationCert struct {
	Subject string          `json:"subject"`
	SHA256  pki.Fingerprint `json:"sha256"`
	Since   time.Time       `json:"since"` // its notBefore
}

// VerificationSeen is a client that refuses a server.
type VerificationSeen struct {
	Client string    `json:"client"`          // its address
	Whose  string    `json:"whose,omitempty"` // for people; empty: nobody's of this cluster, as far as is known
	Reason string    `json:"reason"`          // TLS's name of the alert that it sent
	Count  int       `json:"count"`           // of handshakes
	Last   time.Time `json:"last,omitzero"`
}

// NewVerification judges the facts. parts are those of the cluster to speak of; none:
// all.
func NewVerification(f *inspect.Facts, parts ...catalog.Part) Verification {
	s := &f.Snapshot
	r := Verification{
		APIVersion: APIVersion, Kind: VerificationKind, Cluster: ClusterOf(s.Cluster), Taken: s.Taken, Now: f.Now,
		Claims: []VerificationClaim{}, Gaps: []Gap{},
	}
	claims := trust.Judge(f)
	next := trust.Forecasts(f, claims)
	r.Story = trust.StoryOf(f, claims, parts)
	for i, c := range claims {
		if len(parts) == 0 || slices.Contains(parts, c.Part) {
			e := entry(c)
			e.Next = next[i]
			r.Claims = append(r.Claims, e)
		}
	}
	for _, g := range s.Gaps {
		r.Gaps = append(r.Gaps, Gap(g))
	}
	return r
}

func entry(c trust.Claim) VerificationClaim {
	e := VerificationClaim{
		ID: c.ID, Part: string(c.Part), Claim: c.Edge.Claim, Status: c.Status.String(), Verifier: c.Verifier, Node: c.Node,
		Trust: c.Trust, Server: c.Server, Name: c.Name, Why: c.Why,
	}
	if c.Presented != (pki.Location{}) {
		e.Presented = &c.Presented
	}
	if len(c.Chain) > 0 {
		e.SHA256 = &c.Chain[0].Fingerprint
	}
	if c.Missing != nil {
		e.Missing = &VerificationCert{Subject: c.Missing.Subject, SHA256: c.Missing.Fingerprint, Since: c.Missing.NotBefore}
	}
	if c.Stored != nil {
		e.Stored = &VerificationCert{Subject: c.Stored.Subject, SHA256: c.Stored.Fingerprint, Since: c.Stored.NotBefore}
	}
	if !c.From.IsZero() {
		e.From = &c.From
	}
	if !c.Runs.IsZero() {
		e.Runs = &c.Runs
	}
	e.Logs = c.Logs
	if c.Seen != nil {
		e.Seen = &VerificationSeen{c.Seen.Client, c.Seen.Whose, c.Seen.Reason, c.Seen.Count, c.Seen.Last}
	}
	if c.Status == trust.Broken || c.Status == trust.WillBreak {
		e.Impact, e.Remediation, e.Advice = c.Impact, strings.ReplaceAll(c.Remediation, "NODE", c.Node), c.Remediation
	}
	return e
}

// Worst is the worst status among the claims; Unknown where there are none.
func (r *Verification) Worst() trust.Status {
	if len(r.Claims) == 0 {
		return trust.Unknown
	}
	worst := trust.Holds
	for _, c := range r.Claims {
		for s := trust.Holds; s <= trust.Broken; s++ {
			if s.String() == c.Status {
				worst = max(worst, s)
			}
		}
	}
	return worst
}
