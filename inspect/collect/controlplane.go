package collect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// controlPlaneTimeout bounds the list of one kind: there are few objects of each.
const controlPlaneTimeout = 20 * time.Second

// movingObject is what certrot reads of the kinds in catalog.ControlPlaneResources; the field
// names are the API's.
type movingObject struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		NodeName            string                  `json:"nodeName"`            // of a Pod
		Paused              bool                    `json:"paused"`              // of a MachineConfigPool
		Configuration       objectName              `json:"configuration"`       // of a MachineConfigPool
		UnhealthyConditions []conditionStatus       `json:"unhealthyConditions"` // of a health check
		PauseRequests       []string                `json:"pauseRequests"`       // of a NodeHealthCheck
		ScaleDown           *struct{ Enabled bool } `json:"scaleDown"`           // of a ClusterAutoscaler
		State               string                  `json:"state"`               // of a ControlPlaneMachineSet
		Strategy            struct{ Type string }   `json:"strategy"`            // of a ControlPlaneMachineSet
		Replicas            int                     `json:"replicas"`            // of a ControlPlaneMachineSet, of a Deployment
	} `json:"spec"`
	Status struct {
		Conditions    []conditionStatus        `json:"conditions"`
		Desired       struct{ Version string } `json:"desired"` // of ClusterVersion
		Latest        int                      `json:"latestAvailableRevision"`
		NodeStatuses  []revisionStatus         `json:"nodeStatuses"`
		Configuration objectName               `json:"configuration"`
		Machines      int                      `json:"machineCount"`
		Updated       int                      `json:"updatedMachineCount"`
		Phase         string                   `json:"phase"` // of a Pod
		Replicas      int                      `json:"replicas"`
		UpToDate      int                      `json:"updatedReplicas"`
		Ready         int                      `json:"readyReplicas"` // of a Deployment
	} `json:"status"`
}

type conditionStatus struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

type revisionStatus struct {
	Node    string `json:"nodeName"`
	Current int    `json:"currentRevision"`
	Target  int    `json:"targetRevision"`
}

// condition returns a condition of its status.
func (o *movingObject) condition(kind string) conditionStatus {
	for _, c := range o.Status.Conditions {
		if c.Type == kind {
			c.Message = inspect.WithoutUserinfo(c.Message) // such as of a proxy
			return c
		}
	}
	return conditionStatus{}
}

// ControlPlaneStatus asks what moves nodes and static pods by itself: each kind for itself, so
// that one which can't be read hides no other.
func (c *Cluster) ControlPlaneStatus(ctx context.Context) *inspect.ControlPlaneStatus {
	m := &inspect.ControlPlaneStatus{}
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(namespacesAtOnce)
	g.Go(func() error {
		found, err := c.nodeStates(ctx)
		mu.Lock()
		defer mu.Unlock()
		m.Nodes = found
		if err != nil {
			m.Gaps = append(m.Gaps, gapOf("nodes", "", 0, listing{err: err}))
		}
		return nil
	})
	for _, row := range catalog.ControlPlaneResources() {
		g.Go(func() error {
			found, err := c.moving(ctx, row)
			mu.Lock()
			defer mu.Unlock()
			for i := range found {
				addStatus(m, row, &found[i])
			}
			if err != nil {
				m.Gaps = append(m.Gaps, gapOf(row.Resource(), namespaceOf(row.Path), 0, listing{err: err}))
			}
			return nil
		})
	}
	_ = g.Wait() // none returns an error: what could not be read is a gap
	m.MarkForeign()
	sortControlPlane(m)
	return m
}

// StaticPodNodes asks operators alone on which nodes they put the control plane's static pods.
func (c *Cluster) StaticPodNodes(ctx context.Context) []string {
	m := &inspect.ControlPlaneStatus{}
	for _, row := range catalog.ControlPlaneResources() {
		if row.Reports != catalog.ReportsStaticPods {
			continue
		}
		found, err := c.moving(ctx, row)
		if err != nil {
			return nil
		}
		for i := range found {
			addStatus(m, row, &found[i])
		}
	}
	m.MarkForeign()
	return m.StaticPodNodes()
}

func namespaceOf(path string) string {
	_, rest, ok := strings.Cut(path, "/namespaces/")
	if !ok {
		return ""
	}
	namespace, _, _ := strings.Cut(rest, "/")
	return namespace
}

