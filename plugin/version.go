package plugin

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// versionDocument is what version prints as JSON and YAML.
type versionDocument struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Version    string `json:"version"`
	GoVersion  string `json:"goVersion"`
	Platform   string `json:"platform"`
}

func newVersionCommand(app cli.App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of certrot",
		Args:  cli.NoArgs,

		Annotations: map[string]string{cli.NoCluster: ""},
		RunE: func(*cobra.Command, []string) error {
			d := versionDocument{APIVersion: report.APIVersion, Kind: "Version", Version: app.Version, GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
			switch output {
			case "":
				_, err := fmt.Fprintf(app.Streams.Out, "certrot %s (%s, %s)\n", d.Version, d.GoVersion, d.Platform)
				return err
			case "json", "yaml":
				return ui.PrintDocument(app.Streams.Out, output, d)
			}
			return ui.Invalid("--output", output, "json", "yaml")
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "Form of the answer: json, yaml.")
	ui.Must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}
