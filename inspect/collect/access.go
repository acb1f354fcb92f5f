package collect

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Access returns the source of how the caller gets into the cluster, by the context
// in use, and of what the server, a URL, presents to the caller. Certificates are for
// Kubeconfig to read.
func Access(config clientcmdapi.Config, contextName, server string) Source {
	return reader{"access", whole(func(ctx context.Context) inspect.Snapshot {
		a := inspect.Access{Context: inspect.WithoutUserinfo(contextName), CA: inspect.CASystem}
		k := inspect.KubeconfigCluster{Server: server}
		kctx := config.Contexts[contextName]
		if kctx == nil {
			a.Problem = "the kubeconfig has no current context"
			return inspect.Snapshot{Access: &a}
		}
		if u := config.AuthInfos[kctx.AuthInfo]; u != nil {
			a.Presents, a.How = credential(u)
			a.Certificate = located(u.LocationOfOrigin, fmt.Sprintf("users[%q].user.client-certificate-data", inspect.WithoutUserinfo(kctx.AuthInfo)), len(u.ClientCertificateData) > 0, u.ClientCertificate)
		}
		if cl := config.Clusters[kctx.Cluster]; cl != nil {
			switch {
			case cl.InsecureSkipTLSVerify:
				a.CA = inspect.CAIgnored
			case len(cl.CertificateAuthorityData) > 0:
				a.CA = inspect.CAEmbedded
			case cl.CertificateAuthority != "":
				a.CA = inspect.CAFile
			}
			k.ServerName = cl.TLSServerName
			a.Trust = located(cl.LocationOfOrigin, fmt.Sprintf("clusters[%q].cluster.certificate-authority-data", inspect.WithoutUserinfo(kctx.Cluster)), len(cl.CertificateAuthorityData) > 0, cl.CertificateAuthority)
			if cl.ProxyURL != "" {
				a.Problem = "the kubeconfig goes through a proxy, so no handshake was made"
				return inspect.Snapshot{Access: &a}
			}
		}
		s := inspect.Snapshot{Access: &a}
		address, name, err := k.Dialled()
		if err == nil {
			var chain []*pki.Cert
			if chain, err = handshake(ctx, LocalDialer{}, address, name); err == nil {
				a.Server, a.Name = address, name
				s.Served = []inspect.Served{{Address: address, Name: name, Chain: chain, Server: catalog.ListenerUserKubeconfig}}
			}
		}
		if err != nil {
			a.Problem = "TLS handshake from here: " + err.Error()
		}
		return s
	})}
}

// LocalDialer dials from where certrot runs.
type LocalDialer struct{}

// Dial is net.Dialer's.
func (LocalDialer) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// located is where Kubeconfig finds a value of a kubeconfig.
func located(origin, field string, data bool, file string) pki.Location {
	switch {
	case data:
		return pki.Location{Kind: pki.KindFile, Path: origin, Field: field}
	case file == "":
		return pki.Location{}
	case !filepath.IsAbs(file):
		file = filepath.Join(filepath.Dir(origin), file)
	}
	return pki.Location{Kind: pki.KindFile, Path: file}
}

// credential says what a user presents, in the order in which client-go
// takes what is there.
func credential(u *clientcmdapi.AuthInfo) (presents inspect.Credential, how string) {
	switch {
	case len(u.ClientCertificateData) > 0 || u.ClientCertificate != "":
		return inspect.CredentialCertificate, ""
	case u.Token != "" || u.TokenFile != "":
		return inspect.CredentialToken, "a token"
	case u.Exec != nil:
		return inspect.CredentialOther, "the program " + filepath.Base(u.Exec.Command)
	case u.AuthProvider != nil:
		return inspect.CredentialOther, "the plugin " + u.AuthProvider.Name
	case u.Username != "":
		return inspect.CredentialOther, "a password"
	}
	return inspect.CredentialNone, "nothing"
}