// moving lists the objects of a kind; none where it is not served.
func (c *Cluster) moving(ctx context.Context, row catalog.ControlPlaneResource) ([]movingObject, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, controlPlaneTimeout, fmt.Errorf("no answer within %s", controlPlaneTimeout))
	defer cancel()
	var found []movingObject
	l := listJSON(ctx, c, row.Path, metav1.ListOptions{}, func(o *movingObject) {
		if strings.HasPrefix(o.Metadata.Name, row.NamePrefix) {
			found = append(found, *o)
		}
	})
	group := row.Path[:strings.LastIndexByte(row.Path, '/')]
	switch {
	case apierrors.IsNotFound(l.err), apierrors.IsForbidden(l.err) && strings.HasPrefix(group, "/apis/") && !c.serves(ctx, group):
		return nil, nil
	case l.err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return found, l.err
}

// addStatus adds what an object tells.
func addStatus(m *inspect.ControlPlaneStatus, row catalog.ControlPlaneResource, o *movingObject) {
	switch row.Reports {
	case catalog.ReportsVersion:
		progressing := o.condition("Progressing")
		m.Update = inspect.Update{Progressing: cmp.Or(progressing.Status, "Unknown"), Message: progressing.Message, Desired: o.Status.Desired.Version}
		if failing := o.condition("Failing"); failing.Status == "True" {
			m.Update.Failing = failing.Message
		}
	case catalog.ReportsOperator:
		s := inspect.OperatorState{Name: o.Metadata.Name, Available: o.condition("Available").Status, Progressing: o.condition("Progressing").Status, Degraded: o.condition("Degraded").Status}
		s.Message = o.condition("Available").Message
		if s.Degraded == "True" {
			s.Message = o.condition("Degraded").Message
		}
		m.Operators = append(m.Operators, s)
	case catalog.ReportsStaticPods:
		s := inspect.StaticPods{Resource: row.Resource(), Latest: o.Status.Latest, Conditions: map[string]string{}, Messages: map[string]string{}}
		for _, n := range o.Status.NodeStatuses {
			s.Masters = append(s.Masters, inspect.StaticPodState(n))
		}
		for _, c := range o.Status.Conditions {
			s.Conditions[c.Type], s.Messages[c.Type] = c.Status, c.Message
		}
		m.StaticPods = append(m.StaticPods, s)
	case catalog.ReportsInstaller:
		if phase := o.Status.Phase; phase != "Succeeded" && phase != "Failed" {
			m.Installers = append(m.Installers, inspect.Installer{Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, Node: o.Spec.NodeName, Phase: phase})
		}
	case catalog.ReportsPool:
		m.Pools = append(m.Pools, inspect.Pool{
			Name: o.Metadata.Name, Paused: o.Spec.Paused, Updating: o.condition("Updating").Status, Degraded: o.condition("Degraded").Status,
			Current: o.Status.Configuration.Name, Desired: o.Spec.Configuration.Name, Machines: o.Status.Machines, Updated: o.Status.Updated,
		})
	case catalog.ReportsBundlePublisher:
		m.Workloads = append(m.Workloads, inspect.Workload{Kind: inspect.Deployment, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, Desired: o.Spec.Replicas, Ready: o.Status.Ready})
	case catalog.ReportsFileWriter:
		w := inspect.Workload{Kind: inspect.DaemonPod, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, Node: o.Spec.NodeName, Desired: 1}
		if o.condition("Ready").Status == "True" {
			w.Ready = 1
		}
		m.Workloads = append(m.Workloads, w)
	case catalog.ReportsAPIService:
		if o.condition("Available").Status == "False" {
			m.UnavailableAPIs = append(m.UnavailableAPIs, o.Metadata.Name)
		}
	default:
		m.Actors = append(m.Actors, actor(row, o))
	}
}

