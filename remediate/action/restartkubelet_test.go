package action

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestAKubeletIsRestartedForAFileThatWasPutBack: cp -p and tar keep the time at which it was modified.
func TestAKubeletIsRestartedForAFileThatWasPutBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ago time.Duration
		due bool // in a run that wrote it
	}{"since it started": {time.Minute, true}, "before": {25 * time.Hour, false}, "not told": {0, false}} {
		f := remediatetest.NewFixture("master-0")
		f.Embed("master-0", remediatetest.KubeletFile, f.ConfigMap)
		n := f.FirstNode()
		n.Kubelet.Active, n.Kubelet.Sub = "active", "running"
		n.Kubelet.Started = remediatetest.TestNow.Add(-24 * time.Hour)
		n.Kubelet.Notified = n.Kubelet.Started
		for i := range n.Files {
			n.Files[i].Modified = remediatetest.TestNow.Add(-48 * time.Hour)
			if c.ago > 0 {
				n.Files[i].Changed = remediatetest.TestNow.Add(-c.ago)
			}
		}
		for _, files := range [][]string{nil, {remediatetest.KubeletFile}} {
			restart := NewRestartKubelet("master-0", files...)
			restart.Restores = files == nil
			change, err := restart.Diff(f.Snapshot, remediatetest.TestNow)
			if err != nil || (change != nil) != c.due {
				t.Errorf("%s, of %q: %+v, %v", name, files, change, err)
			}
		}
		// A new mode or label has the same time.
		if change, err := NewRestartKubelet("master-0").Diff(f.Snapshot, remediatetest.TestNow); err != nil || change != nil {
			t.Errorf("%s, of no run: %+v, %v", name, change, err)
		}
	}
}

// TestAKubeletThatMayNotHaveReadItsFile: after a restart, a new mode is not said to be a change of the content.
func TestAKubeletThatMayNotHaveReadItsFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		modified, changed time.Duration // after the kubelet had read it
		want              string
	}{
		"as it was":                {-time.Hour, -time.Hour, ""},
		"written again":            {time.Minute, time.Minute, "has not read /var/lib/kubelet/kubeconfig since it was changed: it changed again"},
		"with a new mode or label": {-time.Hour, time.Minute, "whether the kubelet on master-0 has read /var/lib/kubelet/kubeconfig is unknown: its mode, owner, label or content changed later"},
	} {
		f := remediatetest.NewFixture("master-0")
		n := f.FirstNode()
		n.Kubelet.Started = remediatetest.TestNow.Add(-24 * time.Hour)
		n.Kubelet.Notified = n.Kubelet.Started
		file := n.File(remediatetest.KubeletFile)
		file.Modified, file.Changed = n.Kubelet.Started.Add(c.modified), n.Kubelet.Started.Add(c.changed)
		if err := readAtStart(n); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
