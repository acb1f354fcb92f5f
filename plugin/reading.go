package plugin

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// reading is one reading of facts, for the commands that start with one.
type reading struct {
	config *genericclioptions.ConfigFlags
	app    App
	scope  collect.Scope
	nodes  nodeChoice
}

// live reads the cluster and its nodes, or this machine alone.
func (r reading) live(ctx context.Context) (inspect.Snapshot, error) {
	sc := pki.NewScanner()
	p := startProgress(r.app.Streams.ErrOut)
	defer p.stop()
	if r.nodes.ask != nil {
		r.nodes.ask.progress, r.nodes.ask.ended = p, ctx.Done()
	}
	var sources []collect.Source
	var c *connection
	var err error
	if r.nodes.local {
		sources, err = r.machine(sc, p)
	} else {
		c, sources, err = r.sources(ctx, sc, p)
	}
	if err != nil {
		return inspect.Snapshot{}, err
	}
	snapshot := collect.All(ctx, sources...)
	if c != nil {
		snapshot = c.cluster.Follow(ctx, snapshot)
	}
	snapshot.Taken = collect.Taken()
	if c != nil {
		snapshot.Cluster.Clock = c.clock.reading()
	}
	return snapshot, nil
}

// machine is this machine alone.
func (r reading) machine(sc *pki.Scanner, p *progress) ([]collect.Source, error) {
	n, err := r.nodes.thisMachine()
	n.Scanner, n.Observe = sc, p.observe
	return []collect.Source{n}, err
}

// sources are those of the live cluster; the connection is nil where its API does
// not answer, and nodes are read all the same.
func (r reading) sources(ctx context.Context, sc *pki.Scanner, p *progress) (*connection, []collect.Source, error) {
	c, err := connect(ctx, r.app, r.config, sc)
	if err != nil {
		nodes := r.nodes.withoutAPI()
		if len(nodes) == 0 {
			if r.nodes.asked {
				err = withHint(err, "nodes can be read without the API if you name them: %s inspect nodes NAME... --via ssh, or give --ssh-inventory FILE", r.app.Called)
			}
			return nil, nil, err
		}
		return nil, []collect.Source{unreachable{err}, r.nodeSource(nodes, nil, sc, p)}, nil
	}
	if ns := r.scope.Namespace; ns != "" {
		if !c.cluster.HasNamespace(ctx, ns) {
			return nil, nil, withHint(fmt.Errorf("namespace %q: there is none on %s", ns, c.server), "kubectl get namespaces")
		}
	}
	c.cluster.Scope, c.cluster.Observe = r.scope, p.observe
	sources := []collect.Source{c.cluster.Identity(c.server, c.context)}
	if len(r.scope.Resources) == 0 {
		sources = append(sources, collect.Kubeconfig(sc, c.config, c.context))
	}
	if r.nodes.comeback {
		sources = append(sources, collect.Access(c.config, c.context, c.server))
	}
	sources = append(sources, c.cluster.Sources()...)
	if r.nodes.none {
		return c, sources, nil
	}
	nodes, err := r.nodes.objects(ctx, c)
	var noSuchNode *hintError
	switch {
	case errors.As(err, &noSuchNode):
		return nil, nil, err
	case err != nil:
		return c, append(sources, unlisted{err, r.nodes.asked}), nil
	}
	if r.nodes.shown {
		sources = append(sources, collect.Originals(c.cluster))
	}
	return c, append(sources, r.nodeSource(nodes, c, sc, p)), nil
}

func (r reading) nodeSource(nodes []collect.NodeObject, c *connection, sc *pki.Scanner, p *progress) collect.Source {
	n := r.nodes.source(nodes)
	ways, done := r.nodes.transports(nodes, c)
	n.Open = opener(ways...)
	n.How = r.nodes.how(r.app.Called)
	n.Scanner, n.Observe = sc, p.observe
	return tidied{n, done}
}

// tidied is a source that makes things, and removes them when it is done.
type tidied struct {
	collect.Source
	done func() error
}

func (t tidied) Collect(ctx context.Context) inspect.Snapshot {
	s := t.Source.Collect(ctx)
	if err := t.done(); err != nil {
		s.Gaps = append(s.Gaps, inspect.Gap{What: "clean up", Where: t.Name(), Reason: err.Error(), Next: "the next run with debug pods removes what is left; or: kubectl get namespaces,pods -A"})
	}
	return s
}

// unreachable is the source for an API that does not answer while nodes do.
type unreachable struct{ err error }

func (unreachable) Name() string { return "API server" }
func (u unreachable) Collect(context.Context) inspect.Snapshot {
	g := inspect.Gap{What: "API server", Reason: u.err.Error()}
	var h *hintError
	if errors.As(u.err, &h) {
		g.Next = h.hint
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
		return inspect.Snapshot{Reads: []inspect.Read{{What: "nodes", Skipped: true, Note: "you may not list nodes; name them with --nodes and --via ssh"}}}
	}
	return inspect.Snapshot{Gaps: []inspect.Gap{{What: "nodes", Reason: "list nodes: " + u.err.Error(), Next: "kubectl auth can-i list nodes; or name them: --nodes NAME --via ssh"}}}
}

// files reads files. One that can't be read at all is an error: it was named.
func (r reading) files(ctx context.Context, paths []string) (inspect.Snapshot, error) {
	type result struct {
		snapshot inspect.Snapshot
		err      error
	}
	done := make(chan result, 1)
	go func() { // a pipe or a terminal may never end
		s, err := r.readFiles(paths)
		done <- result{s, err}
	}()
	select {
	case <-ctx.Done():
		return inspect.Snapshot{}, errors.New("interrupted while reading --from")
	case r := <-done:
		return r.snapshot, r.err
	}
}

func (r reading) readFiles(paths []string) (inspect.Snapshot, error) {
	sc := pki.NewScanner()
	var parts []inspect.Snapshot
	for _, path := range paths {
		s, err := collect.File{Path: path, Stdin: r.app.Streams.In, Scanner: sc}.Read()
		if err != nil {
			return s, withHint(fmt.Errorf("--from: %w", err), "a file can be a snapshot (certrot snapshot -o FILE), a must-gather (directory or tar), Kubernetes objects as YAML or JSON, PEM, DER or a kubeconfig")
		}
		parts = append(parts, s)
	}
	s := inspect.Merge(parts...)
	s.Sort()
	return s, nil
}
