package plugin

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// purpose is what an API server is asked for. The zero value is to write: who reads says so.
type purpose int

const (
	// toWrite refuses an API server that is not authenticated: its CA bundles may be an
	// attacker's, and what is written makes nodes trust them.
	toWrite purpose = iota
	// toWriteByGivenCA is where the CA comes from a flag, and verifies the API server: it
	// refuses one without TLS, which no CA can authenticate.
	toWriteByGivenCA
	// toWriteAnyway is where the risk is accepted by name.
	toWriteAnyway
	// toRead is where the output says that the API server was not authenticated.
	toRead
)

// writing is the purpose of a command that writes. ca: the CA comes from a flag.
func writing(risks []string, ca bool) purpose {
	switch {
	case slices.Contains(risks, preflight.UnauthenticatedAPI):
		return toWriteAnyway
	case ca:
		return toWriteByGivenCA
	}
	return toWrite
}

// unauthenticated says why another server than the API server may have answered; empty:
// TLS verifies it, by the kubeconfig's CA or this machine's.
func unauthenticated(c *rest.Config, flags *genericclioptions.ConfigFlags) string {
	switch plain := withoutTLS(c); {
	case plain != "":
		return inspect.WithoutTLS(plain)
	case c.Insecure && flags.Insecure != nil && *flags.Insecure:
		return "--insecure-skip-tls-verify"
	case c.Insecure:
		return "insecure-skip-tls-verify in the kubeconfig"
	}
	return ""
}

// withoutTLS is the URL of a server that is asked without TLS; empty: it is asked with TLS.
func withoutTLS(c *rest.Config) string {
	u, _, err := rest.DefaultServerUrlFor(c)
	if err != nil || u.Scheme == "https" { // nothing can be asked of one that is no URL
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// refuseUnauthenticated is the refusal to write on the word of such a server.
func refuseUnauthenticated(reason string) error {
	return &exitError{code: exitRefused, err: withHint(
		refusedUnchanged(fmt.Errorf("%s: the API server is not authenticated (%s): the CA it publishes may be an attacker's", preflight.UnauthenticatedAPI, reason)),
		"set the cluster's CA in the kubeconfig: kubectl config set-cluster NAME --certificate-authority=FILE --embed-certs. fix-api-int takes it from --ca-file FILE or --api-ca-from ssh://core@MASTER, too. Or accept it: --accept-risk=%s", preflight.UnauthenticatedAPI)}
}

// refuseWithoutTLS is the refusal to write on the word of a server that no CA can verify.
func refuseWithoutTLS(reason string) error {
	return &exitError{code: exitRefused, err: withHint(
		refusedUnchanged(fmt.Errorf("%s: the API server is not authenticated (%s): a CA file verifies nothing without TLS", preflight.UnauthenticatedAPI, reason)),
		"name the API server by its https:// URL: kubectl config set-cluster NAME --server=https://HOST:6443. Or accept it: --accept-risk=%s", preflight.UnauthenticatedAPI)}
}

// allows refuses an API server that is not authenticated, before it is asked anything.
func (p purpose) allows(flags *genericclioptions.ConfigFlags) error {
	c, err := flags.ToRESTConfig()
	if err != nil {
		return nil // connect says it
	}
	if raw, err := flags.ToRawKubeConfigLoader().RawConfig(); err == nil && noServer(c, raw, flags) {
		return nil // so does it here
	}
	return p.refusesServer(c, flags)
}

// refusesServer refuses a server as the kubeconfig and the flags name it.
func (p purpose) refusesServer(c *rest.Config, flags *genericclioptions.ConfigFlags) error {
	reason := unauthenticated(c, flags)
	if p == toWriteByGivenCA && withoutTLS(c) != "" {
		return refuseWithoutTLS(reason)
	}
	return p.refuses(reason)
}

// refusesCluster refuses the facts of a file, by how their API server was asked.
func (p purpose) refusesCluster(c inspect.Cluster) error {
	if plain := c.WithoutTLS(); p == toWriteByGivenCA && plain != "" {
		return refuseWithoutTLS(plain)
	}
	return p.refuses(c.Unauthenticated)
}

func (p purpose) refuses(reason string) error {
	if p != toWrite || reason == "" {
		return nil
	}
	return refuseUnauthenticated(reason)
}

// refusedAPI returns the refusal in an error of connect; nil: it is another one.
func refusedAPI(err error) error {
	var e *exitError
	if errors.As(err, &e) && e.code == exitRefused {
		return e
	}
	return nil
}

// printUnauthenticated says above an answer that another server may have given it.
func printUnauthenticated(w io.Writer, reason string) {
	if reason != "" {
		wrap(w, "         ", "API SERVER NOT AUTHENTICATED: "+reason+". Another server may have answered.")
	}
}
