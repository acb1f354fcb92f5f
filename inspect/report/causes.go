package report

import (
	"iter"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/cause"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Cause is what one or several findings are about: a problem of the screens.
type Cause struct {
	ID          string             `json:"id,omitempty"` // of the catalog's cause; empty: the findings are alike, or one
	Severity    assess.Severity    `json:"severity"`     // of the worst finding
	Title       string             `json:"title"`
	Reason      string             `json:"reason,omitempty"` // how it came about; empty: that is unknown
	Nodes       []string           `json:"nodes,omitempty"`
	Elsewhere   []string           `json:"elsewhere,omitempty"` // other nodes of which it is so, whose findings are in another cause
	Objects     []string           `json:"objects,omitempty"`
	Impact      string             `json:"impact,omitempty"`
	Latest      time.Time          `json:"latest,omitzero"` // when the first node that works has it at the latest, by its certificate's renewal; absent: unknown
	Remediation assess.Remediation `json:"remediation,omitzero"`
	Findings    []int              `json:"findings"` // indexes; each finding is in one cause
}

// Problems folds the findings. What a filter leaves out still says which cause they have.
func (inv *Inventory) Problems(hints inspect.Hints) []cause.Problem {
	findings := make([]cause.Finding, len(inv.Findings), len(inv.Findings)+len(inv.beside))
	for i, f := range inv.Findings {
		findings[i] = cause.Finding{Assessment: f.Assessment, At: f.Locations}
	}
	problems := cause.Fold(hints, append(findings, inv.beside...))
	down := map[string]bool{}
	for _, n := range inv.Nodes {
		if n.Alive == catalog.No.String() {
			down[n.Name] = true
		}
	}
	cause.DownFirst(problems, down)
	return problems
}

func (inv *Inventory) causes() []Cause {
	out := []Cause{}
	for _, p := range inv.Problems(inv.hints) {
		c := Cause{ID: p.ID, Severity: p.Severity, Title: p.Reason, Reason: inv.Because(p), Nodes: p.Nodes, Elsewhere: p.Elsewhere, Objects: p.Objects, Impact: p.Impact, Remediation: p.Remediation, Findings: p.Findings}
		if p.ID == catalog.CauseAPIInt {
			_, c.Latest = inv.StillUp(p)
		}
		if impact := inv.ImpactNow(p); impact != "" {
			c.Impact = impact
		}
		out = append(out, c)
	}
	return out
}

// StillUp are nodes of a problem that have a heartbeat, and when the first of them renews its client certificate at the
// latest, and so reconnects; zero: that is unknown.
func (inv *Inventory) StillUp(p cause.Problem) (up []string, first time.Time) {
	for _, n := range inv.Nodes {
		if !slices.Contains(p.Nodes, n.Name) || n.Alive == catalog.No.String() || n.Ready != "" && n.Ready != "True" {
			continue
		}
		up = append(up, foreign.Name(n.Name))
		if !n.RenewsTo.IsZero() && (first.IsZero() || n.RenewsTo.Before(first)) {
			first = n.RenewsTo
		}
	}
	return up, first
}

// ImpactNow is the impact of a missing client certificate on nodes of which none has a heartbeat. Empty: one has, or it
// is another problem.
func (inv *Inventory) ImpactNow(p cause.Problem) string {
	silent := func(name string) bool {
		return slices.ContainsFunc(inv.Nodes, func(n Node) bool { return n.Name == name && n.Alive == catalog.No.String() })
	}
	if p.ID != catalog.CauseClientCertificate || len(p.Nodes) == 0 || slices.ContainsFunc(p.Nodes, func(name string) bool { return !silent(name) }) {
		return ""
	}
	whose := "its kubelet"
	if len(p.Nodes) > 1 {
		whose = "their kubelets"
	}
	return whose + " cannot authenticate: no heartbeat now, no new Pods"
}

// Because says how a problem came about; empty: that is unknown.
func (inv *Inventory) Because(p cause.Problem) string {
	if inv.facts == nil {
		return ""
	}
	return p.Because(inv.facts)
}

// VerificationCause is what one or several claims that do not hold are about: a problem of verify's screens.
type VerificationCause struct {
	ID          string             `json:"id,omitempty"` // of the catalog's cause; empty: the claims are alike, or one
	Severity    assess.Severity    `json:"severity"`     // of the worst claim
	Title       string             `json:"title"`
	Reason      string             `json:"reason,omitempty"` // how it came about; empty: that is unknown
	Nodes       []string           `json:"nodes,omitempty"`
	Objects     []string           `json:"objects,omitempty"`
	Impact      string             `json:"impact,omitempty"`
	Remediation assess.Remediation `json:"remediation,omitzero"`
	Claims      []int              `json:"claims"` // indexes; each claim that fails or warns is in one cause
}

// FoldClaims makes problems of claims of one status.
func FoldClaims(hints inspect.Hints, claims []VerificationClaim) []cause.Problem {
	findings := make([]cause.Finding, len(claims))
	for i, c := range claims {
		findings[i] = cause.Finding{Assessment: c.Assessment, Node: c.Node, Expired: c.Expired(), Claim: c.Claim}
		if c.Node == "" {
			findings[i].At = c.Trust
		} else {
			findings[i].Remediation = c.RemediationFor([]string{c.Node})
		}
		if c.Missing != nil {
			findings[i].MissingCA = c.Missing.SHA256.String()
		}
	}
	return cause.Fold(hints, findings)
}

// Fold makes problems of claims of one status. The repair of kubelets that do not trust api-int is one of all that these
// nodes need, as in inspect.
func (r *Verification) Fold(hints inspect.Hints, claims []VerificationClaim) []cause.Problem {
	problems := FoldClaims(hints, claims)
	for i, p := range problems {
		if p.ID != catalog.CauseAPIInt || r.facts == nil || len(p.Nodes) == 0 || p.Remediation.Command == "" {
			continue
		}
		if repair, fit := r.facts.RepairOf(p.Nodes); fit {
			problems[i].Remediation = assess.Remediation{Text: repair, Command: repair}
		}
	}
	return problems
}

// Because says how a problem came about; empty: that is unknown.
func (r *Verification) Because(p cause.Problem) string {
	if r.facts == nil {
		return ""
	}
	return p.Because(r.facts)
}

func (r *Verification) causes(hints inspect.Hints) []VerificationCause {
	out := []VerificationCause{}
	for _, status := range []assess.Status{assess.Fail, assess.Warn} {
		var claims []VerificationClaim
		var at []int
		for i, c := range r.Claims {
			if c.Status == status {
				claims, at = append(claims, c), append(at, i)
			}
		}
		for _, p := range r.Fold(hints, claims) {
			of := make([]int, len(p.Findings))
			for i, n := range p.Findings {
				of[i] = at[n]
			}
			title := p.Reason
			if p.ID == "" {
				title = claims[p.Findings[0]].Said()
			}
			out = append(out, VerificationCause{p.ID, p.Severity, title, r.Because(p), p.Nodes, p.Objects, p.Impact, p.Remediation, of})
		}
	}
	return out
}

// AtLeast is the inventory without the findings below a severity.
func (inv *Inventory) AtLeast(severity assess.Severity) *Inventory {
	limited := *inv
	limited.Findings, limited.beside = []Finding{}, slices.Clip(inv.beside)
	for _, f := range inv.Findings {
		if f.Severity >= severity {
			limited.Findings = append(limited.Findings, f)
		} else {
			limited.beside = append(limited.beside, cause.Finding{Assessment: f.Assessment, At: f.Locations, Beside: true})
		}
	}
	limited.Causes = limited.causes()
	return &limited
}

// Found is the inventory of what findings of at least a severity are about.
func (inv *Inventory) Found(severity assess.Severity) *Inventory {
	found := inv.AtLeast(severity)
	found.found = true
	return found
}

// Places are those of each certificate; of what was Found those of each finding, which may be about none.
func (inv *Inventory) Places() iter.Seq[[]pki.Location] {
	return func(yield func([]pki.Location) bool) {
		for i := 0; inv.found && i < len(inv.Findings); i++ {
			if !yield(inv.Findings[i].Locations) {
				return
			}
		}
		for i := 0; !inv.found && i < len(inv.Certificates); i++ {
			if !yield(inv.Certificates[i].Locations()) {
				return
			}
		}
	}
}
