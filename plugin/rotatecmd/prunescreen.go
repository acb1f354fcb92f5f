package rotatecmd

import (
	"io"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// pruneScreen prints which CAs are removed, each of them, and how many stay.
func (o *rotateOptions) pruneScreen(out io.Writer, p pruning) error {
	a, page := ui.NewOneScreen(out), ui.NewPage(out)
	most := screenLines
	o.head(a, page, p.Reading)
	at := p.of.Rotation.Bundle
	a.Line(ui.Always, "%s%s/%s", label("bundle"), at.Namespace, at.Name)
	a.Line(ui.Always, "%s%s, %d removed", label(""), ui.Count(len(p.cas), "CA"), p.removable())
	for _, ca := range p.cas {
		if ca.Keep == "" {
			a.Whole("%s", "- remove  "+pki.Named(ca.Cert)+", "+validity(ca.Cert, p.Facts.Now))
		}
		for _, cert := range ca.Tenants {
			a.Line(ui.Useful, "%s%s", label("  refused"), cert)
		}
	}
	for _, ca := range p.cas {
		if ca.Keep != "" {
			a.Line(ui.Useful, "%s%s: %s", label("  stays"), shortName(p.of, ca.Cert), ca.Keep)
		}
	}
	a.Gap()
	if p.removable() == 0 {
		a.Line(ui.Always, "No changes: no CA of the bundle can be removed")
		return a.Print(out, most, "all of it: --details")
	}
	a.Prose(ui.Always, 2, label("note"), "copies of these CAs elsewhere stay trusted; a certificate of theirs that was not read is refused from now on")
	a.Line(ui.Always, "%sa patch that restores the bundle is kept, and printed at the end", label("undo"))
	next := o.again + " " + nodeexec.Quote(o.names...)
	switch o.dryRun {
	case apply.DryRunClient:
		a.Whole("%s", label("next")+next+" --dry-run="+apply.DryRunServer)
	case apply.DryRunServer:
		a.Whole("%s", label("next")+next)
	default: // it is asked
		most -= questionLines
	}
	return a.Print(out, most, "all of it: --details")
}
