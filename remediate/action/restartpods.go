package action

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
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// Names of refusals to restart a pod.
const (
	// kubeletTrusts: the node's kubelet must be right before anything is restarted
	// that reads its files, or needs it to be started again.
	kubeletTrusts = "kubelet-trusts"
	// networkMemory: whether a pod loaded the CA at startup is unknown.
	networkMemory = "network-memory"
)

// RestartPods deletes the pods that a DaemonSet has on a node, so that new ones read
// their trust anchors, and waits for these. There is nothing to undo.
type RestartPods struct {
	NodeName string
	Row      catalog.NodeDaemonSet
	Pods     []inspect.Pod // those of the Row on the node, as they were when the plan was made
	CA       []*pki.Cert   // what is to be trusted
	// RootCA is kube-root-ca.crt of their namespace, as it was then; nil: not read.
	RootCA *inspect.RootCA
	// Next are CAs that will sign what is presented: what runs since before they were made
	// lacks them, although it needs none of them yet.
	Next []*pki.Cert
	// always: also where it is not needed, or that is unknown.
	always bool
	// Read reads how far kube-controller-manager is, which replaces pods; nil: that is not
	// asked.
	read func(context.Context) (inspect.Rollout, error)
}

// ID is such as "restart worker-0:openshift-multus/multus".
func (a RestartPods) ID() string {
	return "restart " + a.NodeName + ":" + a.Row.Namespace + "/" + a.Row.DaemonSet
}

// Node is the node.
func (a RestartPods) Node() string { return a.NodeName }

// Count is the pods.
func (a RestartPods) Count() remediate.Count {
	return remediate.Count{Verb: "restart", Of: "pod", N: len(a.Pods)}
}

var _ remediate.Counted = RestartPods{}

// Diff says why the pods are to be restarted. It is a Refusal named kubeletTrusts while
// the node's kubelet is not right, and one named networkMemory where it is unknown
// whether it is needed.
func (a RestartPods) Diff(snapshot inspect.Snapshot, now time.Time) (*remediate.Change, error) {
	if len(a.Pods) == 0 || a.Row.SelfReloading {
		return nil, nil //nolint:nilnil // already up to date, as Action says
	}
	n, ok := snapshot.Node(a.NodeName)
	if !ok || n.Via == "" {
		return nil, remediate.UnreadNode(snapshot, a.NodeName)
	}
	answer, why := a.Needed(snapshot, n, now)
	if answer == catalog.No && !a.always {
		return nil, nil //nolint:nilnil // already up to date, as Action says
	}
	if err := a.kubelet(snapshot, n, now, answer == catalog.Yes || a.always); err != nil {
		return nil, err
	}
	switch {
	case a.always:
		why = "as --restart-network=always says"
	case answer == catalog.Unknown:
		return nil, &remediate.Refusal{Name: networkMemory, Node: a.NodeName, Reason: fmt.Sprintf("whether %s/%s loaded the CA at startup is unknown: %s", a.Row.Namespace, a.Row.DaemonSet, why), Next: "--restart-network=always restarts it all the same"}
	}
	var names []string
	for _, p := range a.Pods {
		names = append(names, foreign.Text(p.Namespace+"/"+p.Name))
	}
	return &remediate.Change{Summary: fmt.Sprintf("restart pod %s (%s)", strings.Join(names, ", "), why)}, nil
}

