package ui

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// nodes lists nodes: where the user asked for nodes, or for everything.
func (p HumanPrinter) nodes(w io.Writer, inv *report.Inventory) {
	if len(inv.Nodes) == 0 || !p.all && !p.showNodes {
		return
	}
	certs := map[pki.Fingerprint]*report.Cert{}
	for i := range inv.Certificates {
		certs[inv.Certificates[i].Fingerprint] = &inv.Certificates[i]
	}
	Printf(w, "\nNodes\n")
	var lines strings.Builder
	t := printers.GetNewTabWriter(&lines)
	if !p.noHeaders {
		Printf(t, "NODE\tREADY\tVIA\tKUBELET\tCLIENT CERT\tSERVING CERT\tREQUESTS\tCLOCK\n")
	}
	for _, n := range inv.Nodes {
		kubelet := OrDash(n.Kubelet)
		if n.Started != nil {
			kubelet += " since " + RelativeTime(inv.Now, *n.Started)
		}
		requests := "-"
		if len(n.Pending) > 0 {
			requests = strconv.Itoa(len(n.Pending)) + " pending"
		}
		Printf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", Clean(n.Name), readyOf(n), OrDash(n.Via), kubelet,
			expiry(inv.Now, certs, n.Client), expiry(inv.Now, certs, n.Serving), requests, clockOf(n))
	}
	_ = t.Flush() // the buffer does not fail
	p.fitted(w, lines.String())
}

// readyOf is the condition, unless it is left over from before the node's last heartbeat.
func readyOf(n report.Node) string {
	if n.Alive == catalog.No.String() {
		return n.Heartbeat
	}
	return OrDash(n.Ready)
}

// expiry says when a certificate expires, and when it is renewed.
func expiry(now time.Time, certs map[pki.Fingerprint]*report.Cert, sum *pki.Fingerprint) string {
	if sum == nil || certs[*sum] == nil {
		return "-"
	}
	c := certs[*sum]
	s := "expires " + RelativeTime(now, c.NotAfter)
	if c.NotAfter.Before(now) {
		s = "expired " + RelativeTime(now, c.NotAfter)
	}
	if r := renewed(c); c.Renewal.Automatic() && c.NotAfter.After(now) {
		s += ", renewal " + r
	}
	return s
}

// clockOf says how far a node's clock is off, as far as that is certain.
func clockOf(n report.Node) string {
	if n.AheadAtLeast == nil || n.AheadAtMost == nil {
		return "-"
	}
	switch low, high := *n.AheadAtLeast, *n.AheadAtMost; {
	case low >= 1:
		return fmt.Sprintf("%s ahead", time.Duration(low)*time.Second)
	case high <= -1:
		return fmt.Sprintf("%s behind", time.Duration(-high)*time.Second)
	}
	return "ok"
}
