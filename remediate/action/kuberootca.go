package action

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient"
)

// OwnedObject is the risk of writing an object that a controller owns.
const OwnedObject = "owned-object"

// PatchKubeRootCA adds CAs to kube-root-ca.crt of a namespace, which belongs to
// kube-controller-manager: that puts it back from its memory as soon as it sees the
// change, in less than a second. It is of use only while no kube-controller-manager
// works.
type PatchKubeRootCA struct {
	ConfigMapValue
	adds []*pki.Cert
	// Keep is told the ConfigMap as it was before anything is written: it is put back
	// from there, by hand.
	Keep func(manifest []byte) error
}

// NewPatchKubeRootCA reads the ConfigMap, and has the API server try the change without
// making it.
func NewPatchKubeRootCA(ctx context.Context, kube kubeclient.Client, namespace string, ca []*pki.Cert) (PatchKubeRootCA, error) {
	a := PatchKubeRootCA{ConfigMapValue: ConfigMapValue{Object: catalog.RootCAOf(namespace)}}
	if err := a.Load(ctx, kube); err != nil {
		return a, err
	}
	a.adds = inspect.MissingCerts(pki.LoadedPEM(pki.NewScanner(), []byte(a.Before)), ca)
	if len(a.adds) == 0 {
		return a, nil
	}
	value := append(bytes.TrimRight([]byte(a.Before), "\r\n"), '\n')
	return a, a.DryRun(ctx, kube, strings.TrimLeft(string(append(value, pki.EncodePEM(a.adds)...)), "\n"))
}

// ID is such as "patch openshift-multus/kube-root-ca.crt".
func (a PatchKubeRootCA) ID() string { return patchID + a.Object.Namespace + "/" + a.Object.Name }

// Node is the cluster.
func (a PatchKubeRootCA) Node() string { return "" }

// Diff says which CAs are added.
func (a PatchKubeRootCA) Diff(inspect.Snapshot, time.Time) (*remediate.Change, error) {
	if a.Before == a.After {
		return nil, nil //nolint:nilnil // already up to date, as Action says
	}
	var names []string
	for _, c := range a.adds {
		names = append(names, fmt.Sprintf("%s (sha256 %s)", pki.Foreign(c.Subject), c.Fingerprint.Short()))
	}
	return &remediate.Change{Summary: fmt.Sprintf("add to %s: %s", a.Object, strings.Join(names, ", "))}, nil
}

// Apply keeps the ConfigMap as it was, and patches it.
func (a PatchKubeRootCA) Apply(ctx context.Context, env *remediate.Env, _ *remediate.Change) error {
	if env.Kube == nil {
		return fmt.Errorf("%s: no API server could be asked", a.ID())
	}
	if err := a.SaveBackup(a.Keep); err != nil {
		return err
	}
	return a.Write(ctx, env)
}

// putBackTime is how long a change is watched. Its publisher puts it back as soon as it
// hears of it.
const putBackTime = 20 * time.Second

// Verify watches whether it stays. A *BadEffectError says that it was put back, by what, and
// what would last.
func (a PatchKubeRootCA) Verify(ctx context.Context, env *remediate.Env, _ *remediate.Change) error {
	return a.Watch(ctx, env, func(m *corev1.ConfigMap, after float64) string {
		if len(inspect.MissingCerts(pki.LoadedPEM(pki.NewScanner(), []byte(m.Data[a.Object.Key])), a.adds)) == 0 {
			return ""
		}
		return fmt.Sprintf("%s was put back within %.1f s by %s, which publishes what it read when it started. What lasts is serviceaccount-ca, and a kube-controller-manager that has read it: "+
			"oc -n openshift-kube-controller-manager get configmap serviceaccount-ca; oc get kubecontrollermanager cluster -o yaml", a.Object, after, Writer(m, a.Object.Key))
	})
}

// Writer is who wrote a key of a ConfigMap last, by the name that it gave itself.
func Writer(m *corev1.ConfigMap, key string) string {
	name, last := "its publisher", time.Time{}
	for _, f := range m.ManagedFields {
		if f.Time != nil && !f.Time.Time.Before(last) && f.FieldsV1 != nil && strings.Contains(f.FieldsV1.GetRawString(), `"f:`+key+`"`) {
			name, last = f.Manager, f.Time.Time
		}
	}
	return name
}

// patchID begins the ID of what patches a ConfigMap. Journals have it for ever, and Patched reads it
// there.
const patchID = "patch "

// Patched are the ConfigMaps that a run patched or was about to: NAMESPACE/NAME. They are put
// back by hand, by what Journals.Kept names.
func Patched(s remediate.RunRecord) (out []string) {
	for i, r := range s.Records {
		if of, ok := strings.CutPrefix(r.Action, patchID); ok && r.Event == remediate.Begun && !slices.Contains(out, of) && !s.FailedUnchanged(i) {
			out = append(out, of)
		}
	}
	return out
}
