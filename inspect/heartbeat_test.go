package inspect

import (
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// TestANodeIsAliveByItsLease: Ready=True is left over from before a power-off; only a Lease
// that is renewed tells that a node is alive.
func TestANodeIsAliveByItsLease(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	kubelets := 40 * time.Second
	for _, c := range []struct {
		title   string
		ready   string
		renewed time.Time
		lease   Lease
		ahead   time.Duration
		alive   catalog.Tristate
		works   catalog.Tristate
		says    string
	}{
		{"a healthy node", "True", now.Add(-9 * time.Second), Lease{Duration: kubelets, Asked: now}, 0, catalog.Yes, catalog.Yes, ""},
		{"the last second", "True", now.Add(-50 * time.Second), Lease{Duration: kubelets, Asked: now}, 0, catalog.Yes, catalog.Yes, ""},
		{"after a power-off", "True", now.Add(-14 * time.Minute), Lease{Duration: kubelets, Asked: now}, 0, catalog.No, catalog.No, "no heartbeat for 14m (Lease)"},
		{"a month later", "True", now.AddDate(0, -1, 0), Lease{Duration: kubelets, Asked: now}, 0, catalog.No, catalog.No, "no heartbeat for 28d (Lease)"},
		{"stale, and seen to advance", "True", now.Add(-14 * time.Minute), Lease{Duration: kubelets, Asked: now, Advanced: true}, 0, catalog.Yes, catalog.Yes, ""},
		{"a node whose clock is known to be behind", "True", now.Add(-14 * time.Minute), Lease{Duration: kubelets, Asked: now}, -14 * time.Minute, catalog.Yes, catalog.Yes, ""},
		{"a node whose clock is known to be ahead died", "True", now.Add(time.Minute), Lease{Duration: kubelets, Asked: now}, 6 * time.Minute, catalog.No, catalog.No, "no heartbeat for 5m (Lease)"},
		{"a renewal in the future", "True", now.Add(time.Hour), Lease{Duration: kubelets, Asked: now}, 0, catalog.Unknown, catalog.Unknown, "heartbeat of unknown age: the Lease is 60m ahead of the API server's time; Ready is True, which alone proves nothing"},
		{"a kubelet that renews every 5 minutes", "True", now.Add(-4 * time.Minute), Lease{Duration: 20 * time.Minute, Asked: now}, 0, catalog.Yes, catalog.Yes, ""},
		{"no Lease", "True", time.Time{}, Lease{Absent: true, Asked: now}, 0, catalog.No, catalog.No, "no heartbeat (there is no Lease)"},
		{"a Lease that was never renewed", "True", time.Time{}, Lease{Asked: now}, 0, catalog.No, catalog.No, "no heartbeat (the Lease was never renewed)"},
		{"a Lease that may not be read", "True", time.Time{}, Lease{Unread: "forbidden"}, 0, catalog.Unknown, catalog.Unknown, "heartbeat not read: forbidden; Ready is True, which alone proves nothing"},
		{"an old snapshot", "True", time.Time{}, Lease{}, 0, catalog.Unknown, catalog.Unknown, "heartbeat not read; Ready is True, which alone proves nothing"},
		{"a reading of unknown time", "True", now, Lease{}, 0, catalog.Unknown, catalog.Unknown, "heartbeat of unknown age: when the Lease was read is unknown; Ready is True, which alone proves nothing"},
		{"alive, and not Ready", "False", now, Lease{Duration: kubelets, Asked: now}, 0, catalog.Yes, catalog.No, "NotReady (Ready is False)"},
		{"away, as the API server says too", "Unknown", now.Add(-3 * time.Hour), Lease{Duration: kubelets, Asked: now}, 0, catalog.No, catalog.No, "no heartbeat for 3h (Lease), Ready is Unknown"},
		{"an old snapshot of one that is away", "Unknown", time.Time{}, Lease{}, 0, catalog.Unknown, catalog.No, "NotReady (Ready is Unknown)"},
		{"nothing was asked", "", time.Time{}, Lease{}, 0, catalog.Unknown, catalog.Unknown, "heartbeat not read"},
	} {
		l := NodeHealthOf(c.ready, c.renewed, c.lease, c.ahead)
		if l.Alive != c.alive || l.Healthy() != c.works || l.String() != c.says || l.Unhealthy() != (c.works == catalog.No) {
			t.Errorf("%s: alive %s, works %s, lost %t, %q; want alive %s, works %s, %q", c.title, l.Alive, l.Healthy(), l.Unhealthy(), l, c.alive, c.works, c.says)
		}
	}
}

// TestANodesClockIsTakenIntoAccount: a Lease is dated by its node, and read at the API
// server's time.
func TestANodesClockIsTakenIntoAccount(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	by := func(off time.Duration) Clock {
		return Clock{Sent: at, Before: at.Add(off), After: at.Add(off), Received: at}
	}
	n := Node{Name: "worker-0", Ready: "True", Heartbeat: at.Add(-10 * time.Minute), Lease: Lease{Asked: at.Add(time.Hour)}, Clock: by(-10 * time.Minute)}
	s := Snapshot{Cluster: Cluster{Clock: by(time.Hour)}, Nodes: []Node{n}}
	if life := s.NodeHealth(&s.Nodes[0]); life.Alive != catalog.Yes {
		t.Errorf("its clock is 70 minutes behind the API server's, and it is %q", life)
	}
	s.Nodes[0].Clock = Clock{}
	if life := s.NodeHealth(&s.Nodes[0]); life.String() != "no heartbeat for 70m (Lease)" {
		t.Errorf("its clock is not known, and it is %q", life)
	}
}

// A kubelet writes by itself how long its Lease lasts.
func TestALongLeaseKeepsNoNodeAlive(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, silent := range []time.Duration{time.Hour, 24 * time.Hour} {
		if life := NodeHealthOf("True", now.Add(-silent), Lease{Duration: silent, Asked: now}, 0); life.Alive != catalog.No {
			t.Errorf("silent for %s: alive is %v", silent, life.Alive)
		}
	}
}

// TestWhatHappenedLaterTookNoNodeDown: one whose last heartbeat came before.
func TestWhatHappenedLaterTookNoNodeDown(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	silent := Node{Heartbeat: at.Add(-5 * time.Hour), Lease: Lease{Asked: at}}
	for _, c := range []struct {
		title string
		node  Node
		then  time.Time
		want  bool
	}{
		{"silent before", silent, at.Add(-3 * time.Hour), true},
		{"silent after", silent, at.Add(-6 * time.Hour), false},
		{"silent at that moment", silent, at.Add(-5*time.Hour + 20*time.Second), false},
		{"it reports", Node{Heartbeat: at.Add(-time.Second), Lease: Lease{Asked: at}}, at, false},
		{"it never reported", Node{Lease: Lease{Asked: at, Absent: true}}, at, false},
		{"when it happened is unknown", silent, time.Time{}, false},
	} {
		if got := (&Snapshot{}).SilentBefore(&c.node, c.then); got != c.want {
			t.Errorf("%s: %t", c.title, got)
		}
	}
}

// TestNodesAreCountedByRole, those that were left out among them.
func TestNodesAreCountedByRole(t *testing.T) {
	t.Parallel()
	node := func(name, role, via string) Node { return Node{Name: name, Role: role, Via: via} }
	read := func(n *Node) bool { return n.Via != "" }
	okd := Cluster{Versions: catalog.Versions{Cluster: "4.15.3"}}
	for want, s := range map[string]Snapshot{
		"":                                     {},
		"1 of 1 control plane, 1 of 3 workers": {Nodes: []Node{node("m", catalog.RoleMaster, "ssh"), node("a", catalog.RoleWorker, "ssh")}, OtherNodes: []Node{node("b", catalog.RoleWorker, ""), node("c", catalog.RoleWorker, "")}},
		"0 of 1 control plane, 1 of 1 worker":  {Nodes: []Node{node("a", catalog.RoleWorker, "ssh")}, OtherNodes: []Node{node("m", catalog.RoleMaster, "")}},
		"1 of 2":                               {Nodes: []Node{node("a", "", "ssh"), node("b", catalog.RoleWorker, "")}},
		"1 of 1 worker, no control plane":      {Nodes: []Node{node("a", catalog.RoleWorker, "ssh")}, Cluster: okd, Hints: FileHints("oc certrot")},
	} {
		if got := s.CountNodes(read).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
