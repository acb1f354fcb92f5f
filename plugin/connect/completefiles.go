package connect

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// naming is where names to suggest are from: the files that --from names on the line, else the
// cluster.
type naming struct {
	cmd    *cobra.Command
	config *cli.ConfigFlags
}

// files are those of --from.
func (n naming) files() []string {
	if n.cmd.Flags().Lookup("from") == nil {
		return nil
	}
	from, err := n.cmd.Flags().GetStringArray("from")
	if err != nil {
		return nil
	}
	return from
}

// inFiles is what the files say, as far as they can be read in the time of a suggestion. A pipe
// is not read: the command that is being typed needs what is in it.
func (n naming) inFiles(from []string) inspect.Snapshot {
	for _, path := range from {
		if at, err := os.Stat(path); err != nil || !at.Mode().IsRegular() && !at.IsDir() {
			return inspect.Snapshot{}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	s, err := Reading{Config: n.config, From: from}.Read(ctx)
	if err != nil { // no answer is no suggestion
		return inspect.Snapshot{}
	}
	return s
}

// nodes are names of nodes.
func (n naming) nodes() []string {
	from := n.files()
	if len(from) == 0 {
		return nodeNames(n.config)
	}
	var names []string
	for _, node := range n.inFiles(from).Nodes {
		names = append(names, node.Name)
	}
	return words(names)
}

// namespaces are names of namespaces.
func (n naming) namespaces() []string {
	from := n.files()
	if len(from) == 0 {
		return namespaces(n.config)
	}
	var names []string
	for _, b := range n.inFiles(from).Bundles {
		if b.At.Namespace != "" {
			names = append(names, b.At.Namespace)
		}
	}
	return sorted(names)
}

// objects are names of objects of a kind, in the namespace of -n where there is one.
func (n naming) objects(kind string) []string {
	resources, err := collect.ParseResource(kind)
	if err != nil {
		return nil
	}
	if slices.ContainsFunc(resources, func(r collect.Resource) bool { return r.Kind == pki.KindFile }) {
		return n.nodes()
	}
	namespace := n.config.Context.Namespace
	var names []string
	if from := n.files(); len(from) > 0 {
		scope := collect.Scope{Resources: resources, Namespace: namespace}
		for _, b := range n.inFiles(from).Bundles {
			if b.Object != nil && scope.Has(b.At, b.Object) {
				names = append(names, b.At.Name)
			}
		}
		return sorted(names)
	}
	ask(n.config, func(ctx context.Context, c *collect.Cluster) {
		for _, r := range resources {
			found, err := c.ObjectNames(ctx, r, namespace)
			if err != nil && namespace == "" { // all may be more than the user may list
				found, _ = c.ObjectNames(ctx, r, c.Namespace) // no answer is no suggestion
			}
			names = append(names, found...)
		}
	})
	return sorted(names)
}

// sorted are names to suggest, each once.
func sorted(names []string) []string {
	slices.Sort(names)
	return words(slices.Compact(names))
}

// completeObjects suggests KIND/NAME for what was typed up to the slash, or names of the kinds
// that stand first.
func (n naming) completeObjects(args []string, toComplete string) []string {
	if kind, _, ok := strings.Cut(toComplete, "/"); ok {
		var out []string
		for _, name := range n.objects(kind) {
			out = append(out, kind+"/"+name)
		}
		return Without(out, args)
	}
	if len(args) == 0 || strings.Contains(args[0], "/") {
		return nil
	}
	var out []string
	for kind := range strings.SplitSeq(args[0], ",") {
		out = append(out, n.objects(kind)...)
	}
	return Without(sorted(out), args[1:])
}
