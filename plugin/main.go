package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

// App is what the program is and how it was called.
type App struct {
	Version string
	Called  string // how usage lines name it, such as "kubectl certrot"
	Streams genericiooptions.IOStreams
}

// Main runs the plugin and returns its exit code. args[0] is the program's
// name, as in os.Args.
func Main(ctx context.Context, version string, args []string, streams genericiooptions.IOStreams) int {
	called := calledAs(args[0], os.Getenv("_"))
	streams.Out, streams.ErrOut = newScreen(streams.Out), newScreen(streams.ErrOut)
	cmd := NewCommand(App{Version: version, Called: called, Streams: streams})
	cmd.SetArgs(args[1:])
	err := cmd.ExecuteContext(ctx)
	var quiet *exitError
	if err != nil && !(errors.As(err, &quiet) && quiet.err == nil) {
		printError(streams, err)
	}
	return codeOf(err)
}

// printError prints an error and its next step. What nodes, certificates and files say may
// be in the error: so none of its lines begins as the program's own do, but the first. What
// of that is in a next step is on one line (pki.Foreign).
func printError(streams genericiooptions.IOStreams, err error) {
	printf(streams.ErrOut, "error: %s\n", barred(inspect.WithoutUserinfo(err.Error())))
	var h *hintError
	if errors.As(err, &h) {
		printf(streams.ErrOut, "  next: %s\n", indented(inspect.WithoutUserinfo(h.hint)))
	}
}

// warn prints an error that ends nothing, as report does: what a node or an API server says
// may be in it.
func warn(streams genericiooptions.IOStreams, what string, err error) {
	printf(streams.ErrOut, "warning: %s\n", barred(inspect.WithoutUserinfo(what+err.Error())))
}

// barred puts a bar before each further line.
func barred(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := 1; i < len(lines); i++ {
		lines[i] = "  | " + strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

// indented puts each further line of a hint below its first one, so that no line of it
// begins as a line of its own does.
func indented(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := 1; i < len(lines); i++ {
		lines[i] = "        " + strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

// calledAs is how the user calls the plugin: kubectl and oc start the same
// binary, and leave their own path in the variable _ that the shell set.
func calledAs(argv0, underscore string) string {
	base := strings.TrimSuffix(filepath.Base(argv0), ".exe")
	caller, name, found := strings.Cut(base, "-")
	if !found || (caller != "kubectl" && caller != "oc") {
		return base
	}
	if filepath.Base(underscore) == "oc" {
		caller = "oc"
	}
	return caller + " " + strings.ReplaceAll(name, "_", "-")
}

// emptyFlag is the error for a flag that is given and empty, as from a variable of a script
// that is not set: taken as not given, --nodes "$NODE" means all nodes. kubectl takes an empty
// selector, output and flags of its own.
func emptyFlag(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if value := flag.Value.String(); value != "" && value != "[]" || cmd.InheritedFlags().Lookup(flag.Name) != nil {
			return
		}
		if !slices.Contains([]string{"output", "selector", "node-selector"}, flag.Name) {
			err = withHint(fmt.Errorf("--%s is empty: give it a value, or leave it out", flag.Name), "%s --help", cmd.CommandPath())
		}
	})
	return err
}

// helpCommand prints what --help does. Completion offers it even where it is hidden,
// so it has the name that people try.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help for a command", Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return withHint(fmt.Errorf("help: there is no command %q", strings.Join(args, " ")), "%s --help", cmd.Root().CommandPath())
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if about, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, c := range about.Commands() {
					if c.IsAvailableCommand() {
						names = append(names, c.Name())
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// NewCommand returns the whole command tree.
func NewCommand(app App) *cobra.Command {
	config := genericclioptions.NewConfigFlags(true)
	root := &cobra.Command{
		Use:   "kubectl-certrot",
		Short: "Inspect and repair the certificates of OpenShift, OKD and Kubernetes clusters",
		Long: `certrot finds every certificate and CA bundle of a cluster, says which of them are in trouble, and what to do about it.

It reads OpenShift, OKD and plain Kubernetes, live or from files, and never shows or stores a private key or a token.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: app.Called},
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(app.Streams.In)
	root.SetOut(app.Streams.Out)
	root.SetErr(app.Streams.ErrOut)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return withHint(err, "%s --help", cmd.CommandPath())
	})
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return emptyFlag(cmd) }
	config.AddFlags(root.PersistentFlags())
	root.AddCommand(
		newInspectCommand(app, config),
		newVerifyCommand(app, config),
		newSnapshotCommand(app, config),
		newFixAPIIntCommand(app, config),
		newPretrustCommand(app, config),
		newFixKubeconfigCommand(app, config),
		newRotateCommand(app, config),
		newUndoCommand(app, config),
		newRunsCommand(app, config),
		newExplainCommand(app),
		newVersionCommand(app),
	)
	root.SetHelpCommand(helpCommand())
	root.InitDefaultCompletionCmd(root.Commands()[0].Name())
	completeConfigFlags(root, config)
	return root
}
