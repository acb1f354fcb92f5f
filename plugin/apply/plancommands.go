package apply

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// commands are what to type: for one node first where there are several, then for all. A plan of a file is
// made again before, of the cluster as it is now.
func (s planSummary) commands(w *ui.Page) {
	lines := s.run.Lines
	if lines.Apply == "" {
		return
	}
	approve := func(of ...string) string {
		if slices.ContainsFunc(of, func(name string) bool { return slices.Contains(s.plan.Unapproved, name) }) {
			return " --approve-csrs"
		}
		return ""
	}
	one, all := "", lines.Apply+approve(s.plan.Unapproved...)
	if due := s.due(); lines.ApplyNamed != "" && len(due) > 1 && foreign.Fit(due[0]) {
		one = foreign.Command(inspect.NodeNames, "%s --nodes %s", foreign.Words(lines.ApplyNamed), due[0]) + approve(due[0])
	}
	first, label := cmp.Or(one, all), "next"
	if lines.OfFile {
		w.Command(label, first+" --dry-run="+DryRunClient)
		if s.run.Lines.OfFile {
			w.Remark(s.onLive())
		}
		label = "then"
	}
	w.Command(label, first)
	if one != "" {
		w.Command("all", all)
	}
}

// onLive says of the commands below a plan of a file what they are about.
func (s planSummary) onLive() string {
	if !slices.ContainsFunc(s.plan.Basis.Nodes, func(n inspect.Node) bool { return n.Role == catalog.RoleMaster }) {
		return "on the live cluster and its control plane; this plan changed nothing"
	}
	return "on the live cluster; this plan of a file changed nothing"
}

const (
	fixes   = "Fixes    "
	remains = "Remains  "
	later   = "Later    "
)

// remains says what is there after the plan, too: in full where the plan is, else in two lines.
func (s planSummary) remains(w *ui.Page) {
	stays := s.stays()
	switch {
	case len(stays) == 0:
	case s.confirm || s.full:
		var whole []string
		for _, stay := range stays {
			whole = append(whole, stay.line+stay.how)
		}
		ui.Wrap(w, remains, strings.Join(whole, "; "))
	default:
		now := slices.DeleteFunc(slices.Clone(stays), func(s stay) bool { return s.again })
		if len(now) > 0 { // warnings need the line more than what comes after the next rotation
			w.Few(remains, s.inBrief(now))
			return
		}
		w.Few(later, stays[0].brief)
	}
}

// stay is a finding that a plan leaves.
type stay struct {
	id, line string
	brief    string   // line without the check and the node
	nodes    []string // empty: it is about none, or about all
	how      string   // what has the plan repair it, or why it does not; empty: no flag does
	again    bool     // it is the version's way: nothing is wrong after the plan
}

// stays are findings that are there after the plan, too, though they advise it: what it repairs may
// come again. What a flag repairs is first.
func (s planSummary) stays() []stay {
	var out, others []stay
	for _, f := range s.plan.Left {
		one := stay{id: f.ID, line: f.Named(), nodes: s.nodesIn(f)}
		one.brief = briefOf(f, one.nodes)
		if v := s.plan.Basis.Cluster.Versions.Cluster; f.ID == "api-ca-delivered" && v != "" { // of the version: no plan changes that
			minor := strings.Join(strings.Split(v, ".")[:min(2, strings.Count(v, ".")+1)], ".")
			one.line = f.ID + ": " + ui.Product(v) + " " + minor + " needs this after each CA rotation"
			one.brief, one.again = "each CA rotation needs this repair again ("+ui.Product(v)+" "+minor+")", true
		}
		same := func(o stay) bool { return o.line == one.line }
		if !strings.Contains(f.Remediation.Command, " "+s.run.Command+" ") || slices.ContainsFunc(out, same) || slices.ContainsFunc(others, same) {
			continue
		}
		if f.ID == "kubelet-current" && !slices.ContainsFunc(f.At, func(at pki.Location) bool { return !slices.Contains(s.plan.Unapproved, at.Node) }) {
			one.how = " (add --approve-csrs)"
			out = append(out, one)
			continue
		}
		if s.run.Lines.ApplyNamed == "" && len(one.nodes) > 0 && !slices.ContainsFunc(s.due(), func(due string) bool { return slices.Contains(one.nodes, foreign.Name(due)) }) {
			one.how = " (not among --nodes)"
		}
		others = append(others, one)
	}
	return append(out, others...)
}

// nodesIn are the nodes of a finding; none where they are all that are known.
func (s planSummary) nodesIn(f assess.Finding) []string {
	var nodes []string
	for _, at := range f.At {
		if name := foreign.Name(at.Node); at.Node != "" && !slices.Contains(nodes, name) {
			nodes = append(nodes, name)
		}
	}
	if len(nodes) > 0 && len(nodes) == len(s.plan.Basis.AllNodes()) {
		return nil
	}
	return nodes
}

// briefOf is what a finding says of some nodes, or, without any, of all of them or of the cluster.
func briefOf(f assess.Finding, nodes []string) string {
	switch ofFile := f.ID == "node-file-current" || f.ID == "api-trusted"; { // which file is in the plan of that node
	case ofFile && len(nodes) == 0:
		return "kubelets do not trust api-int"
	case ofFile:
		return "does not trust api-int"
	}
	node := ""
	if len(f.At) > 0 && f.At[0].Node != "" {
		node = foreign.Name(f.At[0].Node) + ": "
	}
	return strings.TrimPrefix(strings.TrimPrefix(f.Reason, node), "kubelet has ")
}

// inBrief says what remains, after the nodes that it is about.
func (s planSummary) inBrief(stays []stay) string {
	var order []string
	of := map[string][]string{}
	for _, one := range stays {
		where, what := "", one.brief+one.how
		if len(one.nodes) > 0 {
			where = ui.NamesThatFit(one.nodes, mostNames) + ": "
		}
		if slices.Contains(of[where], what) {
			continue
		}
		if of[where] == nil || where == "" {
			order = append(order, where)
		}
		of[where] = append(of[where], what)
	}
	var parts []string
	for _, where := range order {
		if where == "" {
			parts, of[where] = append(parts, of[where][0]), of[where][1:]
			continue
		}
		parts = append(parts, where+strings.Join(of[where], ", "))
	}
	return strings.Join(parts, "; ")
}

// mostNames is how many columns nodes have before what remains on them.
const mostNames = 30

// due are the nodes that the plan changes, each once, in its order.
func (s planSummary) due() []string {
	var out []string
	for _, n := range s.plan.Nodes() {
		if n.Name != "" && n.Changes() && !slices.Contains(out, n.Name) {
			out = append(out, n.Name)
		}
	}
	return out
}
