package collect

import (
	"context"
	"encoding/json"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

type (
	clusterVersion struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			ClusterID string `json:"clusterID"`
		} `json:"spec"`
		Status struct {
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
			InternalURI          string `json:"apiServerInternalURI"`
			ExternalURL          string `json:"apiServerURL"`
			PlatformStatus       struct {
				Type      string       `json:"type"`
				BareMetal ownAddresses `json:"baremetal"`
				Nutanix   ownAddresses `json:"nutanix"`
				OpenStack ownAddresses `json:"openstack"`
				Ovirt     ownAddresses `json:"ovirt"`
				VSphere   ownAddresses `json:"vsphere"`
			} `json:"platformStatus"`
		} `json:"status"`
	}
)

// ownAddresses are those that a cluster keeps for its API by itself; up to 4.11 there
// was one.
type ownAddresses struct {
	IP  string   `json:"apiServerInternalIP"`
	IPs []string `json:"apiServerInternalIPs"`
}

func (o ownAddresses) any() bool { return o.IP != "" || len(o.IPs) > 0 }

// What each of them tells of the cluster, whether it comes over the API or from
// a file.

func (v *clusterVersion) setOn(c *inspect.Cluster) {
	c.ID, c.Versions.Cluster = v.Spec.ClusterID, runningVersion(v)
	if n := len(v.Status.History); n > 0 {
		c.InitialVersion = v.Status.History[n-1].Version
	}
	bornBy(c, v.Metadata.CreationTimestamp)
}

func (o *clusterOperator) setOn(c *inspect.Cluster) {
	for _, v := range o.Status.Versions {
		if v.Name != "operator" {
			continue
		}
		if c.Versions.Operators == nil {
			c.Versions.Operators = map[string]string{}
		}
		c.Versions.Operators[o.Metadata.Name] = v.Version
	}
}

func (i *infrastructure) setOn(c *inspect.Cluster) {
	c.Topology, c.Platform = i.Status.ControlPlaneTopology, i.Status.PlatformStatus.Type
	c.Internal, c.External = inspect.ServerURL(i.Status.InternalURI), inspect.ServerURL(i.Status.ExternalURL)
	p := &i.Status.PlatformStatus
	switch {
	case p.BareMetal.any(), p.Nutanix.any(), p.OpenStack.any(), p.Ovirt.any(), p.VSphere.any():
		c.OwnAddresses = catalog.Yes
	case p.Type != "":
		c.OwnAddresses = catalog.No
	}
}

// setOn of a Namespace: kube-system is as old as the cluster.
func (o *namedObject) setOn(c *inspect.Cluster) {
	if o.Metadata.Name == metav1.NamespaceSystem {
		bornBy(c, o.Metadata.CreationTimestamp)
	}
}

// bornBy notes that something of the cluster was there at a time.
func bornBy(c *inspect.Cluster, t metav1.Time) {
	if at := t.UTC(); !t.IsZero() && (c.Created.IsZero() || at.Before(c.Created)) {
		c.Created = at
	}
}

// identify reads what an object from a file tells of the cluster; most tell
// nothing.
func identify(c *inspect.Cluster, apiVersion, kind string, raw []byte) error {
	var o interface{ setOn(c *inspect.Cluster) }
	switch strings.TrimSuffix(apiVersion, "/v1") + " " + kind {
	case configGroup + " ClusterVersion":
		o = &clusterVersion{}
	case configGroup + " ClusterOperator":
		o = &clusterOperator{}
	case configGroup + " Infrastructure":
		o = &infrastructure{}
	case "v1 Namespace":
		o = &namedObject{}
	default:
		return nil
	}
	if err := json.Unmarshal(raw, o); err != nil {
		return err
	}
	o.setOn(c)
	return nil
}

const (
	configGroup = "config.openshift.io"
	configV1    = "/apis/" + configGroup + "/v1/"
)

