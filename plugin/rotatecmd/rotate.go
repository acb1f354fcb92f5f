package rotatecmd

import (
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
)

// NewCommand is the command rotate.
func NewCommand(app cli.App, config *cli.ConfigFlags) *cobra.Command {
	f := &rotateFlags{readFlags: readFlags{app: app, config: config}}
	cmd := &cobra.Command{
		Use:        "rotate NAME... | --list",
		SuggestFor: []string{"renew", "replace"},
		Short:      "Have a signer rotated by its owner, and track its CA to all clients that need it",
		Long: strings.ReplaceAll(`Rotates a certificate before its time: certrot removes the annotation by which its owner, an operator of OpenShift, decides. The owner makes the new one; certrot makes no key.

NAME is a signer, such as kube-apiserver-to-kubelet-signer, or what one signs; NAMESPACE/NAME where the name alone is ambiguous; or the CN that inspect prints of its certificate. --list lists all of them, when each is rotated automatically, and whether it would be rotated now. Some are rotated in another way: then it says how.

Before anything is changed, the whole cluster is checked. Each check has a name; --accept-risk=NAME accepts that it fails or is unknown. The annotation is removed only from the Secret that was displayed, and only if it did not change since.

With --leaf, what the signer signs is rotated too: one after the other, and each only when all its clients are seen to trust the new CA. That is checked again just before each; what could not be read is not trust. Interrupted or stopped, the same command goes on from there, and makes no second signer: one that is less than 36 hours old stays.

Several NAMEs are planned together, and rotated one after the other: the next when the one before is in all bundles; then all are tracked to the end.

A rotation can't be undone: the old key is gone. Clients that trust the old CA trust it until it expires.

Exit codes: 0 done; 1 a dry run would change something, or --wait was over before it was through; 2 usage or no access; 3 done, and something that decides could not be read; 4 it failed, or its owner did not answer; 5 refused, or not confirmed.`, "{}", app.ProgramName),
		Example: templates.Examples(strings.ReplaceAll(`  # What there is, and what would be done now
  {} rotate --list

  # What would happen, as the API server sees it
  {} rotate kube-apiserver-to-kubelet-signer --dry-run=server

  # Do it, and track the new CA
  {} rotate kube-apiserver-to-kubelet-signer --wait 10m

  # Do it, and rotate what it signs once all clients trust the new CA
  {} rotate kube-apiserver-to-kubelet-signer --leaf --nodes all --wait 30m

  # How it goes in a version, from the catalog
  {} rotate kube-apiserver-to-kubelet-signer --explain --for-version 4.12

  # How far it is, at any time
  {} rotate status kube-apiserver-to-kubelet-signer --nodes all`, "{}", app.ProgramName)),
		ValidArgsFunction: completeRotated,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !f.list && !f.how {
				apply.FromIsDryRun(cmd, f.from, &f.dryRun)
			}
			if !cmd.Flags().Changed("wait") {
				f.wait = f.usualWait(len(args))
			}
			o, err := f.toOptions(cmd.Context(), args)
			if err != nil {
				return err
			}
			o.line, o.reads = apply.CommandLine(cmd), apply.ReadingFlags(cmd)
			o.again = apply.CommandLine(cmd, "dry-run", "from", "details", "output", "yes")
			return o.run(cmd.Context())
		},
	}
	f.addFlags(cmd)
	cmd.AddCommand(newRotateStatusCommand(app, config), newRotatePruneCommand(app, config))
	return cmd
}

// completeRotated suggests what is rotated in some version: that asks no cluster.
func completeRotated(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return connect.Without(catalog.RotatableNames(), args), cobra.ShellCompDirectiveNoFileComp
}
