package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient"
)

// fieldManager is who the API server notes as the writer of a field.
const fieldManager = "certrot"

// ConfigMapValue is a value in a ConfigMap that is to be changed.
type ConfigMapValue struct {
	Object catalog.Ref
	// Version is the object's when it was read: only that one is changed.
	Version string
	// Before and After are the value, the latter as the API server would keep it.
	Before, After string
}

// Load reads the value into Before and After.
func (v *ConfigMapValue) Load(ctx context.Context, kube kubeclient.Client) error {
	m, err := kube.ConfigMaps(v.Object.Namespace).Get(ctx, v.Object.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read %s: %w", v.Object, err)
	}
	v.Version, v.Before, v.After = m.ResourceVersion, m.Data[v.Object.Key], m.Data[v.Object.Key]
	return nil
}

// DryRun has the API server make the change without keeping it: After becomes what it
// would keep.
func (v *ConfigMapValue) DryRun(ctx context.Context, kube kubeclient.Client, after string) error {
	tried, err := v.patch(ctx, kube, v.Version, after, metav1.DryRunAll)
	if err != nil {
		return fmt.Errorf("try to patch %s: %w", v.Object, err)
	}
	v.After = tried.Data[v.Object.Key]
	return nil
}

// patch writes a value, if the object is still of that version.
func (v ConfigMapValue) patch(ctx context.Context, kube kubeclient.Client, version, value string, dryRun ...string) (*corev1.ConfigMap, error) {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]string{"resourceVersion": version},
		"data":     map[string]string{v.Object.Key: value},
	})
	if err != nil {
		return nil, err
	}
	m, err := kube.ConfigMaps(v.Object.Namespace).Patch(ctx, v.Object.Name, types.MergePatchType, body, metav1.PatchOptions{DryRun: dryRun, FieldManager: fieldManager})
	if apierrors.IsConflict(err) {
		return nil, fmt.Errorf("%w: %w", remediate.ErrChanged, err)
	}
	return m, err
}

// SaveBackup has the value from before kept, as a patch that puts it back. to is told it; nil:
// there is no place.
func (v ConfigMapValue) SaveBackup(to func(manifest []byte) error) error {
	if to == nil {
		return &remediate.NotAppliedError{Inner: errors.New("there is no place for a backup")}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# %s as it was. To put it back:\n# %s\ndata:\n  %s: |\n", v.Object, foreign.Command("", "kubectl -n %s patch configmap %s --type merge --patch-file FILE", v.Object.Namespace, v.Object.Name), v.Object.Key)
	for line := range strings.Lines(v.Before) {
		out.WriteString("    " + strings.TrimRight(line, "\r\n") + "\n")
	}
	if err := to([]byte(out.String())); err != nil {
		return &remediate.NotAppliedError{Inner: fmt.Errorf("keep %s as it was: %w", v.Object, err)}
	}
	return nil
}

// Write writes After.
func (v ConfigMapValue) Write(ctx context.Context, env *remediate.Env) error {
	if env.Kube == nil {
		return fmt.Errorf("patch %s: no API server could be asked", v.Object)
	}
	_, err := v.patch(ctx, env.Kube, v.Version, v.After)
	if err == nil || apierrors.IsConflict(err) && v.written(ctx, env) {
		return nil
	}
	return refused(err, fmt.Errorf("patch %s: %w", v.Object, err))
}

// written reports whether the value is After, after a conflict: see RemoveAnnotation's removed.
func (v ConfigMapValue) written(ctx context.Context, env *remediate.Env) bool {
	m, err := env.Kube.ConfigMaps(v.Object.Namespace).Get(ctx, v.Object.Name, metav1.GetOptions{})
	return err == nil && m.Data[v.Object.Key] == v.After
}

// refused is how a write failed, by what was said of it. What an API server refused changed nothing; where it did
// not answer, or can't at the moment, it may have been made.
func refused(said, told error) error {
	if remediate.Unavailable(said) {
		return told
	}
	return &remediate.NotAppliedError{Inner: told}
}

// Watch looks for as long as a change may take to be put back. wrong says what is wrong
// with the value, read again after that many seconds; empty: nothing.
func (v ConfigMapValue) Watch(ctx context.Context, env *remediate.Env, wrong func(m *corev1.ConfigMap, after float64) string) error {
	if env.Kube == nil {
		return &remediate.UnknownEffectError{Reason: fmt.Sprintf("%s was not read after the change: no API server could be asked", v.Object)}
	}
	for began := env.Now(); ; {
		m, err := env.Kube.ConfigMaps(v.Object.Namespace).Get(ctx, v.Object.Name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read %s again: %w", v.Object, err)
		}
		after := env.Now().Sub(began)
		if why := wrong(m, after.Seconds()); why != "" {
			return &remediate.BadEffectError{Reason: why}
		}
		if after > putBackTime {
			return nil
		}
		if ended := env.Sleep(ctx, 200*time.Millisecond); ended != nil {
			return fmt.Errorf("whether %s is put back was watched for %.0f s only: %w", v.Object, after.Seconds(), ended)
		}
	}
}
