package remediate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// TestAskedAgain has something begin after the plan was made, which ends or does not.
func TestAskedAgain(t *testing.T) {
	t.Parallel()
	plain := kubeadmFixture("master-1").Snapshot
	for _, c := range []struct {
		name    string
		begins  func(m *inspect.Machinery)
		times   int // how often it is found
		again   *Again
		stopped string // the name of the check; empty: it goes on
		waits   time.Duration
	}{
		{"nothing", nil, 0, &Again{}, "", 0},
		{"an upgrade", begunUpgrade, 1, &Again{}, upgradeRunning, 0},
		{"an upgrade, which was accepted", begunUpgrade, 1000, &Again{Accept: []string{upgradeRunning}}, "", 0},
		{"an upgrade, which is not asked for", begunUpgrade, 1000, &Again{Only: []string{StaticPodsSettled}}, "", 0},
		{"a rollout that ends", begunRollout, 12, &Again{}, "", 2 * time.Minute},
		{"a rollout that does not", begunRollout, 1000, &Again{}, StaticPodsSettled, rolloutTime},
		{"an API server that restarts", silent, 5, &Again{}, "", 50 * time.Second},
		{"an API server that is silent", silent, 1000, &Again{}, upgradeRunning, unreadTime},
		{"a plain cluster has no ClusterVersion", withoutOperators, 1000, &Again{Facts: plain, StaticPods: unready(0)}, "", 0},
		{"a plain cluster's static pod that becomes ready", withoutOperators, 1000, &Again{Facts: plain, StaticPods: unready(12)}, "", 2 * time.Minute},
		{"one that does not", withoutOperators, 1000, &Again{Facts: plain, StaticPods: unready(1000)}, StaticPodsSettled, rolloutTime},
		{"one that does not, which was accepted", withoutOperators, 1000, &Again{Facts: plain, StaticPods: unready(1000), Accept: []string{StaticPodsSettled}}, "", 0},
		{"an undo there", withoutOperators, 1000, &Again{Facts: plain, StaticPods: unready(1000), Only: []string{StaticPodsSettled}}, StaticPodsSettled, rolloutTime},
		{"static pods that were not asked for", withoutOperators, 1000, &Again{Facts: plain}, StaticPodsSettled, rolloutTime},
	} {
		found := 0
		var said []string
		now := testNow
		env := &Env{Now: func() time.Time { return now }, Sleep: func(_ context.Context, d time.Duration) error {
			now = now.Add(d)
			return nil
		}}
		c.again.Say = func(text string) { said = append(said, text) }
		c.again.Machinery = func(context.Context) *inspect.Machinery {
			m := settled()
			if c.begins != nil && found < c.times {
				found++
				c.begins(m)
			}
			return m
		}
		err := c.again.ask(t.Context(), env, []string{"master-1"})
		var r *Refusal
		switch {
		case c.stopped == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.stopped != "" && (!errors.As(err, &r) || r.Name != c.stopped || !r.Risk || r.Next == ""):
			t.Errorf("%s: %v", c.name, err)
		}
		if now.Sub(testNow) != c.waits || len(said) != min(1, int(c.waits)) {
			t.Errorf("%s: waited %s, said %q", c.name, now.Sub(testNow), said)
		}
	}
}

// settled is a cluster that is left alone.
func settled() *inspect.Machinery {
	m := quietMachinery()
	for i := range m.Nodes {
		m.Nodes[i].Ready = "True"
	}
	return m
}

func begunUpgrade(m *inspect.Machinery) {
	m.Update = inspect.Update{Progressing: "True", Desired: "4.15.1"}
}
func begunRollout(m *inspect.Machinery) { m.StaticPods[1].Masters[0].Target = 8 }
func silent(m *inspect.Machinery) {
	m.Gaps = append(m.Gaps, inspect.Gap{What: catalog.ClusterVersions, Reason: "connection refused", Next: "look"})
}

// withoutOperators is what is read of a cluster that kubeadm made.
func withoutOperators(m *inspect.Machinery) {
	silent(m)
	m.StaticPods, m.Pools, m.Update = nil, nil, inspect.Update{}
}

// unready reads a static pod of master-1 that is not ready when it is first asked for, so
// many times.
func unready(times int) func(context.Context) *StaticPods {
	asked := 0
	return func(context.Context) *StaticPods {
		asked++
		return &StaticPods{Pods: []inspect.Pod{{Namespace: "kube-system", Name: "kube-apiserver-master-1", Node: "master-1", OwnerKind: "Node", OwnerName: "master-1", Phase: "Running", Ready: asked > times}}}
	}
}

// TestWhatBeginsMeanwhile stops a run before the next master, and before a wave.
func TestWhatBeginsMeanwhile(t *testing.T) {
	t.Parallel()
	base := newWorld(t, "master-0", "master-1", "worker-0")
	p := base.repair(t, "run-1")
	for i := range p.Basis.Nodes {
		p.Basis.Nodes[i].Role = catalog.RoleMaster
		if p.Basis.Nodes[i].Name == "worker-0" {
			p.Basis.Nodes[i].Role = catalog.RoleWorker
		}
	}
	for name, c := range map[string]struct {
		after  int // questions
		done   []string
		before string
		left   []string
	}{
		"nothing begins":            {3, base.names, "", nil},
		"after the first master":    {1, base.names[:1], "master-1", []string{"worker-0"}},
		"before anything was begun": {0, nil, "master-0", base.names},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := base.clone(t)
			asked := 0
			again := &Again{Machinery: func(context.Context) *inspect.Machinery {
				m := settled()
				if asked++; asked > c.after {
					begunUpgrade(m)
				}
				return m
			}}
			j, err := Journals{Folder: t.TempDir()}.Begin(Header{Run: "run-1"}, w.now)
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			err = Runner{Env: w.env(t, "run-1", nil), Journal: j, Gate: again}.Run(t.Context(), p)
			var s *Stopped
			switch {
			case c.before == "" && (err != nil || asked != 2):
				t.Errorf("asked %d times, and not for the wave and before the other master: %v", asked, err)
			case c.before != "" && (!errors.As(err, &s) || !strings.Contains(err.Error(), "upgrade-running") || s.Action.Node() != c.before || !slices.Equal(s.Left, c.left)):
				t.Errorf("%v: %+v", err, s)
			}
			for _, n := range w.names {
				if slices.Contains(c.done, n) {
					w.machines[n].mended(t)
				} else {
					w.machines[n].original(t)
				}
			}
		})
	}
}

