package inspectcmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// line is a label with its text; none for an empty text.
func line(w io.Writer, label, text string) {
	if text != "" {
		ui.Wrap(w, fmt.Sprintf("%s%-10s", indent, label), text)
	}
}

// placeOf is a place as people write it: a file by its path.
func placeOf(r catalog.Ref) string { return strings.TrimPrefix(r.String(), catalog.File+":") }

// versionsOf says in which versions a row holds.
func versionsOf(in catalog.Range) string {
	if text := in.String(); in.Component != "" && text != in.Component {
		return text
	}
	if in.Component == catalog.Kubernetes {
		return "all of Kubernetes, without OpenShift"
	}
	return "all"
}

// object explains what the catalog knows of KIND/NAMESPACE/NAME, or of a file on nodes.
func (e *explainer) object(ctx context.Context, w io.Writer, name string) error {
	kind, namespace, object, err := objectNamed(name)
	if err != nil {
		return err
	}
	is := func(r catalog.Ref) bool {
		return r.Kind != "" && r.Fits(kind, namespace, object, r.Key)
	}
	o := explained{about: is}
	for _, p := range catalog.Places() {
		if p.Selector == (catalog.ObjectSelector{}) && is(p.Ref) {
			o.places = append(o.places, p)
		}
	}
	slices.SortStableFunc(o.places, func(a, b catalog.Place) int { // its own rows before a family's
		return strings.Count(a.Namespace+a.Name, "*") - strings.Count(b.Namespace+b.Name, "*")
	})
	for _, row := range catalog.Rotations() {
		if is(row.Signer) {
			o.signs = append(o.signs, row)
		}
	}
	for _, row := range catalog.Edges() {
		switch {
		case is(row.Trust):
			o.trusted = append(o.trusted, row)
		case is(row.Presented):
			o.presented = append(o.presented, row)
		}
	}
	if len(o.places)+len(o.trusted)+len(o.presented) == 0 {
		if err := e.absent(ctx, kind, namespace, object); err != nil {
			return err
		}
	}
	ui.Printf(w, "%s\n", ui.Clean(name))
	if len(o.places)+len(o.trusted)+len(o.presented) == 0 {
		if (kind == catalog.Secret || kind == catalog.ConfigMap) && !catalog.ReservedNamespace(namespace) {
			ui.Wrap(w, "", "Not a certificate that OpenShift or Kubernetes manages: owner and renewal unknown.")
		} else if kind == catalog.Request {
			ui.Wrap(w, "", "A request to have a certificate signed. Who asks for it, and whether it is approved, is in the list of requests.")
		} else {
			ui.Wrap(w, "", "Not in the catalog: owner and renewal unknown.")
		}
		fixes, err := e.state(ctx, w, kind, namespace, object)
		if err != nil {
			return err
		}
		e.todo(w, e.unknown(kind, namespace, object), fixes...)
		return nil
	}
	if len(o.places) > 0 {
		ui.Wrap(w, "", kind+": "+o.title())
	} else {
		ui.Wrap(w, "", kind+": a CA bundle, or a certificate that a client verifies")
	}
	fixes, err := e.state(ctx, w, kind, namespace, object)
	if err != nil {
		return err
	}
	section(w, "What it means", func() { e.meaning(w, o) })
	e.todo(w, e.steps(o, kind, namespace, object), fixes...)
	section(w, "Details", func() { e.objectDetails(w, o) })
	return nil
}

// unknown are the steps for an object that the catalog does not have: where it was read.
func (e *explainer) unknown(kind, namespace, object string) []string {
	read, from := "{} inspect --all", e.reading.Hints().From()
	if found, err := collect.ParseResource(kind); err == nil && len(found) == 1 && foreign.Fit(object) && (namespace == "" || foreign.Fit(namespace)) {
		read = e.reading.App.Hints().Next("{} inspect %s/%s", strings.ToLower(kind), object)
		if namespace != "" {
			read += foreign.Command("", " -n %s", namespace)
		}
	}
	if from != "" {
		return []string{read + from}
	}
	if kind == catalog.File {
		return []string{inspectNodes}
	}
	return append(described(kind, namespace, object), read)
}

// described are the commands that describe an object of the cluster.
func described(kind, namespace, object string) []string {
	resource := strings.ToLower(kind)
	if found, err := collect.ParseResource(kind); err == nil && len(found) != 1 { // it has two groups: each has a name of its own
		return nil
	}
	switch {
	case kind == catalog.File || !foreign.Fit(kind, object) || namespace != "" && !foreign.Fit(namespace):
		return nil
	case namespace == "":
		return []string{foreign.Command("", "kubectl describe %s %s", resource, object)}
	}
	return []string{foreign.Command("", "kubectl describe %s -n %s %s", resource, namespace, object)}
}

// explained is what the catalog has of an object or a file.
type explained struct {
	about              func(catalog.Ref) bool
	places             []catalog.Place
	signs              []catalog.Rotation
	trusted, presented []catalog.Edge
}

// title is what it is for; where that depends on the version, in which.
func (o explained) title() string {
	first := o.places[0]
	if slices.ContainsFunc(o.places[1:], func(p catalog.Place) bool { return p.Ref == first.Ref }) {
		return first.Doc + " (" + versionsOf(first.In) + ")"
	}
	return first.Doc
}

