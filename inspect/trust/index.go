package trust

import (
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// index finds what is asked of the entries again and again, for each claim: there may be hundreds
// of thousands of entries. Each part is made when it is asked for.
type index struct {
	presented map[place][]identity
	objects   map[pki.Location]*inspect.Object
	leaves    map[pki.Fingerprint][]*inspect.Entry // identities, by what they present
	cas       map[string]namedCAs                  // by subject
	lifetimes map[pki.Fingerprint]lifetime
}

// lifetime is how long a certificate lives, by the places that hold it. A tenant has one in tens of
// thousands of places, and each of them may have a claim.
type lifetime struct {
	catalog.Lifetime
	catalog.Answer
}

// place is one of the catalog's.
type place struct {
	catalog.Ref
	catalog.ObjectSelector
}

// object is the one that a place is in; nil: none was read.
func (j *judge) object(at pki.Location) *inspect.Object {
	if j.index.objects == nil {
		j.index.objects = make(map[pki.Location]*inspect.Object, len(j.f.Entries))
		for i := range j.f.Entries {
			h := &j.f.Entries[i]
			if _, known := j.index.objects[h.At]; !known && h.Object != nil {
				j.index.objects[h.At] = h.Object
			}
		}
	}
	return j.index.objects[at]
}

// presenting are the places that present a certificate.
func (j *judge) presenting(leaf *pki.Cert) []*inspect.Entry {
	if j.index.leaves == nil {
		j.index.leaves = map[pki.Fingerprint][]*inspect.Entry{}
		for i := range j.f.Entries {
			if h := &j.f.Entries[i]; h.Leaf() != nil {
				j.index.leaves[h.Leaf().Fingerprint] = append(j.index.leaves[h.Leaf().Fingerprint], h)
			}
		}
	}
	return j.index.leaves[leaf.Fingerprint]
}
