package collect

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// Listening is where the static pods of a control plane listen, by node and by the name
// of the catalog.Listener: host:port. A node of which nothing was told is not in it.
type Listening map[string]map[string]string

// Listening reads from the pods of kube-apiserver and etcd that kubeadm's manifests make
// where those listen (kubernetes/kubernetes cmd/kubeadm/app/phases/controlplane/manifests.go
// and phases/etcd/local.go v1.35.4). Who may not list them goes by the usual ports.
func (c *Cluster) Listening(ctx context.Context) Listening {
	out := Listening{}
	opts := metav1.ListOptions{LabelSelector: "tier=control-plane"}
	l := listPages(ctx, opts, c.podPage("/api/v1/namespaces/"+metav1.NamespaceSystem+"/pods", func(p *corev1.Pod) {
		if p.Spec.NodeName == "" || len(p.Spec.Containers) == 0 {
			return
		}
		argv := slices.Concat(p.Spec.Containers[0].Command, p.Spec.Containers[0].Args)
		at := out[p.Spec.NodeName]
		if at == nil {
			at = map[string]string{}
			out[p.Spec.NodeName] = at
		}
		for name, address := range listensAt(p.Labels["component"], argv) {
			at[name] = address
		}
	}))
	if l.err != nil {
		return nil
	}
	return out
}

// listensAt says where a component listens that was started so, by the name of the
// listener.
func listensAt(component string, argv []string) map[string]string {
	out := map[string]string{}
	switch component {
	case "kube-apiserver":
		host, port := flagOf(argv, "advertise-address"), flagOf(argv, "secure-port")
		if port == "" {
			port = "6443" // its default
		}
		if host != "" {
			out[catalog.ListenerAPIServer] = net.JoinHostPort(host, port)
		}
	case "etcd":
		for name, flag := range map[string]string{catalog.ListenerEtcd: "advertise-client-urls", catalog.ListenerEtcdPeer: "initial-advertise-peer-urls"} {
			first, _, _ := strings.Cut(flagOf(argv, flag), ",")
			if u, err := url.Parse(first); err == nil && u.Scheme == "https" && u.Hostname() != "" && u.Port() != "" {
				out[name] = net.JoinHostPort(u.Hostname(), u.Port())
			}
		}
	}
	return out
}

// flagOf is the value of --name=value; empty: it is not given.
func flagOf(argv []string, name string) string {
	for _, a := range argv {
		if value, ok := strings.CutPrefix(a, "--"+name+"="); ok {
			return value
		}
	}
	return ""
}
