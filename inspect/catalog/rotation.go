package catalog

import (
	"cmp"
	"slices"
)

// Rotation is a row: a signer, the bundle in which its certificate is
// published, and what it signs.
type Rotation struct {
	Signer  Ref
	Bundle  Ref // zero: its certificate is published by no bundle of its own
	Targets []Ref
	// Selector, where set, takes the place of Targets: it signs what carries it.
	Selector ObjectSelector
	// Others are what else it has signed, which its owner does not sign again with it: by request, or
	// once at the installation. Rows of their own say in which versions each is there.
	Others []Ref
	// Doc says what people must know beyond the names; mostly empty.
	Doc string
	// Bridge is the signer's certificate signed by the one before it, which is
	// presented with what it signs; zero: there is none.
	Bridge Ref
	In     Range
	Evidence
}

// ClientEdges are the edges in which what a rotation's signer signs is presented, in the
// versions that run.
func (r Rotation) ClientEdges(v Versions) []Edge {
	var out []Edge
	for _, e := range Edges() {
		presented := slices.Contains(r.Targets, e.Presented) || r.Selector != (ObjectSelector{}) && e.Selector == r.Selector
		if presented && e.In.Holds(v) != No {
			out = append(out, e)
		}
	}
	return out
}

// Undelivered is the row about the first place of verifiers to which a version does not
// bring the signer's certificate by itself. Unknown: a version that decides is
// unknown.
func (r Rotation) Undelivered(v Versions) (Delivery, Tristate) {
	answer := No
	for _, e := range r.ClientEdges(v) {
		switch d, known := DeliveryOf(e.Trust, v); {
		case known == Yes && !d.Delivered:
			return d, Yes
		case known == Unknown:
			answer = Unknown
		}
	}
	return Delivery{}, answer
}

// Deliveries are the rows about how the signer's certificate comes to files on nodes: to
// those of its verifiers, and with what else is in a bundle to others.
func (r Rotation) Deliveries(v Versions) []Delivery {
	var out []Delivery
	add := func(d Delivery) {
		if !slices.ContainsFunc(out, func(o Delivery) bool { return o.To == d.To }) {
			out = append(out, d.forSigner(r.Signer))
		}
	}
	for _, e := range r.ClientEdges(v) {
		if d, known := DeliveryOf(e.Trust, v); known == Yes {
			add(d)
		}
	}
	with := []Ref{r.Bundle}
	for _, a := range DownstreamAggregates(r.Bundle, v) {
		with = append(with, a.Target)
	}
	for _, d := range Deliveries() {
		if c, ok := NodeCopyOf(d.To.Name, v); ok && d.Delivered && d.In.Holds(v) == Yes && c.In.Holds(v) == Yes && slices.Contains(with, c.Object) {
			add(d)
		}
	}
	slices.SortStableFunc(out, func(a, b Delivery) int { return cmp.Compare(a.To.Name, b.To.Name) })
	return out
}

// Flow is how a rotation of a signer, or of what one signs, goes in the versions that
// run, in order: from the removal of the annotation to what the signer signs.
func (r Rotation) Flow(of Ref, v Versions) []FlowStep {
	trigger, _ := TriggerOf(of, v)
	owner := writerOf(of, v)
	f := flow{v: v}
	f.add(FlowNow, "certrot", of, "removes the annotation "+trigger.Annotation, trigger.Evidence)
	if of != r.Signer {
		f.add(FlowNow, owner, of, "rotates it, signed by today's "+r.Signer.Name+trigger.competition(owner, v), trigger.Evidence)
		f.propagate(of)
		f.clients(r, of)
		return f.steps
	}
	f.add(FlowNow, owner, of, "makes a new CA, called "+signerName(of)+"TIME"+trigger.competition(owner, v), trigger.Evidence)
	deliveries := r.Deliveries(v)
	for _, d := range deliveries {
		for _, h := range d.Hops {
			f.deferred = append(f.deferred, h.To)
		}
	}
	if r.Bundle != (Ref{}) {
		f.add(FlowBundle, owner, r.Bundle, "adds the new CA; the previous one stays until it expires", r.Evidence)
		f.propagate(r.Bundle)
	}
	for _, d := range deliveries {
		f.deliver(d)
	}
	f.clients(r, of)
	for _, target := range r.Targets {
		f.add(FlowLeaf, owner, target, "signs it again with the new CA when it is due itself"+reissueAge(target, v), trigger.Evidence)
		f.propagate(target)
	}
	return f.steps
}

// UnrotatedSigner is the row of a signer that no Rotation of these versions names: it signs
// nothing, or on demand. name is the Secret's, or has the namespace before it.
func UnrotatedSigner(name string, v Versions) (Place, bool) {
	for _, p := range Places() {
		if p.Kind != Secret || p.Role != Signer || p.Name == "" || name != p.Name && name != p.Namespace+"/"+p.Name || p.In.Holds(v) != Yes {
			continue
		}
		if !slices.ContainsFunc(Rotations(), func(r Rotation) bool {
			return (r.Signer == p.Ref || slices.Contains(r.Targets, p.Ref)) && r.In.Holds(v) != No
		}) {
			return p, true
		}
	}
	return Place{}, false
}

// DownstreamAggregates are the bundles into which what a bundle holds is put, in the versions that
// run: those made of it first, then those made of these. Each stands once.
func DownstreamAggregates(of Ref, v Versions) []Aggregate {
	var out []Aggregate
	for todo := []Ref{of}; len(todo) > 0; todo = todo[1:] {
		for _, a := range Aggregates() {
			if a.In.Holds(v) == No || !slices.Contains(a.Parts, todo[0]) || a.Target == of ||
				slices.ContainsFunc(out, func(b Aggregate) bool { return b.Target == a.Target && b.Selector == a.Selector }) {
				continue
			}
			out = append(out, a)
			if a.Selector == (ObjectSelector{}) {
				todo = append(todo, a.Target)
			}
		}
	}
	return out
}
