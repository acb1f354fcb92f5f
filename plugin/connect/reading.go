package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// Reading is one reading of facts, for the commands that start with one.
type Reading struct {
	Config *cli.ConfigFlags
	App    cli.App
	From   []string // files to read; none: the cluster
	Scope  collect.Scope
	Nodes  NodeChoice
	// Status has read, too, what is asked before something is changed.
	Status bool
	// Board is where it is drawn how far the reading is; nil: one of its own, on the error stream.
	Board *ui.Board
}

// Read reads the files named, else the cluster. Each call reads again, and knows nothing of
// the one before.
func (r Reading) Read(ctx context.Context) (inspect.Snapshot, error) {
	if len(r.From) > 0 {
		return r.files(ctx, r.From)
	}
	return r.live(ctx)
}

// Hints write the next steps of what is read.
func (r Reading) Hints() inspect.Hints {
	if len(r.From) == 0 {
		return r.App.Hints()
	}
	var from []string
	for _, path := range r.From {
		if path == "-" || !foreign.Prints(path) { // it is read up; no command is printed with lines of its own
			return inspect.FileHints(r.App.ProgramName)
		}
		from = append(from, nodeexec.Quote("--from", path))
	}
	return inspect.FileHints(r.App.ProgramName, from...)
}

// live reads the cluster and its nodes, or this machine alone.
func (r Reading) live(ctx context.Context) (inspect.Snapshot, error) {
	sc := pki.NewScanner()
	p := ui.StartProgress(r.App.Streams.ErrOut, r.Board, collect.Now)
	defer p.Stop()
	if r.Nodes.Prompter != nil {
		r.Nodes.Prompter = &Prompter{App: r.App, Progress: p, Ended: ctx.Done()}
	}
	var from origins
	var err error
	if r.Nodes.Local {
		from.sources, err = r.machine(sc, p)
	} else {
		from, err = r.sources(ctx, sc, p)
	}
	if err != nil {
		return inspect.Snapshot{}, err
	}
	c := from.conn
	snapshot := collect.All(ctx, from.sources...)
	if c != nil {
		snapshot = c.Cluster.Follow(ctx, snapshot)
	}
	if c != nil && r.Nodes.Served {
		if snapshot.Cluster.Versions.NotOpenShift {
			from.handshakes.Listening = c.Cluster.Listening(ctx)
		}
		snapshot.Served = append(snapshot.Served, from.handshakes.Collect(ctx, &snapshot)...)
		if asks := from.handshakes; asks.Open != nil && r.Nodes.Callers != nil && r.Nodes.Callers(&snapshot) {
			collect.Requests{Open: asks.Open, Observe: asks.Observe}.Collect(ctx, &snapshot)
		}
		for _, v := range c.servedToUser(ctx, snapshot.Cluster) {
			same := func(o inspect.Served) bool { return o.Server == v.Server && o.Address == v.Address && o.Name == v.Name }
			if !slices.ContainsFunc(snapshot.Served, same) {
				snapshot.Served = append(snapshot.Served, v)
			}
		}
		snapshot.Sort()
	}
	if from.done != nil {
		snapshot.Gaps = append(snapshot.Gaps, leftBehind(from.done())...)
	}
	snapshot.Taken = collect.Now()
	snapshot.Cluster.Read = snapshot.Taken
	if c != nil {
		snapshot.Cluster.Clock, snapshot.Cluster.Unauthenticated = c.Clock.Reading(), c.Unauthenticated
		c.Cluster.RereadLeases(ctx, &snapshot)
	}
	if c != nil && r.Status {
		snapshot.Status = c.Cluster.Status(ctx, snapshot)
	}
	snapshot.MarkForeign()
	snapshot.Advise(r.Hints())
	return snapshot, nil
}