// kubelet refuses a node whose kubelet does not run with files that verify what is
// presented to it. A thick multus that starts with a wrong one takes the node's network
// configuration away, and without a kubelet no pod is started again. certain: the pods are
// to be restarted; else, what is unknown of the kubelet does no harm.
func (a RestartPods) kubelet(snapshot inspect.Snapshot, n *inspect.Node, now time.Time, certain bool) error {
	own := catalog.KubeletKubeconfigs()[1]
	reason, next := "", snapshot.Hints.Next("repair the node first:\n    {} fix-api-int --nodes %s", n.Name)
	if err := Trusts(snapshot, n.Name, own, now); err != nil {
		reason = err.Error()
	} else if stale := n.OutdatedKubeconfig(); stale != "" {
		reason = "the kubelet has not read " + stale + " since it was changed"
	} else if perhaps := n.PerhapsOutdatedKubeconfig(); perhaps != "" && certain {
		reason = "whether the kubelet has read " + perhaps + " is unknown: its mode, owner, label or content changed later"
		next = snapshot.Hints.UnreadRestart("see whether the kubelet would come back:\n    {} verify restart-safe --nodes %s\n  then restart it on the node:\n    systemctl restart kubelet", n.Name)
	} else if n.Kubelet.Active != "active" {
		reason = fmt.Sprintf("the kubelet is %q", n.Kubelet.Active)
	}
	if reason == "" {
		return nil
	}
	return &remediate.Refusal{Name: kubeletTrusts, Node: n.Name, Reason: fmt.Sprintf("%s/%s is not restarted before the node's kubelet is right: %s", a.Row.Namespace, a.Row.DaemonSet, reason), Next: next}
}

// Needed says whether the pods run since before they could know the CA, and why.
func (a RestartPods) Needed(snapshot inspect.Snapshot, n *inspect.Node, now time.Time) (catalog.Tristate, string) {
	started := a.started(n)
	if started.IsZero() {
		return catalog.Unknown, "its start time is unknown"
	}
	// CAs are dated by the cluster's clock, processes by the node's.
	since := started.Add(now.Sub(n.Time(now)))
	made, known := a.made(snapshot, n, now)
	if known && made.After(since) {
		return catalog.Yes, "it runs since before the CA was made"
	}
	unknown := ""
	for _, ref := range []catalog.Ref{a.Row.Trust, a.Row.OtherTrust} {
		answer, why := catalog.No, ""
		switch {
		case ref == catalog.Ref{}:
		case ref.Kind == catalog.File:
			answer, why = byFile(n, ref, started)
		default:
			answer, why = a.byRootCA(n, now, since, made, known)
		}
		if answer == catalog.Yes {
			return answer, why
		}
		if answer == catalog.Unknown {
			unknown = cmp.Or(unknown, why)
		}
	}
	switch {
	case unknown != "":
		return catalog.Unknown, unknown
	case !known:
		return catalog.Unknown, "which CA signed the certificate presented to the node is unknown"
	}
	return catalog.No, ""
}

// byFile says whether who started then has read a file on its node as it is now.
func byFile(n *inspect.Node, ref catalog.Ref, started time.Time) (catalog.Tristate, string) {
	f := n.File(ref.Name)
	switch {
	case f == nil:
		return catalog.Unknown, ref.Name + " was not read"
	case f.Modified.Add(imprecise).After(started):
		return catalog.Yes, "it runs since before " + ref.Name + " was last written"
	case f.Changed.Add(imprecise).After(started): // as by a copy that keeps the time of its original, or by chmod
		return catalog.Unknown, "whether " + ref.Name + " was written since it started is unknown: its mode, owner, label or content changed later"
	}
	return catalog.No, ""
}

// byRootCA is byFile for kube-root-ca.crt of the pods' namespace: since is when they
// started, by the cluster's clock, and made is when the CA was made, where that is known.
func (a RestartPods) byRootCA(n *inspect.Node, now, since, made time.Time, known bool) (catalog.Tristate, string) {
	switch {
	case a.RootCA == nil:
		return catalog.Unknown, a.Row.Trust.String() + " was not read"
	case len(inspect.MissingCerts(a.RootCA.CA, Unexpired(a.CA, now))) > 0:
		return catalog.Yes, "it runs since before kube-root-ca.crt had the CA"
	case known && made.Before(a.RootCA.Created):
		// It has had this CA from its beginning.
	case a.RootCA.Written.IsZero():
		return catalog.Unknown, "the time of the last write to " + a.Row.Trust.String() + " is unknown"
	case a.RootCA.Written.Add(projected).After(since) && !a.accepted(a.RootCA.Written.Add(n.Time(now).Sub(now))):
		return catalog.Yes, "it runs since before kube-root-ca.crt was last written"
	}
	return catalog.No, ""
}

