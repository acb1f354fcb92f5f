package undo

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
)

// BreaksTrust is the risk that a kubelet does not trust what it is shown
// afterwards.
const BreaksTrust = "breaks-trust"

// Undo puts back what a run changed on nodes.
type Undo struct {
	Nodes []NodeBackups
	API   bool // an API server can be asked whether nodes come back
	// AcceptBreaksTrust goes on although kubelets will not trust what they are
	// shown.
	AcceptBreaksTrust bool
	// AcceptRequestsPending goes on although requests in the nodes' names are pending.
	AcceptRequestsPending bool
}

// NodeBackups is what a node keeps of a run.
type NodeBackups struct {
	Node    string
	Backups []host.Backup
}

// Plan makes the plan for these facts, the last file first. The error is a
// *Refusal where it must not be done.
func (u Undo) Plan(run string, snapshot inspect.Snapshot, now time.Time) (*remediate.Plan, error) {
	before := remediate.NewBefore(snapshot, now)
	p, err := u.plan(run, snapshot, before, now, false)
	if err != nil {
		return nil, err
	}
	breach := breaks(p)
	if breach == "" {
		return p, nil
	}
	if !u.AcceptBreaksTrust {
		return nil, &remediate.Refusal{Name: BreaksTrust, Reason: breach, Risk: true, Next: "leave it as it is; or accept that the node has no heartbeat until this is repaired: --accept-risk=" + BreaksTrust}
	}
	if p, err = u.plan(run, snapshot, before, now, true); err != nil {
		return nil, err
	}
	p.Notes.Add(remediate.AcceptedNote(BreaksTrust + ": " + breach))
	return p, nil
}

// breaks says what the plan would break, or may, since it is unknown.
func breaks(p *remediate.Plan) string {
	for _, f := range p.Added {
		if f.Severity == assess.Critical {
			return fmt.Sprintf("afterwards %s (%s)", f.Line(), remediate.Places(f))
		}
	}
	for _, n := range p.Nodes() {
		for _, s := range n.Steps {
			if s.Change == nil {
				continue
			}
			if remediate.RestartsKubelet(s.Action) {
				// Its file may be the old one already, by an undo that was interrupted.
				own := catalog.KubeletKubeconfigs()[1]
				if node, ok := p.After.Node(n.Name); ok {
					own = inspect.KubeletSetupOf(p.After, node).Kubeconfig
				}
				if err := action.Trusts(p.After, n.Name, own, p.Now); err != nil {
					return "afterwards " + err.Error()
				}
			}
			if s.Change.File == nil {
				continue
			}
			if s.Change.File.Removed && s.Change.File.Path != catalog.KubeletKubeconfigs()[1] {
				if reason := outdone(p, n.Name, s.Change.File); reason != "" {
					return reason
				}
				continue
			}
			if s.Change.File.Removed && s.Change.File.Before == nil {
				continue // what will be is asked of the restart, above
			}
			if reason := unseen(p.Basis, n.Name, s.Change.File.Path); reason != "" {
				return reason
			}
		}
	}
	if len(p.Breaks) > 0 {
		return "afterwards " + remediate.SayEdge(p.Breaks[0])
	}
	return ""
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

func (u Undo) plan(run string, snapshot inspect.Snapshot, before *remediate.Before, now time.Time, blind bool) (*remediate.Plan, error) {
	d := remediate.NewDraft(run, snapshot, now)
	d.Before = before
	for i, kept := range u.Nodes {
		n, ok := snapshot.Node(kept.Node)
		if !ok || n.Via == "" {
			return nil, remediate.UnreadNode(snapshot, kept.Node)
		}
		if err := remediate.Identified(snapshot, kept.Node); err != nil {
			return nil, err
		}
		if err := csr.RefusePending(snapshot, kept.Node, now); err != nil && !u.AcceptRequestsPending {
			return nil, err
		} else if err != nil {
			d.Plan.Notes.Add(remediate.AcceptedNote(err.Error()))
		}
		d.AddNode(kept.Node)
		if len(kept.Backups) == 0 { // nothing there is the run's: neither a file, nor a restart
			continue
		}
		var changed []string
		// kept.Backups are by path; the kubelet's own file goes back first, as it was
		// written last.
		for _, entry := range slices.Backward(kept.Backups) {
			c, err := d.Step(action.RestoreFile{NodeName: kept.Node, Backup: entry, AcceptUntrusted: blind, RecheckRequests: u.API && !blind && !u.AcceptRequestsPending && len(changed) == 0 && csr.UnreadRequests(snapshot) == ""})
			if err != nil {
				return nil, err
			}
			if c != nil {
				changed = append(changed, entry.Before.Path)
			}
		}
		// With nothing left to put back it may still be due: an undo may have been
		// interrupted before it.
		restart := action.NewRestartKubelet(kept.Node, changed...)
		restart.AcceptUntrusted = blind
		restart.Restores = slices.ContainsFunc(kept.Backups, func(e host.Backup) bool { return n.KubeletReads(e.Before.Path) })
		c, err := d.Step(restart)
		if err != nil {
			return nil, err
		}
		more := i < len(u.Nodes)-1
		if c == nil && !more {
			continue
		}
		if blind {
			if c != nil {
				d.Note("Node %s will be NotReady: its kubelet will not trust the API server. Back in: ssh, and run the command again that is undone here.", kept.Node)
			}
			continue
		}
		if reason := csr.UnreadRequests(snapshot); c != nil && u.API && reason != "" {
			d.Note("Kubelets may wait for certificates, which this would take from them: their requests were not read: %s", reason)
		}
		if c != nil && !u.API {
			d.Note("No API server could be asked: whether nodes report again will not be seen.")
		}
		// With nothing left to do to it, its kubelet may have been restarted by an undo that
		// was interrupted before it was back.
		if err := action.AwaitReturn(d, kept.Node, u.API, more, action.LocalCAs(snapshot, n)); err != nil {
			return nil, err
		}
	}
	action.DropTrailingWaits(d, u.API)
	action.NoteSkippable(d)
	action.DropTrailingGates(d.Plan)
	p := d.Finish()
	if p.Empty() {
		p.Notes.Add(remediate.Note{Text: "Everything is as it was before the run: " + strings.TrimSpace(run)})
	}
	return p, nil
}
