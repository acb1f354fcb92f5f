package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// pauseMark begins what certrot writes where it pauses something: the run follows.
const pauseMark = "certrot "

// Pause tells an object to let nodes be, or Resume to go on, in the name of a run. It
// says so at the object itself, so that every user can see who paused it, and what others
// paused is never resumed.
type Pause struct {
	actor  inspect.Actor
	runs   []string // runs: the first one pauses, all of them are resumed
	resume bool
}

// ID is such as "pause machinehealthchecks openshift-machine-api/workers".
func (a Pause) ID() string {
	verb := pauseID
	if a.resume {
		verb = resumeID
	}
	return verb + a.actor.Resource + " " + ObjectName(a.actor.Namespace, a.actor.Name)
}

// Node is none: it is the cluster's.
func (a Pause) Node() string { return "" }

// Undoable reports that an undo of the run resumes what it paused.
func (a Pause) Undoable() {}

var _ remediate.Undoable = Pause{}

// marks are what stands at the object for the runs.
func (a Pause) marks() []string {
	var out []string
	for _, run := range a.runs {
		out = append(out, pauseMark+run)
	}
	return out
}

// Diff says which one field changes. Whether it already has its value is looked up when it
// is done: it may be minutes later.
func (a Pause) Diff(inspect.Snapshot, time.Time) (*remediate.Change, error) {
	row, ok := catalog.ControlPlaneResourceOf(a.actor.Resource)
	if !ok || row.PauseBy == (catalog.PauseField{}) {
		return nil, fmt.Errorf("%s: the catalog does not say how to pause this resource", a.ID())
	}
	if !a.resume && slices.Contains(a.actor.Paused, a.marks()[0]) {
		return nil, nil //nolint:nilnil // already up to date, as Action says
	}
	field, sign := "spec."+row.PauseBy.Reasons, "+"
	if row.PauseBy.Annotation != "" {
		field = "annotation " + row.PauseBy.Annotation
	}
	if a.resume {
		sign = "-"
	}
	return &remediate.Change{Summary: fmt.Sprintf("%s: %s: %s %q", a.ID(), field, sign, strings.Join(a.marks(), ", "))}, nil
}

// pauseTries is how often another client's change in between is let go first.
const pauseTries = 5

// Apply writes the one field, only while the object is as it was read a moment ago.
func (a Pause) Apply(ctx context.Context, env *remediate.Env, _ *remediate.Change) error {
	var err error
	for try := range pauseTries {
		var live *unstructured.Unstructured
		var patch map[string]any
		if live, err = a.live(ctx, env); apierrors.IsNotFound(err) && a.resume {
			return nil
		}
		if err != nil {
			err = fmt.Errorf("%s: read it: %w", a.ID(), err)
			if try == 0 { // nothing was tried yet
				return &remediate.NotAppliedError{Inner: err}
			}
			return err
		}
		if patch = a.patch(live); patch == nil {
			return nil
		}
		var raw []byte
		if raw, err = json.Marshal(patch); err != nil {
			return err
		}
		_, err = a.client(env).Patch(ctx, a.actor.Name, types.MergePatchType, raw, metav1.PatchOptions{FieldManager: "certrot"})
		if !apierrors.IsConflict(err) {
			break
		}
	}
	if err != nil {
		return refused(err, fmt.Errorf("%s: %w", a.ID(), err))
	}
	return nil
}

// patch is what to change of a live object; nil: nothing.
func (a Pause) patch(live *unstructured.Unstructured) map[string]any {
	row, _ := catalog.ControlPlaneResourceOf(a.actor.Resource)
	metadata := map[string]any{"resourceVersion": live.GetResourceVersion()}
	if key := row.PauseBy.Annotation; key != "" {
		value, paused := live.GetAnnotations()[key]
		switch {
		case a.resume && paused && slices.Contains(a.marks(), value):
			metadata["annotations"] = map[string]any{key: nil}
		case !a.resume && !paused:
			metadata["annotations"] = map[string]any{key: a.marks()[0]}
		default:
			return nil
		}
		return map[string]any{"metadata": metadata}
	}
	requests, _, _ := unstructured.NestedStringSlice(live.Object, "spec", row.PauseBy.Reasons)
	ours := func(r string) bool { return slices.Contains(a.marks(), r) }
	switch {
	case a.resume && slices.ContainsFunc(requests, ours):
		requests = slices.DeleteFunc(requests, ours)
	case !a.resume && !slices.Contains(requests, a.marks()[0]):
		requests = append(requests, a.marks()[0])
	default:
		return nil
	}
	return map[string]any{"metadata": metadata, "spec": map[string]any{row.PauseBy.Reasons: requests}}
}

func (a Pause) client(env *remediate.Env) dynamic.ResourceInterface {
	row, _ := catalog.ControlPlaneResourceOf(a.actor.Resource)
	parts := strings.Split(row.Path, "/") // "", "apis", group, version, resource
	of := env.Dynamic.Resource(schema.GroupVersionResource{Group: parts[2], Version: parts[3], Resource: parts[4]})
	if a.actor.Namespace == "" {
		return of
	}
	return of.Namespace(a.actor.Namespace)
}

