package cause

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// pending begins the reason of check csr-answered where requests wait: how many, and for how long if that was read.
var pending = regexp.MustCompile(`^([0-9]+) CSRs? pending (for [0-9a-z]+|\(age unknown\))(:|, newest:) (.*)$`)

// countRequests has the title say how many requests wait, where that is all that the findings say; and its
// names of which nodes they are, and since when, where each is of one node, else which requests.
func (p *Problem) countRequests(findings []Finding) {
	total, byNode := 0, true
	var told, requests []string
	for _, i := range p.Findings {
		f := &findings[i]
		m := pending.FindStringSubmatch(f.Reason)
		if f.ID != "csr-answered" || m == nil {
			return
		}
		n, _ := strconv.Atoi(m[1]) // of its places some may not be chosen
		total += n
		if age := strings.Trim(m[2], "()"); m[3] == ":" {
			requests = append(requests, fmt.Sprintf("%s (%s)", m[4], age))
		} else {
			requests = append(requests, fmt.Sprintf("%d %s (newest: %s)", n, age, m[4]))
		}
		if nodes := f.nodes(); len(nodes) == 1 {
			told = append(told, fmt.Sprintf("%s (%d, %s)", foreign.Name(nodes[0]), n, strings.Trim(m[2], "()")))
		} else {
			byNode = false
		}
	}
	p.Reason = fmt.Sprintf("%d CSRs pending", total)
	if total == 1 {
		p.Reason = "1 CSR pending"
	}
	if p.told = told; !byNode { // the request of each that is to be answered
		p.told = requests
	}
}
