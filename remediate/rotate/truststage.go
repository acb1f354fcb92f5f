package rotate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// trustStage asks whether every client that verifies what the signer signs trusts it now,
// and when it is signed by the newest certificate, or by another one that was made in the
// same rotation.
func (c Chain) trustStage(newCAs []*pki.Cert) Stage {
	s := reached(StageTrust)
	all, holds := 0, 0
	var tenants []string
	budget := inspect.NewBudget(len(c.Facts.Certs))
	var late, unread []Late
	var files []assess.Remediation // how to see a file that nodes which were read lack
	for _, claim := range c.claims() {
		if aboutServer(claim) {
			continue
		}
		if claim.Tenant != "" && (claim.Status != assess.Pass || !paid(budget, claim, newCAs)) { // its users may write it: it holds no rotation up
			tenants = append(tenants, claim.Tenant)
			continue
		}
		ca := untrusted(claim, newCAs, c.Facts.Now)
		if claim.Tenant != "" && ca != nil {
			tenants = append(tenants, claim.Tenant)
			continue
		}
		all++
		revision, known := c.revisions(claim, newCAs)
		switch {
		case claim.Status == assess.Pass && ca == nil && revision != "" && known:
			late = append(late, Late{whoOf(claim), revision})
		case claim.Status == assess.Pass && ca == nil && revision != "":
			unread = append(unread, Late{whoOf(claim), revision})
		case claim.Status == assess.Pass && ca != nil:
			late = append(late, Late{whoOf(claim), "it lacks " + pki.Named(ca) + ", which was made in the same rotation"})
		case claim.Status == assess.Pass:
			holds++
		case claim.Status == assess.Unknown:
			if n, ok := c.Facts.Snapshot.Node(claim.Node); ok && n.Via != "" && claim.Edge.Trust.Kind == catalog.File {
				files = append(files, assess.Command(inspect.NodeNames, "oc debug node/%s -- chroot /host ls -l %s", claim.Node, claim.Edge.Trust.Name))
			}
			unread = append(unread, Late{whoOf(claim), claim.Because()})
		default:
			late = append(late, Late{whoOf(claim), claim.Because()})
		}
	}
	left := lateOf(c.leftOut(), "")
	unread = append(unread, left...)
	switch {
	case len(late) > 0:
		s.pending(fmt.Sprintf("%d of %d clients do not trust it: %s", len(late), all, fewLate(late)))
		s.count(holds, all, late)
		s.Remediation = c.lateOnNodes()
	case len(unread) > 0:
		s.unread(fmt.Sprintf("%d of %d clients unknown: %s", len(unread), all+len(left), fewLate(unread)))
		s.count(holds, all+len(left), unread)
		s.advise(c.Facts.Hints().UnreadNodes("read the nodes too: --nodes all, with --via ssh where exec does not lead there"))
		if len(files) == len(unread) { // the nodes were read: that again tells nothing
			s.Remediation = files[0]
		}
	case all == 0 && c.noClients():
		s.unread(noClientKnown)
		s.advise(nothingToRead)
	case all == 0:
		s.unread("its clients were not asked for, or are unknown")
		s.advise(c.Facts.Hints().UnreadNodes("{} verify --nodes all tells what is known"))
	default:
		s.Reason = fmt.Sprintf("all %d clients trust it, now and next", all)
		s.count(all, all, nil)
	}
	if slices.Sort(tenants); len(tenants) > 0 {
		s.Reason += "; not judged by, as their users may write it: namespaces " + few(slices.Compact(tenants))
	}
	return s
}

// What the catalog says of what it knows no client of.
const (
	noClientKnown = "its clients are unknown: the catalog has none"
	nothingToRead = nothingToDo + "certrot can't check clients that the catalog does not have"
)