// machine is this machine alone.
func (r Reading) machine(sc *pki.Scanner, p *ui.Progress) ([]collect.Source, error) {
	n, err := r.Nodes.thisMachine()
	n.Scanner, n.Observe = sc, p.Observe
	return []collect.Source{n}, err
}

// origins is where facts come from.
type origins struct {
	conn    *Connection // nil: the API does not answer, or is not asked
	sources []collect.Source
	// handshakes are made when the sources are read, and done gives back what was made
	// to get onto nodes; nil: nothing was.
	handshakes collect.Handshakes
	done       func() error
}

// sources are those of the live cluster. Where its API does not answer, nodes are
// read all the same.
func (r Reading) sources(ctx context.Context, sc *pki.Scanner, p *ui.Progress) (origins, error) {
	c, err := Connect(ctx, r.App, r.Config, sc, ToRead)
	if err != nil {
		nodes := r.Nodes.withoutAPI()
		if len(nodes) == 0 {
			if r.Nodes.asked {
				err = cli.WithHint(err, "nodes can be read without the API if you name them: --nodes NAME[,NAME...] --via ssh; or give --ssh-inventory FILE")
			}
			return origins{}, err
		}
		source, done := r.nodeSource(nodes, nil, sc, p)
		return origins{sources: []collect.Source{unreachable{err}, source}, done: done}, nil
	}
	if ns := r.Scope.Namespace; ns != "" {
		if !c.Cluster.HasNamespace(ctx, ns) {
			return origins{}, cli.WithHint(fmt.Errorf("namespace %q: there is none on %s", ns, c.Server), "kubectl get namespaces")
		}
	}
	c.Cluster.Scope, c.Cluster.Observe = r.Scope, p.Observe
	sources := []collect.Source{c.Cluster.Identity(c.Server, c.Context)}
	if len(r.Scope.Resources) == 0 {
		sources = append(sources, collect.Kubeconfig(sc, c.Config, c.Context))
	}
	if r.Nodes.RestartProbe {
		sources = append(sources, collect.Access(c.Config, c.Context, c.Server))
	}
	sources = append(sources, c.Cluster.Sources()...)
	if r.Nodes.none {
		return origins{conn: c, sources: sources}, nil
	}
	nodes, all, err := r.Nodes.Objects(ctx, c)
	var some *UnlistedError
	if errors.As(err, &some) {
		sources, err = append(sources, unlisted{some.Err, true}), nil
	}
	var noSuchNode *cli.HintError
	switch {
	case errors.As(err, &noSuchNode):
		return origins{}, err
	case err != nil:
		return origins{conn: c, sources: append(sources, unlisted{err, r.Nodes.asked})}, nil
	}
	c.Cluster.WithHeartbeats(ctx, nodes)
	if r.Nodes.NodesOnly {
		sources = append(sources, collect.Originals(c.Cluster))
	}
	source, done := r.nodeSource(nodes, c, sc, p)
	source.ClusterNodes = all
	asks := collect.Handshakes{Nodes: all, Open: source.Open, Observe: p.Observe}
	return origins{conn: c, sources: append(sources, source), handshakes: asks, done: done}, nil
}

// nodeSource reads nodes; what it returns beside gives back what it made to get onto
// them.
func (r Reading) nodeSource(nodes []collect.NodeObject, c *Connection, sc *pki.Scanner, p *ui.Progress) (source collect.Nodes, done func() error) {
	n := r.Nodes.Source(nodes)
	ways, done := r.Nodes.Transports(nodes, c)
	n.Open = Opener(ways...)
	n.ReadHint = r.Nodes.readHint(r.App.ProgramName)
	n.ReadHintNoSSH = r.Nodes.ReadHintNoSSH(func(string) string { return "at its console: " + r.App.ProgramName + " inspect --local" })
	n.Scanner, n.Observe = sc, p.Observe
	return n, done
}

