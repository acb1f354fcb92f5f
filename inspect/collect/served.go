package collect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Dialer opens connections from somewhere else, such as a node's own network.
type Dialer interface {
	Dial(ctx context.Context, network, addr string) (net.Conn, error)
}

// handshakeTime bounds a handshake with one server.
const handshakeTime = 15 * time.Second

// handshake returns the chain that a TLS server shows to somebody who asks for
// that name, the leaf first. Nothing is sent but the handshake, and nothing is
// verified: what the chain is worth is for checks to say.
func handshake(ctx context.Context, from Dialer, address, name string) ([]*pki.Cert, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, handshakeTime, fmt.Errorf("no handshake within %s", handshakeTime))
	defer cancel()
	conn, err := from.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, because(ctx, err)
	}
	defer func() { _ = conn.Close() }() // all is read
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	var chain []*pki.Cert
	wanted := false // a client certificate
	client := tls.Client(conn, &tls.Config{
		ServerName: name,
		// The chain is what is asked for, whoever signed it. It is judged by checks, and
		// no data is sent to whom it does not convince.
		InsecureSkipVerify: true, //nolint:gosec // see above
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			for _, der := range raw {
				c, err := pki.ParseCert(der)
				if err != nil {
					return fmt.Errorf("certificate %d of the chain: %w", len(chain)+1, err)
				}
				chain = append(chain, c)
			}
			return nil
		},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			wanted = true
			return &tls.Certificate{}, nil
		},
	})
	err = client.HandshakeContext(ctx)
	// A server that wants a client certificate may end the handshake for want of it, and has
	// proven by then that it has the leaf's key (crypto/tls: in TLS 1.3 by its Finished, before
	// that by its signature of a key exchange, whose curve is told after that was verified).
	proven := err == nil || wanted && client.ConnectionState().CurveID != 0
	switch {
	case len(chain) > 0 && proven:
		return chain, nil
	case err == nil:
		err = errors.New("no certificate was presented")
	}
	return nil, because(ctx, err)
}

// served shakes hands, from a node, with the servers in its kubelet's kubeconfigs.
func served(ctx context.Context, from Dialer, n *inspect.Node) inspect.Snapshot {
	var s inspect.Snapshot
	var asked []string
	for _, k := range n.Kubeconfigs {
		c, ok := k.InUse()
		if !ok || !slices.Contains(slices.Concat(catalog.KubeletKubeconfigs(), catalog.KubeadmKubeconfigs()), k.Path) {
			continue
		}
		address, name, err := c.Dialled()
		if err != nil || slices.Contains(asked, address+" "+name) {
			continue
		}
		asked = append(asked, address+" "+name)
		chain, err := handshake(ctx, from, address, name)
		if err != nil {
			s.Gaps = append(s.Gaps, inspect.Gap{What: "node/" + n.Name, Where: address, Reason: "TLS handshake from the node: " + err.Error(), Next: "is the API server up? On the node: curl -kv https://" + address + "/readyz"})
			continue
		}
		s.Served = append(s.Served, inspect.Served{Node: n.Name, Address: address, Name: name, Chain: chain})
	}
	return s
}
