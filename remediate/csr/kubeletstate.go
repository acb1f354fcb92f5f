package csr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	certificatesapi "k8s.io/api/certificates/v1"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// kubeletState is what a node says of its kubelet, read when a request to join in its name is
// judged. With a bootstrapper's token any user makes such a request in any node's name, and
// the only pending one is not the kubelet's for that alone: the kubelet has to run, to lack
// a certificate, and to have been started before the request.
type kubeletState struct {
	why     string    // why its kubelet can't have asked, or why that is unknown; empty: it can
	since   time.Time // when its process was started at the earliest, by the API server's clock
	started time.Time // the same start by the node's clock, which is the same at each look
	token   bool      // it joins with a token, which is no node's certificate
	// user is the user as which the API server knows what is in its bootstrap file; empty: that is unknown.
	user string
}

// notProbedError is why it is unknown whether a request to join is the kubelet's.
type notProbedError struct{ reason string }

func (u *notProbedError) Error() string { return u.reason }

// errUnlooked: all but the node itself was compared.
var errUnlooked error = &notProbedError{"whether the node's kubelet can have asked for it is unknown, as the node was not read"}

// madeRequest says why the kubelet did not make this request; nil: it can have.
func (j *kubeletState) madeRequest(csr *certificatesapi.CertificateSigningRequest) error {
	switch {
	case j == nil:
		return errUnlooked
	case j.why != "":
		return &notProbedError{j.why}
	case j.user != "" && csr.Spec.Username != j.user:
		return fmt.Errorf("%s asks, and the node's kubelet joins as %s", foreign.QuotedName(csr.Spec.Username), foreign.QuotedName(j.user))
	case j.predates(csr):
		return &notProbedError{fmt.Sprintf("it is from before the kubelet was started, at %s: a kubelet asks after each start, with another key", remediate.Timestamp(j.since))}
	}
	return nil
}

// predates reports whether a request is from before the start of the kubelet. The API server cuts
// creationTimestamp to whole seconds, so one that was made after the start may have a time of up to a
// second before it: without this second, requests of kubelets that ask at once would be refused. So one from
// up to a second before the start passes here, too. It is one more key beside the kubelet's (see single),
// which is awaited from when the start is seen (see settling).
func (j *kubeletState) predates(csr *certificatesapi.CertificateSigningRequest) bool {
	return !csr.CreationTimestamp.Add(time.Second).After(j.since)
}

// readKubelet reads the node of requests to join. certified is why its kubelet does not ask;
// empty: it may.
func readKubelet(ctx context.Context, e *remediate.Env, n RequestedNode) (j *kubeletState, certificate string) {
	snapshot, err := e.Read(ctx, n.Name)
	if err != nil {
		return &kubeletState{why: "whether the node's kubelet can have asked for it is unknown, as the node was not read: " + oneLine(err)}, ""
	}
	snapshot.Cluster.Versions, snapshot.Hints = n.Versions, n.Hints
	if certificate = certifiedNodes(snapshot, e.Now(), n.Name)[n.Name]; certificate != "" {
		return nil, certificate
	}
	var api inspect.Clock
	if e.APIClock != nil {
		api = e.APIClock()
	}
	j = kubeletStateOf(snapshot, n.Name, api)
	node, ok := snapshot.Node(n.Name)
	if ok && j.why == "" {
		j.why = reports(ctx, e, node)
	}
	if ok && j.why == "" {
		j.why = unbootstrapped(ctx, e, snapshot, node)
		if c := node.RestartProbe; c != nil {
			j.token, j.user = c.Bootstrap.Presents == inspect.CredentialToken, knownAs(c.Bootstrap)
		}
	}
	return j, ""
}

// bootstrapSince says why what the kubelet asks with is not what is in its bootstrap file now; empty:
// that is older than its start, at which it was read. Its own kubeconfig it writes itself.
func bootstrapSince(n *inspect.Node, path string) string {
	for range 2 { // a link, and where it leads
		f := n.File(path)
		if f == nil {
			return "what the node's kubelet asks with is unknown: when " + foreign.Text(path) + " was changed was not read"
		}
		// A copy keeps the time at which its original was modified (cp -p), and not the other one.
		for _, at := range []time.Time{f.Modified, f.Changed} {
			if at.After(n.Kubelet.Started.Add(time.Second)) { // systemd tells whole seconds
				return "what the node's kubelet asks with is unknown: " + foreign.Text(path) + " changed after its start, at which it reads it"
			}
		}
		if f.Link == "" {
			return ""
		}
		path = f.Target
	}
	return ""
}

