package undo

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
)

// leftOut is a worker that is left out: root on it, and who asks in its name, must not keep the others as they are.
type leftOut struct {
	cause error // as it would stop an undo of this node alone
	why   *remediate.Refusal
}

// leaveOut leaves a worker out, and reports whether it could: what is wrong with a control plane node stops all.
func (m *making) leaveOut(node string, cause error) bool {
	if _, out := m.apart[node]; out || !m.worker(node) {
		return false
	}
	var r *remediate.Refusal
	if !errors.As(cause, &r) {
		r = &remediate.Refusal{Name: remediate.FileRead, Reason: foreign.Prose(cause.Error())}
	}
	why := *r
	why.Node = node
	if m.Line != "" {
		why.Next = m.takesAgain(why, node)
	}
	m.apart[node] = leftOut{cause, &why}
	return true
}

// takesAgain is the next step for a worker that was left out, with the line that takes it again, and no other.
func (m *making) takesAgain(why remediate.Refusal, node string) string {
	line := foreign.Command(inspect.NodeNames, "%s --nodes %s", foreign.Words(m.Line), node)
	switch {
	case why.Name == remediate.BreaksTrust && foreign.Fit(node):
		return accepting + line + " --accept-risk=" + remediate.BreaksTrust
	case why.Next == "":
		return "take it up: " + line
	}
	return why.Next + "; then: " + line
}

// accepting is the next step where trust would be broken.
const accepting = "leave it as it is; or accept that the node has no heartbeat until this is repaired: "

// breach is what a plan would break, or may, since it is unknown.
type breach struct {
	nodes  []string // those that the plan changes and that it is about; none: it stops all
	reason string
}

// judge finds out what a plan would break. Workers with which it would are left out, or where that was accepted,
// nodes that will not trust what is presented to them are not waited for; more: it is to be made again for that.
func (m *making) judge(p *remediate.Plan) (more bool, err error) {
	found := breaches(p)
	if m.AcceptBreaksTrust {
		for _, n := range p.Nodes() {
			if !m.blind[n.Name] && (untrusted(p, n) != "" || waitsInVain(p, n)) {
				m.blind[n.Name], more = true, true
			}
		}
		for _, b := range found {
			p.Notes.Add(remediate.AcceptedNote(remediate.BreaksTrust + ": " + b.reason))
		}
		return more, nil
	}
	for _, b := range found {
		for _, node := range b.nodes {
			more = m.leaveOut(node, refusal(b)) || more
		}
	}
	if more || len(found) == 0 {
		return more, nil
	}
	return false, refusal(found[0])
}

func refusal(b breach) *remediate.Refusal {
	return &remediate.Refusal{Name: remediate.BreaksTrust, Reason: b.reason, Risk: true, Next: accepting + "--accept-risk=" + remediate.BreaksTrust}
}

// breaches are what a plan would break.
func breaches(p *remediate.Plan) (out []breach) {
	for _, f := range p.Added {
		if f.Severity == assess.Critical {
			out = append(out, breach{changedAt(p, f.At...), fmt.Sprintf("afterwards %s (%s)", f.Line(), remediate.Places(f))})
		}
	}
	for _, n := range p.Nodes() {
		if reason := untrusted(p, n); reason != "" {
			out = append(out, breach{[]string{n.Name}, reason})
		}
	}
	for _, c := range p.Breaks {
		at := append([]pki.Location{{Node: c.Node}, c.Presented}, c.Trust...)
		out = append(out, breach{changedAt(p, at...), "afterwards " + remediate.SayEdge(c)})
	}
	return out
}

// changedAt are the nodes among these places that a plan changes.
func changedAt(p *remediate.Plan, at ...pki.Location) (nodes []string) {
	for _, n := range p.Nodes() {
		if n.Changes() && slices.ContainsFunc(at, func(l pki.Location) bool { return l.Node == n.Name }) {
			nodes = append(nodes, n.Name)
		}
	}
	return nodes
}

// untrusted says why a kubelet will not trust what is presented to it, or may not, since it is unknown; empty: it will.
func untrusted(p *remediate.Plan, n remediate.NodePlan) string {
	for _, s := range n.Due() {
		if remediate.RestartsKubelet(s.Action) {
			// Its file may be the old one already, by an undo that was interrupted.
			if err := ownTrusts(p, n.Name); err != nil {
				return "afterwards " + err.Error()
			}
		}
		f := s.Change.File
		switch {
		case f == nil:
		case f.Removed && f.Path != catalog.KubeletKubeconfigs()[1]:
			if reason := outdone(p, n.Name, f); reason != "" {
				return reason
			}
		case f.Removed && f.Before == nil: // what will be is asked of the restart, above
		default:
			if reason := unseen(p.Basis, n.Name, f.Path); reason != "" {
				return reason
			}
			if err := action.Trusts(p.After, n.Name, f.Path, p.Now); err != nil { // as is asked once it is put back
				return "afterwards " + err.Error()
			}
		}
	}
	return ""
}

// ownTrusts says whether a kubelet will trust what is presented to it, by its own file.
func ownTrusts(p *remediate.Plan, node string) error {
	own := catalog.KubeletKubeconfigs()[1]
	if n, ok := p.After.Node(node); ok {
		own = inspect.KubeletSetupOf(p.After, n).Kubeconfig
	}
	return action.Trusts(p.After, node, own, p.Now)
}

// waitsInVain reports whether a node is waited for that an undo which was interrupted left without trust.
func waitsInVain(p *remediate.Plan, n remediate.NodePlan) bool {
	return slices.ContainsFunc(n.Due(), func(s remediate.Step) bool { return remediate.AwaitsNode(s.Action) }) && ownTrusts(p, n.Name) != nil
}

// outdone says which certificate an undo would take from a kubelet: the run took the one
// before it away as it was of no more use.
func outdone(p *remediate.Plan, node string, f *remediate.FileChange) string {
	n, ok := p.Basis.Node(node)
	cert := inspect.KubeletClientCert(p.Basis, node)
	if !ok || f.Link == "" || cert == nil || cert.NotAfter.Before(n.Time(p.Now)) {
		return ""
	}
	return fmt.Sprintf("afterwards the kubelet on %s lacks the client certificate of sha256 %s, valid until %s: it has the unusable one that the run removed", node, cert.Fingerprint.Short(), cert.NotAfter.UTC().Format(time.RFC3339))
}

// unseen says why it is unknown what the server of a kubeconfig presents.
func unseen(snapshot inspect.Snapshot, node, path string) string {
	n, ok := snapshot.Node(node)
	if !ok {
		return "node " + node + " was not read"
	}
	for _, k := range n.Kubeconfigs {
		c, ok := k.InUse()
		if k.Path != path || !ok {
			continue
		}
		address, _, err := c.Dialled()
		if err != nil {
			return err.Error()
		}
		if _, ok := snapshot.ServedTo(node, address); !ok {
			return fmt.Sprintf("whether %s will be trusted is unknown: %s", address, action.WhyUnread(snapshot, address))
		}
		return ""
	}
	return path + " on " + node + " was not read"
}
