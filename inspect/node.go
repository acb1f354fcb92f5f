package inspect

import (
	"cmp"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Node is one machine of the cluster: what was read on it, beside the
// certificates, which are Bundles whose location names it.
type Node struct {
	Name string
	// Hostname is what the machine calls itself; empty: not read.
	Hostname string
	Via      string // the way by which it was read: "ssh", "exec"; empty: only the API speaks of it
	Reached  string // the address at which it was reached: by ssh, whose host key was verified, or by the API server; empty: by none
	Ready    string // the Node object's condition: "True", "False", "Unknown"; empty: unknown
	Role     string // see catalog.RoleOf; empty: the API did not say
	// Addresses are those of the Node object, internal ones first, names among them;
	// PodNetworks are from which its pods have theirs (CIDR). nil: not read.
	Addresses   []string
	PodNetworks []string
	// Heartbeat is when the node last said that it is alive (its Lease's
	// renewTime, by the node's clock); zero: not read, or never.
	Heartbeat time.Time
	Lease     Lease // how that was read
	Clock     Clock
	Kubelet   Kubelet
	Files     []NodeFile // by path: links, and what holds certificates, keys or tokens
	// Kubeconfigs are those found on the node, by path.
	Kubeconfigs []Kubeconfig
	// Processes are those of the catalog that run on the node, beside the kubelet;
	// AllProcesses: one that is not among them did not run.
	Processes    []Process
	AllProcesses bool
	// RestartProbe is what its kubelet would meet at a start; nil: it was not asked.
	RestartProbe *RestartProbe
	// Accepted is what servers of the cluster answered to client certificates that lie
	// here; nil: none was asked from here. It is kept in no file.
	Accepted []Accepted
}

// Clock compares a node's clock with ours: it said Before and After, and that
// was between Sent and Received by our clock.
type Clock struct{ Sent, Before, After, Received time.Time }

// Ahead returns by how much the node's clock is ahead of ours, at least and at
// most: negative when it is behind. ok is false where the node did not say.
func (c Clock) Ahead() (least, most time.Duration, ok bool) {
	if c.Before.IsZero() || c.After.IsZero() || c.Received.IsZero() {
		return 0, 0, false
	}
	// The node tells whole seconds: After may be up to one second later than told.
	return c.After.Sub(c.Received), c.Before.Add(time.Second).Sub(c.Sent), true
}

// Kubelet is how a node's kubelet runs. Empty and nil: not told.
type Kubelet struct {
	Active             string    // systemd's word: "active", "failed"
	Sub                string    // "running", "auto-restart"
	Started            time.Time // its main process
	StartedByUptime    time.Time // Started, counted back from now by the system's uptime: another time where the clock was set since; zero: not told, or kept in a file
	Notified           time.Time // since when it says itself that it runs: it has read its files; zero: it does not say
	RotateCertificates *bool     // renews its client certificate
	ServerTLSBootstrap *bool     // asks for a serving certificate
	ClientCAFile       string
	Authorization      string // "Webhook", "AlwaysAllow"
	Anonymous          *bool
	BootstrapConfig    string // --bootstrap-kubeconfig
	Kubeconfig         string // --kubeconfig
}

// NodeFile is a file or link on a node that certificates depend on.
type NodeFile struct {
	Path     string
	Mode     fs.FileMode
	UID, GID int
	Label    string // SELinux; empty: none, or unknown
	Size     int64
	Modified time.Time
	Changed  time.Time       // the file, or its owner, mode or name; zero: not told
	SHA256   pki.Fingerprint // of the content; zero where it was not read
	Link     string          // what a link says; empty: no link
	Target   string          // where a link leads in the end; empty: nowhere
	Whole    bool            // its content, or that of a link's target, was read completely
	Secret   bool            // it holds a private key, or a token or password
}

// Written is when the file may have been last written: a copy keeps the time at which its
// original was modified, and not the other one.
func (f *NodeFile) Written() time.Time {
	if f.Changed.After(f.Modified) {
		return f.Changed
	}
	return f.Modified
}

// Kubeconfig is the shape of a kubeconfig on a node. The certificates in it are
// Bundles.
type Kubeconfig struct {
	Path     string
	Problem  string // why it can't be read as one; else empty
	Clusters []KubeconfigCluster
	Users    int
	Current  string // the cluster of the current context; empty: there is none
	// Text is the file with keys, tokens and passwords overwritten by x, of the
	// length of the file: offsets hold. nil: it was not asked for.
	Text []byte
}

// KubeconfigCluster is one entry of a kubeconfig's clusters.
type KubeconfigCluster struct {
	Name     string
	Server   string
	CAFile   string // certificate-authority
	CAData   bool   // certificate-authority-data is there
	Field    string // of certificate-authority-data, as in the Location of its Bundle
	Insecure bool   // insecure-skip-tls-verify
	// ServerName is tls-server-name: what the server's certificate is to be for,
	// where that is not the host in Server.
	ServerName string
	Masked     bool // certificate-authority-data did not leave the node: a gap says why
}

// OnNode is the place of a file on a node.
func OnNode(n *Node, file string) pki.Location {
	return pki.Location{Kind: pki.KindFile, Node: n.Name, Path: file}
}

const currentSuffix = "-current.pem"

// IsCurrentLink reports whether a file is the link to a certificate in use.
func IsCurrentLink(l *NodeFile) bool { return l.Link != "" && strings.HasSuffix(l.Path, currentSuffix) }

// File returns what was read of a file or link on the node; nil: nothing, or it
// holds nothing that matters here.
func (n *Node) File(p string) *NodeFile {
	i, ok := slices.BinarySearchFunc(n.Files, p, func(f NodeFile, p string) int { return strings.Compare(f.Path, p) })
	if !ok {
		return nil
	}
	return &n.Files[i]
}

// nodeUser is the user name of a node's kubelet.
const nodeUser = "system:node:"

// About reports whether a request is a node's: by its kubelet, or for it.
func (r SigningRequest) About(node string) bool {
	user := nodeUser + node
	return r.Requester == user || r.Request != nil && pki.CommonName(r.Request.Subject) == user
}

// NodeNames are the names of the nodes that a request is about, each once.
func (r SigningRequest) NodeNames() []string {
	var names []string
	for _, user := range []string{r.Requester, r.Subject()} {
		if node, ok := strings.CutPrefix(user, nodeUser); ok && !slices.Contains(names, node) {
			names = append(names, node)
		}
	}
	return names
}

// Subject is the common name that a request asks for; empty where it was not read.
func (r SigningRequest) Subject() string {
	if r.Request == nil {
		return ""
	}
	return pki.CommonName(r.Request.Subject)
}

// Joins reports whether a request asks for a client certificate of a node by other credentials than that
// node's, as a kubelet without a certificate does.
func (r SigningRequest) Joins() (node string, joins bool) {
	if r.Signer != catalog.KubeletClientSigner || r.Request == nil {
		return "", false
	}
	user := pki.CommonName(r.Request.Subject)
	node, ok := strings.CutPrefix(user, nodeUser)
	return node, ok && r.Requester != user
}

// KubeletSetupOf is how the kubelet of a node is set up: by its flags, else by the files that are
// there, of what may be in the versions that run.
func KubeletSetupOf(facts Snapshot, n *Node) catalog.KubeletSetup {
	rows := catalog.KubeletSetups(facts.Cluster.Versions)
	for _, row := range rows {
		if n.Kubelet.Kubeconfig == row.Kubeconfig {
			return row
		}
	}
	if n.Kubelet.Kubeconfig == "" {
		for _, row := range rows {
			if slices.ContainsFunc(row.Kubeconfigs(), func(path string) bool { return n.File(path) != nil }) {
				return row
			}
		}
	}
	return rows[0]
}

// HasOperators reports whether operators keep the cluster, or may: it is not certain to be plain,
// nor are its nodes that were read.
func HasOperators(facts Snapshot) bool {
	if !catalog.KubeletSetups(facts.Cluster.Versions)[0].HasOperators {
		return false
	}
	read := false
	for i := range facts.Nodes {
		if n := &facts.Nodes[i]; n.Via != "" {
			if read = true; KubeletSetupOf(facts, n).HasOperators {
				return true
			}
		}
	}
	return !read
}

// MissingFile reports whether a file is known not to be there.
func MissingFile(facts Snapshot, n *Node, path string) bool {
	_, unread := unreadAt(facts, n, path)
	return n.File(path) == nil && !unread
}

// unreadAt is why it is unknown what is at a path of a node: of the node, of the path, or
// of a directory above it.
func unreadAt(facts Snapshot, n *Node, path string) (Gap, bool) {
	what := "node/" + n.Name
	for _, g := range facts.Gaps {
		if g.What == what && g.hides(path) {
			return g, true
		}
	}
	return Gap{}, false
}

// hides reports whether what is at a path of its node is unknown by a gap.
func (g Gap) hides(path string) bool {
	if g.Where == "" || g.IsAt(path) || g.Where == "/" {
		return true
	}
	for i, r := range path {
		if r == '/' && i > 0 && (g.IsAt(path[:i]) || g.IsAt(path[:i+1])) {
			return true
		}
	}
	return false
}

// IsAt reports whether a gap is about a path: it has it as it is, or marked (foreign.Text).
func (g Gap) IsAt(path string) bool {
	return g.Where == path || strings.HasPrefix(g.Where, "“") && g.Where == foreign.Text(path)
}

// HeartbeatSinceStart reports whether a node is Ready by a heartbeat that is newer than the start
// of its kubelet, and did not stop since.
func HeartbeatSinceStart(facts Snapshot, n *Node) bool {
	return n.Heartbeat.After(n.Kubelet.Started) && n.Ready == "True" && facts.NodeHealth(n).Alive != catalog.No
}

// KubeletClientCert is a kubelet's client certificate as it was read; nil: none was.
func KubeletClientCert(facts Snapshot, node string) *pki.Cert {
	for _, b := range facts.Bundles {
		if b.At.Node == node && b.At.Path == KubeletClient && len(b.Content.Certs) > 0 {
			return b.Content.Certs[0]
		}
	}
	return nil
}

// UnreadClient says why it is unknown whether a kubelet whose client certificate was not
// read has one; empty where there is none.
func UnreadClient(facts Snapshot, n *Node) string {
	if g, unread := unreadAt(facts, n, KubeletClient); unread {
		return cmp.Or(g.Reason, "it was not read")
	}
	return ""
}

// APIServerFile is a file on a node that only nodes with a kube-apiserver have; empty: none
// was read.
func APIServerFile(facts Snapshot, node string) string {
	for _, b := range facts.Bundles {
		if b.At.Kind == pki.KindFile && b.At.Node == node && catalog.IsAPIServerFile(b.At.Path) {
			return b.At.Path
		}
	}
	return ""
}

// RunsAPIServer reports whether a node of these facts is a master: by its labels, else by
// its files, where no API tells the labels or the node lost its own.
func RunsAPIServer(facts Snapshot, n *Node) bool {
	return n.Role == catalog.RoleMaster || n.Role != catalog.RoleArbiter && APIServerFile(facts, n.Name) != ""
}

// LacksControlPlane reports whether facts from files have nodes, and none of those on which OpenShift's
// kube-apiserver runs.
func (s *Snapshot) LacksControlPlane() bool {
	if !s.Hints.OfFile() || len(s.Nodes) == 0 || s.Cluster.Versions.Cluster == "" || catalog.InHostingCluster(catalog.InternalLoadBalancerServing(), s.Cluster.Topology) {
		return false
	}
	served := map[string]bool{} // the nodes with a file that only nodes with a kube-apiserver have
	for i := range s.Bundles {
		if at := &s.Bundles[i].At; at.Node != "" && at.Kind == pki.KindFile && catalog.IsAPIServerFile(at.Path) {
			served[at.Node] = true
		}
	}
	return !slices.ContainsFunc(s.AllNodes(), func(n Node) bool {
		return n.Role == catalog.RoleMaster || n.Role == "" && served[n.Name] // root on a worker writes files there
	})
}

// AllNodes are the nodes of the cluster, as far as they are known: Nodes, then LeftOut.
func (s *Snapshot) AllNodes() []Node { return slices.Concat(s.Nodes, s.LeftOut()) }

// EachNode yields Nodes, then OtherNodes. What LeftOut knows by the status of the control plane alone
// is not among them: it has no more than a name and a heartbeat.
func (s *Snapshot) EachNode() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for _, nodes := range [][]Node{s.Nodes, s.OtherNodes} {
			for i := range nodes {
				if !yield(&nodes[i]) {
					return
				}
			}
		}
	}
}

