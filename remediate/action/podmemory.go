package action

import (
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// started is when the oldest of them read its trust anchors, by the node's clock; zero:
// unknown. Of processes those count that run in these pods.
func (a RestartPods) started(n *inspect.Node) (oldest time.Time) {
	for _, p := range n.Processes {
		if p.Command == a.Row.Command && p.Platform() == catalog.Yes && a.has(p.PodUID) && (oldest.IsZero() || p.Started.Before(oldest)) {
			oldest = p.Started
		}
	}
	if !oldest.IsZero() {
		return oldest
	}
	for i, p := range a.Pods {
		at := p.Started
		if a.Row.ReadByInit {
			at = p.Accepted
		}
		if i == 0 || at.Before(oldest) {
			oldest = at
		}
	}
	return oldest
}

func (a RestartPods) has(uid string) bool {
	return slices.ContainsFunc(a.Pods, func(p inspect.Pod) bool { return p.UID == uid })
}

// accepted reports whether the kubelet took all of them not before then, by the node's
// clock.
func (a RestartPods) accepted(then time.Time) bool {
	return !slices.ContainsFunc(a.Pods, func(p inspect.Pod) bool { return p.Accepted.Before(then) })
}

// made is when the newest CA was made without which what the node is presented, or will be,
// does not verify; false where that is unknown. Behind one address there are several
// masters, and while they take up a new certificate they present different ones.
func (a RestartPods) made(snapshot inspect.Snapshot, n *inspect.Node, now time.Time) (at time.Time, known bool) {
	for _, ca := range a.Next {
		if ca.NotBefore.After(at) {
			at, known = ca.NotBefore, true
		}
	}
	if known {
		return at, known
	}
	own := catalog.KubeletKubeconfigs()[1]
	for _, k := range n.Kubeconfigs {
		c, ok := k.InUse()
		if !ok || k.Path != own {
			continue
		}
		address, name, err := c.Dialled()
		if err != nil {
			return at, false
		}
		served, _ := snapshot.ServedTo(n.Name, address)
		trusted := snapshot.Trusted(n.Name, k)
		if at, known = oldest(served.Chain, trusted, name, n.Time(now)); !known {
			continue
		}
		asked := [][]*pki.Cert{served.Chain} // many nodes are presented the same
		for _, v := range snapshot.Served {
			if v.Name != name || v.Address != address && v.Server != catalog.ListenerAPIServer || slices.ContainsFunc(asked, func(c []*pki.Cert) bool { return sameCerts(c, v.Chain) }) {
				continue
			}
			asked = append(asked, v.Chain)
			if pki.Cost(v.Chain, trusted) > pki.CostOfAnother {
				continue
			}
			if other, ok := oldest(v.Chain, trusted, name, n.Time(now)); ok && other.After(at) {
				at = other
			}
		}
	}
	return at, known
}

func sameCerts(a, b []*pki.Cert) bool {
	return slices.EqualFunc(a, b, func(a, b *pki.Cert) bool { return a.Fingerprint == b.Fingerprint })
}

// oldest is when the oldest of the CAs was made that verify a chain: with it, no other is
// wanted. Root on a worker chooses the chain and the CAs: those with which it costs much are left out.
func oldest(chain []*pki.Cert, cas []*pki.Cert, name string, now time.Time) (at time.Time, known bool) {
	for _, ca := range cas {
		one := []*pki.Cert{ca}
		if (!known || ca.NotBefore.Before(at)) && pki.Cost(chain, one) <= pki.CostOfAnother && pki.Verify(chain, one, name, now) == nil {
			at, known = ca.NotBefore, true
		}
	}
	return at, known
}
