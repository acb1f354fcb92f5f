package plugin

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// optionGroup is a part of the global options.
type optionGroup struct {
	title string
	flags []string
}

// globalOptions are kubectl's flags by what they are about. One that is in no group is listed last.
func globalOptions() []optionGroup {
	return []optionGroup{
		{"Kubeconfig", []string{"kubeconfig", "context", "cluster", "user", "namespace"}},
		{"API server", []string{"server", "certificate-authority", "tls-server-name", "insecure-skip-tls-verify", "proxy-url", "request-timeout", "disable-compression", "cache-dir"}},
		{"Credentials", []string{"token", "client-certificate", "client-key"}},
		{"Impersonation", []string{"as", "as-group", "as-uid", "as-user-extra"}},
		{"Output", []string{"color"}},
	}
}

// newOptionsCommand lists what applies to all commands, as kubectl options does.
func newOptionsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "options", Short: "List the global options, which apply to all commands that ask a cluster", Args: cli.NoArgs,
		Annotations: map[string]string{cli.NoCluster: ""},
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, columns := &strings.Builder{}, ui.Columns(cmd.OutOrStdout())
			left := flagSet(cmd.Root().PersistentFlags(), func(*pflag.Flag) bool { return true })
			for _, g := range globalOptions() {
				ui.Printf(out, "%s:\n%s\n", g.title, flagSet(left, func(f *pflag.Flag) bool { return slices.Contains(g.flags, f.Name) }).FlagUsagesWrapped(columns))
				left = flagSet(left, func(f *pflag.Flag) bool { return !slices.Contains(g.flags, f.Name) })
			}
			if left.HasAvailableFlags() {
				ui.Printf(out, "Others:\n%s\n", left.FlagUsagesWrapped(columns))
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSpace(out.String()))
			return err
		},
	}
}

func flagSet(from *pflag.FlagSet, want func(*pflag.Flag) bool) *pflag.FlagSet {
	out := pflag.NewFlagSet("", pflag.ContinueOnError)
	from.VisitAll(func(f *pflag.Flag) {
		if want(f) {
			out.AddFlag(f)
		}
	})
	return out
}

// The groups of commands in the root's help.
const (
	groupLook   = "look"
	groupRepair = "repair"
	groupOther  = "other"
)

func commandGroups() []*cobra.Group {
	return []*cobra.Group{{ID: groupLook, Title: "Look:"}, {ID: groupRepair, Title: "Repair:"}, {ID: groupOther, Title: "Other:"}}
}

// inGroup puts commands into a group.
func inGroup(id string, commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		c.GroupID = id
	}
	return commands
}

// printHelp prints what a command is for, and what it takes. What is quoted and examples are not
// broken.
func printHelp(cmd *cobra.Command, _ []string) {
	w := ui.NewPage(cmd.OutOrStdout())
	for line := range strings.SplitSeq(strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)), "\n") {
		ui.Hang(w, line, len(line)-len(strings.TrimLeft(line, " ")))
	}
	ui.Printf(w, "\n")
	usage(w, cmd)
	_, _ = io.WriteString(cmd.OutOrStdout(), w.String()) // cobra's help has no error either
}

// printUsage prints what a command takes, in groups. What applies to all commands is left to
// options, as with kubectl.
func printUsage(cmd *cobra.Command) error {
	w := ui.NewPage(cmd.OutOrStderr())
	usage(w, cmd)
	_, err := io.WriteString(cmd.OutOrStderr(), w.String())
	return err
}

func usage(w *ui.Page, cmd *cobra.Command) {
	ui.Printf(w, "Usage:\n")
	if cmd.Runnable() {
		ui.Hang(w, "  "+cmd.UseLine(), 4)
	}
	if cmd.HasAvailableSubCommands() {
		ui.Printf(w, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		ui.Printf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	printCommands(w, cmd)
	global := cmd.Root().PersistentFlags()
	local := flagSet(cmd.LocalFlags(), func(f *pflag.Flag) bool { return global.Lookup(f.Name) == nil })
	if local.Lookup("all-namespaces") != nil {
		local.AddFlag(global.Lookup("namespace"))
	}
	for _, group := range []string{"", cli.NodeOptions} {
		if flags := flagSet(local, func(f *pflag.Flag) bool { return cli.GroupOf(f) == group }); flags.HasAvailableFlags() {
			title := "Options"
			if group != "" {
				title = group
			}
			ui.Printf(w, "\n%s:\n%s", title, flags.FlagUsagesWrapped(w.Columns()))
		}
	}
	ui.Printf(w, "\n")
	if cmd.HasAvailableSubCommands() {
		ui.Hang(w, fmt.Sprintf("Use \"%s [command] --help\" for more information about a command.", cmd.CommandPath()), 0)
	}
	if _, none := cmd.Annotations[cli.NoCluster]; !none {
		ui.Hang(w, fmt.Sprintf("Use \"%s options\" for the global options: kubeconfig, API server, credentials.", cmd.Root().CommandPath()), 0)
	}
}

// printCommands prints the commands below one, in their groups.
func printCommands(w io.Writer, cmd *cobra.Command) {
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, g := range groups {
		lines := ui.NewPage(w)
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && (c.IsAvailableCommand() || c.Name() == "help") {
				lead := fmt.Sprintf("  %-*s ", c.NamePadding(), c.Name())
				ui.Hang(lines, lead+c.Short, len(lead))
			}
		}
		if lines.Len() > 0 {
			ui.Printf(w, "\n%s\n%s", g.Title, lines)
		}
	}
}
