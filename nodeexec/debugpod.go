package nodeexec

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

const (
	debugPrefix = "certrot-debug-"
	hostMount   = "/host"

	// What tells our namespaces and pods from others, and whose they are.
	debugLabel   = "kubectl-certrot.github.io/debug"
	debugUser    = "kubectl-certrot.github.io/user"
	debugHost    = "kubectl-certrot.github.io/host"
	debugMachine = "kubectl-certrot.github.io/machine"
	debugPID     = "kubectl-certrot.github.io/pid"

	// pickUpLimit is for the kubelet to say a first word of a new pod. One that
	// is well takes less than a second.
	pickUpLimit = 15 * time.Second

	// accountLimit is for a new namespace to get its service account, without
	// which no pod can be made, even one that does not use it.
	accountLimit = 20 * time.Second
)

// debugPod is one that was asked for.
type debugPod struct {
	pod      podRef
	uid      string // "" if it is unknown
	node     string
	image    string
	lifetime time.Duration
}

func namespaceFor(name string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{
			"name": name,
			"labels": map[string]string{
				debugLabel:                           "true",
				"pod-security.kubernetes.io/enforce": "privileged",
				"pod-security.kubernetes.io/audit":   "privileged",
				"pod-security.kubernetes.io/warn":    "privileged",
				// OpenShift would set the three above as it likes.
				"security.openshift.io/scc.podSecurityLabelSync": "false",
			},
			"annotations": withOwner(map[string]string{"openshift.io/node-selector": ""}),
		},
	}
}

// podFor is the pod on a node. It has no priority class: a pod of a system class
// is refused in most namespaces, and evicts others.
func (d *Debug) podFor(p debugPod, image DebugImage) map[string]any {
	yes := true
	spec := map[string]any{
		// Not by the scheduler: cordoned nodes take it as well.
		"nodeName":      p.node,
		"tolerations":   []any{map[string]string{"operator": "Exists"}},
		"hostPID":       yes,
		"hostNetwork":   yes,
		"hostIPC":       yes,
		"dnsPolicy":     "Default",
		"restartPolicy": "Never",
		// The kubelet ends it by then, and if there is none, sleep does.
		"activeDeadlineSeconds": int64(p.lifetime / time.Second),
		// With 0, the API server would forget the pod at once, and it could not be
		// seen when it has finished.
		"terminationGracePeriodSeconds": 1,
		"automountServiceAccountToken":  false,
		"enableServiceLinks":            false,
		"containers": []any{map[string]any{
			"name":            p.pod.container,
			"image":           image.Name,
			"imagePullPolicy": image.Pull,
			// The node's own sleep: of the image, nothing but chroot is needed.
			"command":         []string{"chroot", hostMount, "/bin/sleep", strconv.FormatInt(int64(p.lifetime/time.Second), 10)},
			"securityContext": map[string]any{"privileged": yes, "runAsUser": 0, "runAsNonRoot": false},
			"volumeMounts":    []any{map[string]any{"name": "host", "mountPath": hostMount, "mountPropagation": "HostToContainer"}},
		}},
		"volumes": []any{map[string]any{"name": "host", "hostPath": map[string]string{"path": "/"}}},
	}
	if image.Secret != "" {
		spec["imagePullSecrets"] = []any{map[string]string{"name": image.Secret}}
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name": p.pod.name, "namespace": p.pod.namespace,
			"labels":      map[string]string{debugLabel: "true"},
			"annotations": withOwner(map[string]string{"openshift.io/required-scc": "privileged"}),
		},
		"spec": spec,
	}
}

// start asks for a pod. If that fails, there is none.
func (d *Debug) start(ctx context.Context, api *podAPI, node string, image DebugImage) (debugPod, error) {
	p := debugPod{node: node, image: image.Name, lifetime: d.Deadline}
	if p.lifetime <= 0 {
		p.lifetime = defaultDeadline
	}
	p.lifetime = max(p.lifetime, time.Second)
	for second := false; ; second = true {
		namespace, err := d.home(ctx, api)
		if err != nil {
			return p, err
		}
		p.pod = podRef{namespace, debugPrefix + utilrand.String(8), "node"}
		err = d.create(ctx, api, &p, image)
		if err == nil {
			return p, nil
		}
		if gone := apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, "NamespaceTerminating"); gone && d.Namespace == "" && !second {
			d.abandon(namespace) // another run took it for left
			continue
		}
		if mayHaveHappened(err) {
			err = onOneLine(err, d.removePod(ctx, api, p))
		}
		return p, d.refused(p, err)
	}
}

