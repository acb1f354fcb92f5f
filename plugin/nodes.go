package plugin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// nodeFlags say which nodes are read, and how to get onto them.
type nodeFlags struct {
	nodes     []string
	selector  string
	via       string
	allowPods bool
	local     bool
	root      string
	parallel  int
	timeout   time.Duration
	paths     []string
	trust     bool
	ssh       sshFlags
	debug     debugFlags
}

// errFromAndNodes: a file has been read already.
var errFromAndNodes = errors.New("--from reads a file: --nodes, --via, --local and the like go with a live cluster; the kind nodes shows what is in the file")

// checkFrom is the error for files to read: flags for nodes go with none.
func (f *nodeFlags) checkFrom(from []string) error {
	switch {
	case len(from) == 0:
		return nil
	case f.given():
		return errFromAndNodes
	case len(f.paths) > 0:
		return errors.New("--from reads a file: --node-path is read on nodes, and goes with a live cluster")
	case f.trust:
		return errors.New("--from reads a file: --trust-stores is read on nodes, and goes with a live cluster")
	case f.debug != debugFlags{}:
		return errors.New("--from reads a file: flags for debug pods go with a live cluster")
	}
	return checkFrom(from)
}

// checkFrom is the error for files to read that can't be read together: standard
// input is read to its end, once.
func checkFrom(from []string) error {
	if i := slices.Index(from, "-"); i >= 0 && slices.Contains(from[i+1:], "-") {
		return errors.New("--from - is given twice: standard input can be read once; write one of the two to a file, and name that")
	}
	return nil
}

// given reports whether the user said how to read nodes.
func (f *nodeFlags) given() bool {
	named := len(f.nodes) > 0 && !slices.Equal(f.nodes, []string{noNodes})
	return named || f.selector != "" || f.via != viaAuto || f.allowPods || f.local || f.ssh.given()
}

// debugFlags say how debug pods are made.
type debugFlags struct {
	namespace, image, pullPolicy, pullSecret string
}

func (f *debugFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.image, "debug-image", "", "Image of debug pods; else one that a pod of the platform on the node has, so that nothing is pulled.")
	flags.StringVar(&f.pullPolicy, "debug-pull-policy", "", "Pull policy of --debug-image: Always, IfNotPresent or Never.")
	flags.StringVar(&f.pullSecret, "debug-pull-secret", "", "Pull secret for --debug-image, in --debug-namespace.")
	flags.StringVar(&f.namespace, "debug-namespace", "", "Namespace for debug pods, in which exec into pods is root on the node while they run; else one that is made for them and removed.")
	must(cmd.RegisterFlagCompletionFunc("debug-pull-policy", cobra.FixedCompletions(pullPolicies(), cobra.ShellCompDirectiveNoFileComp)))
}

func pullPolicies() []string { return []string{"Always", "IfNotPresent", "Never"} }

func (f debugFlags) check() error {
	switch {
	case f.pullPolicy != "" && !slices.Contains(pullPolicies(), f.pullPolicy):
		return fmt.Errorf("--debug-pull-policy %q is none of %s", f.pullPolicy, strings.Join(pullPolicies(), ", "))
	case f.pullSecret != "" && f.namespace == "":
		return errors.New("--debug-pull-secret needs --debug-namespace, where it is")
	}
	return nil
}

// The words of --nodes and --via that are no names.
const (
	allNodes = "all"
	noNodes  = "none"
	viaAuto  = "auto"
)

func ways() []string { return []string{viaAuto, "local", "exec", "ssh", "debug"} }

func (f *nodeFlags) addFlags(cmd *cobra.Command, config *genericclioptions.ConfigFlags) {
	f.addWays(cmd, config, "Nodes to read: names, all, or none. Without it, all nodes are read that can be in a way that creates nothing.",
		"auto tries local, exec, ssh where it is configured, and debug with --allow-pods.", "Read only the machine that this runs on, without a cluster.", allNodes, noNodes)
	flags := cmd.Flags()
	flags.StringVar(&f.root, "root", "", "With --local: where the node's file system is mounted, such as /host.")
	flags.StringVar(&f.selector, "node-selector", "", "Label selector of the nodes to read, such as node-role.kubernetes.io/master=.")
	flags.IntVar(&f.parallel, "parallel", 10, "Nodes to read at the same time.")
	flags.StringArrayVar(&f.paths, "node-path", nil, "Further file, directory or pattern to read on nodes; repeatable.")
	flags.BoolVar(&f.trust, "trust-stores", false, "Read the system's trust stores on nodes too; otherwise they are only hashed.")
}

