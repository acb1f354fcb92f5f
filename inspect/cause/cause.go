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
	Expired   bool           // what is presented has expired
	Claim     string         // of a trust edge with claims that say different things
	MissingCA string         // fingerprint of the CA that a verifier lacks; empty: none, or unknown
	// Beside: it proves causes of the others, and names their nodes, and is in no problem: a filter leaves it out.
	Beside bool
}

// Problem is what one or several findings are about.
type Problem struct {
	// ID is that of the catalog's cause; empty where the findings are merely alike, or one.
	ID string
	// Assessment is what people read: the Reason names no node or object where Names do.
	assess.Assessment
	// Findings are indexes into what was folded, in its order. Each finding is in one problem, but those Beside.
	Findings []int
	// Nodes and Objects are all that the findings are about, each once, in their order.
	Nodes, Objects []string
	// Elsewhere are other nodes that findings prove the cause of, which are in another problem.
	Elsewhere []string
	// Named: Reason is a title that Names complete.
	Named bool
	// Platform: it is about nodes, or objects that no tenant writes.
	Platform bool
	names    []string
	told     []string // names with what is said of each; nil: names
	beside   []string // nodes of the same cause's findings that are in no problem
	known    bool     // what fails is known by the cause, and not by each finding
	first    string   // ID of the cause that is repaired before
	distrust []string // nodes that do not trust api-int either, which is another cause
}

// Fold makes problems of findings: the worst severity first, then the platform's, then those of a cause
// with an impact of its own, then in the order of the first finding of each. What a tenant's objects are found by never speaks for the
// platform's.
func Fold(hints inspect.Hints, findings []Finding) []Problem {
	rows := symptoms()
	proven := rows.proven(findings)
	index := map[key]int{}
	beside, elsewhere := map[key][]string{}, map[key][]string{}
	var untold []besideOther
	var out []Problem
	for i := range findings {
		k := rows.key(&findings[i], proven)
		if findings[i].Beside {
			beside[k] = append(beside[k], findings[i].nodes()...)
			for _, other := range rows.others(&findings[i], k) {
				untold = append(untold, besideOther{k, other, findings[i].nodes()})
			}
			continue
		}
		n, ok := index[k]
		if !ok {
			n = len(out)
			index[k] = n
			out = append(out, Problem{ID: k.cause, Platform: k.platform})
		}
		for _, other := range rows.others(&findings[i], k) {
			elsewhere[other] = append(elsewhere[other], findings[i].nodes()...)
			if other.cause == catalog.CauseAPIInt {
				out[n].distrust = append(out[n].distrust, findings[i].nodes()...)
			}
		}
		out[n].Findings = append(out[n].Findings, i)
	}
	for _, u := range untold {
		if _, told := index[u.in]; !told { // no problem here has these nodes
			beside[u.other] = append(beside[u.other], u.nodes...)
		}
	}
	for k, n := range index {
		out[n].beside, out[n].Elsewhere = beside[k], elsewhere[k]
	}
	for i := range out {
		out[i].describe(hints, findings, rows)
	}
	slices.SortStableFunc(out, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), compareBool(b.Platform, a.Platform), compareBool(b.known, a.known))
	})
	inTurn(out)
	return out
}

// besideOther are nodes of a finding beside what is folded, which proves the cause of another problem, too.
type besideOther struct {
	in, other key
	nodes     []string
}

// key is what findings of one problem have in common.
type key struct {
	cause     string
	missingCA string
	platform  bool
	// Without a cause, findings of one check are one problem where the same fails and is to be done.
	id, claim           string
	severity            assess.Severity
	impact, remediation string
}

// proof is a cause, with the CA that is missing, for which a finding stands.
type proof struct{ cause, missingCA string }

// judged is what findings are of: a check or a trust edge, whether it fails now, and because what is
// presented has expired.
type judged struct {
	id      string
	when    catalog.Phase
	expired bool
}

// symptom is what the catalog says of findings of one check or trust edge.
type symptom struct {
	catalog.Symptom
	cause catalog.Cause
}

// missing is the CA that a finding lacks; none, where that is not what is wrong.
func (s symptom) missing(f *Finding) string {
	if s.Expired {
		return ""
	}
	return f.MissingCA
}

// symptomRows are in the order of the causes.
type symptomRows map[judged][]symptom

