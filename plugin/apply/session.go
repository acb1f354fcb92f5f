package apply

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

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// Session is a cluster, as far as its API answers, and some of its nodes, for
// commands that change them.
type Session struct {
	App     cli.App
	Choice  connect.NodeChoice
	Objects []collect.NodeObject
	Conn    *connect.Connection // nil: there is no API
	NoAPI   error               // why
	Scanner *pki.Scanner
	Open    func(ctx context.Context, node string) (nodeexec.Node, error)
	Close   func() error
	All     bool // nodes that the cluster has, none of which was named
	Script  bool // a script can do the same at a node's console
}

// unlisted is the next step where nodes can't be listed: who brings a CA to them takes it from
// elsewhere, too.
func (o *Options) unlisted() string {
	if !o.BringsCA {
		return "name them: --nodes NAME[,NAME...], control plane nodes first"
	}
	return "where your kubeconfig lacks the new CA (x509): --api-ca-from ssh://core@NODE, a control plane node. Where no API server answers, name them with --nodes, control plane nodes first, and give the CA with --ca-file: each node is asked whether the API server takes its kubelet again, before the next one"
}

// NewSession gets ready to go onto nodes. The API may be down: then nodes are those
// that are named.
func (o *Options) NewSession(ctx context.Context, names []string) (*Session, error) {
	var err error
	c := o.Nodes
	if len(c.Names) == 0 {
		c.Names = names
		if c.Local {
			if c.Names, err = thisOne(names); err != nil {
				return nil, err
			}
		}
	}
	if len(c.Names) == 0 && !o.AllByDefault {
		return nil, cli.WithHint(errors.New("no node is named"), "--nodes NAME[,NAME...]: kubectl get nodes")
	}
	if c.Prompter != nil {
		c.Prompter = &connect.Prompter{App: o.App, Ended: ctx.Done()}
	}
	w := &Session{App: o.App, Choice: c, Scanner: pki.NewScanner(), All: len(c.Names) == 0}
	if w.Conn, w.NoAPI = o.API(ctx, w.Scanner); w.NoAPI != nil {
		w.Conn = nil
	}
	var refused *cli.RefusedError
	if errors.As(w.NoAPI, &refused) {
		return nil, refused
	}
	if w.All && w.Conn == nil {
		return nil, cli.WithHint(fmt.Errorf("nodes can't be listed without the API server: %w", w.NoAPI),
			"%s", o.unlisted())
	}
	if w.Conn != nil && !c.Local {
		var unlisted *connect.UnlistedError // those that were named are what the run is about
		if w.Objects, _, err = c.Objects(ctx, w.Conn); err != nil && !errors.As(err, &unlisted) {
			return nil, err
		}
		if w.All {
			w.Filter(func(collect.NodeObject) bool { return true })
		}
	} else {
		for _, n := range c.Names {
			w.Objects = append(w.Objects, collect.NodeObject{Name: n})
		}
	}
	var ways []nodeexec.Transport
	if c.Local {
		ways, w.Close = []nodeexec.Transport{nodeexec.Local{Node: c.Names[0], MaxOutput: connect.MaxAnswer}}, func() error { return nil }
	} else {
		ways, w.Close = c.Transports(w.Objects, w.Conn)
	}
	w.Open = nodeexec.FirstOf(ways...).Dial
	return w, nil
}

// API connects as a session does: on a control plane node by its own kubeconfigs, too.
func (o *Options) API(ctx context.Context, sc *pki.Scanner) (*connect.Connection, error) {
	if o.Nodes.Local && !o.named() {
		return o.emergency(ctx, sc)
	}
	return o.Connect(ctx, sc)
}