// Identity returns the source that tells which cluster this is and which
// versions run in it. Mid-upgrade the operators differ, so each operator's own
// version counts for the rows that it owns.
func (c *Cluster) Identity(server, kubeContext string) Source {
	return reader{"versions", whole(func(ctx context.Context) inspect.Snapshot {
		s := inspect.Snapshot{Cluster: inspect.Cluster{Server: inspect.ServerURL(server), Context: inspect.WithoutUserinfo(kubeContext), Versions: catalog.Versions{Operators: map[string]string{}}}}
		var server struct {
			GitVersion string `json:"gitVersion"`
		}
		if err := c.getJSON(ctx, "/version", &server); err != nil {
			s.Gaps = append(s.Gaps, versionGap("read /version", err))
		}
		s.Cluster.Versions.Kubernetes = server.GitVersion
		var system namedObject
		if err := c.getJSON(ctx, "/api/v1/namespaces/"+metav1.NamespaceSystem, &system); err == nil { // if not, its age is unknown
			system.setOn(&s.Cluster)
		}
		c.openshift(ctx, &s)
		if s.Cluster.Versions.NotOpenShift {
			s.Cluster.Kubeadm = c.kubeadm(ctx)
		}
		return s
	})}
}

// openshift reads OpenShift's own version objects. Where the API group is not
// served this is a plain Kubernetes cluster.
func (c *Cluster) openshift(ctx context.Context, s *inspect.Snapshot) {
	l := listJSON(ctx, c, configV1+"clusterversions", metav1.ListOptions{}, func(v *clusterVersion) { v.setOn(&s.Cluster) })
	if l.err != nil {
		s.Cluster.Versions.NotOpenShift = apierrors.IsNotFound(l.err) || apierrors.IsForbidden(l.err) && !c.serves(ctx, configV1)
		if !s.Cluster.Versions.NotOpenShift {
			notIdentified(s, "clusterversions", "rules that depend on OpenShift's version were not applied", l.err)
		}
		return
	}
	l = listJSON(ctx, c, configV1+"clusteroperators", metav1.ListOptions{}, func(o *clusterOperator) { o.setOn(&s.Cluster) })
	notIdentified(s, "clusteroperators", "rules were applied by the cluster's version, although operators may be behind it during an upgrade", l.err)
	l = listJSON(ctx, c, configV1+"infrastructures", metav1.ListOptions{}, func(i *infrastructure) { i.setOn(&s.Cluster) })
	notIdentified(s, "infrastructures", "platform and topology were not read", l.err)
}

// kubeadm tells whether kubeadm's ConfigMap is there, which `kubeadm init` leaves and its
// upgrades need (kubernetes/kubernetes cmd/kubeadm/app/phases/uploadconfig v1.35.4). Who
// may not ask is told nothing.
func (c *Cluster) kubeadm(ctx context.Context) catalog.Tristate {
	var config namedObject
	err := c.getJSON(ctx, "/api/v1/namespaces/"+metav1.NamespaceSystem+"/configmaps/kubeadm-config", &config)
	switch {
	case err == nil:
		return catalog.Yes
	case apierrors.IsNotFound(err):
		return catalog.No
	}
	return catalog.Unknown
}

// notIdentified notes why objects that tell of the cluster were not read. That
// users may not is the rule, and leaves no certificate unread: the note says what
// goes without, and it is no gap. A server that does not answer is one.
func notIdentified(s *inspect.Snapshot, what, without string, err error) {
	switch {
	case err == nil, apierrors.IsNotFound(err):
	case apierrors.IsForbidden(err):
		s.Reads = append(s.Reads, inspect.Read{What: what, Skipped: true, Note: "you may not list them: " + without + "; to get them, ask for list on clusterversions, clusteroperators and infrastructures of " + configGroup + ", as the cluster role cluster-reader has it"})
	default:
		s.Gaps = append(s.Gaps, versionGap("list "+what, err))
	}
}

// serves reports whether the API server has an API group. Every user may ask
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
