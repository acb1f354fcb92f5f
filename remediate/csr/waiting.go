package csr

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// PendingText says which requests about a node are pending, what they ask for, and the
// command for each; empty where there is none. The user who runs it approves as certrot does, so
// it waits first for other clients that ask to join.
func PendingText(ctx context.Context, env *remediate.Env, n RequestedNode) string {
	if env.Kube == nil {
		return ""
	}
	requests, n, err := settledRequests(ctx, env, n)
	if err != nil {
		return "; whether its kubelet waits for a certificate is unknown: " + foreign.Prose(err.Error())
	}
	var out strings.Builder
	approvable := current(requests)
	each, more := described(requests)
	for _, r := range each {
		if r.mismatch == "" && !slices.Contains(approvable, r) {
			continue // an earlier try, for which no one waits
		}
		next := manualCommand + r.next()
		if r.joins(n) && !settled(env, n) {
			next = "not to be approved yet: " + errUnsettled.Error() + ", and another client may ask in this node's name, too. Run the same command again"
		}
		fmt.Fprintf(&out, "\n%s\n  %s", r.describe(), next)
	}
	if more != "" {
		out.WriteString("\n" + more)
	}
	if out.Len() == 0 {
		return ""
	}
	return "; these requests for certificates are pending:" + out.String()
}

// settledRequests are the pending ones about a node, once those to join have settled, or can't.
func settledRequests(ctx context.Context, env *remediate.Env, n RequestedNode) (requests []*Request, read RequestedNode, err error) {
	told := false
	_ = env.Until(ctx, settling+sightTime, func(ctx context.Context) (bool, error) {
		requests, read, err = pendingNow(ctx, env, n)
		joins := func(r *Request) bool { return r.joins(read) }
		if err != nil || !slices.ContainsFunc(requests, joins) || settled(env, read) {
			return true, nil
		}
		if !told {
			env.Note(n.Name, "waiting for "+settling.String()+" whether another client asks to join in its name")
		}
		told = true
		return false, errUnsettled
	}) // what has not settled is said of each
	return requests, read, err
}

// RequestsPending is the risk that a kubelet can't fetch a certificate that it waits for.
const RequestsPending = "requests-pending"

// RefusePending refuses to put files of a node back while its kubelet waits for a
// certificate: with another CA it could not fetch it.
func RefusePending(snapshot inspect.Snapshot, node string, now time.Time) error {
	var names []string
	for _, r := range snapshot.Requests {
		if r.Condition == inspect.Pending && r.About(node) && MayWait(snapshot, node, now, r.Signer, r.Requester) {
			names = append(names, r.Object.Name)
		}
	}
	return RefuseWaiting(node, names)
}

// MayWait reports whether the kubelet of a node may be who made a request in its name. With a
// valid client certificate it makes none by a bootstrapper's token.
func MayWait(snapshot inspect.Snapshot, node string, now time.Time, signer, requester string) bool {
	if _, may := catalog.RequesterOf(signer, requester, node, snapshot.Cluster.Versions); may == catalog.No {
		return false
	}
	n, ok := snapshot.Node(node)
	cert := inspect.KubeletClientCert(snapshot, node)
	return !ok || requester == "system:node:"+node || cert == nil || !cert.NotAfter.After(n.Time(now))
}

// RefuseWaiting refuses where a kubelet waits for an answer to these requests.
func RefuseWaiting(node string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	return &remediate.Refusal{Name: RequestsPending, Node: node, Risk: true, Reason: "its kubelet may wait for a certificate, unless another client asks in its name: " + called(names),
		Next: "look who asks, and deny or approve: " + foreign.Command(inspect.RequestNames, "kubectl describe csr %s", foreign.Spaces(names)) + "; or, if the kubelet does not wait for them: --accept-risk=" + RequestsPending}
}

// RefuseUnread refuses where the requests in a node's name were not looked at: if they are too many, that is of this node
// alone.
func RefuseUnread(node string, err error) error {
	if isTooMany(err) {
		return &remediate.Refusal{Name: RequestsPending, Node: node, Risk: true, Reason: "its kubelet may wait for a certificate, which this would take from it: " + err.Error(),
			Next: "look who makes them: kubectl get csr; or, if the kubelet does not wait for them: --accept-risk=" + RequestsPending, Cause: err}
	}
	return fmt.Errorf("the kubelet on %s may wait for a certificate, which this would take from it: its requests were not read: %w", node, err)
}

// called are names of requests in a sentence: the client chooses them, and how many there are.
func called(names []string) string {
	const most = 10
	more := ""
	if n := len(names) - most; n > 0 {
		names, more = names[:most], fmt.Sprintf(" and %d more", n)
	}
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = foreign.Name(n)
	}
	return strings.Join(out, ", ") + more
}

// UnreadRequests says why it is unknown which requests there are.
func UnreadRequests(snapshot inspect.Snapshot) string {
	for _, g := range snapshot.Gaps {
		if g.What == "certificatesigningrequests" {
			return g.Reason
		}
	}
	return ""
}

// Approves reports whether kubelets of a plan wait for a certificate that is signed when
// their requests are approved.
func Approves(p *remediate.Plan) bool {
	for _, n := range p.Nodes() {
		for _, s := range n.Due() {
			switch a := s.Action.(type) {
			case AwaitCertificate:
				return true
			case Approve:
				if a.Serving || expectedBy(s.Change).certified[a.NodeName] == "" {
					return true
				}
			}
		}
	}
	return false
}
