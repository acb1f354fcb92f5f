package csr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesapi "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// Approve approves what a node's kubelet asks for after its restart: the client's
// certificate with which it works, then its serving one. A kubelet whose client
// certificate is valid asks for none. What does not match the node is shown and never
// approved (see asker.matches).
type Approve struct {
	On string
	// serving: its kubelet is to ask for a serving certificate, as the one that it
	// has is not valid any more.
	Serving bool
	State   *State
}

// settling is how long a request by a bootstrapper's token waits from when it is first
// seen: who else asks in this node's name, with a stolen token, is seen beside it, and then
// none is approved. A kubelet asks within seconds of its start.
const settling = 15 * time.Second

func newApproving() *State {
	return &State{shown: map[string]bool{}, joined: map[string]*Request{}, seen: map[string]time.Time{}}
}

// NewApprove returns the action for a node. It belongs behind the restart of its
// kubelet and before Await.
func NewApprove(node string, facts inspect.Snapshot, now time.Time) Approve {
	return Approve{On: node, Serving: lacksServing(facts, node, now), State: newApproving()}
}

const kubeletServing = "/var/lib/kubelet/pki/kubelet-server-current.pem"

// lacksServing reports whether it is known that a kubelet asks for its serving
// certificate, and that the one it has is not valid.
func lacksServing(facts inspect.Snapshot, node string, now time.Time) bool {
	n, ok := facts.Node(node)
	if !ok || n.Kubelet.ServerTLSBootstrap == nil || !*n.Kubelet.ServerTLSBootstrap {
		return false
	}
	for _, b := range facts.Bundles {
		if b.At.Node == node && b.At.Path == kubeletServing && len(b.Content.Certs) > 0 {
			return b.Content.Certs[0].NotAfter.Before(n.Time(now))
		}
	}
	return false
}

// Certified says of nodes why their kubelets do not ask by a bootstrapper's token: they
// have a client certificate that is valid. A node that was not read is not known to
// lack one.
func Certified(facts inspect.Snapshot, now time.Time, nodes ...string) map[string]string {
	out := map[string]string{}
	for _, name := range nodes {
		n, ok := facts.Node(name)
		if !ok || n.Via == "" {
			out[name] = "whether its kubelet lacks a client certificate is not known, as the node was not read"
			continue
		}
		cert := inspect.KubeletClientCert(facts, name)
		switch {
		case cert == nil && inspect.UnreadClient(facts, n) != "":
			out[name] = "whether its kubelet lacks a client certificate is not known: " + inspect.UnreadClient(facts, n)
		case cert != nil && cert.NotAfter.After(n.Time(now)):
			out[name] = "its kubelet has a client certificate until " + cert.NotAfter.UTC().Format(time.RFC3339)
		}
	}
	return out
}

// ID is such as "approve-requests worker-0".
func (a Approve) ID() string { return "approve-requests " + a.On }

// Node is the node.
func (a Approve) Node() string { return a.On }

// Diff compares the last sign of life with the start of the kubelet: one that reports
// has its certificate.
func (a Approve) Diff(facts inspect.Snapshot, now time.Time) (*remediate.Change, error) {
	n, ok := facts.Node(a.On)
	if ok && inspect.ReportsSince(facts, n) && len(PendingRequests(facts, a.On)) == 0 {
		return nil, nil //nolint:nilnil // so already, as Action says
	}
	ca, asked := PlainSigner(facts, now)
	return &remediate.Change{Signer: ca, SignerAsked: asked, Summary: "approve its kubelet's certificate requests, if it makes any that match it (" + provable(facts, a.On, now) + ")", Versions: facts.Cluster.Versions, Certified: Certified(facts, now, a.On)}, nil
}

// PendingRequests are the names of the requests that wait for an answer and are, by
// their requestor or subject, about one of these nodes.
func PendingRequests(facts inspect.Snapshot, nodes ...string) (names []string) {
	for _, r := range facts.Requests {
		if r.Condition == inspect.Pending && slices.ContainsFunc(nodes, func(n string) bool { return r.About(n) }) {
			names = append(names, r.Object.Name)
		}
	}
	return names
}

// How long a kubelet may take to ask after its start, or to be heard of: for its
// client's certificate, and then for its serving one. Both together are shorter
// than a step may take.
const (
	askingClient  = 70 * time.Second
	askingServing = 30 * time.Second
	issuing       = 30 * time.Second
)

