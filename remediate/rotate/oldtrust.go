package rotate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/check"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// Names of refusals to remove an old CA.
const (
	// AllRead: who needs a CA is known only where everything was read that tenants do not write.
	AllRead = "all-read"
	// TenantsRead: of what tenants write, too.
	TenantsRead = "tenants-read"
	// TenantsHold: only tenants hold certificates of an old CA, which anyone signs who has its key.
	TenantsHold = "tenants-hold"
	// oldTrustRead: the signer and its bundle must have been.
	oldTrustRead = "old-trust-read"
	// clocks: what has expired is judged by this machine's.
	clocks = "clocks"
	// JustSigned: what was rotated a moment ago may not be in use yet.
	JustSigned = "just-signed"
)

// OldCA is a CA in the bundle of a signer.
type OldCA struct {
	*pki.Cert
	Keep string // why it stays; empty: nothing that was seen needs it, or it was accepted
	// Tenants is what only tenants hold of it, where that is accepted: at most three certificates,
	// and how many more.
	Tenants []string
}

// loaded is how long a process may present the certificate from before, after the Secret or
// the file that it reads was written: servers of the control plane look once a minute,
// and clients read theirs when they reconnect.
const loaded = time.Hour

// OldTrust judges each CA in the bundle that a signer's CAs are published in, in its
// order. An old one goes only if no certificate that was seen, in the cluster, on nodes
// or in a handshake, needs it. The error is a *Refusal where that is unknown, despite
// of what was accepted by its name.
func OldTrust(f *inspect.Facts, r catalog.Rotation, accepted []string) ([]OldCA, error) {
	refuse := func(name, next, format string, args ...any) ([]OldCA, error) {
		return nil, &remediate.Refusal{Name: name, Reason: fmt.Sprintf(format, args...), Next: next, Risk: name == AllRead || name == TenantsRead}
	}
	again := f.Hints().Next("{} inspect --all says what was read of it")
	signers, _ := published(f, r.Signer)
	if len(signers) == 0 && notThere(f, r.Signer) {
		return refuse(oldTrustRead, f.Hints().Next("its operator creates it again; {} rotate status %s tells how far it is", r.Signer.Name), "%s is not there", r.Signer)
	}
	if len(signers) == 0 {
		return refuse(oldTrustRead, again, "%s was not read: the current CA is unknown", r.Signer)
	}
	bundle, whole := published(f, r.Bundle)
	if len(bundle) == 0 || !whole {
		return refuse(oldTrustRead, again, "%s was not read, or not all of it", r.Bundle)
	}
	if !pki.Contains(bundle, signers[0]) {
		return refuse(oldTrustRead, f.Hints().Next("its operator must repair it; {} rotate status %s tells how far it is", r.Signer.Name), "%s lacks %s, the current signer", r.Bundle, pki.Named(signers[0]))
	}
	for _, name := range []string{AllRead, TenantsRead} {
		if missing, next := unreadFor(f, name == TenantsRead); len(missing) > 0 && !slices.Contains(accepted, name) {
			return refuse(name, next, "%s: what was not read may need a CA", strings.Join(missing, "; "))
		}
	}
	if from, to, told := f.Snapshot.Cluster.Clock.Ahead(); told && (from > preflight.MaxSkew || to < -preflight.MaxSkew) {
		return refuse(clocks, "set this machine's clock: chronyc tracking; timedatectl", "the API server's clock is %s this machine's, and this machine's would decide what has expired", preflight.Skew(from, to))
	}
	var out []OldCA
	stay := slices.Clone(bundle) // without those that go: two must not vouch for each other
	for _, ca := range bundle {
		why, tenants := whyKept(f, ca, signers[0], stay, slices.Contains(accepted, JustSigned))
		switch {
		case why != "" || len(tenants) == 0:
			tenants = nil
		case !slices.Contains(accepted, TenantsHold):
			why, tenants = strings.Join(tenants, "; ")+". Only tenants hold certificates of it, and a leaked key signs more: if no server presents them, --accept-risk="+TenantsHold, nil
		}
		if why == "" {
			stay = slices.DeleteFunc(stay, func(c *pki.Cert) bool { return c.Fingerprint == ca.Fingerprint })
		}
		out = append(out, OldCA{ca, why, tenants})
	}
	return out, nil
}

// published is what a place holds; whole: nothing in it was unreadable.
func published(f *inspect.Facts, ref catalog.Ref) (certs []*pki.Cert, whole bool) {
	for _, h := range entriesAt(f, ref) {
		loaded, skipped := h.Content.LoadedBy(pki.ReaderGo)
		return loaded, len(h.Content.Bad)+len(skipped) == 0
	}
	return nil, false
}

// namedTenants is how many certificates of tenants are named.
const namedTenants = 3

