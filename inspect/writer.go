package inspect

import "github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"

// Writer says who may write a place, and with it how far its word counts. Certificates are public:
// anybody puts one into a Secret of their own, with any annotation, or as root into a file.
type Writer int

// The writers, the one whose word counts most first.
const (
	WriterPlatform Writer = iota // the platform and administrators
	WriterNode                   // who is root on a node that is not known to be of the control plane
	WriterTenant
)

// Writer is the platform for an object of the whole cluster's, one in a namespace of the platform's, a
// file of a control plane node, and a file that the user named.
func (h *Entry) Writer() Writer {
	switch {
	case h.worker:
		return WriterNode
	case h.At.Namespace == "" || catalog.ReservedNamespace(h.At.Namespace):
		return WriterPlatform
	}
	return WriterTenant
}

// Reserved reports whether only the platform and administrators write the place.
func (h *Entry) Reserved() bool { return h.Writer() == WriterPlatform }

// WrittenIn is the node ("node/NAME") or the namespace whose writer wrote the place; empty for the
// platform and administrators.
func (h *Entry) WrittenIn() string {
	switch h.Writer() {
	case WriterNode:
		return "node/" + h.At.Node // no namespace has a slash
	case WriterTenant:
		return h.At.Namespace
	}
	return ""
}

// markWorkers notes which files are on nodes that the API does not say to be of the control plane. The
// role is a label that no kubelet may give its own Node; files say nothing of it, as root writes them.
func (f *Facts) markWorkers() {
	master := map[string]bool{}
	for _, n := range f.Snapshot.Nodes {
		master[n.Name] = n.Role == catalog.RoleMaster
	}
	for i := range f.Entries {
		h := &f.Entries[i]
		h.worker = h.At.Node != "" && !master[h.At.Node]
	}
}
