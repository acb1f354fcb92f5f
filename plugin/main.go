package plugin

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/fixapiintcmd"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/fixkubeconfigcmd"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/inspectcmd"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/rotatecmd"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/snapshotcmd"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/undocmd"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/verifycmd"
)

// Main runs the plugin and returns its exit code. args[0] is the program's
// name, as in os.Args.
func Main(ctx context.Context, version string, args []string, streams genericiooptions.IOStreams) int {
	return MainAt(ctx, nil, version, args, streams)
}

// MainAt is Main by another clock: files are as old as it says.
func MainAt(ctx context.Context, now func() time.Time, version string, args []string, streams genericiooptions.IOStreams) int {
	called := cli.CalledAs(args[0], os.Getenv("_"))
	streams.Out, streams.ErrOut = ui.NewScreen(streams.Out), ui.NewScreen(streams.ErrOut)
	ui.CallAs(streams.Out, called)
	ui.CallAs(streams.ErrOut, called)
	connection := &cli.Connection{}
	cmd := NewCommand(cli.App{Version: version, ProgramName: called, Streams: streams, Now: now, Connection: connection})
	cmd.SetArgs(inspectcmd.WithoutMarks(args[1:]))
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error { // of a mistyped command, no flag is known
		if unknown := cli.UnknownCommand(cmd, args[1:]); unknown != nil {
			return unknown
		}
		return cli.FlagError(c, err)
	})
	guard := newMemoryGuard()
	ui.OnAnswer(streams.Out, guard.answer)
	err := guard.run(ctx, cmd)
	silent := cli.Silent(err)
	if unwritten := ui.Failed(streams.Out); unwritten != nil && silent { // help and some screens look at no error
		err, silent = unwritten, false
	}
	if !silent {
		cli.PrintError(streams, err)
	}
	connection.PrintFlags(streams)
	return cli.CodeOf(err)
}

// emptyFlag is the error for a flag that is given and empty, as from a variable of a script
// that is not set: taken as not given, --nodes "$NODE" means all nodes. kubectl takes an empty
// selector, output and flags of its own.
func emptyFlag(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if value := flag.Value.String(); value != "" && value != "[]" || cmd.InheritedFlags().Lookup(flag.Name) != nil {
			return
		}
		if !slices.Contains([]string{"output", "selector", "field-selector", "node-selector"}, flag.Name) {
			err = cli.WithHint(fmt.Errorf("--%s is empty: give it a value, or leave it out", flag.Name), "%s --help", cmd.CommandPath())
		}
	})
	return err
}

// helpCommand prints what --help does. Completion offers it even where it is hidden,
// so it has the name that people try.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help for a command", Hidden: true, GroupID: groupOther,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				suggestion := ""
				if len(rest) > 0 {
					suggestion = cli.DidYouMean(rest[0], cli.SubCommands(about))
				}
				return cli.WithHint(fmt.Errorf("help: there is no command %q%s", strings.Join(args, " "), suggestion), "%s --help", cmd.Root().CommandPath())
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if about, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				names = cli.SubCommands(about)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// withoutFrom has commands say why they take no --from, where those beside them do.
func withoutFrom(root *cobra.Command) {
	for name, why := range map[string]string{
		"runs": "it lists runs on this machine", "undo": "it puts back a run of this machine", "fix-kubeconfig": "it changes kubeconfigs on this machine",
	} {
		cmd, _, err := root.Find([]string{name})
		ui.Must(err)
		if cmd.Annotations == nil {
			cmd.Annotations = map[string]string{}
		}
		cmd.Annotations[cli.NoFrom] = why
	}
}

// NewCommand returns the whole command tree.
func NewCommand(app cli.App) *cobra.Command {
	config := &cli.ConfigFlags{}
	if app.Connection == nil {
		app.Connection = &cli.Connection{}
	}
	root := &cobra.Command{
		Use:   "kubectl-certrot",
		Short: "Inspect and repair the certificates of OpenShift, OKD and Kubernetes clusters",
		Long: `certrot finds every certificate and CA bundle of a cluster, says which of them are in trouble, and what to do about it.

It reads OpenShift, OKD and plain Kubernetes, live or from files, and never prints or stores a private key or a token.

Begin with inspect: it prints the next command for each problem.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: app.ProgramName},
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cli.NoArgs,
	}
	root.SetIn(app.Streams.In)
	root.SetOut(app.Streams.Out)
	root.SetErr(app.Streams.ErrOut)
	root.SetFlagErrorFunc(cli.FlagError)
	// Not cobra's: that takes text/template, with which the linker keeps each exported method of all types.
	version := root.Flags().Bool("version", false, "Print the version, and nothing else.") // -v is kubectl's for logs
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if !*version {
			return cmd.Help()
		}
		_, err := fmt.Fprintln(app.Streams.Out, "certrot", app.Version)
		return err
	}
	color := root.PersistentFlags().String("color", "auto", "Colours in lines for people: "+strings.Join(ui.Colors(), ", ")+". auto: on a terminal, unless NO_COLOR is set.")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		app.Connection.Begin(cmd)
		for _, w := range []io.Writer{app.Streams.Out, app.Streams.ErrOut} {
			if err := ui.SetColor(w, *color); err != nil {
				return err
			}
		}
		if d, err := cli.ParseDuration(config.Timeout); err == nil { // client-go knows hours at most, and numbers as seconds
			config.Timeout = d.String()
		}
		return emptyFlag(cmd)
	}
	config.AddFlags(root.PersistentFlags())
	app.Connection.Typed = root.PersistentFlags()
	ui.Must(root.RegisterFlagCompletionFunc("color", cobra.FixedCompletions(ui.Colors(), cobra.ShellCompDirectiveNoFileComp)))
	root.SetUsageFunc(printUsage)
	root.SetHelpFunc(printHelp)
	root.AddGroup(commandGroups()...)
	root.AddCommand(inGroup(groupLook,
		inspectcmd.NewCommand(app, config),
		verifycmd.NewCommand(app, config),
		inspectcmd.NewExplainCommand(app, rotatecmd.Whys(), verifycmd.ToldOf),
		snapshotcmd.NewCommand(app, config),
	)...)
	root.AddCommand(inGroup(groupRepair,
		fixapiintcmd.NewCommand(app, config),
		fixapiintcmd.NewPretrustCommand(app, config),
		fixkubeconfigcmd.NewCommand(app, config),
		rotatecmd.NewCommand(app, config),
		undocmd.NewCommand(app, config),
		undocmd.NewRunsCommand(app, config),
	)...)
	withoutFrom(root)
	root.AddCommand(inGroup(groupOther, newOptionsCommand(), newVersionCommand(app))...)
	root.SetCompletionCommandGroupID(groupOther)
	root.SetHelpCommand(helpCommand())
	root.InitDefaultCompletionCmd(root.Commands()[0].Name())
	if completion, _, err := root.Find([]string{"completion"}); err == nil { // cobra's prints its help for a shell that there is not
		completion.Args = cli.NoArgs
		completion.Annotations = map[string]string{cli.NoCluster: ""}
		completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	connect.CompleteConfigFlags(root, config)
	return root
}
