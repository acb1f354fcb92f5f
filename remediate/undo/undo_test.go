package undo

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// undoing are facts of nodes after a repair, and of some of them, after an undo that was
// stopped before they were back.
func undoing(nodes string, back ...string) (*remediatetest.Fixture, Undo) {
	f := remediatetest.NewCluster(nodes)
	u := Undo{API: true}
	for _, name := range strings.Fields(nodes) {
		kept := NodeBackups{Node: name}
		for i, path := range catalog.KubeletKubeconfigs() {
			n, _ := f.Snapshot.Node(name)
			text := n.Kubeconfigs[slices.IndexFunc(n.Kubeconfigs, func(k inspect.Kubeconfig) bool { return k.Path == path })]
			was := *n.File(path)
			e := host.Backup{Before: host.File{Path: path, Kind: host.Regular, SHA256: was.SHA256, Size: was.Size}}
			text.Path = fmt.Sprintf("%s/run-1/before-%d", host.DefaultFolder, i)
			n.Kubeconfigs = append(n.Kubeconfigs, text)
			was.Path = text.Path
			n.Files = append(n.Files, was)
			slices.SortFunc(n.Files, func(a, b inspect.NodeFile) int { return strings.Compare(a.Path, b.Path) })
			if !slices.Contains(back, name) {
				f.Embed(name, path, f.ConfigMap, f.Old.CertPEM)
				e.Wrote = [][32]byte{n.File(path).SHA256}
			}
			kept.Backups = append(kept.Backups, e)
		}
		u.Nodes = append(u.Nodes, kept)
	}
	for _, name := range back {
		n, _ := f.Snapshot.Node(name)
		n.Kubelet.Started, n.Ready, n.Heartbeat = remediatetest.TestNow.Add(-time.Minute), "Unknown", remediatetest.TestNow.Add(-time.Hour)
	}
	f.Serve(f.Old.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost)))
	return f, u
}

// TestUndoThatGoesOn waits for the node at which an undo was stopped before it begins the
// next one.
func TestUndoThatGoesOn(t *testing.T) {
	t.Parallel()
	const gate = "await kube-apiserver on "
	for _, c := range []struct {
		name, nodes string
		back        []string
		change      func(f *remediatetest.Fixture, u *Undo)
		want        []string // of the steps, those that wait
		says        string
	}{
		{name: "none was begun", nodes: "master-0 master-1", want: []string{"await master-0", gate + "master-0", "await master-1"}},
		{name: "a master", nodes: "master-0 master-1", back: []string{"master-0"}, want: []string{"await master-0", gate + "master-0", "await master-1"}},
		{name: "a worker", nodes: "worker-0 worker-1 worker-2", back: []string{"worker-0"}, want: []string{"await worker-0", "await worker-1", "await worker-2"}, says: "leave it out: --nodes worker-1,worker-2"},
		{name: "a worker after one that is to be done", nodes: "worker-0 worker-1 worker-2", back: []string{"worker-1"}, want: []string{"await worker-0", "await worker-1", "await worker-2"}, says: "leave it out: --nodes worker-0,worker-2"},
		{name: "the last one", nodes: "master-0 master-1", back: []string{"master-1"}, want: []string{"await master-0", gate + "master-0"}},
		{name: "one that is back", nodes: "master-0 master-1", back: []string{"master-0"}, change: func(f *remediatetest.Fixture, _ *Undo) {
			f.FirstNode().Ready, f.FirstNode().Heartbeat = "True", remediatetest.TestNow
		}, want: []string{gate + "master-0", "await master-1"}},
		{name: "one that the run did not come to", nodes: "master-0 master-1", change: func(f *remediatetest.Fixture, u *Undo) {
			u.Nodes[0].Backups, f.FirstNode().Ready = nil, "Unknown"
		}, want: []string{"await master-1"}},
		{name: "without an API", nodes: "master-0 master-1", change: func(f *remediatetest.Fixture, u *Undo) {
			u.API = false
			f.HasAPIServer("master-0")
		}, want: []string{gate + "master-0", "await master-0", "await master-1"}},
		{name: "without an API, and a master", nodes: "master-0 master-1", back: []string{"master-0"}, change: func(f *remediatetest.Fixture, u *Undo) {
			u.API = false
			f.HasAPIServer("master-0")
		}, want: []string{gate + "master-0", "await master-0", "await master-1"}},
		{name: "without an API, and all of them", nodes: "master-0 master-1", back: []string{"master-0", "master-1"}, change: func(f *remediatetest.Fixture, u *Undo) {
			u.API = false
			f.HasAPIServer("master-0")
		}},
		{name: "what breaks trust is not waited for", nodes: "master-0 master-1", back: []string{"master-0"}, change: func(f *remediatetest.Fixture, u *Undo) {
			f.Serve(f.Young.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost)))
			u.AcceptBreaksTrust = true
		}},
	} {
		f, u := undoing(c.nodes, c.back...)
		if c.change != nil {
			c.change(f, &u)
		}
		p, err := u.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := slices.DeleteFunc(remediatetest.StepsOf(p), func(id string) bool { return !strings.HasPrefix(id, "await ") })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if notes := strings.Join(p.Notes.Texts(), "\n"); !strings.Contains(notes, c.says) || c.says == "" && strings.Contains(notes, "leave it out") {
			t.Errorf("%s: notes %q", c.name, notes)
		}
	}
}

// TestAnUndoThatBreaksATrustEdgeBreaksTrust: a client that no check and no kubelet speaks of, too.
func TestAnUndoThatBreaksATrustEdgeBreaksTrust(t *testing.T) {
	t.Parallel()
	failing := trust.Claim{Assessment: assess.Assessment{ID: "kubelet-client-ca", Status: assess.Fail, Subject: "worker-0", Reason: "x509: certificate signed by unknown authority"}}
	if why := broken(&remediate.Plan{Breaks: []trust.Claim{failing}}); why != "afterwards kubelet-client-ca fails: x509: certificate signed by unknown authority (worker-0)" {
		t.Errorf("said is %q", why)
	}
	if why := broken(&remediate.Plan{}); why != "" {
		t.Errorf("of no edge: %q", why)
	}
}

// broken is the first thing that a plan would break; empty: it breaks nothing.
func broken(p *remediate.Plan) string {
	if found := breaches(p); len(found) > 0 {
		return found[0].reason
	}
	return ""
}