// Apply looks at requests until the kubelet reports, and approves those that match.
func (a Approve) Apply(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	if env.Kube == nil {
		return &remediate.Unknown{Reason: fmt.Sprintf("what the kubelet on %s asks for is not known: no API server could be asked", a.On)}
	}
	var unit host.Unit
	if err := env.Twice(ctx, a.On, func(ctx context.Context, n nodeexec.Node) (err error) {
		unit, err = host.LookUnit(ctx, n, catalog.KubeletUnit)
		return err
	}); err != nil {
		return err
	}
	var failed error
	_ = env.Until(ctx, askingClient, func(ctx context.Context) (bool, error) {
		if failed = a.approve(ctx, env, c); failed != nil {
			return hopeless(failed), failed
		}
		return !a.State.settles && a.reports(ctx, env, unit.Entered), errors.New("it neither reports nor asks")
	}) // that it is late is for Await to say
	if failed == nil && a.Serving {
		_ = env.Until(ctx, askingServing, func(ctx context.Context) (bool, error) {
			failed = a.approve(ctx, env, c)
			return hopeless(failed) || a.State.servingDone || a.State.handed, failed
		})
	}
	return failed
}

// hopeless reports whether asking again is of no use.
func hopeless(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

func (a Approve) reports(ctx context.Context, env *remediate.Env, started time.Time) bool {
	if env.Heartbeat == nil {
		return false
	}
	h, err := env.Heartbeat(ctx, a.On)
	return err == nil && h.At.After(started.Add(time.Second)) // systemd tells whole seconds
}

// approve approves what is pending now and matches.
func (a Approve) approve(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	requests, n, err := leftOf(ctx, env, a.asker(env, c))
	if err != nil {
		return err
	}
	return a.State.approve(ctx, env, c, n, requests)
}

func (a Approve) asker(env *remediate.Env, c *remediate.Change) Asker {
	return Asker{Name: a.On, Versions: c.Versions, Certified: c.Certified[a.On], earlier: a.State.Earlier, Hints: env.Hints, read: originsBy(env)}
}

// approve says yes to a request as it was read: its resourceVersion is a condition. It is
// judged once more, with what is known now.
func approve(ctx context.Context, env *remediate.Env, n Asker, r *Request) error {
	c, err := env.Kube.CertificatesV1().CertificateSigningRequests().Get(ctx, r.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read request %s: %w", foreign.Name(r.Name), err)
	}
	if c.UID != r.UID || c.ResourceVersion != r.ResourceVersion {
		return apierrors.NewConflict(certificatesapi.Resource("certificatesigningrequests"), r.Name, errors.New("it changed since it was judged"))
	}
	if again, err := n.again(ctx, env, c); err != nil {
		return err
	} else if again == nil || again.why != "" {
		return apierrors.NewConflict(certificatesapi.Resource("certificatesigningrequests"), r.Name, errors.New("it does not match any more"))
	}
	at := metav1.NewTime(env.Now())
	c.Status.Conditions = append(c.Status.Conditions, certificatesapi.CertificateSigningRequestCondition{
		Type: certificatesapi.CertificateApproved, Status: corev1.ConditionTrue, Reason: "certrot", LastUpdateTime: at, LastTransitionTime: at,
		Message: "approved by run " + env.Run + " of certrot: it matches the node's kubelet",
	})
	_, err = env.Kube.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, c.Name, c, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("approve request %s (kubectl auth can-i update certificatesigningrequests --subresource=approval; %s): %w", foreign.Name(r.Name), foreign.Command("", "kubectl auth can-i approve signers/%s", r.Spec.SignerName), err)
	}
	return nil
}

// PendingOf reads the pending requests about a node, and the Node with whose addresses
// their names are compared.
func PendingOf(ctx context.Context, kube kubernetes.Interface, n Asker) ([]*Request, error) {
	if err := n.itsNode(ctx, kube); err != nil {
		return nil, err
	}
	var out []*Request
	answered := map[pki.Fingerprint]bool{}
	opts := metav1.ListOptions{Limit: 100} // a request may be 1 MB
	for {
		page, err := kube.CertificatesV1().CertificateSigningRequests().List(ctx, opts)
		if err != nil {
			return nil, fmt.Errorf("list certificate requests: %w", err)
		}
		for i := range page.Items {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			r, err := n.compared(ctx, kube, &page.Items[i])
			if err != nil {
				return nil, err
			}
			if r != nil {
				out = append(out, r)
			}
			if key, ok := n.answered(&page.Items[i]); ok {
				answered[key] = true
			}
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			n.single(out, answered)
			return out, nil
		}
	}
}