// LeftOut are the nodes of the cluster that are not among Nodes, by name: no one asked to read
// them, so nothing is known of what is on them. Who judges all nodes counts them as unread.
func (s *Snapshot) LeftOut() []Node {
	var out []Node
	had := map[string]bool{}
	for i := range s.Nodes {
		had[s.Nodes[i].Name] = true
	}
	add := func(n Node) {
		if !had[n.Name] {
			had[n.Name] = true
			out = append(out, n)
		}
	}
	for _, n := range s.OtherNodes {
		add(n)
	}
	if s.Status != nil && s.Status.ControlPlane != nil {
		for _, n := range s.Status.ControlPlane.Nodes {
			other := Node{Name: n.Name, Ready: n.Ready, Heartbeat: n.Heartbeat, Lease: n.Lease}
			if n.Master {
				other.Role = catalog.RoleMaster
			}
			add(other)
		}
	}
	slices.SortFunc(out, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// WhyNotNode says why the machine that was read as a node is not that node, or not
// certain to be; "" where it is. Its kubelet's client certificate says who it is; where
// that can't be read, its host name does. Of what a Node object says of its machine
// (machine ID, addresses) nothing counts: the kubelet writes that, and may copy another
// machine's.
func (s *Snapshot) WhyNotNode(node string) string {
	if user := s.KubeletUser(node); user != "" {
		if user != "system:node:"+node {
			return fmt.Sprintf("the machine that was reached is another node: its kubelet is %s", foreign.QuotedName(user))
		}
		return ""
	}
	hostname := ""
	if n, ok := s.Node(node); ok {
		hostname = n.Hostname
	}
	short := func(name string) string { return strings.ToLower(strings.SplitN(name, ".", 2)[0]) }
	switch {
	case hostname == "":
		return "whether the machine that was reached is this node is unknown: neither its kubelet's certificate nor its host name could be read"
	case short(hostname) != short(node):
		return fmt.Sprintf("the machine that was reached calls itself %s, and its kubelet's certificate could not be read", foreign.QuotedName(hostname))
	}
	return ""
}
