package remediate

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

// Plan is what is to be done, in order, and the facts that it was made from.
type Plan struct {
	Run   string // its ID, also of its journal and of its folder on nodes
	Basis inspect.Snapshot
	Now   time.Time
	Notes []string // what people are to know beside the steps
	Nodes []NodePlan
	// Solved are the findings that the plan removes, and Added those that it would
	// bring: both by the checks that inspect runs.
	Solved, Added []inspect.Finding
	after         inspect.Snapshot // the facts as they would be
}

// NodePlan is what is to be done on a node. A node is done, or given up, before
// the next one begins.
type NodePlan struct {
	Name  string
	Steps []Step
}

// Step is an action and what it would change; nil: it is so already.
type Step struct {
	Action Action
	Change *Change
}

// Empty reports whether nothing is to be done.
func (p *Plan) Empty() bool {
	return !slices.ContainsFunc(p.Nodes, func(n NodePlan) bool { return n.changes() })
}

func (n NodePlan) changes() bool {
	return slices.ContainsFunc(n.Steps, func(s Step) bool { return s.Change != nil })
}

// NewRun returns the ID of a run that starts now: it sorts by time, and two
// people who start at the same moment have two.
func NewRun(now time.Time) string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // it never fails
	return now.UTC().Format("20060102-150405-") + hex.EncodeToString(b[:])
}

// draft makes a plan step by step. Each step is judged by the facts as the steps
// before it leave them.
type draft struct {
	plan  *Plan
	facts inspect.Snapshot
}

func newDraft(run string, basis inspect.Snapshot, now time.Time) *draft {
	return &draft{plan: &Plan{Run: run, Basis: basis, Now: now}, facts: basis}
}

func (d *draft) node(name string) { d.plan.Nodes = append(d.plan.Nodes, NodePlan{Name: name}) }

// step adds an action for the last node, and returns what it would change.
func (d *draft) step(a Action) (*Change, error) {
	c, err := a.Diff(d.facts, d.plan.Now)
	if err != nil {
		return nil, err
	}
	if c != nil {
		d.facts = d.facts.With(c.Deltas...)
	}
	n := &d.plan.Nodes[len(d.plan.Nodes)-1]
	n.Steps = append(n.Steps, Step{a, c})
	return c, nil
}

func (d *draft) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(d.plan.Notes, text) {
		d.plan.Notes = append(d.plan.Notes, text)
	}
}

// finish proves the plan: it compares what the checks find before and after.
func (d *draft) finish() *Plan {
	d.plan.after = d.facts
	before, after := judge(d.plan.Basis, d.plan.Now), judge(d.facts, d.plan.Now)
	d.plan.Solved, d.plan.Added = missing(before, after), missing(after, before)
	return d.plan
}

func judge(s inspect.Snapshot, now time.Time) []inspect.Finding {
	return inspect.Judge(inspect.NewFacts(s, now, 0))
}

// missing returns the findings that matter and that are not among others, place
// by place.
func missing(of, in []inspect.Finding) []inspect.Finding {
	type at struct{ check, place string }
	there := map[at]inspect.Severity{}
	for _, f := range in {
		for _, l := range f.At {
			key := at{f.Check, l.String()}
			there[key] = max(there[key], f.Severity+1) // 0: none
		}
	}
	var out []inspect.Finding
	for _, f := range of {
		if f.Severity < inspect.Warning {
			continue
		}
		gone := f
		gone.At = nil
		for _, l := range f.At {
			if there[at{f.Check, l.String()}] <= f.Severity {
				gone.At = append(gone.At, l)
			}
		}
		if len(gone.At) > 0 {
			out = append(out, gone)
		}
	}
	return out
}