// itsNode reads the Node; that there is none is for judging.
func (n *Asker) itsNode(ctx context.Context, kube kubernetes.Interface) error {
	object, err := kube.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		n.object = object
	case apierrors.IsNotFound(err):
		n.object = nil
	default:
		return fmt.Errorf("read node %s: %w", n.Name, err)
	}
	return nil
}

// compared judges a request. With what a server's names are compared is read when it is
// the only thing left to ask, and once.
func (n *Asker) compared(ctx context.Context, kube kubernetes.Interface, csr *certificatesapi.CertificateSigningRequest) (*Request, error) {
	r := n.judge(csr)
	if r == nil || r.why != errUncompared.Error() || n.peers != nil && (n.read == nil || n.known != nil) {
		return r, nil
	}
	var err error
	if n.peers, err = allNodes(ctx, kube); err != nil {
		return nil, err
	}
	if n.read != nil {
		n.known = n.read(ctx, n.Name, n.object)
	}
	return n.judge(csr), nil
}

// again judges a request with nothing that was read before. One to join is judged among all
// that there are by now.
func (n Asker) again(ctx context.Context, env *remediate.Env, csr *certificatesapi.CertificateSigningRequest) (*Request, error) {
	n.object, n.peers, n.known, n.kubelet = nil, nil, nil, nil
	if csr.Spec.SignerName == catalog.KubeletClientSigner && csr.Spec.Username != n.user() {
		requests, _, err := leftOf(ctx, env, n)
		i := slices.IndexFunc(requests, func(r *Request) bool {
			return r.Name == csr.Name && r.UID == csr.UID && r.ResourceVersion == csr.ResourceVersion
		})
		if err != nil || i < 0 {
			return nil, err
		}
		return requests[i], nil
	}
	if err := n.itsNode(ctx, env.Kube); err != nil {
		return nil, err
	}
	return n.compared(ctx, env.Kube, csr)
}

// allNodes reads all Nodes.
func allNodes(ctx context.Context, kube kubernetes.Interface) (out []corev1.Node, err error) {
	opts := metav1.ListOptions{Limit: 500}
	for {
		page, err := kube.CoreV1().Nodes().List(ctx, opts)
		if err != nil {
			return nil, fmt.Errorf("list nodes, whose addresses no other one's certificate may have: %w", err)
		}
		out = append(out, page.Items...)
		if opts.Continue = page.Continue; opts.Continue == "" {
			return out, nil
		}
	}
}

// Verify waits for the certificates.
func (a Approve) Verify(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	if err := a.State.issued(ctx, env); err != nil {
		return err
	}
	if a.State.joined[a.On] != nil {
		if _, err := a.State.arrived(ctx, env, a.On); err != nil {
			return err
		}
	}
	if a.Serving && !a.State.servingDone && a.State.handed {
		return nil // it is said what is left to a person, and again at the end of the run; no other node waits for that
	}
	if a.Serving && !a.State.servingDone {
		return &remediate.Late{Inner: fmt.Errorf("the serving certificate of the kubelet on %s has ended, and no request for another one came that could be approved%s", a.On, Waiting(ctx, env, a.asker(env, c)))}
	}
	return nil
}

// Undo does nothing: a certificate that was issued can't be called back.
func (a Approve) Undo(context.Context, *remediate.Env, *remediate.Change) error { return nil }

// Waiting says which requests about a node are pending, what they ask for, and the
// command for each; empty where there is none.
func Waiting(ctx context.Context, env *remediate.Env, n Asker) string {
	if env.Kube == nil {
		return ""
	}
	requests, _, err := leftOf(ctx, env, n)
	if err != nil {
		return "; whether its kubelet waits for a certificate is unknown: " + foreign.Prose(err.Error())
	}
	var out strings.Builder
	approvable := current(requests)
	for _, r := range inOrder(requests) {
		if r.why == "" && !slices.Contains(approvable, r) {
			continue // an earlier try, for which nobody waits
		}
		fmt.Fprintf(&out, "\n%s\n  %s%s", r.describe(), byHand, r.next())
	}
	if out.Len() == 0 {
		return ""
	}
	return "; these requests for certificates are pending:" + out.String()
}

