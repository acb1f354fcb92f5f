package csr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient"
)

// Where OpenShift has what proves a name, or has it itself.
const (
	infrastructurePath = "/apis/config.openshift.io/v1/infrastructures/cluster"
	networkPath        = "/apis/config.openshift.io/v1/networks/cluster"
	machinesPath       = "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machines"
	managedNamespace   = "openshift-config-managed"
	kubeletServingCA   = "kubelet-serving-ca"
)

// provable says, before anything is asked, from where the names in a serving request of a
// node can be known.
func provable(snapshot inspect.Snapshot, node string, now time.Time) string {
	if v := snapshot.Cluster.Versions; v.NotOpenShift || v.Cluster == "" {
		return "no serving request: this is not confirmed to be OpenShift"
	}
	from := []string{"its Machine"}
	n, ok := snapshot.Node(node)
	if ok && nodeexec.WayOf(n.Via).ProvesAddress {
		from = append(from, "the address that "+n.Via+" reached")
	}
	if chain := servingOf(snapshot, node); ok && len(chain) > 0 && chain[0].NotAfter.After(n.Time(now)) && pki.CommonName(chain[0].Subject) == "system:node:"+node {
		from = append(from, "its serving certificate, if no Machine refers to it")
	}
	return "its serving names are known from: " + strings.Join(from, "; ")
}

// servingOf is the kubelet's serving certificate and what comes with it; nil: none was read.
func servingOf(snapshot inspect.Snapshot, node string) []*pki.Cert {
	for _, b := range snapshot.Bundles {
		if b.At.Node == node && b.At.Path == kubeletServing {
			return b.Content.Certs
		}
	}
	return nil
}

// originsBy is originsOn for an environment.
func originsBy(env *remediate.Env) func(ctx context.Context, node string, object *corev1.Node) *origins {
	return func(ctx context.Context, node string, object *corev1.Node) *origins {
		return originsOn(ctx, env, node, object)
	}
}

// originsOn reads from where a node's names and addresses are known, and what has others.
// object is its Node.
func originsOn(ctx context.Context, e *remediate.Env, node string, object *corev1.Node) *origins {
	o := newOrigins(node)
	for _, read := range []func(context.Context, *remediate.Env, *corev1.Node) error{o.apis, o.baseDomain, o.ingress, o.ingressControllers, o.services, o.serviceNetworks} {
		if err := read(ctx, e, object); err != nil {
			o.unread = append(o.unread, err.Error())
		}
	}
	for _, read := range []func(context.Context, *remediate.Env, *corev1.Node) error{o.machines, o.reached} {
		if err := read(ctx, e, object); err != nil {
			o.lacking = append(o.lacking, err.Error())
		}
	}
	return o
}

// apis takes the names and addresses of the API.
func (o *origins) apis(ctx context.Context, env *remediate.Env, _ *corev1.Node) error {
	for _, server := range env.Servers {
		o.excludeServer(server, "a server of your kubeconfig")
	}
	o.excludeAPI(env.Kube.REST().Get().URL().String(), "the API server that is asked")
	var infrastructure struct {
		Status struct {
			External string `json:"apiServerURL"`
			Internal string `json:"apiServerInternalURI"`
			Platform any    `json:"platformStatus"`
		} `json:"status"`
	}
	if err := getJSON(ctx, env.Kube, infrastructurePath, &infrastructure); err != nil {
		return fmt.Errorf("read Infrastructure cluster: %w", err)
	}
	o.excludeAPI(infrastructure.Status.External, "a name of the API (Infrastructure cluster)")
	o.excludeAPI(infrastructure.Status.Internal, "a name of the API (Infrastructure cluster)")
	o.excludeAll(infrastructure.Status.Platform)
	if platform, ok := infrastructure.Status.Platform.(map[string]any); ok {
		name, _ := platform["type"].(string)
		o.guestWrites = catalog.GuestWritesMachine(name)
	}
	return nil
}

// excludeAll takes every address in a platform's status: those of the API, of ingress and of
// DNS.
func (o *origins) excludeAll(status any) {
	switch v := status.(type) {
	case map[string]any:
		for _, inner := range v {
			o.excludeAll(inner)
		}
	case []any:
		for _, inner := range v {
			o.excludeAll(inner)
		}
	case string:
		if _, ok := addressOf(v); ok {
			o.exclude(v, "an address of the platform's API or ingress (Infrastructure cluster)")
		}
	}
}

// services takes the names and addresses of all Services.
func (o *origins) services(ctx context.Context, env *remediate.Env, _ *corev1.Node) error {
	err := collect.ListServices(ctx, env.Kube.REST(), func(s *corev1.Service) error {
		o.excludeService(s)
		return nil
	})
	if err != nil {
		return fmt.Errorf("list services: %w", err)
	}
	return nil
}