// leftBehind is the gap of what could not be removed.
func leftBehind(err error) []inspect.Gap {
	if err == nil {
		return nil
	}
	return []inspect.Gap{{What: "clean up", Where: "nodes", Reason: err.Error(), Next: "the next run with debug pods removes what is left; or: kubectl get namespaces,pods -A"}}
}

// unreachable is the source for an API that does not answer while nodes do.
type unreachable struct{ err error }

func (unreachable) Name() string { return "API server" }
func (u unreachable) Collect(context.Context) inspect.Snapshot {
	g := inspect.Gap{What: "API server", Reason: u.err.Error()}
	var h *cli.HintError
	if errors.As(u.err, &h) {
		g.Next = h.Hint
	}
	return inspect.Snapshot{Gaps: []inspect.Gap{g}}
}

// unlisted is the source for nodes that can't even be listed.
type unlisted struct {
	err   error
	asked bool
}

func (unlisted) Name() string { return "nodes" }
func (u unlisted) Collect(context.Context) inspect.Snapshot {
	if !u.asked && apierrors.IsForbidden(u.err) {
		return inspect.Snapshot{Reads: []inspect.Read{{What: "nodes", Skipped: true, Note: "you may not list nodes", Next: "name them with --nodes and --via ssh"}}}
	}
	return inspect.Snapshot{Gaps: []inspect.Gap{{What: "nodes", Reason: "list nodes: " + u.err.Error(), Next: inspect.Hints{}.Unread(inspect.Permission{Verb: "list", Resource: "nodes", Cluster: true}) + "; or name them: --nodes NAME --via ssh"}}}
}

// files reads files. One that can't be read at all is an error: it was named.
func (r Reading) files(ctx context.Context, paths []string) (inspect.Snapshot, error) {
	type result struct {
		snapshot inspect.Snapshot
		err      error
	}
	p := ui.StartProgress(r.App.Streams.ErrOut, r.Board, collect.Now)
	defer p.Stop()
	done := make(chan result, 1)
	go func() { // a pipe or a terminal may never end
		s, err := r.readFiles(paths, p.Observe)
		done <- result{s, err}
	}()
	select {
	case <-ctx.Done():
		return inspect.Snapshot{}, errors.New("interrupted while reading --from")
	case r := <-done:
		return r.snapshot, r.err
	}
}

// readable says what a file can be.
const readable = "a file can be a snapshot (%s snapshot -o FILE), a must-gather (directory or tar), Kubernetes objects as YAML or JSON, PEM, DER or a kubeconfig"

// nothingIn is the error for files of which none has anything that is read: another one was meant. One
// beside others is a gap.
func (r Reading) nothingIn(paths []string, parts []inspect.Snapshot) error {
	for _, s := range parts {
		if _, is := collect.Nothing(s); !is {
			return nil
		}
	}
	if len(parts) == 0 {
		return nil
	}
	g, _ := collect.Nothing(parts[0])
	if name := paths[0]; !foreign.Prints(name) { // as from a pattern of a shell
		return cli.WithHint(fmt.Errorf("--from: read %s: %s", foreign.Text(name), g.Reason), readable, r.App.ProgramName)
	}
	return cli.WithHint(fmt.Errorf("--from: read %s: %s", paths[0], g.Reason), "%s\n"+readable, g.Next, r.App.ProgramName)
}

