package remediate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
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
	d.Plan.Solved, d.Plan.Added = missing(before, after), d.counted(facts, missing(after, before))
	d.Plan.Left = missing(after, nil)
	d.Plan.Breaks = breaksOf(d.Before.claims(), trust.Judge(context.Background(), facts))
	return d.Plan
}

// namedNew is how many new findings a note names.
const namedNew = 3

// counted are the ones of a plan's new findings that refuse it. Others are notes that name them: tenants would decide
// whether the platform is repaired, and so would one worker where no node is changed, since none can be left out.
func (d *Draft) counted(facts *inspect.Facts, added []assess.Finding) (out []assess.Finding) {
	writers := writersOf{facts: facts}
	if !slices.ContainsFunc(d.Plan.Nodes(), func(n NodePlan) bool { return n.Name != "" && n.Changes() }) {
		writers.worker = workersAlone(facts, added)
	}
	told := map[string][]string{}
	var order []string
	for _, f := range added {
		at := map[string][]pki.Location{}
		for _, l := range f.At {
			who := writers.alone(f.ID, l)
			at[who] = append(at[who], l)
		}
		for _, who := range slices.Sorted(maps.Keys(at)) {
			of := check.Only(f, at[who])
			if who == "" {
				out = append(out, of)
				continue
			}
			if told[who] == nil {
				order = append(order, who)
			}
			told[who] = append(told[who], of.ID+": "+of.Reason)
		}
	}
	for _, who := range order {
		lines, more := told[who], ""
		if n := len(lines) - namedNew; n > 0 {
			lines, more = lines[:namedNew], fmt.Sprintf("; and %d more", n)
		}
		d.Note("After it, checks find something new in what only %s, which refuses no plan: %s%s. Look at it: %s", who, strings.Join(lines, "; "), more, d.Hints().Next("{} inspect --all"))
	}
	return out
}

// writersOf says who alone writes a place, where that is not the platform.
type writersOf struct {
	facts  *inspect.Facts
	worker map[string]string // by check: the one worker that counts
}

func (w writersOf) alone(id string, at pki.Location) string {
	switch by := w.facts.WriterOf(at); {
	case by == inspect.WriterTenant:
		return "tenants write"
	case by == inspect.WriterNode && w.worker[id] == at.Node:
		return "root on " + foreign.Name(at.Node) + " writes"
	}
	return ""
}

// workersAlone are the workers in whose files alone a check finds something new, by check: what several have may be
// of the platform's making.
func workersAlone(facts *inspect.Facts, added []assess.Finding) map[string]string {
	out := map[string]string{}
	for _, f := range added {
		for _, l := range f.At {
			if facts.WriterOf(l) != inspect.WriterNode {
				continue
			}
			if other, known := out[f.ID]; known && other != l.Node {
				out[f.ID] = ""
			} else {
				out[f.ID] = l.Node
			}
		}
	}
	return out
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
