package trust

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Clients judges the catalog's clients that connect to this very address, by the chain that its server
// presented to other clients: those of api-int, and those whose kubeconfig on a node names the address.
// known is false where the catalog knows no client of it; api-int has some, read or not. Once ctx is
// done, there are no claims.
func Clients(ctx context.Context, f *inspect.Facts, of inspect.Handshake) (claims []Claim, known bool) {
	j := newJudge(f)
	j.over = func() bool { return ctx.Err() != nil }
	// A server chooses its chain, and all nodes' clients would verify it.
	budget := inspect.NewBudget(len(f.Certs))
	for _, e := range catalog.Edges() {
		if e.Verify != catalog.VerifyChain || e.ServerName != catalog.NameInternal && e.ServerName != catalog.NameInKubeconfig {
			continue
		}
		here, why := j.here(e)
		if here == catalog.No {
			continue
		}
		for _, a := range j.anchors(e) {
			if j.over() {
				return nil, true
			}
			name, dials := j.dials(e, a, of.Address)
			if !dials {
				continue
			}
			c := Claim{Edge: e, Node: a.node, Trust: a.at, Roots: a.certs, Skipped: a.skipped, Server: of.HostPort, VerifiedName: name, Chain: of.Chain}
			switch {
			case a.problem != "":
				c.Status, c.Reason = assess.Unknown, a.problem
			case here == catalog.Unknown && a.cluster == nil: // a kubeconfig that was read names its server
				c.Status, c.Reason = assess.Unknown, why
			case !budget.Pay(of.At().String(), pki.Cost(c.Chain, c.Roots)):
				c.Status, c.Reason = assess.Unknown, whyCostly
			default:
				j.decide(&c)
				if c.NextUnknown { // what is presented next is verify's question
					c.Status, c.Reason = assess.Pass, ""
				}
			}
			c.conclude(f.Hints())
			claims = append(claims, c)
		}
	}
	address, _, err := inspect.KubeconfigCluster{Server: f.Snapshot.Cluster.Internal}.Dialled()
	return claims, len(claims) > 0 || err == nil && strings.EqualFold(address, of.HostPort)
}

// dials reports whether the client with these trust anchors connects to an address, and the name that
// it verifies there. Of a node that was not read, it is the client that the catalog expects there.
func (j *judge) dials(e catalog.Edge, a anchors, to inspect.Address) (name string, dials bool) {
	c := a.cluster
	if c == nil {
		server := j.f.Snapshot.Cluster.Internal
		if catalog.OfKubeadm(e.In) {
			server = j.f.Snapshot.Cluster.Server
		}
		c = &inspect.KubeconfigCluster{Server: server}
	}
	address, name, err := c.Dialled()
	return name, err == nil && strings.EqualFold(address, to.HostPort)
}

// TrustedBy returns the places of CA bundles that verify a chain as a server's, whatever its name: each
// by what most readers load of it, at the time of its node. unjudged are those of which verifying it
// costs too much.
func TrustedBy(ctx context.Context, f *inspect.Facts, of inspect.Handshake) (by, unjudged []pki.Location) {
	budget := inspect.NewBudget(len(f.Certs))
	type verifier struct {
		content *pki.Content
		node    string // its clock decides
	}
	type verdict struct{ trusts, told bool }
	known := map[verifier]verdict{}
	for i := range f.Entries {
		h := &f.Entries[i]
		if h.Superseded || h.Use != inspect.UseTrust || len(h.Content.Certs) == 0 {
			continue
		}
		if ctx.Err() != nil {
			return by, append(unjudged, h.At)
		}
		key := verifier{h.Content, h.At.Node}
		v, ok := known[key]
		if !ok {
			now := f.Now
			if n, read := f.Node(h.At.Node); read {
				now = n.Time(now)
			}
			roots, _ := h.Content.LoadedBy(pki.ReaderUnknown)
			_, _, err := pki.Refuses(roots, nil, of.Chain,
				func(roots []*pki.Cert) bool { return budget.Pay(of.At().String(), pki.Cost(of.Chain, roots)) },
				func(roots []*pki.Cert) error { return pki.Verify(of.Chain, roots, "", now) })
			v = verdict{trusts: err == nil, told: !errors.Is(err, pki.ErrCostly)}
			known[key] = v
		}
		switch {
		case !v.told:
			unjudged = append(unjudged, h.At)
		case v.trusts:
			by = append(by, h.At)
		}
	}
	return by, unjudged
}

// Client is who works with a kubeconfig on a node.
type Client struct {
	facts facts
	node  *inspect.Node
	file  inspect.Kubeconfig
	// Address is that of its server, and Name what the server's certificate has to be for.
	Address, Name string
}

