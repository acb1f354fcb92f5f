package check

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// fileCurrent compares files with the objects of which they are copies.
func fileCurrent(f *inspect.Facts) []assess.Finding {
	type difference struct {
		of, what string
		lacks    bool // nodes whose kubelet has no client certificate, which is another cause
	}
	found := map[difference]*fileBehind{}
	var order []difference
	lacks := map[string]bool{}
	for _, n := range nodesRead(f) {
		lacks[n.Name] = f.LacksClient(n)
	}
	sources := map[catalog.Ref]*inspect.Entry{} // many nodes hold copies of the same few
	for i := range f.Entries {
		h := &f.Entries[i]
		if h.At.Node == "" || h.Superseded {
			continue
		}
		row, ok := catalog.NodeCopyOf(h.At.Path, f.Snapshot.Cluster.Versions)
		if !ok || row.Embedded != strings.HasSuffix(h.At.Field, "certificate-authority-data") {
			continue
		}
		source, known := sources[row.Object]
		if !known {
			source = f.At(row.Object)
			sources[row.Object] = source
		}
		if source == nil {
			continue // not read: then a gap says so, or it was not asked for
		}
		what, since, missing := inspect.CopyDelay(h, source)
		if what == "" {
			continue
		}
		d := difference{row.Object.String(), what, lacks[h.At.Node] && row.Object == catalog.APIServerCA()}
		if found[d] == nil {
			found[d] = &fileBehind{row: row, identity: h.Use == inspect.UseIdentity, what: what, since: since, missing: missing}
			order = append(order, d)
		}
		found[d].at = append(found[d].at, h.At)
	}
	out := emptyCopies(f, sources)
	for _, d := range order {
		b := found[d]
		finding := b.finding(f)
		finding.Of = func(at []pki.Location) assess.Assessment {
			some := *b
			some.at = at
			return some.finding(f).Assessment
		}
		out = append(out, finding)
	}
	return out
}

// emptyCopies finds files that were read whole, are to hold what an object holds,
// and hold no certificate: truncated by a full disk, or overwritten.
func emptyCopies(f *inspect.Facts, sources map[catalog.Ref]*inspect.Entry) []assess.Finding {
	var out []assess.Finding
	for _, n := range nodesRead(f) {
		for i := range n.Files {
			file := &n.Files[i]
			row, ok := catalog.NodeCopyOf(file.Path, f.Snapshot.Cluster.Versions)
			if !ok || row.Embedded || !file.Whole || file.Link != "" || f.FirstInFile(n, file.Path) != nil {
				continue
			}
			if _, known := sources[row.Object]; !known {
				sources[row.Object] = f.At(row.Object)
			}
			if source := sources[row.Object]; source != nil && len(source.Content.Certs) > 0 {
				out = append(out, assess.Finding{
					Assessment: assess.Assessment{
						Severity:    assess.Critical,
						Reason:      place(inspect.OnNode(n, file.Path)) + " holds no certificate",
						Impact:      "at the next start of what reads it: it fails, or trusts no CA",
						Evidence:    fmt.Sprintf("%s on %s holds no certificate; it is a copy of %s", foreign.Text(path.Base(file.Path)), n.Name, row.Object),
						Remediation: assess.Advise("look whether the disk of the node is full; who writes the file: " + row.Writer),
					},
					At: []pki.Location{inspect.OnNode(n, file.Path)},
				})
			}
		}
	}
	return out
}

// copying is how long a copy may take: a kubelet and a syncer look once a
// minute, an operator's rollout over a few nodes some more.
const copying = 10 * time.Minute

// fileBehind are copies that lack the same of one object.
type fileBehind struct {
	row      catalog.NodeCopy
	identity bool // of a certificate, not of CAs
	what     string
	since    time.Time
	missing  []*pki.Cert
	at       []pki.Location
}

// finding says what the copies lack, and what fails.
func (b *fileBehind) finding(f *inspect.Facts) assess.Finding {
	finding := assess.Finding{
		Assessment: assess.Assessment{
			Severity:    assess.Warning,
			Reason:      b.reason(b.missing[0]),
			Impact:      "now: what the missing CA signed is refused there",
			Evidence:    fmt.Sprintf("a copy of %s %s", b.row.Object, b.what),
			Remediation: assess.Advise("find out why " + b.row.Writer + " has not written it"),
		},
		Due: b.since, At: b.at,
	}
	if !b.row.Maintained() {
		finding.Remediation = assess.FixedCommand(f.Hints().Next("{} verify api-int"))
	}
	if b.identity {
		finding.Impact = "now: another certificate is in use there"
	}
	for _, c := range b.missing {
		finding.Certs = append(finding.Certs, c.Fingerprint)
	}
	if b.row.Object == catalog.APIServerCA() {
		b.addDistrust(f, &finding)
	}
	if f.Now.Sub(b.since) < copying && finding.Severity == assess.Warning {
		finding.Severity = assess.Info
		finding.Evidence += " (made " + ago(f.Now, b.since) + ": it may be on its way)"
	}
	return finding
}