// noClients reports whether the catalog has no client of what the signer signs, in the versions that
// run: then reading more tells nothing.
func (c Chain) noClients() bool {
	return !slices.ContainsFunc(c.Of.Rotation.ClientEdges(c.Facts.Snapshot.Cluster.Versions), func(e catalog.Edge) bool {
		at := c.Of.At
		return c.Of.Signer() || e.Presented.Fits(at.Kind, at.Namespace, at.Name, at.Key)
	})
}

// leftOut are those that verify what it signs by a file on a node, and of which there is no
// claim: on nodes that were not asked for, or that are unknown, and processes of which
// it is unknown since when they run, with what they had read then.
func (c Chain) leftOut() []string {
	edges := c.byFile()
	if len(edges) == 0 {
		return nil
	}
	var out []string
	left := map[string]bool{}
	for _, n := range c.Facts.Snapshot.OtherNodes {
		left[n.Name] = true
	}
	if c.ControlPlane != nil {
		for _, n := range c.ControlPlane.Nodes {
			if _, asked := c.Facts.Snapshot.Node(n.Name); !asked {
				left[n.Name] = true
			}
		}
		if g, ok := c.ControlPlane.Gap("nodes"); ok {
			out = append(out, "clients on nodes that could not be listed ("+g.Reason+")")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		out = append(out, "clients on "+name+" (the node was left out)")
	}
	for _, g := range c.Facts.Snapshot.Gaps {
		if g.What == "nodes" && g.Where == "" {
			out = append(out, "clients on nodes that could not be listed ("+g.Reason+")")
		}
	}
	if len(c.Facts.Snapshot.Nodes) == 0 && len(out) == 0 {
		out = append(out, "clients on nodes (none was read)")
	}
	for _, row := range catalog.StartupReaders() {
		if !slices.ContainsFunc(edges, func(e catalog.Edge) bool { return e.ID == row.EdgeID }) {
			continue
		}
		for i := range c.Facts.Snapshot.Nodes {
			n := &c.Facts.Snapshot.Nodes[i]
			_, _, runs := n.Running(row.Command)
			switch {
			case n.Via == "" || runs != catalog.No:
			case row.Command == "kubelet" && (n.Kubelet.Active == "" || n.Kubelet.Active == "active"):
				out = append(out, "kubelet on "+foreign.Name(n.Name)+" (its start time is unknown)")
			case row.Command != "kubelet" && c.claimed(row.EdgeID, n.Name) && !preflight.AbsentProcess(c.Facts.Snapshot, n, row.Command):
				out = append(out, row.Verifier+" on "+foreign.Name(n.Name)+" (neither whether it runs nor its start time was read: which CAs it loaded is unknown)")
			}
		}
	}
	return out
}

// claimed reports whether there is a claim of an edge on a node: who verifies is there.
func (c Chain) claimed(edge, node string) bool {
	return slices.ContainsFunc(c.Claims, func(claim trust.Claim) bool { return claim.Edge.ID == edge && claim.Node == node })
}

// byFile are the edges in which what it signs is verified by a file on nodes.
func (c Chain) byFile() []catalog.Edge {
	return slices.DeleteFunc(c.Of.Rotation.ClientEdges(c.Facts.Snapshot.Cluster.Versions), func(e catalog.Edge) bool {
		return e.Trust.Kind != catalog.File || !c.Of.Signer() && e.Presented != c.Of.At
	})
}

// claims are those about what the signer signs.
func (c Chain) claims() []trust.Claim {
	var out []trust.Claim
	for _, claim := range c.Claims {
		carried := c.Of.Signer() && c.Of.Rotation.Selector != (catalog.ObjectSelector{}) && claim.Edge.Selector == c.Of.Rotation.Selector
		if carried || slices.Contains(c.leaves(), claim.Edge.Presented) {
			out = append(out, claim)
		}
	}
	return out
}

func whoOf(claim trust.Claim) string {
	if claim.Node == "" {
		return claim.Verifier
	}
	return claim.Verifier + " on " + foreign.Name(claim.Node)
}

// paid reports whether some CAs may be verified by what a tenant trusts, who may have hundreds of CAs of
// one name with large keys.
func paid(b *inspect.Budget, claim trust.Claim, cas []*pki.Cert) bool {
	if slices.ContainsFunc(claim.Trust, func(at pki.Location) bool { return catalog.ReservedNamespace(at.Namespace) }) {
		return true // the platform wrote them
	}
	cost := 0
	for _, ca := range cas {
		cost += pki.Cost([]*pki.Cert{ca}, claim.Roots)
	}
	return b.Pay(claim.Tenant, cost)
}

// untrusted is the first of some CAs that who verifies does not trust; nil: all are
// trusted, or it is unknown by what is verified.
func untrusted(claim trust.Claim, cas []*pki.Cert, now time.Time) *pki.Cert {
	for _, ca := range cas {
		if len(claim.Roots) > 0 && pki.VerifyCA(ca, claim.Roots, now) != nil {
			return ca
		}
	}
	return nil
}

// lateOnNodes says why a CA may be late on nodes. What this version does not bring there comes by a
// repair alone: before it signs, by pretrust, which refuses after.
func (c Chain) lateOnNodes() assess.Remediation {
	hints := c.Facts.Hints()
	next := hints.Next("{} verify"+hints.Live(" --nodes all")) + hints.From() + " names each, with its remediation"
	seen := c.nodesLate()
	for _, d := range c.Of.Rotation.Deliveries(c.Facts.Snapshot.Cluster.Versions) {
		switch {
		case !d.Delivered && c.signs():
			return assess.FixedCommand(hints.Next("{} fix-api-int --dry-run=client"))
		case !d.Delivered:
			return assess.FixedCommand(hints.Next("{} pretrust --dry-run=client"))
		case len(seen) > 0: // then it is known what holds it up
		case d.Pools:
			next += "; to " + d.To.Name + " it comes by the pools: is one paused, or a node not Ready? oc get machineconfigpools"
		default:
			next += "; to " + d.To.Name + " it is brought by machine-config-daemon: does it run there? oc -n openshift-machine-config-operator get pods -o wide"
		}
	}
	return assess.Advise(strings.Join(append(seen, next), "; "))
}

// signs reports whether the signer's newest certificate has signed something already.
func (c Chain) signs() bool {
	ca := c.signer()
	return ca != nil && slices.ContainsFunc(c.Of.Rotation.Targets, func(target catalog.Ref) bool {
		return target.Kind == catalog.Secret && slices.ContainsFunc(entriesAt(c.Facts, target), func(h *inspect.Entry) bool {
			return len(h.Content.Certs) > 0 && signed(h.Content.Certs[0], ca)
		})
	})
}

// leaves are what the signer signs, or the one that was named.
func (c Chain) leaves() []catalog.Ref {
	if !c.Of.Signer() {
		return []catalog.Ref{c.Of.At}
	}
	var out []catalog.Ref
	for _, t := range c.Of.Rotation.Targets {
		if t.Kind == catalog.Secret {
			out = append(out, refsOf(c.Facts, t)...)
		}
	}
	return out
}

// leafStage asks whether what the signer signs is signed by its newest certificate.
func (c Chain) leafStage(ca *pki.Cert) Stage {
	s := reached(StageLeaf)
	v := c.Facts.Snapshot.Cluster.Versions
	var done, old, recent, unread, told []string
	var late, settling []Late
	for _, at := range c.leaves() {
		entries := entriesAt(c.Facts, at)
		if len(entries) == 0 || len(entries[0].Content.Certs) == 0 {
			if !notThere(c.Facts, at) {
				unread = append(unread, at.String())
			}
			continue
		}
		leaf := entries[0].Content.Certs[0]
		if rotatable(c.Facts, c.Of.Rotation, at).Triggered() {
			old = append(old, at.Name+": its annotation is gone, so its operator rotates it, by the signer of that time")
			late = append(late, Late{at.Name, "its annotation is gone, so its operator rotates it, by the signer of that time"})
			if owner := entries[0].Owner(); owner != "" && !slices.Contains(told, owner) {
				told = append(told, owner)
			}
			continue
		}
		if signed(leaf, ca) {
			if text, settles := c.settling(at, leaf); settles {
				recent = append(recent, at.Name+": issued "+remediate.Timestamp(leaf.NotBefore)+text)
				settling = append(settling, Late{at.Name, "issued " + remediate.Timestamp(leaf.NotBefore) + text})
				continue
			}
			done = append(done, at.Name)
			continue
		}
		text := "is signed by " + pki.Foreign(pki.CommonName(leaf.Issuer))
		reason := "signed by the previous CA"
		if life, known := catalog.LifetimeOf(at, v); known == catalog.Yes {
			from := life.EarliestReissue(leaf.NotBefore, leaf.NotAfter, ca.NotBefore)
			text += ", and is rotated " + remediate.Timestamp(from) + " at the earliest"
			reason += "; rotates automatically " + remediate.Timestamp(from) + " at the earliest"
		}
		old = append(old, at.Name+" "+text)
		late = append(late, Late{at.Name, reason})
	}
	switch {
	case len(old) > 0:
		s.pending(strings.Join(old, "; "))
		s.count(len(done), len(done)+len(old)+len(recent)+len(unread), late)
		s.advise(nothingToDo + "what a signer signs is rotated automatically, after every client had time to trust the new CA")
		if len(told) > 0 { // that is done within seconds, where its owner works
			var seen []string
			for _, owner := range told {
				seen = append(seen, c.ownerDown(owner)...)
			}
			s.advise(causes(seen, lookAtOperator(told[0])))
		}
	case len(recent) > 0:
		s.pending(strings.Join(recent, "; "))
		s.count(len(done), len(done)+len(recent)+len(unread), settling)
		s.advise(settlingNext)
		s.Settling = true
	case len(unread) > 0:
		s.unread("not read: " + few(unread))
		s.count(len(done), len(done)+len(unread), lateOf(unread, "not read"))
		s.advise(c.Facts.Hints().Unread(inspect.MayList("secrets", "")))
	case len(done) == 0:
		s.unread("nothing that it signs was found")
		s.advise(c.Facts.Hints().Next("{} inspect"))
	default:
		s.Reason = "signed by it: " + few(done)
		s.count(len(done), len(done), nil)
	}
	return s
}

// Signed tells whether the newest certificate of its signer has signed what was named. why
// says what was not read, where that is unknown.
func (c Chain) Signed() (answer catalog.Tristate, why string) {
	leaf, ca := c.Of.Cert(), c.signer()
	switch {
	case leaf == nil && notThere(c.Facts, c.Of.At):
		return catalog.Unknown, c.Of.At.String() + " is not there: its operator creates it again, by the signer of that time"
	case leaf == nil:
		return catalog.Unknown, c.Of.At.String() + " was not read"
	case ca == nil:
		return catalog.Unknown, c.Of.Rotation.Signer.String() + " was not read"
	case signed(leaf, ca):
		return catalog.Yes, ""
	}
	return catalog.No, ""
}

// signed verifies the signature of one certificate with the key of another.
func signed(leaf, ca *pki.Cert) bool {
	l, errL := leaf.X509()
	c, errC := ca.X509()
	return errL == nil && errC == nil && l.CheckSignatureFrom(c) == nil
}

// settled passes where nothing of the chain is under way. Else it is the stage that is, or of which
// that is unknown.
func (c Chain) settled() Stage {
	worst := Stage{Assessment: assess.Assessment{Status: assess.Pass}}
	for _, s := range c.stages() {
		// Whether it is trusted is asked by itself, what is presented follows by itself, and
		// who names what a signer signs wants that rotated.
		if s.ID == StageTrust || s.ID == StageServed || s.ID == StageEdges || s.ID == StageLeaf && !c.Of.Signer() && !s.Settling {
			continue
		}
		if s.Status == assess.Warn {
			return s
		}
		if s.Status == assess.Unknown && worst.Status == assess.Pass {
			worst = s
		}
	}
	return worst
}
