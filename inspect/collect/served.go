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

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
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

// mostPresented is how many certificates of a chain are read: of more, crypto/x509 looks at no more
// than 100 signatures, and crypto/tls takes some 256 KiB of them, of which self-signed ones are verified.
const mostPresented = 100

// handshake returns the chain that a TLS server presents to a client that asks for
// that name, the leaf first.
func handshake(ctx context.Context, from Dialer, address, name string) ([]*pki.Cert, error) {
	h, err := meet(ctx, from, inspect.Address{HostPort: address, Name: name}, handshakeTime)
	if err == nil && h.NotRead > 0 {
		return nil, fmt.Errorf("a chain of %d certificates was presented: more than %d are not read", len(h.Chain)+h.NotRead, mostPresented)
	}
	return h.Chain, err
}

// meet makes one handshake with a server. Nothing is sent but the handshake, no credential is in it,
// and nothing is verified: what the chain is worth is for checks to say.
func meet(ctx context.Context, from Dialer, to inspect.Address, limit time.Duration) (inspect.Handshake, error) {
	h := inspect.Handshake{Address: to}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no handshake within %s", limit))
	defer cancel()
	conn, err := from.Dial(ctx, "tcp", to.HostPort)
	if err != nil {
		return h, because(ctx, err)
	}
	defer func() { _ = conn.Close() }() // all is read
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	h.Remote = conn.RemoteAddr().String()
	var chain []*pki.Cert
	client := tls.Client(conn, &tls.Config{
		ServerName: to.Name,
		// The chain is what is asked for, whoever signed it. It is judged by checks, and
		// no data is sent to a server that it does not convince.
		InsecureSkipVerify: true, //nolint:gosec // see above
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			h.NotRead = max(len(raw)-mostPresented, 0)
			for _, der := range raw[:len(raw)-h.NotRead] {
				c, err := pki.ParseCert(der)
				if err != nil {
					return fmt.Errorf("certificate %d of the chain: %w", len(chain)+1, err)
				}
				chain = append(chain, c)
			}
			return nil
		},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			h.WantsClient = true
			return &tls.Certificate{}, nil
		},
	})
	err = foreign.Error(client.HandshakeContext(ctx)) // a URI in a certificate is in it
	state := client.ConnectionState()
	if state.Version != 0 {
		h.TLS = tls.VersionName(state.Version)
	}
	// A server that wants a client certificate may end the handshake for want of it, and has
	// proven by then that it has the leaf's key (crypto/tls: in TLS 1.3 by its Finished, before
	// that by its signature of a key exchange, whose curve is told after that was verified).
	proven := err == nil || h.WantsClient && state.CurveID != 0
	switch {
	case len(chain) > 0 && proven:
		h.Chain = chain
		return h, nil
	case err == nil:
		err = errors.New("no certificate was presented")
	}
	return h, because(ctx, err)
}

// served does a TLS handshake, from a node, with the servers in its kubelet's kubeconfigs.
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
			s.Gaps = append(s.Gaps, inspect.Gap{What: "node/" + n.Name, Where: address, Reason: "TLS handshake from the node: " + err.Error(), Next: "is the API server up? On the node: " + inspect.AskReadyz(address)})
			continue
		}
		s.Served = append(s.Served, inspect.Served{Node: n.Name, Address: address, Name: name, Chain: chain})
	}
	return s
}
