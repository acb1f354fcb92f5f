package csr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	certificatesapi "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient"
)

// Approve approves what a node's kubelet asks for after its restart: the client's
// certificate with which it works, then its serving one. A kubelet whose client
// certificate is valid asks for none. What does not match the node is printed and never
// approved (see asker.matches).
type Approve struct {
	NodeName string
	// serving: its kubelet is to ask for a serving certificate, as the one that it
	// has is not valid any more.
	Serving bool
	State   *State
}

func newApproving() *State {
	return &State{printed: map[string]bool{}, bootstrapped: map[string]*Request{}}
}

// NewApprove returns the action for a node. It belongs behind the restart of its
// kubelet and before AwaitNode.
func NewApprove(node string, snapshot inspect.Snapshot, now time.Time) Approve {
	return Approve{NodeName: node, Serving: lacksServing(snapshot, node, now), State: newApproving()}
}

const kubeletServing = "/var/lib/kubelet/pki/kubelet-server-current.pem"

// lacksServing reports whether it is known that a kubelet asks for its serving
// certificate, and that the one it has is not valid.
func lacksServing(snapshot inspect.Snapshot, node string, now time.Time) bool {
	n, ok := snapshot.Node(node)
	if !ok || n.Kubelet.ServerTLSBootstrap == nil || !*n.Kubelet.ServerTLSBootstrap {
		return false
	}
	for _, b := range snapshot.Bundles {
		if b.At.Node == node && b.At.Path == kubeletServing && len(b.Content.Certs) > 0 {
			return b.Content.Certs[0].NotAfter.Before(n.Time(now))
		}
	}
	return false
}

// certifiedNodes says of nodes why their kubelets do not ask by a bootstrapper's token: they
// have a client certificate that is valid. A node that was not read is unknown to
// lack one.
func certifiedNodes(snapshot inspect.Snapshot, now time.Time, nodes ...string) map[string]string {
	out := map[string]string{}
	for _, name := range nodes {
		n, ok := snapshot.Node(name)
		if !ok || n.Via == "" {
			out[name] = "the client certificate of its kubelet is unknown: the node was not read"
			continue
		}
		cert := inspect.KubeletClientCert(snapshot, name)
		switch {
		case cert == nil && inspect.UnreadClient(snapshot, n) != "":
			out[name] = "the client certificate of its kubelet is unknown: " + inspect.UnreadClient(snapshot, n)
		case cert != nil && cert.NotAfter.After(n.Time(now)):
			out[name] = "its kubelet has a client certificate until " + cert.NotAfter.UTC().Format(time.RFC3339)
		}
	}
	return out
}

// ID is such as "approve-requests worker-0".
func (a Approve) ID() string { return "approve-requests " + a.NodeName }

// Node is the node.
func (a Approve) Node() string { return a.NodeName }

// Waits reports that it changes nothing of the node: it waits until the node is back.
func (a Approve) Waits() {}

var _ remediate.Waiter = Approve{}

// Timeout is how long both waits may take, with the looks at their ends.
func (a Approve) Timeout() time.Duration { return askingClient + askingServing + sightTime }

var _ remediate.TimeLimited = Approve{}

// Pending reports whether a request of its kubelet is pending.
func (a Approve) Pending(snapshot inspect.Snapshot) bool {
	return len(PendingRequests(snapshot, a.NodeName)) > 0
}

// Diff compares the last sign of life with the start of the kubelet: one that reports
// has its certificate.
func (a Approve) Diff(snapshot inspect.Snapshot, now time.Time) (*remediate.Change, error) {
	n, ok := snapshot.Node(a.NodeName)
	if ok && inspect.HeartbeatSinceStart(snapshot, n) && len(PendingRequests(snapshot, a.NodeName)) == 0 {
		return nil, nil //nolint:nilnil // already up to date, as Action says
	}
	return &remediate.Change{Summary: "approve its kubelet's certificate requests, if it makes any that match it (" + provable(snapshot, a.NodeName, now) + ")", Versions: snapshot.Cluster.Versions, Own: Expect(snapshot, now, a.NodeName)}, nil
}

// PendingRequests are the names of the requests that wait for an answer and are, by
// their requester or subject, about one of these nodes.
func PendingRequests(snapshot inspect.Snapshot, nodes ...string) (names []string) {
	for _, r := range snapshot.Requests {
		if r.Condition == inspect.Pending && slices.ContainsFunc(nodes, func(n string) bool { return r.About(n) }) {
			names = append(names, r.Object.Name)
		}
	}
	return names
}

// PendingOfKubelet are the pending requests about a node that its kubelet may have made.
func PendingOfKubelet(facts inspect.Snapshot, node string) (out []inspect.SigningRequest) {
	for _, r := range facts.Requests {
		_, may := catalog.RequesterOf(r.Signer, r.Requester, node, facts.Cluster.Versions)
		if r.Condition == inspect.Pending && r.About(node) && may != catalog.No {
			out = append(out, r)
		}
	}
	return out
}

