package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
)

// The words of --restart-network.
const (
	restartNeeded = "needed"
	restartAlways = "always"
	restartNever  = "never"
)

func restarts() []string { return []string{restartNeeded, restartAlways, restartNever} }

// networkFlags say what fix-api-int does to the network's pods, once the kubelets are
// right.
type networkFlags struct {
	restart string
	probe   bool
	patch   bool
}

func (f *networkFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.restart, "restart-network", restartNeeded, "Network pods to restart, once their node is right: needed (those that run since before they could know the CA), always, never.")
	flags.BoolVar(&f.probe, "probe-network", false, "Make a pod on each node, to see whether it gets a network, also where nothing is restarted; it is removed.")
	flags.BoolVar(&f.patch, "patch-kube-root-ca", false, "Add the CA to ConfigMap openshift-multus/kube-root-ca.crt, which kube-controller-manager puts back while it works; needs --accept-risk="+action.OwnedObject+".")
	must(cmd.RegisterFlagCompletionFunc("restart-network", cobra.FixedCompletions(restarts(), cobra.ShellCompDirectiveNoFileComp)))
}

// check refuses what can't be done. risks are those that were accepted.
func (f *networkFlags) check(risks []string) error {
	switch {
	case !slices.Contains(restarts(), f.restart):
		return fmt.Errorf("--restart-network %q is none of %s", f.restart, strings.Join(restarts(), ", "))
	case f.patch && !slices.Contains(risks, action.OwnedObject):
		return withHint(fmt.Errorf("--patch-kube-root-ca writes what belongs to kube-controller-manager, which puts it back while it works: it needs --accept-risk=%s", action.OwnedObject),
			"what lasts is serviceaccount-ca and a new revision of kube-controller-manager, which fix-api-int waits for")
	}
	return nil
}

// networkFacts are what the API says of the network's pods, and of the CAs that pods
// trust. They say nothing of certificates on nodes, and are in no snapshot.
type networkFacts struct {
	pods    []inspect.Pod
	rollout inspect.Rollout
	read    func(context.Context) (inspect.Rollout, error)
}

// networkOf reads the facts about the network's pods; the zero value without an API. v
// says which pods there are to be.
func networkOf(ctx context.Context, w *workplace, v catalog.Versions) (networkFacts, error) {
	var facts networkFacts
	if w.conn == nil {
		return facts, nil
	}
	namespaces := action.NetworkNamespaces(v)
	if len(namespaces) == 0 {
		return facts, nil
	}
	var gaps []inspect.Gap
	if facts.pods, gaps = w.conn.cluster.Pods(ctx, namespaces...); len(gaps) > 0 {
		return facts, withHint(errors.New(gaps[0].Reason), "%s; or leave the network's pods as they are: --restart-network=never", gaps[0].Next)
	}
	facts.read = func(ctx context.Context) (inspect.Rollout, error) { return w.conn.cluster.Rollout(ctx, namespaces...) }
	var err error
	facts.rollout, err = facts.read(ctx)
	return facts, err
}

// rootCA is the step that waits for kube-controller-manager and kube-root-ca.crt.
func (n networkFacts) rootCA(ca []*pki.Cert, say func(string)) action.AwaitRootCA {
	return action.AwaitRootCA{CA: ca, Known: n.rollout, Read: n.read, Say: say}
}

// restarts are the steps for the network's pods; false: none are wanted.
func (f *networkFlags) restarts(n networkFacts, d debugFlags, ca []*pki.Cert) (action.NetworkRestarts, bool) {
	r := action.NetworkRestarts{
		CA: ca, Pods: n.pods, Rollout: n.rollout, Read: n.read, Always: f.restart == restartAlways,
		Probe: action.NetworkProbe{Namespace: d.namespace, Image: d.image}, EachProbed: f.probe,
	}
	if f.restart == restartNever {
		r.Pods = nil
	}
	return r, f.restart != restartNever || f.probe
}

// patches is the step that adds the CA to multus' kube-root-ca.crt; false: it is not
// wanted.
func (f *networkFlags) patches(ctx context.Context, w *workplace, ca []*pki.Cert, now time.Time) (action.PatchKubeRootCA, bool, error) {
	if !f.patch {
		return action.PatchKubeRootCA{}, false, nil
	}
	if w.conn == nil {
		return action.PatchKubeRootCA{}, false, fmt.Errorf("--patch-kube-root-ca: %w", w.noAPI)
	}
	var valid []*pki.Cert
	for _, c := range ca {
		if c.NotAfter.After(now) {
			valid = append(valid, c)
		}
	}
	a, err := action.NewPatchKubeRootCA(ctx, w.conn.kube, "openshift-multus", valid)
	return a, err == nil, err
}
