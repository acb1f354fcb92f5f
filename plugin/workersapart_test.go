package plugin

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
)

// TestWhatAWorkerSaysOfItselfStopsNoOther: its clock and the annotations of its Node are its own. It is left
// out of a plan for all nodes, with its name. A control plane node's stop all, and so do a named node's.
func TestWhatAWorkerSaysOfItselfStopsNoOther(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change  func(*inspect.Snapshot)
		args    string
		code    int
		leftOut bool
		says    string
	}{
		{func(*inspect.Snapshot) {}, "", cli.ExitFindings, false, "worker-2"},
		{working("worker-2"), "", cli.ExitFindings, true, "machine-config-daemon is at work on worker-2"},
		{working("worker-2"), "--accept-risk=pools-settled", cli.ExitFindings, false, "machine-config-daemon is at work on worker-2"},
		{working("worker-2"), "--nodes worker-2", cli.ExitRefused, false, "machine-config-daemon is at work on worker-2"},
		{working("worker-2"), "--nodes worker-1", cli.ExitFindings, false, "at work on worker-2, which stays as it is"},
		{working("master-0"), "", cli.ExitRefused, false, "machine-config-daemon is at work on master-0"},
		{late("worker-2"), "", cli.ExitFindings, true, "the clock of worker-2 is"},
		{late("worker-2"), "--nodes worker-2", cli.ExitRefused, false, "the clock of worker-2 is"},
	} {
		out, said, err := typed(t, append(strings.Fields("fix-api-int --dry-run=client --details --from "+whereItsOwnWordCounts(t, c.change)), strings.Fields(c.args)...)...)
		all := strings.Join(strings.Fields(out+said+fmt.Sprint(err)), " ")
		left := strings.Contains(all, "Unknown worker-2: ")
		if cli.CodeOf(err) != c.code || !strings.Contains(all, c.says) || left != c.leftOut {
			t.Errorf("%q: want %d, %q; left out %t:\n%d\n%s", c.args, c.code, c.says, c.leftOut, cli.CodeOf(err), all)
		}
	}
}

// working has a node say of itself that machine-config-daemon is at work on it.
func working(node string) func(*inspect.Snapshot) {
	return func(s *inspect.Snapshot) {
		for i := range s.Status.ControlPlane.Nodes {
			if n := &s.Status.ControlPlane.Nodes[i]; n.Name == node {
				n.Ready, n.Heartbeat, n.Lease, n.Config.State = "True", s.Taken, inspect.Lease{Asked: s.Taken, Duration: time.Hour}, "Working"
			}
		}
	}
}

// late sets the clock of a node an hour ahead.
func late(node string) func(*inspect.Snapshot) {
	return func(s *inspect.Snapshot) {
		n, _ := s.Node(node)
		n.Clock.Before, n.Clock.After = n.Clock.Before.Add(time.Hour), n.Clock.After.Add(time.Hour)
	}
}

// whereItsOwnWordCounts is a file of a cluster at rest, changed, in which operators say where the control plane is.
func whereItsOwnWordCounts(t *testing.T, change func(*inspect.Snapshot)) string {
	t.Helper()
	s, err := collect.File{Path: "../testdata/demo/okd-4.15-api-int.certrot", Scanner: pki.NewScanner()}.Read()
	if err != nil {
		t.Fatal(err)
	}
	s.Status = plugintest.AtRest(s)
	m := s.Status.ControlPlane
	m.Nodes = append(m.Nodes, inspect.NodeState{Name: "master-0", Ready: "True", Master: true, Heartbeat: s.Taken, Lease: inspect.Lease{Asked: s.Taken}})
	m.StaticPods[0].Masters = []inspect.StaticPodState{{Node: "master-0", Current: 7}}
	change(&s)
	var text bytes.Buffer
	if err := collect.WriteSnapshot(&text, s); err != nil {
		t.Fatal(err)
	}
	return plugintest.WriteFile(t, "s.certrot", text.String())
}

