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

func (f *fixFlags) addSources(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.caFile, "ca-file", "", "PEM file with the CAs that kubelets are to trust, in place of the ConfigMap's; - for standard input.")
	cmd.Flags().StringVar(&f.caFrom, "api-ca-from", "", "Where your own kubeconfig fails, too. "+connect.MasterCAUsage+" The API server is trusted by them, and if it does not answer, they are what kubelets are to trust.")
	cmd.Flags().StringArrayVar(&f.from, "from", nil, "Make the plan from this snapshot, as a dry run; repeatable.")
	addApproveFlag(cmd, &f.approve)
	addRebootstrapFlag(cmd, &f.rebootstrap)
	ui.Must(cmd.MarkFlagFilename("ca-file"))
	ui.Must(cmd.MarkFlagFilename("from"))
}

// session gets ready to go onto nodes. give goes before it.
func (f *fixFlags) session(ctx context.Context, purpose connect.Purpose) (o apply.Options, w *apply.Session, err error) {
	if o, err = f.Flags.ToOptions(ctx, purpose); err != nil {
		return o, nil, err
	}
	o.Trust(f.given)
	w, err = o.NewSession(ctx, nil)
	return o, w, err
}

// repair is what is asked for of the nodes of a workplace.
func (f *fixFlags) repair(ctx context.Context, w *apply.Session) (fix apiint.Repair, err error) {
	fix.API, fix.ApproveCSRs, fix.Rebootstrap = w.Conn != nil, f.approve, f.rebootstrap
	if fix.Order, err = f.waves.order(!w.All, f.Risks); err != nil {
		return fix, err
	}
	if !w.All {
		fix.Nodes = w.Names()
		return fix, f.ca(ctx, w, &fix)
	}
	fix.APIServers = w.Conn.APIServerNodes(ctx)
	workers := func(wave string) bool { return wave != remediate.WaveMasters && wave != remediate.WaveControlPlane }
	if len(fix.Order.Only) > 0 && !slices.ContainsFunc(fix.Order.Only, workers) && fix.APIServers != nil { // else it is the nodes' files that tell
		w.Filter(func(o collect.NodeObject) bool {
			return o.Role != catalog.RoleWorker || slices.Contains(fix.APIServers, o.Name)
		})
	}
	return fix, f.ca(ctx, w, &fix)
}

// after reads what decides on the steps that follow those of kubelets. say is told what
// is waited for.
func (f *fixFlags) after(ctx context.Context, w *apply.Session, facts inspect.Snapshot, fix *apiint.Repair, say func(string)) error {
	if w.Conn == nil {
		return nil
	}
	if deleting, err := w.Conn.Cluster.DeletingPods(ctx); err == nil { // else the plan says that it is not known
		fix.Deleting = deleting
	}
	if !w.All {
		return nil
	}
	if err := f.follow(fix, say, func() (apply.NetworkFacts, error) { return apply.NetworkOf(ctx, w, facts.Cluster.Versions) }); err != nil {
		return err
	}
	patch, wanted, err := f.network().Patches(ctx, w, apply.CertsIn(fix.CA), facts.Taken)
	if wanted {
		fix.FollowUp.Patch = &patch
	}
	return err
}

// afterInFile is after by the status in a file; without one, nothing follows.
func (f *fixFlags) afterInFile(facts inspect.Snapshot, fix *apiint.Repair) error {
	if facts.Status == nil || fix.Nodes != nil {
		return nil
	}
	return f.follow(fix, nil, func() (apply.NetworkFacts, error) {
		if facts.Status.Network == nil && len(catalog.NetworkNamespaces(facts.Cluster.Versions)) > 0 {
			return apply.NetworkFacts{}, cli.WithHint(errors.New("the network's pods are not in the file"), "%s; or leave the network's pods as they are: --restart-network=never", facts.Hints.Unread(inspect.MayList("pods", "")))
		}
		return apply.NetworkIn(facts.Status.Network)
	})
}

// follow puts the steps into a repair that follow those of kubelets.
func (f *fixFlags) follow(fix *apiint.Repair, say func(string), read func() (apply.NetworkFacts, error)) error {
	ca := apply.CertsIn(fix.CA)
	wants := func(wave string) bool { return len(f.waves.only) == 0 || slices.Contains(f.waves.only, wave) }
	var network apply.NetworkFacts
	if wants(remediate.WaveMasters) || wants(remediate.WaveControlPlane) || wants(remediate.WaveNetwork) {
		var err error
		if network, err = read(); err != nil && f.pods.Restart != apply.RestartNever {
			return err
		}
	}
	fix.FollowUp.Requests = true
	if network.Rollout.Operator || len(network.Rollout.RootCAs) > 0 {
		step := network.RootCA(ca, say)
		fix.FollowUp.RootCA = &step
	}
	if restarts, wanted := f.network().Restarts(network, ca); wanted {
		fix.FollowUp.Network = &restarts
	}
	return nil
}
