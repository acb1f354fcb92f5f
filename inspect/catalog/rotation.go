package catalog

import (
	"cmp"
	"path"
	"slices"
	"time"
)

// Trigger is a row: how a signer, or what a signer signs, is made anew before its
// time.
type Trigger struct {
	// Of is the Secret; a '*' in its Name stands for any run of characters.
	Of Ref
	// Annotation is the one whose removal has the owner make it anew; empty: certrot
	// triggers nothing here, and Doc says what people do.
	Annotation string
	// Quiet is how long after it was made another one may still take its place: two who
	// see that the annotation is gone each make one, and look again once in a resync.
	// Zero: there is one who makes it, or it does not matter which one stays.
	Quiet time.Duration
	// Doc says who makes it anew, and how.
	Doc string
	In  Range
	Evidence
}

// Triggers returns every row about how something is made anew. For each version there
// is one for each signer of a Rotation, and for each Secret that it signs.
func Triggers() []Trigger {
	return slices.Concat(kubeAPIServerTriggers(), kubeControllerManagerTriggers(), otherTriggers())
}

func kubeAPIServerTriggers() []Trigger {
	src := Evidence{Verified, "openshift/library-go pkg/operator/certrotation/signer.go (needNewSigningCertKeyPair) and target.go (needNewTargetCertKeyPair) @ 93ac9206a; " + kasRotation().Source}
	// Two resyncs of a minute each: the one who lost looks again, and makes none.
	return annotated(kubeAPIServerRotations(), "kube-apiserver-operator and the cert-regeneration-controller beside kube-apiserver make it anew as soon as the annotation is gone", 2*time.Minute, src)
}

func kubeControllerManagerTriggers() []Trigger {
	src := Evidence{Verified, "openshift/library-go pkg/operator/certrotation @ 93ac9206a; " + kcmRepo + "pkg/operator/certrotationcontroller/certrotationcontroller.go @ 4e72164b8 and release-4.12 to 4.23"}
	own := kubeControllerManagerRotations()[:1]
	return append(annotated(own, "kube-controller-manager-operator makes it anew as soon as the annotation is gone", 0, src),
		Trigger{Of: secret(kcmTarget, "csr-signer"), Doc: "it is a copy: kube-controller-manager-operator brings it " + kcmOperator + "/csr-signer some minutes after that was made anew; rotate that one",
			In: Range{Component: kcm}, Evidence: src})
}

// annotated are the triggers of what library-go's rotation keeps: signers and targets
// alike lose the annotation that says when they end.
// Of a target it does not matter which one stays: the same signer has signed each.
func annotated(rotations []Rotation, doc string, quiet time.Duration, src Evidence) []Trigger {
	var out []Trigger
	for _, r := range rotations {
		for _, of := range append([]Ref{r.Signer}, r.Targets...) {
			t := Trigger{Of: of, Annotation: AnnotationNotAfter, Doc: doc, In: r.In, Evidence: src}
			if of == r.Signer {
				t.Quiet = quiet
			}
			out = append(out, t)
		}
	}
	return out
}

func otherTriggers() []Trigger {
	var rows []Trigger
	add := func(rotations []Rotation, doc string, src Evidence) {
		for _, r := range rotations {
			for _, of := range append([]Ref{r.Signer}, r.Targets...) {
				if of.Kind == Secret && !slices.ContainsFunc(rows, func(t Trigger) bool { return t.Of == of && t.In.overlaps(r.In) }) {
					rows = append(rows, Trigger{Of: of, Doc: doc, In: r.In, Evidence: src})
				}
			}
		}
	}
	add(etcdRotations(), "cluster-etcd-operator makes it anew by itself; certrot does not trigger it: who sees to it that etcd's members trust a new CA before anything is signed by it is the operator alone, by its version's own procedure",
		Evidence{Derived, etcdTLS().Source})
	add(serviceCARotations(), "service-ca-operator makes it anew by itself when half of its life is left; to force it, which is not supported: "+
		`oc patch serviceca cluster --type merge -p '{"spec":{"unsupportedConfigOverrides":{"forceRotation":{"reason":"WHY"}}}}'`,
		Evidence{Verified, serviceCARepo + "pkg/operator/rotate.go @ 6391e070d"})
	add(ingressRotations(), "nobody renews it: give the IngressController a certificate of your own (spec.defaultCertificate), or delete the Secret router-ca, whereupon ingress-operator makes a new CA at its next start",
		Evidence{Field, ingressRepo + "pkg/operator/controller/certificate @ acca9642a"})
	add(machineConfigRotations(), "machine-config-operator makes it anew by itself, where there is a working Machine API or Cluster API; by hand: oc adm ocp-certificates regenerate-machine-config-server-serving-cert",
		mcoRotation())
	add(networkRotations(), "cluster-network-operator makes it anew by itself; certrot triggers nothing here: the network of every node hangs on it",
		networkPKI())
	return rows
}

