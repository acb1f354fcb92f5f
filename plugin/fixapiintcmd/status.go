package fixapiintcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// statusFlags is what was typed.
type statusFlags struct {
	repairFlags
	output  string
	details bool
}

// statusOptions is what a run needs: it tells how far a repair is, whoever began it, by facts
// alone.
type statusOptions struct {
	repairOptions
	output  string // json or yaml; empty: for people
	details bool   // by wave, with all reasons
	lines   commandLines
	remark  string // is said below the command that goes on; empty: nothing
}

func newStatusCommand(app cli.App, config *cli.ConfigFlags) *cobra.Command {
	f := &statusFlags{repairFlags: newRepairFlags(app, config)}
	f.DryRun = apply.DryRunClient
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Tell how far the repair of a cluster is, and the next safe step",
		Long: `Reads the cluster and its nodes and tells for each node and wave of fix-api-int whether it is done, pending, failed or unknown, and the next safe step. It changes nothing and needs no journal: whoever takes over sees what the one before has reached.

done: its kubelet has read files that trust the certificate the API server presents, and it is Ready, with a recent heartbeat (its Lease). pending: something is to be done, and nothing is in its way. failed: everything was done to it, and it is not Ready, or sends no heartbeat. unknown: it could not be read or judged.

Exit codes: 0 all is done; 1 something is to be done; 2 usage or no access; 3 nothing more is to be done that is known, and something is unknown; 5 the repair would be refused.`,
		Example: templates.Examples(strings.ReplaceAll(`  # For who takes over at the change of shifts
  {} fix-api-int status --via ssh

  # For a program
  {} fix-api-int status --via ssh -o json`, "{}", app.ProgramName)),
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.toOptions(cmd.Context())
			if err != nil {
				return err
			}
			line := strings.Replace(apply.CommandLine(cmd, "from", "output", "details"), " status", "", 1)
			named := strings.Replace(apply.CommandLine(cmd, "from", "output", "details", "nodes", "node-selector"), " status", "", 1)
			o.lines = commandLines{resume: line, allWaves: line, applyNamed: named, details: apply.CommandLine(cmd, "output", "details") + " --details"}
			return o.run(cmd.Context())
		},
	}
	f.Nodes.Parallel = 10
	f.Nodes.AddWays(cmd, config, "Nodes to look at, by name. Without it, or with all: all nodes.",
		"Only the machine that this runs on.", connect.AllNodes)
	f.addSources(cmd)
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "Form of the answer: json, yaml.")
	cmd.Flags().BoolVar(&f.details, "details", false, "Tell each wave and each node in full.")
	ui.Must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (f *statusFlags) toOptions(ctx context.Context) (*statusOptions, error) {
	if !slices.Contains([]string{"", "json", "yaml"}, f.output) {
		return nil, ui.Invalid("--output", f.output, "json", "yaml")
	}
	repair, err := f.toRepairOptions(ctx, connect.ToRead)
	if err != nil {
		return nil, err
	}
	usual := apply.NetworkFlags{Restart: apply.RestartNeeded}
	repair.network, err = usual.ToOptions(nil, f.Nodes.Debug)
	return &statusOptions{repairOptions: repair, output: f.output, details: f.details}, err
}

func (o *statusOptions) run(ctx context.Context) error {
	if len(o.from) > 0 {
		s, fix, err := o.inFile(ctx)
		if err == nil {
			err = o.followUpInFile(s, &fix)
		}
		if err != nil {
			return err
		}
		way := wayIn(s)
		o.lines.resume, o.lines.allWaves, o.lines.applyNamed, o.remark = o.lines.resume+way, o.lines.allWaves+way, o.lines.applyNamed+way, liveRemark
		return o.tell(fix, s, nil)
	}
	given, w, err := o.session(ctx)
	if err != nil {
		return err
	}
	lease := leaseOf(ctx, w)
	fix, err := o.repair(ctx, w, given)
	var snapshot inspect.Snapshot
	if err == nil {
		snapshot = w.ReadSnapshot(ctx, gather.Options{})
		err = o.followUp(ctx, w, snapshot, &fix, nil)
	}
	if closed := w.Close(); closed != nil {
		cli.Warn(o.App.Streams, "clean up: ", closed)
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return errors.New("interrupted")
	}
	return o.tell(fix, snapshot, lease)
}

