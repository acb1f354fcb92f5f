package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// NodeFlags say which nodes are read, and how to get onto them.
type NodeFlags struct {
	Nodes    []string
	selector string

	Via       string
	AllowPods bool
	Local     bool
	root      string
	SSH       SSHFlags
	Debug     DebugFlags
	Command   CommandFlags

	Parallel int
	Timeout  time.Duration
	Paths    []string
	trust    bool
}

// LiveOnly is the error for a flag beside --from that asks a cluster or its nodes.
func LiveOnly(flag string) error {
	return fmt.Errorf("%s goes with a live cluster, and --from reads a file: leave one of them out", flag)
}

// CheckFrom is the error for files to read: flags for nodes go with none.
func (f *NodeFlags) CheckFrom(from []string) error {
	switch {
	case len(from) == 0:
		return nil
	case f.named():
		return fmt.Errorf("%w; inspect nodes lists what is in the file", LiveOnly("--nodes"))
	case f.selector != "":
		return LiveOnly("--node-selector")
	case len(f.Paths) > 0:
		return LiveOnly("--node-path")
	case f.trust:
		return LiveOnly("--trust-stores")
	}
	return f.CheckWayFrom(from)
}

// CheckWayFrom is the error for files to read, of a command that chooses from the nodes in them: flags
// that say how to get onto nodes go with none.
func (f *NodeFlags) CheckWayFrom(from []string) error {
	if len(from) == 0 {
		return nil
	}
	if flag := cmp.Or(f.way(), f.Debug.given()); flag != "" {
		return LiveOnly(flag)
	}
	return CheckFrom(from)
}

// CheckFrom is the error for files to read that can't be read together: standard
// input is read to its end, once.
func CheckFrom(from []string) error {
	if i := slices.Index(from, "-"); i >= 0 && slices.Contains(from[i+1:], "-") {
		return errors.New("--from - is given twice: standard input can be read once; write one of the two to a file, and name that")
	}
	return nil
}

// Given reports whether the user said how to read nodes.
func (f *NodeFlags) Given() bool { return f.named() || f.selector != "" || f.way() != "" }

func (f *NodeFlags) named() bool {
	return len(f.Nodes) > 0 && !slices.Equal(f.Nodes, []string{NoNodes})
}

// way is the first flag by which the user said how to get onto nodes; empty: there is none.
func (f *NodeFlags) way() string {
	switch {
	case f.Via != ViaAuto:
		return "--via"
	case f.AllowPods:
		return "--allow-pods"
	case f.Local:
		return "--local"
	case f.Command.Line != "":
		return "--node-command"
	}
	return f.SSH.given()
}

// SameWay is the flags, to be typed behind a command, that lead onto nodes in the same way.
func (f *NodeFlags) SameWay() string {
	var words []string
	if f.Via != ViaAuto {
		words = append(words, "--via", f.Via)
	}
	if f.Command.Line != "" {
		words = append(words, "--node-command", HiddenCommand)
	}
	if len(words) == 0 {
		return ""
	}
	return " " + nodeexec.Quote(words...)
}

// HiddenCommand stands for the command of --node-command in lines that are printed: a password or a
// token may be in it.
const HiddenCommand = "COMMAND {node}"

// DebugFlags say how debug pods are made.
type DebugFlags struct {
	Namespace, Image, pullPolicy, pullSecret string
}

func (f *DebugFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Image, "debug-image", "", "Image of debug pods; else one that a pod of the platform on the node has, so that nothing is pulled.")
	flags.StringVar(&f.pullPolicy, "debug-pull-policy", "", "Pull policy of --debug-image: Always, IfNotPresent or Never.")
	flags.StringVar(&f.pullSecret, "debug-pull-secret", "", "Pull secret for --debug-image, in --debug-namespace.")
	flags.StringVar(&f.Namespace, "debug-namespace", "", "Namespace for debug pods, in which exec into pods is root on the node while they run; else one that is made for them and removed.")
	ui.Must(cmd.RegisterFlagCompletionFunc("debug-pull-policy", cobra.FixedCompletions(pullPolicies(), cobra.ShellCompDirectiveNoFileComp)))
}

// given is the first of them that was typed; empty: none was.
func (f DebugFlags) given() string {
	switch {
	case f.Namespace != "":
		return "--debug-namespace"
	case f.Image != "":
		return "--debug-image"
	case f.pullPolicy != "":
		return "--debug-pull-policy"
	case f.pullSecret != "":
		return "--debug-pull-secret"
	}
	return ""
}

func pullPolicies() []string { return []string{"Always", "IfNotPresent", "Never"} }

