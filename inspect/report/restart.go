package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// restartKind names the document that verify restart-safe prints as JSON and YAML,
// of the API version of inspect's (docs/output.md).
const restartKind = "RestartSafety"

// RestartReport says of each node whether its kubelet would come back if it was
// restarted now.
type RestartReport struct {
	APIVersion string              `json:"apiVersion"`
	Kind       string              `json:"kind"`
	Cluster    Cluster             `json:"cluster"`
	Taken      time.Time           `json:"taken"`
	Now        time.Time           `json:"now"`
	Nodes      []trust.RestartNode `json:"nodes"`
	NewNode    trust.RestartAnswer `json:"newNode"`
	Access     trust.RestartAnswer `json:"access"` // the user's own; an outage of one is no outage of the cluster, so that it does not count
	Gaps       []Gap               `json:"gaps"`
	Hints      inspect.Hints       `json:"-"` // of the facts
	lacks      bool                // control plane nodes: the file has none
}

// NewRestartReport judges the facts.
func NewRestartReport(ctx context.Context, f *inspect.Facts) RestartReport {
	s := &f.Snapshot
	r := RestartReport{
		APIVersion: APIVersion, Kind: restartKind, Cluster: ClusterOf(s.Cluster), Taken: s.Taken, Now: f.Now,
		Nodes: []trust.RestartNode{}, Gaps: []Gap{}, Hints: f.Hints(),
	}
	claims := trust.JudgeAllNodes(ctx, f)
	for i := range s.Nodes {
		r.Nodes = append(r.Nodes, trust.RestartOf(f, &s.Nodes[i], claims))
	}
	others := trust.LeftOutOfFile(f)
	for i := range others {
		r.Nodes = append(r.Nodes, trust.RestartOf(f, &others[i], claims))
	}
	slices.SortStableFunc(r.Nodes, func(a, b trust.RestartNode) int { return cmp.Compare(a.Name, b.Name) })
	r.NewNode, r.Access = trust.JoiningNode(f, claims), trust.UserAccess(f)
	for _, g := range s.Gaps {
		r.Gaps = append(r.Gaps, GapOf(g))
	}
	lacks := noControlPlane(s)
	r.Gaps, r.lacks = append(r.Gaps, lacks...), len(lacks) > 0
	return r
}

// Worst is the worst that is said of nodes, those that may be added included;
// unknown where no node was seen, or none of the control plane.
func (r *RestartReport) Worst() assess.Status {
	if len(r.Nodes) == 0 {
		return assess.Unknown
	}
	all := []assess.Status{r.NewNode.Status}
	if r.lacks {
		all = append(all, assess.Unknown)
	}
	for _, n := range r.Nodes {
		all = append(all, n.ComesBack.Status)
	}
	return assess.Worst(all...)
}
