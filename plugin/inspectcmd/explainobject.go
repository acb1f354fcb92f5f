package inspectcmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// line is a label with its text; none for an empty text.
func line(w io.Writer, label, text string) {
	if text != "" {
		ui.Wrap(w, fmt.Sprintf("%-10s", label), text)
	}
}

// edge explains a row about a client and a server.
func (e explainer) edge(w io.Writer, row catalog.Edge) {
	line(w, "client", row.Verifier)
	line(w, "trusts", row.Trust.String()+", which it reads "+string(row.Reload))
	if row.Presented != (catalog.Ref{}) {
		line(w, "server", row.Presented.String())
	}
	line(w, "impact", row.Impact)
	hints := inspect.LiveHints("certrot")
	line(w, "next", hints.Next(row.Remediation))
	if row.Ahead != "" {
		line(w, "before", hints.Next(row.Ahead)+", as long as the new CA signs nothing yet")
	}
	line(w, "versions", row.In.String())
	if e.sources {
		line(w, "source", row.Source)
	}
}

// object explains what the catalog knows of KIND/NAMESPACE/NAME, or of a file on nodes.
func (e explainer) object(w io.Writer, name string) error {
	kind, namespace, object, err := objectNamed(name)
	if err != nil {
		return err
	}
	is := func(r catalog.Ref) bool {
		return r.Kind != "" && r.Fits(kind, namespace, object, r.Key)
	}
	ui.Printf(w, "%s\n", ui.Clean(name))
	known := false
	for _, p := range catalog.Places() {
		if p.Selector == (catalog.ObjectSelector{}) && is(p.Ref) {
			known = true
			e.place(w, p)
		}
	}
	for _, row := range catalog.Aggregates() {
		if row.Selector == (catalog.ObjectSelector{}) && is(row.Target) {
			var parts []string
			for _, part := range row.Parts {
				parts = append(parts, part.String())
			}
			line(w, "made of", strings.Join(parts, ", ")+" ("+row.In.String()+")")
		}
	}
	for _, row := range catalog.Rotations() {
		if is(row.Signer) {
			var signs []string
			for _, target := range row.Targets {
				signs = append(signs, target.String())
			}
			line(w, "signs", strings.Join(signs, ", "))
			if row.Bundle != (catalog.Ref{}) {
				line(w, "bundle", row.Bundle.String())
			}
		}
	}
	for _, row := range catalog.Edges() {
		switch {
		case is(row.Trust):
			known = true
			line(w, "trusted", "by "+row.Verifier+", "+string(row.Reload)+": explain "+row.ID)
		case is(row.Presented):
			known = true
			line(w, "presented", "to "+row.Verifier+": explain "+row.ID)
		}
	}
	if !known {
		line(w, "unknown", "the catalog has no row for it: its owner and its renewal are not in the catalog")
	}
	return nil
}

// place explains a row about a place.
func (e explainer) place(w io.Writer, p catalog.Place) {
	line(w, "what", p.Doc)
	line(w, "role", string(p.Role)+" in "+p.Ref.String()+" ("+p.In.String()+")")
	line(w, "owner", p.Owner)
	if p.Writer != "" {
		line(w, "writer", p.Writer)
	}
	for _, l := range p.Lifetimes {
		line(w, "renewal", lifetime(l))
	}
	if e.sources {
		line(w, "source", p.Source)
	}
}

// lifetime says how long a certificate is valid, and who renews it when.
func lifetime(l catalog.Lifetime) string {
	var parts []string
	if l.Validity > 0 {
		parts = append(parts, "valid for "+days(l.Validity))
	}
	switch {
	case !l.SelfRotating():
		parts = append(parts, "manual: no component renews it")
	case l.Refresh > 0:
		parts = append(parts, fmt.Sprintf("rotated by %s %s after it was issued, at the latest at %d %% of its validity", l.Renewer, days(l.Refresh), l.RenewAtPercent))
	case l.RenewFromPercent > 0:
		parts = append(parts, fmt.Sprintf("renewed by %s at %d to %d %% of its validity", l.Renewer, l.RenewFromPercent, l.RenewAtPercent))
	case l.RenewAtPercent > 0:
		parts = append(parts, fmt.Sprintf("rotated by %s at %d %% of its validity", l.Renewer, l.RenewAtPercent))
	default:
		parts = append(parts, "renewed by "+l.Renewer)
	}
	if l.Doc != "" {
		parts = append(parts, l.Doc)
	}
	return strings.Join(parts, "; ") + " (" + l.In.String() + ")"
}

func days(d time.Duration) string { return duration.HumanDuration(d) }

// objectNamed reads KIND/NAMESPACE/NAME, KIND/NAME or the path of a file on nodes.
func objectNamed(name string) (kind, namespace, object string, err error) {
	if strings.HasPrefix(name, "/") {
		return catalog.File, "", name, nil
	}
	parts := strings.Split(name, "/")
	kinds := map[string]string{"secret": catalog.Secret, "secrets": catalog.Secret, "configmap": catalog.ConfigMap, "configmaps": catalog.ConfigMap, "cm": catalog.ConfigMap}
	kind = kinds[strings.ToLower(parts[0])]
	switch {
	case kind != "" && len(parts) == 3 && parts[1] != "" && parts[2] != "":
		return kind, parts[1], parts[2], nil
	case kind != "":
		return "", "", "", fmt.Errorf("%q is no %s/NAMESPACE/NAME", name, parts[0])
	case len(parts) == 2 && parts[0] != "" && parts[1] != "":
		return parts[0], "", parts[1], nil
	}
	return "", "", "", fmt.Errorf("%q is no Secret/NAMESPACE/NAME, ConfigMap/NAMESPACE/NAME, KIND/NAME or path of a file on nodes", name)
}