// projected is how long a kubelet may take to bring a changed ConfigMap into a pod that
// it has already: it looks once a minute, and remembers what it read for another. For a
// pod that is new to it, it reads the ConfigMap again (kubernetes/kubernetes
// pkg/kubelet/util/manager, RegisterPod).
const projected = 2 * time.Minute

// imprecise is by how much the start of a process may be later than told.
const imprecise = 2 * time.Second

// Apply deletes the pods, while they are those of the plan.
func (a RestartPods) Apply(ctx context.Context, env *remediate.Env, _ *remediate.Change) error {
	if env.Kube == nil {
		return fmt.Errorf("%s: no API server could be asked to delete pods", a.ID())
	}
	if err := a.reports(ctx, env); err != nil {
		return err
	}
	if err := errors.Join(a.recreated(ctx, env), a.published(ctx, env)); err != nil {
		return err
	}
	if err := a.unchanged(ctx, env); err != nil { // last: a pod that starts later reads what is published
		return err
	}
	pods := env.Kube.Pods(a.Row.Namespace)
	for _, p := range a.Pods {
		uid := types.UID(p.UID)
		err := pods.Delete(ctx, p.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // those: it is gone, or another one
			return fmt.Errorf("delete pod %s: %w; %s", foreign.Text(p.Namespace+"/"+p.Name), err, inspect.Hints{}.Unread(inspect.Permission{Verb: "delete", Resource: "pods", Namespace: p.Namespace}))
		}
	}
	return nil
}

// reports refuses a node whose kubelet has no heartbeat: it would start no other pod.
func (a RestartPods) reports(ctx context.Context, env *remediate.Env) error {
	n, err := env.Kube.Nodes().Get(ctx, a.NodeName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read node %s: %w", a.NodeName, err)
	}
	if env.Heartbeat != nil {
		if h, err := env.Heartbeat(ctx, a.NodeName); err == nil && h.NodeHealth().Alive == catalog.No {
			return &remediate.OwnFailureError{Inner: fmt.Errorf("node %s does not report to the API server, %s: a pod that is deleted there now would not come back: %s", a.NodeName, h.NodeHealth(), foreign.Command(inspect.NodeNames, "kubectl describe node %s", a.NodeName))}
		}
	}
	for _, c := range n.Status.Conditions {
		// False may be for want of a network, which the restart fixes.
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionUnknown {
			return nil
		}
	}
	return &remediate.OwnFailureError{Inner: fmt.Errorf("node %s does not report to the API server: a pod that is deleted there now would not come back: %s", a.NodeName, foreign.Command(inspect.NodeNames, "kubectl describe node %s", a.NodeName))}
}

// recreated refuses to delete what may not be replaced, or not put on its node: a
// kube-controller-manager or kube-scheduler that trusts only the old CA works until it has
// to connect again.
func (a RestartPods) recreated(ctx context.Context, env *remediate.Env) error {
	if a.read == nil {
		return nil
	}
	r, err := a.read(ctx)
	if err != nil {
		return fmt.Errorf("whether deleted pods of %s/%s can be replaced is unknown: %w", a.Row.Namespace, a.Row.DaemonSet, err)
	}
	r.RootCAs = nil // see published
	if behind := r.Missing(Unexpired(a.CA, env.Now())); len(behind) > 0 {
		return fmt.Errorf("deleted pods of %s/%s may not be replaced: %s; wait for that first: fix-api-int --only %s", a.Row.Namespace, a.Row.DaemonSet, strings.Join(behind, "; "), remediate.WaveControlPlane)
	}
	return nil
}

// published refuses to start a pod that would read the old CA again.
func (a RestartPods) published(ctx context.Context, env *remediate.Env) error {
	if a.Row.Trust.Kind == catalog.File {
		return nil
	}
	of := a.Row.Trust
	m, err := env.Kube.ConfigMaps(of.Namespace).Get(ctx, of.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read %s: %w", of, err)
	}
	if lack := inspect.MissingCerts(pki.LoadedPEM(pki.NewScanner(), []byte(m.Data[of.Key])), Unexpired(a.CA, env.Now())); len(lack) > 0 {
		return fmt.Errorf("%s lacks %s (sha256 %s): a new pod would read the old CAs again; wait until kube-controller-manager has published it: fix-api-int status", of, pki.Foreign(lack[0].Subject), lack[0].Fingerprint.Short())
	}
	return nil
}

