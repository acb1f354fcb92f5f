package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// NetworkProbe asks whether a new pod on a node gets its network, by making one and
// removing it. Nothing else proves it: nodes and DaemonSets are Ready while multus can't
// set up a pod, since it has an old CA in memory.
type NetworkProbe struct {
	NodeName string
	// Namespace is where the pod is made; empty: one of its own, which is removed.
	Namespace string
	// Image is what the pod is made of; empty: one that a pod of the platform on the node
	// has, so that nothing is pulled. Its container need not run: a pod gets its network before that.
	Image string
}

// ID is such as "probe worker-0:network".
func (a NetworkProbe) ID() string { return "probe " + a.NodeName + ":network" }

// Node is the node.
func (a NetworkProbe) Node() string { return a.NodeName }

// Diff says that it is to be asked. It is never up to date: a pod that has its network
// says nothing of the next one.
func (a NetworkProbe) Diff(inspect.Snapshot, time.Time) (*remediate.Change, error) {
	return &remediate.Change{Summary: "run a network test pod"}, nil
}

// Apply does nothing.
func (a NetworkProbe) Apply(context.Context, *remediate.Env, *remediate.Change) error { return nil }

const (
	// networkTime is how long a new pod may take to get its network: a second where all
	// is well, and after a failure the kubelet waits some seconds before it tries again.
	networkTime = 90 * time.Second
	// pickUpTime is how long a kubelet may take to say a first word of a pod.
	pickUpTime = 30 * time.Second
	// probeLife is when a kubelet ends the pod, whatever became of certrot.
	probeLife = 5 * time.Minute
	// removeTime is for removing the pod, and its namespace.
	removeTime = 45 * time.Second
)

// Verify makes the pod, waits for its address, and removes it, also when ctx ends.
// What a killed run leaves is removed as debug pods are: see nodeexec's Debug.
func (a NetworkProbe) Verify(ctx context.Context, env *remediate.Env, _ *remediate.Change) (err error) {
	if env.Kube == nil {
		return &remediate.UnknownEffectError{Reason: fmt.Sprintf("the network of new pods on %s is unknown: no API server could be asked", a.NodeName)}
	}
	image, err := a.imageOf(ctx, env)
	if err != nil {
		return err
	}
	namespace := a.Namespace
	if namespace == "" {
		// The name is made here, and known even if the server's answer gets lost.
		meta := nodeexec.DebugMeta()
		namespace = meta.Name
		defer func() { err = errors.Join(err, a.removeNamespace(ctx, env, namespace)) }()
		if err := a.makeNamespace(ctx, env, meta); err != nil {
			return err
		}
	}
	pod := a.pod(namespace, image)
	defer func() { err = errors.Join(err, a.removePod(ctx, env, pod)) }()
	if err := a.makePod(ctx, env, pod); err != nil {
		return err
	}
	return a.await(ctx, env, pod)
}

// imageOf is of a pod of the platform that runs on the node. Others' images are not run: what
// is in them would run here, in a namespace that is not theirs.
func (a NetworkProbe) imageOf(ctx context.Context, env *remediate.Env) (string, error) {
	if a.Image != "" {
		return a.Image, nil
	}
	const next = "name one that the node has or can pull: --debug-image IMAGE"
	err := env.Kube.Serves(ctx, nodeexec.OpenShiftAPI)
	if err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("read /apis/%s, to find an image on %s: %w; %s", nodeexec.OpenShiftAPI, a.NodeName, err, next)
	}
	namespaces := nodeexec.PlatformNamespaces(err == nil)
	for _, namespace := range namespaces {
		image := ""
		err := eachPod(ctx, env, namespace, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", a.NodeName).String()}, func(p corev1.Pod) bool {
			if p.Namespace == namespace && p.Spec.NodeName == a.NodeName && p.Status.Phase == corev1.PodRunning && len(p.Spec.Containers) > 0 {
				image = p.Spec.Containers[0].Image
			}
			return image == ""
		})
		if err != nil {
			return "", fmt.Errorf("list the pods of namespace %s on %s, to find an image that is there: %w; %s", namespace, a.NodeName, err, next)
		}
		if image != "" {
			return image, nil
		}
	}
	return "", &remediate.OwnFailureError{Inner: fmt.Errorf("no image for a pod on %s: no pod of the platform runs there to take one from (looked in %s); %s", a.NodeName, strings.Join(namespaces, ", "), next)}
}

