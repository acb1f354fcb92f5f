package remediate

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// Plan is what is to be done, in order, and the facts that it was made from.
type Plan struct {
	RunID string // its ID, also of its journal and of its folder on nodes
	Basis inspect.Snapshot
	Now   time.Time
	Notes Notes
	// Checked are the checks of the whole cluster that were made before.
	Checked Checked
	Waves   []Wave // in this order
	// Unknown are nodes of which it is unknown what they need, and why. Nothing is
	// done to them.
	Unknown []*Refusal
	// Unapproved are nodes whose kubelets wait for a certificate, or will, that the plan does not approve.
	Unapproved []string
	// Solved are the findings that the plan removes, and Added those that it would
	// bring: both by the checks that inspect runs. What tenants alone write is a note, and not among Added.
	Solved, Added []assess.Finding
	Left          []assess.Finding // those that matter and are there after it, whatever it solved
	// Breaks are the trust edges that hold before the plan, and that fail or are unknown after it, by what it does.
	Breaks []trust.Claim
	After  inspect.Snapshot // the facts as they would be
}

// Wave is done before the next one begins.
type Wave struct {
	Name string // one of the constants below; empty: there is but one
	Why  string // for people
	// Parallel is on how many nodes at once something is done, at least 1. A node is
	// done before the next one takes its place.
	Parallel int
	Nodes    []NodePlan
}

// NodePlan is what is to be done on a node, step by step.
type NodePlan struct {
	Name  string // empty: the cluster itself
	Steps []Step
}

// Title is its name, or what the first step does to the cluster.
func (n NodePlan) Title() string {
	if n.Name == "" && len(n.Steps) > 0 {
		return n.Steps[0].Action.ID()
	}
	return n.Name
}

// Due are the steps that change something.
func (n NodePlan) Due() (steps []Step) {
	for _, s := range n.Steps {
		if s.Change != nil {
			steps = append(steps, s)
		}
	}
	return steps
}

