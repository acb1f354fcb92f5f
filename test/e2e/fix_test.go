//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// TestFixAPIInt is the incident from its beginning to its end: two nodes are NotReady
// in the API, and a third has not noticed yet. What is done to one node must not
// touch the others, so that after the first repair each goes its own way.
func TestFixAPIInt(t *testing.T) {
	f := fixes(t)
	nodes := f.lab.Nodes()
	if len(nodes) < 3 {
		t.Fatalf("the lab has only %v", nodes)
	}
	connected, first, second := nodes[0], nodes[1], nodes[2]
	before := map[string]standing{}
	restartKubelets(t, f.lab, nodes)
	f.wholeHolds(t)
	f.verifies(t, "pass", 0, nodes...)
	f.lab.Incident(t, "signer")
	f.verifies(t, "warn", 1, nodes...) // nothing is broken yet, nor has anything expired
	f.lab.Incident(t, "reconnect", first, second)
	f.verifies(t, "fail", 1, nodes...)
	f.heard(t, first, second)
	for _, n := range nodes {
		before[n] = f.stands(t, n)
	}
	f.stories(t, "the first repair", first, map[string][]step{
		first: {
			{"a dry run shows it and changes nothing", func(t *testing.T, f *fixing) { f.dryRun(t, first) }},
			{"who can't be asked has to say yes", func(t *testing.T, f *fixing) { f.noConsent(t, first) }},
			{"exec does not lead there, and says what does", func(t *testing.T, f *fixing) { f.lostToExec(t, first) }},
			{"it is repaired", func(t *testing.T, f *fixing) { f.repair(t, first, before[first]) }},
			{"the second time it is so already", func(t *testing.T, f *fixing) { f.again(t, first) }},
		},
		connected: { // changes nothing there
			{"another machine than the one that is meant", func(t *testing.T, f *fixing) { f.mistaken(t, connected, second) }},
			{"wrong CAs are refused", func(t *testing.T, f *fixing) { f.wrongCAs(t, connected) }},
			{"the administrator's own kubeconfig", func(t *testing.T, f *fixing) { f.ownKubeconfig(t, connected, second, before[second]) }},
		},
	})
	t.Run("nodes that were not named are as they were", func(t *testing.T) {
		for _, n := range []string{connected, second} {
			f.untouched(t, n, before[n])
		}
		if ready := f.ready(t, second); ready == "True" {
			t.Errorf("%s is Ready", second)
		}
		if ready := f.ready(t, connected); ready != "True" {
			t.Errorf("%s: Ready is %s", connected, ready)
		}
	})

	f.stories(t, "and back", first, map[string][]step{
		first: {
			{"undo wants the risk accepted", func(t *testing.T, f *fixing) { f.undoRefused(t, first) }},
			{"undone, it is as it was", func(t *testing.T, f *fixing) { f.undone(t, first, before[first]) }},
		},
	})
	// A kubelet that does not come up is waited for, for a minute. Who works on a node
	// itself, without an API, asks for no Lease.
	f.beside(t, "at once, on two nodes", first, map[string][]step{
		connected: {
			{"a kubelet that does not come up", func(t *testing.T, f *fixing) { f.brokenUnit(t, connected, before[connected]) }},
		},
		first: {
			{"the API has lost it again", func(t *testing.T, f *fixing) { f.lab.WaitNotReady(t, first) }},
			{"repaired on the node itself, without an API", func(t *testing.T, f *fixing) { f.repairWithoutAPI(t, first, before[first]) }},
			{"a reboot changes nothing", func(t *testing.T, f *fixing) { f.reboot(t, first) }},
		},
	})
	f.stories(t, "each goes its own way", first, map[string][]step{
		first: {
			{"interrupted and killed, again and again", func(t *testing.T, f *fixing) { f.killed(t, first, before[first]) }},
		},
		second: {
			{"what is passed around does not help; certrot on the node does", func(t *testing.T, f *fixing) { f.passedAround(t, second, before[second]) }},
			{"a file that changed at the question", func(t *testing.T, f *fixing) { f.changedAtTheQuestion(t, second) }},
			{"a disk that is full or read-only", func(t *testing.T, f *fixing) { f.badDisks(t, second) }},
			{"by exec", func(t *testing.T, f *fixing) { f.repairBy(t, second, "exec") }},
			{"by a debug pod", func(t *testing.T, f *fixing) { f.repairBy(t, second, "debug") }},
		},
		connected: {
			{"by another without the journal, and what is kept is removed", func(t *testing.T, f *fixing) { f.kept(t, connected) }},
		},
	})
}

// wholeHolds asks all that there is to ask, of a cluster in which all is well.
func (f *fixing) wholeHolds(t *testing.T) {
	t.Helper()
	r := f.inLab(t, "verify", "--nodes", "all", "--via", "ssh", "-o", "json")
	ends(t, r, 0)
	parts := map[string]bool{}
	for _, c := range claimsIn(t, r) {
		parts[c.Part] = true
		if c.Status != "pass" {
			t.Errorf("%s on %q: %s (%s)", c.ID, c.Node, c.Status, c.Reason)
		}
	}
	for _, part := range []string{"api-int", "control plane", "nodes", "access", "bundles"} {
		if !parts[part] {
			t.Errorf("nothing is said of %s", part)
		}
	}
}

