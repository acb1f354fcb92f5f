package plugin

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// mendFlags are those of all commands that change nodes.
type mendFlags struct {
	app    App
	config *genericclioptions.ConfigFlags
	nodes  nodeFlags
	dryRun string
	yes    bool
	output string
	// everyone: where no node is named, all are meant.
	everyone bool
	// api is what the API server is asked for.
	api purpose
	// trusted are CAs, PEM, by which the API server is trusted where its kubeconfig names
	// none, and this machine's own do not verify it; nil: there are none.
	trusted []byte
	// untrust leaves them out again; nil: they were not given.
	untrust func()
}

const (
	dryRunNone   = "none"
	dryRunClient = "client"
)

func (f *mendFlags) addFlags(cmd *cobra.Command, nodes string, words ...string) {
	f.nodes.parallel = 10
	f.nodes.addWays(cmd, f.config, nodes, "auto tries local, ssh where it is configured, exec, and debug with --allow-pods.",
		"Change the machine that this runs on, and no other; as root.", words...)
	flags := cmd.Flags()
	flags.StringVar(&f.dryRun, "dry-run", dryRunNone, `"client" shows what would be done and does nothing; exit code 1 if anything would be.`)
	flags.Lookup("dry-run").NoOptDefVal = dryRunClient
	flags.BoolVarP(&f.yes, "yes", "y", false, "Do what is shown without asking.")
	flags.StringVarP(&f.output, "output", "o", "", "Form of the plan: certificates by default; diff (unified, or by KUBECTL_EXTERNAL_DIFF; keys and tokens as x), json, yaml.")
	must(cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]string{dryRunNone, dryRunClient}, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"diff", "json", "yaml"}, cobra.ShellCompDirectiveNoFileComp)))
}

func (f *mendFlags) check() error {
	switch {
	case f.dryRun == "server":
		return errors.New("--dry-run=server: files on nodes have no server that could try it; use --dry-run=client")
	case f.dryRun != dryRunNone && f.dryRun != dryRunClient:
		return fmt.Errorf("--dry-run=%s is none of %s, %s", f.dryRun, dryRunNone, dryRunClient)
	case !slices.Contains([]string{"", "diff", "json", "yaml"}, f.output):
		return fmt.Errorf("-o %q is none of diff, json, yaml", f.output)
	}
	return f.checkNames()
}

// checkNames refuses what is no list of nodes to change.
func (f *mendFlags) checkNames() error {
	if f.everyone && slices.Equal(f.nodes.nodes, []string{allNodes}) {
		return nil
	}
	for _, n := range f.nodes.nodes {
		if n == allNodes || n == noNodes {
			return fmt.Errorf("--nodes %s: name the nodes that are to be changed, one after another in that order", n)
		}
	}
	return nil
}

// choice says which nodes, and how to get there.
func (f *mendFlags) choice(ctx context.Context) (nodeChoice, error) {
	if err := f.checkNames(); err != nil {
		return nodeChoice{}, err
	}
	c, err := f.nodes.toChoice(ctx, f.app, collect.Scope{Resources: []collect.Resource{collect.NodeFiles()}})
	if err == nil && f.nodes.via == viaAuto && !c.local {
		c.ways = []string{"local", "ssh", "exec"}
		if f.nodes.allowPods {
			c.ways = append(c.ways, "debug")
		}
	}
	return c, err
}

// workplace is a cluster, as far as its API answers, and some of its nodes, for
// commands that change them.
type workplace struct {
	app     App
	choice  nodeChoice
	objects []collect.NodeObject
	conn    *connection // nil: there is no API
	noAPI   error       // why
	scanner *pki.Scanner
	open    func(ctx context.Context, node string) (nodeexec.Node, error)
	close   func() error
	all     bool // nodes that the cluster has, none of which was named
	script  bool // a script can do the same at a node's console
}

