package fixapiintcmd

import (
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// NewPretrustCommand is the command pretrust.
func NewPretrustCommand(app cli.App, config *cli.ConfigFlags) *cobra.Command {
	f := &fixFlags{repairFlags: newRepairFlags(app, config), pretrust: true}
	cmd := &cobra.Command{
		Use:   "pretrust",
		Short: "Give kubelets the new CA of api-int before anything is signed by it",
		Long: strings.ReplaceAll(`Where the signer of api-int was replaced, its new CA is in the ConfigMap openshift-kube-apiserver-operator/loadbalancer-serving-ca days before it signs the first certificate. Up to 4.15 nothing brings that CA to the kubelets, and once the certificate is signed, each kubelet fails at its next reconnect. This brings it to all nodes while every way there still works: then no kubelet fails.

It makes the plan of {} fix-api-int, with the same checks, waves, diffs, backups and undo, and only in that time: where a served certificate is signed by the new CA already, or this version brings that CA by itself, it refuses and says what helps. {} verify api-int says when it is time.

Exit codes: 0 done, or already up to date; 1 a dry run would change something; 2 usage or no access; 3 done, and whether a node reports again is unknown, or nodes could not be read; 4 a write failed, or was stopped or undone; 5 refused, or not confirmed.`, "{}", app.ProgramName),
		Example: templates.Examples(strings.ReplaceAll(`  # What would be done, and until when there is time
  {} pretrust --via ssh --dry-run=client

  # Do it, a tenth of the workers at once
  {} pretrust --via ssh --max-unavailable 10%`, "{}", app.ProgramName)),
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			apply.FromIsDryRun(cmd, f.from, &f.DryRun)
			o, err := f.toOptions(cmd.Context())
			if err != nil {
				return err
			}
			o.lines = linesOf(cmd)
			return o.run(cmd.Context())
		},
	}
	f.AddFlags(cmd, "Nodes, by name; one after another, in this order. Without it, or with all: all nodes, in waves.", connect.AllNodes)
	cmd.Flags().StringArrayVar(&f.from, "from", nil, "Make the plan from this snapshot, as a dry run; repeatable.")
	addApproveFlag(cmd, &f.approve)
	f.addFlags(cmd)
	ui.Must(cmd.MarkFlagFilename("from"))
	return cmd
}
