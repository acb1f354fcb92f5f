package nodeexec

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/exec"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// explainLimit is for asking the API why something went wrong.
const explainLimit = 5 * time.Second

// explain says what the refusal of an exec means, and what else there is.
func (r *podRemote) explain(err error) error {
	err = withoutQuery(err)
	const others = "ssh does not need it, nor does certrot on the node itself (local)"
	text := strings.ToLower(err.Error())
	says := func(any ...string) bool {
		for _, s := range any {
			if strings.Contains(text, s) {
				return true
			}
		}
		return false
	}
	switch {
	case isRBAC(err):
		return notAllowed(err, r.way, "create and get pods/exec in namespace "+r.pod.namespace)
	case says("authorization error"):
		return fmt.Errorf("pod %s: the kubelet of %s refuses exec, because it can't ask the API server who may (it does not trust api-int, or is not trusted there): %s: %w", r.pod, r.name, others, err)
	case says("x509", "tls:", "certificate"):
		return fmt.Errorf("pod %s: the API server and the kubelet of %s do not trust each other's certificates: %s: %w", r.pod, r.name, others, err)
	case says("error dialing backend", "connection refused", "no route to host", "i/o timeout", "502 bad gateway"):
		return fmt.Errorf("pod %s: the API server can't reach the kubelet of %s: %s: %w", r.pod, r.name, others, err)
	case apierrors.IsNotFound(err), says("pod does not exist", "container not found", "not found in pod"):
		return fmt.Errorf("pod %s is gone from node %s: %w", r.pod, r.name, err)
	}
	return fmt.Errorf("pod %s: %w", r.pod, err)
}

// withoutQuery leaves out of an error what was asked for in a URL: a whole script.
func withoutQuery(err error) error {
	before, after, found := strings.Cut(err.Error(), "?command=")
	if !found {
		return err
	}
	end := strings.IndexAny(after, "\"” \n") // ” ends what others say
	if end < 0 {
		end = len(after)
	}
	return &shortError{before + "?…" + after[end:], err}
}

// shortError is an error in fewer words.
type shortError struct {
	text string
	full error
}

func (e *shortError) Error() string { return e.text }
func (e *shortError) Unwrap() error { return e.full }

// interrupted is why no end of a command was seen.
func (r *podRemote) interrupted(ctx context.Context, exit error) error {
	if why := r.fate(ctx, exit); why != "" {
		return fmt.Errorf("pod %s %s", r.pod, why)
	}
	var code exec.CodeExitError
	switch {
	case exit == nil:
		return fmt.Errorf("pod %s: the exec ended without the command's own last word, as when the kubelet restarts", r.pod)
	case errors.As(exit, &code):
		return fmt.Errorf("pod %s: what ran the command ended with %d and without its last word: killed, or out of memory", r.pod, code.Code)
	}
	return r.explain(exit)
}

// fate is what became of the pod; "" if it still runs. Where a command was killed
// with it, the API knows that a moment later.
func (r *podRemote) fate(ctx context.Context, exit error) string {
	ctx, cancel := context.WithTimeout(ctx, explainLimit)
	defer cancel()
	killed := exec.CodeExitError{}
	for range 10 {
		var p podObject
		err := r.api.get(ctx, r.pod.path(), &p)
		switch {
		case apierrors.IsNotFound(err):
			return "was deleted meanwhile"
		case err == nil && p.Metadata.DeletionTimestamp != nil:
			return "is being deleted"
		case err == nil && !p.running(r.pod.container):
			return "does not run any more: " + p.ended()
		}
		if err != nil || !errors.As(exit, &killed) || killed.Code != 137 || !pause(ctx, 300*time.Millisecond) {
			break
		}
	}
	return ""
}

// ended says how a pod came to its end.
func (p *podObject) ended() string {
	said := []string{foreign.NameBefore(p.Status.Phase)}
	if why := foreign.ReasonAndMessage(p.Status.Reason, p.Status.Message); why != "" {
		said = append(said, why)
	}
	for _, c := range p.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			said = append(said, strings.TrimSpace(fmt.Sprintf("container %s ended with %d %s", foreign.NameBefore(c.Name), t.ExitCode, foreign.ReasonAndMessage(t.Reason, t.Message))))
		}
	}
	return strings.Join(said, ": ")
}
