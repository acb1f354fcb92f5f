package ui

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/cause"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// TestExpiryOfANodesCertificate: what is over is not said to be ahead.
func TestExpiryOfANodesCertificate(t *testing.T) {
	t.Parallel()
	now := time.Unix(1.7e9, 0).UTC()
	for want, at := range map[string]time.Time{"expires in 3h": now.Add(3 * time.Hour), "expired 3h ago": now.Add(-3 * time.Hour)} {
		if got := expiry(now, &report.Cert{Cert: &pki.Cert{NotAfter: at}}, false); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := expiry(now, nil, true); got != "none" {
		t.Errorf("%q, want none", got)
	}
}

// TestANodeThatIsNotReadyIsSaid: though its heartbeat is there.
func TestANodeThatIsNotReadyIsSaid(t *testing.T) {
	t.Parallel()
	problem := cause.Problem{Nodes: []string{"worker-1", "worker-2"}}
	nodes := []report.Node{{Name: "worker-1", Ready: "False", Alive: "yes"}, {Name: "worker-2", Ready: "True", Alive: "yes"}}
	if got, want := nodesNow(problem, &report.Inventory{Nodes: nodes}, false), "worker-1 is NotReady; still up: worker-2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := withHeartbeats(problem.Nodes, nodes, false); got[0] != "worker-1 (NotReady)" || got[1] != "worker-2" {
		t.Errorf("%q", got)
	}
}

// TestWhichNodesAreReadIsSaidWhereItFits: in fewer words before it takes a line of its own.
func TestWhichNodesAreReadIsSaidWhereItFits(t *testing.T) {
	t.Parallel()
	at := time.Unix(1.7e9, 0)
	c := report.Cluster{Version: "4.15.0", Read: at, Opened: at.Add(1020 * 24 * time.Hour)}
	for columns, want := range map[int]string{120: "ago)  nodes read: 2 of 2 workers, no control plane", 80: "ago)  read: 2 of 2 workers, no control plane"} {
		head := (HumanPrinter{}).Head(&Page{columns: columns}, c, at, "", "nodes read: 2 of 2 workers, no control plane")
		if last := head[len(head)-1]; !strings.HasSuffix(last, want) {
			t.Errorf("%d columns: %q", columns, head)
		}
	}
}
