package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
)

// The words of --restart-network.
const (
	RestartNeeded = "needed"
	restartAlways = "always"
	RestartNever  = "never"
)

func restarts() []string { return []string{RestartNeeded, restartAlways, RestartNever} }

// NetworkFlags say what fix-api-int does to the network's pods, once the kubelets are
// right, as they were typed.
type NetworkFlags struct {
	Restart string
	Probe   bool
	Patch   bool
}

// NetworkOptions is what NetworkFlags come to.
type NetworkOptions struct {
	Restart string // RestartNeeded, restartAlways or RestartNever
	patch   bool
	probe   action.NetworkProbe
	// eachProbed: a pod is made on each node, also where nothing is restarted.
	eachProbed bool
}

// AddFlags adds the flags of the wave network.
func (f *NetworkFlags) AddFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Restart, "restart-network", RestartNeeded, "Network pods to restart, once their node is right: needed (those that run since before they could know the CA), always, never.")
	flags.BoolVar(&f.Probe, "probe-network", false, "Make a pod on each node, to see whether it gets a network, also where nothing is restarted; it is removed.")
	flags.BoolVar(&f.Patch, "patch-kube-root-ca", false, "Add the CA to ConfigMap openshift-multus/kube-root-ca.crt, which kube-controller-manager puts back while it works; needs --accept-risk="+action.OwnedObject+".")
	ui.Must(cmd.RegisterFlagCompletionFunc("restart-network", cobra.FixedCompletions(restarts(), cobra.ShellCompDirectiveNoFileComp)))
}

// Check refuses what can't be done. risks are those that were accepted.
func (f *NetworkFlags) Check(risks []string) error {
	switch {
	case !slices.Contains(restarts(), f.Restart):
		return ui.Invalid("--restart-network", f.Restart, restarts()...)
	case f.Patch && !slices.Contains(risks, action.OwnedObject):
		return cli.WithHint(fmt.Errorf("--patch-kube-root-ca writes what belongs to kube-controller-manager, which puts it back while it works: it needs --accept-risk=%s", action.OwnedObject),
			"what lasts is serviceaccount-ca and a new revision of kube-controller-manager, which fix-api-int waits for")
	}
	return nil
}

// ToOptions checks the flags. risks are those that were accepted; debug says how pods are made.
func (f *NetworkFlags) ToOptions(risks []string, debug connect.DebugFlags) (NetworkOptions, error) {
	return NetworkOptions{Restart: f.Restart, patch: f.Patch, probe: action.NetworkProbe{Namespace: debug.Namespace, Image: debug.Image}, eachProbed: f.Probe}, f.Check(risks)
}

// NetworkFacts are what the API says of the network's pods, and of the CAs that pods
// trust. They say nothing of certificates on nodes.
type NetworkFacts struct {
	Pods    []inspect.Pod
	Rollout inspect.Rollout
	read    func(context.Context) (inspect.Rollout, error)
}

// NetworkOf reads the facts about the network's pods; the zero value without an API. v
// says which pods there are to be.
func NetworkOf(ctx context.Context, w *Session, v catalog.Versions) (NetworkFacts, error) {
	var facts NetworkFacts
	if w.Conn == nil {
		return facts, nil
	}
	namespaces := catalog.NodeDaemonSetNamespaces(v)
	if len(namespaces) == 0 {
		return facts, nil
	}
	read := w.Conn.Cluster.Network(ctx, namespaces)
	(&inspect.ClusterStatus{Network: read}).MarkForeign()
	facts, err := NetworkIn(read)
	facts.read = func(ctx context.Context) (inspect.Rollout, error) { return w.Conn.Cluster.Rollout(ctx, namespaces...) }
	return facts, err
}

// NetworkIn is the facts about the network's pods by what was read of them, just now or for a
// file; the zero value where that is nil. The error says what could not be read.
func NetworkIn(read *inspect.NetworkRead) (NetworkFacts, error) {
	if read == nil {
		return NetworkFacts{}, nil
	}
	facts := NetworkFacts{Pods: read.Pods, Rollout: read.Rollout, read: func(context.Context) (inspect.Rollout, error) { return read.Rollout, nil }}
	switch {
	case read.Gap != nil:
		return facts, cli.WithHint(errors.New(read.Gap.Reason), "%s; or leave the network's pods as they are: --restart-network=never", read.Gap.Next)
	case read.Unread != "":
		return facts, errors.New(read.Unread)
	}
	return facts, nil
}

// RootCA is the step that waits for kube-controller-manager and kube-root-ca.crt.
func (n NetworkFacts) RootCA(ca []*pki.Cert, say func(string)) action.AwaitRootCA {
	return action.AwaitRootCA{CA: ca, Planned: n.Rollout, Read: n.read, Print: say}
}

// Restarts are the steps for the network's pods; false: none are wanted.
func (o NetworkOptions) Restarts(n NetworkFacts, ca []*pki.Cert) (action.NetworkRestarts, bool) {
	r := action.NetworkRestarts{
		CA: ca, Pods: n.Pods, Rollout: n.Rollout, Read: n.read, Always: o.Restart == restartAlways,
		Probe: o.probe, EachProbed: o.eachProbed,
	}
	if o.Restart == RestartNever {
		r.Pods = nil
	}
	return r, o.Restart != RestartNever || o.eachProbed
}

// Patches is the step that adds the CA to multus' kube-root-ca.crt; false: it is not
// wanted.
func (o NetworkOptions) Patches(ctx context.Context, w *Session, ca []*pki.Cert, now time.Time) (action.PatchKubeRootCA, bool, error) {
	if !o.patch {
		return action.PatchKubeRootCA{}, false, nil
	}
	if w.Conn == nil {
		return action.PatchKubeRootCA{}, false, fmt.Errorf("--patch-kube-root-ca: %w", w.NoAPI)
	}
	var valid []*pki.Cert
	for _, c := range ca {
		if c.NotAfter.After(now) {
			valid = append(valid, c)
		}
	}
	a, err := action.NewPatchKubeRootCA(ctx, w.Conn.Kube, "openshift-multus", valid)
	return a, err == nil, err
}
