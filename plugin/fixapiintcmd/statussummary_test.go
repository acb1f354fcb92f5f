package fixapiintcmd

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// statusSaid prints how far a repair is, for people.
func statusSaid(t *testing.T, d repairDocument) string {
	t.Helper()
	var out strings.Builder
	o := &statusOptions{lines: commandLines{details: "certrot fix-api-int status --details"}}
	o.App = cli.App{ProgramName: "certrot", Streams: genericiooptions.IOStreams{Out: &out}}
	if err := o.print(d); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestStatusFitsOnOneScreen: of 1, 10 and 300 nodes, whatever their names and reasons are.
func TestStatusFitsOnOneScreen(t *testing.T) {
	long := strings.Repeat("words of a long reason ", 20)
	states := []string{standsDone, standsPending, standsUnknown, standsFailed}
	for _, columns := range []int{40, 80, 200} {
		t.Setenv("COLUMNS", fmt.Sprint(columns))
		for _, nodes := range []int{1, 10, 300} {
			d := repairDocument{State: standsPending, Taken: time.Now(), Next: "certrot fix-api-int", PastMasters: "certrot fix-api-int --only workers --accept-risk=masters-first",
				Waves: []repairWave{{Name: remediate.WaveWorkers}}}
			for i := range nodes {
				d.Waves[0].Nodes = append(d.Waves[0].Nodes, repairNode{Name: fmt.Sprintf("node-%d-%s", i, strings.Repeat("a", 240)), State: states[i%4], Reason: long, brief: "no heartbeat 14m", Remediation: assess.Advise(long)})
			}
			said := statusSaid(t, d)
			lines := strings.Split(strings.TrimSuffix(said, "\n"), "\n")
			if len(lines) > ui.NewPage(io.Discard).ScreenLines() {
				t.Errorf("%d columns, %d nodes: %d lines\n%s", columns, nodes, len(lines), said)
			}
			for _, line := range lines {
				if ui.Width(line) > columns && !strings.Contains(line, "certrot fix-api-int") {
					t.Errorf("%d columns, %d nodes: a line has %d: %q", columns, nodes, ui.Width(line), line)
				}
			}
		}
	}
}

// TestStatusNamesTheMostUrgentFirst, each node once, and counts those that have no line.
func TestStatusNamesTheMostUrgentFirst(t *testing.T) {
	t.Setenv("COLUMNS", "100")
	d := repairDocument{State: standsFailed, Taken: time.Now(), Next: "m: kubectl describe node m", Waves: []repairWave{
		{Name: remediate.WaveMasters, Nodes: []repairNode{
			{Name: "right", State: standsDone}, {Name: "works", State: standsPending, brief: "Ready", due: "restart kubelet", Reason: "restart kubelet.service"},
			{Name: "unread", State: standsUnknown, Reason: "node-read: closed"},
		}},
		{Name: remediate.WaveWorkers, Nodes: []repairNode{{Name: "away", State: standsPending, brief: "no heartbeat 5h", due: "restart kubelet"}, {Name: "m", State: standsFailed, brief: "NotReady", Reason: "it is not Ready"}}},
		{Name: remediate.WaveNetwork, Nodes: []repairNode{{Name: "works", State: standsPending, brief: "Ready", due: "restart 2 pods"}, {Name: "right", State: standsDone}}},
		{Name: remediate.WaveRequests, Nodes: []repairNode{{State: standsDone}}},
	}}
	want := `
✗ failed   m       NotReady         it is not Ready
! pending  away    no heartbeat 5h  restart kubelet
! pending  works   Ready            restart kubelet, then restart 2 pods
? unknown  unread  -                node-read: closed
✓ done     2: right, the cluster

  next      m: kubectl describe node m
  details   certrot fix-api-int status --details
`
	if said := statusSaid(t, d); !strings.HasSuffix(said, want) || !strings.Contains(said, "nodes: 1 failed, 2 pending, 1 unknown, 1 done\n") {
		t.Errorf("got\n%s\nwant\n%s", said, want)
	}
	for i := range 100 {
		d.Waves[1].Nodes = append(d.Waves[1].Nodes, repairNode{Name: fmt.Sprintf("w-%d", i), State: standsPending})
	}
	said := statusSaid(t, d)
	if !strings.Contains(said, " more: w-") || !strings.Contains(said, "102 pending") || !strings.Contains(said, "? unknown  1 more: unread\n") {
		t.Errorf("got\n%s", said)
	}
}
