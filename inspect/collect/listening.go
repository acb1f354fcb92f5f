package collect

import (
	"context"
	"maps"
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
	l := listPages(ctx, opts, keptPage(c.REST, "/api/v1/namespaces/"+metav1.NamespaceSystem+"/pods", keptOfListening(), listenerOf, func(p listener) {
		if p.node == "" {
			return
		}
		at := out[p.node]
		if at == nil {
			at = map[string]string{}
			out[p.node] = at
		}
		maps.Copy(at, p.at)
	}))
	if l.err != nil {
		return nil
	}
	return out
}

// listener is where a static pod listens, and on which node; empty: it runs on none, or nothing.
type listener struct {
	node string
	at   map[string]string
}

// keptOfListening is what listenerOf reads.
func keptOfListening() keptFields {
	return keptFields{podMetadata: {metaLabels: nil}, podSpec: {specNodeName: nil, specContainers: {containerCommand: nil, containerArgs: nil}}}
}

func listenerOf(p *corev1.Pod) listener {
	if p.Spec.NodeName == "" || len(p.Spec.Containers) == 0 {
		return listener{}
	}
	argv := slices.Concat(p.Spec.Containers[0].Command, p.Spec.Containers[0].Args)
	return listener{p.Spec.NodeName, listensAt(p.Labels["component"], argv)}
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

// longestFlag is longer than what addresses take. Who may make a pod writes what it likes.
const longestFlag = 4 << 10

// flagOf is the value of --name=value; empty: it is not given, or too long to be an address.
func flagOf(argv []string, name string) string {
	for _, a := range argv {
		if value, ok := strings.CutPrefix(a, "--"+name+"="); ok {
			if len(value) > longestFlag {
				return ""
			}
			return value
		}
	}
	return ""
}
