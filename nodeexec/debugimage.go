package nodeexec

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
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
	return image, fmt.Errorf("no image for a debug pod on node %s: no pod of a DaemonSet runs there to take one from, and there is no imagestream openshift/tools: "+
		"name an image that the node has or can pull, and that has the program chroot: %w", node, errors.Join(err, tagErr))
}

// imageOn is an image that the node has, because a pod runs of it: of one with
// the node's file system, since what works on it brings chroot; else of any
// DaemonSet of the platform.
func imageOn(ctx context.Context, api *podAPI, node string) (string, error) {
	exec := Exec{}
	through, err := exec.candidates(ctx, api, node)
	if len(through) > 0 {
		return through[0].image, nil
	}
	if err != nil {
		return "", err
	}
	pods, err := api.podsOn(ctx, node, exec.namespaces(), "")
	if err != nil {
		return "", err
	}
	slices.SortStableFunc(pods, func(a, b podObject) int { return a.rank(0) - b.rank(0) })
	for i := range pods {
		p := &pods[i]
		platform := slices.ContainsFunc(exec.namespaces(), func(pattern string) bool {
			ok, err := path.Match(pattern, p.Metadata.Namespace)
			return ok && err == nil
		})
		for _, c := range p.Spec.Containers {
			if platform && p.ownedBy("DaemonSet") && p.running(c.Name) {
				return c.Image, nil
			}
		}
	}
	return "", nil
}
