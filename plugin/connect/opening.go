package connect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// readHint tells how nodes can be read that were left out.
func (w nodeWays) readHint(called string) string {
	if w.Local {
		return "run it as root, or with sudo"
	}
	var hints []string
	for _, left := range w.left() {
		hint := "--via " + left.Name
		if left.Creates {
			hint = "--allow-pods (starts a privileged pod on each)"
		}
		hints = append(hints, hint)
	}
	return "try " + strings.Join(append(hints, "or "+called+" inspect --local on the node itself"), ", ")
}

// ReadHintNoSSH tells what to do about a node to which ssh gets no connection. exec and debug go
// through its kubelet: they are named only where that has a heartbeat, and where they were
// not tried. there is what helps on the machine itself.
func (w nodeWays) ReadHintNoSSH(there func(node string) string) func(collect.NodeObject) string {
	return func(o collect.NodeObject) string {
		next := fmt.Sprintf("check the power, the network and the console (BMC) of %s; %s", o.Name, there(o.Name))
		if inspect.NodeHealthOf(o.Ready, o.Heartbeat, o.Lease, 0).Alive != catalog.Yes {
			return next
		}
		var left []string
		for _, other := range w.left() {
			if other.Kubelet {
				left = append(left, "--via "+other.Name)
			}
		}
		if len(left) == 0 {
			return next
		}
		return "its kubelet has a heartbeat: try " + strings.Join(left, " or ") + "; else " + next
	}
}

// OnNode is a node and the way that led there.
type OnNode struct {
	nodeexec.Node
	Way string
}

// Via is the way by which the node was reached.
func (n OnNode) Via() string { return n.Way }

// Address is where ssh reached the node; zero by another way.
func (n OnNode) Address() netip.Addr { return nodeexec.AddressOf(n.Node) }

// Opener gets onto nodes by the first way that works.
func Opener(ways ...nodeexec.Transport) func(context.Context, string) (collect.OnNode, error) {
	try := nodeexec.FirstOf(ways...)
	return func(ctx context.Context, node string) (collect.OnNode, error) {
		n, err := try.Dial(ctx, node)
		if err != nil {
			switch {
			case nodeexec.IsNoTransport(err):
				err = fmt.Errorf("%w: %w", collect.ErrNoTransport, err)
			case nodeexec.NotAllowed(err):
				err = fmt.Errorf("%w: %w", collect.ErrNotAllowed, err)
			}
			return nil, err
		}
		return OnNode{Node: n, Way: nodeexec.Via(n)}, nil
	}
}

// UnlistedError says that the cluster's nodes could not be listed; those to read were named.
type UnlistedError struct{ Err error }

func (e *UnlistedError) Error() string { return "list nodes: " + e.Err.Error() }
func (e *UnlistedError) Unwrap() error { return e.Err }

// Objects returns the nodes to read, and all that the cluster has. Nodes that were named are returned
// with an *UnlistedError, too.
func (c NodeChoice) Objects(ctx context.Context, conn *Connection) (chosen, all []collect.NodeObject, err error) {
	known, err := conn.Cluster.NodeObjects(ctx, c.selector)
	if len(c.Names) == 0 {
		if err == nil && len(known) == 0 && c.asked {
			return nil, nil, cli.WithHint(errors.New("no node is there that was asked for"), "kubectl get nodes --show-labels")
		}
		if err == nil && c.selector != nil {
			all, err = conn.Cluster.NodeObjects(ctx, nil)
			return known, all, err
		}
		return known, known, err
	}
	for _, name := range c.Names {
		i := slices.IndexFunc(known, func(o collect.NodeObject) bool { return o.Name == name })
		switch {
		case i >= 0:
			chosen = append(chosen, known[i])
		case err == nil && !c.listed(name):
			return nil, nil, cli.WithHint(fmt.Errorf("node %q: there is none on %s%s", name, conn.Server, cli.DidYouMean(name, words(nodeNamesOf(known)))), "kubectl get nodes; a node that the API does not know can be given in --ssh-inventory")
		default: // the API may not be asked, and the user says there is one
			chosen = append(chosen, collect.NodeObject{Name: name})
		}
	}
	if err != nil {
		return chosen, nil, &UnlistedError{err}
	}
	return chosen, known, nil
}