func (a Pause) live(ctx context.Context, env *remediate.Env) (*unstructured.Unstructured, error) {
	if env.Dynamic == nil {
		return nil, errors.New("there is no API server to ask")
	}
	return a.client(env).Get(ctx, a.actor.Name, metav1.GetOptions{})
}

// Verify reads the object again.
func (a Pause) Verify(ctx context.Context, env *remediate.Env, _ *remediate.Change) error {
	live, err := a.live(ctx, env)
	if apierrors.IsNotFound(err) && a.resume {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: read it again: %w", a.ID(), err)
	}
	if a.patch(live) != nil {
		return fmt.Errorf("%s: another client changed it back at once", a.ID())
	}
	return nil
}

// Pauses are the steps that keep health checks off nodes while a run is under way: the
// first ones before all others, the last ones after them. Of those that an earlier run
// paused, and did not resume since it was interrupted, the last ones are this run's too.
func Pauses(m *inspect.ControlPlaneStatus, run string) (first, last []remediate.Step, err error) {
	return steps(m, func(a inspect.Actor) (pause, resume bool) {
		earlier := slices.ContainsFunc(a.Paused, func(by string) bool { return strings.HasPrefix(by, pauseMark) })
		return a.Active != catalog.No && a.Paused == nil, a.Active != catalog.No && a.Paused == nil || earlier
	}, func(a inspect.Actor) []string {
		by := []string{run}
		for _, who := range a.Paused {
			if other, ours := strings.CutPrefix(who, pauseMark); ours && other != run {
				by = append(by, other)
			}
		}
		return by
	})
}

// UnpauseSteps are the steps that resume what a run paused.
func UnpauseSteps(m *inspect.ControlPlaneStatus, run string) ([]remediate.Step, error) {
	_, last, err := steps(m, func(a inspect.Actor) (pause, resume bool) {
		return false, slices.Contains(a.Paused, pauseMark+run)
	}, func(inspect.Actor) []string { return []string{run} })
	return last, err
}

func steps(m *inspect.ControlPlaneStatus, which func(inspect.Actor) (pause, resume bool), by func(inspect.Actor) []string) (first, last []remediate.Step, err error) {
	add := func(to *[]remediate.Step, a Pause) {
		c, failed := a.Diff(inspect.Snapshot{}, time.Time{})
		err = errors.Join(err, failed)
		*to = append(*to, remediate.Step{Action: a, Change: c})
	}
	for _, a := range m.Actors {
		if row, _ := catalog.ControlPlaneResourceOf(a.Resource); row.PauseBy == (catalog.PauseField{}) {
			continue
		}
		pause, resume := which(a)
		if pause {
			add(&first, Pause{actor: a, runs: by(a)})
		}
		if resume {
			add(&last, Pause{actor: a, runs: by(a), resume: true})
		}
	}
	return first, last, err
}

// LeftPaused are the steps that resume what runs before this one left paused.
func LeftPaused(m *inspect.ControlPlaneStatus) ([]remediate.Step, error) {
	ours := func(by string) bool { return strings.HasPrefix(by, pauseMark) }
	_, last, err := steps(m, func(a inspect.Actor) (pause, resume bool) {
		return false, slices.ContainsFunc(a.Paused, ours)
	}, func(a inspect.Actor) (by []string) {
		for _, who := range a.Paused {
			if other, ok := strings.CutPrefix(who, pauseMark); ok {
				by = append(by, other)
			}
		}
		return by
	})
	return last, err
}

// Frame puts steps of the cluster itself before and after all others. A request that was not
// answered is looked at after them: it may end a run, and they must not wait for that.
func Frame(p *remediate.Plan, first, last []remediate.Step) {
	if len(first) > 0 {
		p.Waves = slices.Insert(p.Waves, 0, remediate.Wave{Nodes: []remediate.NodePlan{{Steps: first}}})
	}
	if len(last) > 0 {
		i := slices.IndexFunc(p.Waves, func(w remediate.Wave) bool { return w.Name == remediate.WaveRequests })
		if i < 0 {
			i = len(p.Waves)
		}
		p.Waves = slices.Insert(p.Waves, i, remediate.Wave{Nodes: []remediate.NodePlan{{Steps: last}}})
	}
}

// pauseID and resumeID begin the ID of what pauses and resumes. Journals have them for ever, and
// StillPaused reads them there.
const (
	pauseID  = "pause "
	resumeID = "resume "
)

// StillPaused is what a run paused, or was about to, and did not resume: neither itself, nor one of
// these later runs.
func StillPaused(s remediate.RunRecord, later ...remediate.RunRecord) (paused []string) {
	for _, run := range append([]remediate.RunRecord{s}, later...) {
		for i, r := range run.Records {
			if of, ok := strings.CutPrefix(r.Action, pauseID); ok && r.Event == remediate.Begun && run.Run == s.Run && !run.FailedUnchanged(i) {
				paused = append(paused, of)
			}
			if of, ok := strings.CutPrefix(r.Action, resumeID); ok && r.Event == remediate.Done {
				paused = slices.DeleteFunc(paused, func(p string) bool { return p == of })
			}
		}
	}
	return paused
}

// Paused reports whether a run left something paused.
func Paused(s remediate.RunRecord) bool { return len(StillPaused(s)) > 0 }

// ObjectName is namespace/name; the name alone where there is no namespace.
func ObjectName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