// addWays adds the flags that say which nodes, and how to get onto them. words may
// stand in place of names.
func (f *nodeFlags) addWays(cmd *cobra.Command, config *genericclioptions.ConfigFlags, nodes, auto, local string, words ...string) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.nodes, "nodes", nil, nodes)
	flags.StringVar(&f.via, "via", viaAuto, "Way onto nodes: auto, local, exec (into the machine-config-daemon), ssh, debug (a pod of its own). "+auto)
	flags.BoolVar(&f.allowPods, "allow-pods", false, "Let auto start a privileged debug pod on a node that can't be reached in another way.")
	flags.BoolVar(&f.local, "local", false, local)
	flags.DurationVar(&f.timeout, "node-timeout", 2*time.Minute, "Time limit for reading one node.")
	f.ssh.addFlags(cmd)
	f.debug.addFlags(cmd)
	must(cmd.RegisterFlagCompletionFunc("nodes", completeNodes(config, words...)))
	must(cmd.RegisterFlagCompletionFunc("via", cobra.FixedCompletions(ways(), cobra.ShellCompDirectiveNoFileComp)))
}

// nodeChoice is what the flags come to.
type nodeChoice struct {
	names    []string // none: all that fit the selector
	selector labels.Selector
	asked    bool // nodes were asked for: one that can't be read is unknown
	none     bool
	shown    bool                         // nodes, and nothing else, are what was asked for
	served   bool                         // what is served to nodes is to be read too
	comeback bool                         // kubelets' own credentials are to be tried, on their nodes
	callers  func(*inspect.Snapshot) bool // see verifyFlags
	ways     []string
	options  gather.Options
	parallel int
	timeout  time.Duration
	local    bool // this machine, and no cluster
	root     string
	ssh      *nodeexec.SSH
	ask      *questions
	debug    debugFlags
	// sshAll: ssh is for all nodes, not only for those of which its
	// configuration speaks.
	sshAll bool
}

// toChoice checks the flags. scope is what inspect was asked for; names of nodes
// may stand there.
func (f *nodeFlags) toChoice(ctx context.Context, app App, scope collect.Scope) (nodeChoice, error) {
	c := nodeChoice{parallel: f.parallel, timeout: f.timeout, root: f.root, options: gather.Options{Paths: f.paths, TrustStores: f.trust}}
	kinds := len(scope.Resources) > 0
	c.none = kinds && !scope.Wants(collect.NodeFiles())
	if !c.none && kinds {
		c.names, c.asked, c.shown = scope.Names, true, len(scope.Resources) == 1
	}
	if err := f.check(); err != nil {
		return c, err
	}
	if err := f.toNames(&c, scope); err != nil {
		return c, err
	}
	c.debug = f.debug
	err := f.toWays(ctx, &c, app)
	return c, err
}

// check is the error for flags that are wrong whatever else is given.
func (f *nodeFlags) check() error {
	for i, n := range f.nodes {
		switch {
		case n == "" || strings.ContainsAny(n, "/ \t\n"):
			return fmt.Errorf("--nodes %q is no name of a node", n)
		case slices.Contains(f.nodes[:i], n):
			return fmt.Errorf("--nodes: %s is named twice", n)
		}
	}
	if f.parallel < 1 || f.parallel > 1000 {
		return fmt.Errorf("--parallel %d is not between 1 and 1000", f.parallel)
	}
	if f.timeout <= 0 {
		return fmt.Errorf("--node-timeout %s is no time", f.timeout)
	}
	for _, p := range f.paths {
		if !path.IsAbs(p) || path.Clean(p) == "/" {
			return fmt.Errorf("--node-path %q: name a file or directory by its whole path, below /", p)
		}
	}
	if !slices.Contains(ways(), f.via) {
		return fmt.Errorf("--via %q is none of %s", f.via, strings.Join(ways(), ", "))
	}
	return f.debug.check()
}

