package csr

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// origins are what is known of a node's names and addresses from others than its kubelet,
// which writes the addresses of its Node itself; and which names and addresses are not a
// node's at all. It is values only: what reads them is in origins.go.
type origins struct {
	node        string
	names       map[string]string     // DNS name in lower case: from where it is known
	addresses   map[netip.Addr]string // from where it is known
	owned       map[string]bool       // as hostsOf says them: what proves them outweighs what another kubelet writes into its Node
	excluded    map[string]string     // a name in lower case, or an address: what has it
	ofServices  map[string]string     // "name.namespace" or an external IP of a Service, which a tenant chooses: what has it, where it is not owned
	networks    []network             // whose addresses Services have
	domains     []domain              // whose names Routes have
	unread      []string              // why it is unknown what else has names: with any, nothing is approved
	lacking     []string              // what could have known more, and why it did not
	guestWrites bool                  // the Machines' addresses are what the machines say of themselves: they outweigh no other kubelet
	decided     string                // why its serving certificate proves nothing; empty: it proves its names
}

type network struct {
	prefix netip.Prefix
	owner  string
}

// domain is a domain in lower case, with all names beneath it.
type domain struct{ name, owner string }

// newOrigins knows a node by its name alone, which its credentials prove.
func newOrigins(node string) *origins {
	o := &origins{node: node, names: map[string]string{}, addresses: map[netip.Addr]string{}, owned: map[string]bool{}, excluded: map[string]string{}, ofServices: map[string]string{}}
	if _, err := netip.ParseAddr(node); err == nil {
		return o // a name that is an address proves no address
	}
	o.addOwn(node, "it is the Node's name")
	o.owned[strings.ToLower(node)] = true
	if short, _, more := strings.Cut(node, "."); more {
		o.addOwn(short, "it is the first label of the Node's name")
	}
	return o
}

// addOwn adds a name or an address of the node, and from where it is known. What it is known
// from first stays.
func (o *origins) addOwn(host, from string) {
	if a, ok := addressOf(host); ok {
		if _, known := o.addresses[a]; !known {
			o.addresses[a] = from
		}
		return
	}
	if name := strings.ToLower(host); name != "" && o.names[name] == "" {
		o.names[name] = from
	}
}

// addOwned adds what the node's Machine has: who writes that is no kubelet.
func (o *origins) addOwned(host, from string) {
	o.addOwn(host, from)
	if a, ok := addressOf(host); ok {
		host = a.String()
	}
	o.owned[strings.ToLower(host)] = true
}

// exclude adds a name or an address that is not this node's.
func (o *origins) exclude(host, whose string) {
	key := strings.ToLower(strings.TrimSuffix(host, "."))
	if a, ok := addressOf(host); ok {
		key = a.String()
	}
	if key != "" && o.excluded[key] == "" {
		o.excluded[key] = whose
	}
}

// excludeServer adds the host of an API server's URL.
func (o *origins) excludeServer(server, whose string) {
	o.exclude(serverHost(server), whose)
}

// serverHost is the host of a URL, which may lack its scheme; empty: it has none.
func serverHost(server string) string {
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	u, err := url.Parse(server)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// excludeAPI adds a name of the API, and its first label, by which clients in its domain reach it.
func (o *origins) excludeAPI(server, whose string) {
	host := serverHost(server)
	o.exclude(host, whose)
	if _, address := addressOf(host); address {
		return
	}
	if label, _, more := strings.Cut(host, "."); more {
		o.exclude(label, "the first label of "+whose)
	}
}

// excludeNetwork adds the addresses of a CIDR.
func (o *origins) excludeNetwork(cidr, whose string) {
	if p, err := netip.ParsePrefix(cidr); err == nil {
		o.networks = append(o.networks, network{p.Masked(), whose})
	}
}

// addressOf reads an address in any of its forms: one of IPv4 in IPv6 is that of IPv4, and a
// zone is left out.
func addressOf(host string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		return netip.Addr{}, false
	}
	return a.WithZone("").Unmap(), true
}

// manualApprovalError is why a request for a serving certificate is left to a person: its requester is
// the node, and not all of its names are known to be.
type manualApprovalError struct{ reason string }

func (h *manualApprovalError) Error() string { return h.reason }

func manualApproval(format string, args ...any) error {
	return &manualApprovalError{fmt.Sprintf(format, args...)}
}