// actor says what an object does to nodes that are not Ready.
func actor(row catalog.ControlPlaneResource, o *movingObject) inspect.Actor {
	a := inspect.Actor{Resource: row.Resource(), Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, Active: catalog.No}
	if value, ok := o.Metadata.Annotations[row.PauseBy.Annotation]; ok && row.PauseBy.Annotation != "" {
		a.Paused = []string{value}
	}
	if row.PauseBy.Reasons != "" && len(o.Spec.PauseRequests) > 0 {
		a.Paused = o.Spec.PauseRequests
	}
	switch a.Resource {
	case catalog.MachineHealthChecks, catalog.NodeHealthChecks:
		heeds := o.Spec.UnhealthyConditions
		if len(heeds) == 0 && a.Resource == catalog.NodeHealthChecks { // its own default
			heeds = []conditionStatus{{Type: "Ready", Status: "False"}, {Type: "Ready", Status: "Unknown"}}
		}
		var words []string
		for _, c := range heeds {
			words = append(words, foreign.Text(c.Type)+" "+foreign.Text(c.Status))
			// All conditions of a node become Unknown when its kubelet is not heard of.
			if c.Status == "Unknown" || c.Type == "Ready" && c.Status == "False" {
				a.Active = catalog.Yes
			}
		}
		a.Why = "it heeds " + cmp.Or(strings.Join(words, ", "), "no condition of nodes")
	case catalog.ClusterAutoscalers:
		switch down := o.Spec.ScaleDown; {
		case down == nil:
			a.Active, a.Why = catalog.Yes, "it scales down, as by default"
		case down.Enabled:
			a.Active, a.Why = catalog.Yes, "it scales down"
		default:
			a.Why = "it does not scale down"
		}
	case catalog.ControlPlaneMachines:
		a.Why = "state " + foreign.Text(cmp.Or(o.Spec.State, "Inactive"))
		if o.Spec.State == "Active" && (o.Status.UpToDate < o.Status.Replicas && o.Spec.Strategy.Type != "OnDelete" || o.Status.Replicas != o.Spec.Replicas) {
			a.Active, a.Why = catalog.Yes, fmt.Sprintf("it is replacing machines: %d of %d are as it wants, and there are %d", o.Status.UpToDate, o.Spec.Replicas, o.Status.Replicas)
		}
	case catalog.MachineAutoscalers:
		a.Why = "it names machines to the ClusterAutoscaler"
	default:
		a.Active, a.Why = catalog.Yes, "it is at work on "+o.remediated()
	}
	return a
}

// remediated is what a SelfNodeRemediation reboots.
func (o *movingObject) remediated() string {
	machine := ""
	for _, owner := range o.Metadata.OwnerReferences {
		if owner.Kind == "NodeHealthCheck" {
			machine = ""
			break
		}
		if owner.Kind == "Machine" {
			machine = owner.Name
		}
	}
	if machine != "" {
		return "the node of Machine " + foreign.Text(machine)
	}
	return "node " + cmp.Or(foreign.Text(o.Metadata.Annotations[catalog.AnnotationRemediatedNode]), o.Metadata.Name)
}

// nodeStates lists all nodes.
func (c *Cluster) nodeStates(ctx context.Context) ([]inspect.NodeState, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, controlPlaneTimeout, fmt.Errorf("no answer within %s", controlPlaneTimeout))
	defer cancel()
	var found []inspect.NodeState
	keys := catalog.PoolAnnotations()
	l := listJSON(ctx, c, "/api/v1/nodes", metav1.ListOptions{}, func(o *movingObject) {
		says := o.Metadata.Annotations
		found = append(found, inspect.NodeState{
			Name: o.Metadata.Name, Ready: readiness(corev1.ConditionStatus(cmp.Or(o.condition("Ready").Status, "Unknown"))), Master: catalog.IsMaster(o.Metadata.Labels),
			Config: catalog.PoolState{Current: says[keys.Current], Desired: says[keys.Desired], State: says[keys.State]},
		})
	})
	if l.err != nil {
		return found, l.err
	}
	leaseOf, _ := c.heartbeats(ctx) // of each node it is said that its Lease could not be read
	for i := range found {
		found[i].Heartbeat, found[i].Lease = leaseOf(found[i].Name)
	}
	return found, nil
}

func sortControlPlane(m *inspect.ControlPlaneStatus) {
	slices.Sort(m.UnavailableAPIs)
	slices.SortFunc(m.Nodes, func(a, b inspect.NodeState) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(m.Operators, func(a, b inspect.OperatorState) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(m.StaticPods, func(a, b inspect.StaticPods) int { return cmp.Compare(a.Resource, b.Resource) })
	slices.SortFunc(m.Installers, func(a, b inspect.Installer) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(m.Pools, func(a, b inspect.Pool) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(m.Workloads, func(a, b inspect.Workload) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(m.Actors, func(a, b inspect.Actor) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(m.Gaps, func(a, b inspect.Gap) int { return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Where, b.Where)) })
}
