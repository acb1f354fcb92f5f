package remediate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/check"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// PlanProven is the check that a plan brings no new finding, and breaks no trust edge.
const PlanProven = "plan-proven"

// Before is what checks and trust edges say of the facts that plans are made from. They are judged once, however
// many plans are proven, and not before the first of them is.
type Before struct {
	within   time.Duration // of inspect.NewFacts
	findings func() []assess.Finding
	claims   func() []trust.Claim
}

// NewBefore judges facts as soon as a plan has to be proven.
func NewBefore(s inspect.Snapshot, now time.Time) *Before {
	return judgedBy(sync.OnceValue(func() *inspect.Facts { return inspect.NewFacts(s, now, 0) }))
}

func judgedBy(facts func() *inspect.Facts) *Before {
	return &Before{
		findings: sync.OnceValue(func() []assess.Finding { return check.Judge(context.Background(), facts()) }),
		claims:   sync.OnceValue(func() []trust.Claim { return trust.Judge(context.Background(), facts()) }),
	}
}

// Judged is NewBefore of facts whose trust edges trust.Judge has judged already.
func Judged(f *inspect.Facts, claims []trust.Claim) *Before {
	b := judgedBy(func() *inspect.Facts { return f })
	b.within, b.claims = f.ExpiryWindow, func() []trust.Claim { return claims }
	return b
}

// Finish proves the plan: it compares what checks and trust edges say before and after. Without deltas, the facts
// stay as they are, and so does what is said of them.
func (d *Draft) Finish() *Plan {
	d.Plan.After = d.Snapshot
	before := d.Before.findings()
	if !d.Plan.hasDeltas() {
		d.Plan.Left = missing(before, nil)
		return d.Plan
	}
	facts := inspect.NewFacts(d.Snapshot, d.Plan.Now, d.Before.within)
	after := check.Judge(context.Background(), facts)
	after = append(after, d.unapproved(before, after)...)
	d.Plan.Solved, d.Plan.Added = missing(before, after), missing(after, before)
	d.Plan.Left = missing(after, nil)
	d.Plan.Breaks = breaksOf(d.Before.claims(), trust.Judge(context.Background(), facts))
	return d.Plan
}

// hasDeltas reports whether a step changes the facts.
func (p *Plan) hasDeltas() bool {
	return slices.ContainsFunc(p.Nodes(), func(n NodePlan) bool {
		return slices.ContainsFunc(n.Due(), func(s Step) bool { return len(s.Change.Deltas) > 0 })
	})
}

// Proven is a *Refusal of a plan after which checks find something new, or that breaks a trust edge.
func (p *Plan) Proven() error {
	reason, next := "", "please report this with the output of: {} snapshot -o FILE"
	switch {
	case len(p.Added) > 0:
		reason = fmt.Sprintf("the plan would bring a new problem: %s: %s (%s)", p.Added[0].ID, p.Added[0].Line(), Places(p.Added[0]))
	case len(p.Breaks) > 0:
		reason, next = "the plan would break a trust edge: "+SayEdge(p.Breaks[0]), "{} verify says what holds now; if that is wrong, "+next
	default:
		return nil
	}
	return &Refusal{Name: PlanProven, Reason: reason, Next: p.Basis.Hints.Next(next)}
}

// Places are the locations of a finding, for people.
func Places(f assess.Finding) string {
	var out []string
	for _, l := range f.At {
		out = append(out, l.String())
	}
	return cmp.Or(strings.Join(out, ", "), "the cluster")
}

// unapproved are the findings about kubelets without a client certificate for which the plan approves no
// request: the facts after it are as if each node came back.
func (d *Draft) unapproved(before, after []assess.Finding) []assess.Finding {
	var out []assess.Finding
	approves := map[string]bool{}
	for _, n := range d.Plan.Nodes() {
		for _, step := range n.Due() {
			approves[n.Name] = approves[n.Name] || ApprovesRequests(step.Action)
		}
	}
	for _, f := range before {
		stays := f.ID == "kubelet-current" && slices.ContainsFunc(f.At, func(at pki.Location) bool {
			return at.Path == inspect.KubeletClient && !approves[at.Node]
		})
		if stays && !slices.ContainsFunc(after, func(o assess.Finding) bool { return o.ID == f.ID && slices.Equal(o.At, f.At) }) {
			out = append(out, f)
		}
	}
	return out
}

// Judge runs the checks that inspect runs, and all of them: they prove a plan.
func Judge(s inspect.Snapshot, now time.Time) []assess.Finding {
	return check.Judge(context.Background(), inspect.NewFacts(s, now, 0))
}

// missing returns the findings that matter and that are not among others, place
// by place.
func missing(of, in []assess.Finding) []assess.Finding {
	type at struct{ check, place string }
	there := map[at]assess.Severity{}
	for _, f := range in {
		for _, l := range f.At {
			key := at{f.ID, l.String()}
			there[key] = max(there[key], f.Severity+1) // 0: none
		}
	}
	var out []assess.Finding
	for _, f := range of {
		if f.Severity < assess.Warning {
			continue
		}
		var gone []pki.Location
		for _, l := range f.At {
			if there[at{f.ID, l.String()}] <= f.Severity {
				gone = append(gone, l)
			}
		}
		if len(gone) > 0 {
			out = append(out, check.Only(f, gone))
		}
	}
	return out
}