// reason names the files and what they lack, the CA that matters first.
func (b *fileBehind) reason(ca *pki.Cert) string {
	if b.identity {
		return says(b.at, "lacks certificate ", "lack certificate ") + short(ca)
	}
	lacks := "CA " + short(ca)
	if n := len(b.missing) - 1; n > 0 {
		lacks += fmt.Sprintf(" and %d more", n)
	}
	return says(b.at, "lacks ", "lack ") + lacks
}

// late reports whether the copies lack only CAs for which who copies leaves them as they are.
func (b *fileBehind) late() bool {
	return !slices.ContainsFunc(b.missing, func(ca *pki.Cert) bool {
		return !slices.ContainsFunc(b.row.Late, func(part string) bool { return strings.Contains(pki.CommonName(ca.Subject), part) })
	})
}

// addDistrust tells what it means for a kubelet to lack a CA of the API server. Of
// those only the load balancer's signs what is presented to kubelets: what the API
// presents at localhost and in the service network is no kubelet's business.
func (b *fileBehind) addDistrust(f *inspect.Facts, finding *assess.Finding) {
	serving, signer := f.At(catalog.InternalLoadBalancerServing()), f.At(catalog.LoadBalancerSigner())
	signs := func(ca *pki.Cert) bool {
		return serving != nil && serving.Leaf() != nil && signedBy(serving.Leaf(), ca)
	}
	matters := func(ca *pki.Cert) bool {
		return signs(ca) || signer != nil && signer.Leaf() != nil && signer.Leaf().Fingerprint == ca.Fingerprint
	}
	nodes, _ := filesOf(b.at)
	at := slices.IndexFunc(b.missing, matters)
	if at < 0 {
		if serving == nil || signer == nil {
			finding.Impact = "unknown: whether api-int uses this CA was not read"
			finding.Evidence += "; whether api-int uses it was not read"
			finding.Remediation = assess.Advise("read " + catalog.InternalLoadBalancerServing().String() + " and " + catalog.LoadBalancerSigner().String() + " too")
			return
		}
		finding.Severity, finding.Impact = assess.Info, ""
		finding.Evidence += ", which signs nothing that is presented to kubelets"
		if b.late() {
			finding.Evidence += ", and for which " + b.row.Writer + " does not write the file at once"
		}
		finding.Remediation = assess.Remediation{}
		return
	}
	finding.Reason = b.reason(b.missing[at])
	finding.Impact = "once api-int's certificate is signed by it: " + heartbeat(f, nodes)
	if serving == nil || serving.Leaf() == nil {
		finding.Impact = "if api-int's certificate is signed by it: " + heartbeat(f, nodes)
	}
	now := slices.IndexFunc(b.missing, signs)
	if now >= 0 {
		finding.Severity = assess.Critical
		finding.Reason = b.reason(b.missing[now])
		finding.Impact = heartbeat(f, nodes)
		which := ", which signs"
		if len(b.missing) > 1 {
			which = "; " + short(b.missing[now]) + " signs"
		}
		finding.Evidence += which + " api-int's certificate: a kubelet that reconnects or restarts with this file fails with x509: certificate signed by unknown authority"
	}
	delivery, answer := catalog.DeliveryOf(catalog.KubeletKubeconfigCA(), f.Snapshot.Cluster.Versions)
	if answer != catalog.Yes || delivery.Delivered {
		return
	}
	finding.Evidence += "; nothing brings it there in this version"
	if serving != nil && serving.Leaf() != nil && now < 0 {
		finding.Evidence += f.Hints().Next("; {} pretrust brings it there ahead of the first certificate that it signs")
		finding.Remediation = assess.FixedCommand(f.Hints().Next("{} pretrust --dry-run=client")).Saying("preview how the CA gets into both kubeconfigs of each kubelet")
		return
	}
	finding.Remediation = fixing(f, nodes).Saying("preview the repair of both kubeconfigs of each kubelet")
}
