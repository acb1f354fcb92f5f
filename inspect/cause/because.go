package cause

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// Because says how a problem came about, where the catalog knows that and the facts have it for each of its nodes;
// empty: they do not.
func (p *Problem) Because(f *inspect.Facts) string {
	rows := catalog.Causes()
	i := slices.IndexFunc(rows, func(c catalog.Cause) bool { return p.ID != "" && c.ID == p.ID })
	if i < 0 || rows[i].Because == "" || len(p.Nodes) == 0 {
		return ""
	}
	ca := f.UndeliveredCA()
	if ca == nil || ca.Replaced.After(f.Now) || slices.ContainsFunc(p.Nodes, func(n string) bool { return !f.LackOnNode(n, ca.CA) }) {
		return ""
	}
	format, since := rows[i].Because, ca.Replaced
	if presented := f.PresentedSince(ca); rows[i].Onset != "" && !presented.IsZero() && !presented.After(f.Now) {
		format, since = rows[i].Onset, presented
	}
	return fmt.Sprintf(format, duration.HumanDuration(f.Now.Sub(since)), f.Snapshot.Cluster.Versions.Product())
}
