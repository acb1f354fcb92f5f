package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// pastMasters is the line that repairs workers although a master is lost for good. line
// is how the command was called, but for --only and --accept-risk.
func pastMasters(line string, risks []string) string {
	if !slices.Contains(risks, preflight.MastersFirst) {
		risks = append(slices.Clone(risks), preflight.MastersFirst)
	}
	return line + " --only " + remediate.WaveWorkers + " --accept-risk=" + strings.Join(risks, ",")
}

// pastMastersMeans is what is left open by it.
const pastMastersMeans = "while it is not Ready, kube-controller-manager gets no new revision: kube-root-ca.crt may stay old, requests of kubelets may wait, and the waves control-plane and network are left for when it is replaced or removed"

// withPast adds the line to a refusal to go past masters.
func withPast(err error, line string) error {
	var r *remediate.Refusal
	if line == "" || !errors.As(err, &r) || r.Name != preflight.MastersFirst {
		return err
	}
	more := *r
	more.Next += fmt.Sprintf("\nwhere such a master is lost for good: %s\n  (%s)", line, pastMastersMeans)
	return &more
}

// ofMaster reports whether a run stopped at a master.
func ofMaster(p *remediate.Plan, s *remediate.Stopped) bool {
	n, ok := p.Basis.Node(s.Action.Node())
	return ok && (inspect.RunsAPIServer(p.Basis, n) || n.Role == catalog.RoleArbiter)
}

// verified asks, after a run of the whole cluster, what verify api-int asks, of facts that
// are read anew. That something is not known is said and is no failure of the run, of
// which each step was seen to work: a server's log tells of refusals for a while after.
func (f *fixFlags) verified(ctx context.Context, a *applying) error {
	v := verifyFlags{app: f.app, config: f.config, nodes: f.nodes}
	v.nodes.nodes = []string{allNodes}
	called := inspect.LiveHints(f.app.Called).Next("{} verify %s --nodes all", partWords()[slices.Index(catalog.Parts(), catalog.PartAPIInt)])
	if f.nodes.via != viaAuto {
		called += " --via " + f.nodes.via
	}
	s, err := v.read(ctx)
	if err == nil && ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	if err != nil {
		return &exitError{code: exitIncomplete, err: withHint(fmt.Errorf("everything was done, and whether everybody trusts api-int could not be asked: %w", err), "%s", called)}
	}
	return judged(a, report.NewVerification(inspect.NewFacts(s, s.Taken, defaultWithin), catalog.PartAPIInt), called)
}

// judged tells what a report says: a line, and one more for each claim that does not hold,
// or of which that is not known, with the nodes that it is about, three at most. called is the command that shows all of it.
func judged(a *applying, r report.Verification, called string) error {
	code := exitFine
	var e *exitError
	if errors.As((&verifyFlags{}).verdict(&r), &e) {
		code = e.code
	}
	a.say("\nVerified  %s (%s: exit code %d)\n", claimTally(r.Claims), called, code)
	left := &strings.Builder{}
	for _, g := range groupClaims(r.Claims, string(catalog.PartAPIInt)) {
		if c := g[0]; c.Status != trust.Holds.String() {
			about := ""
			if nodes := g.nodes(); len(nodes) > 0 {
				about = " (" + few(nodes, 3) + ")"
			}
			wrap(left, "  "+statusMark(c.Status)+" ", clean(c.Claim+about+": "+oneLine(c.Why)))
		}
	}
	a.say("%s", left)
	if r.Worst() < trust.WillBreak {
		return nil
	}
	var first string
	for _, c := range r.Claims {
		if c.Status == trust.Broken.String() || c.Status == trust.WillBreak.String() {
			first = fmt.Sprintf("%s: %s: %s %s", c.Claim, c.Status, where(c), c.Why)
			break
		}
	}
	return &exitError{code: exitIncomplete, err: withHint(fmt.Errorf("everything was done, and not everybody trusts api-int: %s", strings.TrimSpace(first)), "%s", called)}
}