// whyKept says why a CA of a bundle stays, and else what only tenants hold of it. What others of the
// bundle verify for as long as it does needs it not.
func whyKept(f *inspect.Facts, ca, signer *pki.Cert, bundle []*pki.Cert, loadedAll bool) (why string, tenants []string) {
	switch {
	case ca.Fingerprint == signer.Fingerprint:
		return "the current signer", nil
	case !ca.IsCA:
		return "it is no CA: its origin is unknown", nil
	case ca.NotBefore.After(signer.NotBefore):
		return "it is newer than the current signer: more than one was made, and which one signs next is not settled", nil
	case !ca.NotAfter.After(f.Now):
		return "", nil // no client accepts what it signed
	}
	needs := func(c *pki.Cert) bool {
		if c.Issuer != ca.Subject || c.Fingerprint == ca.Fingerprint || !c.NotAfter.After(f.Now) || !verified(c, f.Now, ca) {
			return false
		}
		others := slices.DeleteFunc(slices.Clone(bundle), func(o *pki.Cert) bool {
			return o.Fingerprint == ca.Fingerprint || o.NotAfter.Before(c.NotAfter) && o.NotAfter.Before(ca.NotAfter)
		})
		return !verified(c, f.Now, others...)
	}
	for _, s := range f.Snapshot.Served {
		if slices.ContainsFunc(s.Chain, needs) {
			from := ""
			if s.Server == catalog.ListenerNodeKubeconfig && s.Node != "" { // which may be led to another server
				from = ", asked from " + s.Node + ","
			}
			return fmt.Sprintf("%s%s presents a certificate of it", s.Address, from), nil
		}
	}
	for _, h := range f.Certs {
		at, tenant := presents(h)
		if at == "" || !needs(h.Cert) {
			continue
		}
		told := fmt.Sprintf("%s holds %s of it, until %s", at, pki.Named(h.Cert), h.NotAfter.UTC().Format(time.DateOnly))
		if !tenant {
			return told, nil
		}
		tenants = append(tenants, told)
	}
	for _, h := range f.Leaves {
		if ago := max(f.Now.Sub(h.NotBefore), 0); !loadedAll && ago < loaded && verified(h.Cert, f.Now, signer) && h.Fingerprint != signer.Fingerprint {
			return fmt.Sprintf("%s was signed by the current signer only %s ago, and a process may still use the one from before: wait until %s, or --accept-risk=%s",
				pki.Named(h.Cert), ago.Round(time.Second), h.NotBefore.Add(loaded).UTC().Format("15:04 UTC"), JustSigned), nil
		}
	}
	slices.Sort(tenants)
	if more := len(tenants) - namedTenants; more > 0 {
		noun := "certificates"
		if more == 1 {
			noun = "certificate"
		}
		tenants = append(tenants[:namedTenants:namedTenants], fmt.Sprintf("and %d more %s of it in namespaces of tenants", more, noun))
	}
	return "", tenants
}

// verified reports whether CAs verify a certificate now, or as soon as it is valid: its signer's clock
// may be ahead.
func verified(c *pki.Cert, now time.Time, by ...*pki.Cert) bool {
	if c.NotBefore.After(now) {
		now = c.NotBefore
	}
	return pki.VerifyCA(c, by, now) == nil
}

// presents is a place from which a certificate is presented to others, and does not only
// stand in a list of CAs; empty: there is none. tenant: only tenants write such places.
func presents(h inspect.StoredCert) (at string, tenant bool) {
	for _, in := range h.Entries {
		switch {
		case in.Use == inspect.UseTrust:
		case in.Writer() != inspect.WriterTenant:
			return in.At.String(), false
		case at == "":
			at, tenant = in.At.String(), true
		}
	}
	return at, tenant
}

// PruneBundle removes old CAs from the bundle of a signer.
type PruneBundle struct {
	action.ConfigMapValue
	Removes []*pki.Cert
	// Keep is told the ConfigMap as it was before anything is written: it is put back
	// from there, by hand.
	Keep func(manifest []byte) error
}

// NewPruneBundle reads the bundle, and has the API server try the change without making
// it. It is ErrChanged where the bundle is not what was judged.
func NewPruneBundle(ctx context.Context, kube kubeclient.Client, of catalog.Ref, judged []OldCA) (PruneBundle, error) {
	a, stay := pruneOf(of, judged)
	if err := a.Load(ctx, kube); err != nil {
		return a, err
	}
	now := pki.LoadedPEM(pki.NewScanner(), []byte(a.Before))
	if !slices.EqualFunc(now, judged, func(c *pki.Cert, j OldCA) bool { return c.Fingerprint == j.Fingerprint }) {
		return a, fmt.Errorf("%s: %w", of, remediate.ErrChanged)
	}
	if len(a.Removes) == 0 {
		return a, nil
	}
	return a, a.DryRun(ctx, kube, string(pki.EncodePEM(stay)))
}

// pruneOf removes what was judged to be removable, and says what stays. No API server was asked for it.
func pruneOf(of catalog.Ref, judged []OldCA) (a PruneBundle, stay []*pki.Cert) {
	a.Object = of
	for _, j := range judged {
		if j.Keep == "" {
			a.Removes = append(a.Removes, j.Cert)
		} else {
			stay = append(stay, j.Cert)
		}
	}
	return a, stay
}

// ID is such as "prune openshift-kube-apiserver-operator/loadbalancer-serving-ca".
func (a PruneBundle) ID() string { return "prune " + a.Object.Namespace + "/" + a.Object.Name }

