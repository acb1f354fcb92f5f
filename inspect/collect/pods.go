package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Pods lists the pods of these namespaces, by node and name. What could not be listed
// is a gap; a namespace that is not there has no pods.
func (c *Cluster) Pods(ctx context.Context, namespaces ...string) ([]inspect.Pod, []inspect.Gap) {
	var pods []inspect.Pod
	var gaps []inspect.Gap
	for _, ns := range namespaces {
		before := len(pods)
		l := listPages(ctx, metav1.ListOptions{}, keptPage(c.REST, "/api/v1/namespaces/"+ns+"/pods", keptOfPod(), podOf, func(p inspect.Pod) { pods = append(pods, p) }))
		if l.err != nil {
			gaps = append(gaps, gapOf("pods", ns, len(pods)-before, l))
		}
	}
	slices.SortStableFunc(pods, func(a, b inspect.Pod) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return pods, gaps
}

// DeletingPods counts, for each node, the pods that someone wants gone and whose
// kubelet has not said that they are: on a node that was away for long, those that it
// kills when it comes back.
func (c *Cluster) DeletingPods(ctx context.Context) (map[string]int, error) {
	count := map[string]int{}
	l := listPages(ctx, metav1.ListOptions{}, keptPage(c.REST, "/api/v1/pods", keptOfDeleting(), nodeOfDeleting, func(node string) {
		if node != "" {
			count[node]++
		}
	}))
	if l.err != nil {
		return nil, fmt.Errorf("list pods of all namespaces: %w", l.err)
	}
	return count, nil
}

// nodeOfDeleting is the node of a pod that is to be gone; empty: it is not, or has none.
func nodeOfDeleting(p *corev1.Pod) string {
	if p.DeletionTimestamp == nil {
		return ""
	}
	return p.Spec.NodeName
}

// The fields of a Pod in protobuf (k8s.io/api/core/v1/generated.proto).
const (
	podMetadata, podSpec, podStatus       = 1, 2, 3
	specContainers, specNodeName          = 2, 10
	containerCommand, containerArgs       = 3, 4
	statusPhase, statusConditions         = 1, 2
	statusStartTime, statusContainers     = 7, 8
	conditionType, podConditionStatus     = 1, 2
	containerState, containerRestartCount = 2, 5
	stateRunning                          = 2
)

// keptOfDeleting is what nodeOfDeleting reads.
func keptOfDeleting() keptFields {
	return keptFields{podMetadata: {metaDeleted: nil}, podSpec: {specNodeName: nil}}
}

// keptOfPod is what podOf reads.
func keptOfPod() keptFields {
	return keptFields{
		podMetadata: {metaName: nil, metaNamespace: nil, metaUID: nil, metaDeleted: nil, metaOwners: nil},
		podSpec:     {specNodeName: nil},
		podStatus: {
			statusPhase: nil, statusStartTime: nil, statusConditions: {conditionType: nil, podConditionStatus: nil},
			statusContainers: {containerState: {stateRunning: nil}, containerRestartCount: nil},
		},
	}
}

// longestPhase is longer than the phases that there are. A kubelet writes them, and the API takes any text.
const longestPhase = 64

func phaseOf(p *corev1.Pod) string {
	phase := string(p.Status.Phase)
	if len(phase) > longestPhase {
		phase = strings.Clone(phase[:longestPhase]) + "…"
	}
	return phase
}

// podOf reads what keptOfPod has.
func podOf(p *corev1.Pod) inspect.Pod {
	out := inspect.Pod{
		Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Node: p.Spec.NodeName,
		Phase: phaseOf(p), Deleting: p.DeletionTimestamp != nil,
	}
	if owner := metav1.GetControllerOf(p); owner != nil {
		out.OwnerKind, out.OwnerName = owner.Kind, owner.Name
	}
	if p.Status.StartTime != nil {
		out.Accepted = utc(p.Status.StartTime.Time)
	}
	for _, s := range p.Status.ContainerStatuses {
		out.Restarts += int(s.RestartCount)
		if r := s.State.Running; r != nil && (out.Started.IsZero() || r.StartedAt.Time.Before(out.Started)) {
			out.Started = utc(r.StartedAt.Time)
		}
	}
	for _, cond := range p.Status.Conditions {
		if cond.Type == corev1.PodReady {
			out.Ready = cond.Status == corev1.ConditionTrue
		}
	}
	return out
}

// Rollout reads how far the CAs have come that kube-controller-manager publishes, those of
// kube-scheduler, and kube-root-ca.crt in these namespaces. Namespaces that are not there
// are left out.
func (c *Cluster) Rollout(ctx context.Context, namespaces ...string) (inspect.Rollout, error) {
	var r inspect.Rollout
	manager, err := c.revisions(ctx, "kubecontrollermanagers", catalog.ServiceAccountCA())
	if err != nil {
		return r, err
	}
	if manager != nil {
		r.Operator, r.Source, r.Latest, r.Masters = true, manager.Source, manager.Latest, manager.Masters
	}
	if r.Scheduler, err = c.revisions(ctx, "kubeschedulers", catalog.SchedulerCA()); err != nil {
		return r, err
	}
	for _, ns := range namespaces {
		root, ok, err := c.rootCA(ctx, ns)
		if err != nil {
			return r, err
		}
		if ok {
			r.RootCAs = append(r.RootCAs, root)
		}
	}
	slices.SortFunc(r.RootCAs, func(a, b inspect.RootCA) int { return cmp.Compare(a.Namespace, b.Namespace) })
	return r, nil
}

// revisions reads what an operator says of its static pods, and the CAs of their revisions;
// nil: there is no such operator, or none that has brought any.
func (c *Cluster) revisions(ctx context.Context, resource string, source catalog.Ref) (*inspect.Revisions, error) {
	var operator struct {
		Status struct {
			LatestAvailableRevision int `json:"latestAvailableRevision"`
			NodeStatuses            []struct {
				NodeName           string   `json:"nodeName"`
				CurrentRevision    int      `json:"currentRevision"`
				TargetRevision     int      `json:"targetRevision"`
				LastFailedReason   string   `json:"lastFailedReason"`
				LastFailedRevision int      `json:"lastFailedRevision"`
				LastFailedErrors   []string `json:"lastFailedRevisionErrors"`
			} `json:"nodeStatuses"`
		} `json:"status"`
	}
	err := c.getJSON(ctx, "/apis/operator.openshift.io/v1/"+resource+"/cluster", &operator)
	if apierrors.IsNotFound(err) || err == nil && len(operator.Status.NodeStatuses) == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("read %s.operator.openshift.io/cluster: %w", resource, err)
	}
	r := inspect.Revisions{Latest: operator.Status.LatestAvailableRevision}
	if r.Source, _, _, err = c.certificates(ctx, source); err != nil {
		return nil, err
	}
	installers, err := c.installers(ctx, source.Namespace)
	if err != nil {
		return nil, err
	}
	of := map[int][]*pki.Cert{}
	for _, s := range operator.Status.NodeStatuses {
		if s.CurrentRevision == 0 && s.TargetRevision == 0 {
			continue // no revision was ever brought there
		}
		m := inspect.Revision{Node: s.NodeName, Current: s.CurrentRevision, Target: s.TargetRevision}
		if s.LastFailedRevision > s.CurrentRevision {
			m.Failed = strings.Join(append([]string{s.LastFailedReason}, s.LastFailedErrors...), ": ")
		}
		if _, read := of[s.CurrentRevision]; !read {
			at := source
			at.Name += fmt.Sprintf("-%d", s.CurrentRevision)
			if of[s.CurrentRevision], _, _, err = c.certificates(ctx, at); err != nil {
				return nil, err
			}
		}
		m.CA, m.Installer = of[s.CurrentRevision], installers[installer{s.TargetRevision, s.NodeName}]
		if h, err := c.Heartbeat(ctx, s.NodeName); err == nil { // else unknown
			m.Ready = h.Ready
			if life := h.NodeHealth(); life.Alive == catalog.No {
				m.Silent = life.Heartbeat()
			}
		}
		r.Masters = append(r.Masters, m)
	}
	slices.SortFunc(r.Masters, func(a, b inspect.Revision) int { return cmp.Compare(a.Node, b.Node) })
	return &r, nil
}

