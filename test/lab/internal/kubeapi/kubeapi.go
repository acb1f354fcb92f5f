// Package kubeapi asks the lab's API server simple questions, with the standard
// library alone: is it ready, is this object there. It writes nothing; kubectl
// does that.
package kubeapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
)

// Client is the cluster's administrator.
type Client struct {
	http *http.Client
	base string
}

// New makes a client from the lab's certificates, for the API server at
// host:port. The server is verified against kube-apiserver-server-ca.
func New(pkiDir, hostPort string) (*Client, error) {
	bundle := pki.BundleFile(pkiDir, "kube-apiserver-server-ca")
	text, err := os.ReadFile(bundle)
	if err != nil {
		return nil, fmt.Errorf("read the API server's CA: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read the API server's CA: no certificate in %s", bundle)
	}
	cert, err := tls.LoadX509KeyPair(pki.CertFile(pkiDir, pki.Admin), pki.KeyFile(pkiDir, pki.Admin))
	if err != nil {
		return nil, fmt.Errorf("read the administrator's certificate: %w", err)
	}
	return &Client{
		base: "https://" + hostPort,
		http: &http.Client{
			Timeout: 3 * time.Second,
			Transport: &http.Transport{
				// No proxy: the lab is never behind one.
				TLSClientConfig:   &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
				DisableKeepAlives: true,
			},
		},
	}, nil
}

// Get reads a path such as /readyz. Any answer but 200 is an error.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("read %s%s: %w", c.base, path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read %s%s: %s: %.200s", c.base, path, resp.Status, body)
	}
	return body, nil
}
