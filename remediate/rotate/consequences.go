package rotate

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// Consequence is one thing that follows a rotation. Its form in JSON is described in
// docs/output.md.
type Consequence struct {
	Stage string `json:"stage"`
	At    string `json:"at"` // a place, or whose it is
	Text  string `json:"text"`
	By    string `json:"by"`
	// Node is what it does to each node: none, reload, kubelet restart, crio restart,
	// reboot. Absent: nothing is done to nodes.
	Node string `json:"onEachNode,omitempty"`
	// Rollout: static pods restart, on one control plane node after another.
	Rollout bool `json:"-"`
	// Undelivered: no operator of this version brings it there.
	Undelivered bool `json:"-"`
	// BlockedBy is what blocks it now, such as "MachineConfigPool/worker is paused".
	BlockedBy []string   `json:"blockedBy,omitempty"`
	From      *time.Time `json:"from,omitempty"` // at the earliest; absent: at once, or unknown
	Mark      string     `json:"mark"`           // of docs/catalog.md
	Source    string     `json:"source"`
}

// Consequences are the consequences of all that is planned: leaves that are rotated with their signer do
// not wait until they are due.
func (p Planned) Consequences() []Consequence {
	if !p.Rotates() {
		var out []Consequence
		for _, leaf := range p.Leaves {
			out = append(out, leaf.consequences()...)
		}
		return out
	}
	out := p.consequences()
	for _, leaf := range p.Leaves {
		for i, c := range out {
			if ok, err := path.Match(c.At, leaf.Of.At.String()); c.Stage == StageLeaf && ok && err == nil {
				out[i].Text, out[i].From = c.By+" rotates it with the new CA, once every client is seen to trust that CA", nil
			}
		}
	}
	return out
}

// subject is an actor before what it does.
func subject(actor string) string {
	if strings.Contains(actor, ", ") { // "kubelet, for client certificates,"
		actor += ","
	}
	return actor + " "
}

// consequences are what follows, in the order in which it does: what the catalog says of
// this version, with what is so in this cluster.
func (p Planned) consequences() []Consequence {
	out := []Consequence{}
	for _, s := range p.Of.Rotation.Flow(p.Of.At, p.Facts.Snapshot.Cluster.Versions) {
		if s.Stage == StageAggregates && s.Object.Kind != "" && len(entriesAt(p.Facts, s.Object)) == 0 && notThere(p.Facts, s.Object) {
			continue // this cluster has no such bundle
		}
		c := Consequence{Stage: s.Stage, At: s.To, Text: subject(s.Actor) + s.Action, By: s.Actor, Node: string(s.Node), Rollout: s.Rollout, Undelivered: s.Undelivered != "", Mark: string(s.Mark), Source: s.Source}
		switch {
		case s.Node != "":
			c.Text = s.Action
		case s.Reads != "": // by one or by many
			c.Text = "is read by " + strings.TrimSuffix(subject(s.Actor), " ") + " " + string(s.Reads)
		}
		switch {
		case s.Pools:
			c.BlockedBy = p.pausedPools()
		case s.Stage == catalog.FlowMasters:
			c.BlockedBy = p.unavailableNodes(func(n inspect.NodeState) bool { return n.Master })
		case s.Node != "":
			c.BlockedBy = p.unavailableNodes(func(inspect.NodeState) bool { return true })
		case s.Stage == catalog.FlowLeaf && p.Of.Signer() && slices.Contains(p.Of.Rotation.Targets, s.Object):
			if at, ok := p.resigned(s.Object); ok {
				c.From = &at
				c.Text += ": " + at.UTC().Format("2006-01-02 15:04 MST") + " at the earliest"
			}
		}
		if len(c.BlockedBy) > 0 {
			when := cmp.Or(p.Facts.Snapshot.AsOf(), "now")
			c.Text += "; blocked " + when + ": " + strings.Join(c.BlockedBy, "; ")
		}
		out = append(out, c)
	}
	return out
}

// pausedPools are the pools whose nodes get nothing for now, and what waits in them.
func (p Planned) pausedPools() []string {
	if p.ControlPlane == nil {
		return []string{"which pools are paused was not asked"}
	}
	if gap, ok := p.ControlPlane.Gap(catalog.Pools); ok {
		return []string{"which pools are paused could not be read: " + gap.Reason}
	}
	var out []string
	for _, pool := range p.ControlPlane.Pools {
		if !pool.Paused {
			continue
		}
		text := fmt.Sprintf("MachineConfigPool/%s is paused: %d nodes", pool.Name, pool.Machines)
		if pool.Current != pool.Desired {
			text += fmt.Sprintf(", which wait for %s already: what else is in that comes to them, too", pool.Desired)
		}
		out = append(out, text)
	}
	return out
}

// unavailableNodes are the nodes that get nothing as long as they are NotReady or have no
// heartbeat.
func (p Planned) unavailableNodes(which func(inspect.NodeState) bool) []string {
	if p.ControlPlane == nil {
		return nil
	}
	var out []string
	for _, n := range p.ControlPlane.Nodes {
		switch life := n.Health(); {
		case !which(n):
		case life.Unhealthy():
			out = append(out, "Node/"+n.Name+" "+life.WhyUnhealthy())
		case life.Healthy() != catalog.Yes:
			out = append(out, "whether Node/"+n.Name+" is alive is unknown ("+life.Heartbeat()+")")
		}
	}
	return out
}

// resigned says when what is signed is signed by a signer that is made now, at the
// earliest; false where that is unknown.
func (p Planned) resigned(target catalog.Ref) (time.Time, bool) {
	life, known := catalog.LifetimeOf(target, p.Facts.Snapshot.Cluster.Versions)
	for _, of := range p.All {
		if c := of.Cert(); of.At == target && c != nil && known == catalog.Yes && life.SelfRotating() {
			return life.EarliestReissue(c.NotBefore, c.NotAfter, p.Facts.Now), true
		}
	}
	return time.Time{}, false
}