// tell judges facts as a repair would, and prints what it finds. lease is the run that
// changes the cluster; nil: none does, or it was not asked.
func (o *statusOptions) tell(fix apiint.Repair, snapshot inspect.Snapshot, lease *repairLease) error {
	fix.Order.Accept = []string{preflight.MastersFirst} // it is printed, and nothing is done
	p, err := fix.Plan(remediate.NewRun(collect.Now()), snapshot, snapshot.Taken)
	var refusal *remediate.Refusal
	if errors.As(err, &refusal) && refusal.Node != "" && fix.Nodes == nil && len(snapshot.Nodes) > 0 && refusal.Name != "node-role" {
		p, err = &remediate.Plan{Basis: snapshot, Now: snapshot.Taken, Unknown: unknownNodes(err, snapshot)}, nil
	}
	if err != nil {
		if o.output == "" {
			text := &strings.Builder{}
			lease.print(text)
			_, _ = io.WriteString(o.App.Streams.Out, ui.CleanLines(text.String()))
		}
		return apply.Refused(err)
	}
	d := o.judge(p, lease)
	if err := o.print(d); err != nil {
		return err
	}
	switch d.State {
	case standsPending, standsFailed:
		return cli.Findings(nil)
	case standsUnknown:
		return cli.Incomplete(nil)
	}
	return nil
}

// How far a node or a wave is.
const (
	standsDone    = "done"
	standsPending = "pending"
	standsFailed  = "failed"
	standsUnknown = "unknown"
)

// The document that -o json and -o yaml print; see docs/output.md.
type (
	repairDocument struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Server     string `json:"server,omitempty"`
		Version    string `json:"version,omitempty"`
		Unreviewed string `json:"unreviewed,omitempty"` // versions that run and were not reviewed
		// Unauthenticated says why another server than the API server may have answered.
		Unauthenticated string       `json:"unauthenticated,omitempty"`
		Taken           time.Time    `json:"taken"`
		State           string       `json:"state"`
		Waves           []repairWave `json:"waves"`
		Next            string       `json:"nextStep,omitempty"` // the safe one
		// PastMasters is the line that leaves out a master that is lost for good.
		PastMasters string       `json:"pastMasters,omitempty"`
		Lease       *repairLease `json:"lease,omitempty"` // absent: no run holds it
		cluster     inspect.Cluster
	}
	repairWave struct {
		Name  string       `json:"name"`
		State string       `json:"state"`
		Nodes []repairNode `json:"nodes"`
	}
	repairNode struct {
		Name      string `json:"name"` // empty: the cluster itself
		State     string `json:"state"`
		Ready     string `json:"ready,omitempty"`
		Alive     string `json:"alive,omitempty"`     // "yes", "no", "unknown", by its Lease; absent: the API was not asked
		Heartbeat string `json:"heartbeat,omitempty"` // why it is not yes
		Reason    string `json:"reason,omitempty"`
		// Remediation is what to do about it.
		Remediation assess.Remediation `json:"remediation,omitzero"`
		brief       string             // how it is, in two or three words
		due         string             // what is to be done, or why it is unknown, in few words
	}
)

// judge turns a plan into what it says of how far the repair is.
func (o *statusOptions) judge(p *remediate.Plan, lease *repairLease) repairDocument {
	d := repairDocument{APIVersion: report.APIVersion, Kind: "Repair", Server: p.Basis.Cluster.Server, Version: p.Basis.Cluster.Versions.Cluster, Unreviewed: p.Basis.Cluster.Versions.WhyUnreviewed(), Unauthenticated: p.Basis.Cluster.Unauthenticated, Taken: p.Now, Waves: []repairWave{}, cluster: p.Basis.Cluster}
	for _, w := range p.Waves {
		wave := repairWave{Name: cmp.Or(w.Name, "nodes")}
		for _, n := range w.Nodes {
			wave.Nodes = append(wave.Nodes, nodeState(p, n))
		}
		d.Waves = append(d.Waves, wave)
	}
	for _, r := range p.Unknown {
		name := remediate.WaveWorkers
		n := knownNode(p.Basis, r.Node)
		if n != nil && (n.Role == catalog.RoleMaster || n.Role == catalog.RoleArbiter) {
			name = remediate.WaveMasters
		}
		i := slices.IndexFunc(d.Waves, func(w repairWave) bool { return w.Name == name })
		if i < 0 {
			i = len(d.Waves)
			if name == remediate.WaveMasters {
				i = 0
			}
			d.Waves = slices.Insert(d.Waves, i, repairWave{Name: name})
		}
		unknown := repairNode{Name: r.Node, State: standsUnknown, due: r.Reason, Reason: r.Name + ": " + r.Reason, Remediation: assess.Advise(r.Next)}
		if n != nil {
			life := p.Basis.NodeHealth(n)
			unknown.Ready, unknown.brief = n.Ready, life.Brief()
			unknown.Alive, unknown.Heartbeat = life.Words()
		}
		d.Waves[i].Nodes = append(d.Waves[i].Nodes, unknown)
	}
	d.State, d.Lease = standsDone, lease
	for i := range d.Waves {
		w := &d.Waves[i]
		w.State = standsDone
		for _, n := range w.Nodes {
			w.State = worse(w.State, n.State)
		}
		if d.Next == "" && w.State != standsDone {
			d.Next = o.next(*w)
			if w.Name == remediate.WaveMasters && d.Next != o.lines.resume { // it is about a master
				d.PastMasters = apply.PastMasters(o.lines.allWaves, nil)
			}
		}
		d.State = worse(d.State, w.State)
	}
	if d.Next == o.lines.resume && d.Next != "" {
		d.Next = o.begin(d, p)
		o.lines.resume = d.Next
	}
	if d.Next != "" && d.Lease != nil && d.Lease.State == leaseActive {
		d.Next = "wait until that run is over, then: " + d.Next
	}
	return d
}

