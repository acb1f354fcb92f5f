package undo

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeconfig"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

func TestUndoOfKubeadmsFilesMindsTheirTrust(t *testing.T) {
	t.Parallel()
	f := remediatetest.KubeadmFixture("worker-0")
	if f.Embed("worker-0", catalog.KubeadmKubeconfigs()[1], f.Before); action.Trusts(f.Snapshot, "worker-0", inspect.KubeletSetupOf(f.Snapshot, f.FirstNode()).Kubeconfig, remediatetest.TestNow) == nil {
		t.Fatal("the old CA is trusted")
	}
	p := &remediate.Plan{Basis: f.Snapshot, After: f.Snapshot, Now: remediatetest.TestNow, Waves: []remediate.Wave{{Nodes: []remediate.NodePlan{{Name: "worker-0", Steps: []remediate.Step{{Action: action.NewRestartKubelet("worker-0"), Change: &remediate.Change{}}}}}}}}
	if why := broken(p); !strings.Contains(why, "/etc/kubernetes/kubelet.conf") {
		t.Errorf("said is %q", why)
	}
}

func TestPlanToPutBack(t *testing.T) {
	t.Parallel()
	f, u := undone(t)
	p, err := u.Plan("run-1", f.Snapshot, remediatetest.TestNow)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"restore worker-0:" + remediatetest.KubeletFile, "restore worker-0:" + remediatetest.BootstrapFile, "restart worker-0:kubelet.service", "await worker-0"}; !slices.Equal(remediatetest.StepsOf(p), want) {
		t.Errorf("steps %q", remediatetest.StepsOf(p))
	}
	ca, err := kubeconfig.Find(p.Nodes()[0].Steps[0].Change.File.After)
	if err != nil || !bytes.Equal(ca.PEM, f.Before) {
		t.Errorf("afterwards it would be %v, %s", err, ca.PEM)
	}

	for _, c := range []struct {
		name, check, says string
		change            func(f *remediatetest.Fixture, u *Undo)
	}{
		{"a node that was not read", "node-read", "was not read", func(f *remediatetest.Fixture, _ *Undo) { f.FirstNode().Via = "" }},
		{"a file that changed since", "changed-since", remediatetest.KubeletFile, func(f *remediatetest.Fixture, _ *Undo) { f.FirstNode().File(remediatetest.KubeletFile).SHA256[0]++ }},
		{"a file that is gone", "file-read", remediatetest.KubeletFile, func(f *remediatetest.Fixture, _ *Undo) { f.Drop("worker-0", remediatetest.KubeletFile) }},
		{"a backup that was not read", "backup-read", remediatetest.KubeletFile, func(f *remediatetest.Fixture, _ *Undo) { f.Drop("worker-0", host.DefaultFolder+"/run-1/before-1") }},
		{"a backup that was read in part", "backup-read", remediatetest.KubeletFile, func(f *remediatetest.Fixture, _ *Undo) {
			f.FirstNode().File(host.DefaultFolder+"/run-1/before-1").Size++
		}},
		{"what does not trust what is presented", remediate.BreaksTrust, "afterwards", func(f *remediatetest.Fixture, _ *Undo) {
			f.Serve(f.Young.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost)))
		}},
		{"a server that is unknown", remediate.BreaksTrust, "no handshake", func(f *remediatetest.Fixture, _ *Undo) { f.Served = nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, u := undone(t)
			c.change(f, &u)
			_, err := u.Plan("run-1", f.Snapshot, remediatetest.TestNow)
			var r *remediate.Refusal
			if !errors.As(err, &r) || r.Name != c.check || !strings.Contains(err.Error(), c.says) || r.Risk != (c.check == remediate.BreaksTrust) {
				t.Fatalf("%v", err)
			}
			u.AcceptBreaksTrust = true
			p, err := u.Plan("run-1", f.Snapshot, remediatetest.TestNow)
			if accepted := err == nil; accepted != r.Risk {
				t.Fatalf("accepted: %v", err)
			}
			if r.Risk && (len(remediatetest.StepsOf(p)) != 3 || !strings.Contains(strings.Join(p.Notes.Texts(), "\n"), "Accepted by name")) {
				t.Errorf("steps %q, notes %q", remediatetest.StepsOf(p), p.Notes.Texts())
			}
		})
	}
}

// TestUndoThatWasInterrupted has both files back, and a kubelet that has not read
// them: the restart is still due, and has the same risk.
func TestUndoThatWasInterrupted(t *testing.T) {
	t.Parallel()
	f, u := undone(t)
	for i := range u.Nodes[0].Backups {
		e := &u.Nodes[0].Backups[i]
		f.Embed("worker-0", e.Before.Path, f.Before)
		f.FirstNode().File(e.Before.Path).SHA256 = e.Before.SHA256
	}
	file, since := f.FirstNode().File(remediatetest.KubeletFile), f.FirstNode().Kubelet.Started.Add(time.Hour)
	before := file.Modified
	for _, times := range [][2]time.Time{{before, since}, {since, since}} { // with the time that it had, too
		file.Modified, file.Changed = times[0], times[1]
		p, err := u.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if want := []string{"restart worker-0:kubelet.service", "await worker-0"}; err != nil || !slices.Equal(remediatetest.StepsOf(p), want) {
			t.Fatalf("%+v, %v", p, err)
		}
	}
	f.Serve(f.Young.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost)))
	var r *remediate.Refusal
	if _, err := u.Plan("run-1", f.Snapshot, remediatetest.TestNow); !errors.As(err, &r) || r.Name != remediate.BreaksTrust || !r.Risk {
		t.Errorf("%v", err)
	}
}

// TestUndoOfAFileThatTheKubeletDoesNotRunWith: a new mode of its kubeconfig, which the run did not change, is no
// reason to restart it.
func TestUndoOfAFileThatTheKubeletDoesNotRunWith(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entry string // the only file of the run
		want  []string
	}{
		"another file": {remediatetest.BootstrapFile, nil},
		"its own":      {remediatetest.KubeletFile, []string{"restart worker-0:kubelet.service", "await worker-0"}},
	} {
		f, u := undone(t)
		n := f.FirstNode()
		e := u.Nodes[0].Backups[slices.IndexFunc(u.Nodes[0].Backups, func(e host.Backup) bool { return e.Before.Path == c.entry })]
		n.File(c.entry).SHA256 = e.Before.SHA256 // put back already
		u.Nodes[0].Backups = []host.Backup{e}
		n.File(remediatetest.KubeletFile).Changed = n.Kubelet.Started.Add(time.Hour)
		p, err := u.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil || !slices.Equal(remediatetest.StepsOf(p), c.want) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestNothingToPutBack(t *testing.T) {
	t.Parallel()
	f, u := undone(t)
	for i := range u.Nodes[0].Backups {
		e := &u.Nodes[0].Backups[i]
		f.FirstNode().File(e.Before.Path).SHA256 = e.Before.SHA256
	}
	for _, u := range []Undo{u, {Nodes: []NodeBackups{{Node: "worker-0"}}}} {
		p, err := u.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil || !p.Empty() || !strings.Contains(strings.Join(p.Notes.Texts(), ""), "as it was before the run") {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

func TestUndoOnAnotherMachine(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewFixture()
	f.FirstNode().Hostname = "worker-00"
	var r *remediate.Refusal
	if _, err := (Undo{Nodes: []NodeBackups{{Node: "worker-0"}}}).Plan("run-1", f.Snapshot, remediatetest.TestNow); !errors.As(err, &r) || r.Name != "node-identity" {
		t.Error(err)
	}
}
