package remediate

import (
	"maps"
	"sync"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// JoinRequests are what one run saw of requests to join, node by node. Anyone with the bootstrap
// token can make them in any node's name, so who asked beside a kubelet must not be forgotten
// while the run lasts: not when the kubelet is started again, and not from step to step.
type JoinRequests struct {
	mu    sync.Mutex // nodes are looked at side by side
	nodes map[string]JoinsSeen
}

// JoinsSeen is what was seen in the name of one node.
type JoinsSeen struct {
	started time.Time // the start of its kubelet that was read last, by the node's clock
	// Keys with which was asked since that start.
	Keys map[pki.Fingerprint]bool
	// Since is when that start or the last of these keys was first seen, by a look at which its kubelet
	// could ask, as at all looks since.
	Since time.Time
	// Contested: between two starts of its kubelet, there were several keys. It stays so.
	Contested bool
	// Approved is for which key this run approved a request; zero: for none. It stays so.
	Approved pki.Fingerprint
	// mute: at the last look, its kubelet could not ask.
	mute bool
}

// See notes the keys with which is asked since a start of a node's kubelet, and returns what is
// known by now.
func (j *JoinRequests) See(node string, started, now time.Time, keys map[pki.Fingerprint]bool) JoinsSeen {
	j.mu.Lock()
	defer j.mu.Unlock()
	seen, ok := j.nodes[node]
	if !ok || !seen.started.Equal(started) {
		seen = JoinsSeen{started: started, Since: now, Contested: seen.Contested, Approved: seen.Approved}
	}
	all := map[pki.Fingerprint]bool{}
	maps.Copy(all, keys)
	maps.Copy(all, seen.Keys)
	if len(all) > len(seen.Keys) || seen.mute {
		seen.Since = now
	}
	seen.Keys, seen.Contested, seen.mute = all, seen.Contested || len(all) > 1, false
	if j.nodes == nil {
		j.nodes = map[string]JoinsSeen{}
	}
	j.nodes[node] = seen
	seen.Keys = maps.Clone(all)
	return seen
}

// CouldNotAsk notes a look at which a node's kubelet could not ask, or which failed: it may sleep for long
// before it tries again. No node: the API server did not answer, and no kubelet could.
func (j *JoinRequests) CouldNotAsk(node string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for name, seen := range j.nodes {
		if node == "" || name == node {
			seen.mute = true
			j.nodes[name] = seen
		}
	}
}

// Approve notes that this run approves a request for this key. That its answer is lost does not undo it.
func (j *JoinRequests) Approve(node string, key pki.Fingerprint) {
	j.mu.Lock()
	defer j.mu.Unlock()
	seen := j.nodes[node]
	seen.Approved = key
	if j.nodes == nil {
		j.nodes = map[string]JoinsSeen{}
	}
	j.nodes[node] = seen
}
