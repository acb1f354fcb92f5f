package ui

import (
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// soon is what expires within the threshold, renewed automatically or not.
func (p HumanPrinter) soon(inv *report.Inventory) []*report.Cert {
	var soon []*report.Cert
	for i := range inv.Certificates {
		c := &inv.Certificates[i]
		if left := c.NotAfter.Sub(inv.Now); left < 0 || left > p.within {
			continue
		}
		if c.Locations()[0].Kind != "CertificateSigningRequest" { // kept for the record; the places that use it come first
			soon = append(soon, c)
		}
	}
	return soon
}

// expiresSoon lists what expires within the threshold.
func (p HumanPrinter) expiresSoon(w io.Writer, inv *report.Inventory) {
	soon := p.soon(inv)
	within := duration.HumanDuration(p.within)
	if len(soon) == 0 {
		Printf(w, "\nExpires within %s: nothing\n", within)
		return
	}
	Printf(w, "\nExpires within %s: %s\n", within, Count(len(soon), "certificate"))
	rest := 0
	if !p.wide && len(soon) > maxExpiring+1 {
		soon, rest = soon[:maxExpiring], len(soon)-maxExpiring
	}
	p.table(w, inv.Now, soon)
	if rest > 0 {
		Printf(w, "… and %d more: --all\n", rest)
	}
}

func (p HumanPrinter) requests(w io.Writer, inv *report.Inventory) {
	if len(inv.Requests) == 0 {
		return
	}
	Printf(w, "\nCertificate requests\n")
	l := listing{headers: []string{"NAME", "CONDITION", "SINCE", "REQUESTER", "SIGNER", "SUBJECT"}, shortHeaders: []string{"NAME", "CONDITION", "SINCE", "SUBJECT", "SIGNER"}, flexible: 4}
	for _, r := range inv.Requests {
		since, subject := RelativeTime(inv.Now, r.Since), pki.Foreign(r.Subject)
		l.rows = append(l.rows, []string{r.Name, string(r.Condition), since, pki.Foreign(r.Requester), r.Signer, subject})
		l.short = append(l.short, []string{r.Name, string(r.Condition), since, pki.Foreign(pki.CommonName(r.Subject)), strings.TrimPrefix(r.Signer, "kubernetes.io/")})
	}
	p.list(w, l)
}

// revocationLists lists those in bundles.
func (p HumanPrinter) revocationLists(w io.Writer, inv *report.Inventory) {
	if !slices.ContainsFunc(inv.Bundles, func(b report.Bundle) bool { return len(b.CRLs) > 0 }) {
		return
	}
	Printf(w, "\nRevocation lists\n")
	var lines strings.Builder
	t := printers.GetNewTabWriter(&lines)
	if !p.noHeaders {
		Printf(t, "NEXT UPDATE\tISSUER\tREVOKED\tIN\n")
	}
	for _, b := range inv.Bundles {
		for _, l := range b.CRLs {
			nextUpdate := "-"
			if !l.NextUpdate.IsZero() {
				nextUpdate = RelativeTime(inv.Now, l.NextUpdate)
			}
			Printf(t, "%s\t%s\t%d\t%s\n", nextUpdate, pki.Foreign(l.Issuer), l.Revoked, strings.Join(inspect.Fold(b.Locations), ","))
		}
	}
	_ = t.Flush() // the buffer does not fail
	p.fitted(w, lines.String())
}

func (p HumanPrinter) footer(w io.Writer, inv *report.Inventory) {
	if p.all {
		return
	}
	Printf(w, "\n%s\n", p.Hints.Next("Everything: {} inspect --all; one kind: {} inspect secrets; for scripts: -o json"))
	if len(inv.Findings) > 0 {
		Printf(w, "%s\n", p.Hints.Next("What a problem means: {} explain CHECK"))
	}
	if inv.Cluster.Version != "" && len(inv.Nodes) == 0 {
		Printf(w, "Files on nodes were not read.\n")
	}
}
