package undo

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// asks gives a node a request of its kubelet's that is pending.
func asks(f *remediatetest.Fixture, node string) {
	f.Requests = append(f.Requests, inspect.SigningRequest{
		Object: &inspect.Object{Kind: "CertificateSigningRequest", Name: "csr-" + node}, Signer: catalog.KubeletServingSigner, Requester: "system:node:" + node, Condition: inspect.Pending,
	})
}

// isPresented has another certificate presented to a node than to others, of a CA that only mallory has.
func isPresented(f *remediatetest.Fixture, node string) {
	leaf := pkitest.NewCA("mallory", remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour)).
		Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost))
	for i := range f.Served {
		if f.Served[i].Node == node {
			f.Served[i].Chain = f.Sc.Scan(leaf.CertPEM)[0].Content.Certs
		}
	}
}

// TestOneWorkerStopsNoUndo: what root on a worker writes, is presented, or asks for leaves this worker out, with why and
// the line that takes it again. The others get their files back, and are waited for. A control plane node, and a node of
// which the role is unknown, stop all.
func TestOneWorkerStopsNoUndo(t *testing.T) {
	t.Parallel()
	const line = "kubectl certrot undo run-1 --via ssh"
	unreadable := errors.New("what root wrote there")
	for name, c := range map[string]struct {
		change            func(f *remediatetest.Fixture, u *Undo, node string)
		check, says, next string
	}{
		"a request is pending": {func(f *remediatetest.Fixture, _ *Undo, node string) { asks(f, node) }, csr.RequestsPending, "csr-NODE", "then: " + line + " --nodes NODE"},
		"another certificate":  {func(f *remediatetest.Fixture, _ *Undo, node string) { isPresented(f, node) }, remediate.BreaksTrust, "does not trust", line + " --nodes NODE --accept-risk=" + remediate.BreaksTrust},
		"no handshake": {func(f *remediatetest.Fixture, _ *Undo, node string) {
			f.Served = slices.DeleteFunc(f.Served, func(v inspect.Served) bool { return v.Node == node })
		}, remediate.BreaksTrust, "no handshake", line + " --nodes NODE --accept-risk=" + remediate.BreaksTrust},
		"it was not read": {func(f *remediatetest.Fixture, _ *Undo, node string) { f.Unread(node) }, "node-read", "port 22 is closed", "then: " + line + " --nodes NODE"},
		"another machine answered": {func(f *remediatetest.Fixture, _ *Undo, node string) {
			n, _ := f.Snapshot.Node(node)
			n.Hostname = "mallory"
		}, "node-identity", "mallory", "then: " + line + " --nodes NODE"},
		"its file changed since": {func(f *remediatetest.Fixture, _ *Undo, node string) {
			n, _ := f.Snapshot.Node(node)
			n.File(remediatetest.KubeletFile).SHA256[0]++
		}, remediate.ChangedSince, remediatetest.KubeletFile, "then: " + line + " --nodes NODE"},
		"what it keeps could not be read": {func(_ *remediatetest.Fixture, u *Undo, node string) { keepsUnread(u, node, unreadable) }, "backup-read", "what root wrote there", "then: " + line + " --nodes NODE"},
	} {
		for role, leftOut := range map[string]bool{catalog.RoleWorker: true, catalog.RoleMaster: false, catalog.RoleArbiter: false, "": false} {
			f, u := undoing("worker-0 worker-1 worker-2")
			u.Line = line
			c.change(f, &u, "worker-1")
			n, _ := f.Snapshot.Node("worker-1")
			n.Role = role
			p, err := u.Plan("run-1", f.Snapshot, remediatetest.TestNow)
			if !leftOut {
				if err == nil {
					t.Errorf("%s, role %q: steps %q", name, role, remediatetest.StepsOf(p))
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			want := slices.Concat(stepsOn("worker-0"), stepsOn("worker-2"))
			if got := remediatetest.StepsOf(p); !slices.Equal(got, want) {
				t.Errorf("%s: steps %q", name, got)
			}
			if len(p.Unknown) != 1 || p.Unknown[0].Node != "worker-1" || p.Unknown[0].Name != c.check || !strings.Contains(p.Unknown[0].Reason, strings.ReplaceAll(c.says, "NODE", "worker-1")) ||
				!strings.HasSuffix(p.Unknown[0].Next, strings.ReplaceAll(c.next, "NODE", "worker-1")) {
				t.Errorf("%s: left out %+v", name, p.Unknown)
			}
		}
		// Where nothing else is to be done, it is as it is of one node.
		f, u := undoing("worker-0")
		u.Line = line
		c.change(f, &u, "worker-0")
		if p, err := u.Plan("run-1", f.Snapshot, remediatetest.TestNow); err == nil || errors.Is(err, unreadable) != (c.check == "backup-read") {
			t.Errorf("%s: alone: %+v, %v", name, p, err)
		}
	}
}

func keepsUnread(u *Undo, node string, why error) {
	for i := range u.Nodes {
		if k := &u.Nodes[i]; k.Node == node {
			k.Backups, k.Unread = nil, &remediate.Refusal{Name: "backup-read", Node: node, Reason: why.Error(), Next: "look at it", Cause: why}
		}
	}
}

// stepsOn are those of a node that is undone.
func stepsOn(node string) []string {
	return []string{"restore " + node + ":" + remediatetest.KubeletFile, "restore " + node + ":" + remediatetest.BootstrapFile, "restart " + node + ":kubelet.service", "await " + node}
}

// TestWorkersOfWhichNoneIsTrusted: an undo that would break trust everywhere is refused, and leaves none out.
func TestWorkersOfWhichNoneIsTrusted(t *testing.T) {
	t.Parallel()
	f, u := undoing("worker-0 worker-1")
	isPresented(f, "worker-0")
	isPresented(f, "worker-1")
	var r *remediate.Refusal
	if _, err := u.Plan("run-1", f.Snapshot, remediatetest.TestNow); !errors.As(err, &r) || r.Name != remediate.BreaksTrust || !r.Risk || !strings.HasSuffix(r.Next, ": --accept-risk="+remediate.BreaksTrust) {
		t.Errorf("%v", err)
	}
}

// TestAnAcceptedRiskIsOfTheNodesThatHaveIt: no other one's steps do without what is asked of them.
func TestAnAcceptedRiskIsOfTheNodesThatHaveIt(t *testing.T) {
	t.Parallel()
	for _, nodes := range []string{"worker-0 worker-1 worker-2", "master-0 master-1 master-2"} {
		f, u := undoing(nodes)
		names := strings.Fields(nodes)
		isPresented(f, names[1])
		u.AcceptBreaksTrust = true
		p, err := u.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range p.Nodes() {
			blind := n.Name == names[1]
			if waits := slices.ContainsFunc(n.Due(), func(s remediate.Step) bool { return remediate.AwaitsNode(s.Action) }); waits == blind {
				t.Errorf("%s: is waited for: %t: %q", n.Name, waits, remediatetest.StepsOf(p))
			}
			for i, s := range n.Due() {
				switch a := s.Action.(type) {
				case action.RestoreFile:
					if a.AcceptUntrusted != blind || a.RecheckRequests != (!blind && i == 0) {
						t.Errorf("%s: %+v", n.Name, a)
					}
				case action.RestartKubelet:
					if a.AcceptUntrusted != blind {
						t.Errorf("%s: %+v", n.Name, a)
					}
				}
			}
		}
		notes := strings.Join(p.Notes.Texts(), "\n")
		if strings.Count(notes, "Accepted by name: "+remediate.BreaksTrust) != 1 || !strings.Contains(notes, "Node "+names[1]+" will be NotReady") || strings.Contains(notes, "Node "+names[0]) || len(p.Unknown) > 0 {
			t.Errorf("notes %q, left out %v", notes, p.Unknown)
		}
	}
}

// TestAnAcceptedRequestIsOfItsNode: others are asked once more before they are begun.
func TestAnAcceptedRequestIsOfItsNode(t *testing.T) {
	t.Parallel()
	f, u := undoing("worker-0 worker-1")
	asks(f, "worker-1")
	u.AcceptRequestsPending = true
	p, err := u.Plan("run-1", f.Snapshot, remediatetest.TestNow)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range p.Nodes() {
		first, ok := n.Due()[0].Action.(action.RestoreFile)
		if asked := n.Name != "worker-1"; !ok || first.RecheckRequests != asked {
			t.Errorf("%s: %+v", n.Name, n.Due()[0].Action)
		}
	}
}

// TestAControlPlaneNodeIsAwaitedThoughWorkersAreLeftOut: it is followed by the next one that is undone.
func TestAControlPlaneNodeIsAwaitedThoughWorkersAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		out  []string
		gate bool // others come after it
	}{{nil, true}, {[]string{"worker-1"}, true}, {[]string{"worker-0", "worker-1"}, false}} {
		f, u := undoing("master-0 worker-0 worker-1")
		for _, name := range c.out {
			asks(f, name)
		}
		p, err := u.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(remediatetest.StepsOf(p), "await kube-apiserver on master-0"); got != c.gate || len(p.Unknown) != len(c.out) {
			t.Errorf("without %q: %q, left out %v", c.out, remediatetest.StepsOf(p), p.Unknown)
		}
	}
}
