package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// KubeletClient names the certificate with which a kubelet works: a link to it.
const KubeletClient = "/var/lib/kubelet/pki/kubelet-client-current.pem"

// Dialled returns the address, host:port, that a client with this server in its
// kubeconfig connects to, and the name that it expects there.
func (c KubeconfigCluster) Dialled() (address, name string, err error) {
	u, err := url.Parse(unbracketed(c.Server))
	if err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return "", "", fmt.Errorf("server %s is no https:// address", foreign.QuotedName(ServerURL(c.Server)))
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	name = c.ServerName
	if name == "" {
		name = u.Hostname()
	}
	host := u.Hostname()
	if !dialable(host) { // it gets into commands that are printed
		return "", "", fmt.Errorf("the host of server %s is neither an IP address nor a DNS name", foreign.Quoted(ServerURL(c.Server)))
	}
	if strings.Contains(host, ":") { // IPv6
		host = "[" + host + "]"
	}
	return host + ":" + port, name, nil
}

// AskReadyz is a command, for a person, that asks a server whether it is ready. Its address is host:port.
func AskReadyz(address string) string {
	if a, err := netip.ParseAddrPort(address); err == nil && a.Addr().Is6() { // a shell could read brackets as a pattern
		return foreign.Command("", "curl -kv 'https://[%s]:%d/readyz'", a.Addr().String(), a.Port())
	}
	return foreign.Command("", "curl -kv https://%s/readyz", address)
}

// dialable reports whether a host is an IP address, or has the characters of a DNS name alone.
func dialable(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Zone() == "" || dialable(addr.Zone())
	}
	return strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789-._") == "" && !strings.HasPrefix(host, "-")
}

// unbracketed takes off brackets around what is no IPv6 address. multus' thin_entrypoint
// writes them around any host (cmd/thin_entrypoint/main.go v4.2.2), and net/url takes
// them for a mistake (from Go 1.25.2 on).
func unbracketed(server string) string {
	scheme, rest, ok := strings.Cut(server, "://[")
	host, port, closed := strings.Cut(rest, "]")
	if !ok || !closed || strings.Contains(host, ":") {
		return server
	}
	return scheme + "://" + host + port
}

// ServerName is the name that a row of the catalog means in this cluster, and "" for
// a row that means none; false where it is unknown, or depends on a kubeconfig.
func ServerName(n catalog.ServerName, c Cluster) (string, bool) {
	server := ""
	switch n {
	case catalog.NameAny:
		return "", true
	case catalog.NameInKubeconfig, catalog.NameClient:
		return "", false
	case catalog.NameInternal:
		server = c.Internal
	case catalog.NameExternal:
		server = c.External
	default:
		return string(n), true
	}
	_, name, err := KubeconfigCluster{Server: server}.Dialled()
	return name, err == nil
}

// InUse returns the cluster of the current context.
func (k Kubeconfig) InUse() (KubeconfigCluster, bool) {
	for _, c := range k.Clusters {
		if c.Name == k.Current && k.Current != "" {
			return c, true
		}
	}
	return KubeconfigCluster{}, false
}

// Trusted returns the certificates that a client with this kubeconfig on that
// node trusts, as far as they were read: those in the file itself that client-go loads.
func (s *Snapshot) Trusted(node string, k Kubeconfig) []*pki.Cert {
	loaded, _ := s.Loaded(node, k)
	return loaded
}

// Loaded is Trusted, and what stands in the file beside that, which client-go skips.
func (s *Snapshot) Loaded(node string, k Kubeconfig) ([]*pki.Cert, []pki.Skipped) {
	at, ok := k.embedded(node)
	if !ok {
		return nil, nil
	}
	for i := range s.Bundles {
		if s.Bundles[i].At == at {
			return s.Bundles[i].Content.LoadedBy(pki.ReaderGo)
		}
	}
	return nil, nil
}