// installer is a pod that brings a revision onto a node.
type installer struct {
	revision int
	node     string
}

// installers are the phases of installer pods. They are named
// installer-REVISION[-retry-N]-NODE (openshift/library-go
// pkg/operator/staticpod/controller/installer/installer_controller.go).
func (c *Cluster) installers(ctx context.Context, namespace string) (map[installer]string, error) {
	phases := map[installer]string{}
	pods, gaps := c.Pods(ctx, namespace)
	if len(gaps) > 0 {
		return nil, errors.New(gaps[0].Reason)
	}
	for _, p := range pods {
		var revision int
		if _, err := fmt.Sscanf(p.Name, "installer-%d-", &revision); err == nil && p.Node != "" {
			phases[installer{revision, p.Node}] = p.Phase
		}
	}
	return phases, nil
}

// rootCA reads kube-root-ca.crt of a namespace; false where there is no such
// namespace.
func (c *Cluster) rootCA(ctx context.Context, namespace string) (inspect.RootCA, bool, error) {
	var err error
	root := inspect.RootCA{Namespace: namespace}
	if root.CA, root.Created, root.Written, err = c.certificates(ctx, catalog.RootCAOf(namespace)); err != nil || root.CA != nil {
		return root, err == nil, err
	}
	err = c.getJSON(ctx, "/api/v1/namespaces/"+namespace, &struct{}{})
	if apierrors.IsNotFound(err) {
		return root, false, nil
	}
	if err != nil {
		return root, false, fmt.Errorf("read namespace %s: %w", namespace, err)
	}
	return root, true, nil
}

