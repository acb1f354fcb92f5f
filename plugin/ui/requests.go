package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/cause"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// pendingFor stands in the reason of check csr-answered before how long a request waits.
const pendingFor = " pending for "

// requestsPending says how many certificate requests wait, of which nodes, and since when, where that
// is all that the findings say; else title and names are as they were.
func requestsPending(p cause.Problem, findings []report.Finding, title string, names []string) (string, []string) {
	total := 0
	var of []string
	for _, i := range p.Findings {
		f := findings[i]
		at := strings.LastIndex(f.Reason, pendingFor)
		if f.ID != "csr-answered" || at < 0 {
			return title, names
		}
		requests, nodes := 0, []string{}
		for _, place := range f.Locations {
			switch {
			case string(place.Kind) == catalog.Request:
				requests++
			case place.Node != "" && !slices.Contains(nodes, place.Node):
				nodes = append(nodes, place.Node)
			}
		}
		if total += requests; len(nodes) != 1 {
			return title, names
		}
		of = append(of, fmt.Sprintf("%s (%d, for %s)", foreign.Name(nodes[0]), requests, f.Reason[at+len(pendingFor):]))
	}
	return Count(total, "CSR") + " pending", of
}