// workplace gets ready to go onto nodes. The API may be down: then nodes are those
// that are named.
func (f *mendFlags) workplace(ctx context.Context, names []string) (*workplace, error) {
	c, err := f.choice(ctx)
	if err != nil {
		return nil, err
	}
	if len(c.names) == 0 {
		c.names = names
		if c.local {
			if c.names, err = thisOne(names); err != nil {
				return nil, err
			}
		}
	}
	if len(c.names) == 0 && !f.everyone {
		return nil, withHint(errors.New("no node is named"), "--nodes NAME[,NAME...]: kubectl get nodes")
	}
	w := &workplace{app: f.app, choice: c, scanner: pki.NewScanner(), all: len(c.names) == 0}
	if c.ask != nil {
		c.ask.ended = ctx.Done()
	}
	if c.local && !f.named() {
		w.conn, w.noAPI = f.emergency(ctx, w.scanner)
	} else if w.conn, w.noAPI = f.connect(ctx, w.scanner); w.noAPI != nil {
		w.conn = nil
	}
	if refused := refusedAPI(w.noAPI); refused != nil {
		return nil, refused
	}
	if w.all && w.conn == nil {
		return nil, withHint(fmt.Errorf("which nodes there are is not known without the API server: %w", w.noAPI),
			"where your kubeconfig lacks the new CA (x509): --api-ca-from ssh://core@MASTER. With no API server at all, name them with --nodes, masters first: each is asked itself whether the API server takes its kubelet again, before the next one; the CA comes from --ca-file then")
	}
	if w.conn != nil && !c.local {
		if w.objects, _, err = c.objects(ctx, w.conn); err != nil {
			return nil, err
		}
		if w.all {
			w.keep(func(collect.NodeObject) bool { return true })
		}
	} else {
		for _, n := range c.names {
			w.objects = append(w.objects, collect.NodeObject{Name: n})
		}
	}
	var ways []nodeexec.Transport
	if c.local {
		ways, w.close = []nodeexec.Transport{nodeexec.Local{Node: c.names[0], MaxOutput: maxAnswer}}, func() error { return nil }
	} else {
		ways, w.close = c.transports(w.objects, w.conn)
	}
	w.open = nodeexec.Try(ways...).Dial
	return w, nil
}

// connect asks the API server as the user's kubeconfig says. One without a CA means this
// machine's own CAs: only where they do not verify what is shown are those that were given
// tried in their place. One that verifies nothing is asked by those that were given, and as
// it says only where they do not verify what is shown.
func (f *mendFlags) connect(ctx context.Context, sc *pki.Scanner) (*connection, error) {
	conn, err := connect(ctx, f.app, f.config, sc, f.api)
	var unknown x509.UnknownAuthorityError
	switch {
	case f.trusted == nil || !unverified(err):
		return conn, err
	case errors.As(err, &unknown) && trustingAlone(f.config, f.trusted):
		return connect(ctx, f.app, f.config, sc, f.api)
	}
	f.untrust()
	if now, other := f.config.ToRESTConfig(); other != nil || !now.Insecure {
		return nil, err
	}
	return connect(ctx, f.app, f.config, sc, f.api)
}

// emergency asks the API server by a kubeconfig that masters have for times when others
// fail, if this machine is a master.
func (f *mendFlags) emergency(ctx context.Context, sc *pki.Scanner) (*connection, error) {
	var errs []error
	for _, path := range catalog.EmergencyKubeconfigs() {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		flags := genericclioptions.NewConfigFlags(false)
		flags.KubeConfig, flags.Timeout, flags.WrapConfigFn = &path, f.config.Timeout, f.config.WrapConfigFn
		conn, err := connect(ctx, f.app, flags, sc, f.api)
		if err == nil {
			_, _ = fmt.Fprintf(f.app.Streams.ErrOut, "The API is asked by this master's %s.\n", path)
			return conn, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", path, err))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return nil, errors.New("--local asks no API server unless --kubeconfig or KUBECONFIG names one, or the machine is a master with kubeconfigs of its own: " + strings.Join(catalog.EmergencyKubeconfigs(), ", "))
}

// keep leaves only some of the nodes to be read.
func (w *workplace) keep(wanted func(collect.NodeObject) bool) {
	w.objects = slices.DeleteFunc(w.objects, func(o collect.NodeObject) bool { return !wanted(o) })
	w.choice.names = nil
	for _, o := range w.objects {
		w.choice.names = append(w.choice.names, o.Name)
	}
}

// thisOne is this machine's name, which must be among those of a run if there are
// any.
func thisOne(names []string) ([]string, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("--local: this machine's name: %w", err)
	}
	i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, host) })
	switch {
	case i >= 0:
		host = names[i]
	case len(names) > 0:
		return nil, fmt.Errorf("--local: this machine is %s, and the run changed %s; if it is one of them under another name, say which with --nodes", host, strings.Join(names, ", "))
	}
	return []string{host}, nil
}

// named reports whether the user named a kubeconfig or a server.
func (f *mendFlags) named() bool {
	return *f.config.KubeConfig != "" || os.Getenv("KUBECONFIG") != "" || *f.config.APIServer != ""
}

// names are the nodes, in the order in which they were named.
func (w *workplace) names() []string { return w.choice.names }

// source reads nodes for a plan.
func (w *workplace) source(o gather.Options) collect.Nodes {
	o.Texts = true
	n := w.choice.source(w.objects)
	n.Options, n.Served, n.Scanner, n.How = o, true, w.scanner, w.choice.another()
	n.HowCut = w.choice.howCut(w.atConsole)
	if w.choice.local {
		n.How = "run it as root"
	}
	n.Open = func(ctx context.Context, node string) (collect.OnNode, error) {
		opened, err := w.open(ctx, node)
		if err != nil {
			return nil, err
		}
		return onNode{Node: opened, via: nodeexec.Via(opened)}, nil
	}
	return n
}

