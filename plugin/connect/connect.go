package connect

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeconfig"
)

// requestTimeout bounds each request where the user sets no --request-timeout:
// the API server gives up on a list after 60 s.
const requestTimeout = 65 * time.Second

// Connection is a live cluster and how the kubeconfig calls it.
type Connection struct {
	Cluster *collect.Cluster
	Server  string
	Context string
	// unauthenticated says why another server may have answered; empty: none can have.
	Unauthenticated string
	Config          clientcmdapi.Config
	Rest            *rest.Config
	// kube and dynamic are for changes; cluster reads.
	Kube    kubeclient.Client
	Dynamic dynamic.Interface
	Clock   *apiClock
}

// ErrNoKubeconfig is the error where a command needs a kubeconfig.
var ErrNoKubeconfig = errors.New("kubeconfig: there is none, or it is empty")

// Connect makes the clients and asks the API server for its version: an error
// here means that nothing can be read at all.
func Connect(ctx context.Context, app cli.App, flags *cli.ConfigFlags, sc *pki.Scanner, why Purpose) (*Connection, error) {
	if err := noDevice(flags); err != nil {
		return nil, err
	}
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, cli.WithHint(Unquoted(err), "name one with --kubeconfig or KUBECONFIG, or read a file with --from")
	}
	config = WithoutUserinfo(config)
	config.QPS = -1 // the server's own priority and fairness decides how fast we may read
	config.UserAgent = "kubectl-certrot/" + app.Version
	config.WarningHandler = rest.NoWarnings{}
	if config.Timeout == 0 {
		config.Timeout = requestTimeout
	}
	collect.MarkErrors(config)
	c := &Connection{Server: config.Host, Rest: rest.CopyConfig(config), Clock: &apiClock{}}
	c.Clock.watch(config)
	if c.Config, err = flags.ToRawKubeConfigLoader().RawConfig(); err == nil {
		c.Context = c.Config.CurrentContext
		if flags.CurrentContext != "" {
			c.Context = flags.CurrentContext
		}
	}
	if noServer(config, c.Config, flags) {
		return nil, cli.WithHint(fmt.Errorf("%w, so there is no cluster to read", ErrNoKubeconfig), "name one with --kubeconfig or KUBECONFIG, or read a file with --from")
	}
	c.Unauthenticated = unauthenticated(config, flags)
	if err := why.refusesServer(config, flags); err != nil { // before any credential is sent there
		return nil, err
	}
	if err := checkExec(config.ExecProvider); err != nil {
		return nil, err
	}
	namespace, _, err := flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, Unquoted(err)
	}
	client, err := collect.NewREST(config)
	if err != nil {
		return nil, fmt.Errorf("client for %s: %w", config.Host, err)
	}
	if c.Kube, err = kubeclient.New(config); err != nil {
		return nil, fmt.Errorf("client for %s: %w", config.Host, err)
	}
	if c.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("client for %s: %w", config.Host, err)
	}
	c.Cluster = &collect.Cluster{REST: client, Scanner: sc, Namespace: namespace, Now: c.Clock.atServer, Renewals: &collect.Renewals{}}
	if err := askVersion(ctx, client); err != nil && !apierrors.IsForbidden(err) {
		return nil, explain(app.Hints().Next("{}"), c, withoutProxy(err))
	}
	return c, nil
}

// withoutProxy is an error that does not quote the address of a proxy, which may have a password: net/http
// quotes the one that it can't read.
func withoutProxy(err error) error {
	if strings.Contains(err.Error(), "invalid proxy address") {
		return errors.New("the address of the proxy (HTTPS_PROXY) can't be read")
	}
	return err
}

// noDevice refuses a kubeconfig that is a device: client-go would read it for ever.
func noDevice(flags *cli.ConfigFlags) error {
	access := flags.ToRawKubeConfigLoader().ConfigAccess()
	for _, path := range append(access.GetLoadingPrecedence(), access.GetExplicitFile()) {
		at, err := os.Stat(path)
		if err == nil && at.Mode()&os.ModeCharDevice != 0 && collect.CheckRegular(path) != nil {
			return cli.WithHint(fmt.Errorf("kubeconfig: %s is a device", path), "name a file with --kubeconfig or KUBECONFIG")
		}
	}
	return nil
}

