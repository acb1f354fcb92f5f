package inspectcmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/check"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// NewExplainCommand is the command explain.
func NewExplainCommand(app cli.App) *cobra.Command {
	noHeaders := false
	cmd := &cobra.Command{
		Use:   "explain [CHECK...]",
		Short: "Say what a check looks at, why it matters, and what to do",
		Long:  `Explains checks by the names that inspect prints with a problem; without a name, lists them all. It needs no cluster.`,
		Example: templates.Examples(strings.ReplaceAll(`  # What a problem means
  {} explain rotation-overdue

  # Every check, with its claim
  {} explain`, "{}", app.ProgramName)),
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{cli.NoCluster: ""},
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := explanation(args, noHeaders)
			if err != nil {
				return cli.WithHint(err, "%s explain lists all checks", app.ProgramName)
			}
			_, err = fmt.Fprint(app.Streams.Out, text)
			return err
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var out []string
			for _, c := range check.Checks() {
				if !slices.Contains(args, c.ID) {
					out = append(out, cobra.CompletionWithDesc(c.ID, c.Title))
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&noHeaders, "no-headers", false, "Leave the header line of the list of checks out.")
	return cmd
}

// explanation is the text about the checks named; without names, a table of all.
func explanation(ids []string, noHeaders bool) (string, error) {
	var out strings.Builder
	checks := check.Checks()
	if len(ids) == 0 {
		t := printers.GetNewTabWriter(&out)
		if !noHeaders {
			ui.Printf(t, "CHECK\tCLAIM\n")
		}
		for _, c := range checks {
			ui.Printf(t, "%s\t%s\n", c.ID, c.Title)
		}
		err := t.Flush()
		return out.String(), err
	}
	for i, id := range ids {
		n := slices.IndexFunc(checks, func(c check.Check) bool { return c.ID == strings.ToLower(id) })
		if n < 0 {
			return "", fmt.Errorf("no check is called %q%s", id, cli.DidYouMean(id, checkIDs(checks)))
		}
		if i > 0 {
			ui.Printf(&out, "\n")
		}
		ui.Printf(&out, "%s\n", checks[n].ID)
		ui.Wrap(&out, "Claim  ", checks[n].Title)
		for _, paragraph := range strings.Split(checks[n].Doc, "\n") {
			ui.Printf(&out, "\n")
			ui.Wrap(&out, "", paragraph)
		}
	}
	return out.String(), nil
}

func checkIDs(checks []check.Check) (ids []string) {
	for _, c := range checks {
		ids = append(ids, c.ID)
	}
	return ids
}