// facts are what is known of kubeconfigs: a Snapshot, or Facts, which find it without looking at all.
type facts interface {
	ServedTo(node, address string) (inspect.Served, bool)
	Loaded(node string, k inspect.Kubeconfig) ([]*pki.Cert, []pki.Skipped)
}

// ClientOf is the client of a kubeconfig on a node. The error says why it works with no server;
// what the file says of one is told all the same.
func ClientOf(facts facts, node *inspect.Node, file inspect.Kubeconfig) (Client, error) {
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

// Refuses says why the client does not trust a chain, by the node's clock; nil: it does. Its answer is needed
// whatever it costs; which certificate would do that the client skips is looked for where that costs little.
// Who asks about all kubeconfigs of a node asks Refusals.
func (c Client) Refuses(chain []*pki.Cert, now time.Time) error {
	first := true
	return c.refuses(chain, now, func(roots []*pki.Cert) bool {
		free := first
		first = false
		return free || pki.Cost(chain, roots) <= pki.CostOfAnother
	})
}

func (c Client) refuses(chain []*pki.Cert, now time.Time, pay func(roots []*pki.Cert) bool) error {
	if c.file.Problem != "" {
		return errors.New(c.file.Problem)
	}
	roots, skipped := c.facts.Loaded(c.node.Name, c.file)
	needed, _, err := pki.Refuses(roots, skipped, chain, pay,
		func(roots []*pki.Cert) error { return pki.Verify(chain, roots, c.Name, c.node.Time(now)) })
	if needed != nil {
		return fmt.Errorf("%w; %s", err, needed)
	}
	return err
}

// Refusals says why clients refuse what is presented to them, each answer once. Root on a worker writes its
// kubeconfigs and what is presented to it: a worker pays for all but those of its kubelet.
type Refusals struct {
	f     *inspect.Facts
	known map[refusal]error
	left  map[string]int             // what may be verified yet for each worker
	own   map[string]map[string]bool // by node: the paths of its kubelet's kubeconfigs, each asked about once
}

// refusal is what an answer depends on, and who pays for it.
type refusal struct {
	payer, roots, skipped, chain, name, problem string
	at                                          int64
}

// costsOfCopies is what a worker's kubeconfigs may cost beside those of its kubelet, beyond what ordinary chains
// do: 1.5 s.
const costsOfCopies = 100_000

// NewRefusals begins with no answers.
func NewRefusals(f *inspect.Facts) *Refusals {
	return &Refusals{f: f, known: map[refusal]error{}, left: map[string]int{}, own: map[string]map[string]bool{}}
}

// Of is Client.Refuses by the time of the facts; pki.ErrCostly where the client's node may have no more verified.
func (r *Refusals) Of(c Client, chain []*pki.Cert) error {
	payer := r.payer(c)
	roots, skipped := r.f.Loaded(c.node.Name, c.file)
	key := refusal{payer, chainKey(roots), skippedKey(skipped), chainKey(chain), c.Name, c.file.Problem, c.node.Time(r.f.Now).UnixNano()}
	if err, ok := r.known[key]; ok {
		return err
	}
	var err error
	if payer == "" {
		err = c.Refuses(chain, r.f.Now)
	} else {
		err = c.refuses(chain, r.f.Now, func(roots []*pki.Cert) bool { return r.pay(payer, pki.Cost(chain, roots)-pki.CostOrdinary) })
	}
	r.known[key] = err
	return err
}

// payer is the worker that pays for an answer; empty: it is needed whatever it costs.
func (r *Refusals) payer(c Client) string {
	by := r.f.WrittenIn(inspect.OnNode(c.node, c.file.Path))
	if !inspect.PaidByNode(by) {
		return ""
	}
	own, ok := r.own[by]
	if !ok {
		own = map[string]bool{c.node.Kubelet.Kubeconfig: true, c.node.Kubelet.BootstrapConfig: true}
		for _, path := range inspect.KubeletSetupOf(r.f.Snapshot, c.node).Kubeconfigs() {
			own[path] = true
		}
		r.own[by], r.left[by] = own, costsOfCopies
	}
	if own[c.file.Path] {
		delete(own, c.file.Path) // a worker may say that it has several at one path
		return ""
	}
	return by
}

func (r *Refusals) pay(payer string, cost int) bool {
	if cost = max(cost, 0); cost > r.left[payer] {
		return false
	}
	r.left[payer] -= cost
	return true
}

// skippedKey tells what clients skip apart.
func skippedKey(skipped []pki.Skipped) string {
	var key strings.Builder
	for _, s := range skipped {
		key.Write(s.Fingerprint[:])
		key.WriteString(s.Reason + "\x00")
	}
	return key.String()
}
