package inspect

import (
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// programPlaceholder stands for the program in the texts of tables and in the formats of hints: how
// the user calls it is known by who reads the facts. It is replaced before a text of the
// cluster's is put in, so that no such text is.
const programPlaceholder = "{}"

// Hints write next steps. What helps depends on how the user calls the program, and on
// where the facts are from: a cluster can be asked again in another way, with more rights,
// by another kubeconfig; a file holds what it holds. The zero Hints are those of a live
// cluster.
type Hints struct {
	program    string // unexported: nothing that marks foreign text changes it
	connection string // flags that say which cluster is meant; empty: none were typed
	file       bool
	from       string // flags that name the files; empty: there are none, or they can't be read again
}

// LiveHints are those of facts that are read from a cluster and its nodes. connection are the flags by which
// it was named, as a shell reads them: without them, a command would be about another cluster.
func LiveHints(program string, connection ...string) Hints {
	return Hints{program: program, connection: strings.Join(connection, " ")}
}

// FileHints are those of facts from files. from are the flags that name them, as a shell reads
// them: a plan is previewed of the same files, since the cluster that a kubeconfig names may be
// another one.
func FileHints(program string, from ...string) Hints {
	return Hints{program: program, file: true, from: strings.Join(from, " ")}
}

// OfFile reports whether the facts are from files.
func (h Hints) OfFile() bool { return h.file }

// From is the flags that name the facts' files, behind a blank: for a command that reads them again.
func (h Hints) From() string {
	if h.from == "" {
		return ""
	}
	return " " + h.from
}

// Commands that list the names of which a cluster has odd ones (see foreign.Command).
const (
	NodeNames    = "kubectl get nodes -o name"
	RequestNames = "kubectl get csr -o name"
)

// Next is a text with commands of the program, each of which begins with {} in the format.
// Names in it are checked, as foreign.Command does; prose is not one of its arguments.
func (h Hints) Next(format string, args ...any) string {
	program := h.program
	if program == "" {
		program = "kubectl certrot"
	}
	if h.connection != "" {
		program += " " + h.connection
	}
	if len(args) > 0 {
		program = strings.ReplaceAll(program, "%", "%%")
	}
	format = strings.ReplaceAll(format, programPlaceholder, program)
	out := format
	if len(args) > 0 {
		look := ""
		if strings.Contains(format, "--nodes") {
			look = NodeNames
		}
		out = foreign.Command(look, format, args...)
	}
	const preview = "--dry-run=client"
	if h.from != "" && !strings.Contains(out, preview+" "+h.from) {
		out = strings.ReplaceAll(out, preview, preview+" "+h.from)
	}
	return out
}

// Permission is something that who reads needs the right to do.
type Permission struct {
	Verb, Resource string
	Namespace      string // empty: all of them, or the resource has none
	Cluster        bool   // the resource has no namespace
}

// MayList is the right to list a resource.
func MayList(resource, namespace string) Permission {
	return Permission{Verb: "list", Resource: resource, Namespace: namespace}
}

// MayGet is the right to get a resource.
func MayGet(resource, namespace string) Permission {
	return Permission{Verb: "get", Resource: resource, Namespace: namespace}
}

// canI asks whether it is allowed.
func (m Permission) canI() string {
	switch {
	case m.Cluster:
		return foreign.Command("", "kubectl auth can-i "+m.Verb+" %s", m.Resource)
	case m.Namespace == "":
		return foreign.Command("", "kubectl auth can-i "+m.Verb+" %s -A", m.Resource)
	}
	return foreign.Command("", "kubectl auth can-i "+m.Verb+" %s -n %s", m.Resource, m.Namespace)
}

// Unread is the next step where facts lack what may not have been allowed: to ask whether it
// is, or to take the file again as a user who may.
func (h Hints) Unread(rights ...Permission) string {
	var ask, may []string
	for _, m := range rights {
		ask = append(ask, m.canI())
		if what := m.Verb + " " + m.Resource; !slices.Contains(may, what) {
			may = append(may, what)
		}
	}
	if !h.file {
		return strings.Join(ask, "; ")
	}
	return "take the snapshot again, as a user who may " + strings.Join(may, " and ") + h.Next(": {} snapshot -o FILE")
}

// UnreadNodes is the next step where facts lack what is on nodes: live, or a file that was
// taken with its nodes.
func (h Hints) UnreadNodes(live string, args ...any) string {
	if !h.file {
		return h.Next(live, args...)
	}
	return h.Next("take the snapshot again, with the nodes: {} snapshot --nodes all -o FILE")
}

// UnreadRestart is the next step where facts lack what nodes are answered.
func (h Hints) UnreadRestart(live string, args ...any) string {
	if !h.file {
		return h.Next(live, args...)
	}
	return h.Next("take the snapshot again, with what the API server answers to the nodes: {} snapshot --nodes all --restart-safe -o FILE")
}

// Live is a piece of a command that helps with a cluster only; empty for a file.
func (h Hints) Live(words string) string {
	if h.file {
		return ""
	}
	return words
}

// ofFile is the next step for what a file lacks, whoever took it.
func (h Hints) ofFile(g Gap) string {
	switch {
	case g.What == "file" || g.What == "must-gather":
		return ""
	case g.What == "nodes" || strings.HasPrefix(g.What, "node/"):
		return h.UnreadNodes("")
	case strings.HasPrefix(g.What, "hidden "):
		return h.Next("inspect the cluster itself, or have a snapshot made of it: {} snapshot -o FILE")
	case strings.ContainsAny(g.What, " /"):
		return h.Next("take the snapshot again: {} snapshot -o FILE")
	}
	return h.Unread(MayList(g.What, ""))
}

// Advise has s's next steps written by h. Those of a file are of who took it, and of another
// time: what helps who reads it is said in their place.
func (s *Snapshot) Advise(h Hints) {
	s.Hints = h
	for i := range s.Gaps {
		if g := &s.Gaps[i]; h.file && g.Next == "" {
			g.Next = h.ofFile(*g)
		}
	}
	for _, g := range s.Status.gaps() {
		switch {
		case !h.file || g.Next != "":
		case strings.ContainsAny(g.What, " /"): // no resource
			g.Next = h.Next("take the snapshot again: {} snapshot -o FILE")
		default: // its nodes are objects of the API's
			g.Next = h.Unread(MayList(g.What, g.Where))
		}
	}
}
