package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// AwaitRootCA waits until kube-controller-manager and kube-scheduler have these CAs on every
// master, and kube-root-ca.crt has them. It changes nothing: their operators bring them, once the
// masters' kubelets can run the pods that install a revision. kube-controller-manager
// dials api-int with the CAs of its revision: before it has the new one, no certificate
// request is signed, and what runs in pods trusts the old CA.
type AwaitRootCA struct {
	CA      []*pki.Cert
	Planned inspect.Rollout // as it was when the plan was made
	// Read reads it again: collect's Cluster.Rollout for the same namespaces. nil: there
	// is no API to ask.
	Read func(context.Context) (inspect.Rollout, error)
	// Print is told what is waited for, whenever that changes; may be nil.
	Print func(string)
}

// ID is "await kube-root-ca.crt".
func (AwaitRootCA) ID() string { return "await kube-root-ca.crt" }

// Node is the cluster.
func (AwaitRootCA) Node() string { return "" }

// Diff says what is behind.
func (a AwaitRootCA) Diff(_ inspect.Snapshot, now time.Time) (*remediate.Change, error) {
	if a.Read != nil && len(a.Planned.RootCAs) > 0 && len(a.Planned.Missing(Unexpired(a.CA, now))) == 0 {
		return nil, nil //nolint:nilnil // already up to date, as Action says
	}
	return &remediate.Change{Summary: "wait until kube-controller-manager and kube-root-ca.crt have the CA"}, nil
}

// Unexpired are the certificates that have not expired: operators leave those that have
// out of their bundles.
func Unexpired(certs []*pki.Cert, now time.Time) []*pki.Cert {
	var out []*pki.Cert
	for _, c := range certs {
		if c.NotAfter.After(now) {
			out = append(out, c)
		}
	}
	return out
}

// Apply does nothing.
func (AwaitRootCA) Apply(context.Context, *remediate.Env, *remediate.Change) error { return nil }

// RolloutTime is how long kube-controller-manager may take to be everywhere: static
// pods of three masters are rolled out one after another, each in some minutes. stall
// is how long nothing may change meanwhile.
const (
	RolloutTime = 30 * time.Minute
	stall       = 6 * time.Minute
)

// Verify waits for as long as it goes on.
func (a AwaitRootCA) Verify(ctx context.Context, env *remediate.Env, _ *remediate.Change) error {
	if a.Read == nil {
		return &remediate.UnknownEffectError{Reason: "whether kube-controller-manager and kube-root-ca.crt have the CA is unknown: no API server could be asked"}
	}
	var last inspect.Rollout
	var asked error
	said, since := "", env.Now()
	err := env.Until(ctx, RolloutTime, func(ctx context.Context) (bool, error) {
		r, err := a.Read(ctx)
		if asked = err; err != nil {
			return false, err
		}
		last = r
		behind := last.Missing(Unexpired(a.CA, env.Now()))
		if len(behind) == 0 && len(last.RootCAs) > 0 {
			return true, nil
		}
		text := strings.Join(behind, "; ")
		if len(last.RootCAs) == 0 {
			text = "there is no kube-root-ca.crt in any of the namespaces that were looked at"
		}
		if text != said {
			said, since = text, env.Now()
			if a.Print != nil {
				a.Print(text)
			}
		}
		if env.Now().Sub(since) > stall {
			return true, nil // it will not come by waiting
		}
		return false, errors.New(text)
	})
	switch {
	case ctx.Err() != nil:
		return remediate.Because(context.Cause(ctx), err)
	case asked != nil:
		return &remediate.UnknownEffectError{Reason: fmt.Sprintf("whether kube-controller-manager and kube-root-ca.crt have the CA is unknown: %v", err)}
	case err != nil:
		return &remediate.LateEffectError{Inner: fmt.Errorf("%w. %s", err, rolloutHint(last, Unexpired(a.CA, env.Now())))}
	case len(last.Missing(Unexpired(a.CA, env.Now()))) > 0 || len(last.RootCAs) == 0:
		return &remediate.LateEffectError{Inner: fmt.Errorf("nothing has changed for %s: %s. %s", stall, said, rolloutHint(last, Unexpired(a.CA, env.Now())))}
	}
	return nil
}