// embedded is the place of the CAs in it; false where it names none.
func (k Kubeconfig) embedded(node string) (pki.Location, bool) {
	c, ok := k.InUse()
	return pki.Location{Kind: pki.KindFile, Node: node, Path: k.Path, Field: c.Field}, ok && k.Problem == ""
}

// Node returns the node of that name.
func (s *Snapshot) Node(name string) (*Node, bool) {
	for i := range s.Nodes {
		if s.Nodes[i].Name == name {
			return &s.Nodes[i], true
		}
	}
	return nil, false
}

// ServedTo returns what was served at an address of a kubeconfig to someone on a
// node.
func (s *Snapshot) ServedTo(node, address string) (Served, bool) {
	for _, v := range s.Served {
		if v.Node == node && v.Address == address && v.toKubeconfig() {
			return v, true
		}
	}
	return Served{}, false
}

// toKubeconfig reports whether the server in a kubeconfig presented it.
func (v Served) toKubeconfig() bool { return v.Server == "" && v.Problem == "" }

// Time is what the node's clock says when ours says now: a node judges by its
// own.
func (n *Node) Time(now time.Time) time.Time {
	least, most, ok := n.Clock.Ahead()
	if !ok {
		return now
	}
	return now.Add(least + (most-least)/2)
}

// starting is how long a kubelet that does not say when it is ready may take to
// write the kubeconfig that it then reads.
const starting = 10 * time.Second

// loaded returns until when a change of its kubeconfig was read by the kubelet.
// It writes the file itself when it starts with none, and says that it runs after
// that (kubernetes cmd/kubelet/app/server.go); systemd tells whole seconds.
func (k Kubelet) loaded() time.Time {
	if !k.Notified.IsZero() {
		return k.Notified.Add(time.Second)
	}
	return k.Started.Add(starting)
}

// OutdatedKubeconfig returns the kubelet's own kubeconfig on a node if it was written after
// the kubelet read it; "" where it was not, or where one of the times is
// unknown.
func (n *Node) OutdatedKubeconfig() string {
	if file := n.ownKubeconfig(); file != nil && file.Modified.After(n.Kubelet.loaded()) {
		return file.Path
	}
	return ""
}

// PerhapsOutdatedKubeconfig returns the kubelet's own kubeconfig if it is unknown whether it was written
// after the kubelet read it: a new mode, owner or label has the same time as a copy with the times of
// its original.
func (n *Node) PerhapsOutdatedKubeconfig() string {
	if file := n.ownKubeconfig(); file != nil && n.OutdatedKubeconfig() == "" && file.Changed.After(n.Kubelet.loaded()) {
		return file.Path
	}
	return ""
}

// ownKubeconfig is the kubelet's own kubeconfig; nil where it, or when the kubelet started, was not read.
func (n *Node) ownKubeconfig() *NodeFile {
	if n.Kubelet.Started.IsZero() {
		return nil
	}
	return n.File(n.kubeletKubeconfig())
}

func (n *Node) kubeletKubeconfig() string {
	return cmp.Or(n.Kubelet.Kubeconfig, "/var/lib/kubelet/kubeconfig")
}

// KubeletReads reports whether a file is the kubelet's own kubeconfig, or the CA file that it names.
func (n *Node) KubeletReads(path string) bool {
	own := n.kubeletKubeconfig()
	return path == own || slices.ContainsFunc(n.Kubeconfigs, func(k Kubeconfig) bool {
		c, ok := k.InUse()
		return ok && k.Path == own && c.CAFile == path && path != ""
	})
}

// KubeletUser returns the user name in the client certificate with which a node's
// kubelet works, such as "system:node:worker-0"; "" where it was not read.
func (s *Snapshot) KubeletUser(node string) string {
	for i := range s.Bundles {
		b := &s.Bundles[i]
		if b.At.Node == node && b.At.Path == KubeletClient && len(b.Content.Certs) > 0 {
			return pki.CommonName(b.Content.Certs[0].Subject)
		}
	}
	return ""
}

