package trust

import (
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// anchors finds the places of an edge's trust anchors. Those with the same content
// are one, unless they are on nodes.
func (j *judge) anchors(e catalog.Edge) []anchors {
	if e.Trust.Kind == catalog.File {
		return j.files(e)
	}
	var out []anchors
	byContent := map[*pki.Content]int{}
	for i := range j.f.Entries {
		h := &j.f.Entries[i]
		if h.Superseded || h.Use == inspect.UseIdentity || !e.Trust.Fits(string(h.At.Kind), h.At.Namespace, h.At.Name, h.At.Key) {
			continue
		}
		if len(h.Content.Certs) == 0 && len(h.Content.Keys) > 0 {
			continue // the key beside the CA in a kubeconfig
		}
		n, ok := byContent[h.Content]
		if !ok {
			n = len(out)
			byContent[h.Content] = n
			loaded, skipped := h.Content.LoadedBy(e.Reader)
			out = append(out, anchors{certs: loaded, skipped: skipped})
		}
		out[n].at = append(out[n].at, h.At)
	}
	return out
}

// files finds the anchors in a file, on each node that was read.
func (j *judge) files(e catalog.Edge) []anchors {
	var out []anchors
	byContent := map[*pki.Content]int{}
	for i := range j.f.Snapshot.Nodes {
		if j.over() {
			break
		}
		n := &j.f.Snapshot.Nodes[i]
		// Root on a worker can put that file there, too.
		if e.OnNodesWith != "" && (n.Role != "" && n.Role != catalog.RoleMaster || n.Via != "" && n.File(e.OnNodesWith) == nil) {
			continue
		}
		everywhere := e.OnlyIfExists != catalog.Ref{} || len(e.Platforms) > 0
		if e.Optional && (n.Via == "" && !everywhere || n.Via != "" && n.File(e.Trust.Name) == nil) {
			continue
		}
		at := pki.Location{Kind: pki.KindFile, Node: n.Name, Path: e.Trust.Name}
		a := anchors{node: n.Name, at: []pki.Location{at}}
		switch {
		case n.Via == "":
			a.problem = whyUnread
		case e.ServerName == catalog.NameInKubeconfig:
			j.kubeconfig(n, e.Trust.Name, &a)
		default:
			var content *pki.Content
			for _, h := range j.f.InFile(n.Name, at.Path) {
				if h.At == at {
					content = h.Content
					a.certs, a.skipped = content.LoadedBy(e.Reader)
				}
			}
			if a.certs == nil && a.skipped == nil {
				a.problem = j.unreadFile(n, at.Path, "there is no "+at.Path+" on the node, or no certificate in it")
			} else if e.OnNodesWith != "" {
				if same, ok := byContent[content]; ok {
					out[same].at = append(out[same].at, at)
					continue
				}
				byContent[content], a.node = len(out), ""
			}
		}
		out = append(out, a)
	}
	return out
}

// unreadFile says why nothing was read of a file on a node: what the node's reading said of
// it, else that there is none.
func (j *judge) unreadFile(n *inspect.Node, path, none string) string {
	for _, g := range j.f.GapsOf(n.Name) {
		if g.Where == path {
			return "the file on the node was not read: " + g.Reason
		}
	}
	return none
}

func (j *judge) kubeconfig(n *inspect.Node, path string, a *anchors) {
	i := slices.IndexFunc(n.Kubeconfigs, func(k inspect.Kubeconfig) bool { return k.Path == path })
	if i < 0 {
		a.problem = j.unreadFile(n, path, "there is no "+path+" on the node")
		return
	}
	c, ok := n.Kubeconfigs[i].InUse()
	switch {
	case n.Kubeconfigs[i].Problem != "":
		a.problem = "the file can't be used as a kubeconfig: " + strings.TrimPrefix(n.Kubeconfigs[i].Problem, "it can't be used as a kubeconfig: ")
	case !ok:
		a.problem = "the file has no current context with a cluster"
	case c.Insecure:
		a.problem = "the file says insecure-skip-tls-verify: whoever answers is believed"
	case c.Masked:
		a.problem = "the CA in the file did not leave the node"
	case c.CAFile != "" && !c.CAData:
		a.problem = "the CA is in a file of its own, " + c.CAFile + ", which is not followed"
	case !c.CAData:
		a.problem = "the file names no CA: who reads it goes by the system's trust store, which is not compared"
	}
	a.cluster = &c
	a.certs, a.skipped = j.f.Loaded(n.Name, n.Kubeconfigs[i])
}