// WithoutUserinfo is a copy in which the server's URL has no user and no password: it is
// printed, and kept in files. They go where a client puts them: in a header, before any
// other credential.
func WithoutUserinfo(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.Host = inspect.ServerURL(config.Host)
	u, _, err := rest.DefaultServerUrlFor(config)
	if err != nil || u.User.Username() == "" {
		return c
	}
	c.Username, c.BearerToken, c.BearerTokenFile = u.User.Username(), "", ""
	c.Password, _ = u.User.Password()
	return c
}

// Servers are the API servers that the kubeconfig names: of all clusters, as another one of
// them may be this one by another name.
func (c *Connection) Servers() []string {
	out := []string{c.Server}
	for _, name := range slices.Sorted(maps.Keys(c.Config.Clusters)) {
		cluster := c.Config.Clusters[name]
		out = append(out, cluster.Server)
		if cluster.TLSServerName != "" {
			out = append(out, cluster.TLSServerName)
		}
	}
	return out
}

// noServer reports whether no cluster is named: then it is kubectl's ancient default, which
// is not meant.
func noServer(c *rest.Config, raw clientcmdapi.Config, flags *cli.ConfigFlags) bool {
	return len(raw.Clusters) == 0 && flags.ClusterInfo.Server == "" && strings.HasSuffix(c.Host, "localhost:8080")
}

// Unquoted is an error of client-go's about a kubeconfig, without what it quotes of it:
// that may be tokens and keys.
func Unquoted(err error) error { return &cutError{err} }

type cutError struct{ err error }

func (e *cutError) Error() string { return "kubeconfig: " + kubeconfig.Brief(e.err) }
func (e *cutError) Unwrap() error { return e.err }

// askVersion fails where no API server answers: a login page or another
// service may answer everything with 200.
func askVersion(ctx context.Context, client rest.Interface) error {
	answer := client.Get().AbsPath("/version").Do(ctx)
	if err := answer.Error(); err != nil {
		return err
	}
	raw, err := answer.Raw()
	if err != nil {
		return err
	}
	var v version.Info
	if err := json.Unmarshal(raw, &v); err != nil || v.GitVersion == "" {
		return fmt.Errorf("the answer is not that of a Kubernetes API server (it begins with %.20q)", raw)
	}
	return nil
}

// explain says why the API server can't be read, and the next step.
func explain(called string, c *Connection, err error) error {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var hostname x509.HostnameError
	wrapped := fmt.Errorf("read %s/version: %w", c.Server, err)
	switch {
	case errors.As(err, &unknown) && unknown.Cert != nil:
		return cli.WithHint(fmt.Errorf("%w\n  %s presents a certificate issued by %s (sha256 %s), which the CA in your kubeconfig (context %q) does not verify",
			wrapped, c.Server, foreign.QuotedName(unknown.Cert.Issuer.String()), pki.FingerprintOf(unknown.Cert.Raw), c.Context),
			"if the load balancer's CA was rotated, your kubeconfig needs the new one: %s fix-kubeconfig --api-ca-from ssh://core@NODE (a control plane node) brings it. On that node, localhost-recovery.kubeconfig in %s still works",
			called, catalog.NodeKubeconfigs)
	case errors.As(err, &hostname):
		return cli.WithHint(wrapped, "the server's certificate is for other names: check the server in your kubeconfig, or a proxy between")
	case errors.As(err, &invalid):
		return cli.WithHint(wrapped, "the server's certificate is not valid at this machine's time: date -u")
	case apierrors.IsUnauthorized(err):
		return unauthorized(c, wrapped)
	case errors.Is(err, context.Canceled):
		return wrapped
	}
	hint := "check the server and context: kubectl config view --minify"
	if c.Context != "" {
		hint += "; " + foreign.Command("", "kubectl --context %q get --raw /readyz", c.Context)
	}
	return cli.WithHint(wrapped, "%s", hint)
}

// unauthorized says why good credentials may be refused. OpenShift's tokens are
// looked up in an API that is served from the pod network.
func unauthorized(c *Connection, err error) error {
	why := "the client certificate of context %q is refused: it has expired, or the API server does not trust its CA for clients"
	if len(c.Rest.CertData) == 0 && c.Rest.CertFile == "" {
		why = "the credentials of context %q are refused. Tokens of oc login are refused although they are good while the pod network or the authentication operator is down; client certificates are not"
	}
	return cli.WithHint(fmt.Errorf("%w\n  "+why, err, c.Context),
		"log in again; where that fails too, take a kubeconfig with a client certificate: the installer's auth/kubeconfig, or on a control plane node one of those in %s, localhost-recovery.kubeconfig first: sudo oc --kubeconfig FILE get nodes", catalog.NodeKubeconfigs)
}