// errUncompared: the names of a request were compared with its Node only.
var errUncompared error = &manualApprovalError{"its names were compared with nothing but what its kubelet writes"}

// refuse says why the names of a request are not all the node's; nil: they are.
func (o *origins) refuse(asks *x509.CertificateRequest) error {
	for _, name := range asks.DNSNames {
		if err := o.refuseName(name); err != nil {
			return err
		}
	}
	for _, ip := range asks.IPAddresses {
		if err := o.refuseAddress(ip); err != nil {
			return err
		}
	}
	if len(o.unread) > 0 {
		return manualApproval("which names and addresses belong to others is unknown: %s", strings.Join(o.unread, "; "))
	}
	return nil
}

func (o *origins) refuseName(name string) error {
	lower := strings.ToLower(name)
	switch {
	case strings.Contains(name, "*"):
		return manualApproval("it asks for %s: a wildcard is no node's name", foreign.QuotedName(name))
	case !plainName(lower):
		return manualApproval("it asks for %s, which is no plain DNS name", foreign.QuotedName(name))
	case reserved(lower) != "":
		return manualApproval("it asks for %s, which is %s", foreign.QuotedName(name), reserved(lower))
	case o.excluded[lower] != "":
		return manualApproval("it asks for %s, which is %s", foreign.QuotedName(name), o.excluded[lower])
	case o.ofServices[lower] != "" && !o.owned[lower]:
		return manualApproval("it asks for %s, which is %s", foreign.QuotedName(name), o.ofServices[lower])
	case o.inDomain(lower) != "":
		return manualApproval("it asks for %s, which is %s", foreign.QuotedName(name), o.inDomain(lower))
	case o.names[lower] == "":
		return manualApproval("it asks for %s: that this is a name of node %s is known only from its kubelet%s", foreign.QuotedName(name), o.node, o.without())
	}
	return nil
}

func (o *origins) refuseAddress(ip net.IP) error {
	a, ok := netip.AddrFromSlice(ip)
	if !ok {
		return manualApproval("it asks for %q, which is no address", ip)
	}
	a = a.Unmap()
	in := slices.IndexFunc(o.networks, func(n network) bool { return n.prefix.Contains(a) })
	switch {
	case special(a) != "":
		return manualApproval("it asks for %s, which is %s", a, special(a))
	case o.excluded[a.String()] != "":
		return manualApproval("it asks for %s, which is %s", a, o.excluded[a.String()])
	case o.ofServices[a.String()] != "" && !o.owned[a.String()]:
		return manualApproval("it asks for %s, which is %s", a, o.ofServices[a.String()])
	case in >= 0:
		return manualApproval("it asks for %s, which is in %s", a, o.networks[in].owner)
	case o.addresses[a] == "":
		return manualApproval("it asks for %s: that this is an address of node %s is known only from its kubelet%s", a, o.node, o.without())
	}
	return nil
}

// without says what could have known more.
func (o *origins) without() string {
	if len(o.lacking) == 0 {
		return ""
	}
	return " (" + strings.Join(o.lacking, "; ") + ")"
}

// proofs say of each name of a request from where it is known.
func (o *origins) proofs(asks *x509.CertificateRequest) (out []string) {
	for _, name := range asks.DNSNames {
		out = append(out, name+": "+o.names[strings.ToLower(name)])
	}
	for _, ip := range asks.IPAddresses {
		if a, ok := netip.AddrFromSlice(ip); ok {
			out = append(out, a.Unmap().String()+": "+o.addresses[a.Unmap()])
		}
	}
	return out
}

