package catalog

import (
	"slices"
	"strings"
	"sync"
)

// Object is what is known of an object for finding its row. A file on a node
// has Kind File and its path as Name.
type Object struct {
	Kind, Namespace, Name string
	Type                  string // of a Secret
	Signer                string // signerName of a CertificateSigningRequest
	Labels, Annotations   map[string]string
}

// Lookup finds the row of a place by its name. See LookupObject.
func Lookup(kind, namespace, name, key string, v Versions) (Place, bool) {
	return LookupObject(Object{Kind: kind, Namespace: namespace, Name: name}, key, v)
}

// LookupObject finds the row of a place: by its exact name, as a revision's
// copy of such a name, by a family's pattern, or else by what it carries. Among
// rows that fit equally well, one that holds for v comes before one that can't
// be told; rows that do not hold are passed over. An empty key matches rows of
// any key, and an asked-for key finds its exact row before one with a pattern.
func LookupObject(o Object, key string, v Versions) (Place, bool) {
	ix := indexed()
	exact := func(name string) []Place { return ix.exact[Ref{Kind: o.Kind, Namespace: o.Namespace, Name: name}] }
	if p, ok := best(exact(o.Name), key, v); ok {
		return p, true
	}
	if base, _, ok := RevisionOf(o.Kind, o.Namespace, o.Name); ok {
		if p, ok := best(exact(base), key, v); ok {
			return p, true
		}
	}
	fitting := func(fits func(Place) bool, rows []Place) (Place, bool) {
		var fit []Place
		for _, p := range rows {
			if fits(p) {
				fit = append(fit, p)
			}
		}
		return best(fit, key, v)
	}
	for rest := ix.patterns; len(rest) > 0; {
		i := slices.IndexFunc(rest, func(p Place) bool { return p.matches(o.Kind, o.Namespace, o.Name) })
		if i < 0 {
			break
		}
		same := func(p Place) bool { return p.Namespace == rest[i].Namespace && p.Name == rest[i].Name }
		if p, ok := fitting(same, rest[i:]); ok {
			return p, true
		}
		rest = rest[i+1:]
	}
	return fitting(func(p Place) bool { return p.Selector.matches(o) && p.Kind == o.Kind }, ix.selected)
}

// BundleKey returns the key under which a ConfigMap of this name holds a CA
// bundle; false for one of which that is unknown. Versions don't count: that it
// holds none is a fact for all. Bundles that a user keeps may be empty.
func BundleKey(namespace, name string) (string, bool) {
	if key, ok := PublishedCopies()[name]; ok {
		return key, true
	}
	for _, p := range indexed().exact[Ref{Kind: ConfigMap, Namespace: namespace, Name: name}] {
		if p.Role == CABundle && p.Key == "ca-bundle.crt" && p.Owner != "user" {
			return p.Key, true
		}
	}
	return "", false
}

// LifetimeOf returns the lifetime row of a named place that holds for v, as
// Place.Lifetime does. Rows that are found by what an object carries have no
// name: ask the Place for those.
func LifetimeOf(at Ref, v Versions) (Lifetime, Tristate) {
	if at.Kind == File {
		at.Key = "" // a kubeconfig's client certificate
	}
	answer := No
	for _, p := range indexed().byRef[at] {
		if p.Selector != (ObjectSelector{}) || p.In.Holds(v) == No {
			continue
		}
		switch l, a := p.Lifetime(v); a {
		case Yes:
			return l, Yes
		case Unknown:
			answer = Unknown
		}
	}
	return Lifetime{}, answer
}

// best picks among rows for the same name.
func best(rows []Place, key string, v Versions) (Place, bool) {
	var found Place
	rank := 0
	for _, p := range rows {
		r := keyFits(p.Key, key)
		switch answer := p.In.Holds(v); {
		case r == 0 || answer == No:
			continue
		case answer == Yes:
			r += 4
		}
		if r > rank {
			found, rank = p, r
		}
	}
	return found, rank > 0
}

// keyFits says how well a row's key fits the one that is asked for: not at all
// (0), because one of them is any (1), by its pattern (2), exactly (3).
func keyFits(row, key string) int {
	switch {
	case row == "" || key == "":
		return 1
	case row == key:
		return 3
	case glob(row, key, false):
		return 2
	}
	return 0
}

