package report

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// verificationKind names the document that verify prints as JSON and YAML, of the API version
// of inspect's (docs/output.md).
const verificationKind = "Verification"

// Verification is what verify answers.
type Verification struct {
	APIVersion string              `json:"apiVersion"`
	Kind       string              `json:"kind"`
	Cluster    Cluster             `json:"cluster"`
	Taken      time.Time           `json:"taken"`  // when the facts were read
	Now        time.Time           `json:"now"`    // the time for which they are judged
	Timeline   []trust.Event       `json:"events"` // of the CA of api-int, and of what kubeadm made, in order
	Claims     []VerificationClaim `json:"claims"`
	Causes     []VerificationCause `json:"causes"` // of claims that do not pass, and are known
	Gaps       []Gap               `json:"gaps"`
	facts      *inspect.Facts      // judged here; nil: made without any
}

// VerificationClaim is an edge in one place.
type VerificationClaim struct {
	assess.Assessment                         // its ID is the edge's, see docs/catalog.md
	Part              string                  `json:"part"` // of the cluster
	Claim             string                  `json:"claim"`
	Verifier          string                  `json:"verifier"`
	Node              string                  `json:"node,omitempty"`
	Trust             []pki.Location          `json:"trust,omitempty"`
	Presented         *pki.Location           `json:"presented,omitempty"`
	Server            string                  `json:"server,omitempty"`        // of the handshake, host:port
	Name              string                  `json:"name,omitempty"`          // that the certificate must be for
	SHA256            *pki.Fingerprint        `json:"sha256,omitempty"`        // of the leaf that is presented
	Stored            *VerificationCert       `json:"stored,omitempty"`        // in the server's place, where that is not what it presents
	Missing           *VerificationCert       `json:"missingCA,omitempty"`     // of the trust anchors
	From              *time.Time              `json:"from,omitempty"`          // when it fails at the earliest
	ProcessStarted    *time.Time              `json:"runsSince,omitempty"`     // the process that loaded the trust anchors at its start
	Logs              []pki.Location          `json:"logs,omitempty"`          // of servers that say so
	Refusals          *VerificationRefusals   `json:"seen,omitempty"`          // what they say of a client
	Next              *trust.NextVerification `json:"nextHandshake,omitempty"` // absent: who verifies is known by a server's log only
	of                trust.Claim             // what is written here
	order             []string                // all nodes, as a repair takes them
}

// Expired reports whether the claim fails, and what is presented has expired.
func (c *VerificationClaim) Expired() bool { return c.of.Expired }

// Wait is in how long all claims may pass that do not now: those of clients that refused a server
// before they were restarted. 0: another one does not pass, or all do.
func (r *Verification) Wait() (longest time.Duration) {
	for _, c := range r.Claims {
		switch {
		case c.Status == assess.Pass:
		case c.of.Refusals == nil || c.of.Refusals.Wait == 0:
			return 0
		default:
			longest = max(longest, c.of.Refusals.Wait)
		}
	}
	return longest
}

// VerificationCert names a certificate.
type VerificationCert struct {
	Subject string          `json:"subject"`
	SHA256  pki.Fingerprint `json:"sha256"`
	Since   time.Time       `json:"since"` // its notBefore
}

// VerificationRefusals is a client that refuses a server.
type VerificationRefusals struct {
	Client string    `json:"client"`          // its address
	Owner  string    `json:"owner,omitempty"` // of the address, for people; empty: none of this cluster, as far as is known
	Reason string    `json:"reason"`          // TLS's name of the alert that it sent
	Count  int       `json:"count"`           // of handshakes
	Last   time.Time `json:"last,omitzero"`
}

// NewVerification judges the facts. parts are those of the cluster to speak of; none:
// all. There are no claims where ctx was done before they were judged.
func NewVerification(ctx context.Context, f *inspect.Facts, parts ...catalog.Part) Verification {
	s := &f.Snapshot
	r := Verification{
		APIVersion: APIVersion, Kind: verificationKind, Cluster: ClusterOf(s.Cluster), Taken: s.Taken, Now: f.Now,
		Claims: []VerificationClaim{}, Gaps: []Gap{}, facts: f,
	}
	claims := trust.JudgeAllNodes(ctx, f)
	next := trust.Forecasts(f, claims)
	r.Timeline = trust.TimelineOf(f, claims, parts)
	order := s.RepairOrder()
	for i, c := range claims {
		if len(parts) == 0 || slices.Contains(parts, c.Part) {
			e := entry(c)
			e.Next, e.order = next[i], order
			r.Claims = append(r.Claims, e)
		}
	}
	r.Causes = r.causes(s.Hints)
	for _, g := range s.Gaps {
		r.Gaps = append(r.Gaps, GapOf(g))
	}
	if readNodes(s, parts) {
		r.Gaps = append(r.Gaps, noControlPlane(s)...)
	}
	return r
}

// readNodes reports whether edges of the parts, none: of all, are about files on nodes.
func readNodes(s *inspect.Snapshot, parts []catalog.Part) bool {
	return len(parts) == 0 || slices.ContainsFunc(catalog.Edges(), func(e catalog.Edge) bool {
		onFile := e.Trust.Kind == catalog.File || e.Presented.Kind == catalog.File
		return onFile && slices.Contains(parts, e.Part) && e.In.Holds(s.Cluster.Versions) != catalog.No
	})
}

// FileHasNone is why nothing is known of control plane nodes.
const FileHasNone = "the file has none; what is on them is unknown"

// noControlPlane is the gap of a file that has no control plane node: without a claim about one, what
// passes says nothing of them.
func noControlPlane(s *inspect.Snapshot) []Gap {
	if !s.LacksControlPlane() {
		return nil
	}
	return []Gap{{What: "control plane nodes", Reason: FileHasNone, Remediation: assess.Advise(s.Hints.UnreadNodes(""))}}
}

func entry(c trust.Claim) VerificationClaim {
	e := VerificationClaim{
		Assessment: c.Assessment, Part: string(c.Part), Claim: c.Edge.Statement, Verifier: c.Verifier, Node: c.Node,
		Trust: c.Trust, Server: c.Server, Name: c.VerifiedName,
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
	if !c.ProcessStarted.IsZero() {
		e.ProcessStarted = &c.ProcessStarted
	}
	e.Logs = c.Logs
	if c.Refusals != nil {
		e.Refusals = &VerificationRefusals{c.Refusals.Client, c.Refusals.Owner, c.Refusals.Reason, c.Refusals.Count, c.Refusals.Last}
	}
	e.of = c
	return e
}

// RemediationFor is the remediation where claims of several nodes are told as one: the most urgent
// node first, and none is named where all are meant.
func (c VerificationClaim) RemediationFor(nodes []string) assess.Remediation {
	if len(nodes) < 2 || c.of.Advice.Text == "" {
		return c.Remediation
	}
	ordered, all := inspect.InOrder(nodes, c.order)
	if all {
		c.of.Advice.Text = strings.ReplaceAll(c.of.Advice.Text, " --nodes NODE", "")
		c.of.Advice.Command = strings.ReplaceAll(c.of.Advice.Command, " --nodes NODE", "")
	}
	return c.of.RemediationOn(ordered...)
}

// Worst is the worst status among the claims; Unknown where there are none.
func (r *Verification) Worst() assess.Status {
	all := make([]assess.Status, len(r.Claims))
	for i := range r.Claims {
		all[i] = r.Claims[i].Status
	}
	return assess.Worst(all...)
}
