package inspect

import (
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Delta is a change to facts: what an action would bring about. It never
// changes the facts that it is applied to.
type Delta interface{ change(s *Snapshot) }

// With returns the facts as they would be after these changes, in this order.
func (s Snapshot) With(deltas ...Delta) Snapshot {
	for _, d := range deltas {
		d.change(&s)
	}
	return s
}

// KubeconfigWritten says that a kubeconfig on a node gets another CA. What the
// kubelet has in memory stays as it is, until it is restarted.
type KubeconfigWritten struct {
	Node, Path string
	Field      string // of the certificate-authority-data
	CA         *pki.Content
	Text       []byte // the redacted text afterwards
	At         time.Time
}

func (d KubeconfigWritten) change(s *Snapshot) {
	s.edit(d.Node, func(n *Node) {
		n.Files = slices.Clone(n.Files)
		if f := n.File(d.Path); f != nil {
			f.Modified, f.SHA256, f.Size = d.At, pki.Fingerprint{}, int64(len(d.Text))
		}
		n.Kubeconfigs = slices.Clone(n.Kubeconfigs)
		for i := range n.Kubeconfigs {
			if n.Kubeconfigs[i].Path == d.Path {
				n.Kubeconfigs[i].Text = d.Text
			}
		}
	})
	at := pki.Location{Kind: pki.KindFile, Node: d.Node, Path: d.Path, Field: d.Field}
	s.Bundles = slices.Clone(s.Bundles)
	i := slices.IndexFunc(s.Bundles, func(b Bundle) bool { return b.At == at })
	if i < 0 {
		s.Bundles = append(s.Bundles, Bundle{At: at, Content: d.CA})
		s.Sort()
		return
	}
	s.Bundles[i].Content = d.CA
}

// KubeletRestarted says that a node's kubelet starts anew, and so reads its
// files.
type KubeletRestarted struct {
	Node string
	At   time.Time // by the node's clock
}

func (d KubeletRestarted) change(s *Snapshot) {
	s.edit(d.Node, func(n *Node) {
		n.Kubelet.Started, n.Kubelet.Active, n.Kubelet.Sub = d.At, "active", "running"
		if !n.Kubelet.Running.IsZero() {
			n.Kubelet.Running = d.At
		}
	})
}

// HeartbeatSeen says that a node reports to the API server again.
type HeartbeatSeen struct {
	Node string
	At   time.Time // by the node's clock
}

func (d HeartbeatSeen) change(s *Snapshot) {
	s.edit(d.Node, func(n *Node) { n.Heartbeat, n.Ready = d.At, "True" })
}

func (s *Snapshot) edit(node string, change func(*Node)) {
	s.Nodes = slices.Clone(s.Nodes)
	if n, ok := s.Node(node); ok {
		change(n)
	}
}
