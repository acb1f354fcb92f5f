package connect

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// completionTimeout bounds what completion may ask of a cluster that may be
// down: no answer then is no suggestion.
const completionTimeout = 2 * time.Second

// CompleteArgs suggests kinds for inspect's first argument, after a comma too, and names of
// their objects behind that or a slash; for HOST:PORT, the API server's of the kubeconfig.
func CompleteArgs(config *cli.ConfigFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) > 0 && strings.Contains(args[0], ":"):
			return completeServers(config, args, toComplete), cobra.ShellCompDirectiveNoFileComp
		case len(args) > 0 || strings.Contains(toComplete, "/"):
			return naming{cmd, config}.completeObjects(args, toComplete), cobra.ShellCompDirectiveNoFileComp
		}
		kinds := completeKinds(toComplete)
		if from := cmd.Flags().Lookup("from"); from != nil && from.Changed {
			return kinds, cobra.ShellCompDirectiveNoFileComp // of a file, no server is asked
		}
		return append(kinds, completeServers(config, nil, toComplete)...), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeServers suggests the address of the API server in the kubeconfig. Nothing is asked over the
// network.
func completeServers(config *cli.ConfigFlags, used []string, toComplete string) []string {
	rest, err := config.ToRESTConfig()
	if err != nil {
		return nil
	}
	address, _, err := inspect.KubeconfigCluster{Server: rest.Host}.Dialled()
	if err != nil || !strings.HasPrefix(address, toComplete) || slices.Contains(used, address) {
		return nil
	}
	return words([]string{address})
}

// completeNodes suggests values for --nodes, after a comma too: names, and first
// the words that may stand for all of them.
func completeNodes(config *cli.ConfigFlags, words ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		done, words := "", slices.Clone(words)
		if i := strings.LastIndexByte(toComplete, ','); i >= 0 {
			done, words = toComplete[:i+1], nil
		}
		var out []string
		for _, n := range Without(append(words, naming{cmd, config}.nodes()...), strings.Split(done, ",")) {
			out = append(out, done+n)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// Without is a list without some of its words.
func Without(names, used []string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return slices.Contains(used, n) })
}

// KindWords are the kinds that are read, as they are completed.
func KindWords() []string {
	words := []string{"webhooks", collect.NodeFiles().Plural}
	for _, r := range collect.Resources() {
		words = append(words, r.Plural)
	}
	slices.Sort(words)
	return words
}

func completeKinds(toComplete string) []string {
	done, last := "", toComplete
	if i := strings.LastIndexByte(toComplete, ','); i >= 0 {
		done, last = toComplete[:i+1], toComplete[i+1:]
	}
	var out []string
	for _, w := range KindWords() {
		if strings.HasPrefix(w, last) && !slices.Contains(strings.Split(done, ","), w) {
			out = append(out, done+w)
		}
	}
	return out
}

// CompleteConfigFlags suggests values for the flags that every command has.
func CompleteConfigFlags(root *cobra.Command, config *cli.ConfigFlags) {
	raw := func(pick func() []string) cobra.CompletionFunc {
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return pick(), cobra.ShellCompDirectiveNoFileComp
		}
	}
	for flag, pick := range map[string]func() []string{
		"context": func() []string { return kubeconfigNames(config, "context") },
		"cluster": func() []string { return kubeconfigNames(config, "cluster") },
		"user":    func() []string { return kubeconfigNames(config, "user") },
	} {
		ui.Must(root.RegisterFlagCompletionFunc(flag, raw(pick)))
	}
	ui.Must(root.RegisterFlagCompletionFunc("namespace", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return naming{cmd, config}.namespaces(), cobra.ShellCompDirectiveNoFileComp
	}))
}

func kubeconfigNames(config *cli.ConfigFlags, what string) []string {
	c, err := config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil
	}
	var names []string
	switch what {
	case "context":
		for n := range c.Contexts {
			names = append(names, n)
		}
	case "cluster":
		for n := range c.Clusters {
			names = append(names, n)
		}
	case "user":
		for n := range c.AuthInfos {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return words(names)
}

// words are those names that a shell reads as they stand. Shells insert suggestions into the
// command line, and evaluate that line for the next one: an API server chooses the names.
func words(names []string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return !foreign.Word(n) })
}

func namespaces(config *cli.ConfigFlags) []string {
	var names []string
	ask(config, func(ctx context.Context, c *collect.Cluster) { names, _ = c.Namespaces(ctx) })
	return words(names)
}

// nodeNames suggests names of nodes.
func nodeNames(config *cli.ConfigFlags) []string {
	var names []string
	ask(config, func(ctx context.Context, c *collect.Cluster) {
		nodes, _ := c.NodeObjects(ctx, nil) // no answer is no suggestion
		names = nodeNamesOf(nodes)
	})
	return words(names)
}

func nodeNamesOf(nodes []collect.NodeObject) (names []string) {
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	return names
}

// ask asks the cluster, if there is one that answers in time.
func ask(config *cli.ConfigFlags, what func(context.Context, *collect.Cluster)) {
	rest, err := config.ToRESTConfig()
	if err != nil {
		return
	}
	rest.Timeout = completionTimeout
	client, err := collect.NewREST(rest)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	namespace, _, err := config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return
	}
	what(ctx, &collect.Cluster{REST: client, Namespace: namespace})
}
