package csr

import (
	"context"
	"crypto/x509/pkix"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestAKubeletGetsNoNamesThatItGivesItself: a worker writes the API's and others' names into
// its own Node, and asks for a serving certificate for them.
func TestAKubeletGetsNoNamesThatItGivesItself(t *testing.T) {
	t.Parallel()
	openshift, plain := catalog.Versions{Cluster: "4.15.0"}, catalog.Versions{NotOpenShift: true, Kubernetes: "v1.35.4"}
	for name, c := range map[string]struct {
		versions catalog.Versions
		dns      string
		ip       string
	}{
		"the API inside the cluster":        {openshift, "kubernetes.default.svc", ""},
		"a wildcard":                        {openshift, "*.example.com", ""},
		"the API's name":                    {openshift, "api-int.c.example.com", ""},
		"the API's address":                 {openshift, "", "192.0.2.100"},
		"ingress' address":                  {openshift, "", "192.0.2.101"},
		"the address of a Service":          {openshift, "", "172.30.0.1"},
		"the address of a load balancer":    {openshift, "", "192.0.2.110"},
		"a Service":                         {openshift, "db.shop", ""},
		"loopback":                          {openshift, "localhost", "127.0.0.1"},
		"the server of a kubeconfig":        {openshift, "bastion.example.com", ""},
		"another Machine's address":         {openshift, "", "192.0.2.8"},
		"a free address":                    {openshift, "", "192.0.2.200"},
		"its own names on plain Kubernetes": {plain, "worker-0", "192.0.2.7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &remediatetest.RequestsAPI{Signs: true}
			a, node := remediatetest.ServingAsking(t), remediatetest.WorkerZero()
			for _, host := range strings.Fields(c.dns) {
				a.Asks.DNSNames = append(a.Asks.DNSNames, host)
				node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: host})
			}
			for _, ip := range strings.Fields(c.ip) {
				a.Asks.IPAddresses = append(a.Asks.IPAddresses, net.ParseIP(ip))
				node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip})
			}
			api.Add(a.Made(t))
			api.Before = func(string, string) *apierrors.StatusError {
				api.Nodes["worker-0"] = node
				return nil
			}
			approved, told, err := leftOver(t, c.versions, api, func(e *remediate.Env) { e.Servers = []string{"https://bastion.example.com:6443"} })
			if len(approved) > 0 {
				t.Fatalf("approved %q\n%s", approved, told)
			}
			for _, want := range []string{"NOT approved, as its names are not proven", "openssl req -noout -text", "kubectl certificate approve csr-serving"} {
				if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(told, want) {
					t.Errorf("%q is not said: %v\n%s", want, err, told)
				}
			}
		})
	}
}

