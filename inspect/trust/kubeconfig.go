package trust

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Client is who works with a kubeconfig on a node.
type Client struct {
	facts *inspect.Snapshot
	node  *inspect.Node
	file  inspect.Kubeconfig
	// Address is that of its server, and Name what the server's certificate has to be for.
	Address, Name string
}

// ClientOf is the client of a kubeconfig on a node. The error says why it works with no server;
// what the file says of one is told all the same.
func ClientOf(facts *inspect.Snapshot, node *inspect.Node, file inspect.Kubeconfig) (Client, error) {
	c := Client{facts: facts, node: node, file: file}
	err := errors.New("its current context leads to no cluster")
	if cluster, ok := file.InUse(); ok {
		c.Address, c.Name, err = cluster.Dialled()
	}
	if file.Problem != "" {
		err = errors.New(file.Problem)
	}
	return c, err
}

// Served is what its server presented to the node; false where no handshake saw it.
func (c Client) Served() (inspect.Served, bool) { return c.facts.ServedTo(c.node.Name, c.Address) }

// Refuses says why the client does not trust a chain, by the node's clock; nil: it does. Whoever
// asks whether a kubeconfig on a node trusts its server asks here.
func (c Client) Refuses(chain []*pki.Cert, now time.Time) error {
	if c.file.Problem != "" {
		return errors.New(c.file.Problem)
	}
	roots, skipped := c.facts.Loaded(c.node.Name, c.file)
	needed, _, err := refuses(roots, skipped, chain, func(roots []*pki.Cert) error {
		return pki.Verify(chain, roots, c.Name, c.node.Time(now))
	})
	if needed != nil {
		return fmt.Errorf("%w; %s", err, needed)
	}
	return err
}

// refuses says why a client with these roots does not trust what verify asks for, which is about
// certificates; and which certificate stands beside the roots that its reader skips, and that
// would do. all: each of them was tried.
func refuses(roots []*pki.Cert, skipped []pki.Skipped, of []*pki.Cert, verify func(roots []*pki.Cert) error) (needed *pki.Skipped, all bool, err error) {
	if err = verify(roots); err == nil {
		return nil, true, nil
	}
	more := append(slices.Clone(roots), nil)
	needed, all = pki.Needed(skipped, of, func(c *pki.Cert) bool {
		more[len(roots)] = c
		return verify(more) == nil
	})
	return needed, all, err
}
