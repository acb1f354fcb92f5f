package collect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Scope is what of a source is asked for. The zero Scope is everything.
type Scope struct {
	Resources []Resource // none: all
	Names     []Named    // none: all objects of the resources
	Namespace string     // empty: all
	Selector  labels.Selector
	Fields    fields.Selector // see ParseFields; nil: all
}

// Named is an object that is asked for by its name. One word may mean several resources:
// "webhooks" is two.
type Named struct {
	Resources []Resource
	Name      string
}

// Wants reports whether the scope includes the resource.
func (s Scope) Wants(r Resource) bool {
	if s.Fields != nil && !r.Namespaced {
		if namespace, ok := s.Fields.RequiresExactMatch(fieldNamespace); ok && namespace != "" {
			return false
		}
	}
	return len(s.Resources) == 0 || slices.ContainsFunc(s.Resources, func(x Resource) bool { return x.Plural == r.Plural })
}

// NamesOf are the names that are asked for of a resource; none: all.
func (s Scope) NamesOf(plural string) (names []string) {
	for _, n := range s.Names {
		if slices.ContainsFunc(n.Resources, func(r Resource) bool { return r.Plural == plural }) && !slices.Contains(names, n.Name) {
			names = append(names, n.Name)
		}
	}
	return names
}

// Has reports whether a place is in scope, of an object or, where o is nil, in a file: as the
// API server says it of a live cluster.
func (s Scope) Has(at pki.Location, o *inspect.Object) bool {
	has := func(r Resource) bool { return r.Has(at) }
	switch {
	case len(s.Resources) > 0 && !slices.ContainsFunc(s.Resources, has):
		return false
	case at.Kind == pki.KindFile && at.Node == "" && len(s.Resources) > 0:
		return false // a file of this machine is no node's
	case len(s.Names) > 0 && !slices.ContainsFunc(s.Names, func(n Named) bool {
		return n.Name == cmp.Or(at.Node, at.Name) && slices.ContainsFunc(n.Resources, has)
	}):
		return false
	case s.Namespace != "" && at.Namespace != "" && at.Namespace != s.Namespace:
		return false
	case s.Selector != nil && (o == nil || !mayMatch(s.Selector, o)):
		return false
	}
	return s.Fields == nil || o != nil && s.Fields.Matches(fieldsOf(o))
}

// mayMatch reports whether a selector chooses an object: what asks for a label that it may have, and that was not
// kept, is no reason to leave it out.
func mayMatch(selector labels.Selector, o *inspect.Object) bool {
	if !o.MoreLabels {
		return selector.Matches(labels.Set(o.Labels))
	}
	requirements, selectable := selector.Requirements()
	return selectable && !slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		_, kept := o.Labels[r.Key()]
		return kept && !r.Matches(labels.Set(o.Labels))
	})
}

// The fields by which every API server selects objects of all kinds, and Secrets alone.
const (
	fieldName      = "metadata.name"
	fieldNamespace = "metadata.namespace"
	fieldType      = "type"
)

// fieldsOf are the fields of an object. In a file a Secret may have no type: an API server would
// have made it Opaque.
func fieldsOf(o *inspect.Object) fields.Set {
	set := fields.Set{fieldName: o.Name, fieldNamespace: o.Namespace}
	if o.Kind == kindSecret {
		set[fieldType] = cmp.Or(o.Type, "Opaque")
	}
	return set
}

const kindSecret pki.Kind = "Secret"

// ParseFields reads a field selector for these resources; none: all. A field that an API server
// would refuse is refused here, too, for files as for a cluster.
func ParseFields(selector string, resources []Resource) (fields.Selector, error) {
	if selector == "" {
		return nil, nil
	}
	parsed, err := fields.ParseSelector(selector)
	if err != nil {
		return nil, err
	}
	secretsAlone := len(resources) > 0 && !slices.ContainsFunc(resources, func(r Resource) bool { return r.Kind != kindSecret })
	if slices.ContainsFunc(resources, func(r Resource) bool { return r.Kind == pki.KindFile }) {
		return nil, errors.New("nodes are no objects that fields choose: name them with --nodes or --node-selector")
	}
	for _, r := range parsed.Requirements() {
		switch {
		case r.Field == fieldName || r.Field == fieldNamespace || r.Field == fieldType && secretsAlone:
		case r.Field == fieldType:
			return nil, fmt.Errorf("field %s is one of secrets only: name that kind, and no other", fieldType)
		default:
			return nil, fmt.Errorf("field %q is none of %s, and of secrets %s", r.Field, strings.Join([]string{fieldName, fieldNamespace}, ", "), fieldType)
		}
	}
	return parsed, nil
}

// fieldSelector is what an API server is asked for: what the scope says, and more.
func (s Scope) fieldSelector(more ...fields.Selector) string {
	if s.Fields != nil {
		more = append([]fields.Selector{s.Fields}, more...)
	}
	if len(more) == 0 {
		return ""
	}
	return fields.AndSelectors(more...).String()
}

// ofCluster is the same for resources that are in no namespace. Some of them refuse that field:
// CertificateSigningRequests do.
func (s Scope) ofCluster() (Scope, error) {
	if s.Fields == nil {
		return s, nil
	}
	var err error
	s.Fields, err = s.Fields.Transform(func(field, value string) (string, string, error) {
		if field == fieldNamespace {
			return "", "", nil
		}
		return field, value, nil
	})
	if err == nil && s.Fields.Empty() {
		s.Fields = nil
	}
	return s, err
}

// namesField reports whether the scope says itself which values of a field it wants.
func (s Scope) namesField(field string) bool {
	return s.Fields != nil && slices.ContainsFunc(s.Fields.Requirements(), func(r fields.Requirement) bool { return r.Field == field })
}
