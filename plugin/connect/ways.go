package connect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// ViaAuto is the word of --via that is no way: the first of several that works.
const ViaAuto = "auto"

// viaWords are what --via takes.
func viaWords() []string {
	words := []string{ViaAuto}
	for _, w := range nodeexec.Ways() {
		words = append(words, w.Name)
	}
	return words
}

// viaHelp lists them, and says what auto tries, in this order.
func viaHelp(order []nodeexec.Way) string {
	words, tries := []string{ViaAuto}, []string{}
	for _, w := range nodeexec.Ways() {
		word := w.Name
		if w.Help != "" {
			word += " (" + w.Help + ")"
		}
		words = append(words, word)
	}
	for _, w := range order {
		tries = append(tries, strings.TrimSpace(w.Name+" "+w.When))
	}
	last := len(tries) - 1
	return "Way onto nodes: " + strings.Join(words, ", ") + ". auto tries " + strings.Join(tries[:last], ", ") + ", and " + tries[last] + "."
}

// autoWays are those that auto tries.
func (f *NodeFlags) autoWays() (names []string) {
	for _, w := range nodeexec.Ways() {
		if !w.Creates || f.AllowPods {
			names = append(names, w.Name)
		}
	}
	return names
}

// WithoutKubeletFirst has the ways tried first that need no kubelet. A repair asks for it:
// what it repairs is what a kubelet fails by.
func (c *NodeChoice) WithoutKubeletFirst() {
	var order []string
	for _, w := range withoutKubeletFirst() {
		if slices.Contains(c.Ways, w.Name) {
			order = append(order, w.Name)
		}
	}
	c.Ways = order
}

func withoutKubeletFirst() []nodeexec.Way {
	all := nodeexec.Ways()
	byKubelet := map[bool]int{true: 1}
	slices.SortStableFunc(all, func(a, b nodeexec.Way) int { return cmp.Compare(byKubelet[a.Kubelet], byKubelet[b.Kubelet]) })
	return all
}

// left are the ways to suggest that these flags do not try on every node.
func (w nodeWays) left() (ways []nodeexec.Way) {
	for _, other := range withoutKubeletFirst() {
		if other.Suggest && (!slices.Contains(w.Ways, other.Name) || other.IfConfigured && !w.sshAll) {
			ways = append(ways, other)
		}
	}
	return ways
}

// needsNoAPI reports whether one of the ways leads to other machines while the API does
// not answer.
func (c NodeChoice) needsNoAPI() bool {
	return slices.ContainsFunc(nodeexec.Ways(), func(w nodeexec.Way) bool {
		return w.NeedsNoAPI && slices.Contains(c.Ways, w.Name)
	})
}