// Due are the nodes on which something is to be done.
func (w Wave) Due() (nodes []NodePlan) {
	for _, n := range w.Nodes {
		if n.Changes() {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// Titles are the titles of nodes, in order.
func Titles(nodes []NodePlan) (out []string) {
	for _, n := range nodes {
		out = append(out, n.Title())
	}
	return out
}

// Step is an action and what it would change; nil: it is already up to date.
type Step struct {
	Action Action
	Change *Change
}

// Nodes are those of all waves, in order. A node may be in more than one.
func (p *Plan) Nodes() []NodePlan {
	var all []NodePlan
	for _, w := range p.Waves {
		all = append(all, w.Nodes...)
	}
	return all
}

// Empty reports whether nothing is to be done.
func (p *Plan) Empty() bool { return !slices.ContainsFunc(p.Waves, Wave.Changes) }

// Changes reports whether anything is to be done in it.
func (w Wave) Changes() bool { return slices.ContainsFunc(w.Nodes, NodePlan.Changes) }

// Changes reports whether anything is to be done there.
func (n NodePlan) Changes() bool {
	return slices.ContainsFunc(n.Steps, func(s Step) bool { return s.Change != nil })
}

// NewRun returns the ID of a run that starts now: it sorts by time, and two
// people who start at the same moment have two.
func NewRun(now time.Time) string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // it never fails
	return now.UTC().Format(runTime) + hex.EncodeToString(b[:])
}

const runTime = "20060102-150405-"

// RunStarted is when a run began, by its ID: to the second, by the clock of who began it.
func RunStarted(run string) (at time.Time, ok bool) {
	at, err := time.Parse(runTime, run[:min(len(run), len(runTime))])
	return at, err == nil
}

// Draft makes a plan step by step. Each step is judged by the facts as the steps
// before it leave them.
type Draft struct {
	Plan     *Plan
	Snapshot inspect.Snapshot
	Before   *Before // what the plan's basis is judged to be: plans that are made from the same facts share it
}

// Hints write the next steps of a plan.
func (d *Draft) Hints() inspect.Hints { return d.Plan.Basis.Hints }

// NewDraft begins a plan. basis are the facts that it is made from.
func NewDraft(run string, basis inspect.Snapshot, now time.Time) *Draft {
	return &Draft{Plan: &Plan{RunID: run, Basis: basis, Now: now}, Snapshot: basis, Before: NewBefore(basis, now)}
}

// AddNode begins the steps of a node, in a wave without a name: one after another.
func (d *Draft) AddNode(name string) {
	if len(d.Plan.Waves) == 0 {
		d.Plan.Waves = []Wave{{Parallel: 1}}
	}
	w := &d.Plan.Waves[len(d.Plan.Waves)-1]
	w.Nodes = append(w.Nodes, NodePlan{Name: name})
}

// NodeSteps makes the steps of a node by themselves. After an error, the draft is as it
// was before.
func (d *Draft) NodeSteps(name string, make func(*Draft) error) (NodePlan, error) {
	one := &Draft{Plan: &Plan{RunID: d.Plan.RunID, Now: d.Plan.Now, Basis: d.Plan.Basis, Notes: slices.Clone(d.Plan.Notes)}, Snapshot: d.Snapshot}
	one.AddNode(name)
	if err := make(one); err != nil {
		return NodePlan{}, err
	}
	d.Snapshot, d.Plan.Notes = one.Snapshot, one.Plan.Notes
	d.Plan.Unapproved = append(d.Plan.Unapproved, one.Plan.Unapproved...)
	return one.Plan.Waves[0].Nodes[0], nil
}

// Step adds an action for the last node of the last wave, and returns what it would change.
func (d *Draft) Step(a Action) (*Change, error) {
	c, err := a.Diff(d.Snapshot, d.Plan.Now)
	if err != nil {
		return nil, err
	}
	if c != nil {
		d.Snapshot = d.Snapshot.With(c.Deltas...)
	}
	w := &d.Plan.Waves[len(d.Plan.Waves)-1]
	n := &w.Nodes[len(w.Nodes)-1]
	n.Steps = append(n.Steps, Step{a, c})
	return c, nil
}

// AddPlan adds the steps of another plan that was made from the same facts, with what they change.
func (d *Draft) AddPlan(p *Plan) {
	for _, n := range p.Nodes() {
		d.AddNode(n.Name)
		w := &d.Plan.Waves[len(d.Plan.Waves)-1]
		w.Nodes[len(w.Nodes)-1].Steps = n.Steps
		for _, s := range n.Due() {
			d.Snapshot = d.Snapshot.With(s.Change.Deltas...)
		}
	}
}

// Note adds a note to the plan, once.
func (d *Draft) Note(format string, args ...any) {
	d.Plan.Notes.Add(Note{Text: fmt.Sprintf(format, args...)})
}

// ClusterStep makes a step that is done to no node.
func (d *Draft) ClusterStep(action Action) ([]NodePlan, error) {
	n, err := d.NodeSteps("", func(d *Draft) error { _, err := d.Step(action); return err })
	return []NodePlan{n}, err
}

// AddWave adds a wave, if there is anything in it.
func (d *Draft) AddWave(w Wave) {
	if len(w.Nodes) > 0 {
		d.Plan.Waves = append(d.Plan.Waves, w)
	}
}

// The waves of a repair of all nodes, in this order; those of workers are three.
const (
	WaveMasters      = "masters"
	WaveControlPlane = "control-plane"
	WaveWorkers      = "workers"
	WaveNetwork      = "network"
	WaveRequests     = "requests"

	WaveNotReady = WaveWorkers + "-not-ready"
	WaveFirst    = WaveWorkers + "-first"
	WaveNodes    = "nodes" // of a single replica: all of them
)

// Waves are the names by which waves are chosen. WaveWorkers chooses those of workers, and WaveNodes
// those of all nodes.
func Waves() []string {
	return []string{WaveMasters, WaveControlPlane, WaveWorkers, WaveNotReady, WaveFirst, WaveNetwork, WaveRequests, WaveNodes}
}
