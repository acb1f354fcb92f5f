package plugin

import (
	"context"
	"errors"
	"fmt"

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
}

// cluster reads the live cluster.
func (r reading) cluster(ctx context.Context) (inspect.Snapshot, error) {
	sc := pki.NewScanner()
	c, err := connect(ctx, r.app, r.config, sc)
	if err != nil {
		return inspect.Snapshot{}, err
	}
	if ns := r.scope.Namespace; ns != "" {
		if !c.cluster.HasNamespace(ctx, ns) {
			return inspect.Snapshot{}, withHint(fmt.Errorf("namespace %q: there is none on %s", ns, c.server), "kubectl get namespaces")
		}
	}
	c.cluster.Scope = r.scope
	p := startProgress(r.app.Streams.ErrOut)
	c.cluster.Observe = p.observe
	sources := []collect.Source{c.cluster.Identity(c.server, c.context)}
	if len(r.scope.Resources) == 0 {
		sources = append(sources, collect.Kubeconfig(sc, c.config, c.context))
	}
	snapshot := collect.All(ctx, append(sources, c.cluster.Sources()...)...)
	p.stop()
	snapshot.Taken = collect.Taken()
	return snapshot, nil
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
			return s, withHint(fmt.Errorf("--from: %w", err), "a file can be a snapshot (certrot snapshot -o FILE), Kubernetes objects as YAML or JSON, PEM, DER or a kubeconfig")
		}
		parts = append(parts, s)
	}
	s := inspect.Merge(parts...)
	s.Sort()
	return s, nil
}