// Node is the cluster.
func (a PruneBundle) Node() string { return "" }

// Diff says which CAs are removed. What follows from that in other bundles is part of its delta: no client reads
// the one that is pruned.
func (a PruneBundle) Diff(_ inspect.Snapshot, now time.Time) (*remediate.Change, error) {
	if len(a.Removes) == 0 {
		return nil, nil //nolint:nilnil // already up to date, as Action says
	}
	var names []string
	for _, c := range a.Removes {
		names = append(names, pki.Named(c))
	}
	return &remediate.Change{
		Summary: fmt.Sprintf("remove from %s: %s", a.Object, strings.Join(names, ", ")),
		Deltas:  []inspect.Delta{inspect.CAsRemoved{From: a.Object, CAs: a.Removes, At: now}},
	}, nil
}

// Apply keeps the bundle as it was, and writes it without them.
func (a PruneBundle) Apply(ctx context.Context, env *remediate.Env, _ *remediate.Change) error {
	if env.Kube == nil {
		return fmt.Errorf("%s: no API server could be asked", a.ID())
	}
	if err := a.SaveBackup(a.Keep); err != nil {
		return err
	}
	return a.Write(ctx, env)
}

// Verify watches whether its operator leaves it so. Where it is put back, that is a
// *BadEffectError.
func (a PruneBundle) Verify(ctx context.Context, env *remediate.Env, _ *remediate.Change) error {
	return a.Watch(ctx, env, func(m *corev1.ConfigMap, after float64) string {
		for _, c := range pki.LoadedPEM(pki.NewScanner(), []byte(m.Data[a.Object.Key])) {
			if pki.Contains(a.Removes, c) {
				return fmt.Sprintf("%s was put back into %s within %.1f s by %s", pki.Named(c), a.Object, after, action.Writer(m, a.Object.Key))
			}
		}
		return ""
	})
}

// unreadFor is what of certificates was not read, of tenants' values or of all else: at most three
// reasons and how many more, and what to do about it.
func unreadFor(f *inspect.Facts, tenants bool) (missing []string, next string) {
	values := unreadValues(f, tenants)
	if !tenants {
		missing, next = unreadPlaces(f), f.Hints().UnreadNodes("read it too, with --nodes all and a way that leads to each node")
		values = append(values, unreadServers(f)...)
	}
	if len(missing) == 0 {
		next = f.Hints().Next("look at what they hold and present; {} inspect --all says what was read of it")
	}
	missing = append(missing, values...)
	if more := len(missing) - 3; more > 0 {
		missing = append(missing[:3:3], fmt.Sprintf("and %d more", more))
	}
	return missing, next
}

// unreadPlaces are the objects and nodes that were not read.
func unreadPlaces(f *inspect.Facts) []string {
	var out []string
	for _, what := range []string{"secrets", "configmaps"} {
		if !f.ReadAll(what) {
			out = append(out, "not all "+what+" were read")
		}
	}
	if len(f.Snapshot.Nodes) == 0 {
		out = append(out, "no node was read")
	}
	for _, n := range f.Snapshot.Nodes {
		if n.Via == "" {
			out = append(out, "node "+n.Name+" was not read")
		}
	}
	for _, n := range f.Snapshot.LeftOut() {
		out = append(out, "node "+n.Name+" was left out")
	}
	if f.Snapshot.LacksControlPlane() {
		out = append(out, "the file has no control plane node")
	}
	for _, g := range f.Snapshot.Gaps {
		if g.What != "secrets" && g.What != "configmaps" { // those are said
			out = append(out, said(g))
		}
	}
	return out
}

func said(g inspect.Gap) string { return strings.TrimSpace(g.What+" "+g.Where) + ": " + g.Reason }

// unreadValues are the values of which not all was read. What can't be read in a list of CAs
// needs no CA, and neither does a text that only speaks of certificates.
func unreadValues(f *inspect.Facts, tenants bool) []string {
	var out []string
	wanted := func(at pki.Location, _ *inspect.Object) bool {
		return tenants == (at.Namespace != "" && !catalog.ReservedNamespace(at.Namespace))
	}
	for _, g := range check.Locked(f, wanted) {
		out = append(out, said(g))
	}
	for i := range f.Entries {
		h := &f.Entries[i]
		if !wanted(h.At, h.Object) {
			continue
		}
		reason := h.Content.CutShort()
		speaks := h.Use == inspect.UseOther && h.At.Kind == "ConfigMap" && h.Row == nil && len(h.Content.Certs)+len(h.Content.Keys) == 0
		if reason == "" && h.Use != inspect.UseTrust && !speaks {
			reason = h.Content.UnreadCert()
		}
		if reason != "" {
			out = append(out, "not all of "+h.At.String()+" was read: "+reason)
		}
	}
	return out
}

// unreadServers are the servers that a handshake was tried with, and in which no certificate came.
func unreadServers(f *inspect.Facts) []string {
	var out []string
	for _, v := range trust.Silent(f) {
		out = append(out, fmt.Sprintf("%s: TLS handshake: %s", v.Address, v.Problem))
	}
	return out
}