// another names the ways that were not tried.
func (c nodeChoice) another() string {
	var left []string
	for _, way := range []string{"ssh", "exec", "debug"} {
		if !slices.Contains(c.ways, way) || way == "ssh" && !c.sshAll {
			left = append(left, "--via "+way)
		}
	}
	if len(left) == 0 {
		return "run it with --local on the node itself"
	}
	return "try another way: " + strings.Join(left, " or ") + "; or run it with --local on the node itself"
}

// atConsole is what helps at the console of a node that can't be reached.
func (w *workplace) atConsole(node string) string {
	if w.script && w.conn != nil {
		return "a script for its console: " + inspect.LiveHints(w.app.Called).Next("{} fix-api-int --nodes %s --emit-script scripts", node)
	}
	return "or run it with --local at its console"
}

// facts reads what a plan is made from.
func (w *workplace) facts(ctx context.Context, o gather.Options) inspect.Snapshot {
	p := startProgress(w.app.Streams.ErrOut)
	defer p.stop()
	if w.choice.ask != nil {
		w.choice.ask.progress = p
	}
	for i := range w.objects {
		if w.conn == nil {
			break
		}
		if h, err := w.conn.cluster.Heartbeat(ctx, w.objects[i].Name); err == nil {
			w.objects[i].Heartbeat, w.objects[i].Lease, w.objects[i].Ready = h.At, h.Lease, h.Ready
		} else {
			w.objects[i].Lease = inspect.Lease{Unread: err.Error()}
		}
	}
	nodes := w.source(o)
	nodes.Observe = p.observe
	sources := []collect.Source{nodes}
	if w.conn != nil {
		w.conn.cluster.Observe = p.observe
		sources = append(sources, w.conn.cluster.Identity(w.conn.server, w.conn.context), collect.Originals(w.conn.cluster))
	}
	s := collect.All(ctx, sources...)
	s.Taken = collect.Taken()
	if w.conn != nil {
		s.Cluster.Clock, s.Cluster.Unauthenticated = w.conn.clock.reading(), w.conn.unauthenticated
		w.conn.cluster.Again(ctx, &s)
	}
	s.MarkForeign()
	s.Advise(inspect.LiveHints(w.app.Called))
	s.Sort()
	return s
}

// env is what a run acts through.
func (w *workplace) env(run string, o gather.Options) *remediate.Env {
	env := &remediate.Env{
		Run: run, Open: w.open, Now: collect.Taken, Hints: inspect.LiveHints(w.app.Called),
		Sleep: func(ctx context.Context, d time.Duration) error {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(d):
				return nil
			}
		},
		Facts: func(ctx context.Context, n nodeexec.Node) (inspect.Snapshot, error) {
			only := gather.Options{Only: true, Paths: slices.Concat(catalog.KubeletKubeconfigs(), catalog.KubeadmKubeconfigs(), []string{path.Dir(inspect.KubeletClient)}, o.Paths)}
			s, _, err := w.source(only).Read(ctx, collect.NodeObject{Name: n.Name()}, onNode{Node: n, via: nodeexec.Via(n)})
			s.MarkForeign()
			s.Advise(inspect.LiveHints(w.app.Called))
			return s, err
		},
	}
	env.Comeback = func(ctx context.Context, n nodeexec.Node) (*inspect.Comeback, error) {
		only := w.source(gather.Options{Only: true, Paths: slices.Concat(catalog.KubeletKubeconfigs(), catalog.KubeadmKubeconfigs())})
		only.Served, only.Comeback = false, true
		s, _, err := only.Read(ctx, collect.NodeObject{Name: n.Name()}, onNode{Node: n, via: nodeexec.Via(n)})
		if err != nil || len(s.Nodes) == 0 {
			return nil, err
		}
		s.MarkForeign()
		return s.Nodes[0].Comeback, nil
	}
	if w.conn != nil {
		env.Heartbeat, env.Signer, env.APIClock = w.conn.cluster.Heartbeat, w.conn.cluster.Signer, w.conn.clock.reading
		env.Kube, env.Dynamic, env.Servers = w.conn.kube, w.conn.dynamic, w.conn.servers()
	}
	return env
}

// journals are those of this user.
func journals() (remediate.Journals, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return remediate.Journals{}, withHint(fmt.Errorf("journals: %w", err), "set XDG_STATE_HOME to a folder that you keep")
		}
		state = home + "/.local/state"
	}
	return remediate.Journals{Folder: state + "/certrot/runs"}, nil
}
