//go:build linux

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestRestartSafe asks which kubelets would come back, through the incident: while
// all nodes are Ready. Then two kubelets are restarted, one of a node that was
// repaired, and what was said of them has to come true. The lost one is brought back by
// a script alone.
func TestRestartSafe(t *testing.T) {
	f := fixes(t)
	nodes := f.lab.Nodes()
	if len(nodes) < 3 {
		t.Fatalf("the lab has only %v", nodes)
	}
	repaired, lost := nodes[1], nodes[2]
	want := map[string]string{}
	for _, n := range nodes {
		want[n] = "yes"
	}
	for _, via := range []string{"ssh", "exec", "debug"} {
		f.comeBack(t, via, 0, want)
	}
	// A kubeconfig that is gone is made anew from the other file.
	mustDo(t, f.lab, "ssh", repaired, "sudo rm "+ownConfig)
	want[repaired] = "caution"
	if a := f.comeBack(t, "ssh", 1, want)[repaired]["own-kubeconfig"]; a.Status != "no" || a.Why != "there is no "+ownConfig {
		t.Errorf("its own kubeconfig is gone: %+v", a)
	}
	mustDo(t, f.lab, "ssh", repaired, "sudo systemctl restart kubelet")
	f.lab.WaitReady(t, repaired)
	want[repaired] = "yes"
	f.comeBack(t, "ssh", 0, want)

	// With another signer all is as it was, and will not be.
	f.lab.Incident(t, "signer")
	for _, n := range nodes {
		want[n] = "caution"
	}
	for n, answers := range f.comeBack(t, "ssh", 1, want) {
		if a := answers["trusts"]; a.Status != "caution" || !strings.Contains(a.Why, "not after ") || !strings.Contains(a.Why, ownConfig+" lacks the CA") {
			t.Errorf("%s, by what is signed next: %+v", n, a)
		}
	}

	f.lab.Incident(t, "leaf")
	for _, n := range nodes {
		if ready := f.ready(t, n); ready != "True" {
			t.Fatalf("%s: Ready is %s before anything was restarted", n, ready)
		}
		want[n] = "no"
	}
	f.comeBack(t, "ssh", 1, want)
	ends(t, f.inLab(t, "fix-api-int", "--nodes", repaired, "--via", "ssh", "--yes"), 0, "done, and checked")
	want[repaired] = "yes"
	f.comeBack(t, "ssh", 1, want)

	mustDo(t, f.lab, "ssh", repaired, "sudo systemctl restart kubelet")
	f.lab.Incident(t, "reconnect", lost)
	f.lab.WaitNotReady(t, lost)
	f.lab.WaitReady(t, repaired)
	f.comeBack(t, "ssh", 1, want)

	// A token that nobody knows is told, and is not needed.
	mustDo(t, f.lab, "ssh", repaired, "sudo sed -i 's/^\\( *token: \\).*/\\1abcdef.0123456789abcdef/' "+joinConfig)
	answers := f.comeBack(t, "ssh", 1, want)[repaired]
	if a := answers["bootstrap-token"]; a.Status != "caution" || !strings.Contains(a.Why, "401 Unauthorized") || !strings.Contains(a.Why, "only when there is no valid client certificate") {
		t.Errorf("a token that nobody knows: %+v", a)
	}

	f.byScript(t, lost)
}

// restartAnswer is one answer of verify restart-safe.
type restartAnswer struct{ ID, Status, Why string }

// comeBack asks which kubelets would come back, of all nodes, and returns all
// answers of each.
func (f *fixing) comeBack(t *testing.T, via string, code int, want map[string]string) map[string]map[string]restartAnswer {
	t.Helper()
	r := f.inLab(t, "verify", "restart-safe", "--nodes", "all", "--via", via, "-o", "json")
	ends(t, r, code)
	var report struct {
		Nodes []struct {
			Name      string
			ComesBack restartAnswer
			Answers   []restartAnswer
		}
		NewNode, Access restartAnswer
	}
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		t.Fatalf("%v:\n%s", err, r.stdout)
	}
	out := map[string]map[string]restartAnswer{}
	for _, n := range report.Nodes {
		out[n.Name] = map[string]restartAnswer{}
		for _, a := range n.Answers {
			out[n.Name][a.ID] = a
			if want[n.Name] == "yes" && a.Status != "yes" && a.ID != "bootstrap-token" {
				t.Errorf("via %s, %s: %+v", via, n.Name, a)
			}
		}
		if n.ComesBack.Status != want[n.Name] {
			t.Errorf("via %s, %s would come back: %+v, want %s", via, n.Name, n.ComesBack, want[n.Name])
		}
	}
	if len(report.Nodes) != len(want) || report.NewNode.Status != "yes" || code == 0 && report.Access.Status != "yes" {
		t.Errorf("via %s: %d nodes, a new one %+v, access %+v", via, len(report.Nodes), report.NewNode, report.Access)
	}
	return out
}