// Connect asks the API server as the user's kubeconfig says. One without a CA means this
// machine's own CAs: only where they do not verify what is presented are those that were given
// tried in their place. One that verifies nothing is asked by those that were given, and as
// it says only where they do not verify what is presented.
func (o *Options) Connect(ctx context.Context, sc *pki.Scanner) (*connect.Connection, error) {
	conn, err := connect.Connect(ctx, o.App, o.Config, sc, o.Purpose)
	var unknown x509.UnknownAuthorityError
	switch {
	case o.trustedCAs == nil || !unverified(err):
		return conn, err
	case errors.As(err, &unknown) && connect.TrustingAlone(o.Config, o.trustedCAs):
		return connect.Connect(ctx, o.App, o.Config, sc, o.Purpose)
	}
	o.dropTrustedCAs()
	if now, other := o.Config.ToRESTConfig(); other != nil || !now.Insecure {
		return nil, err
	}
	return connect.Connect(ctx, o.App, o.Config, sc, o.Purpose)
}

// emergency asks the API server by a kubeconfig that masters have for times when others
// fail, if this machine is a master.
func (o *Options) emergency(ctx context.Context, sc *pki.Scanner) (*connect.Connection, error) {
	var errs []error
	for _, path := range catalog.EmergencyKubeconfigs() {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		flags := &cli.ConfigFlags{KubeConfig: path, Wrap: o.Config.Wrap}
		flags.Timeout = o.Config.Timeout
		conn, err := connect.Connect(ctx, o.App, flags, sc, o.Purpose)
		if err == nil {
			_, _ = fmt.Fprintf(o.App.Streams.ErrOut, "The API is asked by this control plane node's %s.\n", path)
			return conn, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", path, err))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return nil, errors.New("--local asks no API server unless --kubeconfig or KUBECONFIG names one, or the machine is a control plane node with kubeconfigs of its own: " + strings.Join(catalog.EmergencyKubeconfigs(), ", "))
}

// Filter leaves only some of the nodes to be read.
func (s *Session) Filter(wanted func(collect.NodeObject) bool) {
	s.Objects = slices.DeleteFunc(s.Objects, func(o collect.NodeObject) bool { return !wanted(o) })
	s.Choice.Names = nil
	for _, o := range s.Objects {
		s.Choice.Names = append(s.Choice.Names, o.Name)
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
func (o *Options) named() bool {
	return o.Config.KubeConfig != "" || os.Getenv("KUBECONFIG") != "" || o.Config.ClusterInfo.Server != ""
}

// Names are the nodes, in the order in which they were named.
func (s *Session) Names() []string { return s.Choice.Names }

// Source reads nodes for a plan.
func (s *Session) Source(o gather.Options) collect.Nodes {
	o.Texts = true
	n := s.Choice.Source(s.Objects)
	n.Options, n.Served, n.Scanner, n.ReadHint = o, true, s.Scanner, s.Choice.Another()
	n.ReadHintNoSSH = s.Choice.ReadHintNoSSH(s.atConsole)
	if s.Choice.Local {
		n.ReadHint = "run it as root"
	}
	n.Open = func(ctx context.Context, node string) (collect.OnNode, error) {
		opened, err := s.Open(ctx, node)
		if err != nil {
			return nil, err
		}
		return connect.OnNode{Node: opened, Way: nodeexec.Via(opened)}, nil
	}
	return n
}

// atConsole is what helps at the console of a node that can't be reached.
func (s *Session) atConsole(node string) string {
	if s.Script && s.Conn != nil {
		return "a script for its console: " + s.App.Hints().Next("{} fix-api-int --nodes %s --emit-script scripts", node)
	}
	return "or run it with --local at its console"
}

// ReadSnapshot reads what a plan is made from.
func (s *Session) ReadSnapshot(ctx context.Context, o gather.Options) inspect.Snapshot {
	p := ui.StartProgress(s.App.Streams.ErrOut, nil, collect.Now)
	defer p.Stop()
	if s.Choice.Prompter != nil {
		s.Choice.Prompter.Progress = p
	}
	for i := range s.Objects {
		if s.Conn == nil {
			break
		}
		if h, err := s.Conn.Cluster.Heartbeat(ctx, s.Objects[i].Name); err == nil {
			s.Objects[i].Heartbeat, s.Objects[i].Lease, s.Objects[i].Ready = h.At, h.Lease, h.Ready
		} else {
			s.Objects[i].Lease = inspect.Lease{Unread: err.Error()}
		}
	}
	nodes := s.Source(o)
	nodes.Observe = p.Observe
	sources := []collect.Source{nodes}
	if s.Conn != nil {
		s.Conn.Cluster.Observe = p.Observe
		sources = append(sources, s.Conn.Cluster.Identity(s.Conn.Server, s.Conn.Context), collect.Originals(s.Conn.Cluster))
	}
	snapshot := collect.All(ctx, sources...)
	snapshot.Taken = collect.Now()
	if s.Conn != nil {
		snapshot.Cluster.Clock, snapshot.Cluster.Unauthenticated = s.Conn.Clock.Reading(), s.Conn.Unauthenticated
		s.Conn.Cluster.RereadLeases(ctx, &snapshot)
	}
	snapshot.MarkForeign()
	snapshot.Advise(s.App.Hints())
	snapshot.Sort()
	return snapshot
}

// Env is what a run acts through.
func (s *Session) Env(run string, o gather.Options) *remediate.Env {
	env := &remediate.Env{
		RunID: run, Open: s.Open, Now: collect.Now, Hints: s.App.Hints(),
		Sleep: func(ctx context.Context, d time.Duration) error {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(d):
				return nil
			}
		},
		ReadNode: func(ctx context.Context, n nodeexec.Node) (inspect.Snapshot, error) {
			only := gather.Options{Only: true, Paths: slices.Concat(catalog.KubeletKubeconfigs(), catalog.KubeadmKubeconfigs(), []string{path.Dir(inspect.KubeletClient)}, o.Paths)}
			snapshot, _, err := s.Source(only).Read(ctx, collect.NodeObject{Name: n.Name()}, connect.OnNode{Node: n, Way: nodeexec.Via(n)})
			snapshot.MarkForeign()
			snapshot.Advise(s.App.Hints())
			return snapshot, err
		},
	}
	env.RestartProbe = func(ctx context.Context, n nodeexec.Node) (*inspect.RestartProbe, error) {
		only := s.Source(gather.Options{Only: true, Paths: slices.Concat(catalog.KubeletKubeconfigs(), catalog.KubeadmKubeconfigs())})
		only.Served, only.RestartProbe = false, true
		snapshot, _, err := only.Read(ctx, collect.NodeObject{Name: n.Name()}, connect.OnNode{Node: n, Way: nodeexec.Via(n)})
		if err != nil || len(snapshot.Nodes) == 0 {
			return nil, err
		}
		snapshot.MarkForeign()
		return snapshot.Nodes[0].RestartProbe, nil
	}
	if s.Conn != nil {
		env.Heartbeat, env.Signer, env.APIClock = s.Conn.Cluster.Heartbeat, s.Conn.Cluster.Signer, s.Conn.Clock.Reading
		env.Kube, env.Dynamic, env.Servers = s.Conn.Kube, s.Conn.Dynamic, s.Conn.Servers()
	}
	return env
}

// Journals are those of this user.
func Journals() (remediate.Journals, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return remediate.Journals{}, cli.WithHint(fmt.Errorf("journals: %w", err), "set XDG_STATE_HOME to a folder that you keep")
		}
		state = home + "/.local/state"
	}
	return remediate.Journals{Folder: state + "/certrot/runs"}, nil
}

// OnNode does something on a node.
func (s *Session) OnNode(ctx context.Context, node string, do func(context.Context, nodeexec.Node) error) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Choice.Timeout, fmt.Errorf("not done after %s", s.Choice.Timeout))
	defer cancel()
	n, err := s.Open(ctx, node)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	return do(ctx, n)
}