func (d *Debug) create(ctx context.Context, api *podAPI, p *debugPod, image DebugImage) error {
	account, cancel := context.WithTimeout(ctx, accountLimit)
	defer cancel()
	for {
		var made podObject
		err := api.create(ctx, podsPath(p.pod.namespace), d.podFor(*p, image), &made)
		if err == nil {
			p.uid = made.Metadata.UID
			return nil
		}
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "error looking up service account") || !pause(account, 250*time.Millisecond) {
			return err
		}
	}
}

// refused says why the API server does not want a pod.
func (d *Debug) refused(p debugPod, err error) error {
	what := fmt.Errorf("make a debug pod in namespace %s for node %s: %w", p.pod.namespace, p.node, err)
	text := err.Error()
	switch {
	case isRBAC(err):
		return notAllowed(what, d.Name(), "create, get and delete pods, create and get pods/exec in namespace "+p.pod.namespace)
	case strings.Contains(text, "error looking up service account"):
		return fmt.Errorf("%w: the controller manager has not made it within %s; name a namespace that has one, such as default", what, accountLimit)
	case strings.Contains(text, "exceeded quota"), strings.Contains(text, "failed quota"):
		return fmt.Errorf("%w: name another namespace, or none for a temporary one", what)
	case strings.Contains(text, "violates PodSecurity"):
		return fmt.Errorf("%w: the pod has to be privileged; name a namespace that allows it (label pod-security.kubernetes.io/enforce=privileged), or none for a temporary one", what)
	case strings.Contains(text, "security context constraint"):
		return fmt.Errorf("%w: you need the right to use the SecurityContextConstraints privileged", what)
	}
	return what
}

// await waits until the pod runs, and says why it does not.
func (d *Debug) await(ctx context.Context, api *podAPI, p debugPod) error {
	limit := d.Start
	if limit <= 0 {
		limit = defaultStart
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not within %s", limit))
	defer cancel()
	pickUp, cancel := context.WithTimeout(ctx, min(pickUpLimit, limit*3/4))
	defer cancel()
	var last error
	for {
		var now podObject
		err := api.get(ctx, p.pod.path(), &now)
		if ctx.Err() == nil {
			last = err
		}
		switch {
		case apierrors.IsNotFound(err), err == nil && p.uid != "" && now.Metadata.UID != p.uid:
			return fmt.Errorf("debug pod %s for node %s was deleted by another client before it ran: try again", p.pod, p.node)
		case err != nil && ctx.Err() == nil && isRBAC(err):
			return notAllowed(err, d.Name(), "get pods in namespace "+p.pod.namespace)
		case err == nil && now.Metadata.DeletionTimestamp != nil:
			return fmt.Errorf("debug pod %s for node %s is being deleted by another client before it ran: try again", p.pod, p.node)
		case err == nil && now.running(p.pod.container):
			return nil
		case err == nil:
			if err := now.failed(p); err != nil {
				return err
			}
			if now.Status.StartTime == nil && pickUp.Err() != nil && ctx.Err() == nil {
				return notPickedUp(ctx, api, p)
			}
		}
		if !pause(ctx, 300*time.Millisecond) {
			err := fmt.Errorf("debug pod %s on node %s does not run: %w; its state: %s", p.pod, p.node, context.Cause(ctx), now.state())
			return onOneLine(err, last)
		}
	}
}

// failed is why a pod will never run; nil: it may yet.
func (p *podObject) failed(d debugPod) error {
	for _, c := range p.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			text := fmt.Sprintf("debug pod %s on node %s ended at once: %s", d.pod, d.node, p.ended())
			if strings.Contains(t.Message, "chroot") || t.ExitCode == 127 || t.ExitCode == 126 || t.ExitCode == 128 {
				text += fmt.Sprintf("; image %s needs the program chroot: name another image", d.image)
			}
			return errors.New(text)
		}
		w := c.State.Waiting
		if w == nil {
			continue
		}
		switch w.Reason {
		case "", "ContainerCreating", "PodInitializing":
		case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
			return fmt.Errorf("debug pod %s on node %s: the node can't get image %s: %s; name an image that the node has or can pull, and a pull secret if it needs one", d.pod, d.node, d.image, foreign.ReasonAndMessage(w.Reason, w.Message))
		default:
			return fmt.Errorf("debug pod %s on node %s can't start: %s", d.pod, d.node, foreign.ReasonAndMessage(w.Reason, w.Message))
		}
	}
	if p.Status.Phase == "Failed" || p.Status.Phase == "Succeeded" {
		return fmt.Errorf("debug pod %s was refused by the kubelet of %s: %s", d.pod, d.node, p.ended())
	}
	return nil
}