// ApproveLeft are the requests of nodes that are pending at the end of a run: they are
// shown; and approved, where they match, if that is wanted.
type ApproveLeft struct {
	Nodes   []string
	Approve bool
	// After: the plan restarts kubelets, of whose requests nothing is known yet.
	After bool
	state *State
}

// NewApproveLeft returns the step of the cluster for these nodes. It belongs behind all
// of theirs.
func NewApproveLeft(nodes []string, approve, after bool) ApproveLeft {
	return ApproveLeft{Nodes: nodes, Approve: approve, After: after, state: newApproving()}
}

// ID is "left-over-requests".
func (a ApproveLeft) ID() string { return "left-over-requests" }

// Node is none: it is about the cluster.
func (a ApproveLeft) Node() string { return "" }

// Diff names what is pending.
func (a ApproveLeft) Diff(facts inspect.Snapshot, now time.Time) (*remediate.Change, error) {
	names := PendingRequests(facts, a.Nodes...)
	if len(names) == 0 && !a.After {
		return nil, nil //nolint:nilnil // so already, as Action says
	}
	what := "show what certificate requests of these nodes are pending"
	if a.Approve {
		what = "approve what certificate requests of these nodes are pending and match them"
	}
	if len(names) > 0 {
		what += " (now: " + called(names) + ")"
	}
	ca, asked := PlainSigner(facts, now)
	return &remediate.Change{Signer: ca, SignerAsked: asked, Summary: what, Versions: facts.Cluster.Versions, Certified: Certified(facts, now, a.Nodes...)}, nil
}

// Apply shows and approves.
func (a ApproveLeft) Apply(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	if env.Kube == nil {
		return &remediate.Unknown{Reason: "which certificate requests are pending is not known: no API server could be asked"}
	}
	if !a.Approve {
		return nil // Verify shows them
	}
	if err := a.each(ctx, sightTime, func(ctx context.Context, node string) error { return a.sight(ctx, env, c, node) }); hopeless(err) || ctx.Err() != nil {
		return err // another error comes again, where it is asked again
	}
	return a.each(ctx, answerTime, func(ctx context.Context, node string) error { return a.answer(ctx, env, c, node) })
}

// For how long one node may hold up the others whose requests are left over.
const (
	sightTime  = 30 * time.Second
	answerTime = askingClient + 20*time.Second
)

// Takes is how long all of it may take.
func (a ApproveLeft) Takes() time.Duration {
	return time.Duration(len(a.Nodes)) * (sightTime + answerTime)
}

// each does something for each node, whatever becomes of the others: a request in the name of
// one keeps no other one from its certificate.
func (a ApproveLeft) each(ctx context.Context, limit time.Duration, do func(context.Context, string) error) error {
	var failed []error
	var last error
	for _, node := range a.Nodes {
		own, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done within %s", limit))
		err := do(own, node)
		cancel()
		if err == nil {
			continue
		}
		failed = append(failed, fmt.Errorf("requests of node %s: %w", node, err))
		forAll := hopeless(err) && last != nil && last.Error() == err.Error() // forbidden for one node after the other
		if forAll || ctx.Err() != nil {
			break
		}
		last = err
	}
	return errors.Join(failed...)
}

// sight notes of a node that it asks to join. It is done for all before the first one is
// answered: they settle at the same time.
func (a ApproveLeft) sight(ctx context.Context, env *remediate.Env, c *remediate.Change, node string) error {
	requests, n, err := leftOf(ctx, env, Asker{Name: node, Versions: c.Versions, Certified: c.Certified[node], Hints: env.Hints})
	if err == nil && slices.ContainsFunc(requests, func(r *Request) bool { return r.joins(n) }) {
		a.state.settled(node, env.Now())
	}
	return err
}

