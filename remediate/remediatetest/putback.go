package remediatetest

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient"
)

// PutBack puts a ConfigMap back from the backup that a run kept of it, as the backup's first lines
// say: kubectl patch configmap NAME --type merge --patch-file FILE.
func PutBack(ctx context.Context, kube kubeclient.Client, namespace, name string, backup []byte) error {
	patch, err := yaml.YAMLToJSON(backup)
	if err != nil {
		return err
	}
	_, err = kube.ConfigMaps(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
