package rotate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/check"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// unreadFor is what of certificates was not read, at most three reasons and how many more, and what
// to do about it.
func unreadFor(f *inspect.Facts) (missing []string, next string) {
	missing, next = unreadPlaces(f), "read it too, with --nodes all and a way that leads to each node"
	values := slices.Concat(unreadValues(f), unreadServers(f))
	if len(missing) == 0 {
		next = f.Hints().Next("look at what they hold and present; {} inspect --all says what was read of it")
	}
	missing = append(missing, values...)
	if more := len(missing) - 3; more > 0 {
		missing = append(missing[:3:3], fmt.Sprintf("and %d more", more))
	}
	return missing, next
}

// unreadPlaces are the objects and nodes that were not read.
func unreadPlaces(f *inspect.Facts) []string {
	var out []string
	for _, what := range []string{"secrets", "configmaps"} {
		if !f.ReadAll(what) {
			out = append(out, "not all "+what+" were read")
		}
	}
	if len(f.Snapshot.Nodes) == 0 {
		out = append(out, "no node was read")
	}
	for _, n := range f.Snapshot.Nodes {
		if n.Via == "" {
			out = append(out, "node "+n.Name+" was not read")
		}
	}
	for _, n := range f.Snapshot.OtherNodes {
		out = append(out, "node "+n.Name+" was left out")
	}
	for _, g := range f.Snapshot.Gaps {
		if g.What != "secrets" && g.What != "configmaps" { // those are said
			out = append(out, said(g))
		}
	}
	return out
}

func said(g inspect.Gap) string { return strings.TrimSpace(g.What+" "+g.Where) + ": " + g.Reason }

// unreadValues are the values of which not all was read. What can't be read in a list of whom to trust
// needs no CA, and neither does a text that only speaks of certificates.
func unreadValues(f *inspect.Facts) []string {
	var out []string
	for _, g := range check.Locked(f, func(pki.Location, *inspect.Object) bool { return true }) {
		out = append(out, said(g))
	}
	for i := range f.Entries {
		h := &f.Entries[i]
		reason := h.Content.CutShort()
		speaks := h.Use == inspect.UseOther && h.At.Kind == "ConfigMap" && h.Row == nil && len(h.Content.Certs)+len(h.Content.Keys) == 0
		if reason == "" && h.Use != inspect.UseTrust && !speaks {
			reason = h.Content.UnreadCert()
		}
		if reason != "" {
			out = append(out, "not all of "+h.At.String()+" was read: "+reason)
		}
	}
	return out
}

// unreadServers are the servers that a handshake was tried with, and that showed nothing.
func unreadServers(f *inspect.Facts) []string {
	var out []string
	for _, v := range trust.Silent(f) {
		out = append(out, fmt.Sprintf("%s: TLS handshake: %s", v.Address, v.Problem))
	}
	return out
}
