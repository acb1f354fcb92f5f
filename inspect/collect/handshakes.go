package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

const (
	// reachTime bounds a handshake with a server on a node's own address: what is in
	// the same network answers soon, and a node that is switched off never does.
	reachTime = 5 * time.Second
	// askTime bounds all of them that are made from one node.
	askTime = time.Minute
	// handshakesAtOnce is how many run at the same time from one node, where each may
	// be a process.
	handshakesAtOnce = 8
	// asksFrom is from how many nodes a server is asked that does not answer.
	asksFrom = 3
)

// Handshakes asks the servers on the nodes of a cluster what they show, each on its
// own address, as the catalog has them.
type Handshakes struct {
	Nodes []NodeObject // all of the cluster
	// Listening says where servers listen, as far as the API tells it.
	Listening Listening
	// Twice: servers of control plane nodes are asked from two others, where none of those was read. Root
	// on one worker may answer in their place.
	Twice bool
	// Open gets onto a node from which they are asked.
	Open    func(ctx context.Context, node string) (OnNode, error)
	Observe func(what string, n int)
}

// server is one that is asked, under each of its names in turn.
type server struct {
	listener catalog.Listener
	of       NodeObject
	address  string
	names    []string
	problem  inspect.Served // the last try, where nothing was presented
}

// Collect asks every server from one node that was read, a master where there is
// one, and those that do not answer from others. A server that is on all nodes is
// asked from masters, who are its clients; where none was read, each from its own
// node. A server that was not reached is a Served with its Problem.
func (h Handshakes) Collect(ctx context.Context, s *inspect.Snapshot) []inspect.Served {
	masters, others := h.readNodes(s)
	if len(masters)+len(others) == 0 {
		return nil
	}
	pending := h.servers(s)
	r := &round{Handshakes: h, all: pending}
	if len(masters) == 0 {
		pending = h.fromOwnNode(ctx, r, pending, others)
	}
	from := append(masters, others...)
	for _, node := range from[:min(len(from), asksFrom)] {
		mine, rest := pending, []*server(nil)
		if len(masters) > 0 && !slices.Contains(masters, node) {
			mine, rest = partition(pending, func(v *server) bool { return v.listener.MastersOnly })
		}
		pending = append(rest, r.ask(ctx, node, mine)...)
		if len(pending) == 0 {
			break
		}
	}
	for _, v := range pending {
		r.found = append(r.found, v.problem)
	}
	if h.Twice && len(masters) == 0 {
		r.askAgain(ctx, others, pending)
	}
	return r.found
}

// askAgain asks each server that answered from one more node.
func (r *round) askAgain(ctx context.Context, nodes []string, silent []*server) {
	first := map[string]string{} // by address: from where
	for _, v := range r.found {
		first[v.Address] = v.Node
	}
	again := map[string][]*server{}
	for _, v := range r.all {
		i := slices.IndexFunc(nodes, func(n string) bool { return n != first[v.address] })
		if v.listener.MastersOnly && i >= 0 && !slices.Contains(silent, v) {
			again[nodes[i]] = append(again[nodes[i]], v)
		}
	}
	for _, node := range nodes[:min(len(nodes), asksFrom)] {
		r.ask(ctx, node, again[node]) // who is silent then, told something before
	}
}

// readNodes are the nodes that were read: the masters, and the others. One that has lost its label may be
// a worker with the files of a master: it is asked as one, and not believed before others.
func (h Handshakes) readNodes(s *inspect.Snapshot) (masters, others []string) {
	for _, n := range s.Nodes {
		switch i := slices.IndexFunc(h.Nodes, func(o NodeObject) bool { return o.Name == n.Name }); {
		case n.Via == "":
		case i >= 0 && h.Nodes[i].Master && (h.Nodes[i].Role == "" || h.Nodes[i].Role == catalog.RoleMaster):
			masters = append(masters, n.Name)
		default:
			others = append(others, n.Name)
		}
	}
	return masters, others
}

// fromOwnNode asks the servers that are on all nodes, each from its own node.
func (h Handshakes) fromOwnNode(ctx context.Context, r *round, all []*server, read []string) (rest []*server) {
	own, rest := partition(all, func(v *server) bool { return !v.listener.MastersOnly })
	var g errgroup.Group
	g.SetLimit(handshakesAtOnce)
	for _, v := range own {
		if !slices.Contains(read, v.of.Name) {
			v.problem = v.handshakeFrom("")
			v.problem.Problem = "neither the node nor a control plane node was read, from which it could be asked"
			r.found = append(r.found, v.problem)
		}
	}
	for _, v := range own {
		if slices.Contains(read, v.of.Name) {
			g.Go(func() error {
				for _, v := range r.ask(ctx, v.of.Name, []*server{v}) {
					r.add(v.problem)
				}
				return nil
			})
		}
	}
	_ = g.Wait() // none returns an error: what fails is a Problem
	return rest
}

func partition(all []*server, fits func(*server) bool) (those, rest []*server) {
	for _, v := range all {
		if fits(v) {
			those = append(those, v)
		} else {
			rest = append(rest, v)
		}
	}
	return those, rest
}

// servers are those of the catalog that hold for the versions that run.
func (h Handshakes) servers(s *inspect.Snapshot) []*server {
	var out []*server
	for _, row := range catalog.Servers() {
		if row.Listener.Port == "" || row.In.Holds(s.Cluster.Versions) != catalog.Yes || catalog.OfKubeadm(row.In) && s.MadeByKubeadm() == catalog.No {
			continue
		}
		for _, n := range h.Nodes {
			if row.Listener.MastersOnly && !n.Master {
				continue
			}
			v := &server{listener: row.Listener, of: n}
			var there bool
			if v.address, there = h.address(row, n, s); !there {
				continue
			}
			for _, show := range row.Certs {
				if name, ok := inspect.ServerName(show.Name, s.Cluster); ok {
					v.names = append(v.names, name)
				}
			}
			if len(v.names) > 0 {
				out = append(out, v)
			}
		}
	}
	return out
}