// answer approves what is pending of a node, and waits for who signs it.
func (a ApproveLeft) answer(ctx context.Context, env *remediate.Env, c *remediate.Change, node string) (failed error) {
	_ = env.Until(ctx, askingClient, func(ctx context.Context) (bool, error) {
		requests, n, err := leftOf(ctx, env, Asker{Name: node, Versions: c.Versions, Certified: c.Certified[node], Hints: env.Hints})
		if err == nil {
			err = a.state.approve(ctx, env, c, n, requests)
		}
		failed = err
		var late *remediate.Late
		return !errors.As(err, &late) && !a.state.settles || hopeless(err), err
	}) // the last failure says more
	return failed
}

// leftOf reads the pending requests about a node. Where one asks by a bootstrapper's token,
// the node is read now: its kubelet may have got its certificate since the plan was made.
func leftOf(ctx context.Context, env *remediate.Env, n Asker) ([]*Request, Asker, error) {
	n.read = originsBy(env)
	requests, err := PendingOf(ctx, env.Kube, n)
	if err != nil || !slices.ContainsFunc(requests, func(r *Request) bool { return r.why == errUnlooked.Error() }) {
		return requests, n, err
	}
	n.kubelet, n.Certified = newJoiner(ctx, env, n)
	requests, err = PendingOf(ctx, env.Kube, n)
	return requests, n, err
}

// Verify says what is still pending.
func (a ApproveLeft) Verify(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	if err := a.state.issued(ctx, env); err != nil {
		return err
	}
	for _, node := range a.Nodes {
		if a.state.joined[node] == nil {
			continue
		}
		if _, err := a.state.arrived(ctx, env, node); err != nil {
			return err
		}
	}
	var left strings.Builder
	for _, node := range a.Nodes {
		if text := Waiting(ctx, env, Asker{Name: node, Versions: c.Versions, Certified: c.Certified[node], Hints: env.Hints}); text != "" {
			fmt.Fprintf(&left, "node %s%s\n", node, text)
		}
	}
	if left.Len() > 0 {
		return &remediate.Late{Inner: errors.New(strings.TrimSpace(left.String()))}
	}
	return nil
}

// Undo does nothing: a certificate that was issued can't be called back.
func (a ApproveLeft) Undo(context.Context, *remediate.Env, *remediate.Change) error { return nil }

// RequestsPending is the risk that a kubelet can't fetch a certificate that it waits for.
const RequestsPending = "requests-pending"

// Unanswered refuses to put files of a node back while its kubelet waits for a
// certificate: with another CA it could not fetch it.
func Unanswered(facts inspect.Snapshot, node string, now time.Time) error {
	var names []string
	for _, r := range facts.Requests {
		if r.Condition == inspect.Pending && r.About(node) && MayWait(facts, node, now, r.Signer, r.Requester) {
			names = append(names, r.Object.Name)
		}
	}
	return Waits(node, names)
}

// MayWait reports whether the kubelet of a node may be who made a request in its name. With a
// valid client certificate it makes none by a bootstrapper's token.
func MayWait(facts inspect.Snapshot, node string, now time.Time, signer, requester string) bool {
	if _, may := catalog.MayRequest(signer, requester, node, facts.Cluster.Versions); may == catalog.No {
		return false
	}
	n, ok := facts.Node(node)
	cert := inspect.KubeletClientCert(facts, node)
	return !ok || requester == "system:node:"+node || cert == nil || !cert.NotAfter.After(n.Time(now))
}

// Waits refuses where a kubelet waits for an answer to these requests.
func Waits(node string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	return &remediate.Refusal{Name: RequestsPending, Node: node, Risk: true, Reason: "its kubelet may wait for a certificate, unless another client asks in its name: " + called(names),
		Next: "look who asks, and deny or approve: " + foreign.Command(inspect.RequestNames, "kubectl describe csr %s", foreign.Spaces(names)) + "; or, if the kubelet does not wait for them: --accept-risk=" + RequestsPending}
}

// called are names of requests in a sentence: the client chooses them.
func called(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = foreign.Name(n)
	}
	return strings.Join(out, ", ")
}

// UnreadRequests says why it is not known which requests there are.
func UnreadRequests(facts inspect.Snapshot) string {
	for _, g := range facts.Gaps {
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
			case SeeCertificate:
				return true
			case Approve:
				if a.Serving || s.Change.Certified[a.On] == "" {
					return true
				}
			}
		}
	}
	return false
}
