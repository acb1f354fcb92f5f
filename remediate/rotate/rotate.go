package rotate

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// Rotatable is a signer of the catalog, or what one signs, as far as it was read.
type Rotatable struct {
	At       catalog.Ref
	Name     string // as it may be typed: shortest of "name" and "namespace/name" that means it alone
	Rotation catalog.Rotation
	Trigger  catalog.Trigger
	Known    catalog.Answer // of the Trigger
	Held     *inspect.Held  // nil: not read

	versions catalog.Versions
	hints    inspect.Hints
}

// Signer reports whether it signs others.
func (r Rotatable) Signer() bool { return r.At == r.Rotation.Signer }

// Cert is its certificate; nil where it was not read.
func (r Rotatable) Cert() *pki.Cert {
	if r.Held == nil || len(r.Held.Content.Certs) == 0 {
		return nil
	}
	return r.Held.Content.Certs[0]
}

// Next is when its certificate is renewed automatically, as inspect says it; zero where
// that is not known.
func (r Rotatable) Next(f *inspect.Facts) time.Time {
	if c := r.Cert(); c != nil {
		return f.RenewalOf(c).Due
	}
	return time.Time{}
}

// Rotatables are all signers that the versions which run may have, each followed by
// what it signs.
func Rotatables(f *inspect.Facts) []Rotatable {
	v := f.Snapshot.Cluster.Versions
	var out []Rotatable
	for _, row := range rotations(v) {
		out = append(out, rotatable(f, row, row.Signer))
		for _, target := range row.Targets {
			if target.Kind != catalog.Secret {
				continue
			}
			for _, at := range refsOf(f, target) {
				out = append(out, rotatable(f, row, at))
			}
		}
	}
	// csr-signer is what one signer signs, and a signer.
	var once []Rotatable
	for _, r := range out {
		if !slices.ContainsFunc(once, func(o Rotatable) bool { return o.At == r.At }) {
			once = append(once, r)
		}
	}
	for i := range once {
		once[i].Name = once[i].At.Name
		same := func(o Rotatable) bool { return o.At.Name == once[i].At.Name && o.At != once[i].At }
		if slices.ContainsFunc(once, same) {
			once[i].Name = once[i].At.Namespace + "/" + once[i].At.Name
		}
	}
	return once
}

// rotations are those that hold, and those of which it is not known; of several about
// the same signer one.
func rotations(v catalog.Versions) []catalog.Rotation {
	var out []catalog.Rotation
	for _, answer := range []catalog.Answer{catalog.Yes, catalog.Unknown} {
		for _, r := range catalog.Rotations() {
			if r.Signer.Kind == catalog.Secret && r.In.Holds(v) == answer && !slices.ContainsFunc(out, func(o catalog.Rotation) bool { return o.Signer == r.Signer }) {
				out = append(out, r)
			}
		}
	}
	return out
}

func rotatable(f *inspect.Facts, row catalog.Rotation, at catalog.Ref) Rotatable {
	r := Rotatable{At: at, Rotation: row, versions: f.Snapshot.Cluster.Versions, hints: f.Hints()}
	r.Trigger, r.Known = catalog.TriggerOf(at, f.Snapshot.Cluster.Versions)
	if held := heldAt(f, at); len(held) > 0 {
		r.Held = held[0]
	}
	return r
}