func symptoms() symptomRows {
	out := symptomRows{}
	for _, c := range catalog.Causes() {
		for _, s := range c.Symptoms {
			for _, when := range []catalog.Phase{catalog.Now, catalog.Later} {
				if c.When == "" || c.When == when {
					of := judged{s.ID, when, s.Expired}
					out[of] = append(out[of], symptom{s, c})
				}
			}
		}
	}
	return out
}

// possible are the symptoms that a finding may be.
func (rows symptomRows) possible(f *Finding) []symptom {
	when := catalog.Later
	if f.Status == assess.Fail {
		when = catalog.Now
	}
	var out []symptom
	for _, row := range rows[judged{f.ID, when, f.Expired}] {
		if fits(f, row.Symptom) {
			out = append(out, row)
		}
	}
	return out
}

// in is the symptom that a finding is of a cause; the zero symptom: it is none.
func (rows symptomRows) in(f *Finding, cause string) symptom {
	for _, row := range rows.possible(f) {
		if row.cause.ID == cause {
			return row
		}
	}
	return symptom{}
}

// proven returns the nodes of which findings prove a cause; a cause that is proven for no
// node has an empty set.
func (rows symptomRows) proven(findings []Finding) map[proof]map[string]bool {
	out := map[proof]map[string]bool{}
	for i := range findings {
		f := &findings[i]
		for _, row := range rows.possible(f) {
			if !row.Proves {
				continue
			}
			p := proof{row.cause.ID, row.missing(f)}
			if out[p] == nil {
				out[p] = map[string]bool{}
			}
			for _, node := range f.nodes() {
				out[p][node] = true
			}
		}
	}
	return out
}

func (rows symptomRows) key(f *Finding, proven map[proof]map[string]bool) key {
	for _, row := range rows.possible(f) {
		ca := row.missing(f)
		nodes, isProven := proven[proof{row.cause.ID, ca}]
		elsewhere := func(node string) bool { return !nodes[node] }
		if isProven && !(row.SameNodes && slices.ContainsFunc(f.nodes(), elsewhere)) {
			k := key{cause: row.cause.ID, missingCA: ca, platform: f.platform()}
			if row.cause.Impact == "" { // what fails is each finding's own: servers apart from CA bundles
				k.impact = withoutNumbers(f.withoutNames(f.Impact))
			}
			return k
		}
	}
	return key{
		id: f.ID, claim: f.Claim, severity: f.Severity, missingCA: f.MissingCA, platform: f.platform(),
		impact: f.withoutNames(f.Impact), remediation: f.withoutNames(f.Remediation.Text),
	}
}

// others are the problems of nodes whose causes a finding proves, too, where it is in another one.
func (rows symptomRows) others(f *Finding, in key) (out []key) {
	for _, row := range rows.possible(f) {
		if row.Proves && row.cause.OfNodes && row.cause.Impact != "" && row.cause.ID != in.cause {
			out = append(out, key{cause: row.cause.ID, missingCA: row.missing(f), platform: f.platform()})
		}
	}
	return out
}

// withoutNumbers is a text without its words that have digits: times and counts.
func withoutNumbers(s string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(s), func(word string) bool { return strings.ContainsAny(word, "0123456789") }), " ")
}

// platform reports whether a finding is about a node, or an object that no tenant writes.
func (f *Finding) platform() bool {
	return f.Node != "" || len(f.At) == 0 || slices.ContainsFunc(f.At, func(at pki.Location) bool {
		return at.Node != "" || at.Kind != requestKind && (&inspect.Entry{Bundle: &inspect.Bundle{At: at}}).Reserved()
	})
}

// requestKind is of objects of the whole cluster's that any user makes.
const requestKind = catalog.Request

// fits reports whether a finding is what a symptom chooses.
func fits(f *Finding, s catalog.Symptom) bool {
	if s.MissingCA && f.MissingCA == "" {
		return false
	}
	if s.Object != (catalog.Ref{}) && !slices.ContainsFunc(f.At, func(at pki.Location) bool {
		return s.Object.Fits(string(at.Kind), at.Namespace, at.Name, at.Key)
	}) {
		return false
	}
	return len(s.Files) == 0 || len(f.At) > 0 && !slices.ContainsFunc(f.At, func(at pki.Location) bool {
		return at.Kind != pki.KindFile || !slices.Contains(s.Files, at.Path)
	})
}

