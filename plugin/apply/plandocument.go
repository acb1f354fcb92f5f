package apply

import (
	"io"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// The document that -o json and -o yaml print; see docs/output.md.
type (
	planDocument struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Command    string `json:"command"`
		Run        string `json:"run"`
		Server     string `json:"server,omitempty"`
		Version    string `json:"version,omitempty"`
		Unreviewed string `json:"unreviewed,omitempty"` // versions that run and were not reviewed
		// Unauthenticated says why another server than the API server may have answered.
		Unauthenticated string        `json:"unauthenticated,omitempty"`
		Notes           []string      `json:"notes"`
		Checks          []PlanCheck   `json:"checks"`   // of the whole cluster; none where nothing is to be done
		Accepted        []string      `json:"accepted"` // checks that do not pass, by ID
		Waves           []planWave    `json:"waves"`
		Nodes           []planNode    `json:"nodes"`
		Unknown         []planUnknown `json:"unknown"`
		Solved          []planFinding `json:"solved"`
		Served          []planServed  `json:"served"`
	}
	planWave struct {
		Name     string `json:"name"`
		Reason   string `json:"reason"`
		Parallel int    `json:"parallel"`
	}
	planUnknown struct {
		Node string `json:"node,omitempty"`
		assess.Assessment
	}
	planNode struct {
		Name      string     `json:"name"` // empty: the cluster itself
		Wave      string     `json:"wave,omitempty"`
		Via       string     `json:"via,omitempty"`
		Ready     string     `json:"ready,omitempty"`
		Alive     string     `json:"alive,omitempty"`     // "yes", "no", "unknown", by its Lease; absent: the API was not asked
		Heartbeat string     `json:"heartbeat,omitempty"` // why it is not yes
		Steps     []planStep `json:"steps"`
	}
	planStep struct {
		Action  string    `json:"action"`
		Change  bool      `json:"change"` // false: it is already up to date
		Summary string    `json:"summary,omitempty"`
		File    *planFile `json:"file,omitempty"`
	}
	planFile struct {
		Path    string          `json:"path"`
		SHA256  pki.Fingerprint `json:"sha256"`          // of the file now
		Taken   bool            `json:"taken,omitempty"` // it is removed, or put back
		Added   []PlanCert      `json:"added"`
		Removed []PlanCert      `json:"removed"`
		Kept    []PlanCert      `json:"kept"`
	}
	// PlanCert is a certificate in it.
	PlanCert struct {
		SHA256    pki.Fingerprint `json:"sha256"`
		Subject   string          `json:"subject"`
		NotBefore time.Time       `json:"notBefore"`
		NotAfter  time.Time       `json:"notAfter"`
	}
	// PlanCheck is a check before a change.
	PlanCheck struct {
		assess.Assessment
		Acceptable bool `json:"acceptable"`            // by --accept-risk and its ID
		NoAPI      bool `json:"noAPIServer,omitempty"` // only an API server could tell, and none was asked
	}
	planFinding struct {
		assess.Assessment
		Locations []pki.Location `json:"locations"`
	}
	planServed struct {
		Node    string     `json:"node"`
		Address string     `json:"address"`
		Chain   []PlanCert `json:"chain"`
	}
)

func printPlanDocument(out io.Writer, format, command string, p *remediate.Plan) error {
	d := planDocument{
		APIVersion: report.APIVersion, Kind: "Plan", Command: command, Run: p.RunID,
		Server: p.Basis.Cluster.Server, Version: p.Basis.Cluster.Versions.Cluster, Unreviewed: p.Basis.Cluster.Versions.WhyUnreviewed(), Unauthenticated: p.Basis.Cluster.Unauthenticated,
		Notes: p.Notes.Texts(), Checks: ChecksDocument(p.Checked.Verdicts), Accepted: append([]string{}, p.Checked.Accepted...), Waves: []planWave{}, Nodes: []planNode{}, Solved: []planFinding{}, Served: []planServed{},
	}
	for _, w := range p.Waves {
		if w.Name != "" {
			d.Waves = append(d.Waves, planWave{w.Name, w.Why, w.Parallel})
		}
		for _, n := range w.Nodes {
			d.Nodes = append(d.Nodes, nodeDocument(p, w, n))
		}
	}
	d.Unknown = unknownDocuments(p)
	for _, f := range p.Solved {
		d.Solved = append(d.Solved, planFinding{f.Assessment, f.At})
	}
	for _, v := range p.Basis.Served {
		if v.Server == "" {
			d.Served = append(d.Served, planServed{v.Node, v.Address, certDocuments(v.Chain, nil, false)})
		}
	}
	return ui.PrintDocument(out, format, d)
}

// ChecksDocument are checks before a change, as documents have them.
func ChecksDocument(verdicts []remediate.Verdict) []PlanCheck {
	out := []PlanCheck{}
	for _, v := range verdicts {
		out = append(out, PlanCheck{v.Assessment, v.Risk, v.NoAPIServer})
	}
	return out
}

func nodeDocument(p *remediate.Plan, w remediate.Wave, n remediate.NodePlan) planNode {
	pn := planNode{Name: n.Name, Wave: w.Name, Steps: []planStep{}}
	if node, ok := p.Basis.Node(n.Name); ok {
		pn.Via, pn.Ready = node.Via, node.Ready
		pn.Alive, pn.Heartbeat = p.Basis.NodeHealth(node).Words()
	}
	for _, s := range n.Steps {
		pn.Steps = append(pn.Steps, stepDocument(s))
	}
	return pn
}

func unknownDocuments(p *remediate.Plan) []planUnknown {
	out := []planUnknown{}
	for _, r := range p.Unknown {
		out = append(out, planUnknown{r.Node, r.Assess()})
	}
	return out
}

func stepDocument(s remediate.Step) planStep {
	d := planStep{Action: s.Action.ID(), Change: s.Change != nil}
	if s.Change == nil {
		return d
	}
	d.Summary = s.Change.Summary
	if f := s.Change.File; f != nil {
		d.File = &planFile{Path: f.Path, SHA256: f.SHA256, Taken: f.Removed, Added: certDocuments(f.New, f.Old, false), Removed: certDocuments(f.Old, f.New, false), Kept: certDocuments(f.Old, f.New, true)}
	}
	return d
}

// certDocuments are those of certs that are, or are not, in others.
func certDocuments(certs, others []*pki.Cert, in bool) []PlanCert {
	out := []PlanCert{}
	for _, c := range certs {
		if contains(others, c) == in {
			out = append(out, PlanCert{SHA256: c.Fingerprint, Subject: c.Subject, NotBefore: c.NotBefore, NotAfter: c.NotAfter})
		}
	}
	return out
}