func (f *nodeFlags) toNames(c *nodeChoice, scope collect.Scope) error {
	for _, n := range f.nodes {
		switch {
		case (n == allNodes || n == noNodes) && len(f.nodes) > 1:
			return fmt.Errorf("--nodes %s goes with no other name", n)
		case len(c.names) > 0:
			return errors.New("nodes are named twice: as arguments and by --nodes")
		}
	}
	switch {
	case len(f.nodes) == 1 && f.nodes[0] == noNodes:
		if c.asked {
			return errors.New("--nodes none: nodes are what was asked for")
		}
		c.none = true
	case len(f.nodes) > 0 && scope.Namespace != "" || len(f.nodes) > 0 && c.none:
		return errors.New("--nodes goes with everything or with the kind nodes, not with -n or another kind")
	case len(f.nodes) == 1 && f.nodes[0] == allNodes:
		c.asked = true
	case len(f.nodes) > 0:
		c.names, c.asked = f.nodes, true
	}
	if f.selector != "" {
		sel, err := labels.Parse(f.selector)
		if err != nil {
			return fmt.Errorf("--node-selector %q: %w", f.selector, err)
		}
		if len(c.names) > 0 {
			return errors.New("--node-selector and names of nodes exclude each other")
		}
		c.selector, c.asked = sel, true
	}
	if scope.Selector != nil && !c.asked { // -l chooses objects
		c.none = true
	}
	return nil
}

func (f *nodeFlags) toWays(ctx context.Context, c *nodeChoice, app App) error {
	if f.local {
		if f.via != viaAuto && f.via != "local" {
			return fmt.Errorf("--local and --via %s exclude each other", f.via)
		}
		if len(c.names) > 1 || c.selector != nil {
			return errors.New("--local reads the machine that this runs on: at most its own name can be given")
		}
		c.ways, c.none, c.asked, c.local, c.shown = []string{"local"}, false, true, true, true
		return nil
	}
	if f.root != "" {
		return errors.New("--root goes with --local")
	}
	var err error
	c.ask = &questions{app: app}
	if c.ssh, err = f.ssh.transport(ctx, c.ask); err != nil {
		return err
	}
	c.sshAll = f.via == "ssh" || f.ssh.given()
	switch f.via {
	case viaAuto:
		c.ways = []string{"local", "exec", "ssh"}
		if f.allowPods {
			c.ways = append(c.ways, "debug")
		}
	default:
		c.ways = []string{f.via}
		c.asked = true
	}
	return nil
}

// maxAnswer is how much of a node's answer is held, in bytes: more than the program
// that runs there ever sends, and little enough for many nodes at the same time.
const maxAnswer = 8 << 20

// how tells how nodes can be read that were left out.
func (c nodeChoice) how(called string) string {
	if c.local {
		return "run it as root, or with sudo"
	}
	var hints []string
	if !c.sshAll {
		hints = append(hints, "--via ssh")
	}
	if !slices.Contains(c.ways, "exec") {
		hints = append(hints, "--via exec")
	}
	if !slices.Contains(c.ways, "debug") {
		hints = append(hints, "--allow-pods (starts a privileged pod on each)")
	}
	return "try " + strings.Join(append(hints, "or "+called+" inspect --local on the node itself"), ", ")
}

// howCut tells what to do about a node to which ssh gets no connection. exec and debug go
// through its kubelet: they are named only where that has a heartbeat, and where they were
// not tried. there is what helps on the machine itself.
func (c nodeChoice) howCut(there func(node string) string) func(collect.NodeObject) string {
	return func(o collect.NodeObject) string {
		next := fmt.Sprintf("check the power, the network and the console (BMC) of %s; %s", o.Name, there(o.Name))
		if inspect.LifeOf(o.Ready, o.Heartbeat, o.Lease, 0).Alive != catalog.Yes {
			return next
		}
		var left []string
		for _, way := range []string{"exec", "debug"} {
			if !slices.Contains(c.ways, way) {
				left = append(left, "--via "+way)
			}
		}
		if len(left) == 0 {
			return next
		}
		return "its kubelet has a heartbeat: try " + strings.Join(left, " or ") + "; else " + next
	}
}

// onNode is a node and the way that led there.
type onNode struct {
	nodeexec.Node
	via string
}

func (n onNode) Via() string { return n.via }

// opener gets onto nodes by the first way that works.
func opener(ways ...nodeexec.Transport) func(context.Context, string) (collect.OnNode, error) {
	try := nodeexec.Try(ways...)
	return func(ctx context.Context, node string) (collect.OnNode, error) {
		n, err := try.Dial(ctx, node)
		if err != nil {
			switch {
			case nodeexec.NoWay(err):
				err = fmt.Errorf("%w: %w", collect.ErrNoWay, err)
			case nodeexec.NotAllowed(err):
				err = fmt.Errorf("%w: %w", collect.ErrNotAllowed, err)
			}
			return nil, err
		}
		return onNode{Node: n, via: nodeexec.Via(n)}, nil
	}
}

