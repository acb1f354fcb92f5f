package inspectcmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/check"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// NewExplainCommand is the command explain.
func NewExplainCommand(app cli.App) *cobra.Command {
	e := explainer{}
	cmd := &cobra.Command{
		Use:   "explain [CHECK | EDGE | KIND/NAMESPACE/NAME | FILE]...",
		Short: "Say what a check, a trust edge or an object is about, why it matters, and what to do",
		Long:  `Explains by the names that inspect, verify, fix-api-int and rotate print: checks, trust edges, and checks before a change. Of an object or a file of a node it says what the catalog knows: who owns it, when it is renewed, which clients read it. Without a name, it lists all names. It needs no cluster.`,
		Example: templates.Examples(strings.ReplaceAll(`  # What a problem means
  {} explain rotation-overdue

  # A pair of client and server
  {} explain kubelet-api-int

  # Who owns a Secret, when it is renewed, which clients depend on it
  {} explain Secret/openshift-kube-apiserver-operator/loadbalancer-serving-signer

  # Every name, with its claim
  {} explain`, "{}", app.ProgramName)),
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{cli.NoCluster: ""},
		RunE: func(_ *cobra.Command, args []string) error {
			w := ui.NewPage(app.Streams.Out)
			if err := e.print(w, args); err != nil {
				return cli.WithHint(err, "%s explain lists all names", app.ProgramName)
			}
			_, err := fmt.Fprint(app.Streams.Out, w)
			return err
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var out []string
			for _, t := range topics() {
				if !slices.Contains(args, t.name) {
					out = append(out, cobra.CompletionWithDesc(t.name, t.claim))
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&e.noHeaders, "no-headers", false, "Leave the header line of the list out.")
	cmd.Flags().BoolVar(&e.sources, "sources", false, "Also print where it is known from: repositories, paths and commits.")
	return cmd
}

// explainer is what was asked for.
type explainer struct{ noHeaders, sources bool }

// topic is something that is explained by its name.
type topic struct {
	name, claim string
	print       func(io.Writer, explainer)
}

// topics are checks, trust edges and checks before a change, in this order.
func topics() []topic {
	var out []topic
	for _, c := range check.Checks() {
		out = append(out, topic{c.ID, c.Title, func(w io.Writer, _ explainer) {
			for _, paragraph := range strings.Split(c.Doc, "\n") {
				ui.Printf(w, "\n")
				ui.Wrap(w, "", paragraph)
			}
		}})
	}
	for _, e := range catalog.Edges() {
		out = append(out, topic{e.ID, e.Claim, func(w io.Writer, x explainer) { x.edge(w, e) }})
	}
	for _, c := range preflight.Claims() {
		out = append(out, topic{c.Name, c.Claim, func(w io.Writer, _ explainer) {
			ui.Printf(w, "\n")
			ui.Wrap(w, "", "A check before a change of fix-api-int, pretrust and undo. Where it does not pass, or is unknown, nothing is changed; docs/fix-api-int.md has what is checked, and which of them --accept-risk accepts.")
		}})
	}
	return out
}

// print explains names; without any, it lists them all.
func (e explainer) print(w io.Writer, names []string) error {
	all := topics()
	if len(names) == 0 {
		t := printers.GetNewTabWriter(w)
		if !e.noHeaders {
			ui.Printf(t, "NAME\tCLAIM\n")
		}
		for _, about := range all {
			ui.Printf(t, "%s\t%s\n", about.name, about.claim)
		}
		return t.Flush()
	}
	for i, name := range names {
		if i > 0 {
			ui.Printf(w, "\n")
		}
		if strings.Contains(name, "/") {
			if err := e.object(w, name); err != nil {
				return err
			}
			continue
		}
		n := slices.IndexFunc(all, func(t topic) bool { return t.name == strings.ToLower(name) })
		if n < 0 {
			var known []string
			for _, t := range all {
				known = append(known, t.name)
			}
			return fmt.Errorf("no check or trust edge is called %q%s", name, cli.DidYouMean(name, known))
		}
		ui.Printf(w, "%s\n", all[n].name)
		ui.Wrap(w, "Claim  ", all[n].claim)
		all[n].print(w, e)
	}
	return nil
}
