//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
)

func (t *trouble) certificate(version, name string) (*x509.Certificate, error) {
	folder := t.dir.IncidentFiles(version)
	pair, err := tls.LoadX509KeyPair(pki.CertFile(folder, name), pki.KeyFile(folder, name))
	if err != nil {
		return nil, fmt.Errorf("read the %s version of %s: %w", version, name, err)
	}
	return pair.Leaf, nil
}

// served waits until a handshake proves that api-int serves its certificate in this
// version, and that the CA of the same version is enough to trust it.
func (t *trouble) served(ctx context.Context, step, version string) error {
	ca, err := t.certificate(version, pki.LoadBalancerSigner)
	if err != nil {
		return err
	}
	leaf, err := t.certificate(version, pki.InternalServing)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	ctx, cancel := context.WithTimeout(ctx, servedLimit)
	defer cancel()
	for {
		got, err := handshake(ctx, hostPort(t.lab), pki.InternalHost, roots)
		if err == nil && got.Equal(leaf) {
			t.w.say("%s: %s serves a certificate of %s", step, pki.InternalHost, got.Issuer.CommonName)
			return nil
		}
		if err == nil {
			err = fmt.Errorf("it serves serial %s, not %s", got.SerialNumber, leaf.SerialNumber)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s serves what is in %s: %w: see %s", pki.InternalHost, pki.CertFile(t.dir.PKI(), pki.InternalServing), err, t.dir.Log("kube-apiserver"))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// servedByMasters waits for the same of the masters that have an API server of their own:
// what they serve is in their files, and comes a moment later.
func (t *trouble) servedByMasters(ctx context.Context, version string) error {
	leaf, err := t.certificate(version, pki.InternalServing)
	if err != nil {
		return err
	}
	nodes, err := node.Parse(t.lab.Nodes)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, servedLimit)
	defer cancel()
	for _, n := range nodes {
		for n.APIServer {
			served, err := t.ssh(ctx, n.Name, "openssl s_client -connect 127.0.0.1:6443 -servername "+pki.InternalHost+" </dev/null 2>/dev/null | openssl x509")
			if block, _ := pem.Decode([]byte(served)); block != nil && bytes.Equal(block.Bytes, leaf.Raw) {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("wait until the API server of %s serves serial %s for %s: %w: see %s", n.Name, leaf.SerialNumber, pki.InternalHost, errors.Join(ctx.Err(), err), t.dir.Log("kube-apiserver-"+n.Name))
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return nil
}

// handshake is what a server presents to who asks for a name and trusts roots. The server
// does not hear whether it is trusted: it would write into its log who does not.
func handshake(ctx context.Context, address, name string, roots *x509.CertPool) (*x509.Certificate, error) {
	dialer := tls.Dialer{Config: &tls.Config{ServerName: name, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}} // verified below
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("handshake with %s: %w", name, err)
	}
	defer func() { _ = conn.Close() }()
	c, ok := conn.(*tls.Conn)
	if !ok {
		return nil, fmt.Errorf("handshake with %s: not TLS", name)
	}
	chain := c.ConnectionState().PeerCertificates
	between := x509.NewCertPool()
	for _, cert := range chain[1:] {
		between.AddCert(cert)
	}
	if _, err := chain[0].Verify(x509.VerifyOptions{DNSName: name, Roots: roots, Intermediates: between}); err != nil {
		return nil, fmt.Errorf("handshake with %s: %w", name, err)
	}
	return chain[0], nil
}

// restartClients returns when the controller manager has published what it trusts to
// all namespaces.
func (t *trouble) restartClients(ctx context.Context) error {
	if err := restartClients(ctx, t.dir); err != nil {
		return err
	}
	return t.publishes(ctx)
}

// publishes waits until the controller manager has published what it trusts.
func (t *trouble) publishes(ctx context.Context) error {
	want, err := os.ReadFile(pki.BundleFile(t.dir.PKI(), "serviceaccount-ca"))
	if err != nil {
		return fmt.Errorf("read what is to be published: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, publishLimit)
	defer cancel()
	for {
		namespaces, lacking, err := t.published(ctx, string(want))
		if err == nil && len(lacking) == 0 {
			t.w.say("kube-controller-manager and kube-scheduler trust these bundles after a restart; kube-root-ca.crt is in %d namespaces", namespaces)
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait until kube-root-ca.crt is what serviceaccount-ca is: not in %s: see %s", strings.Join(lacking, ", "), t.dir.Log("kube-controller-manager")), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// published says in which namespaces kube-root-ca.crt is another.
func (t *trouble) published(ctx context.Context, want string) (namespaces int, lacking []string, err error) {
	text, err := t.api.Get(ctx, "/api/v1/configmaps?fieldSelector=metadata.name%3Dkube-root-ca.crt")
	if err != nil {
		return 0, nil, err
	}
	var list struct {
		Items []struct {
			Metadata struct {
				Namespace string `json:"namespace"`
			} `json:"metadata"`
			Data map[string]string `json:"data"`
		} `json:"items"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return 0, nil, fmt.Errorf("read kube-root-ca.crt of all namespaces: %w", err)
	}
	for _, i := range list.Items {
		if i.Data["ca.crt"] != want {
			lacking = append(lacking, i.Metadata.Namespace)
		}
	}
	return len(list.Items), lacking, nil
}