// TestAKubeletGetsNoNameOfIngressOrOfTheAPI: its Machine has the name, too, as where a
// token's thief has chosen the name of the Node. why is a part of why it is left to a person;
// empty: it is approved.
func TestAKubeletGetsNoNameOfIngressOrOfTheAPI(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "", errors.New("no"))
	for name, c := range map[string]struct {
		dns    string
		others map[string]any
		why    string
	}{
		"a name of the cluster's domain":          {dns: "worker-0.c.example.com"},
		"a name that ends like ingress' domain":   {dns: "my-apps.c.example.com"},
		"no IngressControllers in this cluster":   {dns: "worker-0.c.example.com", others: map[string]any{ingressControllersPath: apierrors.NewNotFound(schema.GroupResource{}, "")}},
		"the console's host":                      {dns: "console-openshift-console.apps.c.example.com", why: `in the domain of ingress, apps.c.example.com (Ingress cluster)`},
		"any host of ingress, in any case":        {dns: "a.b.APPS.c.example.com", why: "in the domain of ingress"},
		"ingress' domain itself":                  {dns: "apps.c.example.com", why: "in the domain of ingress"},
		"the domain of the users' routes":         {dns: "a.shop.example.org", why: "in the domain of ingress, shop.example.org"},
		"a host of a shard":                       {dns: "a.shard.example.com", why: "IngressController shard"},
		"the console's host of its own":           {dns: "console.corp.example", why: "a host of a component's Route (Ingress cluster)"},
		"a host of a component, not served yet":   {dns: "login.corp.example", why: "a host of a component's Route (Ingress cluster)"},
		"api of the base domain":                  {dns: "api.c.example.com", others: map[string]any{infrastructurePath: m{}}, why: "a name of the API (DNS cluster)"},
		"api-int of the base domain":              {dns: "api-int.c.example.com", others: map[string]any{infrastructurePath: m{}}, why: "a name of the API (DNS cluster)"},
		"api of Infrastructure":                   {dns: "api.c.example.com", why: "a name of the API (Infrastructure cluster)"},
		"an Ingress that may not be read":         {dns: "worker-0.c.example.com", others: map[string]any{ingressPath: forbidden}, why: "read Ingress cluster: "},
		"IngressControllers that may not be read": {dns: "worker-0.c.example.com", others: map[string]any{ingressControllersPath: forbidden}, why: "list IngressControllers: "},
		"a DNS that may not be read":              {dns: "worker-0.c.example.com", others: map[string]any{dnsPath: forbidden}, why: "read DNS cluster: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, a, node := &remediatetest.RequestsAPI{Signs: true, Others: remediatetest.UsualObjects()}, remediatetest.ServingAsking(t), remediatetest.WorkerZero()
			a.Asks.DNSNames = append(a.Asks.DNSNames, c.dns)
			node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: c.dns})
			api.Others[machinesPath] = m{"items": []machineObject{{Metadata: metav1.ObjectMeta{Name: "m-0"}}}}
			list := api.Others[machinesPath].(m)["items"].([]machineObject)
			list[0].Status.NodeRef, list[0].Status.Addresses = &corev1.ObjectReference{Name: "worker-0"}, node.Status.Addresses
			maps.Copy(api.Others, c.others)
			api.Add(a.Made(t))
			api.Before = func(string, string) *apierrors.StatusError {
				api.Nodes["worker-0"] = node
				return nil
			}
			approved, told, err := leftOver(t, catalog.Versions{Cluster: "4.15.0"}, api, nil)
			switch {
			case c.why == "" && (err != nil || len(approved) != 1):
				t.Errorf("%v, approved %q\n%s", err, approved, told)
			case c.why != "" && (err == nil || len(approved) > 0 || !strings.Contains(err.Error(), c.why)):
				t.Errorf("%v, approved %q, want %q", err, approved, c.why)
			}
		})
	}
}

// at is a node that was reached at an address.
type at struct {
	nodeexec.Node
	address string
}

func (a at) Address() netip.Addr { return netip.MustParseAddr(a.address) }