// KindServer is the kind of place of a chain that a server presented: Server/HOST:PORT.
const KindServer pki.Kind = "Server"

// What gaps are about that are no part of a cluster: a server that presented no chain, or not all of
// it, and the cluster as a whole.
const (
	GapOfServer  = "server"
	GapOfCluster = "cluster"
)

// Address is where a server is asked, and the name that its certificate has to be for.
type Address struct {
	HostPort string // as it is dialled
	Name     string // without brackets, zone and the dot at its end
}

// ParseAddress reads HOST:PORT, [IPv6]:PORT included.
func ParseAddress(typed string) (Address, error) {
	if strings.Contains(typed, "://") {
		return Address{}, errors.New("it is a URL")
	}
	var host, port string
	switch rest, bracketed := strings.CutPrefix(typed, "["); {
	case bracketed:
		var closed bool
		if host, port, closed = strings.Cut(rest, "]"); !closed || port != "" && port[0] != ':' || !strings.Contains(host, ":") {
			return Address{}, errors.New("it is not written as HOST:PORT or [IPv6]:PORT")
		}
		port = strings.TrimPrefix(port, ":")
	case strings.Count(typed, ":") > 1:
		return Address{}, errors.New("an IPv6 address stands between brackets, as in [fd00::1]:6443")
	default:
		host, port, _ = strings.Cut(typed, ":")
	}
	switch n, err := strconv.ParseUint(port, 10, 16); {
	case host == "":
		return Address{}, errors.New("the host is missing")
	case !dialable(host):
		return Address{}, errors.New("the host is neither an IP address nor a DNS name")
	case port == "":
		return Address{}, errors.New("the port is missing")
	case err != nil || n == 0:
		return Address{}, errors.New("the port is no number from 1 to 65535")
	}
	name, dialled := strings.TrimSuffix(host, "."), host
	if ip, err := netip.ParseAddr(host); err == nil {
		name = ip.WithZone("").String()
	}
	if strings.Contains(host, ":") {
		dialled = "[" + host + "]"
	}
	return Address{HostPort: dialled + ":" + port, Name: name}, nil
}

// SNI is the name that a client sends to the server in its first message; empty for an IP address,
// of which RFC 6066 has it send none.
func (a Address) SNI() string {
	if _, err := netip.ParseAddr(a.Name); err == nil {
		return ""
	}
	return a.Name
}

// At is the place of the chain that the server presented.
func (a Address) At() pki.Location { return pki.Location{Kind: KindServer, Name: a.HostPort} }

// Handshake is what a server presented to this machine.
type Handshake struct {
	Address
	Remote string      // IP:port that answered; empty: none did
	TLS    string      // such as "TLS 1.3"
	Chain  []*pki.Cert // the leaf first; empty: Problem says why
	// NotRead is how many certificates it presented beside those of Chain, which is cut short.
	NotRead int
	// WantsClient: the server asks its clients for a certificate. None was sent.
	WantsClient bool
	NoChain
}

// NoChain is why a server presented no chain, or why not all of it was read; empty: all was.
type NoChain struct {
	Problem       string
	Next, Command string // what to do, and a command that runs as it stands; empty: none helps
}

// AddHandshakes adds the chains that servers presented, each at a place of its own.
func (s *Snapshot) AddHandshakes(all []Handshake) {
	n := 0
	for _, h := range all {
		if h.Problem != "" {
			s.Gaps = append(s.Gaps, Gap{What: GapOfServer, Where: h.HostPort, Reason: h.Problem, Next: strings.TrimSpace(h.Next + " " + h.Command)})
		}
		if len(h.Chain) > 0 {
			n++
			s.Bundles = append(s.Bundles, Bundle{At: h.At(), Object: &Object{Kind: KindServer, Name: h.HostPort}, Content: &pki.Content{Certs: h.Chain}})
		}
	}
	if n > 0 {
		s.Reads = append(s.Reads, Read{What: "servers", Objects: n})
	}
	s.Sort()
}