// worse returns what is to be said of two together.
func worse(a, b string) string {
	order := []string{standsDone, standsUnknown, standsPending, standsFailed}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// nodeState says how far a node is.
func nodeState(p *remediate.Plan, n remediate.NodePlan) repairNode {
	out := repairNode{Name: n.Name, State: standsDone}
	var life inspect.NodeHealth
	if node, ok := p.Basis.Node(n.Name); ok {
		life = p.Basis.NodeHealth(node)
		out.Ready = node.Ready
		out.Alive, out.Heartbeat = life.Words()
		out.brief = life.Brief()
	}
	if n.Changes() {
		out.due = strings.Join(apply.InFewWords(n), ", ")
	}
	var todo []string
	waits, due := true, false
	for _, s := range n.Steps {
		if s.Change == nil {
			continue
		}
		due = true
		if !remediate.Waits(s.Action) {
			waits = false
			todo = append(todo, s.Change.Summary)
		}
	}
	switch {
	case !waits:
		out.State, out.Reason = standsPending, strings.Join(todo, "; ")
	case n.Name != "" && life.Unhealthy():
		out.State, out.Reason = standsFailed, "repaired, and it "+life.WhyUnhealthy()
		if life.Alive != catalog.No {
			out.Reason = "repaired, and Ready is " + out.Ready
		}
		out.Remediation = assess.Advise(foreign.Command(inspect.NodeNames, "kubectl describe node %s; kubectl get csr; on the node: journalctl -u kubelet -n 50", n.Name))
	case due && out.Ready == "" && n.Name != "":
		out.State, out.Reason = standsUnknown, "repaired, and whether it is Ready was not read"
	case n.Name != "" && out.Ready == "True" && life.Healthy() != catalog.Yes:
		out.State, out.Reason = standsUnknown, "repaired, and whether it is alive is unknown: "+life.String()
		out.Remediation = assess.Command(inspect.NodeNames, "kubectl get lease -n kube-node-lease %s", n.Name)
	}
	return out
}

// next is the next safe step in a wave that is not done.
func (o *statusOptions) next(w repairWave) string {
	for _, state := range []string{standsFailed, standsUnknown} {
		for _, n := range w.Nodes {
			if n.State == state && (state == standsFailed || w.Name == remediate.WaveMasters || w.State == standsUnknown) {
				return n.Name + ": " + cmp.Or(n.Remediation.Text, "see why it is unknown")
			}
		}
	}
	return o.lines.resume
}

func (o *statusOptions) print(d repairDocument) error {
	out := o.App.Streams.Out
	if o.output != "" {
		return ui.PrintDocument(out, o.output, d)
	}
	if !o.details {
		w := ui.NewPage(out)
		o.summary(w, d)
		_, err := io.WriteString(out, ui.CleanLines(w.String()))
		return err
	}
	w := ui.NewPage(out)
	header := ui.HumanPrinter{}
	for _, line := range header.Head(w, report.ClusterOf(d.cluster), d.Taken, "", tallyOf(nodesOf(d))) {
		ui.Printf(w, "%s\n", line)
	}
	d.Lease.print(w)
	for _, wave := range d.Waves {
		counts := map[string]int{}
		for _, n := range wave.Nodes {
			counts[n.State]++
		}
		var parts []string
		for _, s := range []string{standsDone, standsPending, standsFailed, standsUnknown} {
			if counts[s] > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", counts[s], s))
			}
		}
		ui.Printf(w, "\n%-8s %s: %s\n", "Wave", wave.Name, strings.Join(parts, ", "))
		for _, n := range wave.Nodes {
			if n.State == standsDone {
				continue
			}
			name := cmp.Or(n.Name, apply.TheCluster)
			if n.brief != "" {
				name += " (" + n.brief + ")"
			}
			ui.Judged(w, fmt.Sprintf("  %-8s", n.State), "            ", assess.Assessment{Reason: name + ": " + n.Reason, Remediation: n.Remediation})
		}
	}
	if d.State == standsDone {
		ui.Printf(w, "\nDone: nothing is left to be repaired.\n")
	} else {
		ui.Printf(w, "\nNext     %s\n", d.Next)
		if d.Next == o.lines.resume && o.remark != "" {
			ui.Wrap(w, "         ", o.remark)
		}
	}
	if d.PastMasters != "" {
		ui.Printf(w, "Or       %s\n", d.PastMasters)
		ui.Wrap(w, "         ", "if this control plane node can't be recovered: "+apply.PastMastersMeans)
	}
	_, err := io.WriteString(out, ui.CleanLines(w.String()))
	return err
}