func (a NetworkProbe) makeNamespace(ctx context.Context, env *remediate.Env, meta metav1.ObjectMeta) error {
	meta.Annotations["openshift.io/node-selector"] = "" // else a cluster's default one may keep the pod off the node
	_, err := env.Kube.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: meta}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("make namespace %s for a pod that asks for a network: %w; name one that is there already: --debug-namespace NAME", meta.Name, err)
	}
	return nil
}

// pod is one that may do nothing.
func (a NetworkProbe) pod(namespace, image string) *corev1.Pod {
	yes, no := true, false
	grace, life := int64(1), int64(probeLife/time.Second)
	meta := nodeexec.DebugMeta()
	meta.Namespace = namespace
	meta.Annotations["openshift.io/required-scc"] = "restricted-v2"
	pull := corev1.PullNever // it is there
	if a.Image != "" {
		pull = corev1.PullIfNotPresent
	}
	return &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
		NodeName:                      a.NodeName, // not by the scheduler: cordoned nodes and those that are not Ready take it as well
		Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		ActiveDeadlineSeconds:         &life,
		TerminationGracePeriodSeconds: &grace,
		AutomountServiceAccountToken:  &no,
		EnableServiceLinks:            &no,
		SecurityContext:               &corev1.PodSecurityContext{RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		// Its network is kept while the container fails, which it may.
		RestartPolicy: corev1.RestartPolicyAlways,
		DNSPolicy:     corev1.DNSDefault,
		Containers: []corev1.Container{{
			Name: "network", Image: image, ImagePullPolicy: pull, Command: []string{"sleep", "300"},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes, RunAsNonRoot: &yes,
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}}
}

// makePod makes the pod and notes its UID. A new namespace has no service account for
// a moment, without which no pod can be made.
func (a NetworkProbe) makePod(ctx context.Context, env *remediate.Env, pod *corev1.Pod) error {
	for end := env.Now().Add(20 * time.Second); ; {
		made, err := env.Kube.Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		if err == nil {
			pod.UID = made.UID
			return nil
		}
		waits := apierrors.IsForbidden(err) && strings.Contains(err.Error(), "error looking up service account") && env.Now().Before(end)
		if !waits || env.Sleep(ctx, 250*time.Millisecond) != nil {
			return fmt.Errorf("make a pod in namespace %s on %s, to see whether it gets a network: %w", pod.Namespace, a.NodeName, err)
		}
	}
}

// await waits for the pod's address, and says what keeps it from having one.
func (a NetworkProbe) await(ctx context.Context, env *remediate.Env, pod *corev1.Pod) error {
	began, failure := env.Now(), ""
	var gone error
	err := env.Until(ctx, networkTime, func(ctx context.Context) (bool, error) {
		p, err := env.Kube.Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), err == nil && (p.UID != pod.UID || p.DeletionTimestamp != nil):
			gone = &remediate.OwnFailureError{Inner: fmt.Errorf("the network of new pods on %s is unknown: another client deleted pod %s/%s before it had an address", a.NodeName, pod.Namespace, pod.Name)} // its kubelet may
			return true, nil
		case err != nil:
			return false, fmt.Errorf("read pod %s/%s: %w", pod.Namespace, pod.Name, err)
		case p.Status.PodIP != "":
			return true, nil
		case p.Status.StartTime == nil:
			text := fmt.Sprintf("the kubelet of %s has not looked at a new pod", a.NodeName)
			if env.Now().Sub(began) > pickUpTime {
				text += ": it is down, or does not trust api-int"
			}
			return false, &remediate.OwnFailureError{Inner: errors.New(text)}
		}
		said, err := a.failure(ctx, env, pod)
		if err != nil {
			return false, err
		}
		failure = cmp.Or(said, failure)
		return false, &remediate.OwnFailureError{Inner: fmt.Errorf("a new pod on %s gets no network: %s", a.NodeName, cmp.Or(failure, podState(p)))}
	})
	if ended := context.Cause(ctx); err != nil && ended != nil {
		return remediate.Because(ended, err)
	}
	return cmp.Or(err, gone)
}

