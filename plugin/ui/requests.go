package ui

import (
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// requests lists all requests.
func (p HumanPrinter) requests(w io.Writer, inv *report.Inventory) {
	p.someRequests(w, inv, newestFirst(inv))
}

// newestFirst are the requests that are pending, and of these the newest first, as only that may be worth an approval;
// then the others.
func newestFirst(inv *report.Inventory) []report.Request {
	var pending, others []report.Request
	for _, r := range inv.Requests {
		if r.Condition == inspect.Pending {
			pending = append(pending, r)
		} else {
			others = append(others, r)
		}
	}
	slices.SortStableFunc(pending, func(a, b report.Request) int { return b.Since.Compare(a.Since) })
	return slices.Concat(pending, others)
}

// fewRequests lists as many requests as a screen has room for.
func (p HumanPrinter) fewRequests(w *Page, inv *report.Inventory) {
	const around, least = 4, 3 // a blank line, the title, headers, how many more there are
	all := newestFirst(inv)
	room := len(all)
	if !p.wide {
		room = min(room, max(least, w.height()-strings.Count(w.String(), "\n")-around))
	}
	p.someRequests(w, inv, all[:room])
	if more := len(all) - room; more > 0 {
		Printf(w, "%d more: --all\n", more)
	}
}

func (p HumanPrinter) someRequests(w io.Writer, inv *report.Inventory, requests []report.Request) {
	if len(requests) == 0 {
		return
	}
	Printf(w, "\nCertificate requests\n")
	// The columns of kubectl get csr, and the subject; a narrow terminal has that for the requester.
	l := listing{headers: []string{"NAME", "AGE", "SIGNERNAME", "REQUESTOR", "CONDITION", "SUBJECT"}, shortHeaders: []string{"NAME", "AGE", "SIGNERNAME", "CONDITION", "SUBJECT"}, flexible: 2}
	for _, r := range requests {
		name, age, condition := foreign.Name(r.Name), "-", string(r.Condition)
		if !r.Since.IsZero() {
			age = duration.HumanDuration(inv.Taken.Sub(r.Since)) // as the finding says
		}
		l.rows = append(l.rows, []string{name, age, r.Signer, pki.Foreign(r.Requester), condition, pki.Foreign(r.Subject)})
		l.short = append(l.short, []string{name, age, strings.TrimPrefix(r.Signer, "kubernetes.io/"), condition, pki.Foreign(pki.CommonName(r.Subject))})
	}
	p.list(w, l)
}