// steps are what to do about it.
func (e explainer) steps(o explained, kind, namespace, object string) []string {
	switch {
	case kind == catalog.File && len(o.trusted)+len(o.presented) > 0:
		return []string{inspectNodes, "does each client that reads it trust its server?", "{} verify --nodes all --via ssh"}
	case kind == catalog.File:
		return []string{inspectNodes}
	}
	hints := e.reading.App.Hints()
	out := []string{"{} inspect --all"}
	if foreign.Fit(namespace) && catalog.ReservedNamespace(namespace) {
		switch kind {
		case catalog.Secret:
			out[0] = hints.Next("{} inspect secrets --all -n %s", namespace)
		case catalog.ConfigMap:
			out[0] = hints.Next("{} inspect configmaps --all -n %s", namespace)
		}
	}
	if len(o.trusted)+len(o.presented) > 0 {
		out = append(out, "does each client trust what its server presents?", "{} verify")
	}
	for _, p := range o.places {
		if p.Restart != "" && !slices.Contains(out, p.Restart) {
			out = append(out, "a new one is presented after a restart ("+versionsOf(p.In)+"):", p.Restart)
		}
	}
	if foreign.Fit(namespace, object) && slices.ContainsFunc(catalog.Triggers(), func(t catalog.Trigger) bool { return t.Annotation != "" && o.about(t.Secret) }) {
		out = append(out, "to rotate it early, see first what would follow:", hints.Next("{} rotate --dry-run=client %s/%s", namespace, object))
	}
	return out
}

// meaning says who owns it, when it is renewed, and what depends on it.
func (e explainer) meaning(w io.Writer, o explained) {
	var said []string
	for _, p := range o.places {
		text := p.WrittenBy()
		if !slices.Contains(said, text) {
			said = append(said, text)
			line(w, "owner", text)
		}
		for _, l := range p.Lifetimes {
			if text := lifetime(l); !slices.Contains(said, text) {
				said = append(said, text)
				line(w, "renewal", text)
			}
		}
	}
	if n := len(o.presented); n > 0 {
		line(w, "presented", "to "+ui.Count(n, "client")+", see below")
	}
	if n := len(o.trusted); n > 0 {
		line(w, "read", "by "+ui.Count(n, "client")+" as trust anchors, see below")
	}
}

// objectDetails are the rows of the catalog about it.
func (e explainer) objectDetails(w io.Writer, o explained) {
	for i, p := range o.places {
		if i > 0 {
			line(w, "what", p.Doc)
		}
		line(w, "role", string(p.Role)+" in "+placeOf(p.Ref)+"; versions: "+versionsOf(p.In))
		if e.sources {
			line(w, "source", p.Source)
		}
	}
	for _, row := range catalog.Aggregates() {
		if row.Selector == (catalog.ObjectSelector{}) && o.about(row.Target) {
			var parts []string
			for _, part := range row.Parts {
				parts = append(parts, placeOf(part))
			}
			made := strings.Join(parts, ", ")
			switch {
			case row.Relation == catalog.FirstCopy:
				made = "the first that exists of " + made
			case row.Doc != "":
				made += "; " + row.Doc
			}
			line(w, "made of", made+"; versions: "+versionsOf(row.In))
		}
	}
	for _, row := range o.signs {
		var signs []string
		for _, target := range slices.Concat(row.Targets, row.Others) {
			signs = append(signs, placeOf(target))
		}
		line(w, "signs", strings.Join(signs, ", "))
		if row.Bundle != (catalog.Ref{}) {
			line(w, "bundle", row.Bundle.String())
		}
		line(w, "note", row.Doc)
	}
	for _, row := range o.trusted {
		line(w, "read", "by "+row.Verifier+", "+string(row.Reload)+": explain "+row.ID)
	}
	for _, row := range o.presented {
		line(w, "presented", "to "+row.Verifier+": explain "+row.ID)
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
	case l.RefreshFrom > 0:
		parts = append(parts, fmt.Sprintf("rotated by %s %s to %s after it was issued, by patch version, at the latest at %d %% of its validity", l.Renewer, days(l.RefreshFrom), days(l.Refresh), l.RenewAtPercent))
	case l.Refresh > 0 && l.RenewAtPercent == 0:
		parts = append(parts, fmt.Sprintf("rotated by %s %s after it was issued", l.Renewer, days(l.Refresh)))
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
	if l.Detail != "" {
		parts = append(parts, l.Detail)
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
	kind, namespaced := kindOf(parts[0])
	switch {
	case namespaced && len(parts) == 3 && parts[1] != "" && parts[2] != "":
		return kind, parts[1], parts[2], nil
	case namespaced:
		return "", "", "", fmt.Errorf("%q is no %s/NAMESPACE/NAME: its namespace is missing (-n NAMESPACE)", name, parts[0])
	case len(parts) == 2 && parts[0] != "" && parts[1] != "":
		return kind, "", parts[1], nil
	}
	return "", "", "", fmt.Errorf("%q is no Secret/NAMESPACE/NAME, ConfigMap/NAMESPACE/NAME, KIND/NAME or path of a file on nodes", name)
}

// kindOf is the kind that a word names, and whether its objects have a namespace; of a word that is none,
// the word.
func kindOf(word string) (kind string, namespaced bool) {
	if kind = kindWords()[strings.ToLower(word)]; kind != "" {
		return kind, true
	}
	found, err := collect.ParseResource(word)
	if err != nil || len(found) != 1 {
		return word, err == nil && found[0].Namespaced
	}
	return string(found[0].Kind), found[0].Namespaced
}

// plainPlace is a place as explain knows it, of one that a screen prints: NODE:/path and
// KIND/NAMESPACE/NAME[KEY].
func plainPlace(name string) string {
	name = tail.ReplaceAllString(name, "")
	if i := strings.Index(name, ":/"); i > 0 && !strings.Contains(name, "://") {
		return name[i+1:]
	}
	if i := strings.LastIndexByte(name, '['); i > 0 && strings.HasSuffix(name, "]") {
		return name[:i]
	}
	return name
}