func (f DebugFlags) check() error {
	switch {
	case f.pullPolicy != "" && !slices.Contains(pullPolicies(), f.pullPolicy):
		return ui.Invalid("--debug-pull-policy", f.pullPolicy, pullPolicies()...)
	case f.pullSecret != "" && f.Namespace == "":
		return errors.New("--debug-pull-secret needs --debug-namespace, where it is")
	}
	return nil
}

// The words of --nodes that are no names.
const (
	AllNodes = "all"
	NoNodes  = "none"
)

// AddFlags adds the flags that choose nodes and ways onto them.
func (f *NodeFlags) AddFlags(cmd *cobra.Command, config *cli.ConfigFlags) {
	cli.InGroup(cmd, cli.NodeOptions, func() { f.addReading(cmd, config) })
}

func (f *NodeFlags) addReading(cmd *cobra.Command, config *cli.ConfigFlags) {
	f.addWays(cmd, config, nodeexec.Ways(), "Nodes to read: names, all, or none. Without it, all nodes are read that can be in a way that creates nothing.",
		"Read only the machine that this runs on, without a cluster.", AllNodes, NoNodes)
	flags := cmd.Flags()
	flags.StringVar(&f.root, "root", "", "With --local: where the node's file system is mounted, such as /host.")
	flags.StringVar(&f.selector, "node-selector", "", "Label selector of the nodes to read, such as node-role.kubernetes.io/master=.")
	flags.IntVar(&f.Parallel, "parallel", 10, "Nodes to read at the same time.")
	flags.StringArrayVar(&f.Paths, "node-path", nil, "Further file, directory or pattern to read on nodes; repeatable.")
	flags.BoolVar(&f.trust, "trust-stores", false, "Read the system's trust stores on nodes too; otherwise they are only hashed.")
}

// AddWays adds the flags that say which nodes, and how to get onto them: of a command
// that takes WithoutKubeletFirst. words may stand in place of names.
func (f *NodeFlags) AddWays(cmd *cobra.Command, config *cli.ConfigFlags, nodes, local string, words ...string) {
	cli.InGroup(cmd, cli.NodeOptions, func() { f.addWays(cmd, config, withoutKubeletFirst(), nodes, local, words...) })
}

func (f *NodeFlags) addWays(cmd *cobra.Command, config *cli.ConfigFlags, auto []nodeexec.Way, nodes, local string, words ...string) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.Nodes, "nodes", nil, nodes)
	flags.StringVar(&f.Via, "via", ViaAuto, viaHelp(auto))
	flags.BoolVar(&f.AllowPods, "allow-pods", false, "Let auto start a privileged debug pod on a node that can't be reached in another way.")
	flags.BoolVar(&f.Local, "local", false, local)
	cli.DurationVar(flags, &f.Timeout, "node-timeout", 2*time.Minute, "Time limit for reading one node.")
	f.SSH.AddFlags(cmd)
	f.Debug.addFlags(cmd)
	f.Command.addFlags(cmd)
	ui.Must(cmd.RegisterFlagCompletionFunc("nodes", completeNodes(config, words...)))
	ui.Must(cmd.RegisterFlagCompletionFunc("via", cobra.FixedCompletions(viaWords(), cobra.ShellCompDirectiveNoFileComp)))
}

// NodeChoice is what the flags come to: which nodes, what is read there, and the ways onto them.
type NodeChoice struct {
	Names     []string // none: all that fit the selector
	selector  labels.Selector
	asked     bool // nodes were asked for: one that can't be read is unknown
	none      bool
	NodesOnly bool // nodes, and nothing else, are what was asked for
	nodeReading
	nodeWays
}

// nodeReading is what is read on nodes, of how many at once, and for how long.
type nodeReading struct {
	Options      gather.Options
	Served       bool                         // what is served to nodes is to be read too
	RestartProbe bool                         // kubelets' own credentials are to be tried, on their nodes
	Callers      func(*inspect.Snapshot) bool // whether control plane nodes' client certificates are to be tried there, by what was read; nil: never
	Parallel     int
	Timeout      time.Duration
}

// nodeWays are the ways onto nodes.
type nodeWays struct {
	Ways     []string // in the order in which they are tried
	Local    bool     // this machine, and no cluster
	root     string   // of Local: where its file system is mounted
	ssh      SSHFlags
	sshAll   bool // ssh is for all nodes, not only for those of which its configuration speaks
	debug    DebugFlags
	command  []string // the words of --node-command; none: it was not given
	Prompter *Prompter
}

