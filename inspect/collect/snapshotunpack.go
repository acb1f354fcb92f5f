package collect

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

func unpackSnapshot(f *snapshotFile) (inspect.Snapshot, error) {
	s := inspect.Snapshot{
		Taken: f.Taken,
		Cluster: inspect.Cluster{
			ID: f.Cluster.ID, Server: inspect.ServerURL(f.Cluster.Server), Context: inspect.WithoutUserinfo(f.Cluster.Context),
			Versions: catalog.Versions{Cluster: f.Cluster.Version, Kubernetes: f.Cluster.Kubernetes, NotOpenShift: f.Cluster.Plain, Operators: f.Cluster.Operators},
			Topology: f.Cluster.Topology, Platform: f.Cluster.Platform, Internal: inspect.ServerURL(f.Cluster.Internal), External: inspect.ServerURL(f.Cluster.External), Created: f.Cluster.Created, InitialVersion: f.Cluster.Born, Clock: inspect.Clock(f.Cluster.Clock), Unauthenticated: cmp.Or(f.Cluster.Unauthenticated, inspect.WithoutTLS(f.Cluster.Server)), Synthetic: f.Cluster.Synthetic,
		},
	}
	for _, a := range []catalog.Tristate{catalog.No, catalog.Yes} {
		if f.Cluster.Addresses == a.String() {
			s.Cluster.OwnAddresses = a
		}
		if f.Cluster.Kubeadm == a.String() {
			s.Cluster.Kubeadm = a
		}
	}
	certs, tooLarge := make([]*pki.Cert, len(f.Certificates)), map[int]string{}
	for i, der := range f.Certificates {
		c, err := pki.ParseCert(der)
		var large pki.TooLarge
		if errors.As(err, &large) { // written by a version that read such
			tooLarge[i] = large.Error()
			continue
		}
		if err != nil {
			return s, fmt.Errorf("snapshot: certificate %d: %w", i, err)
		}
		certs[i] = c
	}
	contents, err := unpackContents(f.Contents, certs, tooLarge)
	if err != nil {
		return s, err
	}
	objects := make([]*inspect.Object, len(f.Objects))
	for i, o := range f.Objects {
		objects[i] = &inspect.Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Type: o.Type, Signer: o.Signer, Created: o.Created, Labels: o.Labels, Annotations: o.Annotations}
	}
	for _, i := range f.MoreLabels {
		if i < 0 || i >= len(objects) {
			return s, fmt.Errorf("snapshot: moreLabels refers to object %d, which is not in the file", i)
		}
		objects[i].MoreLabels = true
	}
	outlines := map[int]*pki.Content{} // by the content's index: places go on to share it
	s.Bundles = make([]inspect.Bundle, 0, len(f.Bundles))
	for i, b := range f.Bundles {
		at, err := pki.ParseLocation(b.At)
		if err != nil {
			return s, fmt.Errorf("snapshot: bundle %d: %w", i, err)
		}
		if b.Content < 0 || int(b.Content) >= len(contents) || (b.Object != nil && (*b.Object < 0 || *b.Object >= len(objects))) {
			return s, fmt.Errorf("snapshot: bundle %d (%s) refers to what is not in the file", i, at)
		}
		nb := inspect.Bundle{At: at, Content: contents[b.Content], FailurePolicy: b.FailurePolicy}
		if b.Object != nil {
			nb.Object = objects[*b.Object]
		}
		if !f.Outlined && at.Node != "" && at.Field == "" {
			if outlines[int(b.Content)] == nil {
				outlines[int(b.Content)] = unoutlined(nb.Content)
			}
			nb.Content = outlines[int(b.Content)]
		}
		s.Bundles = append(s.Bundles, nb)
	}
	if err := boundThings(s.Bundles); err != nil {
		return s, fmt.Errorf("snapshot: %w", err)
	}
	for i, r := range f.Requests {
		if r.Object < 0 || r.Object >= len(objects) {
			return s, fmt.Errorf("snapshot: request %d refers to what is not in the file", i)
		}
		s.Requests = append(s.Requests, inspect.SigningRequest{
			Object: objects[r.Object], Signer: r.Signer, Requester: r.Requester, Condition: r.Condition,
			Since: r.Since, Reason: r.Reason, Request: r.Request, Bad: r.Bad,
		})
	}
	for i := range f.Nodes {
		s.Nodes = append(s.Nodes, f.Nodes[i].unpack())
		f.Nodes[i] = fileNode{} // not both are in memory
	}
	for i := range f.Unasked {
		s.OtherNodes = append(s.OtherNodes, f.Unasked[i].unpack())
		f.Unasked[i] = fileNode{}
	}
	for i, served := range f.Served {
		chain := inspect.Served{Node: served.Node, Address: served.Address, Name: served.Name, Server: served.Server, Of: served.Of, Problem: served.Problem}
		for _, n := range served.Chain {
			if n < 0 || n >= len(certs) {
				return s, fmt.Errorf("snapshot: served chain %d refers to what is not in the file", i)
			}
			if tooLarge[n] != "" {
				return s, fmt.Errorf("snapshot: served chain %d: certificate %d: %s", i, n, tooLarge[n])
			}
			chain.Chain = append(chain.Chain, certs[n])
		}
		if len(chain.Chain) == 0 && chain.Problem == "" {
			return s, fmt.Errorf("snapshot: handshake %d has neither a chain nor a reason why not", i)
		}
		s.Served = append(s.Served, chain)
	}
	for i, r := range f.Reported {
		at, err := pki.ParseLocation(r.At)
		if err != nil {
			return s, fmt.Errorf("snapshot: report %d: %w", i, err)
		}
		s.Reported = append(s.Reported, inspect.Reported{At: at, Bundle: r.Bundle, Subject: r.Subject, Signer: r.Signer, NotBefore: r.NotBefore, NotAfter: r.NotAfter})
	}
	for i, r := range f.References {
		from, err := pki.ParseLocation(r.From)
		to, err2 := pki.ParseLocation(r.To)
		if err := errors.Join(err, err2); err != nil {
			return s, fmt.Errorf("snapshot: reference %d: %w", i, err)
		}
		s.References = append(s.References, inspect.Reference{From: from, To: to, Target: r.Target})
	}
	for i, e := range f.Exposed {
		at, err := pki.ParseLocation(e.At)
		if err != nil {
			return s, fmt.Errorf("snapshot: log %d: %w", i, err)
		}
		s.Exposed = append(s.Exposed, inspect.Exposed{At: at, Mode: e.Mode, Tokens: e.Tokens, Keys: e.Keys, First: e.First, Last: e.Last})
	}
	for i, l := range f.ServerLogs {
		at, err := pki.ParseLocation(l.At)
		if err != nil {
			return s, fmt.Errorf("snapshot: server log %d: %w", i, err)
		}
		log := inspect.ServerLog{At: at, Row: l.Row, From: l.From, To: l.To, LeftOut: l.LeftOut}
		for _, r := range l.Refused {
			if _, err := netip.ParseAddr(r.Client); err != nil {
				return s, fmt.Errorf("snapshot: server log %d: %w", i, err)
			}
			log.Refused = append(log.Refused, inspect.Refused(r))
		}
		s.ServerLogs = append(s.ServerLogs, log)
	}
	for _, l := range f.Listed {
		s.Listed = append(s.Listed, inspect.Listed(l))
	}
	for _, r := range f.Reads {
		s.Reads = append(s.Reads, inspect.Read{What: r.What, Where: r.Where, Objects: r.Objects, Skipped: r.Skipped, Note: sentence("Note", r.fact())})
	}
	for _, g := range f.Gaps { // its next step was for who took the file, and for the cluster of then
		s.Gaps = append(s.Gaps, inspect.Gap{What: g.What, Where: g.Where, Reason: g.Reason})
	}
	if s.Access, err = f.Access.unpack(); err != nil {
		return s, fmt.Errorf("snapshot: access: %w", err)
	}
	if s.Status, err = f.Status.unpack(func(n int) (*pki.Cert, error) {
		switch {
		case n < 0 || n >= len(certs):
			return nil, fmt.Errorf("it refers to certificate %d of %d", n, len(certs))
		case tooLarge[n] != "":
			return nil, fmt.Errorf("certificate %d: %s", n, tooLarge[n])
		}
		return certs[n], nil
	}); err != nil {
		return s, fmt.Errorf("snapshot: status: %w", err)
	}
	return s, nil
}

