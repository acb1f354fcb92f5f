package trust

import (
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// presented finds the places of what is presented.
func (j *judge) presented(r catalog.Ref, carries catalog.ObjectSelector) []identity {
	key := place{r, carries}
	out, known := j.index.presented[key]
	if !known {
		if j.index.presented == nil {
			j.index.presented = map[place][]identity{}
		}
		out = j.findPresented(r, carries)
		j.index.presented[key] = out
	}
	return slices.Clone(out) // some take theirs out of it
}

// published finds a bundle that says who signs next. Of one that each namespace has, the copies that no
// tenant writes say so, where such were read.
func (j *judge) published(bundle catalog.Ref) []identity {
	out := j.presented(bundle, catalog.ObjectSelector{})
	if slices.ContainsFunc(out, func(i identity) bool { return reserved(i.at) }) {
		out = slices.DeleteFunc(out, func(i identity) bool { return !reserved(i.at) })
	}
	return out
}

func (j *judge) findPresented(r catalog.Ref, carries catalog.ObjectSelector) []identity {
	var out []identity
	for i := range j.f.Entries {
		h := &j.f.Entries[i]
		fits := !h.Superseded && len(h.Content.Certs) > 0
		switch {
		case !fits:
		case r.Kind == catalog.File:
			fits = h.At.Kind == pki.KindFile && h.At.Node != "" && h.At.Path == r.Name && strings.HasSuffix(h.At.Field, r.Key)
		case carries != catalog.ObjectSelector{}:
			fits = h.Row != nil && h.Row.Selector == carries && h.At.Key == r.Key
		case strings.Contains(r.Name, "*"): // a family may have others within
			fits = h.Row != nil && h.Row.Ref == r
		default:
			fits = r.Fits(string(h.At.Kind), h.At.Namespace, h.At.Name, h.At.Key)
		}
		if fits {
			out = append(out, identity{node: h.At.Node, at: h.At, chain: h.Content.Certs, content: h.Content})
		}
	}
	return out
}
