package trust

import (
	"fmt"
	"math"
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

// forecast looks at what will sign the certificate that is presented next: its signer
// may have been replaced already. What was not read of that makes the claim unknown,
// although it holds now.
func (j *judge) forecast(c *Claim, now time.Time) {
	next := j.nextOf(c)
	for _, s := range next.cas {
		costly := false
		trusted := func(ca *pki.Cert) bool {
			if ca.SPKI != s.SPKI || costly {
				return false
			}
			costly = !j.afford(c, []*pki.Cert{ca})
			return !costly && pki.VerifyCA(ca, c.Roots, now) == nil
		}
		if trusted(s) || slices.ContainsFunc(next.bridges, trusted) {
			continue
		}
		if costly {
			c.Status, c.NextUnknown, c.Reason = assess.Unknown, true, "trusted now; whether the next certificate will be trusted is unknown: "+whyCostly
			return
		}
		j.missingNextCA(c, next, s)
		return
	}
	if c.Status == assess.Pass && j.expires(c, now) {
		return
	}
	if next.unread != "" {
		c.Status, c.NextUnknown, c.Reason = assess.Unknown, true, "trusted now; the signer of the next certificate is unknown: "+next.unread
	}
}

// expires reports whether what is presented expires soon and nothing renews it;
// the claim says so then.
func (j *judge) expires(c *Claim, now time.Time) bool {
	leaf := c.Chain[0]
	left := leaf.NotAfter.Sub(now)
	if left > j.f.ExpiryWindow {
		return false
	}
	life, answer := catalog.LifetimeOf(c.Edge.Presented, j.f.Snapshot.Cluster.Versions)
	if answer != catalog.Yes {
		life, answer = j.lifetimeOf(leaf)
	}
	switch {
	case answer != catalog.Yes && left <= leaf.NotAfter.Sub(leaf.NotBefore)/5: // as check expiring has it
		c.Status, c.NextUnknown, c.From = assess.Unknown, true, leaf.NotAfter
		c.Reason = fmt.Sprintf("trusted now; the certificate presented expires %s, and what renews it is unknown", moment(leaf.NotAfter))
		return true
	case answer != catalog.Yes || life.SelfRotating():
		return false
	}
	c.Status, c.From = assess.Warn, c.Chain[0].NotAfter
	c.Reason = "the certificate presented expires and is not renewed automatically"
	if life.Doc != "" {
		c.Reason += ": " + life.Doc
	}
	return true
}

// lifetimeOf is the lifetime of a certificate by the places that hold it: a copy lives as long
// as what it is a copy of. That of a place where it is renewed goes before others; of places
// that several tenants write, the worst counts.
func (j *judge) lifetimeOf(leaf *pki.Cert) (catalog.Lifetime, catalog.Tristate) {
	if l, known := j.index.lifetimes[leaf.Fingerprint]; known {
		return l.Lifetime, l.Tristate
	}
	holding := j.presenting(leaf)
	var worst catalog.Lifetime
	answer := catalog.No
	for i, copies := range inspect.ByWriter(holding) {
		life, known := j.lifetimeAmong(copies)
		renews := known == catalog.Yes && life.SelfRotating()
		if i == 0 || !renews && (answer != catalog.Yes || worst.SelfRotating()) {
			worst, answer = life, known
		}
	}
	if j.index.lifetimes == nil {
		j.index.lifetimes = map[pki.Fingerprint]lifetime{}
	}
	j.index.lifetimes[leaf.Fingerprint] = lifetime{worst, answer}
	return worst, answer
}

// lifetimeAmong is the lifetime of a certificate by copies of it.
func (j *judge) lifetimeAmong(copies []*inspect.Entry) (catalog.Lifetime, catalog.Tristate) {
	var out catalog.Lifetime
	answer := catalog.No
	for _, h := range copies {
		if h.Row == nil {
			continue
		}
		switch life, known := h.Row.Lifetime(j.f.Snapshot.Cluster.Versions); {
		case known == catalog.Yes && life.SelfRotating():
			return life, known
		case known == catalog.Yes && answer != catalog.Yes:
			out, answer = life, known
		case known == catalog.Unknown && answer == catalog.No:
			answer = known
		}
	}
	return out, answer
}

// missingNextCA says that a claim does not hold any more once this CA signs what is presented.
func (j *judge) missingNextCA(c *Claim, next succession, ca *pki.Cert) {
	if next.sure {
		c.breaksWith(ca, j.f.Snapshot.Cluster.Versions)
		j.skippedCA(c, []*pki.Cert{ca}, func(c *Claim) bool { return j.afford(c, []*pki.Cert{ca}) && pki.VerifyCA(ca, c.Roots, j.f.Now) == nil })
		c.NextUnknown = c.Status == assess.Unknown
		return
	}
	c.Status, c.NextUnknown = assess.Unknown, true
	c.Reason = fmt.Sprintf("trusted now; the signer of the next certificate is unknown: %s was not read, and %s, which publishes that CA, holds %s (%s), which is not trusted here",
		next.signer, next.bundle, foreign.QuotedName(pki.CommonName(ca.Subject)), ca.Fingerprint.Short())
}

// breaksWith says that a claim holds until what is presented is signed by this signer.
func (c *Claim) breaksWith(signer *pki.Cert, v catalog.Versions) {
	c.Status, c.Missing = assess.Warn, signer
	c.Reason = fmt.Sprintf("the next certificate presented will be signed by %s", foreign.QuotedName(pki.CommonName(signer.Subject)))
	life, answer := catalog.LifetimeOf(c.Edge.Presented, v)
	if answer == catalog.Yes && len(c.Chain) > 0 {
		c.From = life.EarliestReissue(c.Chain[0].NotBefore, c.Chain[0].NotAfter, signer.NotBefore)
	}
}

// fits reports whether a path is one of a pattern's.
func fits(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// succession is what was read of who signs what is presented next.
type succession struct {
	signer, bundle catalog.Ref
	// cas are the signer's certificate where it is sure, else all that it may be.
	cas  []*pki.Cert
	sure bool
	// bridges are the signer's certificates signed by those before it, which are
	// presented with what it signs.
	bridges []*pki.Cert
	unread  string // why nothing is known; else empty
}

// nextOf tells who signs what is presented in a claim, from now on. The zero succession: the
// catalog knows of no rotation, or there is no signer.
func (j *judge) nextOf(c *Claim) succession {
	var out succession
	for _, r := range catalog.Rotations() {
		if !j.signs(r, c) {
			continue
		}
		switch r.In.Holds(j.f.Snapshot.Cluster.Versions) {
		case catalog.Yes:
			return j.succession(r, c)
		case catalog.Unknown:
			out.unread = j.f.Snapshot.Cluster.Versions.WhyUndecided()
		}
	}
	return out
}

// signs reports whether a rotation is about what is presented in a claim.
func (j *judge) signs(r catalog.Rotation, c *Claim) bool {
	presented := c.Edge.Presented
	if r.Selector != (catalog.ObjectSelector{}) {
		return c.Edge.Selector == r.Selector || string(c.Presented.Kind) == catalog.Secret && j.annotated(c.Presented, r.Selector)
	}
	return slices.ContainsFunc(r.Targets, func(t catalog.Ref) bool {
		return t == presented || t.Kind == catalog.File && fits(t.Name, presented.Name)
	})
}

// withKey are the signers on nodes that have the key beside: the one of this node where
// it has one, else all.
func (j *judge) withKey(places []identity, node string) []identity {
	var out []identity
	for _, s := range places {
		n, ok := j.f.Node(s.node)
		if !ok || n.File(strings.TrimSuffix(s.at.Path, ".crt")+".key") == nil {
			continue
		}
		if s.node == node {
			return []identity{s}
		}
		out = append(out, s)
	}
	return out
}

// annotated reports whether the object at a place has the annotation that is selected by.
func (j *judge) annotated(at pki.Location, by catalog.ObjectSelector) bool {
	o := j.object(at)
	return o != nil && by.Annotated(o.Annotations)
}

func (j *judge) succession(r catalog.Rotation, c *Claim) succession {
	out := succession{signer: r.Signer, bundle: r.Bundle}
	places := j.ofControlPlane(j.presented(r.Signer, catalog.ObjectSelector{}))
	signers := places
	switch {
	case r.Signer.Kind == catalog.File && j.unreadMaster(c.Presented.Node):
		places, signers = nil, nil // it would sign that with its own
	case r.Signer.Kind == catalog.File:
		signers = j.withKey(places, c.Presented.Node)
	}
	for _, s := range signers {
		out.cas, out.sure = append(out.cas, s.chain[0]), true
	}
	for _, b := range j.presented(r.Bridge, catalog.ObjectSelector{}) {
		out.bridges = append(out.bridges, b.chain...)
	}
	if out.sure || j.absent(r.Signer) {
		return out
	}
	published := j.published(r.Bundle)
	switch {
	case len(published) == 0 && len(places) > 0:
		return out // its key is kept elsewhere: nothing here signs
	case len(published) == 0 && r.Bundle == catalog.Ref{}:
		out.unread = r.Signer.String() + " was not read"
		return out
	case len(published) == 0:
		out.unread = fmt.Sprintf("%s was not read, nor %s, which publishes that CA", r.Signer, r.Bundle)
		return out
	}
	// Its signer is in the bundle before it signs; and none that is older than who has
	// signed what is presented now (library-go pkg/operator/certrotation @ 93ac9206a).
	issuer := j.issuer(c)
	for _, p := range published {
		for _, ca := range p.chain {
			if ca.IsCA && ca.NotAfter.After(j.f.Now) && (issuer == nil || !ca.NotBefore.Before(issuer.NotBefore)) {
				out.cas = append(out.cas, ca)
				if r.Bridge != (catalog.Ref{}) && !ca.SelfSigned {
					out.bridges = append(out.bridges, ca)
				}
			}
		}
	}
	return out
}

// NextVerification is what comes next for a claim by itself.
type NextVerification struct {
	// Verifies is when its verifier verifies what is presented again, for people.
	Verifies string `json:"when"`
	// Reload is when a change of its trust anchors counts.
	Reload catalog.ReloadPolicy `json:"trustLoaded"`
	// From and To are between which times the verifier renews its own client
	// certificate, and so reconnects; zero: unknown, or of no effect.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
}

// next tells what comes next for a claim.
func (j *judge) next(c *Claim) *NextVerification {
	n := &NextVerification{Reload: c.Reload}
	conn, ok := catalog.ConnectionOf(c.Edge.ID)
	if !ok {
		n.Verifies = map[catalog.ReloadPolicy]string{
			catalog.ReloadAtStart:    "at its next start",
			catalog.ReloadEachTime:   "each time: now",
			catalog.ReloadByNewNodes: "when a node is added",
		}[c.Reload]
		// Others than who dials by a kubeconfig at its start.
		always := c.Edge.Trust != (catalog.Ref{}) && c.Verify == catalog.VerifyChain && c.ServerName != catalog.NameInKubeconfig
		if n.Verifies == "" || c.Reload == catalog.ReloadAtStart && always {
			n.Verifies = "at each new connection"
		}
		return n
	}
	n.From, n.To = j.clientRenewal(conn, c.Node)
	n.Verifies = "at its next connection: after a rollout of kube-apiserver, its own restart or a network failure; " + j.reconnects(conn)
	return n
}

// reconnects tells how soon a client reconnects because kube-apiserver asks for it.
func (j *judge) reconnects(conn catalog.Connection) string {
	g, answer := catalog.GoawayOf(j.f.Snapshot.Cluster.Topology, j.f.Snapshot.Cluster.Versions)
	beside := ""
	if g.Doc != "" {
		beside = "; " + g.Doc
	}
	switch {
	case answer == catalog.Unknown:
		return "whether it reconnects automatically is unknown: kube-apiserver's version, or the topology, does not tell"
	case answer == catalog.No:
		return "whether it reconnects automatically is unknown (--goaway-chance)"
	case g.Chance == 0:
		return "kube-apiserver does not end it (its goaway-chance is 0" + beside + ")"
	case conn.Every == 0:
		return fmt.Sprintf("by itself about every %.0f requests (goaway-chance %g%s)", 1/g.Chance, g.Chance, beside)
	}
	return fmt.Sprintf("by themselves half of them within %s, 99 %% within %s (goaway-chance %g, a request at least every %s%s)",
		hours(within(g.Chance, 0.5, conn.Every)), hours(within(g.Chance, 0.99, conn.Every)), g.Chance, conn.Every, beside)
}

// within is how long it takes until a share of those who make a request that often
// have been asked to reconnect.
func within(chance, share float64, every time.Duration) time.Duration {
	return time.Duration(math.Ceil(math.Log(1-share)/math.Log(1-chance))) * every
}

func hours(d time.Duration) string { return fmt.Sprintf("%.0f h", math.Ceil(d.Hours())) }

// clientRenewal is between which times a verifier renews its client certificate, on its node where
// that is a file; zero where that is unknown, or overdue.
func (j *judge) clientRenewal(conn catalog.Connection, node string) (from, to time.Time) {
	for _, c := range j.clientCerts(conn.Client, node) {
		life, answer := j.lifetimeOf(c)
		if answer != catalog.Yes {
			continue
		}
		from, _ = life.EarliestRenewal(c.NotBefore, c.NotAfter)
		to, _ = life.LatestRenewal(c.NotBefore, c.NotAfter)
	}
	if !to.After(j.f.Now) {
		return time.Time{}, time.Time{}
	}
	return from, to
}

// clientCerts are a verifier's own client certificate. A kubelet that says so does not renew its own.
func (j *judge) clientCerts(at catalog.Ref, node string) []*pki.Cert {
	var out []*pki.Cert
	in := j.f.Entries
	if at.Kind == catalog.File {
		n, ok := j.f.Node(node)
		if !ok || at.Name == inspect.KubeletClient && n.Kubelet.RotateCertificates != nil && !*n.Kubelet.RotateCertificates {
			return nil
		}
		in = j.f.InFile(node, at.Name)
	}
	for i := range in {
		h := &in[i]
		fits := at.Kind == catalog.File || at.Fits(string(h.At.Kind), h.At.Namespace, h.At.Name, h.At.Key)
		if fits && h.Row != nil && len(h.Content.Certs) > 0 {
			out = append(out, h.Content.Certs[0])
		}
	}
	return out
}

// Forecasts says what comes of each claim at the next rotation; nil: who verifies is known by
// a server's log only.
func Forecasts(f *inspect.Facts, claims []Claim) []*NextVerification {
	j := newJudge(f)
	out := make([]*NextVerification, len(claims))
	for i := range claims {
		if claims[i].Reload != "" {
			out[i] = j.next(&claims[i])
		}
	}
	return out
}