// objects returns the nodes to read, and all that the cluster has.
func (c nodeChoice) objects(ctx context.Context, conn *connection) (chosen, all []collect.NodeObject, err error) {
	known, err := conn.cluster.NodeObjects(ctx, c.selector)
	if len(c.names) == 0 {
		if err == nil && len(known) == 0 && c.asked {
			return nil, nil, withHint(errors.New("no node is there that was asked for"), "kubectl get nodes --show-labels")
		}
		if err == nil && c.selector != nil {
			all, err = conn.cluster.NodeObjects(ctx, nil)
			return known, all, err
		}
		return known, known, err
	}
	for _, name := range c.names {
		i := slices.IndexFunc(known, func(o collect.NodeObject) bool { return o.Name == name })
		switch {
		case i >= 0:
			chosen = append(chosen, known[i])
		case err == nil && !c.listed(name):
			return nil, nil, withHint(fmt.Errorf("node %q: there is none on %s", name, conn.server), "kubectl get nodes; a node that the API does not know can be given in --ssh-inventory")
		default: // the API may not be asked, and the user says there is one
			chosen = append(chosen, collect.NodeObject{Name: name})
		}
	}
	return chosen, known, nil
}

func (c nodeChoice) listed(node string) bool {
	if c.ssh == nil {
		return false
	}
	_, ok := c.ssh.Inventory[node]
	return ok
}

// withoutAPI returns the nodes that can be read although the API does not answer.
func (c nodeChoice) withoutAPI() []collect.NodeObject {
	if c.none || !c.asked || !slices.Contains(c.ways, "ssh") {
		return nil
	}
	names := c.names
	if len(names) == 0 && c.selector == nil && c.ssh != nil {
		names = c.ssh.Inventory.Nodes()
	}
	var out []collect.NodeObject
	for _, n := range names {
		out = append(out, collect.NodeObject{Name: n})
	}
	return out
}

// transports returns the ways onto these nodes, and what gives back what they
// made; conn is nil where the API does not answer.
func (c nodeChoice) transports(objects []collect.NodeObject, conn *connection) (ways []nodeexec.Transport, done func() error) {
	done = func() error { return nil }
	addresses := map[string][]string{}
	for _, o := range objects {
		addresses[o.Name] = o.Addresses
	}
	for _, way := range c.ways {
		switch way {
		case "local":
			// A laptop may be called like a node; one that runs a kubelet is one. Who is
			// not root reads little there, and ssh with sudo reads all.
			if _, err := os.Stat("/var/lib/kubelet"); err == nil && os.Geteuid() == 0 || len(c.ways) == 1 {
				ways = append(ways, nodeexec.Local{MaxOutput: maxAnswer})
			}
		case "exec":
			if conn != nil {
				ways = append(ways, nodeexec.Exec{Config: conn.rest, MaxOutput: maxAnswer})
			}
		case "debug":
			if conn != nil {
				d := &nodeexec.Debug{Config: conn.rest, MaxOutput: maxAnswer, Namespace: c.debug.namespace, Notice: c.ask.notice,
					Image: nodeexec.DebugImage{Name: c.debug.image, Pull: c.debug.pullPolicy, Secret: c.debug.pullSecret}}
				ways, done = append(ways, d), d.Close
			}
		case "ssh":
			c.ssh.Addresses = func(_ context.Context, node string) ([]string, error) { return addresses[node], nil }
			c.ssh.Names = slices.Sorted(maps.Keys(addresses))
			if c.sshAll {
				ways = append(ways, identified{c.ssh})
			} else {
				ways = append(ways, identified{configuredSSH{c.ssh}})
			}
		}
	}
	return ways, done
}

// thisMachine is the source of --local.
func (c nodeChoice) thisMachine() (collect.Nodes, error) {
	var name string
	if len(c.names) == 1 {
		name = c.names[0]
	} else {
		var err error
		if name, err = os.Hostname(); err != nil {
			return collect.Nodes{}, fmt.Errorf("--local: this machine's name: %w", err)
		}
	}
	n := c.source([]collect.NodeObject{{Name: name}})
	n.How = c.how("")
	n.Open = opener(nodeexec.Local{Node: name, Root: c.root, MaxOutput: maxAnswer})
	return n, nil
}

// source is what reads these nodes, but for how to get onto them.
func (c nodeChoice) source(objects []collect.NodeObject) collect.Nodes {
	return collect.Nodes{Objects: objects, Parallel: c.parallel, Timeout: c.timeout, Options: c.options, Asked: c.asked, Served: c.served, Comeback: c.comeback}
}