// heard wants the log of the API server, which is on a master, to tell that these nodes
// refuse what api-int presents, and no others.
func (f *fixing) heard(t *testing.T, lost ...string) {
	t.Helper()
	var all claims
	eventually(t, "the log tells of all that refuse the API server", func() string {
		all = f.claims(t, 1, f.lab.Nodes()...)
		for _, n := range lost {
			if c := all[n+" apiserver-refused"]; c.Status != "fail" {
				return fmt.Sprintf("%s: %+v", n, c)
			}
		}
		return ""
	})
	for _, c := range all {
		if c.ID == "apiserver-refused" && !slices.Contains(lost, c.Node) {
			t.Errorf("%+v", c)
		}
	}
}

// stories run one after another: the Lease lets no run in beside the one at work.
// The journals of mine are needed further on; the others are of another user.
func (f *fixing) stories(t *testing.T, name, mine string, all map[string][]step) {
	f.tell(t, name, mine, all, func(*testing.T) {})
}

// beside are those that run at the same time: only one of them may take the Lease.
func (f *fixing) beside(t *testing.T, name, mine string, all map[string][]step) {
	f.tell(t, name, mine, all, (*testing.T).Parallel)
}

func (f *fixing) tell(t *testing.T, name, mine string, all map[string][]step, begin func(*testing.T)) {
	t.Run(name, func(t *testing.T) {
		for _, node := range slices.Sorted(maps.Keys(all)) {
			t.Run(node, func(t *testing.T) {
				begin(t)
				began := time.Now()
				who := f
				if node != mine {
					who = f.apart(t)
				}
				for _, s := range all[node] {
					t.Run(s.name, func(t *testing.T) { s.run(t, who) })
				}
				t.Logf("note: in %s", time.Since(began).Round(time.Second))
			})
		}
	})
}

type step struct {
	name string
	run  func(*testing.T, *fixing)
}

// fixDocument is what -o json prints of a plan, as far as it matters here.
type fixDocument struct {
	APIVersion, Kind, Command, Run, Version string
	Nodes                                   []struct {
		Name, Via, Ready string
		Steps            []struct {
			Action string
			Change bool
			File   *struct {
				Path, SHA256         string
				Added, Removed, Kept []struct{ SHA256, Subject string }
			}
		}
	}
	Solved []struct{ ID string }
	Served []struct{ Node, Address string }
}

func (f *fixing) dryRun(t *testing.T, node string) {
	before := f.stands(t, node)
	ca := f.newCA(t)
	dry := []string{"fix-api-int", "--nodes", node, "--via", "ssh", "--dry-run=client"}
	ends(t, f.inLab(t, append(dry, "--details")...), 1, "sha256 "+ca, "restart kubelet.service", joinConfig, ownConfig, "api-int.lab.test:6443")
	ends(t, f.inLab(t, dry...), 1, "\n"+node+"  ", "CA in 2 kubeconfigs, restart kubelet", "kube-apiserver-server-ca", "certrot fix-api-int --nodes "+node)

	r := f.inLab(t, append(dry, "-o", "diff")...)
	ends(t, r, 1, ca, "\n--- ", "\n+++ ", "\n@@ ")
	// Its own diff has three lines around what changes; this one all.
	t.Setenv("KUBECTL_EXTERNAL_DIFF", "diff -U 1000")
	ends(t, f.inLab(t, append(dry, "-o", "diff")...), 1, "token: xxxx", "\n@@ ")

	var fromJSON, fromYAML fixDocument
	r = f.inLab(t, append(dry, "-o", "json")...)
	ends(t, r, 1)
	if err := json.Unmarshal([]byte(r.stdout), &fromJSON); err != nil {
		t.Fatalf("%v:\n%s", err, r.stdout)
	}
	r = f.inLab(t, append(dry, "-o", "yaml")...)
	ends(t, r, 1)
	if err := yaml.Unmarshal([]byte(r.stdout), &fromYAML); err != nil {
		t.Fatalf("%v:\n%s", err, r.stdout)
	}
	for form, d := range map[string]fixDocument{"json": fromJSON, "yaml": fromYAML} {
		if d.APIVersion != "certrot/v1alpha2" || d.Kind != "Plan" || d.Command != "fix-api-int" || d.Run == "" || d.Version == "" {
			t.Errorf("%s: it is %q %q of %q, run %q, version %q", form, d.APIVersion, d.Kind, d.Command, d.Run, d.Version)
		}
		if len(d.Nodes) != 1 || d.Nodes[0].Name != node || d.Nodes[0].Via != "ssh" || d.Nodes[0].Ready != "Unknown" || len(d.Nodes[0].Steps) != 4 || len(d.Solved) == 0 || len(d.Served) == 0 {
			t.Fatalf("%s: %+v", form, d)
		}
		for i, path := range []string{joinConfig, ownConfig} {
			s := d.Nodes[0].Steps[i]
			if !s.Change || s.File == nil || s.File.Path != path || len(s.File.Added) == 0 || s.File.Added[0].SHA256 != ca || len(s.File.Removed) > 0 || len(s.File.Kept) == 0 {
				t.Errorf("%s: step %d is %+v", form, i+1, s)
			}
		}
	}
	f.untouched(t, node, before)
	if runs := f.journals(t); len(runs) > 0 {
		t.Errorf("there are journals of %v", runs)
	}
}

