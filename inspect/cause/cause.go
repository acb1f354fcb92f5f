package cause

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Finding is one judgement that is no pass: of a check, or of a trust edge.
type Finding struct {
	assess.Assessment
	Node      string         // of a trust edge's claim; empty: At has the nodes
	At        []pki.Location // what it is about
	MissingCA string         // fingerprint of the CA that a verifier lacks; empty: none, or not known
}

// Problem is what one or several findings are about.
type Problem struct {
	// ID is that of the catalog's cause; empty where the findings are merely alike, or one.
	ID string
	// Assessment is what people read: the Reason names no node or object where Names do.
	assess.Assessment
	// Findings are indexes into what was folded, in its order. Each finding is in one problem.
	Findings []int
	// Nodes and Objects are all that the findings are about, each once, in their order.
	Nodes, Objects []string
	// Named: Reason is a title that Names complete; ofNodes: with nodes alone.
	Named, ofNodes bool
}

// Fold makes problems of findings. Their order is that of the first finding of each, the worst
// severity first.
func Fold(hints inspect.Hints, findings []Finding) []Problem {
	rows := symptoms()
	proven := rows.proven(findings)
	index := map[key]int{}
	var out []Problem
	for i := range findings {
		k := rows.key(&findings[i], proven)
		n, ok := index[k]
		if !ok {
			n = len(out)
			index[k] = n
			out = append(out, Problem{ID: k.cause})
		}
		out[n].Findings = append(out[n].Findings, i)
	}
	for i := range out {
		out[i].describe(hints, findings, rows)
	}
	slices.SortStableFunc(out, func(a, b Problem) int { return cmp.Compare(b.Severity, a.Severity) })
	return out
}

// key is what findings of one problem have in common.
type key struct {
	cause     string
	missingCA string
	// Without a cause, findings of one check are one problem where the same is to be done.
	id          string
	severity    assess.Severity
	remediation string
}

// proof is a cause, with the CA that is missing, for which a finding stands.
type proof struct{ cause, missingCA string }

// symptom is what the catalog says of findings of one check or trust edge.
type symptom struct {
	catalog.Symptom
	cause catalog.Cause
}

// symptomRows are by the check or the trust edge.
type symptomRows map[string]symptom

func symptoms() symptomRows {
	out := symptomRows{}
	for _, c := range catalog.Causes() {
		for _, s := range c.Symptoms {
			out[s.ID] = symptom{s, c}
		}
	}
	return out
}

// proven returns the nodes of which findings prove a cause; a cause that is proven for no
// node has an empty set.
func (rows symptomRows) proven(findings []Finding) map[proof]map[string]bool {
	out := map[proof]map[string]bool{}
	for i := range findings {
		f := &findings[i]
		row, ok := rows[f.ID]
		if !ok || !row.Proves || !fits(f, row.Symptom) {
			continue
		}
		p := proof{row.cause.ID, f.MissingCA}
		if out[p] == nil {
			out[p] = map[string]bool{}
		}
		for _, node := range f.nodes() {
			out[p][node] = true
		}
	}
	return out
}

func (rows symptomRows) key(f *Finding, proven map[proof]map[string]bool) key {
	if row, ok := rows[f.ID]; ok && fits(f, row.Symptom) {
		nodes, isProven := proven[proof{row.cause.ID, f.MissingCA}]
		elsewhere := func(node string) bool { return !nodes[node] }
		if isProven && !(row.SameNodes && slices.ContainsFunc(f.nodes(), elsewhere)) {
			return key{cause: row.cause.ID, missingCA: f.MissingCA}
		}
	}
	return key{id: f.ID, severity: f.Severity, remediation: f.withoutNames(f.Remediation.Text)}
}

// fits reports whether a finding is what a symptom chooses.
func fits(f *Finding, s catalog.Symptom) bool {
	if s.MissingCA && f.MissingCA == "" {
		return false
	}
	return len(s.Files) == 0 || len(f.At) > 0 && !slices.ContainsFunc(f.At, func(at pki.Location) bool {
		return at.Kind != pki.KindFile || !slices.Contains(s.Files, at.Path)
	})
}

// withoutNames is a text in which the names of what the finding is about are the same for all.
func (f *Finding) withoutNames(s string) string {
	for _, name := range append(f.nodes(), f.objects()...) {
		s = strings.ReplaceAll(s, name, "*")
		if _, object, ok := strings.Cut(name, "/"); ok {
			s = strings.ReplaceAll(s, object, "*")
		}
	}
	return s
}

// nodes are those that the finding is about, each once.
func (f *Finding) nodes() []string {
	var out []string
	if f.Node != "" {
		out = append(out, f.Node)
	}
	for _, at := range f.At {
		if at.Node != "" && !slices.Contains(out, at.Node) {
			out = append(out, at.Node)
		}
	}
	return out
}

// objects are those of the API that the finding is about, each once: NAMESPACE/NAME, or
// KIND/NAME of those that are in no namespace.
func (f *Finding) objects() []string {
	var out []string
	seen := map[string]bool{}
	for _, at := range f.At {
		if at.Node != "" {
			continue
		}
		name := at.Namespace + "/" + at.Name
		switch {
		case at.Kind == pki.KindFile:
			name = at.Path
		case at.Namespace == "":
			name = string(at.Kind) + "/" + at.Name
		}
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}

// describe says what a problem is, from its row or from its worst finding.
func (p *Problem) describe(hints inspect.Hints, findings []Finding, rows symptomRows) {
	worst := &findings[p.Findings[0]]
	seen := map[string]bool{}
	for _, i := range p.Findings {
		f := &findings[i]
		if f.Severity > worst.Severity {
			worst = f
		}
		for _, node := range f.nodes() {
			if !seen["node/"+node] {
				seen["node/"+node] = true
				p.Nodes = append(p.Nodes, node)
			}
		}
		for _, object := range f.objects() {
			if !seen[object] {
				seen[object] = true
				p.Objects = append(p.Objects, object)
			}
		}
	}
	p.Assessment = worst.Assessment
	row := rows[worst.ID].cause
	if p.ID == "" || len(p.Findings) == 1 && row.Impact == "" {
		return // the finding says more than the row
	}
	p.Reason, p.Named, p.ofNodes = row.Title, true, row.OfNodes
	p.Impact = cmp.Or(row.Impact, p.Impact)
	if row.Remediation != "" {
		p.Remediation = assess.Run(hints.Next(row.Remediation))
	}
}

// Names are the nodes of a problem, else its objects, as they may stand in a line.
func (p *Problem) Names() []string {
	names := p.Nodes
	if len(names) == 0 && !p.ofNodes {
		names = p.Objects
	}
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = foreign.Name(n)
	}
	return out
}
