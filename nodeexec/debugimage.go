package nodeexec

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// toolsImage is where OpenShift says which image `oc debug` takes.
const toolsImage = "/apis/image.openshift.io/v1/namespaces/openshift/imagestreamtags/tools:latest"

// image is what a pod on that node is to be made of.
func (d *Debug) image(ctx context.Context, api *podAPI, node string) (DebugImage, error) {
	image := d.Image
	if image.Name != "" {
		if image.Pull == "" {
			image.Pull = "IfNotPresent"
		}
		return image, nil
	}
	found, err := imageOn(ctx, api, node)
	if found != "" {
		image.Name = found
		if image.Pull == "" {
			image.Pull = "Never" // it is there, or would not run
		}
		return image, nil
	}
	var tag struct {
		Image struct {
			DockerImageReference string `json:"dockerImageReference"`
		} `json:"image"`
	}
	tagErr := api.get(ctx, toolsImage, &tag)
	if image.Name = tag.Image.DockerImageReference; image.Name != "" {
		if image.Pull == "" {
			image.Pull = "IfNotPresent"
		}
		return image, nil
	}
	return image, fmt.Errorf("no image for a debug pod on node %s: no pod of a DaemonSet of the platform runs there to take one from, and there is no imagestream openshift/tools: "+
		"name an image that the node has or can pull, and that has the program chroot: %w", node, errors.Join(err, tagErr))
}

// imageOn is an image that the node has, because a pod runs of it: of one with
// the node's file system, since what works on it brings chroot; else of a DaemonSet of
// the platform, since the debug pod is root on the node. An image of any other pod
// would be, too.
func imageOn(ctx context.Context, api *podAPI, node string) (string, error) {
	exec := Exec{}
	through, err := exec.candidates(ctx, api, node)
	if len(through) > 0 {
		return through[0].image, nil
	}
	if err != nil {
		return "", err
	}
	openShift, err := api.openShift(ctx)
	if err != nil {
		return "", err
	}
	namespaces := PlatformNamespaces(openShift)
	pods, err := api.podsOn(ctx, node, namespaces, "")
	if err != nil {
		return "", err
	}
	slices.SortStableFunc(pods, func(a, b podObject) int { return a.rank(0) - b.rank(0) })
	for i := range pods {
		p := &pods[i]
		for _, c := range p.Spec.Containers {
			if slices.Contains(namespaces, p.Metadata.Namespace) && p.ownedBy("DaemonSet") && p.running(c.Name) {
				return c.Image, nil
			}
		}
	}
	return "", nil
}

// OpenShiftAPI is served by OpenShift alone: who may only write in namespaces can't make
// that another cluster serves it.
const OpenShiftAPI = "config.openshift.io/v1"

// openShift reports whether the cluster is one of OpenShift.
func (a *podAPI) openShift(ctx context.Context) (bool, error) {
	err := a.get(ctx, "/apis/"+OpenShiftAPI, new(struct{}))
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// PlatformNamespaces are those in which only the platform itself makes pods: what OpenShift's
// release image brings, not what add-ons and their users have, nor a namespace on another
// cluster that is called like one of OpenShift's.
func PlatformNamespaces(openShift bool) []string {
	if !openShift {
		return []string{"kube-system"}
	}
	return []string{
		"openshift-multus", "openshift-machine-config-operator", "openshift-ovn-kubernetes", "openshift-sdn", "openshift-dns",
		"openshift-cluster-node-tuning-operator", "openshift-image-registry",
	}
}
