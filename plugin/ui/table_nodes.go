package ui

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

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
	l := listing{headers: []string{"NODE", "READY", "VIA", "KUBELET", "CLIENT CERT", "SERVING CERT", "REQUESTS", "CLOCK"}, flexible: 0}
	l.shortHeaders = l.headers
	for _, n := range inv.Nodes {
		kubelet, brief := OrDash(n.Kubelet), OrDash(n.Kubelet)
		if n.Started != nil {
			kubelet += " since " + RelativeTime(inv.Now, *n.Started)
			if n.Kubelet == "running" {
				brief = "up " + duration.HumanDuration(inv.Now.Sub(*n.Started))
			}
		}
		requests := "-"
		if len(n.Pending) > 0 {
			requests = strconv.Itoa(len(n.Pending)) + " pending"
		}
		row := []string{Clean(n.Name), readyOf(n), OrDash(n.Via), kubelet, expiry(inv.Now, certs, n.Client), expiry(inv.Now, certs, n.Serving), requests, clockOf(n)}
		l.rows = append(l.rows, row)
		short := slices.Clone(row)
		short[1] = strings.NewReplacer(" for ", " ", " (Lease)", "").Replace(row[1])
		short[3] = brief
		for i := 4; i < 6; i++ { // when it expires, and not when it is renewed
			short[i], _, _ = strings.Cut(row[i], ", ")
		}
		l.short = append(l.short, short)
	}
	p.list(w, l)
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
