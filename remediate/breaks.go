package remediate

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// SayEdge names a trust edge that a plan breaks, and says why and where.
func SayEdge(c trust.Claim) string {
	at := c.Subject
	if presented := c.Presented.String(); c.Presented != (pki.Location{}) && presented != at {
		at += ", " + presented
	}
	return fmt.Sprintf("%s fails: %s (%s)", c.Assessment.ID, c.Line(), foreign.Text(at))
}

// breaksOf are the claims that hold before a plan, and fail after it. What fails before may stay so.
// Three kinds would refuse plans that are right, and do not count:
//   - Tenants write both sides of theirs, and would decide whether the platform is repaired.
//   - A process that runs on keeps what it loaded at startup: once its file is written, that is no worse.
//   - What is unknown after a plan is not proven to be worse: a kubelet that joins again writes a file that no plan
//     knows, a certificate that the plan removes is presented no more, and judging is bounded.
func breaksOf(before, after []trust.Claim) []trust.Claim {
	was := judgedEdges(before)
	var out []trust.Claim
	for _, c := range after {
		if c.Status != assess.Fail || c.Tenant != "" {
			continue
		}
		if slices.ContainsFunc(placesOf(c), func(at edgeAt) bool { return was.passed(at, c.ProcessStarted) }) {
			out = append(out, c)
		}
	}
	return out
}

// holds reports whether a claim does now, whatever the next rotation brings.
func holds(c trust.Claim) bool {
	return c.Status == assess.Pass || c.Status == assess.Warn || c.Status == assess.Unknown && c.NextUnknown
}

// edgeAt is an edge between two places: a claim folds trust anchors that are alike, and a plan may make them differ.
type edgeAt struct {
	id, node, server, name string
	trust, presented       pki.Location
}

func placesOf(c trust.Claim) []edgeAt {
	at := edgeAt{id: c.Edge.ID, node: c.Node, server: c.Server, name: c.VerifiedName, presented: c.Presented}
	if len(c.Trust) == 0 {
		return []edgeAt{at}
	}
	out := make([]edgeAt, len(c.Trust))
	for i := range c.Trust {
		at.trust = c.Trust[i]
		out[i] = at
	}
	return out
}

// edgesBefore is what is said of edges before a plan.
type edgesBefore struct {
	at     map[edgeAt]trust.Claim
	onNode map[[2]string]bool // whether an edge holds in any place of a node
}

func judgedEdges(before []trust.Claim) edgesBefore {
	b := edgesBefore{at: map[edgeAt]trust.Claim{}, onNode: map[[2]string]bool{}}
	for _, c := range before {
		b.onNode[[2]string{c.Edge.ID, c.Node}] = b.onNode[[2]string{c.Edge.ID, c.Node}] || holds(c)
		for _, at := range placesOf(c) {
			if other, twice := b.at[at]; !twice || holds(other) { // the worst of several
				b.at[at] = c
			}
		}
	}
	return b
}

// passed reports whether an edge held before. started is since when the process runs that it is about after the
// plan; zero: it is about none.
func (b edgesBefore) passed(at edgeAt, started time.Time) bool {
	was, judged := b.at[at]
	if !judged { // such as one whose file the plan removes
		return b.onNode[[2]string{at.id, at.node}]
	}
	runsOn := !started.IsZero() && started.Equal(was.ProcessStarted)
	return holds(was) && !runsOn
}