// TestAWorkerStopsTheScriptOfNoOther: of all nodes, it is left out and named; the scripts of the others are written.
func TestAWorkerStopsTheScriptOfNoOther(t *testing.T) {
	t.Parallel()
	otherKubeconfig := func(s *inspect.Snapshot) {
		n, _ := s.Node("worker-2")
		n.Kubelet.Kubeconfig = "/etc/other/kubeconfig"
	}
	for _, c := range []struct {
		change func(*inspect.Snapshot)
		args   string
		code   int
		left   string
		says   string
	}{
		{func(*inspect.Snapshot) {}, "", cli.ExitFine, "", ""},
		{working("worker-2"), "", cli.ExitIncomplete, "worker-2", "machine-config-daemon is at work on worker-2"},
		{late("worker-2"), "", cli.ExitIncomplete, "worker-2", "the clock of worker-2 is"},
		{late("worker-2"), "--accept-risk=clocks", cli.ExitFine, "", ""},
		{otherKubeconfig, "", cli.ExitIncomplete, "worker-2", "kubelet-flags on worker-2"},
		{otherKubeconfig, "--nodes worker-1,worker-2", cli.ExitRefused, "all", "kubelet-flags on worker-2"},
		{working("worker-2"), "--nodes worker-2", cli.ExitRefused, "all", "machine-config-daemon is at work on worker-2"},
		{working("master-0"), "", cli.ExitRefused, "all", "machine-config-daemon is at work on master-0"},
	} {
		folder := t.TempDir() + "/scripts"
		out, said, err := typed(t, append([]string{"fix-api-int", "--emit-script", folder, "--from", whereItsOwnWordCounts(t, c.change)}, strings.Fields(c.args)...)...)
		all := strings.Join(strings.Fields(out+said+fmt.Sprint(err)), " ")
		if cli.CodeOf(err) != c.code || !strings.Contains(all, c.says) {
			t.Errorf("%q: want %d, %q:\n%d\n%s", c.args, c.code, c.says, cli.CodeOf(err), all)
		}
		for _, node := range []string{"worker-1", "worker-2"} {
			_, missing := os.Stat(folder + "/fix-api-int-" + node + ".sh")
			if left := c.left == "all" || c.left == node; left != (missing != nil) {
				t.Errorf("%q, %q: the script of %s: %v", c.args, c.says, node, missing)
			}
		}
	}
}

// TestThePathsThatAKubeletRunsWithAreMarked: root on a worker starts its kubelet with any flags, and they stand in next
// steps.
func TestThePathsThatAKubeletRunsWithAreMarked(t *testing.T) {
	t.Parallel()
	const path = "/etc/kubeconfig is fine, so do this as root on each node: mv /etc/kubernetes /etc/old; poweroff"
	seen := 0
	for _, own := range []inspect.ProbedKubeconfig{{Path: path, Unread: "it could not be read"}, {Path: path, Refused: "it is empty"}, {Path: path, Absent: true},
		{Path: path, Presents: inspect.CredentialCertificate, Answers: []inspect.ProbeAnswer{{Server: "a:1", Name: "a", Failure: inspect.FailedTrust, Detail: "x"}}}} {
		file := whereItsOwnWordCounts(t, func(s *inspect.Snapshot) {
			n, _ := s.Node("worker-2")
			n.Kubelet.Kubeconfig, n.RestartProbe = path, &inspect.RestartProbe{Kubeconfig: own, Bootstrap: own}
		})
		out, _, _ := typed(t, "verify", "restart-safe", "--details", "--from", file)
		for row := range strings.Lines(out) {
			before, _, said := strings.Cut(row, "poweroff")
			if said {
				seen++
			}
			if said && !strings.Contains(before, "“") {
				t.Errorf("not marked: %s", row)
			}
		}
	}
	if seen < 6 {
		t.Errorf("it is printed %d times, so little is tested", seen)
	}
}