// plainName reports whether a name in lower case is labels of letters, digits, '-' and '_',
// and no address.
func plainName(name string) bool {
	if _, address := addressOf(name); address || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// reserved says what a name is that no node may have; empty: none of these.
func reserved(name string) string {
	labels := strings.Split(name, ".")
	switch {
	case labels[0] == "localhost" || labels[len(labels)-1] == "localhost":
		return "the machine itself, for every client"
	case slices.Contains([]string{"kubernetes", "kubernetes.default", "openshift", "openshift.default"}, name):
		return "a name of the API server inside the cluster"
	case name == "api" || name == "api-int":
		return "how clients call the API in its own domain"
	case slices.Contains(labels, "svc") || name == "cluster.local" || strings.HasSuffix(name, ".cluster.local"):
		return "a name of Services"
	}
	return ""
}

// special says what an address is that no node is reached at from elsewhere; empty: none of
// these.
func special(a netip.Addr) string {
	switch {
	case a.IsUnspecified():
		return "the unspecified address"
	case a.IsLoopback():
		return "a loopback address"
	case a.IsMulticast():
		return "a multicast address"
	case a.IsLinkLocalUnicast():
		return "a link-local address"
	case a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "the broadcast address"
	}
	return ""
}

// listedHosts are what a Node has in status.addresses, which its kubelet writes: they may be tens of thousands,
// and are parsed once.
type listedHosts struct {
	names map[string]bool // in lower case
	ips   map[netip.Addr]bool
}

func listedBy(node *corev1.Node) *listedHosts {
	l := &listedHosts{names: map[string]bool{}, ips: map[netip.Addr]bool{}}
	for _, a := range node.Status.Addresses {
		if a.Type != corev1.NodeInternalIP && a.Type != corev1.NodeExternalIP {
			l.names[strings.ToLower(a.Address)] = true
		}
		if ip, err := netip.ParseAddr(a.Address); err == nil && ip.Zone() == "" {
			l.ips[ip.Unmap()] = true
		}
	}
	return l
}

func (l *listedHosts) hasIP(ip net.IP) bool {
	a, ok := netip.AddrFromSlice(ip)
	return ok && l.ips[a.Unmap()]
}

// peerHosts say of names and addresses which other Node has them.
type peerHosts struct {
	named  map[string]string // the Node's name in lower case
	short  map[string]string // its first label
	listed map[string]string // what it has in status.addresses: a name in lower case, or an address
	// controlPlane is listed, of control plane nodes alone, whose kubelets are trusted: it outweighs any Machine.
	controlPlane map[string]string
}

func newPeerHosts() *peerHosts {
	return &peerHosts{named: map[string]string{}, short: map[string]string{}, listed: map[string]string{}, controlPlane: map[string]string{}}
}

func (p *peerHosts) add(node *corev1.Node) {
	first := func(of map[string]string, key string) {
		if of[key] == "" {
			of[key] = node.Name
		}
	}
	name := strings.ToLower(node.Name)
	label, _, _ := strings.Cut(name, ".")
	first(p.named, name)
	first(p.short, label)
	master := catalog.RoleOf(node.Labels) == catalog.RoleMaster // no kubelet may give itself that label
	for _, a := range node.Status.Addresses {
		host := strings.ToLower(a.Address)
		if ip, ok := addressOf(a.Address); ok {
			first(p.listed, host)
			host = ip.String()
		}
		first(p.listed, host)
		if master {
			first(p.controlPlane, host)
		}
	}
}

// refuse refuses names that another Node has, too: a kubelet writes the addresses of its
// Node itself, and might write another one's. o is what is known of the node; nil: nothing.
func (p *peerHosts) refuse(node string, asks *x509.CertificateRequest, o *origins) error {
	if p == nil {
		return nil
	}
	for _, name := range asks.DNSNames {
		lower := strings.ToLower(name)
		peer := p.named[lower]
		if peer == "" && !strings.EqualFold(name, node) { // two nodes may have one short name, in different domains; neither owns it
			peer = p.short[lower]
		}
		if peer != "" {
			return manualApproval("it asks for %s, which is a name of Node %s, too", name, peer)
		}
	}
	for _, host := range hostsOf(asks) {
		if peer := p.controlPlane[host]; peer != "" && !strings.EqualFold(host, node) {
			return manualApproval("it asks for %s, which is an address of control plane node %s", host, peer)
		}
		if peer := p.listed[host]; peer != "" && (o == nil || !o.owned[host]) {
			return manualApproval("it asks for %s, which is an address of Node %s, too", host, peer)
		}
	}
	return nil
}

// claims say which names of a request that was not refused are in the list of another Node, too.
func (p *peerHosts) claims(asks *x509.CertificateRequest) (out []string) {
	for _, host := range hostsOf(asks) {
		if peer := p.listed[host]; peer != "" {
			out = append(out, host+": by Node "+peer+", too, in status.addresses, which its kubelet writes")
		}
	}
	return out
}

// hostsOf are the names of a request in lower case, and its addresses.
func hostsOf(asks *x509.CertificateRequest) (out []string) {
	for _, name := range asks.DNSNames {
		out = append(out, strings.ToLower(name))
	}
	for _, ip := range asks.IPAddresses {
		if a, ok := netip.AddrFromSlice(ip); ok {
			out = append(out, a.Unmap().String())
		}
	}
	return out
}