// unchanged refuses where the node has another pod of the DaemonSet than when the plan was made:
// it may have loaded the old CA at startup.
func (a RestartPods) unchanged(ctx context.Context, env *remediate.Env) error {
	pods, err := a.onNode(ctx, env)
	if err != nil {
		return err
	}
	for _, p := range pods {
		if p.DeletionTimestamp == nil && !a.planned(p) {
			return fmt.Errorf("pod %s on %s: %w", foreign.Text(p.Namespace+"/"+p.Name), a.NodeName, remediate.ErrChanged)
		}
	}
	return nil
}

// onNode are the pods that the DaemonSet has on the node now.
func (a RestartPods) onNode(ctx context.Context, env *remediate.Env) (out []*corev1.Pod, err error) {
	opts := metav1.ListOptions{LabelSelector: a.Row.Label, FieldSelector: fields.OneTermEqualSelector("spec.nodeName", a.NodeName).String()}
	err = eachPod(ctx, env, a.Row.Namespace, opts, func(p corev1.Pod) bool {
		if owner := metav1.GetControllerOf(&p); p.Spec.NodeName == a.NodeName && owner != nil && owner.Kind == "DaemonSet" && owner.Name == a.Row.DaemonSet {
			out = append(out, &p)
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("list pods of %s/%s on %s: %w", a.Row.Namespace, a.Row.DaemonSet, a.NodeName, err)
	}
	return out, nil
}

// planned reports whether a pod is one of the plan.
func (a RestartPods) planned(p *corev1.Pod) bool {
	return slices.ContainsFunc(a.Pods, func(old inspect.Pod) bool { return old.UID == string(p.UID) })
}

// podTime is how long a pod may take to end and another one to be ready: thirty
// seconds of grace, and some for its images and init containers.
const podTime = 5 * time.Minute

// Verify waits until a pod that is not one of those runs on the node, and is ready.
// That its network works is another question: see NetworkProbe.
func (a RestartPods) Verify(ctx context.Context, env *remediate.Env, _ *remediate.Change) error {
	if env.Kube == nil {
		return &remediate.UnknownEffectError{Reason: fmt.Sprintf("pods of %s/%s on %s were not read: no API server could be asked", a.Row.Namespace, a.Row.DaemonSet, a.NodeName)}
	}
	err := env.Until(ctx, podTime, func(ctx context.Context) (bool, error) {
		pods, err := a.onNode(ctx, env)
		if err != nil {
			return false, err
		}
		if err := a.replaced(pods); err != nil {
			return false, &remediate.OwnFailureError{Inner: err}
		}
		return true, nil
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w; %s", err, foreign.Command(inspect.NodeNames, "kubectl -n %s get pods -l %s --field-selector spec.nodeName=%s -o wide", a.Row.Namespace, foreign.Words(a.Row.Label), a.NodeName))
	}
	return err
}

// replaced is why it is not so that a new pod is ready and the old ones are gone; nil: it is.
func (a RestartPods) replaced(pods []*corev1.Pod) error {
	fresh := false
	for _, p := range pods {
		name := foreign.Text(p.Namespace + "/" + p.Name)
		if a.planned(p) {
			return fmt.Errorf("pod %s on %s has not ended yet", name, a.NodeName)
		}
		if p.DeletionTimestamp != nil {
			continue
		}
		ready := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		if !ready || p.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("pod %s on %s is not ready: %s", name, a.NodeName, podState(p))
		}
		fresh = true
	}
	if !fresh {
		return fmt.Errorf("there is no new pod of %s/%s on %s", a.Row.Namespace, a.Row.DaemonSet, a.NodeName)
	}
	return nil
}

// podState says in a few words where a pod is, in its kubelet's words.
func podState(p *corev1.Pod) string {
	said := []string{foreign.NameBefore(string(p.Status.Phase))}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if w := s.State.Waiting; w != nil {
			said = append(said, foreign.NameBefore(s.Name)+": "+foreign.ReasonAndMessage(w.Reason, w.Message))
		}
	}
	return strings.Join(said, ", ")
}
