package collect

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// Status reads all that is asked before a cluster is changed, of which these facts were read.
func (c *Cluster) Status(ctx context.Context, facts inspect.Snapshot) *inspect.ClusterStatus {
	s := &inspect.ClusterStatus{Read: Now()}
	reads := []func(){
		func() { s.ControlPlane = c.ControlPlaneStatus(ctx) },
		func() { s.Published, _ = c.Changed(ctx, catalog.APIServerCA()) }, // else it is unknown
	}
	if inspect.HasOperators(facts) {
		reads = append(reads, func() { s.Signers = c.Signers(ctx) })
	} else {
		reads = append(reads, func() { s.StaticPods = c.StaticPods(ctx) })
	}
	v := facts.Cluster.Versions
	v.UnreviewedAccepted = true // whoever reads the file may accept that they were not reviewed
	if namespaces := catalog.NodeDaemonSetNamespaces(v); len(namespaces) > 0 {
		reads = append(reads, func() { s.Network = c.Network(ctx, namespaces) })
	}
	var wg sync.WaitGroup
	for _, read := range reads {
		wg.Go(read)
	}
	wg.Wait()
	s.MarkForeign()
	return s
}

// StaticPods lists the pods of kube-system, those that kubelets run by files of their own
// among them.
func (c *Cluster) StaticPods(ctx context.Context) *inspect.PodList {
	list := c.podList(ctx, metav1.NamespaceSystem)
	return &list
}

func (c *Cluster) podList(ctx context.Context, namespaces ...string) inspect.PodList {
	pods, gaps := c.Pods(ctx, namespaces...)
	list := inspect.PodList{Pods: pods}
	if len(gaps) > 0 {
		list.Gap = &gaps[0]
	}
	return list
}

// Signers reads what signs certificate requests, and what that is a copy of.
func (c *Cluster) Signers(ctx context.Context) *inspect.SignersRead {
	read := func(of catalog.Ref) inspect.SignerRead {
		signer, err := c.Signer(ctx, of)
		if err != nil {
			return inspect.SignerRead{Unread: err.Error()}
		}
		return inspect.SignerRead{NotBefore: signer.NotBefore, NotAfter: signer.NotAfter, Asked: signer.Asked}
	}
	return &inspect.SignersRead{Signer: read(catalog.CSRSigner()), Source: read(catalog.CSRSignerSource())}
}

// Network reads the pods of these namespaces, and how far the CAs have come that they are given.
func (c *Cluster) Network(ctx context.Context, namespaces []string) *inspect.NetworkRead {
	n := &inspect.NetworkRead{PodList: c.podList(ctx, namespaces...)}
	if n.Gap != nil || len(namespaces) == 0 {
		return n
	}
	var err error
	if n.Rollout, err = c.Rollout(ctx, namespaces...); err != nil {
		n.Unread = err.Error()
	}
	return n
}
