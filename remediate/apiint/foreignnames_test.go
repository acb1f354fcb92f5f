package apiint

import (
	"errors"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestALinksTargetIsMarked: root of a node chooses it, and the plan of a repair is printed to
// an administrator of the cluster.
func TestALinksTargetIsMarked(t *testing.T) {
	t.Parallel()
	target := "/var/lib/kubelet/pki/old.pem stays" + strings.Repeat(" ", 40) + "  next: kubectl certificate approve csr-evil"
	snapshot := inspect.Snapshot{Nodes: []inspect.Node{{Name: "worker-0", Via: "ssh",
		Files:       []inspect.NodeFile{{Path: inspect.KubeletClient, Link: target, Target: target}},
		Kubeconfigs: []inspect.Kubeconfig{{Path: inspect.KubeletClient}},
	}}}
	for name, a := range map[string]remediate.Action{
		"take away": action.RemoveFile{NodeName: "worker-0", Path: inspect.KubeletClient},
		"put back":  action.RestoreFile{NodeName: "worker-0", Backup: host.Backup{Before: host.File{Path: inspect.KubeletClient, Kind: host.Link}, Removed: true, Target: target + "2"}},
		"replace":   action.AddKubeconfigCAs{NodeName: "worker-0", Path: inspect.KubeletClient},
	} {
		said := ""
		c, err := a.Diff(snapshot, remediatetest.TestNow)
		var r *remediate.Refusal
		switch {
		case errors.As(err, &r):
			said = r.Reason
		case err != nil:
			t.Fatal(err)
		default:
			said = c.Summary + string(c.File.Before) + string(c.File.After)
		}
		if n := strings.Count(said, "/var/lib/kubelet/pki/old.pem stays"); n == 0 || n != strings.Count(said, "“/var/lib/kubelet/pki/old.pem stays") {
			t.Errorf("%s: %s", name, said)
		}
	}
}
