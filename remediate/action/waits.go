package action

import (
	"net"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// AwaitReturn adds the waits for a node whose kubelet was restarted, by this plan or by a run
// that was stopped before the node was back. more: others are begun after it, before which
// the kube-apiserver of a master is to answer, trusted by ca beside what is known.
func AwaitReturn(d *remediate.Draft, name string, api, more bool, ca []byte) error {
	ask := func() error {
		n, ok := d.Snapshot.Node(name)
		if !ok || !more {
			return nil
		}
		return gate(d, n, ca)
	}
	if !api { // what is unknown of it from here ends its steps
		if err := ask(); err != nil {
			return err
		}
	}
	if _, err := d.Step(AwaitNode{NodeName: name}); err != nil || !api {
		return err
	}
	return ask()
}

// DropTrailingWaits takes the waits from nodes to which nothing else is done, and after which nothing
// is: without an API it is unknown whether nodes are back, and they would be asked for
// ever. Where it is known that a master is not, that is waited for.
func DropTrailingWaits(d *remediate.Draft, api bool) {
	for i := len(d.Plan.Waves) - 1; i >= 0; i-- {
		for j := len(d.Plan.Waves[i].Nodes) - 1; j >= 0; j-- {
			n := &d.Plan.Waves[i].Nodes[j]
			was, ok := d.Plan.Basis.Node(n.Name)
			switch {
			case !n.Changes():
			case !ok || !OnlyWaits(*n), api && inspect.RunsAPIServer(d.Snapshot, was), hasPending(*n, d.Plan.Basis):
				return
			default:
				*n = WithoutWaits(d, *n)
			}
		}
	}
}

// NoteSkippable says how to go past nodes that are waited for, and to which nothing else is done.
// Never skip a control plane node: while it has no heartbeat, no other one may lose its own.
func NoteSkippable(d *remediate.Draft) {
	nodes := d.Plan.Nodes()
	for i, n := range nodes {
		f, ok := d.Snapshot.Node(n.Name)
		if !ok || !OnlyWaits(n) || i == len(nodes)-1 || inspect.RunsAPIServer(d.Snapshot, f) {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(nodes), func(o remediate.NodePlan) bool { return o.Name == n.Name })
		d.Note("All steps on %s are done, and it is not confirmed to be back: the next node waits for it. If it does not come back, leave it out: %s", n.Name, foreign.Command(inspect.NodeNames, "--nodes %s", foreign.Commas(namesOfNodes(others))))
	}
}

// namesOfNodes leaves out the steps of the cluster.
func namesOfNodes(nodes []remediate.NodePlan) (out []string) {
	for _, n := range nodes {
		if n.Name != "" {
			out = append(out, n.Name)
		}
	}
	return out
}

// OnlyWaits reports whether all that is due there is to wait for what was done before.
func OnlyWaits(n remediate.NodePlan) bool {
	for _, s := range n.Due() {
		if !remediate.Waits(s.Action) {
			return false
		}
	}
	return n.Changes()
}

// WithoutWaits is a node that is not waited for: it is as it was before. A request of it that is
// pending is looked at.
func WithoutWaits(d *remediate.Draft, n remediate.NodePlan) remediate.NodePlan {
	d.Snapshot.Nodes = slices.Clone(d.Snapshot.Nodes)
	now, ok := d.Snapshot.Node(n.Name)
	if was, read := d.Plan.Basis.Node(n.Name); ok && read {
		now.Ready, now.Heartbeat, now.Lease = was.Ready, was.Heartbeat, was.Lease
	}
	pending := hasPending(n, d.Plan.Basis)
	n.Steps = slices.DeleteFunc(slices.Clone(n.Steps), func(s remediate.Step) bool {
		_, answers := s.Action.(answerer)
		return remediate.Waits(s.Action) && (!answers || !pending)
	})
	return n
}

// answerer is an action that answers requests of a kubelet.
type answerer interface {
	Pending(snapshot inspect.Snapshot) bool
}

// hasPending reports whether a request of its kubelet is pending, and to be looked at.
func hasPending(n remediate.NodePlan, snapshot inspect.Snapshot) bool {
	return slices.ContainsFunc(n.Due(), func(s remediate.Step) bool {
		a, ok := s.Action.(answerer)
		return ok && a.Pending(snapshot)
	})
}

// NotReturned reports whether it is unproven that a node is back since its kubelet was started.
func NotReturned(snapshot inspect.Snapshot, n *inspect.Node, now time.Time) bool {
	c, err := AwaitNode{NodeName: n.Name}.Diff(snapshot, now)
	return c != nil || err != nil
}

// DropTrailingGates takes the question whether kube-apiserver answers from masters after which
// nothing is done.
func DropTrailingGates(p *remediate.Plan) {
	after := false
	for i := len(p.Waves) - 1; i >= 0; i-- {
		for j := len(p.Waves[i].Nodes) - 1; j >= 0; j-- {
			n := &p.Waves[i].Nodes[j]
			if rest := WithoutGates(*n); !after && !rest.Changes() {
				*n = rest
			}
			after = after || n.Changes()
		}
	}
}

// OnlyAwaitsAPIServers reports whether no more is to be done than to ask whether kube-apiservers answer.
func OnlyAwaitsAPIServers(p *remediate.Plan) bool {
	return !slices.ContainsFunc(p.Nodes(), func(n remediate.NodePlan) bool { return WithoutGates(n).Changes() })
}

// WithoutGates is a node without the question whether kube-apiserver answers.
func WithoutGates(n remediate.NodePlan) remediate.NodePlan {
	n.Steps = slices.DeleteFunc(slices.Clone(n.Steps), func(s remediate.Step) bool { _, gate := s.Action.(AwaitAPIServer); return gate })
	return n
}

// gate adds the question whether a master's kube-apiserver answers, where there is
// another one to wait for. ca is PEM that it may be trusted by, beside what is known.
func gate(d *remediate.Draft, n *inspect.Node, ca []byte) error {
	if row, _ := catalog.TopologyOf(d.Snapshot.Cluster.Topology); row.SingleAPIServer || !inspect.RunsAPIServer(d.Snapshot, n) {
		return nil
	}
	setup := inspect.KubeletSetupOf(d.Snapshot, n)
	for _, path := range []string{setup.LocalKubeconfig, setup.Kubeconfig} { // a balancer may listen on another port
		i := slices.IndexFunc(n.Kubeconfigs, func(k inspect.Kubeconfig) bool { return k.Path == path })
		if i < 0 {
			continue
		}
		c, ok := n.Kubeconfigs[i].InUse()
		if !ok {
			continue
		}
		address, _, err := c.Dialled()
		if err != nil {
			return err
		}
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		_, err = d.Step(AwaitAPIServer{NodeName: n.Name, Name: setup.LocalName, Port: port, CA: slices.Concat(ca, []byte("\n"), LocalCAs(d.Snapshot, n))})
		return err
	}
	return nil
}

// LocalCAs are CAs, PEM, of which one signed what kube-apiserver presents on the master
// itself: it need not be among those that were given with --ca-file, which are for
// api-int. They are those that are published, and those in the master's own kubeconfigs.
func LocalCAs(snapshot inspect.Snapshot, master *inspect.Node) []byte {
	ref := catalog.APIServerCA()
	published := pki.Location{Kind: pki.Kind(ref.Kind), Namespace: ref.Namespace, Name: ref.Name, Key: ref.Key}
	own := inspect.KubeletSetupOf(snapshot, master).Kubeconfigs()
	var found []*pki.Cert
	for _, b := range snapshot.Bundles {
		if b.At == published || b.At.Kind == pki.KindFile && b.At.Node == master.Name && slices.Contains(own, b.At.Path) {
			found = append(found, pki.Without(b.Content.Certs, found)...)
		}
	}
	return pki.EncodePEM(found)
}
