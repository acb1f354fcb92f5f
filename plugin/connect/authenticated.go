package connect

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// Purpose is what an API server is asked for. The zero value is to write: who reads says so.
type Purpose int

const (
	// ToWrite refuses an API server that is not authenticated: its CA bundles may be an
	// attacker's, and what is written makes nodes trust them.
	ToWrite Purpose = iota
	// toWriteByGivenCA is where the CA comes from a flag, and verifies the API server: it
	// refuses one without TLS, which no CA can authenticate.
	toWriteByGivenCA
	// toWriteAnyway is where the risk is accepted by name.
	toWriteAnyway
	// ToRead is where the output says that the API server was not authenticated.
	ToRead
)

// Writing is the purpose of a command that writes. ca: the CA comes from a flag.
func Writing(risks []string, ca bool) Purpose {
	switch {
	case slices.Contains(risks, preflight.UnauthenticatedAPI):
		return toWriteAnyway
	case ca:
		return toWriteByGivenCA
	}
	return ToWrite
}

// unauthenticated says why another server than the API server may have answered; empty:
// TLS verifies it, by the kubeconfig's CA or this machine's.
func unauthenticated(c *rest.Config, flags *cli.ConfigFlags) string {
	switch plain := withoutTLS(c); {
	case plain != "":
		return inspect.WithoutTLS(plain)
	case c.Insecure && flags.ClusterInfo.InsecureSkipTLSVerify:
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
	return cli.Refused(cli.WithHint(
		cli.RefusedUnchanged(fmt.Errorf("%s: the API server is not authenticated (%s): the CA it publishes may be an attacker's", preflight.UnauthenticatedAPI, reason)),
		"set the cluster's CA in the kubeconfig: kubectl config set-cluster NAME --certificate-authority=FILE --embed-certs. fix-api-int takes it from --ca-file FILE or --api-ca-from ssh://core@NODE (a control plane node), too\n%s", preflight.Accepting(preflight.UnauthenticatedAPI)))
}

// refuseWithoutTLS is the refusal to write on the word of a server that no CA can verify.
func refuseWithoutTLS(reason string) error {
	return cli.Refused(cli.WithHint(
		cli.RefusedUnchanged(fmt.Errorf("%s: the API server is not authenticated (%s): a CA file verifies nothing without TLS", preflight.UnauthenticatedAPI, reason)),
		"%s", strings.Join([]string{"name the API server by its https:// URL: kubectl config set-cluster NAME --server=https://HOST:6443", preflight.Accepting(preflight.UnauthenticatedAPI)}, "\n")))
}

// Allows refuses an API server that is not authenticated, before it is asked anything.
func (p Purpose) Allows(flags *cli.ConfigFlags) error {
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
func (p Purpose) refusesServer(c *rest.Config, flags *cli.ConfigFlags) error {
	reason := unauthenticated(c, flags)
	if p == toWriteByGivenCA && withoutTLS(c) != "" {
		return refuseWithoutTLS(reason)
	}
	return p.refuses(reason)
}

// RefusesCluster refuses the facts of a file, by how their API server was asked.
func (p Purpose) RefusesCluster(c inspect.Cluster) error {
	if plain := c.WithoutTLS(); p == toWriteByGivenCA && plain != "" {
		return refuseWithoutTLS(plain)
	}
	return p.refuses(c.Unauthenticated)
}

func (p Purpose) refuses(reason string) error {
	if p != ToWrite || reason == "" {
		return nil
	}
	return refuseUnauthenticated(reason)
}
