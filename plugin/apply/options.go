package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// Flags are those of all commands that change nodes, as they were typed.
type Flags struct {
	App    cli.App
	Config *cli.ConfigFlags
	Nodes  connect.NodeFlags
	DryRun string
	Yes    bool
	Output string
	// AllByDefault: where no node is named, all are meant.
	AllByDefault bool
	BringsCA     bool // with --api-ca-from and --ca-file
}

// Options is what Flags come to: what a change of nodes needs.
type Options struct {
	App          cli.App
	Config       *cli.ConfigFlags
	Nodes        connect.NodeChoice
	DryRun       bool
	Yes          bool
	Output       string // diff, json or yaml; empty: for people
	AllByDefault bool
	BringsCA     bool // with --api-ca-from and --ca-file
	// Purpose is what the API server is asked for.
	Purpose connect.Purpose
	// trustedCAs are CAs, PEM, by which the API server is trusted where its kubeconfig names
	// none, and this machine's own do not verify it; nil: there are none.
	trustedCAs     []byte
	dropTrustedCAs func() // leaves them out again
}

// Values of --dry-run.
const (
	DryRunNone   = "none"
	DryRunClient = "client"
	DryRunServer = "server"
)

// AddDryRunFlag adds --dry-run, with these values besides none. Without a value it is client for
// each command: nothing is sent anywhere.
func AddDryRunFlag(cmd *cobra.Command, value *string, usage string, values ...string) {
	cmd.Flags().StringVar(value, "dry-run", DryRunNone, usage)
	cmd.Flags().Lookup("dry-run").NoOptDefVal = DryRunClient
	ui.Must(cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions(append([]string{DryRunNone}, values...), cobra.ShellCompDirectiveNoFileComp)))
}

// CheckDryRun refuses a value of --dry-run that a command does not have: AddDryRunFlag's.
func CheckDryRun(value string, values ...string) error {
	if all := append([]string{DryRunNone}, values...); !slices.Contains(all, value) {
		return ui.Invalid("--dry-run", value, all...)
	}
	return nil
}

// AddRiskFlag adds --accept-risk, with these names. usage is without them.
func AddRiskFlag(cmd *cobra.Command, risks *[]string, usage string, names []string) {
	cmd.Flags().StringSliceVar(risks, "accept-risk", nil, usage+": "+strings.Join(names, ", ")+".")
	ui.Must(cmd.RegisterFlagCompletionFunc("accept-risk", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)))
}

// CheckRisks refuses a name of --accept-risk that a command does not have: AddRiskFlag's.
func CheckRisks(risks, names []string) error {
	for _, risk := range risks {
		if !slices.Contains(names, risk) {
			return ui.Invalid("--accept-risk", risk, names...)
		}
	}
	return nil
}

// FromIsDryRun has --from alone mean --dry-run=client: nothing can be changed by a file that was
// read. What was typed stays.
func FromIsDryRun(cmd *cobra.Command, from []string, value *string) {
	if len(from) > 0 && !cmd.Flags().Changed("dry-run") {
		*value = DryRunClient
	}
}

// AddFlags adds the flags of commands that change something.
func (f *Flags) AddFlags(cmd *cobra.Command, nodes string, words ...string) {
	f.Nodes.Parallel = 10
	f.Nodes.AddWays(cmd, f.Config, nodes,
		"Change the machine that this runs on, and no other; as root.", words...)
	flags := cmd.Flags()
	AddDryRunFlag(cmd, &f.DryRun, `"client", or no value, prints the plan and changes nothing; exit code 1 if the plan has changes.`, DryRunClient)
	flags.BoolVarP(&f.Yes, "yes", "y", false, "Apply the plan without asking.")
	flags.StringVarP(&f.Output, "output", "o", "", "Form of the plan: for people by default; diff (unified, or by KUBECTL_EXTERNAL_DIFF; keys and tokens as x), json, yaml.")
	ui.Must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"diff", "json", "yaml"}, cobra.ShellCompDirectiveNoFileComp)))
}

// Check refuses flags that do not go together.
func (f *Flags) Check() error {
	if f.DryRun == DryRunServer {
		return errors.New("--dry-run=server: files on nodes have no server that could try it; use --dry-run=client")
	}
	if err := CheckDryRun(f.DryRun, DryRunClient); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "diff", "json", "yaml"}, f.Output) {
		return ui.Invalid("--output", f.Output, "diff", "json", "yaml")
	}
	return f.checkNames()
}

// checkNames refuses what is no list of nodes to change.
func (f *Flags) checkNames() error {
	if f.AllByDefault && slices.Equal(f.Nodes.Nodes, []string{connect.AllNodes}) {
		return nil
	}
	for _, n := range f.Nodes.Nodes {
		if n == connect.AllNodes || n == connect.NoNodes {
			return fmt.Errorf("--nodes %s: name the nodes that are to be changed, one after another in that order", n)
		}
	}
	return nil
}

// ToOptions checks the flags. purpose is what the API server is asked for.
func (f *Flags) ToOptions(ctx context.Context, purpose connect.Purpose) (Options, error) {
	if err := f.Check(); err != nil {
		return Options{}, err
	}
	c, err := f.choice(ctx)
	return Options{App: f.App, Config: f.Config, Nodes: c, DryRun: f.DryRun == DryRunClient, Yes: f.Yes, Output: f.Output, AllByDefault: f.AllByDefault, Purpose: purpose}, err
}

// choice says which nodes, and how to get there.
func (f *Flags) choice(ctx context.Context) (connect.NodeChoice, error) {
	c, err := f.Nodes.ToChoice(ctx, f.App, collect.Scope{Resources: []collect.Resource{collect.NodeFiles()}})
	if err == nil && f.Nodes.Via == connect.ViaAuto && !c.Local {
		c.WithoutKubeletFirst()
	}
	return c, err
}

// Trust has the API server trusted by CAs, PEM, too; nil: none were given.
func (o *Options) Trust(pem []byte) {
	if pem != nil {
		o.trustedCAs, o.dropTrustedCAs = pem, connect.Trusting(o.Config, pem)
	}
}
