package remediatetest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// repairedWorkers are three workers after a repair, and the old certificate is presented again.
func repairedWorkers(t *testing.T) *World {
	t.Helper()
	w := NewWorld(t, "worker-0", "worker-1", "worker-2")
	if _, err := w.run(t.Context(), t, w.env(t, "run-1", nil), repair(w, t, "run-1")); err != nil {
		t.Fatal(err)
	}
	w.api.show(t, w.Old)
	return w
}

// factsOfWorkers are those of an undo of run-1, with the labels that the API has.
func factsOfWorkers(w *World, t *testing.T) inspect.Snapshot {
	t.Helper()
	s := w.snapshot(t, host.DefaultFolder+"/run-1")
	for i := range s.Nodes {
		s.Nodes[i].Role = catalog.RoleWorker
	}
	return s
}

// TestAnUndoGoesOnWithoutOneWorker, whose kubelet has a request pending, or to which another certificate is presented.
func TestAnUndoGoesOnWithoutOneWorker(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *World, s *inspect.Snapshot){
		"a request": func(w *World, s *inspect.Snapshot) {
			s.Requests = append(s.Requests, inspect.SigningRequest{Object: &inspect.Object{Kind: "CertificateSigningRequest", Name: "csr-a"}, Signer: catalog.KubeletServingSigner, Requester: "system:node:worker-1", Condition: inspect.Pending, Since: w.Now()})
		},
		"another certificate": isPresentedAnother,
	} {
		w := repairedWorkers(t)
		s := factsOfWorkers(w, t)
		change(w, &s)
		p, err := undoing(w, t, "run-1").Plan("run-1", s, w.Now())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		record, err := w.run(t.Context(), t, w.env(t, "run-1", nil, host.DefaultFolder+"/run-1"), p)
		if err != nil || record.Outcome() != "finished" {
			t.Errorf("%s: %v, %s", name, err, record.Outcome())
		}
		if len(p.Unknown) != 1 || p.Unknown[0].Node != "worker-1" {
			t.Errorf("%s: left out %v", name, p.Unknown)
		}
		w.Machines["worker-0"].original(t)
		w.Machines["worker-1"].repaired(t)
		w.Machines["worker-2"].original(t)
	}
}

// isPresentedAnother has a certificate presented to worker-1 that no CA of the cluster signed.
func isPresentedAnother(w *World, s *inspect.Snapshot) {
	leaf := pkitest.NewCA("mallory", w.Now().Add(-time.Hour), w.Now().Add(time.Hour)).Issue("api-int", w.Now().Add(-time.Hour), w.Now().Add(time.Hour))
	for i := range s.Served {
		if s.Served[i].Node == "worker-1" {
			s.Served[i].Chain = pki.NewScanner().Scan(leaf.CertPEM)[0].Content.Certs
		}
	}
}

// TestARiskThatIsAcceptedForOneWorker: the others are waited for, one after another.
func TestARiskThatIsAcceptedForOneWorker(t *testing.T) {
	t.Parallel()
	w := repairedWorkers(t)
	s := factsOfWorkers(w, t)
	isPresentedAnother(w, &s)
	u := undoing(w, t, "run-1")
	u.AcceptBreaksTrust = true
	p, err := u.Plan("run-1", s, w.Now())
	if err != nil {
		t.Fatal(err)
	}
	waits := slices.DeleteFunc(StepsOf(p), func(id string) bool { return !strings.HasPrefix(id, "await ") })
	if !slices.Equal(waits, []string{"await worker-0", "await worker-2"}) || len(p.Unknown) > 0 {
		t.Errorf("waits %q, left out %v", waits, p.Unknown)
	}
}

// TestAWorkerThatAsksWhileAnUndoRuns is left out of it, as are too many requests; of a node that is no worker, as far as
// is known, it stops all. In either case, nothing was begun there.
func TestAWorkerThatAsksWhileAnUndoRuns(t *testing.T) {
	t.Parallel()
	for role, goesOn := range map[string]bool{catalog.RoleWorker: true, "": false} {
		w := repairedWorkers(t)
		s := factsOfWorkers(w, t)
		for i := range s.Nodes {
			s.Nodes[i].Role = role
		}
		p, err := undoing(w, t, "run-1").Plan("run-1", s, w.Now())
		if err != nil {
			t.Fatal(err)
		}
		api := &RequestsAPI{}
		env, _ := Approvals(t, w, api)
		env.ReadNode = w.env(t, "run-1", nil, host.DefaultFolder+"/run-1").ReadNode
		api.Add(ClientAsking(t).Made(t)) // in the name of worker-0
		record, err := w.run(t.Context(), t, env, p)
		w.Machines["worker-0"].repaired(t)
		for _, r := range record.Records {
			if r.Node == "worker-0" && r.Event == remediate.Begun {
				t.Errorf("role %q: %+v", role, r)
			}
		}
		if !goesOn {
			var r *remediate.Refusal
			if !errors.As(err, &r) || r.Name != "requests-pending" {
				t.Errorf("role %q: %v", role, err)
			}
			w.Machines["worker-1"].repaired(t)
			continue
		}
		if got := record.Outcome(); err != nil || got != "finished; left out: worker-0" {
			t.Errorf("role %q: %v, %q", role, err, got)
		}
		w.Machines["worker-1"].original(t)
		w.Machines["worker-2"].original(t)
	}
}

// TestAnUndoLooksAtWhatIsPresentedByThen: not when it was planned, which may be an hour before. Nothing could put a file
// back that is not trusted any more.
func TestAnUndoLooksAtWhatIsPresentedByThen(t *testing.T) {
	t.Parallel()
	w := repairedWorkers(t)
	p, err := undoing(w, t, "run-1").Plan("run-1", factsOfWorkers(w, t), w.Now())
	if err != nil {
		t.Fatal(err)
	}
	w.api.show(t, w.Young)
	record, err := w.run(t.Context(), t, w.env(t, "run-1", nil, host.DefaultFolder+"/run-1"), p)
	if err != nil {
		t.Error(err)
	}
	var out []string
	for _, r := range record.Records {
		switch r.Event {
		case remediate.Begun:
			t.Errorf("%s was begun", r.Action)
		case remediate.LeftOut:
			out = append(out, r.Node)
			if !strings.Contains(r.Error, "does not trust") {
				t.Errorf("%s: %s", r.Node, r.Error)
			}
		}
	}
	if slices.Sort(out); !slices.Equal(out, w.names) {
		t.Errorf("left out: %q", out)
	}
	for _, name := range w.names {
		if m := w.Machines[name]; !m.fileRepaired(t, BootstrapFile) || !m.fileRepaired(t, KubeletFile) {
			t.Errorf("%s: a file was put back", name)
		}
	}
}
