package plugin

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

func newVersionCommand(app cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of certrot",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(app.Streams.Out, "certrot %s (%s, %s/%s)\n", app.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
