package cause

import (
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// inTurn puts a problem that is repaired first before the one that waits for it, and says so there.
func inTurn(problems []Problem) {
	for waits := range problems {
		first := slices.IndexFunc(problems, func(p Problem) bool { return p.ID != "" && p.ID == problems[waits].first })
		if first < 0 || !problems[waits].Named || problems[first].Severity < problems[waits].Severity {
			continue
		}
		p := &problems[waits]
		p.Remediation, p.first = assess.Advise("first repair the problem above; after that: "+p.Remediation.Command), ""
		if first > waits {
			moved := problems[first]
			copy(problems[waits+1:first+1], problems[waits:first])
			problems[waits] = moved
		}
	}
}

// DownFirst puts critical problems of nodes that are all down before those that fail later. What another problem waits
// for stays before that.
func DownFirst(problems []Problem, down map[string]bool) {
	critical := slices.IndexFunc(problems, func(p Problem) bool { return p.Severity < assess.Critical })
	if critical < 0 {
		critical = len(problems)
	}
	if critical < 2 || len(down) == 0 {
		return
	}
	isFirst := map[string]bool{}
	for _, c := range catalog.Causes() {
		isFirst[c.First] = c.First != ""
	}
	first, later := []Problem{}, []Problem{}
	for _, p := range problems[:critical] {
		isDown := len(p.Nodes) > 0 && !slices.ContainsFunc(p.Nodes, func(node string) bool { return !down[node] })
		if isDown || isFirst[p.ID] {
			first = append(first, p)
		} else {
			later = append(later, p)
		}
	}
	copy(problems, append(first, later...))
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