// ToChoice checks the flags. scope is what inspect was asked for; names of nodes
// may stand there.
func (f *NodeFlags) ToChoice(ctx context.Context, app cli.App, scope collect.Scope) (NodeChoice, error) {
	c := NodeChoice{
		nodeReading: nodeReading{Parallel: f.Parallel, Timeout: f.Timeout, Options: gather.Options{Paths: f.Paths, TrustStores: f.trust}},
		nodeWays:    nodeWays{root: f.root, debug: f.Debug},
	}
	kinds := len(scope.Resources) > 0
	c.none = kinds && !scope.Wants(collect.NodeFiles())
	if !c.none && kinds {
		c.Names, c.asked, c.NodesOnly = scope.NamesOf(collect.NodeFiles().Plural), true, len(scope.Resources) == 1
	}
	if err := f.Check(); err != nil {
		return c, err
	}
	if err := f.toNames(&c, scope); err != nil {
		return c, err
	}
	err := f.toWays(ctx, &c, app)
	return c, err
}

// Check is the error for flags that are wrong whatever else is given.
func (f *NodeFlags) Check() error {
	for i, n := range f.Nodes {
		switch {
		case n == "" || strings.ContainsAny(n, "/ \t\n"):
			return cli.WithHint(fmt.Errorf("--nodes %q is no name of a node: names are separated by commas alone, as in worker-1,worker-2", n), inspect.NodeNames)
		case slices.Contains(f.Nodes[:i], n):
			return fmt.Errorf("--nodes: %s is named twice", n)
		}
	}
	if f.Parallel < 1 || f.Parallel > 1000 {
		return fmt.Errorf("--parallel %d is not between 1 and 1000", f.Parallel)
	}
	if f.Timeout == 0 {
		return fmt.Errorf("--node-timeout %s is no time", f.Timeout)
	}
	for _, p := range f.Paths {
		if !path.IsAbs(p) || path.Clean(p) == "/" {
			return fmt.Errorf("--node-path %q: name a file or directory by its whole path, below /", p)
		}
	}
	if !slices.Contains(viaWords(), f.Via) {
		return ui.Invalid("--via", f.Via, viaWords()...)
	}
	if _, err := f.Command.words(f.Via, f.Local); err != nil {
		return err
	}
	return f.Debug.check()
}

func (f *NodeFlags) toNames(c *NodeChoice, scope collect.Scope) error {
	for _, n := range f.Nodes {
		switch {
		case (n == AllNodes || n == NoNodes) && len(f.Nodes) > 1:
			return fmt.Errorf("--nodes %s goes with no other name", n)
		case len(c.Names) > 0:
			return errors.New("nodes are named twice: as arguments and by --nodes")
		}
	}
	switch {
	case len(f.Nodes) == 1 && f.Nodes[0] == NoNodes:
		if c.asked {
			return errors.New("--nodes none: nodes are what was asked for")
		}
		c.none = true
	case len(f.Nodes) > 0 && scope.Namespace != "" || len(f.Nodes) > 0 && c.none:
		return errors.New("--nodes goes with everything or with the kind nodes, not with -n or another kind")
	case len(f.Nodes) == 1 && f.Nodes[0] == AllNodes:
		c.asked = true
	case len(f.Nodes) > 0:
		c.Names, c.asked = f.Nodes, true
	}
	if f.selector != "" {
		sel, err := labels.Parse(f.selector)
		if err != nil {
			return fmt.Errorf("--node-selector %q: %w", f.selector, err)
		}
		if len(c.Names) > 0 {
			return errors.New("--node-selector and names of nodes exclude each other")
		}
		c.selector, c.asked = sel, true
	}
	if (scope.Selector != nil || scope.Fields != nil) && !c.asked { // they choose objects
		c.none = true
	}
	return nil
}

func (f *NodeFlags) toWays(ctx context.Context, c *NodeChoice, app cli.App) error {
	if f.Local {
		if f.Via != ViaAuto && f.Via != nodeexec.ViaLocal {
			return fmt.Errorf("--local and --via %s exclude each other", f.Via)
		}
		if len(c.Names) > 1 || c.selector != nil {
			return errors.New("--local reads the machine that this runs on: at most its own name can be given")
		}
		c.Ways, c.none, c.asked, c.Local, c.NodesOnly = []string{nodeexec.ViaLocal}, false, true, true, true
		return nil
	}
	if f.root != "" {
		return errors.New("--root goes with --local")
	}
	if err := f.SSH.check(ctx); err != nil {
		return err
	}
	var err error
	if c.command, err = f.Command.words(f.Via, f.Local); err != nil {
		return err
	}
	c.Prompter, c.ssh = &Prompter{App: app}, f.SSH
	c.sshAll = f.Via != ViaAuto || f.SSH.Given()
	switch f.Via {
	case ViaAuto:
		c.Ways = f.autoWays()
	default:
		c.Ways = []string{f.Via}
		c.asked = true
	}
	return nil
}

// MaxAnswer is how much of a node's answer is held, in bytes: more than the program
// that runs there ever sends, and little enough for many nodes at the same time.
const MaxAnswer = 8 << 20