func (r Reading) readFiles(paths []string, observe func(what string, objects int)) (inspect.Snapshot, error) {
	sc := pki.NewScanner()
	var parts []inspect.Snapshot
	for _, path := range paths {
		s, err := collect.File{Path: path, Stdin: r.App.Streams.In, Scanner: sc, Observe: observe}.Read()
		if err != nil {
			if !foreign.Prints(path) { // as from a pattern of a shell
				err = foreign.Error(err)
			}
			if errors.Is(err, collect.ErrCutOff) {
				return s, cli.WithHint(fmt.Errorf("--from: %w", err), "copy it again, from where it was taken")
			}
			return s, cli.WithHint(fmt.Errorf("--from: %w", err), readable, r.App.ProgramName)
		}
		for i, other := range parts {
			if first, second, differ := otherCluster(other.Cluster, s.Cluster); differ {
				return s, cli.WithHint(fmt.Errorf("--from: %s is of cluster %s, and %s of cluster %s", foreign.Text(paths[i]), foreign.Name(first), foreign.Text(path), foreign.Name(second)), "clusters are judged one by one: run it once for each")
			}
		}
		parts = append(parts, s)
	}
	if err := r.nothingIn(paths, parts); err != nil {
		return inspect.Snapshot{}, err
	}
	s := inspect.Newest(parts...)
	gaps, err := r.notInFiles(s)
	if err != nil {
		return s, err
	}
	s.Gaps = append(s.Gaps, gaps...)
	opened := collect.Now()
	if r.App.Now != nil {
		opened = r.App.Now()
	}
	if s.Taken.IsZero() {
		s.Taken = collect.Now() // what a file says that knows no time is judged now
	}
	s.Cluster.Read, s.Cluster.Opened = s.Taken, opened
	s.MarkForeign()
	s.Advise(r.Hints())
	s.Sort()
	return s, nil
}

// notInFiles are the gaps of what was asked for by name, and of which files say nothing:
// a name that is written wrongly is not fine, and an error where all of its kind were read.
func (r Reading) notInFiles(s inspect.Snapshot) ([]inspect.Gap, error) {
	sc := r.Scope
	var gaps []inspect.Gap
	gap := func(what, where, reason string) {
		gaps = append(gaps, inspect.Gap{What: what, Where: where, Reason: reason, Next: "what is there: " + r.Hints().Next("{} inspect --all") + r.Hints().From()})
	}
	inNamespace := func(at pki.Location) bool { return sc.Namespace == "" || at.Namespace == sc.Namespace }
	there := map[string]map[string]bool{} // by plural and name
	var kinds []string
	read, found := false, false
	for _, k := range sc.Resources {
		kinds = append(kinds, k.Plural)
		read = read || slices.ContainsFunc(s.Reads, func(d inspect.Read) bool { return d.What == k.Plural })
		names := map[string]bool{}
		if k.Kind == pki.KindFile {
			for _, n := range s.Nodes {
				names[n.Name] = true
			}
		}
		for _, b := range s.Bundles {
			if k.Has(b.At) && inNamespace(b.At) && (k.Kind != pki.KindFile || b.At.Node != "") {
				names[cmp.Or(b.At.Node, b.At.Name)] = true
			}
		}
		for _, q := range s.Requests {
			if q.Object.Kind == k.Kind {
				names[q.Object.Name] = true
			}
		}
		there[k.Plural], found = names, found || len(names) > 0
	}
	some := slices.ContainsFunc(sc.Names, func(n collect.Named) bool {
		return slices.ContainsFunc(n.Resources, func(r collect.Resource) bool { return there[r.Plural][n.Name] })
	})
	for _, n := range sc.Names {
		if !slices.ContainsFunc(n.Resources, func(r collect.Resource) bool { return there[r.Plural][n.Name] }) {
			if err := r.notFound(&s, n, there); err != nil && !some { // else what there is of the others is printed
				return nil, err
			}
			gap(n.Resources[0].Plural+"/"+n.Name, sc.Namespace, "the files hold no certificate of it"+cli.DidYouMean(n.Name, namesIn(n.Resources, there)))
		}
	}
	if len(kinds) == 1 && len(sc.Names) == 0 && !found && !read {
		gap(kinds[0], sc.Namespace, "the files say nothing of them")
	}
	if sc.Namespace != "" && len(sc.Names) == 0 && !slices.ContainsFunc(s.Bundles, func(b inspect.Bundle) bool { return b.At.Namespace == sc.Namespace }) {
		gap("namespace/"+sc.Namespace, "", "the files hold no certificate of it")
	}
	return gaps, nil
}
