package inspect

import (
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
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
// kubelet loaded stays as it is, until it is restarted.
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

// FileRemoved says that a file or link on a node is not there any more.
type FileRemoved struct{ Node, Path string }

func (d FileRemoved) change(s *Snapshot) {
	s.edit(d.Node, func(n *Node) {
		n.Files = slices.DeleteFunc(slices.Clone(n.Files), func(f NodeFile) bool { return f.Path == d.Path })
		n.Kubeconfigs = slices.DeleteFunc(slices.Clone(n.Kubeconfigs), func(k Kubeconfig) bool { return k.Path == d.Path })
	})
	s.Bundles = slices.DeleteFunc(slices.Clone(s.Bundles), func(b Bundle) bool { return b.At.Node == d.Node && b.At.Path == d.Path })
}

// KubeconfigCopied says that a kubeconfig on a node becomes what another one is, as far as
// clusters and CAs go: one that root alone may read, as a kubelet makes it.
type KubeconfigCopied struct {
	Node, From, To string
	At             time.Time
}

func (d KubeconfigCopied) change(s *Snapshot) {
	FileRemoved{d.Node, d.To}.change(s)
	s.edit(d.Node, func(n *Node) {
		if f := n.File(d.From); f != nil {
			like := *f
			like.Path, like.Modified = d.To, d.At
			like.Mode, like.UID, like.GID, like.Secret = 0o600, 0, 0, false
			n.Files = append(n.Files, like)
		}
		for _, k := range n.Kubeconfigs {
			if k.Path == d.From {
				k.Path = d.To
				n.Kubeconfigs = append(n.Kubeconfigs, k)
				break
			}
		}
	})
	for _, b := range s.Bundles {
		if b.At.Node == d.Node && b.At.Path == d.From {
			b.At.Path = d.To
			s.Bundles = append(s.Bundles, b)
		}
	}
	s.Sort()
}

// CAsRemoved says that CAs are removed from a bundle, and then by operators from the bundles that they make of it,
// unless another part has them, or may: one was not read. Files on nodes stay as they are: machine-config-operator
// and the installers of static pods write them at a time of their own.
type CAsRemoved struct {
	From catalog.Ref
	CAs  []*pki.Cert
	At   time.Time
}

func (d CAsRemoved) change(s *Snapshot) {
	before := NewFacts(*s, d.At, 0).Compositions()
	s.Bundles = slices.Clone(s.Bundles)
	without := contents{}
	for i := range s.Bundles {
		if at := s.Bundles[i].At; d.From.Fits(string(at.Kind), at.Namespace, at.Name, at.Key) {
			without.drop(&s.Bundles[i], d.CAs)
		}
	}
	for more := true; more; {
		more = false
		for i, c := range NewFacts(*s, d.At, 0).Compositions() {
			var gone []*pki.Cert
			for _, ca := range d.CAs {
				_, was := before[i].Expected[ca.Fingerprint]
				if _, is := c.Expected[ca.Fingerprint]; was && !is && len(c.unread) == 0 {
					gone = append(gone, ca)
				}
			}
			for _, t := range c.Targets { // Facts point into the snapshot's bundles
				more = without.drop(t.Bundle, gone) || more
			}
		}
	}
}

// contents are what is left of contents that certificates are dropped from: places that share one still do.
type contents map[*pki.Content]*pki.Content

// drop takes certificates out of a bundle, and reports whether any of them was in it.
func (left contents) drop(b *Bundle, certs []*pki.Cert) bool {
	gone := func(c *pki.Cert) bool { return pki.Contains(certs, c) }
	if !slices.ContainsFunc(b.Content.Certs, gone) {
		return false
	}
	if left[b.Content] == nil {
		rest := *b.Content
		rest.Certs = slices.DeleteFunc(slices.Clone(rest.Certs), gone)
		left[b.Content] = &rest
	}
	b.Content = left[b.Content]
	return true
}

// KubeletRestarted says that a node's kubelet starts again, and so reads its
// files.
type KubeletRestarted struct {
	Node string
	At   time.Time // by the node's clock
}

func (d KubeletRestarted) change(s *Snapshot) {
	s.edit(d.Node, func(n *Node) {
		n.Kubelet.Started, n.Kubelet.Active, n.Kubelet.Sub = d.At, "active", "running"
		if !n.Kubelet.Notified.IsZero() {
			n.Kubelet.Notified = d.At
		}
	})
}

// HeartbeatRead says that a node reports to the API server again.
type HeartbeatRead struct {
	Node string
	At   time.Time // by the node's clock
}

func (d HeartbeatRead) change(s *Snapshot) {
	s.edit(d.Node, func(n *Node) { n.Heartbeat, n.Ready, n.Lease = d.At, "True", Lease{Advanced: true} })
}

func (s *Snapshot) edit(node string, change func(*Node)) {
	s.Nodes = slices.Clone(s.Nodes)
	if n, ok := s.Node(node); ok {
		change(n)
	}
}