func (w nodeWays) listed(node string) bool {
	_, ok := w.ssh.nodes[node]
	return ok
}

// withoutAPI returns the nodes that can be read although the API does not answer.
func (c NodeChoice) withoutAPI() []collect.NodeObject {
	if c.none || !c.asked || !c.needsNoAPI() {
		return nil
	}
	names := c.Names
	if len(names) == 0 && c.selector == nil {
		names = c.ssh.nodes.Nodes()
	}
	var out []collect.NodeObject
	for _, n := range names {
		out = append(out, collect.NodeObject{Name: n})
	}
	return out
}

// Transports returns the ways onto these nodes, and what gives back what they
// made; conn is nil where the API does not answer.
func (w nodeWays) Transports(objects []collect.NodeObject, conn *Connection) (ways []nodeexec.Transport, done func() error) {
	done = func() error { return nil }
	addresses := map[string][]string{}
	for _, o := range objects {
		addresses[o.Name] = o.Addresses
	}
	for _, way := range w.Ways {
		switch way {
		case nodeexec.ViaLocal:
			// A laptop may be called like a node; one that runs a kubelet is one. Who is
			// not root reads little there, and ssh with sudo reads all.
			if _, err := os.Stat("/var/lib/kubelet"); err == nil && os.Geteuid() == 0 || len(w.Ways) == 1 {
				ways = append(ways, nodeexec.Local{MaxOutput: MaxAnswer})
			}
		case nodeexec.ViaExec:
			if conn != nil {
				ways = append(ways, nodeexec.Exec{Config: conn.Rest, MaxOutput: MaxAnswer})
			}
		case nodeexec.ViaDebug:
			if conn != nil {
				d := &nodeexec.Debug{Config: conn.Rest, MaxOutput: MaxAnswer, Namespace: w.debug.Namespace, Notice: w.Prompter.notice,
					Image: nodeexec.DebugImage{Name: w.debug.Image, Pull: w.debug.pullPolicy, Secret: w.debug.pullSecret}}
				before := done
				ways, done = append(ways, d), func() error { return errors.Join(before(), d.Close()) }
			}
		case nodeexec.ViaCommand:
			if len(w.command) > 0 {
				ways = append(ways, identified{nodeexec.Command{Words: w.command, Limits: nodeexec.Limits{Output: MaxAnswer}}})
			}
		case nodeexec.ViaSSH:
			s := w.ssh.transport(w.Prompter)
			s.Addresses = func(_ context.Context, node string) ([]string, error) { return addresses[node], nil }
			s.Names = slices.Sorted(maps.Keys(addresses))
			if w.sshAll {
				ways = append(ways, identified{s})
			} else {
				ways = append(ways, identified{configuredSSH{s}})
			}
		}
	}
	return ways, done
}

// thisMachine is the source of --local.
func (c NodeChoice) thisMachine() (collect.Nodes, error) {
	var name string
	if len(c.Names) == 1 {
		name = c.Names[0]
	} else {
		var err error
		if name, err = os.Hostname(); err != nil {
			return collect.Nodes{}, fmt.Errorf("--local: this machine's name: %w", err)
		}
	}
	n := c.Source([]collect.NodeObject{{Name: name}})
	n.ReadHint = c.readHint("")
	n.Open = Opener(nodeexec.Local{Node: name, Root: c.root, MaxOutput: MaxAnswer})
	return n, nil
}

// Source is what reads these nodes, but for how to get onto them.
func (c NodeChoice) Source(objects []collect.NodeObject) collect.Nodes {
	return collect.Nodes{Objects: objects, Parallel: c.Parallel, Timeout: c.Timeout, Options: c.Options, NamedByUser: c.asked, Served: c.Served, RestartProbe: c.RestartProbe}
}
