package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroup is the annotation of a flag that names its group in the help text.
const flagGroup = "certrot_group"

// NodeOptions is the group of flags that say which nodes, and how to get onto them.
const NodeOptions = "Options for nodes"

// NoCluster annotates commands that ask no cluster: global options mean nothing to them.
const NoCluster = "certrot_no_cluster"

// InGroup puts the flags that add adds into a group of the help text.
func InGroup(cmd *cobra.Command, group string, add func()) {
	before := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { before[f.Name] = true })
	add()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !before[f.Name] && len(f.Annotations[flagGroup]) == 0 {
			_ = cmd.Flags().SetAnnotation(f.Name, flagGroup, []string{group}) // the flag is there
		}
	})
}

// GroupOf is the group of a flag; empty: the command's own options.
func GroupOf(f *pflag.Flag) string {
	if groups := f.Annotations[flagGroup]; len(groups) > 0 {
		return groups[0]
	}
	return ""
}