// index is the places by what finds them.
type index struct {
	exact    map[Ref][]Place // key: Kind, Namespace, Name
	patterns []Place         // the most telling first
	selected []Place
	byRef    map[Ref][]Place
}

//nolint:gochecknoglobals // a constant that is computed once, at first use
var indexed = sync.OnceValue(func() index {
	ix := index{exact: map[Ref][]Place{}, byRef: map[Ref][]Place{}}
	for _, p := range Places() {
		ix.byRef[p.Ref] = append(ix.byRef[p.Ref], p)
		switch {
		case p.Selector != ObjectSelector{}:
			ix.selected = append(ix.selected, p)
		case p.isPattern():
			ix.patterns = append(ix.patterns, p)
		default:
			at := Ref{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}
			ix.exact[at] = append(ix.exact[at], p)
		}
	}
	// "etcd-serving-metrics-*" says more than "etcd-serving-*".
	literal := func(p Place) int { return len(p.Namespace) + len(p.Name) - strings.Count(p.Namespace+p.Name, "*") }
	slices.SortStableFunc(ix.patterns, func(a, b Place) int { return literal(b) - literal(a) })
	return ix
})

// matches reports whether the object carries all that is asked, and something is.
func (c ObjectSelector) matches(o Object) bool {
	label, labelled := o.Labels[c.Label]
	return c != ObjectSelector{} &&
		(c.Type == "" || c.Type == o.Type) &&
		(c.Signer == "" || c.Signer == o.Signer) &&
		(c.Annotation == "" || c.Annotated(o.Annotations)) &&
		(c.Label == "" || labelled && (c.Value == "" || c.Value == label))
}

// AsksForLabel reports whether a row or a check asks for a label of objects.
func AsksForLabel(key string) bool {
	return key == LabelManagedType || slices.ContainsFunc(indexed().selected, func(p Place) bool { return p.Selector.Label == key })
}

// AsksForAnnotation reports whether a row or a check asks for an annotation of objects.
func AsksForAnnotation(key string) bool {
	switch key {
	case AnnotationNotBefore, AnnotationNotAfter, AnnotationIssuer, AnnotationRefreshPeriod, AnnotationOwningComponent,
		AnnotationServiceName, AnnotationServiceNameAlpha, AnnotationInjectCABundle, AnnotationInjectCABundleAlpha,
		AnnotationCertManager, AnnotationInjectCAFrom, AnnotationInjectCAFromSecret, annotationOLM:
		return true
	}
	return slices.ContainsFunc(indexed().selected, func(p Place) bool {
		return key != "" && (p.Selector.Annotation == key || p.Selector.OtherAnnotation == key)
	})
}

// Annotated reports whether the annotation that it selects by is among these.
func (c ObjectSelector) Annotated(annotations map[string]string) bool {
	for _, key := range []string{c.Annotation, c.OtherAnnotation} {
		if value, ok := annotations[key]; key != "" && ok && (c.Value == "" || strings.EqualFold(c.Value, value)) {
			return true
		}
	}
	return false
}

func (r Ref) isPattern() bool { return strings.Contains(r.Namespace+r.Name, "*") }

func (r Ref) matches(kind, namespace, name string) bool {
	return r.Kind == kind && glob(r.Namespace, namespace, false) && glob(r.Name, name, kind == File)
}

// Fits reports whether an object's value is at this place, or one of the family.
func (r Ref) Fits(kind, namespace, name, key string) bool {
	return r.matches(string(kind), namespace, name) && (r.Key == "" || r.Key == key)
}

// glob reports whether s fits a pattern whose only special character is '*'.
func glob(pattern, s string, isPath bool) bool {
	before, after, found := strings.Cut(pattern, "*")
	if !found {
		return pattern == s
	}
	rest, ok := strings.CutPrefix(s, before)
	if !ok {
		return false
	}
	for i := 0; i <= len(rest); i++ {
		if glob(after, rest[i:], isPath) {
			return true
		}
		if i < len(rest) && isPath && rest[i] == '/' {
			return false
		}
	}
	return false
}
