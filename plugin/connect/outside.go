package connect

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
)

// servedToUser is what the server of the kubeconfig presents to this machine. Through a proxy
// it is not asked: that may be what ends TLS, and may want credentials.
func (c *Connection) servedToUser(ctx context.Context, cluster inspect.Cluster) []inspect.Served {
	server := inspect.KubeconfigCluster{Server: c.Server, ServerName: c.Rest.ServerName}
	address, name, err := server.Dialled()
	if err != nil {
		return nil // no TLS
	}
	proxy := http.ProxyFromEnvironment
	if c.Rest.Proxy != nil {
		proxy = c.Rest.Proxy
	}
	if u, err := url.Parse(c.Server); err == nil {
		if by, err := proxy(&http.Request{URL: u}); err != nil || by != nil {
			problem := "your kubeconfig's proxy, or that of HTTPS_PROXY, can't be told" // the error quotes it, with a password
			if by != nil {
				problem = fmt.Sprintf("your kubeconfig goes through the proxy %s: none was made", by.Host)
			}
			return []inspect.Served{{Address: address, Name: name, Server: catalog.ListenerUserKubeconfig, Problem: problem}}
		}
	}
	return collect.ServedToUser(ctx, collect.LocalDialer{}, server, cluster)
}