// address is where a server listens on a node: where its own pod says, else the port
// that the Node object, Infrastructure or a kubeconfig on the node names, else the
// catalog's. It is empty where the node has no address, and false where the node is
// known to have no such server.
func (h Handshakes) address(row catalog.Server, n NodeObject, s *inspect.Snapshot) (address string, there bool) {
	l := row.Listener
	if at := h.Listening[n.Name]; at != nil && l.MastersOnly {
		if at[l.Name] != "" {
			return at[l.Name], true
		}
		read, ok := s.Node(n.Name)
		if !ok || read.File(row.Certs[0].From.Name) == nil {
			return "", false // its pods are known, and that is none of them
		}
	}
	if n.internal == "" {
		return "", true
	}
	port := l.Port
	switch {
	case port == catalog.PortInternal:
		port = portOf(s.Cluster.Internal)
	case l.Name == catalog.ListenerAPIServer:
		port = cmp.Or(ownPort(n, s), port)
	case !l.MastersOnly && n.kubeletPort > 0:
		port = strconv.Itoa(n.kubeletPort)
	}
	return net.JoinHostPort(n.internal, port), true
}

// ownPort is the port of kube-apiserver on a node, as a kubeconfig says that names the
// node's own address; empty: none does. kubeadm writes such ones for
// kube-controller-manager and kube-scheduler. Root on a worker may name any port there.
func ownPort(n NodeObject, s *inspect.Snapshot) string {
	for _, read := range s.Nodes {
		if read.Name != n.Name && read.Role != "" && read.Role != catalog.RoleMaster {
			continue
		}
		for _, k := range read.Kubeconfigs {
			c, ok := k.InUse()
			if !ok {
				continue
			}
			address, _, err := c.Dialled()
			if err != nil {
				continue
			}
			host, port, err := net.SplitHostPort(address)
			if err == nil && slices.Contains(n.Addresses, host) {
				return port
			}
		}
	}
	return ""
}

// portOf is the port in a URL: 6443 where there is none, on which OpenShift's
// masters listen.
func portOf(server string) string {
	if u, err := url.Parse(server); err == nil && u.Port() != "" {
		return u.Port()
	}
	return "6443"
}

func (v *server) handshakeFrom(from string) inspect.Served {
	return inspect.Served{Node: from, Address: v.address, Name: v.names[0], Server: v.listener.Name, Of: v.of.Name}
}

// reach is a handshake with a server that is near.
func reach(ctx context.Context, from Dialer, address, name string) ([]*pki.Cert, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, reachTime, fmt.Errorf("no handshake within %s", reachTime))
	defer cancel()
	return handshake(ctx, from, address, name)
}

// ServedToUser asks the server of a kubeconfig what it presents to the user's own machine,
// for its own name and for api-int's.
func ServedToUser(ctx context.Context, from Dialer, c inspect.KubeconfigCluster, cluster inspect.Cluster) []inspect.Served {
	address, own, err := c.Dialled()
	if err != nil {
		return nil // no TLS
	}
	names := []string{own}
	if internal, ok := inspect.ServerName(catalog.NameInternal, cluster); ok && internal != own {
		names = append(names, internal)
	}
	var out []inspect.Served
	for _, name := range names {
		one := inspect.Served{Address: address, Name: name, Server: catalog.ListenerUserKubeconfig}
		if one.Chain, err = reach(ctx, from, address, name); err != nil {
			one.Problem = err.Error()
		}
		out = append(out, one)
	}
	return out
}

// round is what was found so far.
type round struct {
	Handshakes
	all   []*server
	mu    sync.Mutex
	found []inspect.Served
	done  int
}

func (r *round) add(served ...inspect.Served) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = append(r.found, served...)
}

// ask asks servers from a node and returns those that showed nothing.
func (r *round) ask(ctx context.Context, from string, servers []*server) (silent []*server) {
	if len(servers) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, askTime, fmt.Errorf("not done after %s", askTime))
	defer cancel()
	node, err := r.Open(ctx, from)
	if err != nil {
		for _, v := range servers {
			v.problem = v.handshakeFrom(from)
			v.problem.Problem = because(ctx, err).Error()
		}
		return servers
	}
	defer func() { _ = node.Close() }() // nothing was written there
	var g errgroup.Group
	g.SetLimit(handshakesAtOnce)
	failed := make([]bool, len(servers))
	for i, v := range servers {
		g.Go(func() error {
			failed[i] = !r.names(ctx, node, from, v)
			return nil
		})
	}
	_ = g.Wait() // none returns an error: what fails is a Problem
	for i, v := range servers {
		if failed[i] {
			silent = append(silent, v)
		}
	}
	return silent
}

// names asks one server for each of its names; false where it does not answer even
// to the first one.
func (r *round) names(ctx context.Context, node Dialer, from string, v *server) bool {
	var found []inspect.Served
	for i, name := range v.names {
		one := v.handshakeFrom(from)
		one.Name = name
		err := errors.New("the node has no InternalIP")
		if v.address != "" {
			one.Chain, err = reach(ctx, node, v.address, name)
		}
		if err != nil {
			one.Problem = err.Error()
			if i == 0 {
				v.problem = one
				return false
			}
		}
		found = append(found, one)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = append(r.found, found...)
	if r.done++; r.Observe != nil {
		r.Observe("servers asked", r.done)
	}
	return true
}
