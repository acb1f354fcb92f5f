package apply

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
)

// TestWhatChangedMeanwhileIsNamed: it may be a file, pods of a node, or an object; on several nodes.
func TestWhatChangedMeanwhileIsNamed(t *testing.T) {
	t.Parallel()
	stopped := func(a remediate.Action, others ...*remediate.Stopped) *remediate.Stopped {
		return &remediate.Stopped{Action: a, Inner: fmt.Errorf("%w: more", remediate.ErrChanged), OtherFailures: others}
	}
	file := action.AddKubeconfigCAs{NodeName: "worker-0", Path: "/var/lib/kubelet/kubeconfig"}
	pods := action.RestartPods{NodeName: "worker-1", Row: catalog.NodeDaemonSet{Namespace: "openshift-multus", DaemonSet: "multus"}}
	object := action.PatchKubeRootCA{}
	object.Object.Namespace, object.Object.Name = "team", "kube-root-ca.crt"
	for name, c := range map[string]struct {
		err  error
		want []string // none: it is no such failure
	}{
		"a file":            {stopped(file), []string{"/var/lib/kubelet/kubeconfig on worker-0"}},
		"pods":              {stopped(pods), []string{"pods of openshift-multus/multus on worker-1"}},
		"an object":         {stopped(object), []string{"team/kube-root-ca.crt"}},
		"several":           {stopped(file, stopped(pods)), []string{"/var/lib/kubelet/kubeconfig on worker-0", "pods of openshift-multus/multus on worker-1"}},
		"a name of a node":  {stopped(action.AddKubeconfigCAs{NodeName: "w\x1b[2J\u202e", Path: "/a"}), []string{`/a on “w\x1b[2J\u202e”`}},
		"another failure":   {&remediate.Stopped{Action: file, Inner: errors.New("no space left")}, nil},
		"another one, too":  {stopped(file, &remediate.Stopped{Action: pods, Inner: errors.New("no space left")}), nil},
		"before any step":   {fmt.Errorf("bundle: %w", remediate.ErrChanged), []string{"bundle: it changed after it was read"}},
		"no failure at all": {nil, nil},
	} {
		if got := changedMeanwhile(c.err); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
