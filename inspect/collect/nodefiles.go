package collect

import (
	"context"
	"fmt"
	"slices"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// summed replaces the Read of each node by one for all: a cluster may have
// hundreds.
func summed(s inspect.Snapshot) inspect.Snapshot {
	total := inspect.Read{What: "nodes"}
	files := 0
	rest := s.Reads[:0:0]
	for _, r := range s.Reads {
		if r.What == "files" {
			total.Objects++
			files += r.Objects
			continue
		}
		rest = append(rest, r)
	}
	if total.Objects > 0 {
		ways := map[string]int{}
		for _, n := range s.Nodes {
			if n.Via != "" {
				ways[n.Via]++
			}
		}
		total.Note = fmt.Sprintf("%d files", files)
		for _, w := range nodeexec.Ways() {
			if ways[w.Name] > 0 {
				total.Note += fmt.Sprintf("; %d via %s", ways[w.Name], w.Name)
			}
		}
		rest = append(rest, total)
	}
	s.Reads = rest
	return s
}

// Originals is the source of the objects that files on nodes are copies of, and
// of the requests of kubelets: for when nodes alone were asked for.
func Originals(c *Cluster) Source {
	return reader{"originals", whole(func(ctx context.Context) inspect.Snapshot {
		narrowed := func(namespace string, kinds ...pki.Kind) []Source {
			one := *c
			one.Scope = Scope{Namespace: namespace, Resources: slices.DeleteFunc(Resources(), func(r Resource) bool { return !slices.Contains(kinds, r.Kind) })}
			return one.Sources()
		}
		sources := narrowed("", "CertificateSigningRequest")
		for _, ns := range catalog.CopiedNamespaces() {
			sources = append(sources, narrowed(ns, "Secret", "ConfigMap")...)
		}
		s := All(ctx, sources...)
		total := inspect.Read{What: "objects to compare with"}
		for _, r := range s.Reads {
			total.Objects += r.Objects
		}
		s.Reads = []inspect.Read{total}
		return s
	})}
}
