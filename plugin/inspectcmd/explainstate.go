package inspectcmd

import (
	"context"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// state is what the files have of an object: its certificates, and what is wrong with them. It returns what is
// to be done about that.
func (e *explainer) state(ctx context.Context, w io.Writer, kind, namespace, object string) (fixes []assess.Remediation, err error) {
	if len(e.reading.From) == 0 {
		return nil, nil
	}
	if err := e.readFiles(ctx); err != nil {
		return nil, err
	}
	fix := func(r assess.Remediation) { fixes = withFix(fixes, r) }
	is := func(at pki.Location) bool {
		if kind == catalog.File {
			return at.Path == object && (e.onNode[object] == "" || at.Node == e.onNode[object])
		}
		return string(at.Kind) == kind && at.Namespace == namespace && at.Name == object
	}
	var lines []string
	add := func(label, text string) {
		if said := label + "\x00" + text; !slices.Contains(lines, said) {
			lines = append(lines, said)
		}
	}
	inv := report.NewInventory(ctx, inspect.NewFacts(*e.read, e.read.Taken, connect.DefaultWithin), report.Filter{})
	for i := range inv.Certificates {
		c := &inv.Certificates[i]
		for _, at := range c.Locations() {
			if is(at) {
				add("contains", ofNode(at)+pki.Foreign(c.Name())+", "+expiry(&inv, c))
			}
		}
	}
	for _, f := range inv.Findings {
		if slices.ContainsFunc(f.Locations, is) {
			fix(f.Remediation)
			add("problem", strings.ToUpper(f.Severity.String())+" "+ui.Clean(ui.OneLine(f.Reason))+" ("+f.ID+")")
		}
	}
	verified := report.NewVerification(ctx, inspect.NewFacts(*e.read, e.read.Taken, connect.DefaultWithin))
	for _, c := range verified.Claims {
		if c.Status != assess.Pass && (slices.ContainsFunc(c.Trust, is) || c.Presented != nil && is(*c.Presented)) {
			if c.Status.Wrong() {
				fix(c.Remediation)
			}
			add("verify", strings.ToUpper(c.Status.String())+" "+c.Said()+" ("+c.ID+")")
		}
	}
	for _, r := range e.read.Requests {
		if is(pki.Location{Kind: r.Object.Kind, Name: r.Object.Name}) {
			since := " since " + ui.RelativeTime(inv.Now, r.Since)
			if r.Since.IsZero() {
				since = ", age unknown"
			}
			add("state", string(r.Condition)+since+", requested by "+foreign.Name(r.Requester))
			add("signer", foreign.Name(r.Signer))
			if r.Request != nil {
				add("subject", pki.Foreign(r.Request.Subject))
			}
			for _, edge := range issuedTo(r.Signer) {
				add("presented", "what is issued, to "+edge.Verifier+": explain "+edge.ID)
			}
		}
	}
	if len(lines) == 0 {
		return nil, nil
	}
	section(w, "In this file", func() {
		for i, said := range lines {
			if i == mostFindings {
				all := "{} inspect --all"
				if strings.HasPrefix(said, "verify\x00") {
					all = "{} verify --details"
				}
				ui.Printf(w, "%s%s\n%s%s\n", indent, ui.Count(len(lines)-i, "more line")+":", indent, e.command(all))
				break
			}
			label, text, _ := strings.Cut(said, "\x00")
			line(w, label, text)
		}
	})
	return fixes[:min(len(fixes), ui.MaxPlaces)], nil
}

// withFix adds what is to be done, unless another step is the same or does more.
func withFix(fixes []assess.Remediation, r assess.Remediation) []assess.Remediation {
	same := func(o assess.Remediation) bool {
		if strings.Contains(o.Text+" "+o.Command, r.Text) {
			return true
		}
		words := strings.Fields(o.Command)
		return r.Command != "" && !slices.ContainsFunc(strings.Fields(r.Command), func(word string) bool { return !slices.Contains(words, word) })
	}
	if r == (assess.Remediation{}) || slices.ContainsFunc(fixes, same) {
		return fixes
	}
	return append(fixes, r)
}

// ofNode names the node of a file.
func ofNode(at pki.Location) string {
	if at.Node == "" {
		return ""
	}
	return foreign.Name(at.Node) + ": "
}

// expiry says until when a certificate is valid, and whether it is renewed.
func expiry(inv *report.Inventory, c *report.Cert) string {
	verb := "expires "
	if c.NotAfter.Before(inv.Now) {
		verb = "expired "
	}
	out := verb + ui.RelativeTime(inv.Now, c.NotAfter) + " (" + c.NotAfter.UTC().Format("2006-01-02 15:04 UTC") + "), "
	switch r := c.Renewal; {
	case !r.Known:
		return out + "renewal unknown"
	case !r.Automatic():
		return out + "no automatic renewal"
	case r.Due.IsZero():
		return out + "renewed automatically"
	default:
		return out + "renewal by " + r.Due.UTC().Format("2006-01-02")
	}
}

// certificate explains a certificate of the files by its name; false: none is called so.
func (e *explainer) certificate(ctx context.Context, w io.Writer, name string) (bool, error) {
	inv := report.NewInventory(ctx, inspect.NewFacts(*e.read, e.read.Taken, connect.DefaultWithin), report.Filter{})
	var first *pki.Location
	for i := range inv.Certificates {
		c := &inv.Certificates[i]
		if c.Name() != name && pki.Foreign(c.Name()) != name {
			continue
		}
		if first == nil {
			ui.Printf(w, "%s\n", pki.Foreign(name))
			ui.Wrap(w, "", "Certificate in this file")
			ui.Printf(w, "\n")
			at := c.Locations()[0]
			first = &at
		}
		line(w, "validity", expiry(&inv, c))
		places := inspect.Fold(c.Locations())
		for n, at := range places {
			if n == ui.MaxPlaces && len(places) > ui.MaxPlaces+1 {
				line(w, "in", ui.Count(len(places)-n, "more place"))
				break
			}
			line(w, "in", at)
		}
	}
	if first == nil {
		return false, nil
	}
	ui.Printf(w, "\n")
	return true, e.object(ctx, w, placeName(*first))
}

// placeName is a place as explain takes it.
func placeName(at pki.Location) string {
	switch {
	case at.Kind == pki.KindFile:
		return at.Path
	case at.Namespace == "":
		return string(at.Kind) + "/" + at.Name
	}
	return string(at.Kind) + "/" + at.Namespace + "/" + at.Name
}

// inAnyNamespace are the objects of the files that KIND/NAME, without a namespace, or with as many as a
// table names, may be.
func (e *explainer) inAnyNamespace(ctx context.Context, name string) ([]string, error) {
	kind, object, _ := strings.Cut(name, "/")
	of, rest, several := strings.Cut(object, "/")
	if several && !manyNamespaces.MatchString(of) {
		return nil, nil
	}
	if several {
		object = rest
	}
	kind, namespaced := kindOf(kind)
	if !namespaced || len(e.reading.From) == 0 || strings.Contains(object, "/") {
		return nil, nil
	}
	if err := e.readFiles(ctx); err != nil {
		return nil, err
	}
	var out []string
	for _, b := range e.read.Bundles {
		if at := b.At; string(at.Kind) == kind && at.Name == object && !slices.Contains(out, placeName(at)) {
			out = append(out, placeName(at))
		}
	}
	if several && len(out) > 1 { // they are the same
		out = out[:1]
	}
	return out, nil
}

// manyNamespaces stands in a table for the namespaces of objects that are the same.
var manyNamespaces = regexp.MustCompile(`^<\d+ namespaces>$`)

// tail is what stands behind a place in a table: how many others there are, a field.
var tail = regexp.MustCompile(`( \+\d+| \(\+\d+ places?\)|#\S*)+$`)