// refsOf are the Secrets of a pattern that were read; itself, where it is none.
func refsOf(f *inspect.Facts, pattern catalog.Ref) []catalog.Ref {
	if !strings.Contains(pattern.Name, "*") {
		return []catalog.Ref{pattern}
	}
	var out []catalog.Ref
	for _, h := range heldAt(f, pattern) {
		at := pattern
		if at.Name = h.At.Name; h.Revision == 0 && !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out
}

// heldAt is what was read at the places of a row.
func heldAt(f *inspect.Facts, r catalog.Ref) []*inspect.Held {
	fits := func(pattern, name string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	}
	var out []*inspect.Held
	for i := range f.Held {
		h := &f.Held[i]
		switch {
		case string(h.At.Kind) != r.Kind, !fits(r.Namespace, h.At.Namespace), !fits(r.Name, h.At.Name):
		case r.Key != "" && h.At.Key != r.Key && h.At.Field != r.Key && !strings.HasPrefix(h.At.Field, r.Key+"#"):
		default:
			out = append(out, h)
		}
	}
	return out
}

// notThere reports whether a place that was not found is known not to be there.
func notThere(f *inspect.Facts, r catalog.Ref) bool {
	if r.Kind == catalog.ControllerConfig {
		return f.Whole("controllerconfigs")
	}
	return f.Absent(r)
}

// ErrNoSuchRotation says that a name means nothing that the catalog knows.
var ErrNoSuchRotation = errors.New("no signer of the catalog, and nothing that one signs, is called so")

// FindRotatable returns what a name means: "name", "namespace/name", or either with
// "secret/" before the name.
func FindRotatable(all []Rotatable, name string) (Rotatable, error) {
	wanted := strings.TrimPrefix(name, "secret/")
	var found []Rotatable
	for _, r := range all {
		if wanted == r.At.Name || wanted == r.At.Namespace+"/"+r.At.Name {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return Rotatable{}, fmt.Errorf("%q: %w", name, ErrNoSuchRotation)
	case 1:
		return found[0], nil
	}
	var names []string
	for _, r := range found {
		names = append(names, r.At.Namespace+"/"+r.At.Name)
	}
	return Rotatable{}, fmt.Errorf("%q may be %s", name, strings.Join(names, " or "))
}

// Stage is a step on the way of a new CA to all who verify by it.
type Stage struct {
	Name string
	// Reached is Unknown where something that decides was not read.
	Reached catalog.Answer
	Text    string // what is so, for people
	Next    string // why it may be late, and what to look at; empty where it is reached
	// Settling: it is not reached only because another certificate may still take the
	// place of the newest one.
	Settling bool
}

// The stages, in their order.
const (
	StageSigner     = "signer"
	StageBundle     = "bundle"
	StageAggregates = "aggregates"
	StageTrust      = "trust"
	StageLeaf       = "leaf"
	StageServed     = "served"
	StageEdges      = "edges"
)

// Chain is a rotation with what was read of it.
type Chain struct {
	Facts  *inspect.Facts
	Claims []trust.Claim // of all edges, by trust.Judge
	Of     Rotatable
	// Since is the signer's certificate that was to be replaced: each CA that is newer is
	// followed. nil: it is not known, and those count that are newer than who has signed
	// what is in use.
	Since *pki.Cert
	// Machinery says why a stage may be late; nil: no API server was asked.
	Machinery *inspect.Machinery
}

// Stages tells how far the newest certificate of a signer is, by the certificates
// alone: whoever triggered it, and whenever.
func (c Chain) Stages() []Stage {
	out := []Stage{c.signerStage()}
	ca := c.signer()
	if ca == nil {
		return out
	}
	young := c.young(ca)
	if c.Of.Rotation.Bundle != (catalog.Ref{}) {
		out = append(out, c.bundleStage(young), c.aggregatesStage(young))
	}
	leaf := c.leafStage(ca)
	return append(out, c.trustStage(young), leaf, c.servedStage(ca, leaf), c.edgesStage(leaf))
}

// young are the signer's certificate, and those CAs of its bundle that were made in the
// same rotation: more than one may have been, and any of them may have signed something.
func (c Chain) young(ca *pki.Cert) []*pki.Cert {
	out, since := []*pki.Cert{ca}, c.Since
	var bundle []*pki.Cert
	for _, h := range heldAt(c.Facts, c.Of.Rotation.Bundle) {
		bundle = append(bundle, h.Content.Certs...)
	}
	if since == nil {
		since = c.oldest(append(bundle, ca))
	}
	for _, x := range bundle {
		if since != nil && x.IsCA && x.NotBefore.After(since.NotBefore) && x.NotAfter.After(c.Facts.Now) && !hasCert(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// oldest is the first made of those CAs that have signed what is in use; nil: none of
// them has.
func (c Chain) oldest(cas []*pki.Cert) *pki.Cert {
	var first *pki.Cert
	for _, at := range c.leaves() {
		for _, h := range heldAt(c.Facts, at) {
			for _, ca := range cas {
				if len(h.Content.Certs) > 0 && signed(h.Content.Certs[0], ca) && (first == nil || ca.NotBefore.Before(first.NotBefore)) {
					first = ca
				}
			}
		}
	}
	return first
}

func hasCert(in []*pki.Cert, c *pki.Cert) bool {
	return slices.ContainsFunc(in, func(x *pki.Cert) bool { return x.Fingerprint == c.Fingerprint })
}

// signer is the certificate that signs now; nil where it was not read.
func (c Chain) signer() *pki.Cert {
	for _, h := range heldAt(c.Facts, c.Of.Rotation.Signer) {
		if len(h.Content.Certs) > 0 {
			return h.Content.Certs[0]
		}
	}
	return nil
}

func (c Chain) owner() string {
	for _, h := range heldAt(c.Facts, c.Of.Rotation.Signer) {
		if owner := h.Owner(); owner != "" {
			return owner
		}
	}
	if at := c.Of.Rotation.Signer; strings.HasSuffix(at.Namespace, "-operator") {
		return strings.TrimPrefix(at.Namespace, "openshift-")
	}
	return noOwner
}

// noOwner is who keeps what nobody is known to keep.
const noOwner = "its operator"

func (c Chain) signerStage() Stage {
	at := c.Of.Rotation.Signer
	held := heldAt(c.Facts, at)
	s := Stage{Name: StageSigner, Next: causes(c.ownerDown(c.owner()), lookAtOperator(c.owner()))}
	switch {
	case len(held) == 0 && notThere(c.Facts, at):
		s.Reached, s.Text = catalog.No, at.String()+" is not there: "+c.owner()+" makes it anew"
		return s
	case len(held) == 0 || len(held[0].Content.Certs) == 0:
		s.Text, s.Next = at.String()+" was not read, or holds no certificate", c.Facts.Hints().Unread(inspect.MayList("secrets", at.Namespace))
		return s
	}
	ca := held[0].Content.Certs[0]
	if problem := disagrees(held[0]); c.Of.Trigger.Annotation != "" && problem != "" {
		s.Reached, s.Text = catalog.No, at.String()+": "+problem
		return s
	}
	s.Text = fmt.Sprintf("%s, made %s", pki.Named(ca), remediate.Timestamp(ca.NotBefore))
	if text, settles := c.settling(at, ca); settles {
		s.Reached, s.Next, s.Settling = catalog.No, settlingNext, true
		s.Text += text
		return s
	}
	return Stage{Name: StageSigner, Reached: catalog.Yes, Text: s.Text}
}

// settlingNext is the next step while it is not seen yet which certificate stays.
const settlingNext = "nothing: each of its owners looks at it every minute"

// settling says that another certificate may still take this one's place; false: none may.
func (c Chain) settling(at catalog.Ref, cert *pki.Cert) (text string, settles bool) {
	quiet, second := c.quiet(at)
	until := cert.NotBefore.Add(quiet)
	if !c.now().Before(until) {
		return "", false
	}
	return fmt.Sprintf("; %s and the %s may each issue one, and the last one stays: it counts if it is still there %s", c.owner(), second, remediate.Timestamp(until)), true
}

// quiet is how old a certificate has to be to count, and who may issue it beside its
// owner; where the version that decides was not read, as long as any row says.
func (c Chain) quiet(at catalog.Ref) (most time.Duration, second string) {
	t, known := catalog.TriggerOf(at, c.Facts.Snapshot.Cluster.Versions)
	if known == catalog.Yes {
		return t.Quiet, t.Second
	}
	for _, t := range catalog.Triggers() {
		if t.Of == at && t.Quiet > most {
			most, second = t.Quiet, t.Second
		}
	}
	return most, second
}

// now is what time it is at the API server, at the earliest: certificates are dated there.
func (c Chain) now() time.Time {
	if least, _, ok := c.Facts.Snapshot.Cluster.Clock.Ahead(); ok {
		return c.Facts.Now.Add(least)
	}
	return c.Facts.Now
}

func lookAtOperator(owner string) string {
	if owner == noOwner {
		return owner + " is to do it; is it there, and well? oc get clusteroperators"
	}
	name := strings.TrimSuffix(owner, "-operator")
	return owner + " is to do it; is it there, and well? " + foreign.Command("oc get clusteroperators", "oc get clusteroperator %[1]s; oc -n openshift-%[2]s logs deployment/%[2]s", name, owner)
}

// disagrees says how the annotations by which an owner decides differ from the
// certificate; empty: not at all.
func disagrees(h *inspect.Held) string {
	if h.Object == nil || len(h.Content.Certs) == 0 {
		return ""
	}
	leaf := h.Content.Certs[0]
	for _, a := range []struct {
		key  string
		want time.Time
	}{{catalog.AnnotationNotAfter, leaf.NotAfter}, {catalog.AnnotationNotBefore, leaf.NotBefore}} {
		key, want := a.key, a.want
		value, ok := h.Object.Annotations[key]
		at, err := time.Parse(time.RFC3339, value)
		switch {
		case !ok:
			return "the annotation " + key + " is gone: it is to be made anew, and was not yet"
		case err != nil:
			return fmt.Sprintf("the annotation %s is %s, no time: it is to be made anew, and was not yet", key, foreign.Called(fmt.Sprintf("%.40s", value)))
		case !at.Equal(want):
			return fmt.Sprintf("the annotation %s says %s, the certificate %s", key, remediate.Timestamp(at), remediate.Timestamp(want))
		}
	}
	return ""
}

func (c Chain) bundleStage(cas []*pki.Cert) Stage {
	s := c.placesStage(StageBundle, []catalog.Ref{c.Of.Rotation.Bundle}, cas)
	if s.Reached == catalog.No {
		s.Next = causes(c.ownerDown(c.owner()), lookAtOperator(c.owner()))
	}
	return s
}

func (c Chain) aggregatesStage(cas []*pki.Cert) Stage {
	var places []catalog.Ref
	for _, a := range catalog.Carriers(c.Of.Rotation.Bundle, c.Facts.Snapshot.Cluster.Versions) {
		if a.Carries == (catalog.Carries{}) {
			places = append(places, a.Target)
		}
	}
	if len(places) == 0 {
		return Stage{Name: StageAggregates, Reached: catalog.Yes, Text: "no other bundle is made of it"}
	}
	s := c.placesStage(StageAggregates, places, cas)
	if s.Reached == catalog.No {
		s.Next = causes(c.publishersDown(), "its publisher is to bring it there: oc get clusteroperators kube-apiserver kube-controller-manager kube-scheduler machine-config. kube-root-ca.crt follows a new revision of kube-controller-manager, which waits for masters that are not Ready")
	}
	return s
}

// placesStage asks whether CAs are in all of these places. What is known not to be
// there can't have them, and nobody verifies by it.
func (c Chain) placesStage(name string, places []catalog.Ref, cas []*pki.Cert) Stage {
	s := Stage{Name: name, Reached: catalog.Yes}
	has, all := 0, 0
	var lack, unread []string
	for _, at := range places {
		found := false
		for _, h := range heldAt(c.Facts, at) {
			if h.Use != inspect.UseTrust || h.Superseded || h.Revision > 0 {
				continue
			}
			found = true
			all++
			loaded, _ := h.Content.LoadedBy(pki.ReaderUnknown) // by whoever reads it
			if !slices.ContainsFunc(cas, func(ca *pki.Cert) bool { return !hasCert(loaded, ca) }) {
				has++
			} else {
				lack = append(lack, h.At.String())
			}
		}
		if !found && !notThere(c.Facts, at) {
			unread = append(unread, at.String())
		}
	}
	switch {
	case len(lack) > 0:
		s.Reached, s.Text = catalog.No, fmt.Sprintf("%d of %d have it; without it: %s", has, all, few(lack))
	case len(unread) > 0:
		s.Reached, s.Text = catalog.Unknown, fmt.Sprintf("%d of %d that were read have it; not read: %s", has, all, few(unread))
		s.Next = c.Facts.Hints().Unread(inspect.MayList("configmaps", ""), inspect.MayList("secrets", ""))
	case all == 0:
		s.Reached, s.Text = catalog.No, few(refNames(places))+": not there"
	case all == 1:
		s.Text = places[0].String() + " has it"
	default:
		s.Text = fmt.Sprintf("all %d have it", all)
	}
	return s
}

func refNames(refs []catalog.Ref) []string {
	var out []string
	for _, r := range refs {
		out = append(out, r.String())
	}
	return out
}

// few names some places, as long as they are few.
func few(names []string) string {
	const most = 4
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// trustStage asks whether everybody who verifies what the signer signs trusts it now,
// and when it is signed by the newest certificate, or by another one that was made in the
// same rotation.
func (c Chain) trustStage(young []*pki.Cert) Stage {
	s := Stage{Name: StageTrust, Reached: catalog.Yes}
	all, holds := 0, 0
	var lack, unknown []string
	for _, claim := range c.claims() {
		if aboutServer(claim) {
			continue
		}
		all++
		ca := untrusted(claim, young, c.Facts.Now)
		switch {
		case claim.Status == trust.Holds && ca != nil:
			lack = append(lack, whoOf(claim)+" (it lacks "+pki.Named(ca)+", which was made in the same rotation)")
		case claim.Status == trust.Holds:
			holds++
		case claim.Status == trust.Unknown:
			unknown = append(unknown, whoOf(claim)+" ("+claim.Why+")")
		default:
			lack = append(lack, whoOf(claim)+" ("+claim.Why+")")
		}
	}
	unknown = append(unknown, c.leftOut()...)
	switch {
	case len(lack) > 0:
		s.Reached, s.Text = catalog.No, fmt.Sprintf("%d of %d who verify what it signs trust it, now and next; not: %s", holds, all, few(lack))
		s.Next = c.lateOnNodes()
	case len(unknown) > 0:
		s.Reached, s.Text = catalog.Unknown, fmt.Sprintf("%d of %d who verify what it signs trust it; not known: %s", holds, all, few(unknown))
		s.Next = c.Facts.Hints().UnreadNodes("read the nodes too: --nodes all, with --via ssh where exec does not lead there")
	case all == 0:
		s.Reached, s.Text = catalog.Unknown, "who verifies what it signs was not asked, or is not known"
		s.Next = c.Facts.Hints().UnreadNodes("{} verify --nodes all tells what is known")
	default:
		s.Text = fmt.Sprintf("all %d who verify what it signs trust it, now and next", all)
	}
	return s
}

// leftOut are those who verify what it signs by a file on a node, and of whom there is no
// claim: on nodes that nobody asked to read, or that are not known, and processes of which
// it is not known since when they run, with what they had read then.
func (c Chain) leftOut() []string {
	edges := c.byFile()
	if len(edges) == 0 {
		return nil
	}
	var out []string
	left := map[string]bool{}
	for _, n := range c.Facts.Snapshot.Unasked {
		left[n.Name] = true
	}
	if c.Machinery != nil {
		for _, n := range c.Machinery.Nodes {
			if _, asked := c.Facts.Snapshot.Node(n.Name); !asked {
				left[n.Name] = true
			}
		}
		if g, ok := c.Machinery.Gap("nodes"); ok {
			out = append(out, "who verifies it on nodes that are not known ("+g.Reason+")")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		out = append(out, "who verifies it on "+name+" (the node was left out)")
	}
	for _, g := range c.Facts.Snapshot.Gaps {
		if g.What == "nodes" && g.Where == "" {
			out = append(out, "who verifies it on nodes that are not known ("+g.Reason+")")
		}
	}
	if len(c.Facts.Snapshot.Nodes) == 0 && len(out) == 0 {
		out = append(out, "who verifies it on nodes (none was read)")
	}
	for _, row := range catalog.Processes() {
		if !slices.ContainsFunc(edges, func(e catalog.Edge) bool { return e.ID == row.Of }) {
			continue
		}
		for i := range c.Facts.Snapshot.Nodes {
			n := &c.Facts.Snapshot.Nodes[i]
			_, _, known := n.Running(row.Command)
			switch {
			case n.Via == "" || known:
			case row.Command == "kubelet" && (n.Kubelet.Active == "" || n.Kubelet.Active == "active"):
				out = append(out, "kubelet on "+n.Name+" (since when it runs is not known)")
			case row.Command != "kubelet" && c.claimed(row.Of, n.Name) && !preflight.AbsentProcess(c.Facts.Snapshot, n, row.Command):
				out = append(out, row.Verifier+" on "+n.Name+" (whether it runs was not read, nor since when, so that what it has in memory is not known)")
			}
		}
	}
	return out
}

// claimed reports whether there is a claim of an edge on a node: who verifies is there.
func (c Chain) claimed(edge, node string) bool {
	return slices.ContainsFunc(c.Claims, func(claim trust.Claim) bool { return claim.ID == edge && claim.Node == node })
}

// byFile are the edges in which what it signs is verified by a file on nodes.
func (c Chain) byFile() []catalog.Edge {
	return slices.DeleteFunc(c.Of.Rotation.Consumers(c.Facts.Snapshot.Cluster.Versions), func(e catalog.Edge) bool {
		return e.Trust.Kind != catalog.File || !c.Of.Signer() && e.Shown != c.Of.At
	})
}

// claims are those about what the signer signs.
func (c Chain) claims() []trust.Claim {
	var out []trust.Claim
	for _, claim := range c.Claims {
		carried := c.Of.Signer() && c.Of.Rotation.Carries != (catalog.Carries{}) && claim.Edge.Carries == c.Of.Rotation.Carries
		if carried || slices.Contains(c.leaves(), claim.Edge.Shown) {
			out = append(out, claim)
		}
	}
	return out
}

func whoOf(claim trust.Claim) string {
	if claim.Node == "" {
		return claim.Verifier
	}
	return claim.Verifier + " on " + claim.Node
}

// untrusted is the first of some CAs that who verifies does not trust; nil: all are
// trusted, or it is not known by what is verified.
func untrusted(claim trust.Claim, cas []*pki.Cert, now time.Time) *pki.Cert {
	for _, ca := range cas {
		if len(claim.Roots) > 0 && pki.VerifyCA(ca, claim.Roots, now) != nil {
			return ca
		}
	}
	return nil
}

// lateOnNodes says why a CA may be late on nodes.
func (c Chain) lateOnNodes() string {
	next := c.Facts.Hints().Next("{} verify" + c.Facts.Hints().Live(" --nodes all") + " names each, and what mends it")
	seen := c.nodesLate()
	for _, d := range c.Of.Rotation.Brought(c.Facts.Snapshot.Cluster.Versions) {
		switch {
		case !d.Delivered:
			next += "; this version does not bring it to " + d.To.Name + c.Facts.Hints().Next(": {} pretrust does, before anything is signed by it, and {} fix-api-int after")
		case len(seen) > 0: // then it is known what holds it up
		case d.Pools:
			next += "; to " + d.To.Name + " it comes by the pools: is one paused, or a node not Ready? oc get machineconfigpools"
		default:
			next += "; to " + d.To.Name + " it is brought by machine-config-daemon: does it run there? oc -n openshift-machine-config-operator get pods -o wide"
		}
	}
	return strings.Join(append(seen, next), "; ")
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
	s := Stage{Name: StageLeaf, Reached: catalog.Yes}
	v := c.Facts.Snapshot.Cluster.Versions
	var done, old, young, unread, told []string
	for _, at := range c.leaves() {
		held := heldAt(c.Facts, at)
		if len(held) == 0 || len(held[0].Content.Certs) == 0 {
			if !notThere(c.Facts, at) {
				unread = append(unread, at.String())
			}
			continue
		}
		leaf := held[0].Content.Certs[0]
		if rotatable(c.Facts, c.Of.Rotation, at).Told() {
			old = append(old, at.Name+": its annotation is gone, so that its owner makes it anew, by whatever signs then")
			if owner := held[0].Owner(); owner != "" && !slices.Contains(told, owner) {
				told = append(told, owner)
			}
			continue
		}
		if signed(leaf, ca) {
			if text, settles := c.settling(at, leaf); settles {
				young = append(young, at.Name+": issued "+remediate.Timestamp(leaf.NotBefore)+text)
				continue
			}
			done = append(done, at.Name)
			continue
		}
		text := at.Name + " is signed by " + pki.Foreign(pki.CommonName(leaf.Issuer))
		if life, known := catalog.LifetimeOf(at, v); known == catalog.Yes {
			from := life.ResignedFrom(leaf.NotBefore, leaf.NotAfter, ca.NotBefore)
			text += ", and is signed anew " + remediate.Timestamp(from) + " at the earliest"
		}
		old = append(old, text)
	}
	switch {
	case len(old) > 0:
		s.Reached, s.Text = catalog.No, strings.Join(old, "; ")
		s.Next = "nothing: what a signer signs follows by itself, after everybody had time to trust the new CA"
		if len(told) > 0 { // that is done within seconds, where its owner works
			var seen []string
			for _, owner := range told {
				seen = append(seen, c.ownerDown(owner)...)
			}
			s.Next = causes(seen, lookAtOperator(told[0]))
		}
	case len(young) > 0:
		s.Reached, s.Text, s.Next, s.Settling = catalog.No, strings.Join(young, "; "), settlingNext, true
	case len(unread) > 0:
		s.Reached, s.Text, s.Next = catalog.Unknown, "not read: "+few(unread), c.Facts.Hints().Unread(inspect.MayList("secrets", ""))
	case len(done) == 0:
		s.Reached, s.Text, s.Next = catalog.Unknown, "nothing that it signs was found", c.Facts.Hints().Next("{} inspect")
	default:
		s.Text = "signed by it: " + few(done)
	}
	return s
}

// Signed tells whether the newest certificate of its signer has signed what was named. why
// says what was not read, where that is not known.
func (c Chain) Signed() (answer catalog.Answer, why string) {
	leaf, ca := c.Of.Cert(), c.signer()
	switch {
	case leaf == nil && notThere(c.Facts, c.Of.At):
		return catalog.Unknown, c.Of.At.String() + " is not there: its owner makes it anew, by whatever signs then"
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

// Settled reports whether nothing of the chain is under way; where it is, or where that
// is not known, which stage says so.
func (c Chain) Settled() (catalog.Answer, Stage) {
	worst := Stage{Reached: catalog.Yes}
	for _, s := range c.Stages() {
		// Whether it is trusted is asked by itself, what is shown follows by itself, and
		// who names what a signer signs wants that made anew.
		if s.Name == StageTrust || s.Name == StageServed || s.Name == StageEdges || s.Name == StageLeaf && !c.Of.Signer() && !s.Settling {
			continue
		}
		if s.Reached == catalog.No {
			return catalog.No, s
		}
		if s.Reached == catalog.Unknown && worst.Reached == catalog.Yes {
			worst = s
		}
	}
	return worst.Reached, worst
}