// knownAs is the user that the API server names where it refuses what is in a file; empty: it names none.
func knownAs(f inspect.ProbedKubeconfig) string {
	for _, a := range f.Answers {
		if a.User != "" {
			return a.User
		}
	}
	return ""
}

// reports says why a kubelet that reports does not ask: it works with a certificate in its
// memory, whatever its files hold. Its Lease and its start are by the node's clock.
func reports(ctx context.Context, e *remediate.Env, n *inspect.Node) string {
	if e.Heartbeat == nil {
		return "whether the node's kubelet reports is unknown: no API server could be asked"
	}
	h, err := e.Heartbeat(ctx, n.Name)
	switch {
	case err != nil:
		return "whether the node's kubelet reports is unknown: " + oneLine(err)
	case !n.Clock.After.IsZero() && h.At.After(n.Clock.After.Add(time.Minute)):
		return "whether the node's kubelet reports is unknown: its Lease is of " + remediate.Timestamp(h.At) + ", which is not yet by the node's clock. If the node is NotReady, delete that Lease, and try again: " + foreign.Command(inspect.NodeNames, "kubectl delete lease -n kube-node-lease %s", n.Name)
	case h.At.After(n.Kubelet.Started.Add(time.Second)): // systemd tells whole seconds
		return "the node's kubelet reports, last at " + remediate.Timestamp(h.At) + ": it has a certificate, and asks for none"
	}
	return ""
}

// kubeletStateOf judges how the kubelet of a node runs. api is the API server's clock.
func kubeletStateOf(snapshot inspect.Snapshot, name string, api inspect.Clock) *kubeletState {
	n, ok := snapshot.Node(name)
	if !ok {
		return &kubeletState{why: errUnlooked.Error()}
	}
	apiLeast, _, apiTold := api.Ahead()
	_, most, told := n.Clock.Ahead()
	switch k := n.Kubelet; {
	case k.Active == "":
		return &kubeletState{why: "whether the node's kubelet runs is unknown: " + catalog.KubeletUnit + " did not answer"}
	case k.Active != "active":
		return &kubeletState{why: fmt.Sprintf("the node's kubelet does not run: %s is %s (%s)", catalog.KubeletUnit, k.Active, k.Sub)}
	case k.Started.IsZero():
		return &kubeletState{why: "when the node's kubelet was started is unknown"}
	case k.StartedByUptime.IsZero():
		return &kubeletState{why: "whether the node's clock was set since its kubelet's start is unknown: /proc on the node did not tell"}
	case k.StartedByUptime.Sub(k.Started).Abs() > 3*time.Second: // both are whole seconds
		return &kubeletState{why: fmt.Sprintf("the node's clock was set since its kubelet's start: systemd says %s, its uptime %s. After systemctl restart kubelet on the node it asks again", remediate.Timestamp(k.Started), remediate.Timestamp(k.StartedByUptime))}
	case !apiTold:
		return &kubeletState{why: "whether it is from before the start of the node's kubelet is unknown: the API server does not say what time it is"}
	case !told:
		return &kubeletState{why: "whether it is from before the start of the node's kubelet is unknown: the node does not say what time it is"}
	default:
		return &kubeletState{since: k.Started.Add(apiLeast - most), started: k.Started}
	}
}

// unbootstrapped asks the API server on the node, with what is in its bootstrap file, which
// does not leave it, and says why its kubelet can't have joined by that; empty: it can.
func unbootstrapped(ctx context.Context, e *remediate.Env, snapshot inspect.Snapshot, n *inspect.Node) string {
	if n.RestartProbe == nil && e.RestartProbe != nil {
		err := e.Retry(ctx, n.Name, func(ctx context.Context, on nodeexec.Node) (err error) {
			n.RestartProbe, err = e.RestartProbe(ctx, on)
			return err
		})
		if err != nil {
			return "whether the node's kubelet can join is unknown: " + oneLine(err)
		}
	}
	if c := n.RestartProbe; c != nil && c.Kubeconfig.Presents == inspect.CredentialCertificate && c.Kubeconfig.Certificate != inspect.KubeletClient {
		return "the node's kubelet has a client certificate at another place, and asks for none while that is valid: see " + foreign.Text(c.Kubeconfig.Path) + " on the node"
	}
	err := CheckBootstrap(snapshot, n, false)
	var refusal *remediate.Refusal
	if errors.As(err, &refusal) {
		return "the node's kubelet may not be able to join: " + refusal.Reason
	}
	return bootstrapSince(n, bootstrapPath(snapshot, n))
}

// oneLine is an error whose parts stand in lines; what a node wrote is marked where it is told.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
