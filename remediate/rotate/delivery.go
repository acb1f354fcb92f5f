package rotate

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// reaches refuses the incident: a CA that nodes are not given. Where nodes lack the current one
// already, that comes first: another one makes it worse.
func (p Preflight) reaches() preflight.Result {
	if !p.Of.Signer() {
		return preflight.Pass("")
	}
	row, withheld := p.Of.Rotation.Undelivered(p.versions())
	switch withheld {
	case catalog.Unknown:
		return preflight.Result{Reason: "whether this version brings the CA to nodes is unknown: the version of machine-config was not read", Next: "oc get clusteroperator machine-config"}
	case catalog.No:
		return preflight.Pass("")
	}
	if nodes := p.lacking(row.To); len(nodes) > 0 {
		return preflight.Fail(p.hints().Next("{} fix-api-int --dry-run=client"), "%s not trust the current signer: another one makes it worse", doing(nodes))
	}
	return preflight.Fail(p.safeOrder(), "%s does not write the new CA to %s; kubelets fail at their next reconnect once it signs (%s)", p.versions().Called(row.In.Component), row.To.Name, row.Doc)
}

// lacking are the nodes where the file by which what the signer signs is verified lacks the
// signer's certificate, and where that fails now.
func (p Preflight) lacking(file catalog.Ref) []string {
	ca := p.signer()
	if ca == nil {
		return nil
	}
	var nodes []string
	for _, claim := range p.claims() {
		if name := foreign.Name(claim.Node); claim.Edge.Trust == file && claim.Node != "" && claim.Status == assess.Fail && !slices.Contains(nodes, name) && untrusted(claim, []*pki.Cert{ca}, p.Now) != nil {
			nodes = append(nodes, name)
		}
	}
	return nodes
}

// doing are names as the subject of a sentence, with do or does.
func doing(names []string) string {
	switch len(names) {
	case 1:
		return names[0] + " does"
	case 2:
		return names[0] + " and " + names[1] + " do"
	}
	return few(names) + " do"
}

// safeOrder is how it is done where nodes must be given the CA by hand, and by when. It
// goes as far as the last thing that it signs, with what is to be accepted by name on the
// way; the line of the last step is the one that goes on where the signer is new already.
func (p Preflight) safeOrder() string {
	name := p.Of.Name
	by := ""
	if at := p.deadline(); !at.IsZero() {
		by = ". Finish steps 3 and 4 before " + remediate.Timestamp(at) + ": from then on the new CA may sign"
	}
	via := foreign.Words(p.hints().Live(" --via ssh"))
	leaf, unseen := p.hints().Next("{} rotate %s --leaf --nodes all%s", name, via), ""
	for _, at := range p.leaves() {
		if catalog.IsExternalServingCert(at) {
			leaf += " --accept-risk=" + OutsideVerifiers
			unseen = fmt.Sprintf(". Clients of %s outside the cluster can't be checked: without --accept-risk=%s that one is left out (exit code 3)", at.Name, OutsideVerifiers)
			break
		}
	}
	return p.hints().Next("the safe order (or upgrade to 4.16, which writes it to nodes): (1) {} rotate %[1]s --accept-risk=%[2]s --wait=0: rotate the signer alone; "+
		"(2) {} rotate status %[1]s: wait until the new CA is in all CA bundles: signer, bundle and aggregates have ✓; "+
		"(3) {} pretrust%[3]s: give the CA to every node; (4) {} fix-kubeconfig: add the CA to each kubeconfig, on each machine%[4]s; "+
		"(5) %[5]s: optional: rotate what it signs now%[6]s", name, ReachesVerifiers, via, foreign.Words(by), foreign.Words(leaf), foreign.Words(unseen))
}

// deadline is when something is signed by a signer that is made now, at the earliest.
func (p Preflight) deadline() time.Time {
	var first time.Time
	for _, at := range p.leaves() {
		life, known := catalog.LifetimeOf(at, p.versions())
		for _, h := range entriesAt(p.Facts, at) {
			if known != catalog.Yes || len(h.Content.Certs) == 0 {
				continue
			}
			c := h.Content.Certs[0]
			if due := life.EarliestReissue(c.NotBefore, c.NotAfter, p.Now); first.IsZero() || due.Before(first) {
				first = due
			}
		}
	}
	return first
}

// leafAgeShare is the part of a leaf's validity, in percent, after which no CA is made
// that nodes must be given by hand: at 80 it is rotated however new its signer.
const leafAgeShare = 70

func (p Preflight) leafAge() preflight.Result {
	if _, withheld := p.Of.Rotation.Undelivered(p.versions()); !p.Of.Signer() || withheld == catalog.No {
		return preflight.Pass("")
	}
	for _, at := range p.leaves() {
		entries := entriesAt(p.Facts, at)
		if len(entries) == 0 || len(entries[0].Content.Certs) == 0 {
			if notThere(p.Facts, at) {
				continue
			}
			return preflight.Result{Reason: at.String() + " was not read", Next: p.hints().Unread(inspect.MayGet("secrets", at.Namespace))}
		}
		c := entries[0].Content.Certs[0]
		if age, all := p.Now.Sub(c.NotBefore), c.NotAfter.Sub(c.NotBefore); age*100 > all*leafAgeShare {
			return preflight.Fail(p.hints().Next("rotate it with the current signer first: {} rotate %s", at.Name),
				"%s is past %d %% of its validity, and is rotated at 80 %%, by the signer of that time", at, leafAgeShare)
		}
	}
	return preflight.Pass("")
}
