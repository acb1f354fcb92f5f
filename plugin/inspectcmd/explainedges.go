package inspectcmd

import (
	"io"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// edgeTopics are the checks of verify.
func edgeTopics() []topic {
	var out []topic
	add := func(row catalog.Edge, details func(io.Writer, explainer)) {
		out = append(out, topic{kind: edgeKind, claim: row.Statement, help: edgeHelp(row), details: details})
	}
	for _, row := range catalog.Edges() {
		add(row, func(w io.Writer, e explainer) { e.edge(w, row) })
	}
	for _, row := range catalog.Servers() {
		add(row.Edge, func(w io.Writer, e explainer) {
			line(w, "client", row.Verifier)
			for _, c := range row.Certs {
				line(w, "presented", placeOf(c.From)+", which the server reads "+string(c.Reload))
			}
			e.known(w, row.Edge)
		})
	}
	for _, row := range catalog.StartupReaders() {
		add(row.Edge, func(w io.Writer, e explainer) {
			line(w, "client", row.Verifier+", which reads its CAs "+string(row.Reload))
			line(w, "its file", "explain "+row.EdgeID)
			e.known(w, row.Edge)
		})
	}
	for _, row := range catalog.Callers() {
		add(row.Edge, func(w io.Writer, e explainer) { e.edge(w, row.Edge) })
	}
	return out
}

// edge says who is who in a trust edge.
func (e explainer) edge(w io.Writer, row catalog.Edge) {
	line(w, "client", row.Verifier)
	if trusts := trustsOf(row); trusts != "" {
		line(w, "trusts", trusts+", which it reads "+string(row.Reload))
	}
	line(w, "presented", presentedOf(row))
	e.known(w, row)
}

// known says in which versions a row holds, and where it is known from.
func (e explainer) known(w io.Writer, row catalog.Edge) {
	line(w, "versions", versionsOf(row.In))
	if e.sources {
		line(w, "source", row.Source)
	}
}

// trustsOf is where a client's CAs are; empty: the row names no place.
func trustsOf(row catalog.Edge) string {
	switch {
	case row.Trust != (catalog.Ref{}):
		return placeOf(row.Trust)
	case row.Verify == catalog.VerifyAggregate:
		return "each CA bundle that is made of others"
	case row.Verify == catalog.VerifyNodeCopies:
		return "each file on nodes that is a copy of an object"
	}
	return ""
}

// presentedOf is where what is presented comes from; empty: the row names no place.
func presentedOf(row catalog.Edge) string {
	of := row.Presented
	switch {
	case of == (catalog.Ref{}):
		return ""
	case of.Name != "":
		return placeOf(of)
	case row.Verify == catalog.VerifyServiceCertificate:
		return of.Key + " of the " + of.Kind + " with the Service's certificate"
	case row.Selector.Annotation != "":
		return of.Key + " of each " + of.Kind + " with the annotation " + row.Selector.Annotation
	}
	return of.Key + " of a " + of.Kind
}
