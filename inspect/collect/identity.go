package collect

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

type (
	clusterVersion struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Status   struct {
			Desired struct {
				Version string `json:"version"`
			} `json:"desired"`
			History []struct {
				State   string `json:"state"`
				Version string `json:"version"`
			} `json:"history"` // newest first
		} `json:"status"`
	}
	clusterOperator struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Status   struct {
			Versions []struct {
				Name    string `json:"name"`
				Version string `json:"version"`
			} `json:"versions"`
		} `json:"status"`
	}
	infrastructure struct {
		Status struct {
			ControlPlaneTopology string `json:"controlPlaneTopology"`
			PlatformStatus       struct {
				Type string `json:"type"`
			} `json:"platformStatus"`
		} `json:"status"`
	}
)

const configV1 = "/apis/config.openshift.io/v1/"

// Identity returns the source that tells which cluster this is and which
// versions run in it. Mid-upgrade the operators differ, so each operator's own
// version counts for the rows that it owns.
func (c *Cluster) Identity(server, kubeContext string) Source {
	return reader{"versions", whole(func(ctx context.Context) inspect.Snapshot {
		s := inspect.Snapshot{Cluster: inspect.Cluster{Server: server, Context: kubeContext}}
		versions := catalog.Versions{Operators: map[string]string{}}
		var server struct {
			GitVersion string `json:"gitVersion"`
		}
		if err := c.getJSON(ctx, "/version", &server); err != nil {
			s.Gaps = append(s.Gaps, versionGap("read /version", err))
		}
		versions.Kubernetes = server.GitVersion
		var system namedObject
		if err := c.getJSON(ctx, "/api/v1/namespaces/kube-system", &system); err == nil { // if not, its age is not known
			s.Cluster.Created = system.Metadata.CreationTimestamp.UTC()
		}
		c.openshift(ctx, &s, &versions)
		s.Cluster.Versions = versions
		return s
	})}
}

// openshift reads OpenShift's own version objects. Where the API group is not
// served this is a plain Kubernetes cluster.
func (c *Cluster) openshift(ctx context.Context, s *inspect.Snapshot, versions *catalog.Versions) {
	l := listJSON(ctx, c, configV1+"clusterversions", metav1.ListOptions{}, func(v *clusterVersion) {
		versions.Cluster = runningVersion(v)
		if created := v.Metadata.CreationTimestamp.UTC(); s.Cluster.Created.IsZero() || created.Before(s.Cluster.Created) {
			s.Cluster.Created = created
		}
	})
	if l.err != nil {
		versions.Plain = apierrors.IsNotFound(l.err) || apierrors.IsForbidden(l.err) && !c.serves(ctx, configV1)
		if !versions.Plain {
			s.Gaps = append(s.Gaps, versionGap("list clusterversions", l.err))
		}
		return
	}
	l = listJSON(ctx, c, configV1+"clusteroperators", metav1.ListOptions{}, func(o *clusterOperator) {
		for _, v := range o.Status.Versions {
			if v.Name == "operator" {
				versions.Operators[o.Metadata.Name] = v.Version
			}
		}
	})
	if l.err != nil && !apierrors.IsNotFound(l.err) {
		s.Gaps = append(s.Gaps, versionGap("list clusteroperators", l.err))
	}
	l = listJSON(ctx, c, configV1+"infrastructures", metav1.ListOptions{}, func(i *infrastructure) {
		s.Cluster.Topology, s.Cluster.Platform = i.Status.ControlPlaneTopology, i.Status.PlatformStatus.Type
	})
	if l.err != nil && !apierrors.IsNotFound(l.err) {
		s.Gaps = append(s.Gaps, versionGap("list infrastructures", l.err))
	}
}

// serves reports whether the API server has an API group. Everybody may ask
// that; RBAC answers "forbidden" for groups that do not exist, too.
func (c *Cluster) serves(ctx context.Context, path string) bool {
	return !apierrors.IsNotFound(c.REST.Get().AbsPath(path).Do(ctx).Error())
}

// HasNamespace reports whether a namespace exists; true where that may not be
// asked.
func (c *Cluster) HasNamespace(ctx context.Context, name string) bool {
	return c.serves(ctx, "/api/v1/namespaces/"+name)
}

// runningVersion is the newest version that was completely rolled out: the
// desired one may have hardly begun.
func runningVersion(v *clusterVersion) string {
	for _, h := range v.Status.History {
		if h.State == "Completed" {
			return h.Version
		}
	}
	return v.Status.Desired.Version
}

func versionGap(tried string, err error) inspect.Gap {
	return inspect.Gap{
		What: "versions", Reason: reason(tried, err),
		Next: "ask for get and list on clusterversions, clusteroperators and infrastructures of config.openshift.io; without, checks that depend on the version are left out",
	}
}