// state says in a few words where a pod is.
func (p *podObject) state() string {
	said := []string{foreign.NameBefore(p.Status.Phase)}
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil {
			said = append(said, foreign.ReasonAndMessage(w.Reason, w.Message))
		}
	}
	return strings.Join(said, ", ")
}

// notPickedUp is for a kubelet that does not even look at the pod.
func notPickedUp(ctx context.Context, api *podAPI, p debugPod) error {
	why := ""
	var n nodeObject
	if api.get(ctx, nodePathOf(p.node), &n) == nil {
		for _, c := range n.Status.Conditions {
			if c.Type == "Ready" {
				why = fmt.Sprintf(" (node condition Ready is %s since %s: %s)", foreign.Name(c.Status), c.LastTransitionTime.Format(time.RFC3339), foreign.ReasonAndMessage(c.Reason, c.Message))
			}
		}
	}
	return fmt.Errorf("debug pod %s: the kubelet of %s has not picked it up%s; a kubelet that is down, or does not trust api-int, starts no pod: "+
		"what remains is ssh, or certrot on the node itself (local)", p.pod, p.node, why)
}

// removePod removes a pod, whatever became of it, and waits until its container
// has exited.
func (d *Debug) removePod(ctx context.Context, api *podAPI, p debugPod) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpLimit)
	defer cancel()
	err := d.endPod(ctx, api, p)
	if err == nil {
		return nil
	}
	return fmt.Errorf("debug pod %s on node %s was not removed, and its deadline stops it within %s: %w; remove it with: %s",
		p.pod, p.node, p.lifetime, err, foreign.Command("", "kubectl delete pod -n %s %s", p.pod.namespace, p.pod.name))
}

func (d *Debug) endPod(ctx context.Context, api *podAPI, p debugPod) error {
	err := d.retry(ctx, func() error { return api.remove(ctx, p.pod.path(), p.uid, -1) })
	if err != nil {
		return err
	}
	patience, cancel := context.WithTimeout(ctx, cleanUpLimit/3)
	defer cancel()
	for {
		var now podObject
		err := api.get(ctx, p.pod.path(), &now)
		if apierrors.IsNotFound(err) || err == nil && p.uid != "" && now.Metadata.UID != p.uid {
			return nil
		}
		untouched := err == nil && now.Status.StartTime == nil // the kubelet never saw it, and won't say that it is gone
		if isRBAC(err) {
			return nil // it was deleted; who may not look can't wait
		}
		if untouched || !pause(patience, 200*time.Millisecond) {
			break
		}
	}
	if err := d.retry(ctx, func() error { return api.remove(ctx, p.pod.path(), p.uid, 0) }); err != nil {
		return err
	}
	if patience.Err() != nil {
		return fmt.Errorf("the kubelet did not confirm that its container stopped; it was force-deleted from the API server")
	}
	return nil
}

// retry tries for as long as it may: an API server that is being rolled out is
// away for a moment.
func (d *Debug) retry(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil || isRBAC(err) || !pause(ctx, time.Second) {
			return err
		}
	}
}

// removeNamespace removes a namespace that no pod is left in. Its own end takes
// the controller manager some seconds more, and is not waited for.
func (d *Debug) removeNamespace(ctx context.Context, api *podAPI, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpLimit)
	defer cancel()
	err := d.retry(ctx, func() error {
		err := api.remove(ctx, namespacesPath+"/"+name, "", -1)
		if apierrors.IsConflict(err) { // it is on its way
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("namespace %s is left: %w; remove it with: %s", name, err, foreign.Command("", "kubectl delete namespace %s", name))
	}
	return nil
}

// pause waits for a moment; false: there is no more time.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
