package plugin_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// rowsAt is how many lines of a terminal a text takes.
func rowsAt(text string, columns int) int {
	rows := 0
	for line := range strings.Lines(text) {
		rows += max(1, (len([]rune(strings.TrimSuffix(line, "\n")))+columns-1)/columns)
	}
	return rows
}

// manyNodes is the demo's cluster with 300 nodes more, that are as worker-1 is, with names as long as
// Kubernetes allows. No node is Ready, each pool is paused and degraded, and each operator fails.
func manyNodes(t *testing.T) string {
	t.Helper()
	return edited(t, func(s *inspect.Snapshot) {
		from := slices.IndexFunc(s.Nodes, func(n inspect.Node) bool { return n.Name == "worker-1" })
		status := &inspect.ClusterStatus{Read: s.Taken, Network: &inspect.NetworkRead{}, ControlPlane: &inspect.ControlPlaneStatus{
			Update:     inspect.Update{Progressing: "True", Desired: "4.16.0"},
			StaticPods: []inspect.StaticPods{{Resource: "kubeapiservers", Latest: 8, Masters: []inspect.StaticPodState{{Node: "worker-1", Current: 7, Target: 8}}}},
		}}
		own := slices.Clone(s.Bundles)
		for i := range 300 {
			name := fmt.Sprintf("n%03d-%s", i, strings.Repeat(strings.Repeat("x", 61)+".", 4)[:248])
			n := s.Nodes[from]
			n.Name = name
			s.Nodes = append(s.Nodes, n)
			for _, b := range own {
				if b.At.Node == "worker-1" {
					b.At.Node = name
					s.Bundles = append(s.Bundles, b)
				}
			}
			status.ControlPlane.Nodes = append(status.ControlPlane.Nodes, inspect.NodeState{Name: name, Ready: "False", Master: i < 3})
			status.ControlPlane.Pools = append(status.ControlPlane.Pools, inspect.Pool{Name: "pool-" + name[:100], Machines: 1, Paused: true, Updating: "True", Degraded: "True", Current: "a", Desired: "b"})
			status.ControlPlane.Operators = append(status.ControlPlane.Operators, inspect.OperatorState{Name: "operator-" + name[:60], Available: "False", Progressing: "True", Degraded: "True"})
		}
		s.Status = status
	})
}

// TestRotateAnswersOnOneScreen: a plan or a refusal, and a status, are 24 lines of 80 columns at most,
// whatever fails. The diff of a plan, and its next step, are whole.
func TestRotateAnswersOnOneScreen(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	const rows, columns = 24, 80
	all := "operators-settled,upgrade-running,static-pods-settled,pools-ready,nodes-ready,reaches-verifiers,signer-trusted,chain-settled,annotations-agree,leaf-young"
	for title, file := range map[string]string{"demo": demo, "300 nodes that fail": manyNodes(t)} {
		if testing.Short() && title != "demo" {
			continue
		}
		_, out, errOut := certrot("rotate", "--list", "--from", file, "-o", "json")
		var list struct {
			Rotations []struct{ Secret, Role, Rotates string }
		}
		if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Rotations) < 20 {
			t.Fatalf("%s: %v: %s", title, err, errOut)
		}
		planned := 0
		for i, r := range list.Rotations {
			if title != "demo" && i%12 != 0 && os.Getenv("CERTROT_EVERY_STEP") != "1" { // each takes a second; the demo has them all
				continue
			}
			lines := [][]string{{r.Secret, "--dry-run=client"}, {"status", r.Secret}, {r.Secret, "--dry-run=client", "--accept-risk=" + all}, {"prune", r.Secret, "--dry-run=client", "--accept-risk=signer-trusted,all-read"}}
			if r.Role == "signer" {
				lines = append(lines, []string{r.Secret, "--leaf", "--dry-run=client", "--accept-risk=" + all})
			}
			for i, args := range lines {
				code, out, errOut := certrot(append(append([]string{"rotate"}, args...), "--from", file)...)
				if n := rowsAt(out, columns) + rowsAt(errOut, columns); n > rows && i != 3 { // each CA that is removed is named
					t.Errorf("%s: rotate %s: %d lines:\n%s%s", title, strings.Join(args, " "), n, out, errOut)
				}
				if i == 1 || i == 3 || code != 1 {
					continue
				}
				planned++
				if !strings.Contains(out, "remove annotation "+catalog.AnnotationNotAfter+"\n") || !strings.Contains(out, " --dry-run=server\n") {
					t.Errorf("%s: rotate %s: without the diff, or the next step:\n%s", title, strings.Join(args, " "), out)
				}
			}
		}
		if least := map[string]int{"demo": 5}[title]; planned < max(least, 3) {
			t.Errorf("%s: %d plans", title, planned)
		}
	}
}

// TestRotateScreenNamesAndCounts: what a screen leaves out is counted, and stands in --details.
func TestRotateScreenNamesAndCounts(t *testing.T) {
	if testing.Short() {
		t.Skip("300 nodes, which -short leaves out")
	}
	t.Setenv("COLUMNS", "80")
	file := manyNodes(t)
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"status", "loadbalancer-serving-signer"}, []string{"✗ trust       1510 of 1517 clients do not trust it:\n              kubelet on ", " +", "\nnext      kubectl certrot fix-api-int --dry-run=client --from "}},
		{[]string{"aggregator-client-signer", "--dry-run=client", "--accept-risk=operators-settled,upgrade-running,static-pods-settled,pools-ready,nodes-ready"}, []string{"! accepted: operators-settled, upgrade-running, ", "! blocked   Node/n000-"}},
		{[]string{"--list"}, []string{"Nothing can be rotated now: operators are not well or not at rest\n(operators-settled)\n", "  upgrade running +3\n", "\n  next      kubectl certrot rotate NAME --dry-run=client --from "}},
	} {
		_, few, _ := certrot(append([]string{"rotate", "--from", file}, c.args...)...)
		_, whole, _ := certrot(append([]string{"rotate", "--from", file, "--details"}, c.args...)...)
		for _, want := range c.says {
			if !strings.Contains(few, want) {
				t.Errorf("%v: no %q:\n%s", c.args, want, few)
			}
		}
		if len(whole) <= len(few) {
			t.Errorf("%v: --details says less:\n%s", c.args, whole)
		}
	}
}