// boundThings is an error for more than maxThings. A content is stored once and is looked at in each
// place: some kilobytes would be billions.
func boundThings(bundles []inspect.Bundle) error {
	weights, sum := map[*pki.Content]int{}, 0
	for i := range bundles {
		c := bundles[i].Content
		weight, known := weights[c]
		if !known {
			weight = c.Things()
			weights[c] = weight
		}
		if sum += weight; sum > maxThings {
			return fmt.Errorf("the places in it hold more than %d certificates, keys and the like, and those of no cluster do", maxThings)
		}
	}
	return nil
}

// unoutlined is a file on a node of which it is unknown what stayed there beside its
// certificates: OpenSSL may load none of them.
func unoutlined(c *pki.Content) *pki.Content {
	const why = "the snapshot is from an older certrot, which does not say what stands beside it in the file"
	_, skipped := c.LoadedBy(pki.ReaderOpenSSL)
	known := map[pki.Fingerprint]bool{}
	for _, s := range skipped {
		known[s.Fingerprint] = true
	}
	out := *c
	out.Skipped = slices.Clone(c.Skipped)
	for _, cert := range c.Certs {
		if !known[cert.Fingerprint] {
			out.Skipped = append(out.Skipped, pki.Skipped{Cert: cert, By: []pki.Reader{pki.ReaderOpenSSL}, Reason: why})
		}
	}
	return &out
}

