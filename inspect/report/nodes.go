package report

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Node is one node: how it was read, and what its kubelet presents.
type Node struct {
	Name  string `json:"name"`
	Via   string `json:"via,omitempty"`   // "ssh", "exec", "debug", "command", "local"; empty: not read
	Ready string `json:"ready,omitempty"` // "True", "False", "Unknown"
	// Alive is "yes" where the node's heartbeat was seen, "no" where there is none, and
	// "unknown"; absent where the API was not asked. Heartbeat says why it is not yes.
	Alive     string     `json:"alive,omitempty"`
	Heartbeat string     `json:"heartbeat,omitempty"`
	Kubelet   string     `json:"kubelet,omitempty"`
	Started   *time.Time `json:"kubeletStarted,omitempty"`
	// What the kubelet's flags and configuration say; absent: they do not.
	RotateCertificates *bool  `json:"rotateCertificates,omitempty"`
	ServerTLSBootstrap *bool  `json:"serverTLSBootstrap,omitempty"`
	ClientCAFile       string `json:"clientCAFile,omitempty"`
	Authorization      string `json:"authorization,omitempty"`
	Anonymous          *bool  `json:"anonymous,omitempty"`
	// Client and Serving are the kubelet's certificates in use.
	Client  *pki.Fingerprint `json:"clientCertificate,omitempty"`
	Serving *pki.Fingerprint `json:"servingCertificate,omitempty"`
	// ClientCert and ServingCert are these, whatever the filter chooses; nil: none was found. LacksClient:
	// there is no client certificate.
	ClientCert  *Cert `json:"-"`
	ServingCert *Cert `json:"-"`
	LacksClient bool  `json:"-"`
	// Pending are the names of certificate requests of this node that wait.
	Pending []string `json:"pendingRequests,omitempty"`
	// AheadAtLeast and AheadAtMost bound by how much the node's clock is ahead of
	// the one of the machine that read it, in seconds.
	AheadAtLeast *int `json:"clockAheadAtLeastSeconds,omitempty"`
	AheadAtMost  *int `json:"clockAheadAtMostSeconds,omitempty"`
	Files        int  `json:"files"`
	// Earlier: it has no heartbeat since before api-int's certificate was issued, which is not why.
	Earlier bool `json:"-"`
	// RenewsFrom and RenewsTo are between which times its kubelet renews its client certificate, and
	// so reconnects; zero: unknown.
	RenewsFrom time.Time `json:"-"`
	RenewsTo   time.Time `json:"-"`
}

func nodeEntries(f *inspect.Facts, fi Filter) []Node {
	var out []Node
	pending := map[string][]string{}
	for _, r := range f.Snapshot.Requests {
		if r.Condition != inspect.Pending {
			continue
		}
		for _, node := range r.NodeNames() {
			pending[node] = append(pending[node], r.Object.Name)
		}
	}
	issued := f.APIIntIssued()
	for i := range f.Snapshot.Nodes {
		if f.Over() {
			break
		}
		n := &f.Snapshot.Nodes[i]
		if !fi.place(inspect.OnNode(n, ""), nil) {
			continue
		}
		e := Node{Name: n.Name, Via: n.Via, Ready: n.Ready, Kubelet: n.Kubelet.Active, Files: len(n.Files),
			RotateCertificates: n.Kubelet.RotateCertificates, ServerTLSBootstrap: n.Kubelet.ServerTLSBootstrap, ClientCAFile: n.Kubelet.ClientCAFile,
			Authorization: n.Kubelet.Authorization, Anonymous: n.Kubelet.Anonymous}
		e.Alive, e.Heartbeat = f.Snapshot.NodeHealth(n).Words()
		e.Earlier = f.Snapshot.SilentBefore(n, issued)
		e.RenewsFrom, e.RenewsTo = f.ClientRenewal(n)
		if n.Kubelet.Active != "" {
			e.Kubelet = cmp.Or(n.Kubelet.Sub, n.Kubelet.Active)
		}
		if t := n.Kubelet.Started; !t.IsZero() {
			e.Started = &t
		}
		e.Client, e.ClientCert = presentedBy(f, n, inspect.KubeletClient)
		e.Serving, e.ServingCert = presentedBy(f, n, "/var/lib/kubelet/pki/kubelet-server-current.pem")
		e.LacksClient = f.LacksClient(n)
		e.Pending = pending[n.Name]
		if least, most, ok := n.Clock.Ahead(); ok {
			low, high := int(math.Floor(least.Seconds())), int(math.Ceil(most.Seconds()))
			e.AheadAtLeast, e.AheadAtMost = &low, &high
		}
		out = append(out, e)
	}
	return out
}

// nodesRead counts nodes of which files were read; of a node that is known only because it could not be read
// there is a gap.
func nodesRead(s *inspect.Snapshot) string {
	known, all := map[string]bool{}, *s
	for _, n := range slices.Concat(s.Nodes, s.LeftOut()) {
		known[n.Name] = true
	}
	asked := len(s.Nodes) > 0
	for _, g := range s.Gaps {
		if name, ok := strings.CutPrefix(g.What, "node/"); ok {
			if asked = true; !known[name] {
				known[name] = true
				all.Nodes = append(slices.Clip(all.Nodes), inspect.Node{Name: name})
			}
		}
	}
	if !asked {
		return ""
	}
	return all.CountNodes(func(n *inspect.Node) bool { return n.Via != "" }).String()
}

// presentedBy is the first certificate of a file of a node, with its renewal; nil: there is none.
func presentedBy(f *inspect.Facts, n *inspect.Node, file string) (*pki.Fingerprint, *Cert) {
	if h := f.FirstInFile(n, file); h != nil && len(h.Content.Certs) > 0 {
		c := h.Content.Certs[0]
		return &c.Fingerprint, &Cert{Cert: c, Renewal: renewalEntry(inspect.RenewalOf(h, f.Snapshot.Cluster.Versions))}
	}
	return nil, nil
}
