package fixapiintcmd

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
)

// repairFlags is what was typed, of all commands that plan a repair of kubelets.
type repairFlags struct {
	apply.Flags
	caFile      string
	caFrom      string
	from        []string
	approve     bool
	rebootstrap bool
}

// repairOptions is what these commands have in common.
type repairOptions struct {
	apply.Options
	source      caSource
	from        []string // files with facts; none: the cluster
	order       apiint.Order
	network     apply.NetworkOptions
	approve     bool // certificate requests of restarted kubelets
	rebootstrap bool // kubelets write their kubeconfig again
}

func newRepairFlags(app cli.App, config *cli.ConfigFlags) repairFlags {
	return repairFlags{Flags: apply.Flags{App: app, Config: config, AllByDefault: true}}
}

// addSources adds the flags that say from where the CAs and facts are, and what is done to kubelets.
func (f *repairFlags) addSources(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.caFile, "ca-file", "", "PEM file with the CAs that kubelets are to trust, in place of the ConfigMap's; - for standard input.")
	cmd.Flags().StringVar(&f.caFrom, "api-ca-from", "", "Where your own kubeconfig fails, too. "+connect.MasterCAUsage+" The API server is trusted by them, and if it does not answer, they are what kubelets are to trust.")
	cmd.Flags().StringArrayVar(&f.from, "from", nil, "Make the plan from this snapshot, as a dry run; repeatable.")
	addApproveFlag(cmd, &f.approve)
	addRebootstrapFlag(cmd, &f.rebootstrap)
	ui.Must(cmd.MarkFlagFilename("ca-file"))
	ui.Must(cmd.MarkFlagFilename("from"))
}

// givesCA reports whether a flag leads to CAs.
func (f *repairFlags) givesCA() bool { return f.caFile != "" || f.caFrom != "" }

// toRepairOptions checks the flags. purpose is what the API server is asked for.
func (f *repairFlags) toRepairOptions(ctx context.Context, purpose connect.Purpose) (o repairOptions, err error) {
	if len(f.from) > 0 && f.caFrom != "" {
		return o, connect.LiveOnly("--api-ca-from")
	}
	o = repairOptions{from: f.from, approve: f.approve, rebootstrap: f.rebootstrap}
	if o.source, err = f.toCASource(ctx); err != nil {
		return o, err
	}
	o.Options, err = f.ToOptions(ctx, purpose)
	return o, err
}

// named reports whether nodes are named, so that these are repaired, one after another.
func (o *repairOptions) named() bool { return o.Nodes.Local || len(o.Nodes.Names) > 0 }

// session gets ready to go onto nodes. given are the CAs that a flag leads to: the
// administrator's own kubeconfig may lack them as kubelets' do, see Options.Trust.
func (o *repairOptions) session(ctx context.Context) (given []byte, w *apply.Session, err error) {
	if given, err = o.source.read(ctx, o.App); err != nil {
		return nil, nil, err
	}
	o.Trust(given)
	o.BringsCA = true
	w, err = o.NewSession(ctx, nil)
	return given, w, err
}

// repair is what is asked for of the nodes of a session. given are the CAs that a flag leads to.
func (o *repairOptions) repair(ctx context.Context, w *apply.Session, given []byte) (fix apiint.Repair, err error) {
	fix.API, fix.ApproveCSRs, fix.Rebootstrap, fix.Order = w.Conn != nil, o.approve, o.rebootstrap, o.order
	if !w.All {
		fix.Nodes = w.Names()
		return fix, o.findCA(ctx, w, given, &fix)
	}
	fix.APIServers, fix.StaticPodNodes = w.Conn.APIServerNodes(ctx), w.Conn.Cluster.StaticPodNodes(ctx)
	workers := func(wave string) bool { return wave != remediate.WaveMasters && wave != remediate.WaveControlPlane }
	if len(fix.Order.Only) > 0 && !slices.ContainsFunc(fix.Order.Only, workers) && fix.APIServers != nil { // else it is the nodes' files that tell
		w.Filter(func(n collect.NodeObject) bool {
			return n.Role != catalog.RoleWorker || slices.Contains(fix.APIServers, n.Name)
		})
	}
	return fix, o.findCA(ctx, w, given, &fix)
}

// followUp reads what decides on the steps that follow those of kubelets. say is told what
// is waited for.
func (o *repairOptions) followUp(ctx context.Context, w *apply.Session, snapshot inspect.Snapshot, fix *apiint.Repair, say func(string)) error {
	if w.Conn == nil {
		return nil
	}
	if deleting, err := w.Conn.Cluster.DeletingPods(ctx); err == nil { // else the plan says that it is unknown
		fix.Deleting = deleting
	}
	if !w.All {
		return nil
	}
	if err := o.follow(fix, say, func() (apply.NetworkFacts, error) { return apply.NetworkOf(ctx, w, snapshot.Cluster.Versions) }); err != nil {
		return err
	}
	patch, wanted, err := o.network.Patches(ctx, w, apply.CertsIn(fix.CA), snapshot.Taken)
	if wanted {
		fix.FollowUp.Patch = &patch
	}
	return err
}

// followUpInFile is followUp by the status in a file; without one, nothing follows.
func (o *repairOptions) followUpInFile(snapshot inspect.Snapshot, fix *apiint.Repair) error {
	if snapshot.Status == nil || fix.Nodes != nil {
		return nil
	}
	return o.follow(fix, nil, func() (apply.NetworkFacts, error) {
		if snapshot.Status.Network == nil && len(catalog.NodeDaemonSetNamespaces(snapshot.Cluster.Versions)) > 0 {
			return apply.NetworkFacts{}, cli.WithHint(errors.New("the network's pods are not in the file"), "%s; or leave the network's pods as they are: --restart-network=never", snapshot.Hints.Unread(inspect.MayList("pods", "")))
		}
		return apply.NetworkIn(snapshot.Status.Network)
	})
}

// follow puts the steps into a repair that follow those of kubelets.
func (o *repairOptions) follow(fix *apiint.Repair, say func(string), read func() (apply.NetworkFacts, error)) error {
	ca := apply.CertsIn(fix.CA)
	wants := func(wave string) bool { return len(o.order.Only) == 0 || slices.Contains(o.order.Only, wave) }
	var network apply.NetworkFacts
	if wants(remediate.WaveMasters) || wants(remediate.WaveNodes) || wants(remediate.WaveControlPlane) || wants(remediate.WaveNetwork) {
		var err error
		if network, err = read(); err != nil && o.network.Restart != apply.RestartNever {
			return err
		}
	}
	fix.FollowUp.Requests = true
	if network.Rollout.Operator || len(network.Rollout.RootCAs) > 0 {
		step := network.RootCA(ca, say)
		fix.FollowUp.RootCA = &step
	}
	if restarts, wanted := o.network.Restarts(network, ca); wanted {
		fix.FollowUp.Network = &restarts
	}
	return nil
}
