package undo

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// A master that gets its files back is asked before the next one does.
func TestUndoOfMasters(t *testing.T) {
	t.Parallel()
	f, u := undone(t)
	f.AddNode("worker-1")
	f.Serve(f.Old.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost)))
	f.FirstNode().Role = catalog.RoleMaster
	gates := func() (n int) {
		p, err := u.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range remediatetest.StepsOf(p) {
			if id == "await kube-apiserver on worker-0" {
				n++
			}
		}
		return n
	}
	if n := gates(); n != 0 {
		t.Errorf("the last one: %d", n)
	}
	u.Nodes = append(u.Nodes, NodeBackups{Node: "worker-1"})
	if n := gates(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// undone are facts after a repair, and what a node keeps of it.
func undone(t *testing.T) (*remediatetest.Fixture, Undo) {
	t.Helper()
	f := remediatetest.NewFixture()
	u := Undo{API: true, Nodes: []NodeBackups{{Node: "worker-0"}}}
	for i, path := range catalog.KubeletKubeconfigs() {
		before := f.FirstNode().Kubeconfigs[slices.IndexFunc(f.FirstNode().Kubeconfigs, func(k inspect.Kubeconfig) bool { return k.Path == path })]
		was := *f.FirstNode().File(path)
		f.Embed("worker-0", path, f.ConfigMap, f.Old.CertPEM)
		kept := fmt.Sprintf("%s/run-1/before-%d", host.DefaultFolder, i)
		n := f.FirstNode()
		before.Path = kept
		n.Kubeconfigs = append(n.Kubeconfigs, before)
		backup := was
		backup.Path = kept
		n.Files = append(n.Files, backup)
		slices.SortFunc(n.Files, func(a, b inspect.NodeFile) int { return strings.Compare(a.Path, b.Path) })
		u.Nodes[0].Backups = append(u.Nodes[0].Backups, host.Backup{
			Before: host.File{Path: path, Kind: host.Regular, SHA256: was.SHA256, Size: was.Size}, Wrote: [][32]byte{n.File(path).SHA256},
		})
	}
	f.Serve(f.Old.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost)))
	return f, u
}
