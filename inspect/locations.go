package inspect

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Fold shortens a list of locations for people: revisions of one object
// ("name-{3,4,7}") and the same name in many namespaces ("<12 namespaces>")
// become one line each.
func Fold(at []pki.Location) []string {
	type group struct {
		base pki.Location
		any  bool // across namespaces
	}
	spread := map[pki.Location]int{}
	for _, l := range at {
		l.Namespace = ""
		spread[l]++
	}
	members := map[group][]pki.Location{}
	var order []group
	for _, l := range at {
		g := group{base: (&Entry{Bundle: &Bundle{At: l}}).base()}
		if everywhere := l; l.Namespace != "" {
			everywhere.Namespace = ""
			if spread[everywhere] > foldFrom {
				g = group{base: everywhere, any: true}
			}
		}
		if members[g] == nil {
			order = append(order, g)
		}
		members[g] = append(members[g], l)
	}
	var out []string
	for _, g := range order {
		out = append(out, foldGroup(g.base, g.any, members[g])...)
	}
	return out
}

// foldFrom is the number of namespaces from which on names are not repeated.
const foldFrom = 3

func foldGroup(base pki.Location, everywhere bool, members []pki.Location) []string {
	if len(members) == 1 {
		return []string{members[0].String()}
	}
	if everywhere {
		marker := base
		marker.Namespace = "MANY"
		return []string{strings.Replace(marker.String(), "/MANY/", "/<"+strconv.Itoa(len(members))+" namespaces>/", 1)}
	}
	var revisions []string
	var out []string
	for _, m := range members {
		if m.Name == base.Name {
			out = append(out, m.String())
			continue
		}
		revisions = append(revisions, strings.TrimPrefix(m.Name, base.Name+"-"))
	}
	slices.SortFunc(revisions, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	switch {
	case len(revisions) == 1:
		base.Name += "-" + revisions[0]
		out = append(out, base.String())
	case len(revisions) > 1:
		base.Name += "-REVISIONS"
		out = append(out, strings.Replace(base.String(), "-REVISIONS", "-{"+strings.Join(revisions, ",")+"}", 1))
	}
	return out
}
