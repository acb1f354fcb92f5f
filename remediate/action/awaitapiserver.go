package action

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// AwaitAPIServer waits until the kube-apiserver of a master answers, asked on that
// master itself. It changes nothing, and is asked each time: facts do not tell.
type AwaitAPIServer struct {
	NodeName string
	Name     string // for which it presents its own certificate
	Port     string // on the master's own address
	CA       []byte // PEM: the trust anchors there
}

// ID is such as "await kube-apiserver on master-0".
func (a AwaitAPIServer) ID() string { return "await kube-apiserver on " + a.NodeName }

// Node is the master.
func (a AwaitAPIServer) Node() string { return a.NodeName }

// Waits reports that it changes nothing.
func (a AwaitAPIServer) Waits() {}

var _ remediate.Waiter = AwaitAPIServer{}

// Diff is always to be asked.
func (a AwaitAPIServer) Diff(inspect.Snapshot, time.Time) (*remediate.Change, error) {
	return &remediate.Change{Summary: "wait until its kube-apiserver answers"}, nil
}

// Apply does nothing.
func (a AwaitAPIServer) Apply(context.Context, *remediate.Env, *remediate.Change) error { return nil }

// apiServerTime is how long a kube-apiserver may take to answer: its static pod is
// not restarted with the kubelet, so that it should at once.
const apiServerTime = 2 * time.Minute

// Verify asks /readyz, which any client may; an answer that wants credentials is one.
func (a AwaitAPIServer) Verify(ctx context.Context, env *remediate.Env, _ *remediate.Change) error {
	err := env.Until(ctx, apiServerTime, func(ctx context.Context) (bool, error) {
		err := env.Retry(ctx, a.NodeName, func(ctx context.Context, n nodeexec.Node) error { return a.ask(ctx, env, n) })
		return err == nil, err
	})
	if err == nil {
		return nil
	}
	err = fmt.Errorf("kube-apiserver on %s does not answer: %w", a.NodeName, err)
	if ctx.Err() != nil {
		return remediate.Because(context.Cause(ctx), err)
	}
	return &remediate.LateEffectError{Inner: err}
}

// askTime bounds one question.
const askTime = 20 * time.Second

func (a AwaitAPIServer) ask(ctx context.Context, env *remediate.Env, n nodeexec.Node) error {
	ctx, cancel := context.WithTimeoutCause(ctx, askTime, fmt.Errorf("no answer within %s", askTime))
	defer cancel()
	transport := &http.Transport{
		DialContext:       func(ctx context.Context, network, addr string) (net.Conn, error) { return n.Dial(ctx, network, addr) },
		TLSClientConfig:   &tls.Config{RootCAs: pki.Anchors(a.CA), ServerName: a.Name, Time: env.Now, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}
	url := "https://" + net.JoinHostPort("127.0.0.1", a.Port) + "/readyz"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := transport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("ask %s on the node: %w", url, err)
	}
	defer func() { _ = answer.Body.Close() }() // read only
	switch answer.StatusCode {
	case http.StatusOK, http.StatusUnauthorized, http.StatusForbidden:
		return nil
	}
	said, _ := io.ReadAll(io.LimitReader(answer.Body, 300))
	return fmt.Errorf("%s on the node says %s: %.300q", url, answer.Status, said)
}
