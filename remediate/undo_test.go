package remediate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
)

// undoing are facts of nodes after a repair, and of some of them, after an undo that was
// stopped before they were back.
func undoing(nodes string, back ...string) (*fixture, Undo) {
	f := newCluster(nodes)
	u := Undo{API: true}
	for _, name := range strings.Fields(nodes) {
		kept := Kept{Node: name}
		for i, path := range catalog.KubeletKubeconfigs() {
			n, _ := f.Snapshot.Node(name)
			text := n.Kubeconfigs[slices.IndexFunc(n.Kubeconfigs, func(k inspect.Kubeconfig) bool { return k.Path == path })]
			was := *n.File(path)
			e := host.Entry{Before: host.File{Path: path, Kind: host.Regular, SHA256: was.SHA256, Size: was.Size}}
			text.Path = fmt.Sprintf("%s/run-1/before-%d", host.DefaultFolder, i)
			n.Kubeconfigs = append(n.Kubeconfigs, text)
			was.Path = text.Path
			n.Files = append(n.Files, was)
			slices.SortFunc(n.Files, func(a, b inspect.NodeFile) int { return strings.Compare(a.Path, b.Path) })
			if !slices.Contains(back, name) {
				f.embed(name, path, f.configMap, f.old.CertPEM)
				e.Wrote = [][32]byte{n.File(path).SHA256}
			}
			kept.Entries = append(kept.Entries, e)
		}
		u.Nodes = append(u.Nodes, kept)
	}
	for _, name := range back {
		n, _ := f.Snapshot.Node(name)
		n.Kubelet.Started, n.Ready, n.Heartbeat = testNow.Add(-time.Minute), "Unknown", testNow.Add(-time.Hour)
	}
	f.served(f.old.Issue(apiInt, testNow.Add(-time.Hour), testNow.Add(time.Hour), pkitest.DNS(apiInt)))
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
		change      func(f *fixture, u *Undo)
		want        []string // of the steps, those that wait
		says        string
	}{
		{name: "none was begun", nodes: "master-0 master-1", want: []string{"await master-0", gate + "master-0", "await master-1"}},
		{name: "a master", nodes: "master-0 master-1", back: []string{"master-0"}, want: []string{"await master-0", gate + "master-0", "await master-1"}},
		{name: "a worker", nodes: "worker-0 worker-1 worker-2", back: []string{"worker-0"}, want: []string{"await worker-0", "await worker-1", "await worker-2"}, says: "leave it out: --nodes worker-1,worker-2"},
		{name: "a worker after one that is to be done", nodes: "worker-0 worker-1 worker-2", back: []string{"worker-1"}, want: []string{"await worker-0", "await worker-1", "await worker-2"}, says: "leave it out: --nodes worker-0,worker-2"},
		{name: "the last one", nodes: "master-0 master-1", back: []string{"master-1"}, want: []string{"await master-0", gate + "master-0"}},
		{name: "one that is back", nodes: "master-0 master-1", back: []string{"master-0"}, change: func(f *fixture, _ *Undo) {
			f.first().Ready, f.first().Heartbeat = "True", testNow
		}, want: []string{gate + "master-0", "await master-1"}},
		{name: "one that the run did not come to", nodes: "master-0 master-1", change: func(f *fixture, u *Undo) {
			u.Nodes[0].Entries, f.first().Ready = nil, "Unknown"
		}, want: []string{"await master-1"}},
		{name: "without an API", nodes: "master-0 master-1", change: func(f *fixture, u *Undo) {
			u.API = false
			f.apiServer("master-0")
		}, want: []string{gate + "master-0", "await master-0", "await master-1"}},
		{name: "without an API, and a master", nodes: "master-0 master-1", back: []string{"master-0"}, change: func(f *fixture, u *Undo) {
			u.API = false
			f.apiServer("master-0")
		}, want: []string{gate + "master-0", "await master-0", "await master-1"}},
		{name: "without an API, and all of them", nodes: "master-0 master-1", back: []string{"master-0", "master-1"}, change: func(f *fixture, u *Undo) {
			u.API = false
			f.apiServer("master-0")
		}},
		{name: "what breaks trust is not waited for", nodes: "master-0 master-1", back: []string{"master-0"}, change: func(f *fixture, u *Undo) {
			f.served(f.young.Issue(apiInt, testNow.Add(-time.Hour), testNow.Add(time.Hour), pkitest.DNS(apiInt)))
			u.AcceptBreaksTrust = true
		}},
	} {
		f, u := undoing(c.nodes, c.back...)
		if c.change != nil {
			c.change(f, &u)
		}
		p, err := u.Plan("run-1", f.Snapshot, testNow)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := slices.DeleteFunc(stepsOf(p), func(id string) bool { return !strings.HasPrefix(id, "await ") })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, c.says) || c.says == "" && strings.Contains(notes, "leave it out") {
			t.Errorf("%s: notes %q", c.name, notes)
		}
	}
}

// TestUndoStopsOnceMore calls an undo again while the first node is still away.
func TestUndoStopsOnceMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "worker-0", "worker-1")
	if _, err := w.run(t.Context(), t, w.env(t, "run-1", nil), w.repair(t, "run-1")); err != nil {
		t.Fatal(err)
	}
	w.api.show(t, w.old)
	first, second := w.machines["worker-0"], w.machines["worker-1"]
	undo := func() error {
		folder := host.DefaultFolder + "/run-1"
		p, err := w.undoing(t, "run-1").Plan("run-1", w.facts(t, folder), w.now())
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.run(t.Context(), t, w.env(t, "run-1", nil, folder), p)
		return err
	}
	first.mode(t, "late")
	for range 2 {
		var late *Late
		if err := undo(); !errors.As(err, &late) || first.restarts(t) != 2 || second.restarts(t) != 1 {
			t.Fatalf("%v; restarts %d, %d", err, first.restarts(t), second.restarts(t))
		}
	}
	first.mode(t, "normal")
	if err := undo(); err != nil || first.restarts(t) != 2 {
		t.Errorf("%v; restarts %d", err, first.restarts(t))
	}
	first.original(t)
	second.original(t)
}