func (f *fixing) noConsent(t *testing.T, node string) {
	before := f.stands(t, node)
	ends(t, f.inLab(t, "fix-api-int", "--nodes", node, "--via", "ssh"), 5, "nothing was changed", "--yes")
	f.untouched(t, node, before)
	if runs := f.journals(t); len(runs) > 0 {
		t.Errorf("there are journals of %v", runs)
	}
}

func (f *fixing) lostToExec(t *testing.T, node string) {
	before := f.stands(t, node)
	ends(t, f.inLab(t, "fix-api-int", "--nodes", node, "--via", "exec", "--yes"), 5, "refuses exec", "ssh does not need it")
	f.untouched(t, node, before)
}

func (f *fixing) repair(t *testing.T, node string, before standing) {
	r := f.inLab(t, "fix-api-int", "--nodes", node, "--via", "ssh", "--yes")
	ends(t, r, 0, "done, and checked", "undo "+runOf(t, r))
	f.reports(t, node)
	after := f.mended(t, node, before)
	if want := before.runs + runOf(t, r) + " "; after.runs != want {
		t.Errorf("it keeps the runs %q, want %q", after.runs, want)
	}
	letsIn(t, f.lab, node)
	if runs := f.journals(t); len(runs) != 1 || runs[0] != runOf(t, r) {
		t.Errorf("there are journals of %v", runs)
	}
	r = f.inLab(t, "runs", "--from-nodes", "--nodes", node, "--via", "ssh", "-o", "name")
	ends(t, r, 0, f.journals(t)[0])
	ends(t, f.inLab(t, "runs"), 0, f.journals(t)[0], "finished", node)
}

func (f *fixing) again(t *testing.T, node string) {
	before, journals := f.stands(t, node), f.journals(t)
	ends(t, f.inLab(t, "fix-api-int", "--nodes", node, "--via", "ssh", "--yes"), 0, "already up to date")
	ends(t, f.inLab(t, "fix-api-int", "--nodes", node, "--via", "ssh", "--dry-run=client"), 0, "already up to date")
	f.untouched(t, node, before)
	if runs := f.journals(t); len(runs) != len(journals) {
		t.Errorf("there are journals of %v, and were of %v", runs, journals)
	}
	f.verifies(t, "pass", 0, node)
}

// verifies asks who trusts api-int, from these nodes: what their kubeconfigs come to
// is wanted, and all others trust it at all times.
func (f *fixing) verifies(t *testing.T, want string, code int, nodes ...string) {
	t.Helper()
	r := f.inLab(t, "verify", "api-int", "--nodes", strings.Join(nodes, ","), "--via", "ssh", "-o", "json")
	ends(t, r, code)
	var report struct {
		Claims []struct {
			ID, Node, Status, Reason string
			From                     time.Time
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		t.Fatalf("%v:\n%s", err, r.stdout)
	}
	seen := map[string]int{}
	for _, c := range report.Claims {
		status, about := "pass", c.Node != "" && !strings.Contains(c.ID, "-show") // what servers present is right at all times
		if about {
			status = want
			seen[c.Node+" "+c.ID]++
		}
		if c.Status != status {
			t.Errorf("%s on %q: %s (%s), want %s", c.ID, c.Node, c.Status, c.Reason, status)
		}
		// The leaf was made with the lab, today: it is due after fifteen days.
		if days := time.Until(c.From).Hours() / 24; want == "warn" && about && (days < 13 || days > 15) {
			t.Errorf("%s on %s: breaks at the earliest in %.1f days", c.ID, c.Node, days)
		}
	}
	for _, n := range nodes {
		if seen[n+" kubelet-api-int"] != 1 || seen[n+" kubelet-bootstrap-api-int"] != 1 {
			t.Errorf("claims of %s: %v", n, seen)
		}
	}
}

func (f *fixing) undoRefused(t *testing.T, node string) {
	before, run := f.stands(t, node), f.journals(t)[0]
	ends(t, f.inLab(t, "undo", run, "--via", "ssh", "--yes"), 5, "breaks-trust", "nothing was changed", "--accept-risk=breaks-trust")
	f.untouched(t, node, before)
	ends(t, f.inLab(t, "undo", run, "--via", "ssh", "--accept-risk=breaks-trust"), 5, "--yes")
	f.untouched(t, node, before)
}

func (f *fixing) undone(t *testing.T, node string, before standing) {
	was, run := f.stands(t, node), f.journals(t)[0]
	r := f.inLab(t, "undo", run, "--via", "ssh", "--accept-risk=breaks-trust", "--yes")
	ends(t, r, 0)
	after := f.stands(t, node)
	sameFiles(t, before, after)
	if after.pid == was.pid {
		t.Error("the kubelet was not restarted")
	}
}