// TestSeveralNodesWithoutAnAPI goes on where the node itself is answered, and no further.
func TestSeveralNodesWithoutAnAPI(t *testing.T) {
	t.Parallel()
	base := newWorld(t, "worker-0", "worker-1")
	p := base.repair(t, "run-1")
	own := func(answer inspect.Answer) *inspect.Comeback {
		answer.Question, answer.Server = inspect.AskNode, "api-int:6443"
		return &inspect.Comeback{Own: inspect.ComebackFile{Path: kubeletFile, Answers: []inspect.Answer{answer}}}
	}
	for _, c := range []struct {
		name   string
		answer *inspect.Comeback
		err    error
		says   []string
		goesOn bool
	}{
		{"it is accepted", own(inspect.Answer{Code: 200}), nil, []string{"worker-0", "worker-1", "not known", "answers its kubelet's own credentials"}, true},
		{"it is refused", own(inspect.Answer{Code: 401, Reason: "Unauthorized"}), nil, []string{"worker-0", "401 Unauthorized"}, false},
		{"it can't be asked", nil, errFault, []string{errFault.Error()}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := base.clone(t)
			env := w.env(t, "run-1", nil)
			env.Heartbeat = nil
			env.Comeback = func(context.Context, nodeexec.Node) (*inspect.Comeback, error) { return c.answer, c.err }
			_, err := w.run(t.Context(), t, env, p)
			var s *Stopped
			if !errors.As(err, &s) || !isUnknown(err) || len(s.Others) > 0 || slices.Equal(s.Left, []string{"worker-1"}) == c.goesOn {
				t.Fatalf("%v: %+v", err, s)
			}
			for _, word := range c.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("does not say %q: %v", word, err)
				}
			}
			w.machines["worker-0"].mended(t)
			if c.goesOn {
				w.machines["worker-1"].mended(t)
			} else {
				w.machines["worker-1"].original(t)
			}
		})
	}
}

func TestWhatIsNotAccepted(t *testing.T) {
	t.Parallel()
	file := inspect.ComebackFile{Path: kubeletFile}
	unasked, refused, distrusted := file, file, file
	refused.Refused = "it is empty"
	unasked.Answers = []inspect.Answer{{Question: inspect.AskLease, Code: 200}}
	distrusted.Answers = []inspect.Answer{{Question: inspect.AskNode, Failure: inspect.FailedTrust, Detail: "the CA does not verify it"}}
	for want, c := range map[string]*inspect.Comeback{
		"neither curl nor openssl":  {Problem: "neither curl nor openssl"},
		"no credentials":            {Own: unasked},
		"it is empty":               {Own: refused},
		"the CA does not verify it": {Own: distrusted},
		"nobody asked":              nil,
	} {
		if err := accepted(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// A master that gets its files back is asked before the next one does.
func TestUndoOfMasters(t *testing.T) {
	t.Parallel()
	f, u := undone(t)
	f.node("worker-1")
	f.served(f.old.Issue(apiInt, testNow.Add(-time.Hour), testNow.Add(time.Hour), pkitest.DNS(apiInt)))
	f.first().Role = catalog.RoleMaster
	gates := func() (n int) {
		p, err := u.Plan("run-1", f.Snapshot, testNow)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range stepsOf(p) {
			if id == "await kube-apiserver on worker-0" {
				n++
			}
		}
		return n
	}
	if n := gates(); n != 0 {
		t.Errorf("the last one: %d", n)
	}
	u.Nodes = append(u.Nodes, Kept{Node: "worker-1"})
	if n := gates(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// TestUnlabelledMastersAreAskedAbout: what is asked of masters is asked of those, too, that only
// their files tell.
func TestUnlabelledMastersAreAskedAbout(t *testing.T) {
	t.Parallel()
	facts := inspect.Snapshot{Nodes: []inspect.Node{{Name: "bare", Via: "ssh", Role: catalog.RoleWorker}, {Name: "worker-0", Via: "ssh", Role: catalog.RoleWorker}}}
	at := pki.Location{Kind: pki.KindFile, Node: "bare", Path: "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/kubelet-client/tls.crt"}
	facts.Bundles = []inspect.Bundle{{At: at, Content: &pki.Content{}}}
	p := Preflight{Facts: facts, Machinery: &inspect.Machinery{Nodes: []inspect.NodeState{{Name: "bare"}, {Name: "worker-0"}}}, Nodes: []string{"bare", "worker-0"}}
	if masters, ok := p.masters(); !ok || len(masters) != 1 || masters[0] != "bare" {
		t.Errorf("masters: %v, %t", masters, ok)
	}
	for i, want := range []bool{true, false} {
		if got := RunsAPIServer(facts, &facts.Nodes[i]); got != want {
			t.Errorf("%s: %t", facts.Nodes[i].Name, got)
		}
	}
}