// excludeService takes the addresses of a Service, and the name by which the DNS search list of Pods leads to it
// ("svc.cluster.local" behind it); longer ones are reserved. A name that the node owns stays its own: by its
// credentials, or its Machine, it has that already, who resolves it on a host (as kube-apiserver does) finds the
// node, and a tenant names Services as it likes. So does an external IP that its Machine has: where tenants may choose
// external IPs, one of them would keep any node from its certificate. What ssh reached, or the node serves, does not
// outweigh it: a node that takes a Service's address is reached there, too.
func (o *origins) excludeService(s *corev1.Service) {
	whose := "an address of Service " + s.Namespace + "/" + s.Name
	chosen := func(host, whose string) {
		if o.ofServices[host] == "" {
			o.ofServices[host] = whose
		}
	}
	chosen(strings.ToLower(s.Name+"."+s.Namespace), "a name of Service "+s.Namespace+"/"+s.Name)
	for _, ip := range s.Spec.ExternalIPs {
		if a, ok := addressOf(ip); ok {
			chosen(a.String(), whose)
		}
	}
	// Not spec.loadBalancerIP: that is what its owner asks for. The status says what it got.
	addresses := slices.Concat([]string{s.Spec.ClusterIP}, s.Spec.ClusterIPs)
	for _, in := range s.Status.LoadBalancer.Ingress {
		addresses = append(addresses, in.IP)
	}
	for _, a := range addresses {
		if _, ok := addressOf(a); ok {
			o.exclude(a, whose)
		}
	}
}

// serviceNetworks takes the networks of Services, of which not all addresses are in use.
func (o *origins) serviceNetworks(ctx context.Context, env *remediate.Env, _ *corev1.Node) error {
	type networks struct {
		Services []string `json:"serviceNetwork"`
	}
	var config struct {
		Spec   networks `json:"spec"`
		Status networks `json:"status"`
	}
	if err := getJSON(ctx, env.Kube, networkPath, &config); err != nil {
		return fmt.Errorf("read Network cluster: %w", err)
	}
	for _, cidr := range slices.Concat(config.Spec.Services, config.Status.Services) {
		o.excludeNetwork(cidr, "the network of Services, "+cidr+" (Network cluster)")
	}
	return nil
}

// machineObject is what is read of a Machine of machine.openshift.io.
type machineObject struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Status   struct {
		NodeRef   *corev1.ObjectReference `json:"nodeRef"`
		Addresses []corev1.NodeAddress    `json:"addresses"`
	} `json:"status"`
}

// machines takes over the addresses of the node's Machine, which the platform's provider
// writes, and takes those of others. A Machine of the node, and Machines that were not read,
// leave a serving certificate nothing to prove: the address in it may have gone to another
// machine since it was issued.
func (o *origins) machines(ctx context.Context, env *remediate.Env, object *corev1.Node) error {
	all, err := listMachines(ctx, env.Kube)
	if apierrors.IsNotFound(err) {
		return errors.New("this cluster has no Machines")
	}
	if err != nil {
		err = fmt.Errorf("list machines of openshift-machine-api: %w", err)
		o.decided = "its serving certificate proves nothing: " + err.Error()
		return err
	}
	return o.ofMachines(all, object)
}

func (o *origins) ofMachines(all []machineObject, object *corev1.Node) error {
	var own []machineObject
	for _, m := range all {
		if m.Status.NodeRef != nil && m.Status.NodeRef.Name == o.node {
			own = append(own, m)
			continue
		}
		for _, a := range m.Status.Addresses {
			o.exclude(a.Address, "an address of Machine "+m.Metadata.Name+", which is not this node's")
		}
	}
	if len(own) == 0 {
		return fmt.Errorf("no Machine refers to Node %s", o.node)
	}
	if err := unusable(own, o.node, object); err != nil {
		o.decided = "its serving certificate proves nothing: " + err.Error()
		return err
	}
	o.decided = "its serving certificate proves nothing more: the Machine " + own[0].Metadata.Name + " decides"
	add := o.addOwned
	if o.guestWrites { // no more than another kubelet's word
		add = o.addOwn
	}
	for _, a := range own[0].Status.Addresses {
		add(a.Address, "Machine "+own[0].Metadata.Name+" has it in status.addresses")
	}
	return nil
}

// unusable says why the Machines that refer to a Node do not tell its addresses.
func unusable(own []machineObject, node string, object *corev1.Node) error {
	switch ref := own[0].Status.NodeRef; {
	case len(own) > 1:
		return fmt.Errorf("the Machines %s and %s refer to Node %s", own[0].Metadata.Name, own[1].Metadata.Name, node)
	case object == nil || ref.UID != "" && ref.UID != object.UID:
		return fmt.Errorf("the Machine %s refers to an earlier Node %s", own[0].Metadata.Name, node)
	case len(own[0].Status.Addresses) == 0:
		return fmt.Errorf("the Machine %s has no addresses", own[0].Metadata.Name)
	}
	return nil
}

