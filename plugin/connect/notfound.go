package connect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// notFound is the error about an object that was asked for by name, of which the files hold nothing although
// all of its kind were read: a name that is written wrongly is not unknown. there are names by plural.
func (r Reading) notFound(s *inspect.Snapshot, n collect.Named, there map[string]map[string]bool) error {
	kind := n.Resources[0]
	switch {
	case kind.Kind == pki.KindFile:
		return NoNode(s, n.Name, r.Hints())
	case slices.ContainsFunc(n.Resources, func(k collect.Resource) bool { return !r.wholly(s, k) }):
		return nil
	}
	of, in := "", ""
	if ns := r.Scope.Namespace; ns != "" {
		of, in = fmt.Sprintf(" in namespace %q", ns), foreign.Command("", " -n %s", ns)
	}
	names := namesIn(n.Resources, there)
	meant := cli.DidYouMean(n.Name, names)
	if len(names) == 0 && r.Scope.Namespace != "" { // it has none, and is mistyped itself
		var spaces []string
		for _, b := range s.Bundles {
			if b.At.Namespace != "" {
				spaces = append(spaces, foreign.Name(b.At.Namespace))
			}
		}
		in, meant = "", strings.Replace(cli.DidYouMean(r.Scope.Namespace, slices.Compact(slices.Sorted(slices.Values(spaces)))), "mean ", "mean -n ", 1)
	}
	err := fmt.Errorf("%s %q not found: the file has no certificate of it%s%s", kind.Plural, n.Name, of, meant)
	return cli.WithHint(err, "%s", r.Hints().Next("{} inspect "+kind.Plural)+" --all"+in+r.Hints().From())
}

// wholly reports whether all objects of a kind that the scope has were read.
func (r Reading) wholly(s *inspect.Snapshot, k collect.Resource) bool {
	f := inspect.Facts{Snapshot: *s}
	return f.ReadAll(k.Plural) || k.Namespaced && r.Scope.Namespace != "" && f.Absent(catalog.Ref{Kind: string(k.Kind), Namespace: r.Scope.Namespace})
}

// namesIn are the names of these kinds, as they may be suggested.
func namesIn(kinds []collect.Resource, there map[string]map[string]bool) (names []string) {
	for _, k := range kinds {
		for _, name := range slices.Sorted(maps.Keys(there[k.Plural])) {
			names = append(names, foreign.Name(name))
		}
	}
	return names
}

// NoNode is the error about a node that is not in a file, whose list of nodes was read; nil: there is such a node, or
// it is unknown.
func NoNode(s *inspect.Snapshot, name string, hints inspect.Hints) error {
	read := slices.ContainsFunc(s.Reads, func(d inspect.Read) bool { return d.What == "nodes" && !d.Skipped })
	unread := slices.ContainsFunc(s.Gaps, func(g inspect.Gap) bool {
		return g.What == "nodes" || g.What == "node/"+name
	})
	var names []string
	for _, n := range s.AllNodes() {
		if n.Name == name {
			return nil
		}
		names = append(names, foreign.Name(n.Name))
	}
	if !read || unread {
		return nil
	}
	return cli.WithHint(fmt.Errorf("nodes %q not found in the file%s", name, cli.DidYouMean(name, names)), "%s", hints.Next("{} inspect nodes")+hints.From())
}