// failure is what the kubelet said last of a sandbox that it could not make. Events are
// found by UID: names are used again.
func (a NetworkProbe) failure(ctx context.Context, env *remediate.Env, pod *corev1.Pod) (string, error) {
	var last *corev1.Event
	var pages foreign.Pages
	opts := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("involvedObject.uid", string(pod.UID)).String(), Limit: largePage}
	for {
		list, err := env.Kube.Events(pod.Namespace).List(ctx, opts)
		if err != nil {
			return "", fmt.Errorf("read the events of pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		for _, e := range list.Items {
			if e.InvolvedObject.UID == pod.UID && e.Reason == "FailedCreatePodSandBox" && (last == nil || e.LastTimestamp.After(last.LastTimestamp.Time)) {
				last = &corev1.Event{LastTimestamp: e.LastTimestamp, Message: e.Message}
			}
		}
		opts.Continue = list.Continue
		switch more, err := pages.Next(opts.Continue); {
		case err != nil:
			return "", fmt.Errorf("read the events of pod %s/%s: %w", pod.Namespace, pod.Name, err)
		case more:
		case last == nil:
			return "", nil
		default:
			return foreign.Quoted(last.Message), nil
		}
	}
}

// largePage is how many objects are listed at once of which each may be above a megabyte, as a kubelet makes
// mirror pods and events, and thirty when it is decoded, as a pod of many volumes. What is asked for has few elsewhere.
const largePage = 5

// eachPod passes on the pods of a namespace, until it wants no more.
func eachPod(ctx context.Context, env *remediate.Env, namespace string, opts metav1.ListOptions, each func(corev1.Pod) (more bool)) error {
	var pages foreign.Pages
	opts.Limit = largePage
	for {
		list, err := env.Kube.Pods(namespace).List(ctx, opts)
		if err != nil {
			return err
		}
		for _, p := range list.Items { // a copy, which keeps no page in memory
			if !each(p) {
				return nil
			}
		}
		opts.Continue = list.Continue
		if more, err := pages.Next(opts.Continue); !more {
			return err
		}
	}
}

// removePod removes the pod, whatever became of it. A kubelet without a heartbeat does not say
// that it has exited; then the API server forgets it.
func (a NetworkProbe) removePod(ctx context.Context, env *remediate.Env, pod *corev1.Pod) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer cancel()
	pods := env.Kube.Pods(pod.Namespace)
	options := metav1.DeleteOptions{}
	if pod.UID != "" {
		uid := pod.UID
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	remove := func() error {
		err := pods.Delete(ctx, pod.Name, options)
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil
		}
		return err
	}
	err := a.persist(ctx, env, remove)
	for end := env.Now().Add(removeTime / 3); err == nil; {
		now, asked := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(asked) || asked == nil && !sameUID(now.UID, pod.UID) {
			return nil
		}
		if asked == nil && now.Status.StartTime == nil || env.Now().After(end) || env.Sleep(ctx, 250*time.Millisecond) != nil {
			options.GracePeriodSeconds = new(int64)
			if err = a.persist(ctx, env, remove); err == nil {
				return nil
			}
		}
	}
	return fmt.Errorf("pod %s/%s is left on %s, and its kubelet stops it within %s: %w; %s", pod.Namespace, pod.Name, a.NodeName, probeLife, err, foreign.Command("", "kubectl delete pod -n %s %s", pod.Namespace, pod.Name))
}

func sameUID(a, b types.UID) bool { return b == "" || a == b }

func (a NetworkProbe) removeNamespace(ctx context.Context, env *remediate.Env, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer cancel()
	err := a.persist(ctx, env, func() error {
		err := env.Kube.Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // it is gone, or on its way
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("namespace %s is left: %w; %s", name, err, foreign.Command("", "kubectl delete namespace %s", name))
	}
	return nil
}

// persist tries for as long as it may: an API server may be away for a moment.
func (a NetworkProbe) persist(ctx context.Context, env *remediate.Env, do func() error) error {
	for {
		err := do()
		if err == nil || apierrors.IsForbidden(err) || env.Sleep(ctx, time.Second) != nil {
			return err
		}
	}
}
