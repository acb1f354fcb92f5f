package nodeexec

import (
	"path"
	"strings"
	"time"
)

// The parts of objects that are read here.
type (
	objectMeta struct {
		Name              string            `json:"name"`
		Namespace         string            `json:"namespace"`
		UID               string            `json:"uid"`
		Labels            map[string]string `json:"labels"`
		Annotations       map[string]string `json:"annotations"`
		CreationTimestamp time.Time         `json:"creationTimestamp"`
		DeletionTimestamp *time.Time        `json:"deletionTimestamp"`
		OwnerReferences   []struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"ownerReferences"`
	}

	podObject struct {
		Metadata objectMeta `json:"metadata"`
		Spec     struct {
			NodeName              string         `json:"nodeName"`
			HostPID               bool           `json:"hostPID"`
			HostNetwork           bool           `json:"hostNetwork"`
			ActiveDeadlineSeconds int64          `json:"activeDeadlineSeconds"`
			Containers            []podContainer `json:"containers"`
			Volumes               []struct {
				Name     string `json:"name"`
				HostPath *struct {
					Path string `json:"path"`
				} `json:"hostPath"`
			} `json:"volumes"`
		} `json:"spec"`
		Status podStatus `json:"status"`
	}

	podContainer struct {
		Name            string `json:"name"`
		Image           string `json:"image"`
		SecurityContext struct {
			Privileged bool `json:"privileged"`
		} `json:"securityContext"`
		VolumeMounts []struct {
			Name      string `json:"name"`
			MountPath string `json:"mountPath"`
			SubPath   string `json:"subPath"`
		} `json:"volumeMounts"`
	}

	podStatus struct {
		Phase             string            `json:"phase"`
		Reason            string            `json:"reason"`
		Message           string            `json:"message"`
		StartTime         *time.Time        `json:"startTime"`
		ContainerStatuses []containerStatus `json:"containerStatuses"`
	}

	containerStatus struct {
		Name  string `json:"name"`
		State struct {
			Waiting    *containerState `json:"waiting"`
			Running    *struct{}       `json:"running"`
			Terminated *containerState `json:"terminated"`
		} `json:"state"`
	}

	containerState struct {
		Reason   string `json:"reason"`
		Message  string `json:"message"`
		ExitCode int    `json:"exitCode"`
	}

	nodeObject struct {
		Status struct {
			Conditions []struct {
				Type               string    `json:"type"`
				Status             string    `json:"status"`
				Reason             string    `json:"reason"`
				Message            string    `json:"message"`
				LastHeartbeatTime  time.Time `json:"lastHeartbeatTime"`
				LastTransitionTime time.Time `json:"lastTransitionTime"`
			} `json:"conditions"`
		} `json:"status"`
	}
)

func (p *podObject) ref(container string) podRef {
	return podRef{p.Metadata.Namespace, p.Metadata.Name, container}
}

// ownedBy says whether a controller of that kind made the pod.
func (p *podObject) ownedBy(kind string) bool {
	for _, o := range p.Metadata.OwnerReferences {
		if o.Kind == kind {
			return true
		}
	}
	return false
}

// running says whether that container runs now.
func (p *podObject) running(container string) bool {
	for _, s := range p.Status.ContainerStatuses {
		if s.Name == container {
			return s.State.Running != nil
		}
	}
	return false
}

// hostRoot is where the node's whole file system is in a privileged container; ""
// if it is not there.
func (p *podObject) hostRoot(c podContainer) string {
	if !c.SecurityContext.Privileged {
		return ""
	}
	for _, v := range p.Spec.Volumes {
		if v.HostPath == nil || path.Clean(v.HostPath.Path) != "/" {
			continue
		}
		for _, m := range c.VolumeMounts {
			if m.Name == v.Name && m.SubPath == "" && strings.HasPrefix(m.MountPath, "/") {
				return path.Clean(m.MountPath)
			}
		}
	}
	return ""
}
