package apply

import (
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// PastMasters is the line that repairs workers although a control plane node can't be
// recovered. line is how the command was called, but for --only and --accept-risk.
func PastMasters(line string, risks []string) string {
	if !slices.Contains(risks, preflight.MastersFirst) {
		risks = append(slices.Clone(risks), preflight.MastersFirst)
	}
	return line + " --only " + remediate.WaveWorkers + " --accept-risk=" + strings.Join(risks, ",")
}

// PastMastersMeans is what is left open by it.
const PastMastersMeans = "while it is not Ready, kube-controller-manager gets no new revision: kube-root-ca.crt may stay old, requests of kubelets may wait, and the waves control-plane and network are left for when it is replaced or removed"

// ofMaster reports whether a run stopped at a master.
func ofMaster(p *remediate.Plan, s *remediate.Stopped) bool {
	n, ok := p.Basis.Node(s.Action.Node())
	return ok && (inspect.RunsAPIServer(p.Basis, n) || n.Role == catalog.RoleArbiter)
}
