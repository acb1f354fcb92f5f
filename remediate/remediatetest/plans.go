package remediatetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// StepsOf are the IDs of what is to be done.
func StepsOf(p *remediate.Plan) (ids []string) {
	for _, n := range p.Nodes() {
		for _, s := range n.Steps {
			if s.Change != nil {
				ids = append(ids, s.Action.ID())
			}
		}
	}
	return ids
}

// everything says to try all that there is, which takes some minutes, and not a
// part of it that finds most.
func everything() bool { return os.Getenv("CERTROT_EVERY_STEP") == "1" }

// thorough ends a test of many runs where only the quick ones are wanted.
func thorough(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("many runs, which -short leaves out")
	}
}

// IsUnknown reports whether an effect is unknown.
func IsUnknown(err error) bool { var u *remediate.UnknownEffectError; return errors.As(err, &u) }

// Course tells a plan as "wave/parallel: node node; wave/parallel: node": the nodes to
// which something is to be done.
func Course(p *remediate.Plan) string {
	var waves []string
	for _, w := range p.Waves {
		if w.Changes() {
			waves = append(waves, fmt.Sprintf("%s/%d: %s", w.Name, w.Parallel, strings.Join(remediate.Titles(w.Due()), " ")))
		}
	}
	return strings.Join(waves, "; ")
}

// played is an action without a world: it does what a test says.
type played struct {
	name, node string
	apply      func(ctx context.Context) error
}

func (a played) ID() string { return a.name }

func (a played) Node() string { return a.node }

func (a played) Diff(inspect.Snapshot, time.Time) (*remediate.Change, error) {
	return &remediate.Change{Summary: a.name}, nil
}

func (a played) Apply(ctx context.Context, _ *remediate.Env, _ *remediate.Change) error {
	return a.apply(ctx)
}

func (a played) Verify(context.Context, *remediate.Env, *remediate.Change) error { return nil }

// Stage runs plans of played actions, two on each node, and takes down what happened.
type Stage struct {
	mu      sync.Mutex
	Began   []string
	now     int // actions at this moment
	Most    int
	Apply   func(id string) error
	Open    func(node string) error // nil: each node is reached
	Gate    remediate.Gate          // nil: none is asked
	journal remediate.Journals
}

func (s *Stage) node(name string) remediate.NodePlan {
	n := remediate.NodePlan{Name: name}
	for _, step := range []string{"a", "b"} {
		id := name + step
		n.Steps = append(n.Steps, remediate.Step{Action: played{id, name, func(context.Context) error {
			s.mu.Lock()
			s.Began = append(s.Began, id)
			s.now++
			s.Most = max(s.Most, s.now)
			s.mu.Unlock()
			err := s.Apply(id)
			s.mu.Lock()
			s.now--
			s.mu.Unlock()
			return err
		}}, Change: &remediate.Change{Summary: id}})
	}
	return n
}

// Run runs a plan and returns its journal.
func (s *Stage) Run(ctx context.Context, t *testing.T, p *remediate.Plan) (remediate.RunRecord, error) {
	t.Helper()
	s.journal.Folder = t.TempDir()
	id := remediate.NewRun(TestNow)
	j, err := s.journal.Begin(remediate.Header{Run: id}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	env := &remediate.Env{RunID: id, Now: time.Now,
		Open: func(_ context.Context, name string) (nodeexec.Node, error) {
			if s.Open == nil {
				return nil, nil
			}
			return nil, s.Open(name)
		},
		ReadNode: func(context.Context, nodeexec.Node) (inspect.Snapshot, error) {
			var all inspect.Snapshot
			for _, n := range p.Nodes() {
				all.Nodes = append(all.Nodes, inspect.Node{Name: n.Name, Hostname: n.Name, Via: "ssh"})
			}
			all.Sort()
			return all, nil
		},
	}
	err = remediate.Runner{Env: env, Journal: j, Gate: s.Gate}.Run(ctx, p)
	_ = j.Close()
	story, readErr := s.journal.Read(id)
	if readErr != nil {
		t.Fatal(readErr)
	}
	return story, err
}

// Plan is a plan of these waves.
func (s *Stage) Plan(waves ...remediate.Wave) *remediate.Plan {
	return &remediate.Plan{RunID: "run-1", Waves: waves}
}

// Wave is a wave of these nodes.
func (s *Stage) Wave(parallel int, names ...string) remediate.Wave {
	w := remediate.Wave{Parallel: parallel}
	for _, n := range names {
		w.Nodes = append(w.Nodes, s.node(n))
	}
	return w
}