// Approves marks it.
func (a Approve) Approves() {}

var _ remediate.Approver = Approve{}

// How long a kubelet may take to ask after its start, or to be heard of: for its
// client's certificate, and then for its serving one. It may ask as late as requests
// settle, and then settles itself; half a minute is for looking, and for its first report.
const (
	askingClient  = 2*settling + 30*time.Second
	askingServing = 30 * time.Second
	issuing       = 30 * time.Second
)

// Apply looks at requests until the kubelet reports, and approves those that match.
func (a Approve) Apply(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	if env.Kube == nil {
		return &remediate.UnknownEffectError{Reason: fmt.Sprintf("certificate requests of the kubelet on %s were not read: no API server could be asked", a.NodeName)}
	}
	if a.State.tooMany {
		env.Note(a.NodeName, (&tooManyError{a.NodeName}).Error())
		return nil
	}
	var unit host.Unit
	if err := env.Retry(ctx, a.NodeName, func(ctx context.Context, n nodeexec.Node) (err error) {
		unit, err = host.LookUnit(ctx, n, catalog.KubeletUnit)
		return err
	}); err != nil {
		return err
	}
	var failed error
	_ = env.Until(ctx, askingClient, func(ctx context.Context) (bool, error) {
		if failed = a.approve(ctx, env, c); failed != nil {
			return hopeless(failed) || isTooMany(failed), failed
		}
		return !a.State.unsettled && a.reports(ctx, env, unit.Entered), errors.New("it neither reports nor asks")
	}) // that it is late is for AwaitNode to say
	if failed == nil && a.Serving {
		_ = env.Until(ctx, askingServing, func(ctx context.Context) (bool, error) {
			failed = a.approve(ctx, env, c)
			return hopeless(failed) || isTooMany(failed) || a.State.servingDone || a.State.manual, failed
		})
	}
	if isTooMany(failed) { // its kubelet may need no approval, and no other node waits for that
		a.State.tooMany = true
		env.Note(a.NodeName, failed.Error())
		return nil
	}
	return failed
}

// hopeless reports whether asking again is of no use.
func hopeless(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

func (a Approve) reports(ctx context.Context, env *remediate.Env, started time.Time) bool {
	if env.Heartbeat == nil {
		return false
	}
	h, err := env.Heartbeat(ctx, a.NodeName)
	return err == nil && h.At.After(started.Add(time.Second)) // systemd tells whole seconds
}

// approve approves what is pending now and matches.
func (a Approve) approve(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	requests, n, err := pendingNow(ctx, env, a.requestedNode(env, c))
	if err != nil {
		return err
	}
	return a.State.approve(ctx, env, c, n, requests)
}

func (a Approve) requestedNode(env *remediate.Env, c *remediate.Change) RequestedNode {
	n := Requested(env, c, a.NodeName)
	n.beforeRestart, n.readOrigins = a.State.Earlier, originsBy(env)
	return n
}

// approve says yes to a request as it was read: its resourceVersion is a condition. It is
// judged once more, with what is known now.
func approve(ctx context.Context, env *remediate.Env, n RequestedNode, r *Request) error {
	c, err := env.Kube.SigningRequests().Get(ctx, r.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read request %s: %w", foreign.Name(r.Name), err)
	}
	if c.UID != r.UID || c.ResourceVersion != r.ResourceVersion {
		return apierrors.NewConflict(certificatesapi.Resource("certificatesigningrequests"), r.Name, errors.New("it changed since it was judged"))
	}
	if again, err := n.again(ctx, env, c); err != nil {
		return err
	} else if again == nil || again.mismatch != "" {
		return apierrors.NewConflict(certificatesapi.Resource("certificatesigningrequests"), r.Name, errors.New("it does not match any more"))
	}
	if r.joins(n) {
		env.Joins.Approve(n.Name, r.key())
	}
	at := metav1.NewTime(env.Now())
	c.Status.Conditions = append(c.Status.Conditions, certificatesapi.CertificateSigningRequestCondition{
		Type: certificatesapi.CertificateApproved, Status: corev1.ConditionTrue, Reason: "certrot", LastUpdateTime: at, LastTransitionTime: at,
		Message: "approved by run " + env.RunID + " of certrot: it matches the node's kubelet",
	})
	_, err = env.Kube.SigningRequests().UpdateApproval(ctx, c.Name, c, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("approve request %s (kubectl auth can-i update certificatesigningrequests --subresource=approval; %s): %w", foreign.Name(r.Name), foreign.Command("", "kubectl auth can-i approve signers/%s", r.Spec.SignerName), err)
	}
	return nil
}

// PendingOf reads the pending requests about a node, and the Node with whose addresses
// their names are compared. Where they are too many, it is an error that names the node.
func PendingOf(ctx context.Context, kube kubeclient.Client, n RequestedNode) ([]*Request, error) {
	if err := n.itsNode(ctx, kube); err != nil {
		return nil, err
	}
	var found requestsOfNode
	asked, by := map[pki.Fingerprint]bool{}, map[pki.Fingerprint][]string{}
	later := map[*Request]*certificatesapi.CertificateSigningRequest{}
	var failed error
	err := collect.ListRequests(ctx, kube.REST(), func(csr *certificatesapi.CertificateSigningRequest) error {
		if r := n.judge(csr); r != nil {
			if failed = found.add(r, n.Name, len(csr.Spec.Request)); failed != nil {
				return failed
			}
			if n.lacksNames(r) && slices.Contains(found.kept[max(len(found.kept)-1, 0):], r) {
				later[r] = csr
			}
		}
		if key, ok := n.asked(csr); ok {
			asked[key] = asked[key] || !Pending(csr)
			if user := csr.Spec.Username; !slices.Contains(by[key], user) {
				by[key] = append(by[key], user)
			}
		}
		return nil
	})
	switch {
	case failed != nil:
		return nil, failed
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("list certificate requests: %w", err)
	}
	for _, r := range found.kept {
		if csr := later[r]; csr != nil { // not while the API server waits for its list to be read
			now, err := n.compared(ctx, kube, csr)
			if err != nil {
				return nil, err
			}
			*r = *now
		}
	}
	all := found.all(n.Name)
	n.single(all, asked, by)
	return all, nil
}

// itsNode reads the Node; that there is none is for judging.
func (n *RequestedNode) itsNode(ctx context.Context, kube kubeclient.Client) error {
	object, err := kube.Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		n.object, n.listed = object, listedBy(object)
	case apierrors.IsNotFound(err):
		n.object, n.listed = nil, nil
	default:
		return fmt.Errorf("read node %s: %w", n.Name, err)
	}
	return nil
}