// TestFromWhereTheAddressesOfANodeAreKnown: why is a part of why its request is left to a
// person; empty: it is approved.
func TestFromWhereTheAddressesOfANodeAreKnown(t *testing.T) {
	t.Parallel()
	now := time.Now()
	subject := func(node string) pkitest.Option {
		return pkitest.Subject(pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}})
	}
	signer, other := pkitest.NewCA("csr-signer", now.Add(-time.Hour), now.Add(time.Hour)), pkitest.NewCA("other", now.Add(-time.Hour), now.Add(time.Hour))
	names := []pkitest.Option{pkitest.DNS("worker-0"), pkitest.IPs("192.0.2.7")}
	serving := func(by *pkitest.Authority, node string, to time.Duration) []byte {
		return by.Issue(node, now.Add(-time.Hour), now.Add(to), append(names, subject(node))...).CertPEM
	}
	client := func(node string) []byte {
		return other.Issue(node, now.Add(-time.Hour), now.Add(time.Hour), subject(node)).CertPEM
	}
	machines := func(list ...machineObject) map[string]any {
		return map[string]any{machinesPath: map[string]any{"items": list}}
	}
	of := func(name, node, uid string, addresses ...string) machineObject {
		m := machineObject{Metadata: metav1.ObjectMeta{Name: name}}
		if node != "" {
			m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: node, UID: "uid-" + "0"}
		}
		if uid != "" {
			m.Status.NodeRef.UID = "uid-9"
		}
		for _, a := range addresses {
			m.Status.Addresses = append(m.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
		}
		return m
	}
	no := func(resource string) *apierrors.StatusError {
		return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no"))
	}
	noMachines := map[string]any{machinesPath: apierrors.NewNotFound(schema.GroupResource{Resource: "machines"}, "")}
	proven := machines(of("m-0", "worker-0", "", "192.0.2.7"))
	with := func(base map[string]any, path string, answer any) map[string]any {
		out := maps.Clone(base)
		out[path] = answer
		return out
	}
	twin := remediatetest.WorkerZero()
	twin.Name = "worker-1"
	listed := func(n map[string]*corev1.Node) { n["worker-1"] = twin }
	master := remediatetest.WorkerZero()
	master.Name, master.Labels = "master-0", map[string]string{"node-role.kubernetes.io/control-plane": ""}
	for name, c := range map[string]struct {
		others  map[string]any
		reached string
		client  []byte // on the machine that was reached
		serving []byte
		node    func(map[string]*corev1.Node)
		ask     []string // addresses, beside the usual
		why     string
		says    string // where it is approved, too
	}{
		"its Machine": {others: proven},
		"its Machine, by an address in another form": {others: machines(of("m-0", "worker-0", "", "::ffff:192.0.2.7"))},
		"its Machine, where a tenant's Service wants the address": {others: with(proven, "/api/v1/services", map[string]any{"items": []any{map[string]any{
			"metadata": map[string]any{"namespace": "tenant", "name": "mine"}, "spec": map[string]any{"type": "LoadBalancer", "loadBalancerIP": "192.0.2.7", "clusterIP": "172.30.0.9"}}}})},
		"a tenant's Service that has the address": {others: with(proven, "/api/v1/services", map[string]any{"items": []any{map[string]any{
			"metadata": map[string]any{"namespace": "tenant", "name": "mine"}, "status": map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": "192.0.2.7"}}}}}}}), why: "192.0.2.7, which is an address of Service tenant/mine"},
		"ssh, where its kubelet is":                              {reached: "192.0.2.7", client: client("worker-0")},
		"ssh, with a zone":                                       {reached: "::ffff:192.0.2.7%eth0", client: client("worker-0")},
		"its serving certificate":                                {serving: serving(signer, "worker-0", time.Hour)},
		"its serving certificate, where there is no Machine API": {others: noMachines, serving: serving(signer, "worker-0", time.Hour)},

		"its serving certificate has what its Machine has not":   {others: machines(of("m-0", "worker-0", "", "192.0.2.77")), serving: serving(signer, "worker-0", time.Hour), why: "its serving certificate proves nothing more: the Machine m-0 decides"},
		"its serving certificate, and a Machine without any":     {others: machines(of("m-0", "worker-0", "")), serving: serving(signer, "worker-0", time.Hour), why: "the Machine m-0 has no addresses"},
		"its serving certificate, and an earlier Node's Machine": {others: machines(of("m-0", "worker-0", "9", "192.0.2.7")), serving: serving(signer, "worker-0", time.Hour), why: "its serving certificate proves nothing: the Machine m-0 refers to an earlier Node worker-0"},
		"its serving certificate, and two Machines":              {others: machines(of("m-0", "worker-0", "", "192.0.2.7"), of("m-9", "worker-0", "")), serving: serving(signer, "worker-0", time.Hour), why: "the Machines m-0 and m-9 refer to Node worker-0"},
		"its serving certificate, and Machines not read":         {others: map[string]any{machinesPath: no("machines")}, serving: serving(signer, "worker-0", time.Hour), why: "its serving certificate proves nothing: list machines of openshift-machine-api: machines is forbidden"},

		"nothing":                                     {why: "known only from its kubelet (no Machine refers to Node worker-0; it was not reached by ssh; it has no serving certificate)"},
		"no Machines in this cluster":                 {others: noMachines, why: "this cluster has no Machines"},
		"Machines that may not be read":               {others: map[string]any{machinesPath: no("machines")}, why: "list machines of openshift-machine-api: machines is forbidden"},
		"the Machine of another Node":                 {others: machines(of("m-1", "worker-1", "", "192.0.2.7")), why: "an address of Machine m-1, which is not this node's"},
		"a Machine without a Node":                    {others: machines(of("m-2", "", "", "192.0.2.7")), why: "an address of Machine m-2"},
		"the Machine of an earlier Node of this name": {others: machines(of("m-0", "worker-0", "9", "192.0.2.7")), why: "refers to an earlier Node worker-0"},
		"two Machines":                                {others: machines(of("m-0", "worker-0", "", "192.0.2.7"), of("m-9", "worker-0", "", "192.0.2.9")), why: "Machines m-0 and m-9 refer to Node worker-0"},
		"a Machine that has the VIP of the API": {others: machines(of("m-0", "worker-0", "", "192.0.2.7", "192.0.2.100")), node: func(n map[string]*corev1.Node) {
			n["worker-0"].Status.Addresses[1].Address = "192.0.2.100"
		}, ask: []string{"192.0.2.100"}, why: "192.0.2.100, which is an address of the platform's API or ingress"},
		"a Machine with another address":                                          {others: machines(of("m-0", "worker-0", "", "192.0.2.77")), why: "192.0.2.7: that this is an address"},
		"ssh to another address":                                                  {reached: "192.0.2.9", client: client("worker-0"), why: "192.0.2.7: that this is an address of node worker-0 is known only from its kubelet (no Machine refers to Node worker-0; it has no serving certificate)"},
		"ssh to another machine":                                                  {reached: "192.0.2.7", client: client("worker-1"), why: `the kubelet on the machine that ssh reached is "system:node:worker-1"`},
		"ssh to a machine without a kubelet":                                      {reached: "192.0.2.7", why: "no kubelet has a certificate on the machine that ssh reached"},
		"a serving certificate of another CA":                                     {serving: serving(other, "worker-0", time.Hour), why: "does not verify against ConfigMap openshift-config-managed/kubelet-serving-ca"},
		"a serving certificate of another node":                                   {serving: serving(signer, "worker-1", time.Hour), why: `its serving certificate is for`},
		"a serving certificate that has expired":                                  {serving: serving(signer, "worker-0", -time.Minute), why: "does not verify"},
		"Services that may not be read":                                           {others: with(proven, "/api/v1/services", no("services")), why: "list services: services is forbidden"},
		"an Infrastructure that may not be read":                                  {others: with(proven, infrastructurePath, no("infrastructures")), why: "read Infrastructure cluster: infrastructures is forbidden"},
		"a Network that may not be read":                                          {others: with(proven, networkPath, no("networks")), why: "read Network cluster: networks is forbidden"},
		"a Node that is not there":                                                {others: proven, node: func(n map[string]*corev1.Node) { delete(n, "worker-0") }, why: "there is no Node worker-0"},
		"a Node that was made again under its name":                               {others: proven, node: func(n map[string]*corev1.Node) { n["worker-0"].UID = "uid-1" }, why: "refers to an earlier Node worker-0"},
		"its Machine, and another Node that has its name and address in its list": {others: proven, node: listed, says: "claimed  192.0.2.7: by Node worker-1, too"},
		"its Machine, which has what the machine says, and another Node that has its address in its list": {others: with(proven, infrastructurePath, map[string]any{"status": map[string]any{
			"apiServerURL": "https://api.example.com:6443", "apiServerInternalURI": "https://api-int.example.com:6443", "platformStatus": map[string]any{"type": "VSphere"}}}), node: listed, why: "is an address of Node worker-1, too"},
		"its Machine, which has what the machine says": {others: with(proven, infrastructurePath, map[string]any{"status": map[string]any{
			"apiServerURL": "https://api.example.com:6443", "apiServerInternalURI": "https://api-int.example.com:6443", "platformStatus": map[string]any{"type": "VSphere"}}})},
		"its Machine, and a control plane node that has its address in its list":       {others: proven, node: func(n map[string]*corev1.Node) { n["master-0"] = master }, why: "192.0.2.7, which is an address of control plane node master-0"},
		"another Node whose own Machine has the address, too":                          {others: machines(of("m-0", "worker-0", "", "192.0.2.7"), of("m-1", "worker-1", "", "192.0.2.7")), node: listed, why: "an address of Machine m-1, which is not this node's"},
		"ssh, and another Node that has its address in its list":                       {reached: "192.0.2.7", client: client("worker-0"), node: listed, why: "is an address of Node worker-1, too"},
		"its serving certificate, and another Node that has its address in its list":   {serving: serving(signer, "worker-0", time.Hour), node: listed, why: "is an address of Node worker-1, too"},
		"an earlier Node's Machine, and another Node that has its address in its list": {others: machines(of("m-0", "worker-0", "9", "192.0.2.7")), node: listed, why: "is an address of Node worker-1, too"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := &remediatetest.RequestsAPI{Signs: true, Others: remediatetest.UsualObjects()}
			api.Others[machinesPath] = machines()[machinesPath]
			maps.Copy(api.Others, c.others)
			api.Others["/api/v1/namespaces/openshift-config-managed/configmaps/kubelet-serving-ca"] = corev1.ConfigMap{Data: map[string]string{"ca-bundle.crt": string(signer.CertPEM)}}
			asks := remediatetest.ServingAsking(t)
			for _, ip := range c.ask {
				asks.Asks.IPAddresses = append(asks.Asks.IPAddresses, net.ParseIP(ip))
			}
			api.Add(asks.Made(t))
			approved, told, err := leftOver(t, catalog.Versions{Cluster: "4.15.0"}, api, func(e *remediate.Env) {
				api.Nodes["worker-0"].UID = "uid-0"
				if c.node != nil {
					c.node(api.Nodes)
				}
				open := e.Open
				e.Open = func(ctx context.Context, name string) (nodeexec.Node, error) {
					n, err := open(ctx, name)
					if c.reached != "" && err == nil {
						n = at{n, c.reached}
					}
					return n, err
				}
				e.ReadNode = func(context.Context, nodeexec.Node) (inspect.Snapshot, error) {
					s := inspect.Snapshot{Nodes: []inspect.Node{{Name: "worker-0", Via: "ssh"}}}
					for path, text := range map[string][]byte{inspect.KubeletClient: c.client, kubeletServing: c.serving} {
						for _, f := range pki.NewScanner().Scan(text) {
							s.Bundles = append(s.Bundles, inspect.Bundle{At: pki.Location{Node: "worker-0", Path: path}, Content: f.Content})
						}
					}
					return s, nil
				}
			})
			switch {
			case c.why == "" && (err != nil || !slices.Equal(approved, []string{"csr-serving"}) || !strings.Contains(told, "known    192.0.2.7: ") || !strings.Contains(told, c.says) || c.says == "" && strings.Contains(told, "claimed")):
				t.Errorf("%v, approved %q\n%s", err, approved, told)
			case c.why != "" && (err == nil || len(approved) > 0 || !strings.Contains(err.Error(), c.why)):
				t.Errorf("%v, approved %q, want %q", err, approved, c.why)
			}
		})
	}
}
