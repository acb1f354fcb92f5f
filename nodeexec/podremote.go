package nodeexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
)

// podRemote starts shell.sh in a container on a node, by an exec of the API.
type podRemote struct {
	name   string // of the node
	way    string // "exec", "debug"
	api    *podAPI
	pod    podRef
	root   string // where the node's files are in the container
	chroot bool   // commands run in there, and are the node's own
}

// nodePath is where a node's programs are; a container's image may say otherwise.
const nodePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// shell is what is asked for in the container. In a chroot, the shell's path is
// whole, because a busybox would take its own.
func (r *podRemote) shell() []string {
	if r.chroot {
		return []string{"chroot", r.root, "/bin/sh", "-c", shellScriptSent(), "sh", nodePath}
	}
	return []string{"sh", "-c", shellScriptSent(), "sh", ""}
}

func (r *podRemote) String() string { return "pod " + r.pod.String() }

func (r *podRemote) exec(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	return r.api.exec(ctx, r.pod, r.shell(), remotecommand.StreamOptions{Stdin: stdin, Stdout: stdout, Stderr: stderr})
}

func (r *podRemote) noShell(exited error) error {
	var exit exec.CodeExitError
	switch {
	case exited == nil:
		return fmt.Errorf("pod %s: the exec ended well without having run anything", r.pod)
	case errors.As(exited, &exit):
		return &noShellError{r.pod, Quote(r.shell()[:2]...), exit.Code}
	}
	return r.explain(exited)
}

// noShellError is an exec that found nothing to run.
type noShellError struct {
	pod   podRef
	tried string
	code  int
}

func (e *noShellError) Error() string {
	return fmt.Sprintf("pod %s, container %s: %s ended with %d, and no shell came up", e.pod, e.pod.container, e.tried, e.code)
}

func (r *podRemote) noAnswer(limit time.Duration) error {
	return fmt.Errorf("pod %s: no answer within %s: does the kubelet of %s run, and can the API server reach it? ssh does not need that", r.pod, limit, r.name)
}

// canRun runs a command that does nothing: in the node's own file system if that
// can be, else in the container's.
func (r *podRemote) canRun(ctx context.Context, n *shellNode, mayChroot bool) error {
	var failed error
	if mayChroot {
		r.chroot = true
		_, err := n.Run(ctx, nil, "true")
		var noShell *noShellError
		if !errors.As(err, &noShell) {
			return err
		}
		failed = err
	}
	r.chroot, n.root = false, r.root
	if _, err := n.Run(ctx, nil, "test", "-d", n.Path("/etc")); err != nil {
		return onOneLine(failed, err)
	}
	return nil
}