// withoutNames is a text in which the names of what the finding is about are the same for all.
func (f *Finding) withoutNames(s string) string {
	names := map[string]bool{}
	for _, name := range append(f.nodes(), f.objects()...) {
		names[name] = true
		for part := range strings.SplitSeq(name, "/") {
			names[part] = true
		}
	}
	words := strings.Fields(s)
	for i, word := range words {
		if names[strings.Trim(word, ".,:;()“”\"")] {
			words[i] = "*"
		}
	}
	return strings.Join(words, " ")
}

// nodes are those that the finding is about, each once.
func (f *Finding) nodes() []string {
	var out distinct
	if f.Node != "" {
		out.add(f.Node)
	}
	for _, at := range f.At {
		if at.Node != "" {
			out.add(at.Node)
		}
	}
	return out.list
}

// objects are those of the API that the finding is about, each once: NAMESPACE/NAME, or
// KIND/NAME of those that are in no namespace.
func (f *Finding) objects() []string {
	var out distinct
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
		out.add(name)
	}
	return out.list
}

// describe says what a problem is, from its row or from its worst finding.
func (p *Problem) describe(hints inspect.Hints, findings []Finding, rows symptomRows) {
	inOrder := slices.SortedStableFunc(slices.Values(p.Findings), func(a, b int) int {
		return cmp.Or(cmp.Compare(findings[b].Severity, findings[a].Severity), compareBool(rows.in(&findings[b], p.ID).Proves, rows.in(&findings[a], p.ID).Proves))
	})
	worst := &findings[inOrder[0]]
	p.Assessment = worst.Assessment
	row := rows.in(worst, p.ID)
	advised := func(command string) bool {
		return strings.Contains(worst.Remediation.Text+" "+worst.Remediation.Command, command)
	}
	named := p.ID != "" && (len(p.Findings) > 1 || row.cause.Impact != "") && (len(row.cause.Commands) == 0 || slices.ContainsFunc(row.cause.Commands, advised))
	var nodes, objects, names distinct
	for _, i := range inOrder { // the worst is named first
		f := &findings[i]
		ofNodes, ofObjects := f.nodes(), f.objects()
		nodes.add(ofNodes...)
		objects.add(ofObjects...)
		if named && rows.in(f, p.ID).Object != (catalog.Ref{}) {
			continue // the title names it
		}
		if names.add(ofNodes...); len(ofNodes) == 0 && !(named && row.cause.OfNodes) {
			names.add(ofObjects...)
		}
	}
	if named && row.cause.OfNodes && len(nodes.list) == 0 { // the title is the same, whatever is chosen
		nodes.add(p.beside...)
		names.add(p.beside...)
	}
	p.Nodes, p.Objects, p.names = nodes.list, objects.list, names.list
	var others distinct
	others.add(p.Elsewhere...)
	p.Elsewhere = slices.DeleteFunc(others.list, func(node string) bool { return nodes.seen[node] })
	if !named {
		return // the finding says more than the row, or something else
	}
	p.Reason, p.Named, p.first, p.known = row.cause.Title, true, row.cause.First, row.cause.Impact != ""
	p.countRequests(findings)
	p.Impact = cmp.Or(row.cause.Impact, p.Impact)
	switch {
	case row.cause.Here != "" && len(p.Nodes) == 1 && foreign.Fit(p.Nodes[0]):
		p.Remediation = assess.FixedCommand(hints.Next(row.cause.Here, p.Nodes[0]))
	case row.cause.Remediation != "":
		p.Remediation = assess.FixedCommand(hints.Next(row.cause.Remediation))
	}
}

// distinct are names in the order in which they came, each once.
type distinct struct {
	list []string
	seen map[string]bool
}

func (d *distinct) add(names ...string) {
	for _, name := range names {
		if d.seen == nil {
			d.seen = map[string]bool{}
		}
		if !d.seen[name] {
			d.seen[name] = true
			d.list = append(d.list, name)
		}
	}
}

// Names are what the findings of a problem are about, those of its worst finding first, as they may
// stand in a line: nodes, and objects where a finding is about no node.
func (p *Problem) Names() []string {
	if p.told != nil {
		return p.told
	}
	out := make([]string, len(p.names))
	for i, n := range p.names {
		out[i] = foreign.Name(n)
	}
	return out
}
