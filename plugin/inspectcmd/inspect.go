package inspectcmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// inspectFlags is what was typed.
type inspectFlags struct {
	config *cli.ConfigFlags
	scope  scopeFlags
	certs  certFlags
	judge  judgeFlags
	output ui.OutputFlags
	nodes  connect.NodeFlags
	from   []string
	app    cli.App
}

// judgeFlags say what counts.
type judgeFlags struct {
	now          string
	failOn       string
	minSeverity  string
	allowUnknown bool
}

// inspectOptions is what a run needs.
type inspectOptions struct {
	app          cli.App
	reading      connect.Reading
	certs        certChoice
	within       time.Duration
	asked        bool      // within was asked for
	now          time.Time // zero: the time of the facts, or the clock's for a live cluster
	failOn       *assess.Severity
	minSeverity  assess.Severity
	onlyFound    bool // of objects, those that findings of minSeverity are about
	allowUnknown bool
	print        ui.Printer
}

// NewCommand is the command inspect.
func NewCommand(app cli.App, config *cli.ConfigFlags) *cobra.Command {
	f := &inspectFlags{config: config, app: app}
	cmd := &cobra.Command{
		Use:        "inspect [KIND[.VERSION.GROUP][,KIND...]] [NAME...] | KIND/NAME... | HOST:PORT...",
		SuggestFor: []string{"status", "list", "get", "show", "ls"},
		Short:      "List every certificate and CA bundle, problems first",
		Long: `Reads every key of every Secret and ConfigMap, the CA bundles of webhooks, API services and CRD conversions, certificate requests, Routes, MachineConfigs, what OpenShift's configuration names and its controllers report, your kubeconfig, and files on nodes; judges them, and lists problems first.

Without KIND everything is read. Nodes (kind nodes, or --nodes) are read in one round trip each, by the first way that leads there: this machine, a privileged pod that is there, ssh; a pod of its own only with --allow-pods. Keys and tokens stay on the node.
HOST:PORT asks a server instead: the chain that it presents to this machine, and who in the cluster trusts it. It is dialled directly, without credentials and not through a proxy; what it presents is read, not trusted. --request-timeout bounds each handshake.
With -A (the default) in all namespaces, whatever -n says; with -n only what is in that namespace. What may not be read is listed as unknown and never counts as fine.

Exit codes: 0 all fine, 1 findings at or above --fail-on, 2 usage or no access, 3 no finding but something could not be read.`,
		Example: templates.Examples(strings.ReplaceAll(`  # What is wrong, and what expires soon
  {} inspect

  # Every certificate, with names and places
  {} inspect --all -o wide

  # Secrets of one namespace, expired or expiring within 60 days
  {} inspect secrets -n openshift-ingress --expiring-within 60d

  # What lies on nodes; two of them by ssh, which works while the API is down
  {} inspect nodes
  {} inspect nodes master-0 worker-1 --via ssh

  # What a server presents, and which clients do not trust it
  {} inspect api-int.example.com:6443

  # One secret as text
  {} inspect secret/router-ca -n openshift-ingress-operator -o text

  # sha256 and expiry of every CA, for a script
  {} inspect --ca-only -o custom-columns=SHA256:.sha256,EXPIRES:.notAfter

  # Facts saved earlier, as of that time
  {} inspect --from cluster.certrot`, "{}", app.ProgramName)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if namesServers(args) {
				o, err := f.toServerOptions(cmd.Context(), args, cmd.Flags().Changed("all-namespaces"))
				if err != nil {
					return err
				}
				return o.run(cmd.Context())
			}
			o, err := f.toOptions(cmd.Context(), args, cmd.Flags())
			if err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
		ValidArgsFunction: connect.CompleteArgs(config),
	}
	f.addFlags(cmd)
	return cmd
}

func (f *inspectFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.scope.addFlags(cmd)
	f.certs.addFlags(cmd)
	flags.StringVar(&f.judge.now, "now", "", "Judge as of this time (RFC 3339, or a date in UTC) instead of now.")
	flags.StringVar(&f.judge.failOn, "fail-on", "warning", "Exit with 1 on findings of this severity or worse: info, warning, critical, none.")
	flags.StringVar(&f.judge.minSeverity, "min-severity", "", "Show findings of this severity or worse (warning for people, info for json and yaml); with -o name what they are about.")
	flags.BoolVar(&f.judge.allowUnknown, "allow-unknown", false, "Exit with 0 although something could not be read.")
	flags.StringArrayVar(&f.from, "from", nil, "Read this file instead of a cluster, - for standard input; repeatable. A snapshot, a must-gather (directory, tar, tar.gz, tar.xz), Kubernetes objects as YAML or JSON, PEM, DER, a kubeconfig.")
	f.output.AddFlags(cmd)
	f.nodes.AddFlags(cmd, f.config)
	for flag, words := range map[string][]string{"fail-on": {"info", "warning", "critical", "none"}, "min-severity": {"info", "warning", "critical"}} {
		ui.Must(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
	}
}

func (f *inspectFlags) toOptions(ctx context.Context, args []string, flags *pflag.FlagSet) (*inspectOptions, error) {
	o, err := f.toJudging(ctx, args, flags.Changed("all-namespaces"))
	if err != nil {
		return nil, err
	}
	if o.certs, err = f.certs.toChoice(); err != nil {
		return nil, err
	}
	// who chooses certificates wants to see them
	f.output.All = f.output.All || f.certs.chooses() || f.certs.sortBy != "" || len(o.reading.Scope.Names) > 0
	asked := ui.Asked{Within: o.within, Nodes: o.reading.Nodes.NodesOnly, Filter: typedFilter(flags, args), Named: len(o.reading.Scope.Names) > 0, Listed: f.judge.minSeverity != ""}
	asked.NoNodes = len(o.reading.Scope.Resources) > 0 && !o.reading.Scope.Wants(collect.NodeFiles()) && !flags.Changed("nodes")
	asked.Requests = len(o.reading.Scope.Resources) > 0 && !slices.ContainsFunc(o.reading.Scope.Resources, func(r collect.Resource) bool { return r.Kind != "CertificateSigningRequest" })
	if o.print, err = f.output.ToPrinter(ctx, o.reading.Hints(), asked); err != nil {
		return nil, err
	}
	o.minSeverity, err = f.judge.least(o.print.MinSeverity)
	o.onlyFound = f.judge.minSeverity != "" && o.print.Names
	return o, err
}

// least is the severity below which findings are not printed.
func (f judgeFlags) least(byDefault assess.Severity) (assess.Severity, error) {
	if f.minSeverity == "" {
		return byDefault, nil
	}
	least, err := assess.ParseSeverity(f.minSeverity)
	if err != nil {
		return least, ui.Invalid("--min-severity", f.minSeverity, severities()...)
	}
	return least, nil
}

// severities are their words, the mildest first.
func severities() (words []string) {
	for s := assess.Info; s <= assess.Critical; s++ {
		words = append(words, s.String())
	}
	return words
}

// toJudging is what is read and how it is judged, and not how it is printed.
func (f *inspectFlags) toJudging(ctx context.Context, args []string, allNamespacesTyped bool) (*inspectOptions, error) {
	o := &inspectOptions{
		app: f.app, reading: connect.Reading{App: f.app, Config: f.config, From: f.from},
		within: connect.DefaultWithin, allowUnknown: f.judge.allowUnknown,
	}
	var err error
	if o.reading.Scope, err = f.toScope(args, allNamespacesTyped); err != nil {
		return nil, err
	}
	if o.reading.Nodes, err = f.nodes.ToChoice(ctx, f.app, o.reading.Scope); err != nil {
		return nil, err
	}
	if err := f.nodes.CheckFrom(f.from); err != nil {
		return nil, err
	}
	if f.certs.expiringWithin != "" {
		if o.within, err = cli.ParseDuration(f.certs.expiringWithin); err != nil {
			return nil, fmt.Errorf("parse --expiring-within %q: %w", f.certs.expiringWithin, err)
		}
		o.asked = true
	}
	if f.judge.now != "" {
		if o.now, err = cli.ParseTime(f.judge.now); err != nil {
			return nil, fmt.Errorf("--now %q is %w", f.judge.now, err)
		}
	}
	if f.judge.failOn != "none" {
		s, err := assess.ParseSeverity(f.judge.failOn)
		if err != nil {
			return nil, ui.Invalid("--fail-on", f.judge.failOn, append(severities(), "none")...)
		}
		o.failOn = &s
	}
	return o, nil
}

func (o *inspectOptions) run(ctx context.Context) error {
	snapshot, err := o.reading.Read(ctx)
	if err != nil {
		return err
	}
	now := o.now
	if now.IsZero() {
		now = snapshot.Taken
	}
	facts := inspect.NewFacts(snapshot, now, o.within)
	if o.asked {
		facts = facts.ForWindow()
	}
	inv := report.NewInventory(ctx, facts, o.certs.filter(report.Filter{Place: inScope(o.reading.Scope)}, o.within, now))
	if o.certs.order != nil {
		if err := o.certs.order.Sort(inv.Certificates); err != nil {
			return fmt.Errorf("--sort-by: %w", err)
		}
	}
	verdict := cli.Verdict(&inv, o.failOn, o.allowUnknown, snapshot.Hints)
	printed := &inv
	if o.onlyFound {
		printed = inv.Found(o.minSeverity)
	}
	if err := o.print.Print(o.app.Streams.Out, printed, o.minSeverity); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if ctx.Err() != nil {
		return cli.Interrupted()
	}
	return verdict
}
