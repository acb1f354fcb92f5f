// Package kubeapi talks to the lab's API server with the standard library alone:
// is it ready, is this object there, change that field, put that object back.
// Objects in numbers are written by kubectl, not by this.
package kubeapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	stdpath "path"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
)

// requestLimit ends a request that gets no answer; Watch has none.
const requestLimit = 5 * time.Second

// Client is the cluster's administrator.
type Client struct {
	http *http.Client
	base string
}

// StatusError is an answer that isn't success.
type StatusError struct {
	Code int
	text string
}

func (e *StatusError) Error() string { return e.text }

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
			Transport: &http.Transport{
				// No proxy: the lab is never behind one.
				TLSClientConfig:   &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
				DisableKeepAlives: true,
			},
		},
	}, nil
}

// Get reads a path such as /readyz. Any answer but success is a StatusError.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	return c.do(ctx, http.MethodGet, path, nil)
}

// Patch changes an object by a JSON merge patch.
func (c *Client) Patch(ctx context.Context, path string, patch any) error {
	text, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("change %s: %w", path, err)
	}
	_, err = c.do(ctx, http.MethodPatch, path, text)
	return err
}

// Put replaces an object by another, whatever wrote it last, and makes it if it is
// gone. It is for kinds that need no resourceVersion for that: Secrets and
// ConfigMaps.
func (c *Client) Put(ctx context.Context, path string, object any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = c.do(ctx, http.MethodPut, path, text)
	var status *StatusError
	if errors.As(err, &status) && status.Code == http.StatusNotFound {
		_, err = c.do(ctx, http.MethodPost, stdpath.Dir(path), text)
	}
	return err
}

func (c *Client) do(ctx context.Context, method, path string, send []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	resp, err := c.send(ctx, method, path, send)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if err != nil {
		return nil, fmt.Errorf("%s %s%s: %w", method, c.base, path, err)
	}
	return body, nil
}

// Watch calls seen for each object that is at path or comes or changes there,
// until the API server or ctx ends it.
func (c *Client) Watch(ctx context.Context, path string, seen func(object json.RawMessage)) error {
	resp, err := c.send(ctx, http.MethodGet, path+"?watch=true", nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	events := json.NewDecoder(resp.Body)
	for {
		var e struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := events.Decode(&e); err != nil {
			return fmt.Errorf("watch %s%s: %w", c.base, path, err)
		}
		if e.Type == "ADDED" || e.Type == "MODIFIED" {
			seen(e.Object)
		}
	}
}

// send returns only answers that are success.
func (c *Client) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	switch method {
	case http.MethodPatch:
		req.Header.Set("Content-Type", "application/merge-patch+json")
	case http.MethodPut, http.MethodPost:
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
		_ = resp.Body.Close()
		return nil, &StatusError{resp.StatusCode, fmt.Sprintf("%s %s%s: %s: %s", method, c.base, path, resp.Status, text)}
	}
	return resp, nil
}