func unpackContents(packed []fileContent, certs []*pki.Cert, tooLarge map[int]string) ([]*pki.Content, error) {
	out := make([]*pki.Content, len(packed))
	for i, fc := range packed {
		c := &pki.Content{Requests: fc.Requests}
		for _, n := range fc.Certificates {
			if n < 0 || n >= len(certs) {
				return nil, fmt.Errorf("snapshot: content %d refers to certificate %d of %d", i, n, len(certs))
			}
			if why := tooLarge[n]; why != "" {
				c.Bad = append(c.Bad, pki.BadBlock{Index: -1, Type: "CERTIFICATE", Reason: why})
				continue
			}
			c.Certs = append(c.Certs, certs[n])
		}
		for _, k := range fc.Keys {
			c.Keys = append(c.Keys, pki.Key(k))
		}
		for _, l := range fc.CRLs {
			list := pki.CRL(l)
			c.CRLs = append(c.CRLs, &list)
		}
		for _, l := range fc.Locked {
			c.Locked = append(c.Locked, pki.Locked(l))
		}
		for _, b := range fc.Bad {
			if strings.Contains(b.Type, " ") { // as labels have
				b.Type = pki.StandardLabel(b.Type)
			}
			c.Bad = append(c.Bad, pki.BadBlock(b))
		}
		for _, s := range fc.Skipped {
			if s.Certificate < 0 || s.Certificate >= len(certs) {
				return nil, fmt.Errorf("snapshot: content %d refers to certificate %d of %d", i, s.Certificate, len(certs))
			}
			if tooLarge[s.Certificate] != "" {
				continue // it is among the bad blocks
			}
			c.Skipped = append(c.Skipped, pki.Skipped{Cert: certs[s.Certificate], By: s.By, Reason: s.Reason})
		}
		out[i] = c
	}
	return out, nil
}
