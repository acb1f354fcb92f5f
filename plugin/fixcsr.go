package plugin

import "github.com/spf13/cobra"

// approveFlag is what to do with certificate requests of restarted kubelets.
const approveFlag = "approve-csrs"

func addApproveFlag(cmd *cobra.Command, approve *bool) {
	cmd.Flags().BoolVar(approve, approveFlag, false, "Approve certificate requests of kubelets that were restarted: shown, and only where requestor, subject, usages, names and key are those of the node.")
}