// TriggerOf returns the row about a Secret that holds for v.
func TriggerOf(of Ref, v Versions) (Trigger, Answer) {
	answer := No
	for _, t := range Triggers() {
		if ok, err := path.Match(t.Of.Name, of.Name); err != nil || !ok || t.Of.Namespace != of.Namespace || t.Of.Kind != of.Kind {
			continue
		}
		switch t.In.Holds(v) {
		case Yes:
			return t, Yes
		case Unknown:
			answer = Unknown
		}
	}
	return Trigger{}, answer
}

// Rotated are the names of what certrot rotates in some version, as they may be typed:
// the Secret's name, or with the namespace before it where that is not enough.
func Rotated() []string {
	names := map[string]int{}
	var rows []Ref
	for _, t := range Triggers() {
		if t.Annotation != "" {
			rows = append(rows, t.Of)
		}
		names[t.Of.Name]++
	}
	var out []string
	for _, r := range rows {
		name := r.Name
		if names[name] > 1 {
			name = r.Namespace + "/" + r.Name
		}
		out = append(out, name)
	}
	return out
}

// Carriers are the bundles into which what a bundle holds is put, in the versions that
// run: those made of it first, then those made of these. Each stands once.
func Carriers(of Ref, v Versions) []Aggregate {
	var out []Aggregate
	for todo := []Ref{of}; len(todo) > 0; todo = todo[1:] {
		for _, a := range Aggregates() {
			if a.In.Holds(v) == No || !slices.Contains(a.Parts, todo[0]) || a.Target == of ||
				slices.ContainsFunc(out, func(b Aggregate) bool { return b.Target == a.Target && b.Carries == a.Carries }) {
				continue
			}
			out = append(out, a)
			if a.Carries == (Carries{}) {
				todo = append(todo, a.Target)
			}
		}
	}
	return out
}

// Consumers are the edges in which what a rotation's signer signs is shown, in the
// versions that run.
func (r Rotation) Consumers(v Versions) []Edge {
	var out []Edge
	for _, e := range Edges() {
		shown := slices.Contains(r.Targets, e.Shown) || r.Carries != (Carries{}) && e.Carries == r.Carries
		if shown && e.In.Holds(v) != No {
			out = append(out, e)
		}
	}
	return out
}

// Withheld is the row about the first place of verifiers to which a version does not
// bring the signer's certificate by itself. Unknown: a version that decides is not
// known.
func (r Rotation) Withheld(v Versions) (Delivery, Answer) {
	answer := No
	for _, e := range r.Consumers(v) {
		switch d, known := DeliveryOf(e.Trust, v); {
		case known == Yes && !d.Delivered:
			return d, Yes
		case known == Unknown:
			answer = Unknown
		}
	}
	return Delivery{}, answer
}

// Brought are the rows about how the signer's certificate comes to the files of its
// verifiers on nodes.
func (r Rotation) Brought(v Versions) []Delivery {
	var out []Delivery
	for _, e := range r.Consumers(v) {
		d, known := DeliveryOf(e.Trust, v)
		if known == Yes && !slices.ContainsFunc(out, func(o Delivery) bool { return o.To == d.To }) {
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b Delivery) int { return cmp.Compare(a.To.Name, b.To.Name) })
	return out
}