// certificates reads those in a value of a ConfigMap, and when that value was last
// changed; nil: there is no such ConfigMap.
func (c *Cluster) certificates(ctx context.Context, of catalog.Ref) (found []*pki.Cert, created, written time.Time, err error) {
	var object struct {
		Metadata struct {
			Created       metav1.Time                 `json:"creationTimestamp"`
			ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
		} `json:"metadata"`
		Data map[string]string `json:"data"`
	}
	err = c.getJSON(ctx, "/api/v1/namespaces/"+of.Namespace+"/configmaps/"+of.Name, &object)
	if apierrors.IsNotFound(err) {
		return nil, created, written, nil
	}
	if err != nil {
		return nil, created, written, fmt.Errorf("read %s: %w", of, err)
	}
	found = []*pki.Cert{}
	for _, f := range c.Scanner.Within(ctx).Scan([]byte(object.Data[of.Key])) {
		loaded, _ := f.Content.LoadedBy(pki.ReaderUnknown) // by any reader
		found = append(found, loaded...)
	}
	if ctx.Err() != nil {
		return nil, created, written, fmt.Errorf("read %s: %w", of, context.Cause(ctx))
	}
	return found, object.Metadata.Created.UTC(), changed(object.Metadata.ManagedFields, of.Key), nil
}

// Changed is when a key of a ConfigMap got the value that it has; zero: no one noted it.
func (c *Cluster) Changed(ctx context.Context, of catalog.Ref) (time.Time, error) {
	_, created, written, err := c.certificates(ctx, of)
	if written.After(created) {
		created = written
	}
	return created, err
}

// changed is when someone last changed a key of a ConfigMap: the API server notes the
// time when what a manager set becomes another (KEP 555).
func changed(managers []metav1.ManagedFieldsEntry, key string) (at time.Time) {
	for _, m := range managers {
		if m.Time != nil && m.FieldsV1 != nil && strings.Contains(m.FieldsV1.GetRawString(), `"f:`+key+`"`) && m.Time.After(at) {
			at = m.Time.UTC()
		}
	}
	return at
}