// rolloutHint says what makes a rollout that stands still go on. It is said and not done: a
// new revision restarts kube-controller-manager on all masters.
func rolloutHint(r inspect.Rollout, ca []*pki.Cert) string {
	if !r.Operator {
		return "There is no operator that would roll it out: kube-controller-manager publishes the file of its --root-ca-file, and reads it when it starts"
	}
	if len(inspect.MissingCerts(r.Source, ca)) > 0 {
		return "serviceaccount-ca is put together of openshift-config-managed/kube-apiserver-server-ca by its operator: oc get clusteroperator kube-controller-manager; oc -n openshift-kube-controller-manager-operator logs deployment/kube-controller-manager-operator"
	}
	if r.Scheduler != nil && len(inspect.MissingCerts(r.Scheduler.Source, ca)) > 0 {
		return "kube-scheduler's serviceaccount-ca is put together by its operator: oc get clusteroperator kube-scheduler; oc -n openshift-kube-scheduler-operator logs deployment/openshift-kube-scheduler-operator"
	}
	var unavailable []string
	masters := r.Masters
	if r.Scheduler != nil {
		masters = slices.Concat(masters, r.Scheduler.Masters)
	}
	for _, m := range masters {
		if m.NodeDown() && !slices.Contains(unavailable, m.Node) {
			unavailable = append(unavailable, m.Node)
		}
	}
	if len(unavailable) > 0 {
		return fmt.Sprintf("Installer pods can't run on %s, and the rollout to all control plane nodes waits for that. Repair it first: %s", strings.Join(unavailable, ", "), foreign.Command(inspect.NodeNames, "oc describe node %s", foreign.Spaces(unavailable)))
	}
	resource, namespace := "kubecontrollermanager", catalog.ServiceAccountCA().Namespace
	scheduler := inspect.Rollout{Scheduler: r.Scheduler}
	manager := r
	manager.Scheduler, manager.RootCAs = nil, nil
	if len(scheduler.Missing(ca)) > 0 && len(manager.Missing(ca)) == 0 { // it is kube-scheduler that is waited for
		resource, namespace = "kubescheduler", catalog.SchedulerCA().Namespace
	}
	return networkless(r) + foreign.Command("", "What the operator says: oc get %[1]s cluster -o yaml; oc -n %[2]s get pods. A new revision on all control plane nodes is made by: "+
		`oc patch %[1]s cluster --type=merge -p '{"spec":{"forceRedeploymentReason":"certrot-'"$(date +%%s)"'"}}'`, resource, namespace)
}

// multusContainer is in openshift/cluster-network-operator bindata/network/multus/multus.yaml, 4.14 to 4.22.
const multusContainer = "kube-multus"

// networkless says what may keep an installer pod waiting on a master that is Ready: a
// multus that still has only the previous CA loaded gives it no network. What helps is its
// process ended on the node: the kubelet starts that again by itself. A pod that is deleted
// is replaced by kube-controller-manager, which may trust only the previous CA itself.
func networkless(r inspect.Rollout) string {
	text := ""
	for _, m := range r.Masters {
		if m.Ready != "True" || m.NodeDown() || m.Installer != "Pending" {
			continue
		}
		for _, row := range catalog.NodeDaemonSets() {
			if row.ID == "multus" {
				text += fmt.Sprintf("The installer pod waits on %s, which is Ready. Its %s (%s) may still be outdated in memory, with only the previous CA: then new pods there get no network. If the events say so (%s), the kubelet's kubeconfig on %s has the CA, and the client certificate of %s has not expired (%s), restart its container. Do not delete the pod: it may not be replaced yet. On %s: %s. ",
					m.Node, row.DaemonSet, row.In, foreign.Command("", "oc -n %s get events", catalog.ServiceAccountCA().Namespace), m.Node, row.DaemonSet,
					foreign.Command("", "sudo openssl x509 -noout -enddate -in %s", row.Client), m.Node, foreign.Command("", "sudo crictl stop $(sudo crictl ps -q --label io.kubernetes.pod.namespace=%s --label io.kubernetes.container.name=%s)", row.Namespace, multusContainer))
			}
		}
	}
	return text
}
