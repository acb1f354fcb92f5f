package apiint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// Pretrust is the time between a new CA of api-int and the first certificate of it: as long
// as it lasts, every kubelet can be given the CA while all that leads there still works.
type Pretrust struct {
	CAs []*pki.Cert // the new ones: published, and nothing that is presented is of them
	// from is when what is presented is rotated at the earliest, until at the latest;
	// zero: unknown.
	from, until time.Time
}

// PretrustOf finds that time in the facts. The zero Ahead: there is no new CA. The error is
// a *Refusal where it is over, where this version needs no help, or where it is
// unknown.
func PretrustOf(snapshot inspect.Snapshot, now time.Time) (Pretrust, error) {
	refuse := func(name, next, format string, args ...any) (Pretrust, error) {
		return Pretrust{}, &remediate.Refusal{Name: name, Reason: fmt.Sprintf(format, args...), Next: next}
	}
	v, hints := snapshot.Cluster.Versions, snapshot.Hints
	if v.NotOpenShift {
		return refuse("openshift", hints.Next("{} fix-api-int writes a CA that kube-root-ca.crt has and kubelets lack"), "this is no OpenShift: nothing replaces its CA by itself")
	}
	switch row, answer := catalog.DeliveryOf(catalog.KubeletKubeconfigCA(), v); {
	case answer != catalog.Yes:
		return refuse("version-known", hints.Next("{} fix-api-int needs no version"), "whether this version (%s) brings the CA to kubelets automatically is unknown", cmp.Or(v.Cluster, "none was read"))
	case row.Delivered:
		return refuse("not-delivered", hints.Next("{} verify api-int says which node lacks it, and {} fix-api-int brings it to one that was left out"), "in this version (%s) %s: pretrust is not needed", v.Cluster, row.Doc)
	}
	p := preflight.Preflight{Snapshot: snapshot, Now: now}
	cas, why, ok := p.CertsAt(catalog.LoadBalancerCA())
	if !ok {
		return refuse("signer-known", hints.Unread(inspect.MayGet("configmaps", catalog.LoadBalancerCA().Namespace)), "%s", why)
	}
	served := servedAtAPIInt(p)
	if len(served) == 0 {
		return refuse("served-known", hints.UnreadNodes("{} verify api-int --nodes all says why"), "the certificate that api-int presents was not read, from no handshake and no Secret")
	}
	// What signs now is in use; what was made after it is new. A chain that none of these verifies says
	// nothing: one node may be led to another server, and ca-verifies-served tells of it.
	served = slices.DeleteFunc(served, func(chain []*pki.Cert) bool { return pki.Verify(chain, cas, "", now) != nil })
	var used time.Time
	var out Pretrust
	for _, ca := range cas {
		if slices.ContainsFunc(served, func(chain []*pki.Cert) bool { return pki.Verify(chain, []*pki.Cert{ca}, "", now) == nil }) && ca.NotBefore.After(used) {
			used = ca.NotBefore
		}
	}
	for _, ca := range cas {
		if ca.IsCA && ca.NotBefore.After(used) && ca.NotAfter.After(now) {
			out.CAs = append(out.CAs, ca)
		}
	}
	if used.IsZero() {
		return refuse("ca-verifies-served", hints.Next("{} verify api-int"), "no CA of %s verifies the certificate that api-int presents", catalog.LoadBalancerCA())
	}
	if life, answer := catalog.LifetimeOf(catalog.InternalLoadBalancerServing(), v); answer == catalog.Yes && len(out.CAs) > 0 {
		leaf, newest := served[0][0], slices.MaxFunc(out.CAs, func(a, b *pki.Cert) int { return a.NotBefore.Compare(b.NotBefore) })
		life.Refresh, out.from = 0, life.EarliestReissue(leaf.NotBefore, leaf.NotAfter, newest.NotBefore)
		out.until, _ = life.LatestRenewal(leaf.NotBefore, leaf.NotAfter)
	}
	return out, nil
}

// servedAtAPIInt are the distinct chains that handshakes from nodes saw; without one, what
// is in the Secret.
func servedAtAPIInt(p preflight.Preflight) (chains [][]*pki.Cert) {
	seen := map[pki.Fingerprint]bool{}
	for _, s := range p.Snapshot.Served {
		if s.Server == "" && len(s.Chain) > 0 && !seen[s.Chain[0].Fingerprint] {
			seen[s.Chain[0].Fingerprint] = true
			chains = append(chains, s.Chain)
		}
	}
	if len(chains) == 0 {
		if leaf, _, ok := p.CertsAt(catalog.InternalLoadBalancerServing()); ok {
			chains = append(chains, leaf)
		}
	}
	return chains
}

// AddTo says in a plan what it is ahead of, and refuses one for which it is too late: then
// nodes lack a CA that signs already, and that is fix-api-int's to fix. written is what
// kubelets are given, PEM: where a new CA is not among that, nothing would be ahead of it.
func (a Pretrust) AddTo(p *remediate.Plan, written []byte) error {
	if len(a.CAs) == 0 {
		if p.Empty() {
			return nil
		}
		return &remediate.Refusal{Name: "not-too-late", Reason: fmt.Sprintf("too late for pretrust: api-int already presents a certificate of the newest CA in %s/%s, and kubelets lack it", catalog.LoadBalancerCA().Namespace, catalog.LoadBalancerCA().Name), Next: p.Basis.Hints.Next("{} fix-api-int --dry-run=client")}
	}
	if missing := pki.Without(a.CAs, pki.LoadedPEM(pki.NewScanner(), written)); len(missing) > 0 {
		return &remediate.Refusal{Name: preflight.ServerSide, Reason: fmt.Sprintf("%s holds %s, and %s does not yet: kubelets can't be given it", catalog.LoadBalancerCA(), pki.Named(missing[0]), catalog.APIServerCA()),
			Next: "kube-apiserver-operator brings it there, within minutes: oc get clusteroperator kube-apiserver; oc -n openshift-kube-apiserver-operator logs deployment/kube-apiserver-operator"}
	}
	var names []string
	for _, ca := range a.CAs {
		names = append(names, pki.Named(ca))
	}
	note := "No certificate is signed yet by " + strings.Join(names, ", ") + "."
	if !a.from.IsZero() {
		note += " api-int's certificate is rotated from " + a.from.UTC().Format("2006-01-02 15:04 UTC")
		if !a.until.IsZero() {
			note += ", and by " + a.until.UTC().Format("2006-01-02 15:04 UTC") + " at the latest"
		}
		note += ": every node must have the CA before then."
	}
	p.Notes = append(remediate.PlainNotes(note), p.Notes...)
	return nil
}
