package apply

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
)

const (
	// maxRows is how many nodes have a line of their own.
	maxRows = 7
	// leastName is how many columns are left for the name of a node.
	leastName = 10
	// leastChange is how many columns are left for what changes before names are cut.
	leastChange = 24
)

// planRow is a line of a plan: a node, or a step that is done to no node.
type planRow struct {
	wave, node, state, via string
	what                   []string
}

// rows writes a line for each node, in the order of waves, or where they are many for each
// wave.
func (s planSummary) rows(w *ui.Page) {
	if s.byWave() {
		s.waveRows(w)
	} else {
		printRows(w, s.planRows())
	}
}

// byWave reports whether there are too many nodes for a line each.
func (s planSummary) byWave() bool {
	nodes := 0
	for _, r := range s.planRows() {
		if r.node != TheCluster {
			nodes++
		}
	}
	return nodes > maxRows
}

// planRows are the nodes with something to do, each once, in the order of waves.
func (s planSummary) planRows() []planRow {
	var rows []planRow
	for _, wave := range s.plan.Waves {
		for _, n := range wave.Due() {
			row := planRow{wave: wave.Name, node: titleOf(n.Name), what: InFewWords(n)}
			if i := slices.IndexFunc(rows, func(r planRow) bool { return n.Name != "" && r.node == row.node }); i >= 0 {
				rows[i].what = append(rows[i].what, "then "+strings.Join(row.what, ", "))
				continue
			}
			if node, ok := s.plan.Basis.Node(n.Name); ok {
				row.state, row.via = s.plan.Basis.NodeHealth(node).Brief(), node.Via
				if k := len(csr.PendingOfKubelet(s.plan.Basis, n.Name)); k > 0 {
					row.state = strings.TrimPrefix(row.state+", "+ui.Count(k, "CSR"), ", ")
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// titleOf is the name of a node; of none, TheCluster.
func titleOf(node string) string {
	if node == "" {
		return TheCluster
	}
	return foreign.Name(node)
}

// InFewWords says what is done to a node on which something is to be done.
func InFewWords(n remediate.NodePlan) []string {
	var words []string
	var counts []remediate.Count
	var at []int // of each count, among the words
	for _, step := range n.Due() {
		counted, isCounted := step.Action.(remediate.Counted)
		switch {
		case isCounted:
			c := counted.Count()
			i := slices.IndexFunc(counts, func(o remediate.Count) bool { return o.Verb == c.Verb && o.Of == c.Of })
			if i < 0 {
				i, counts, at, words = len(counts), append(counts, c), append(at, len(words)), append(words, "")
			} else {
				counts[i].N += c.N
			}
			words[at[i]] = counts[i].Verb + " " + ui.Count(counts[i].N, counts[i].Of)
		case remediate.RestartsKubelet(step.Action):
			words = append(words, "restart kubelet")
		case remediate.ApprovesRequests(step.Action):
			words = append(words, "approve matching CSRs")
		case !remediate.Waits(step.Action):
			words = append(words, step.Change.Summary)
		}
	}
	if len(words) == 0 {
		return []string{n.Due()[0].Change.Summary} // it only waits
	}
	return words
}

// printRows writes rows in columns. Where they do not fit and all nodes get the same, that is
// said once below them.
func printRows(w *ui.Page, rows []planRow) {
	const gap = 2
	cells := func(r planRow) []string {
		if r.node == TheCluster { // it has no state and no way
			return []string{r.node, r.wave}
		}
		return []string{r.node, r.wave, ui.OrDash(r.state), ui.OrDash(r.via)}
	}
	widths := make([]int, 4)
	headers := []string{"NODE", "WAVE", "STATUS", "VIA"}
	nodes := false
	widest, same := 0, true
	var first []string // what the first node gets
	for _, r := range rows {
		for i, c := range cells(r) {
			widths[i] = max(widths[i], ui.Width(c))
		}
		if r.node != TheCluster {
			nodes = true
			widest = max(widest, ui.Width(strings.Join(r.what, ", ")))
			if first == nil {
				first = r.what
			}
			same = same && slices.Equal(first, r.what)
		}
	}
	for i, h := range headers {
		if nodes && widths[i] > 0 { // no wave has a name where nodes are named
			widths[i] = max(widths[i], len(h))
		}
	}
	fixed := 0
	for _, width := range widths[1:] {
		if width > 0 {
			fixed += gap + width
		}
	}
	once, left := same && widths[0]+fixed+gap+widest > w.Columns(), leastChange+gap
	if once {
		left = 0
	}
	widths[0] = min(widths[0], max(w.Columns()-fixed-left, leastName))
	columns := func(cells []string) (line string) {
		for i, c := range cells {
			if widths[i] > 0 {
				line += ui.Padded(c, widths[i]) + strings.Repeat(" ", gap)
			}
		}
		return line
	}
	if nodes {
		header := columns(headers)
		if !once {
			header += "CHANGES"
		}
		w.Line(strings.TrimRight(header, " "))
	}
	for _, r := range rows {
		line := columns(cells(r))
		if !once || r.node == TheCluster {
			line += strings.Join(r.what, ", ")
		}
		w.Line(strings.TrimRight(ui.Clean(line), " "))
	}
	if once {
		on := "each node"
		if i := slices.IndexFunc(rows, func(r planRow) bool { return r.node != TheCluster }); len(rows) == 1 {
			on = rows[i].node
		}
		if lead, what := "on "+on+": ", strings.Join(first, ", "); w.Columns() < 60 { // lines are cut where the plan would not fit a screen
			w.Line(lead + ui.Clean(what))
		} else {
			w.Few(lead, what)
		}
	}
}

// waveRows write a line for each wave: how many nodes, how they are, and the first names; then
// what is done, with the number of nodes that get it.
func (s planSummary) waveRows(w *ui.Page) {
	width := 0
	for _, wave := range s.plan.Waves {
		width = max(width, ui.Width(wave.Name))
	}
	var done []string
	count := map[string]int{}
	for _, wave := range s.plan.Waves {
		var names, states []string
		in := map[string]int{}
		for _, n := range wave.Due() {
			name := titleOf(n.Name)
			if n.Name == "" {
				name = strings.Join(InFewWords(n), ", ")
			}
			names = append(names, name)
			if node, ok := s.plan.Basis.Node(n.Name); ok {
				state := cmp.Or(s.plan.Basis.NodeHealth(node).Brief(), "unknown")
				if strings.HasPrefix(state, "no heartbeat") {
					state = "no heartbeat"
				}
				if in[state]++; in[state] == 1 {
					states = append(states, state)
				}
				what := strings.Join(InFewWords(n), ", ")
				if count[what]++; count[what] == 1 {
					done = append(done, what)
				}
			}
		}
		if len(names) == 0 {
			continue
		}
		for i, state := range states {
			states[i] = fmt.Sprintf("%d %s", in[state], state)
		}
		lead := ui.Padded(wave.Name, width)
		if width > 0 {
			lead += "  "
		}
		if len(states) > 0 {
			lead += strings.Join(states, ", ") + ": "
		}
		w.Line(ui.Clean(lead + ui.NamesThatFit(names, w.Columns()-ui.Width(lead))))
	}
	slices.SortStableFunc(done, func(a, b string) int { return count[b] - count[a] })
	const most = 4
	for i, what := range done {
		if i == most && len(done) > most+1 {
			w.Line(fmt.Sprintf("and %d other changes: --details", len(done)-most))
			return
		}
		w.Line(fmt.Sprintf("on %s: %s", ui.Count(count[what], "node"), ui.Clean(what)))
	}
}
