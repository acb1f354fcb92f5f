package undo

import (
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
)

// BackupRead is the check that what a node keeps of a run was read.
const BackupRead = "backup-read"

// Undo puts back what a run changed on nodes.
type Undo struct {
	Nodes []NodeBackups
	API   bool // an API server can be asked whether nodes come back
	// AcceptBreaksTrust goes on although kubelets will not trust what is presented to them. The steps of those
	// nodes alone do without what is asked of others.
	AcceptBreaksTrust bool
	// AcceptRequestsPending goes on although requests in the nodes' names are pending.
	AcceptRequestsPending bool
	// Line is how the command was called, but for what names nodes; empty: no next step names it.
	Line string
}

// NodeBackups is what a node keeps of a run.
type NodeBackups struct {
	Node    string
	Backups []host.Backup
	// Unread is why what it keeps is unknown, with the failure as the Cause; nil: it was read.
	Unread *remediate.Refusal
}

// Plan makes the plan for these facts, the last file first. Workers that it can't be done on are left out, each with
// why, as long as there is something to do on others. The error is a *Refusal where it must not be done.
func (u Undo) Plan(run string, snapshot inspect.Snapshot, now time.Time) (*remediate.Plan, error) {
	m := &making{
		Undo: u, run: run, snapshot: snapshot, now: now, before: remediate.NewBefore(snapshot, now),
		apart: map[string]leftOut{}, blind: map[string]bool{},
	}
	for {
		d, more, err := m.draft()
		if err != nil {
			return nil, err
		}
		if more {
			continue
		}
		p := d.Finish()
		if more, err = m.judge(p); err != nil {
			return nil, err
		}
		if !more {
			return m.finished(p)
		}
	}
}

// making is a plan in the making: it is made again until nothing more is found out about its nodes.
type making struct {
	Undo
	run      string
	snapshot inspect.Snapshot
	now      time.Time
	before   *remediate.Before
	apart    map[string]leftOut // workers that are left out, by name
	blind    map[string]bool    // nodes whose kubelets will not trust what is presented to them, which was accepted
}

// draft makes the steps of all nodes that are not left out. more: further ones are, and it is to be made again.
func (m *making) draft() (d *remediate.Draft, more bool, err error) {
	d = remediate.NewDraft(m.run, m.snapshot, m.now)
	d.Before = m.before
	nodes := slices.DeleteFunc(slices.Clone(m.Nodes), func(kept NodeBackups) bool { _, out := m.apart[kept.Node]; return out })
	wave := remediate.Wave{Parallel: 1}
	for i, kept := range nodes {
		planned, err := d.NodeSteps(kept.Node, func(d *remediate.Draft) error { return m.node(d, kept, i < len(nodes)-1) })
		switch {
		case err == nil:
			wave.Nodes = append(wave.Nodes, planned)
		case m.leaveOut(kept.Node, err):
			more = true
		default:
			return nil, false, err
		}
	}
	d.AddWave(wave)
	action.DropTrailingWaits(d, m.API)
	action.NoteSkippable(d)
	action.DropTrailingGates(d.Plan)
	return d, more, nil
}

// node makes the steps of a node. more: others come after it.
func (m *making) node(d *remediate.Draft, kept NodeBackups, more bool) error {
	n, ok := m.snapshot.Node(kept.Node)
	if kept.Unread != nil && !m.worker(kept.Node) {
		return kept.Unread.Cause
	}
	if !ok || n.Via == "" {
		return remediate.UnreadNode(m.snapshot, kept.Node)
	}
	if err := remediate.Identified(m.snapshot, kept.Node); err != nil {
		return err
	}
	if kept.Unread != nil {
		return kept.Unread
	}
	pending := csr.RefusePending(m.snapshot, kept.Node, m.now)
	if pending != nil && !m.AcceptRequestsPending {
		return pending
	}
	if pending != nil {
		d.Plan.Notes.Add(remediate.AcceptedNote(pending.Error()))
	}
	if len(kept.Backups) == 0 { // nothing there is the run's: neither a file, nor a restart
		return nil
	}
	changed, err := m.restore(d, kept, pending == nil)
	if err != nil {
		return err
	}
	blind := m.blind[kept.Node]
	// With nothing left to put back it may still be due: an undo may have been
	// interrupted before it.
	restart := action.NewRestartKubelet(kept.Node, changed...)
	restart.AcceptUntrusted = blind
	restart.Restores = slices.ContainsFunc(kept.Backups, func(e host.Backup) bool { return n.KubeletReads(e.Before.Path) })
	c, err := d.Step(restart)
	switch {
	case err != nil:
		return err
	case c == nil && !more:
		return nil
	case blind && c != nil:
		d.Note("Node %s will be NotReady: its kubelet will not trust the API server. Back in: ssh, and run the command again that is undone here.", kept.Node)
		return nil
	case blind:
		return nil
	}
	if reason := csr.UnreadRequests(m.snapshot); c != nil && m.API && reason != "" {
		d.Note("Kubelets may wait for certificates, which this would take from them: their requests were not read: %s", reason)
	}
	if c != nil && !m.API {
		d.Note("No API server could be asked: whether nodes report again will not be seen.")
	}
	// With nothing left to do to it, its kubelet may have been restarted by an undo that
	// was interrupted before it was back.
	return action.AwaitReturn(d, kept.Node, m.API, more, action.LocalCAs(m.snapshot, n))
}

// restore puts the files of a node back, and tells which are not as they were. recheck: whether its kubelet waits for a
// certificate is asked once more before.
func (m *making) restore(d *remediate.Draft, kept NodeBackups, recheck bool) (changed []string, err error) {
	blind := m.blind[kept.Node]
	recheck = recheck && m.API && !blind && csr.UnreadRequests(m.snapshot) == ""
	// kept.Backups are by path; the kubelet's own file goes back first, as it was
	// written last.
	for _, entry := range slices.Backward(kept.Backups) {
		c, err := d.Step(action.RestoreFile{NodeName: kept.Node, Backup: entry, AcceptUntrusted: blind, RecheckRequests: recheck && len(changed) == 0})
		if err != nil {
			return nil, err
		}
		if c != nil {
			changed = append(changed, entry.Before.Path)
		}
	}
	return changed, nil
}

// worker reports whether a node is one, by its labels: where they are unknown, it is none.
func (m *making) worker(node string) bool {
	n, ok := m.snapshot.Node(node)
	return ok && n.Role == catalog.RoleWorker
}

// finished adds to a plan which workers it leaves out. Where there is nothing else to do, the first of them decides.
func (m *making) finished(p *remediate.Plan) (*remediate.Plan, error) {
	for _, kept := range m.Nodes {
		left, out := m.apart[kept.Node]
		switch {
		case !out:
		case p.Empty() && kept.Unread != nil:
			return nil, kept.Unread.Cause
		case p.Empty():
			return nil, left.cause
		default:
			p.Unknown = append(p.Unknown, left.why)
		}
	}
	if p.Empty() {
		p.Notes.Add(remediate.Note{Text: "Everything is as it was before the run: " + strings.TrimSpace(m.run)})
	}
	return p, nil
}
