package rotate

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// Rotatable is a signer of the catalog, or what one signs, as far as it was read.
type Rotatable struct {
	At       catalog.Ref
	Name     string // as it may be typed: shortest of "name" and "namespace/name" that means it alone
	Rotation catalog.Rotation
	Trigger  catalog.Trigger
	Known    catalog.Tristate // of the Trigger
	Entry    *inspect.Entry   // nil: not read

	versions catalog.Versions
	hints    inspect.Hints
}

// Signer reports whether it signs others.
func (r Rotatable) Signer() bool { return r.At == r.Rotation.Signer }

// Cert is its certificate; nil where it was not read.
func (r Rotatable) Cert() *pki.Cert {
	if r.Entry == nil || len(r.Entry.Content.Certs) == 0 {
		return nil
	}
	return r.Entry.Content.Certs[0]
}

// Next is when its certificate is renewed automatically, as inspect says it; zero where
// that is unknown.
func (r Rotatable) Next(f *inspect.Facts) time.Time {
	if c := r.Cert(); c != nil {
		return f.RenewalOf(c).Due
	}
	return time.Time{}
}

// rotatables are all signers that the versions which run may have, each followed by
// what it signs.
func rotatables(f *inspect.Facts) []Rotatable {
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

// rotations are those that hold, and those of which it is unknown; of several about
// the same signer one.
func rotations(v catalog.Versions) []catalog.Rotation {
	var out []catalog.Rotation
	for _, answer := range []catalog.Tristate{catalog.Yes, catalog.Unknown} {
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
	if entries := entriesAt(f, at); len(entries) > 0 {
		r.Entry = entries[0]
	}
	return r
}

// refsOf are the Secrets of a pattern that were read; itself, where it is none. One of a longer
// pattern is not among them: etcd-serving-metrics-* has another signer than etcd-serving-*.
func refsOf(f *inspect.Facts, pattern catalog.Ref) []catalog.Ref {
	if !strings.Contains(pattern.Name, "*") {
		return []catalog.Ref{pattern}
	}
	var out []catalog.Ref
	for _, h := range entriesAt(f, pattern) {
		if h.Row != nil && h.Row.Ref != pattern {
			continue
		}
		at := pattern
		if at.Name = h.At.Name; h.Revision == 0 && !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out
}

// entriesAt is what was read at the places of a row.
func entriesAt(f *inspect.Facts, r catalog.Ref) []*inspect.Entry {
	fits := func(pattern, name string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	}
	var out []*inspect.Entry
	for i := range f.Entries {
		h := &f.Entries[i]
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
		return f.ReadAll("controllerconfigs")
	}
	return f.Absent(r)
}

// ErrNoSuchRotation says that a name means nothing that the catalog knows.
var ErrNoSuchRotation = errors.New("no signer of the catalog, and nothing that one signs, is called so")

// FindRotatable returns what a name means: "name", "namespace/name", or either with
// "secret/" before the name; else the subject of its certificate now, or the common name in it.
func FindRotatable(all []Rotatable, name string) (Rotatable, error) {
	wanted := strings.TrimPrefix(name, "secret/")
	var found []Rotatable
	for _, r := range all {
		if wanted == r.At.Name || wanted == r.At.Namespace+"/"+r.At.Name {
			found = append(found, r)
		}
	}
	if len(found) == 0 && maySubject(name) {
		for _, r := range all {
			if c := r.Cert(); c != nil && (name == c.Subject || strings.TrimPrefix(name, "CN=") == pki.CommonName(c.Subject)) {
				found = append(found, r)
			}
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

// maySubject reports whether a name can be a certificate's subject or common name, and no Secret's
// of the catalog: which it is, only the cluster tells.
func maySubject(name string) bool { return strings.ContainsAny(name, "@=:_. ") }

// Stage is a step on the way of a new CA to all who verify by it. It passes when it is reached,
// warns before that, and is unknown where something that decides was not read. Its reason is what
// is so; its remediation, why it may be late and what to look at.
type Stage struct {
	assess.Assessment
	// Settling: it is not reached only because another certificate may still take the
	// place of the newest one.
	Settling bool
	// Reached of All have it; All is 0 where nothing is counted.
	Reached, All int
	// Requests: those that are counted are requests with a client certificate, not handshakes.
	Requests bool
	// Late are those that do not, or of which that is unknown, as Status says.
	Late []Late
}

// Late is one for which a stage is not reached. Its texts are fit to be printed.
type Late struct{ Name, Reason string }

// reached is a stage that passes.
func reached(id string) Stage {
	return Stage{Assessment: assess.Assessment{ID: id, Status: assess.Pass}}
}

// pending says why a stage is not reached yet.
func (s *Stage) pending(reason string) {
	s.Status, s.Severity, s.Reason = assess.Warn, assess.Info, reason
}

// unread says why it is unknown whether a stage is reached.
func (s *Stage) unread(reason string) {
	s.Status, s.Severity, s.Reason = assess.Unknown, 0, reason
}

// count keeps how many have it, and which do not.
func (s *Stage) count(reached, all int, late []Late) { s.Reached, s.All, s.Late = reached, all, late }

// nothingToDo begins the next step where there is none: all that is left is to wait, or certrot can read no more.
const nothingToDo = "nothing: "

// NothingToDo reports whether a stage's next step is none.
func (s Stage) NothingToDo() bool { return strings.HasPrefix(s.Remediation.Text, nothingToDo) }

func (s *Stage) advise(next string) { s.Remediation = assess.Advise(next) }

// follows is a stage that is judged once another one is reached.
func (s Stage) follows(id, reason string) Stage {
	s.ID, s.Reason, s.Settling = id, reason, false
	s.Reached, s.All, s.Requests, s.Late = 0, 0, false, nil
	return s
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
	// followed. nil: it is unknown, and those count that are newer than who has signed
	// what is in use.
	Since *pki.Cert
	// ControlPlane says why a stage may be late; nil: no API server was asked.
	ControlPlane *inspect.ControlPlaneStatus
}

// stages tells how far the newest certificate of a signer is, by the certificates
// alone: whatever triggered it, and whenever.
func (c Chain) stages() []Stage {
	out := []Stage{c.signerStage()}
	ca := c.signer()
	if ca == nil {
		return out
	}
	newCAs := c.newCAs(ca)
	if c.Of.Rotation.Bundle != (catalog.Ref{}) {
		out = append(out, c.bundleStage(newCAs), c.aggregatesStage(newCAs))
	}
	leaf := c.leafStage(ca)
	return append(out, c.trustStage(newCAs), leaf, c.servedStage(ca, leaf), c.edgesStage(leaf))
}

// newCAs are the signer's certificate, and those CAs of its bundle that were made in the
// same rotation: more than one may have been, and any of them may have signed something.
func (c Chain) newCAs(ca *pki.Cert) []*pki.Cert {
	out, since := []*pki.Cert{ca}, c.Since
	var bundle []*pki.Cert
	for _, h := range entriesAt(c.Facts, c.Of.Rotation.Bundle) {
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
		for _, h := range entriesAt(c.Facts, at) {
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
	for _, h := range entriesAt(c.Facts, c.Of.Rotation.Signer) {
		if len(h.Content.Certs) > 0 {
			return h.Content.Certs[0]
		}
	}
	return nil
}

func (c Chain) owner() string {
	for _, h := range entriesAt(c.Facts, c.Of.Rotation.Signer) {
		if owner := h.Owner(); owner != "" {
			return owner
		}
	}
	if at := c.Of.Rotation.Signer; strings.HasSuffix(at.Namespace, "-operator") {
		return strings.TrimPrefix(at.Namespace, "openshift-")
	}
	return noOwner
}

// noOwner is who keeps what has no known owner.
const noOwner = "its operator"
