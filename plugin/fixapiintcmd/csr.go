package fixapiintcmd

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
)

// approveFlag is what to do with certificate requests of restarted kubelets.
const approveFlag = "approve-csrs"

func addApproveFlag(cmd *cobra.Command, approve *bool) {
	cmd.Flags().BoolVar(approve, approveFlag, false, "Approve certificate requests of restarted kubelets: each is printed, and approved only where requester, subject, usages, names and key are those of the node. A serving certificate's names and addresses must be known from another source than its kubelet, too: from its Machine, the address that ssh reached, or, where no Machine refers to it, its present serving certificate. The plan says which, node by node.")
}

const rebootstrapFlag = "rebootstrap"

func addRebootstrapFlag(cmd *cobra.Command, rebootstrap *bool) {
	cmd.Flags().BoolVar(rebootstrap, rebootstrapFlag, false, "Have the kubelets of the nodes named with --nodes write their kubeconfig again from the bootstrap file, whatever its shape is now; and request a client certificate, with --"+approveFlag+", where theirs has expired, is gone or is not accepted.")
}

// checkRebootstrap refuses to do to all nodes what is for one that has no heartbeat.
func (f *fixFlags) checkRebootstrap() error {
	switch {
	case !f.rebootstrap:
		return nil
	case f.scripts != "":
		return cli.WithHint(errors.New("--rebootstrap and --emit-script: a script can't ask the API server what a kubelet will join with"), "by hand:\n%s", cli.Page("fix-api-int.md"))
	case !f.Nodes.Local && (len(f.Nodes.Nodes) == 0 || f.Nodes.Nodes[0] == connect.AllNodes):
		return errors.New("--rebootstrap is for nodes that are named, one after another: --nodes NAME")
	}
	return nil
}
