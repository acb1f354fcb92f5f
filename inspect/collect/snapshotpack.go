package collect

import (
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

func packSnapshot(s inspect.Snapshot) *snapshotFile {
	f := &snapshotFile{
		APIVersion: snapshotAPIVersion, Kind: snapshotKind, Taken: s.Taken, Outlined: true,
		Cluster: fileCluster{
			ID: s.Cluster.ID, Server: s.Cluster.Server, Context: s.Cluster.Context, Version: s.Cluster.Versions.Cluster,
			Kubernetes: s.Cluster.Versions.Kubernetes, Plain: s.Cluster.Versions.NotOpenShift, Operators: s.Cluster.Versions.Operators,
			Topology: s.Cluster.Topology, Platform: s.Cluster.Platform, Internal: s.Cluster.Internal, External: s.Cluster.External, Created: s.Cluster.Created, Born: s.Cluster.InitialVersion, Clock: fileClock(s.Cluster.Clock), Unauthenticated: s.Cluster.Unauthenticated, Synthetic: s.Cluster.Synthetic,
		},
		Certificates: [][]byte{}, Contents: []fileContent{}, Objects: []fileObject{}, Bundles: []fileBundle{}, Reads: []fileRead{},
	}
	if s.Cluster.OwnAddresses != catalog.Unknown {
		f.Cluster.Addresses = s.Cluster.OwnAddresses.String()
	}
	if s.Cluster.Kubeadm != catalog.Unknown {
		f.Cluster.Kubeadm = s.Cluster.Kubeadm.String()
	}
	p := packer{file: f, certs: map[pki.Fingerprint]int{}, contents: map[*pki.Content]int{}, objects: map[*inspect.Object]int{}}
	for _, b := range s.Bundles {
		fb := fileBundle{At: b.At.String(), Content: int32(p.content(b.Content)), FailurePolicy: b.FailurePolicy}
		if b.Object != nil {
			i := p.object(b.Object)
			fb.Object = &i
		}
		f.Bundles = append(f.Bundles, fb)
	}
	for _, r := range s.Requests {
		f.Requests = append(f.Requests, fileRequest{p.object(r.Object), r.Signer, r.Requester, r.Condition, r.Since, r.Reason, r.Request, r.Bad})
	}
	for _, n := range s.Nodes {
		f.Nodes = append(f.Nodes, packNode(n))
	}
	for _, n := range s.OtherNodes {
		f.Unasked = append(f.Unasked, packNode(n))
	}
	for _, served := range s.Served {
		fs := fileServed{Node: served.Node, Address: served.Address, Name: served.Name, Chain: []int{}, Server: served.Server, Of: served.Of, Problem: served.Problem}
		for _, c := range served.Chain {
			fs.Chain = append(fs.Chain, p.cert(c))
		}
		f.Served = append(f.Served, fs)
	}
	for _, r := range s.Reported {
		f.Reported = append(f.Reported, fileReported{r.At.String(), r.Bundle, r.Subject, r.Signer, r.NotBefore, r.NotAfter})
	}
	for _, r := range s.References {
		f.References = append(f.References, fileReference{r.From.String(), r.To.String(), r.Target})
	}
	for _, e := range s.Exposed {
		f.Exposed = append(f.Exposed, fileExposed{e.At.String(), e.Mode, e.Tokens, e.Keys, e.First, e.Last})
	}
	for _, l := range s.ServerLogs {
		fl := fileServerLog{At: l.At.String(), Row: l.Row, From: l.From, To: l.To, LeftOut: l.LeftOut}
		for _, r := range l.Refused {
			fl.Refused = append(fl.Refused, fileRefused(r))
		}
		f.ServerLogs = append(f.ServerLogs, fl)
	}
	for _, l := range s.Listed {
		f.Listed = append(f.Listed, fileListed(l))
	}
	for _, r := range s.Reads {
		f.Reads = append(f.Reads, fileRead{What: r.What, Where: r.Where, Objects: r.Objects, Skipped: r.Skipped, Note: r.Note})
	}
	for _, g := range s.Gaps {
		f.Gaps = append(f.Gaps, fileGap(g))
	}
	f.Access = packAccess(s.Access)
	f.Status = p.status(s.Status)
	return f
}

// packer gives each shared value its index.
type packer struct {
	file     *snapshotFile
	certs    map[pki.Fingerprint]int
	contents map[*pki.Content]int
	objects  map[*inspect.Object]int
}

func (p *packer) cert(c *pki.Cert) int {
	i, ok := p.certs[c.Fingerprint]
	if !ok {
		i = len(p.file.Certificates)
		p.certs[c.Fingerprint] = i
		p.file.Certificates = append(p.file.Certificates, c.DER)
	}
	return i
}

func (p *packer) content(c *pki.Content) int {
	if i, ok := p.contents[c]; ok {
		return i
	}
	fc := fileContent{Requests: c.Requests}
	for _, cert := range c.Certs {
		fc.Certificates = append(fc.Certificates, p.cert(cert))
	}
	for _, k := range c.Keys {
		fc.Keys = append(fc.Keys, fileKey(k))
	}
	for _, l := range c.CRLs {
		fc.CRLs = append(fc.CRLs, fileCRL(*l))
	}
	for _, l := range c.Locked {
		fc.Locked = append(fc.Locked, fileLocked(l))
	}
	for _, b := range c.Bad {
		fc.Bad = append(fc.Bad, fileBad(b))
	}
	for _, s := range c.Skipped {
		fc.Skipped = append(fc.Skipped, fileSkipped{p.cert(s.Cert), s.By, s.Reason})
	}
	i := len(p.file.Contents)
	p.contents[c] = i
	p.file.Contents = append(p.file.Contents, fc)
	return i
}

func (p *packer) object(o *inspect.Object) int {
	i, ok := p.objects[o]
	if !ok {
		i = len(p.file.Objects)
		p.objects[o] = i
		p.file.Objects = append(p.file.Objects, fileObject{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Type: o.Type, Signer: o.Signer, Created: o.Created, Labels: o.Labels, Annotations: o.Annotations})
		if o.MoreLabels {
			p.file.MoreLabels = append(p.file.MoreLabels, i)
		}
	}
	return i
}