func listMachines(ctx context.Context, kube kubeclient.Client) (out []machineObject, err error) {
	var pages foreign.Pages
	next := ""
	for {
		var page struct {
			Metadata metav1.ListMeta `json:"metadata"`
			Items    []machineObject `json:"items"`
		}
		if err := decoded(ctx, kube.REST().Get().AbsPath(machinesPath).Param("limit", "500").Param("continue", next), &page); err != nil {
			return nil, err
		}
		out = append(out, page.Items...)
		next = page.Metadata.Continue
		if more, err := pages.Next(next); !more {
			return out, err
		}
	}
}

// getJSON reads one object for which there is no typed client.
func getJSON(ctx context.Context, kube kubeclient.Client, path string, into any) error {
	return decoded(ctx, kube.REST().Get().AbsPath(path), into)
}

// decoded does a request for JSON, which the kinds of OpenShift have alone.
func decoded(ctx context.Context, request *rest.Request, into any) error {
	answer := request.SetHeader("Accept", "application/json").Do(ctx)
	if err := answer.Error(); err != nil { // in which the server's own words are, unlike in Raw's
		return err
	}
	raw, err := answer.Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// reached takes over the address at which ssh reached the node, and the names in its
// present serving certificate.
func (o *origins) reached(ctx context.Context, env *remediate.Env, _ *corev1.Node) error {
	var at netip.Addr
	var snapshot inspect.Snapshot
	err := env.Retry(ctx, o.node, func(ctx context.Context, n nodeexec.Node) (err error) {
		at = nodeexec.AddressOf(n)
		snapshot, err = env.ReadNode(ctx, n)
		return err
	})
	if err != nil {
		return fmt.Errorf("the node was not read: %w", err)
	}
	user := snapshot.KubeletUser(o.node)
	for _, n := range snapshot.Nodes {
		for _, k := range n.Kubeconfigs {
			if c, ok := k.InUse(); ok {
				o.excludeServer(c.Server, "the server of "+foreign.Text(k.Path)+" on the node")
			}
		}
	}
	var lacking []string
	switch {
	case !at.IsValid():
		lacking = append(lacking, "it was not reached by ssh")
	case user == "":
		lacking = append(lacking, "no kubelet has a certificate on the machine that ssh reached")
	case user != "system:node:"+o.node:
		lacking = append(lacking, fmt.Sprintf("the kubelet on the machine that ssh reached is %s", foreign.QuotedName(user)))
	default:
		o.addOwn(at.String(), "ssh reached the node there, its host key is verified")
	}
	if err := o.served(ctx, env, snapshot); err != nil {
		lacking = append(lacking, err.Error())
	}
	if len(lacking) > 0 {
		return fmt.Errorf("%s", strings.Join(lacking, "; "))
	}
	return nil
}

// served takes over the names in the kubelet's serving certificate, as the approver of
// OpenShift does (cluster-machine-approver pkg/controller/csr_check.go): it has to verify
// against the CA of kubelets, at this time, and to be for this node. Unlike there, the
// node's Machine overrules it: what the Machine has lost is not renewed.
func (o *origins) served(ctx context.Context, env *remediate.Env, snapshot inspect.Snapshot) error {
	if o.decided != "" {
		return errors.New(o.decided)
	}
	ca, err := env.Kube.ConfigMaps(managedNamespace).Get(ctx, kubeletServingCA, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read ConfigMap %s/%s: %w", managedNamespace, kubeletServingCA, err)
	}
	chain := servingOf(snapshot, o.node)
	if len(chain) == 0 {
		return fmt.Errorf("it has no serving certificate")
	}
	leaf := chain[0]
	if err := pki.Verify(chain, pki.LoadedPEM(pki.NewScanner().Within(ctx), []byte(ca.Data["ca-bundle.crt"])), "", env.Now()); err != nil {
		return fmt.Errorf("its serving certificate does not verify against ConfigMap %s/%s: %w", managedNamespace, kubeletServingCA, err)
	}
	if pki.CommonName(leaf.Subject) != "system:node:"+o.node {
		return fmt.Errorf("its serving certificate is for %s", foreign.QuotedName(leaf.Subject))
	}
	for _, host := range slices.Concat(leaf.Names.DNS, leaf.Names.IPs) {
		o.addOwn(host, "its present serving certificate has it, which ConfigMap "+managedNamespace+"/"+kubeletServingCA+" verifies")
	}
	return nil
}