// compared judges a request. With what a server's names are compared is read when it is
// the only thing left to ask, and once.
func (n *RequestedNode) compared(ctx context.Context, kube kubeclient.Client, csr *certificatesapi.CertificateSigningRequest) (*Request, error) {
	r := n.judge(csr)
	if r == nil || !n.lacksNames(r) {
		return r, nil
	}
	var err error
	if n.peers, err = readPeers(ctx, kube, n.Name); err != nil {
		return nil, err
	}
	if n.readOrigins != nil {
		n.origins = n.readOrigins(ctx, n.Name, n.object)
	}
	return n.judge(csr), nil
}

// lacksNames reports whether with what a server's names are compared is the only thing left to ask.
func (n *RequestedNode) lacksNames(r *Request) bool {
	return r.mismatch == errUncompared.Error() && (n.peers == nil || n.readOrigins != nil && n.origins == nil)
}

// again judges a request with nothing that was read before. One to join is judged among all
// that there are by now.
func (n RequestedNode) again(ctx context.Context, env *remediate.Env, csr *certificatesapi.CertificateSigningRequest) (*Request, error) {
	n.object, n.listed, n.peers, n.origins, n.kubeletState = nil, nil, nil, nil, nil
	if csr.Spec.SignerName == catalog.KubeletClientSigner && csr.Spec.Username != n.user() {
		requests, now, err := pendingNow(ctx, env, n)
		i := slices.IndexFunc(requests, func(r *Request) bool {
			return r.Name == csr.Name && r.UID == csr.UID && r.ResourceVersion == csr.ResourceVersion
		})
		if err != nil || i < 0 {
			return nil, err
		}
		if requests[i].joins(now) && !settled(env, now) {
			return nil, errUnsettled
		}
		return requests[i], nil
	}
	if err := n.itsNode(ctx, env.Kube); err != nil {
		return nil, err
	}
	return n.compared(ctx, env.Kube, csr)
}

// readPeers reads all Nodes, and keeps the names and addresses of all but this one.
func readPeers(ctx context.Context, kube kubeclient.Client, node string) (*peerHosts, error) {
	out := newPeerHosts()
	err := collect.ListNodeAddresses(ctx, kube.REST(), func(n *corev1.Node) error {
		if n.Name != node {
			out.add(n)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list nodes, whose addresses no other one's certificate may have: %w", err)
	}
	return out, nil
}

// Verify waits for the certificates.
func (a Approve) Verify(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	if err := a.State.issued(ctx, env); err != nil {
		return err
	}
	if a.State.bootstrapped[a.NodeName] != nil {
		if _, err := a.State.arrived(ctx, env, a.NodeName); err != nil {
			return err
		}
	}
	if a.Serving && !a.State.servingDone && (a.State.manual || a.State.tooMany) {
		return nil // it is said what is left to a person, and again at the end of the run; no other node waits for that
	}
	if a.Serving && !a.State.servingDone {
		return ownLate(fmt.Errorf("the serving certificate of the kubelet on %s has expired, and no request for another one came that could be approved%s", a.NodeName, PendingText(ctx, env, a.requestedNode(env, c))))
	}
	return nil
}

// For how long one node may hold up the others whose requests are left over.
const (
	sightTime  = 30 * time.Second
	answerTime = askingClient + 20*time.Second
)
