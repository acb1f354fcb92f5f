package csr

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestNamesOfOthersOnLaterPages: what has a name, or proves one, may be on the second page of a list.
// The Machine of worker-0 has all the names and addresses that are asked for. why is a part of why
// the request is left to a person; empty: it is approved.
func TestNamesOfOthersOnLaterPages(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	page := func(next string, items ...m) m { return m{"metadata": m{"continue": next}, "items": items} }
	shard := func(domain string) m { return m{"metadata": m{"name": "shard"}, "status": m{"domain": domain}} }
	machine := func(name, node string, names ...string) m {
		list := []m{{"type": "InternalIP", "address": "192.0.2.7"}}
		for _, n := range names {
			list = append(list, m{"type": "InternalDNS", "address": n})
		}
		if node != "worker-0" {
			list = nil
		}
		return m{"metadata": m{"name": name}, "status": m{"nodeRef": m{"kind": "Node", "name": node}, "addresses": list}}
	}
	for name, c := range map[string]struct {
		dns  string
		path string
		list []m // its pages, again and again
		why  string
	}{
		"the IngressController of a shard":           {"a.far.example.com", ingressControllersPath, []m{page("2", shard("near.example.com")), page("", shard("far.example.com"))}, "IngressController shard"},
		"IngressControllers whose list does not end": {"worker-0.c.example.com", ingressControllersPath, []m{page("2")}, "the API server's list does not go on: page 2 leads to itself"},
		"its Machine":                       {"worker-0.c.example.com", machinesPath, []m{page("2", machine("m-1", "worker-1")), page("", machine("m-0", "worker-0", "worker-0.c.example.com"))}, ""},
		"a server of the user's kubeconfig": {"bastion.example.com", machinesPath, []m{page("", machine("m-0", "worker-0", "bastion.example.com"))}, "bastion.example.com\", which is a server of your kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, a, node := &remediatetest.RequestsAPI{Signs: true, Others: remediatetest.UsualObjects()}, remediatetest.ServingAsking(t), remediatetest.WorkerZero()
			a.Asks.DNSNames = append(a.Asks.DNSNames, c.dns)
			node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: c.dns})
			if c.path != machinesPath {
				api.Others[machinesPath] = page("", machine("m-0", "worker-0", c.dns))
			}
			api.Add(a.Made(t))
			read := 0
			api.Before = func(_, path string) *apierrors.StatusError {
				api.Nodes["worker-0"] = node
				if path == c.path {
					api.Others[path] = c.list[read%len(c.list)]
					read++
				}
				return nil
			}
			approved, told, err := leftOver(t, catalog.Versions{Cluster: "4.15.0"}, api, func(e *remediate.Env) { e.Servers = []string{"https://bastion.example.com:6443"} })
			switch {
			case c.why == "" && (err != nil || len(approved) != 1):
				t.Errorf("%v, approved %q\n%s", err, approved, told)
			case c.why != "" && (err == nil || len(approved) > 0 || !strings.Contains(err.Error(), c.why)):
				t.Errorf("%v, approved %q, want %q", err, approved, c.why)
			}
		})
	}
}
