package rotatecmd

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

func (f *rotateFlags) showPlans(plans []rotation) error {
	out := f.seen.App.Streams.Out
	if f.output == "" {
		for i, p := range plans {
			if i > 0 {
				ui.Printf(out, "\n")
			}
			if err := printRotation(out, p); err != nil {
				return err
			}
		}
		return nil
	}
	for i, p := range plans {
		if i > 0 && f.output == "yaml" {
			ui.Printf(out, "---\n")
		}
		if err := ui.PrintDocument(out, f.output, f.planDocument(p)); err != nil {
			return err
		}
	}
	return nil
}

func (f *rotateFlags) planDocument(p rotation) rotationPlanDocument {
	c := p.facts.Snapshot.Cluster
	d := rotationPlanDocument{
		APIVersion: report.APIVersion, Kind: "RotationPlan", Server: c.Server, Version: c.Versions.Cluster, Unreviewed: c.Versions.NotReviewed(), Secret: p.of.At.Namespace + "/" + p.of.At.Name,
		Owner: p.owner(), Annotation: p.of.Trigger.Annotation, DryRun: f.dryRun, Annotations: p.differing(), Checks: append([]rotateVerdict{}, p.verdicts...),
		Accepted: append([]string{}, p.accepted...), Awaited: p.awaited, Consequences: p.follows(), Undo: noWayBack,
	}
	if !p.itself() {
		d.Stands, d.Annotation = p.left.Why, ""
	}
	for _, leaf := range p.leaves {
		d.Leaves = append(d.Leaves, rotationLeaf{
			leaf.of.At.Namespace + "/" + leaf.of.At.Name, leaf.of.Trigger.Annotation, leaf.differing(),
			append([]rotateVerdict{}, leaf.verdicts...), append([]string{}, leaf.accepted...), append([]string{}, leaf.awaited...),
		})
	}
	if cert := p.of.Cert(); cert != nil {
		d.Certificate = &apply.PlanCert{SHA256: cert.Fingerprint, Subject: cert.Subject, NotBefore: cert.NotBefore, NotAfter: cert.NotAfter}
	}
	return d
}

// follows are the consequences of all that is planned: what is signed anew by --leaf does
// not wait until it is due.
func (p rotation) follows() []rotateConsequences {
	if !p.itself() {
		var out []rotateConsequences
		for _, leaf := range p.leaves {
			out = append(out, leaf.consequences()...)
		}
		return out
	}
	out := p.consequences()
	for _, leaf := range p.leaves {
		for i, c := range out {
			if ok, err := path.Match(c.At, leaf.of.At.String()); c.Stage == rotate.StageLeaf && ok && err == nil {
				out[i].Text, out[i].From = c.By+" signs it anew with the new CA, once all who verify it are seen to trust that", nil
			}
		}
	}
	return out
}

func printRotation(out io.Writer, p rotation) error {
	w := &strings.Builder{}
	c := p.facts.Snapshot.Cluster
	ui.Printf(w, "Cluster  %s  %s %s\n", ui.OrDash(c.Server), ui.Product(c.Versions.Cluster), ui.OrDash(c.Versions.Cluster))
	ui.PrintUnauthenticated(w, c.Unauthenticated)
	if c.Synthetic != "" {
		ui.Wrap(w, "         ", "SYNTHETIC DATA: "+c.Synthetic)
	}
	ui.NotReviewed(w, c.Versions.NotReviewed())
	switch {
	case p.itself():
		ui.Printf(w, "Rotates  %s, of %s\n", p.of.At, p.owner())
	default:
		ui.Printf(w, "Signer   %s, of %s\n", p.of.At, p.owner())
	}
	if cert := p.of.Cert(); cert != nil {
		ui.Printf(w, "Now      %s\n         %s\n", pki.Foreign(cert.Subject), apply.Identity(cert))
	}
	if !p.itself() {
		ui.Wrap(w, "Stands   ", "It is not made anew: "+p.left.Why+". Without --leaf another one is made.")
	}
	if p.idle() {
		ui.Printf(w, "\nNothing to do.\n")
		_, err := io.WriteString(out, ui.CleanLines(w.String()))
		return err
	}
	p.printChecks(w)
	ui.Printf(w, "\nWhat changes%s\n", map[bool]string{true: ", as the API server sees it", false: ""}[p.tried()])
	if p.itself() {
		p.printDiff(w)
	}
	for _, leaf := range p.leaves {
		ui.Wrap(w, "  ", fmt.Sprintf("then %s, one after the other, each once all who verify it are seen to trust the new CA, now and next", leaf.of.At))
		leaf.printDiff(w)
	}
	ui.Printf(w, "\nWhat follows\n")
	for _, c := range p.follows() {
		ui.Wrap(w, fmt.Sprintf("  %-11s", c.Stage), c.At+": "+c.Text)
	}
	ui.Wrap(w, "\nBack     ", noWayBack)
	_, err := io.WriteString(out, ui.CleanLines(w.String()))
	return err
}

// tried reports whether the API server was asked what would change.
func (p rotation) tried() bool {
	return p.after != nil || len(p.leaves) > 0 && p.leaves[0].after != nil
}

// printDiff shows the annotations that change.
func (p rotation) printDiff(w io.Writer) {
	if p.of.Triggered() {
		ui.Printf(w, "  %s is gone already: it is waited for\n", p.of.Trigger.Annotation)
		return
	}
	if p.after == nil {
		ui.Printf(w, "  - %s\n", p.of.Trigger.Annotation)
		return
	}
	for _, d := range p.differing() {
		if d.Before != nil {
			ui.Printf(w, "  - %s: %s\n", d.Name, *d.Before)
		}
		if d.After != nil {
			ui.Printf(w, "  + %s: %s\n", d.Name, *d.After)
		}
	}
}

// notes are what does not hold, and stops nothing: it was accepted, or is waited for.
func (p rotation) notes() []string {
	type note struct{ before, after string } // what it is of
	var notes []note
	of := map[note][]string{}
	all := p.leaves
	if p.itself() {
		all = append([]rotation{p}, all...)
	}
	for _, r := range all {
		for _, v := range r.verdicts {
			n := note{"Waited for, before ", ": " + v.Check + ": " + v.Reason}
			switch {
			case !v.stopped:
				continue
			case r.of.Triggered():
				n.before = "Its owner was told already, and makes it anew whatever this says: "
			case slices.Contains(r.accepted, v.Check):
				n.before = "Accepted by name, of "
			case v.Holds == catalog.No.String():
			case v.Accept:
				n = note{"It ends with exit code 3 before ", ", unless this is known by then, or accepted with --accept-risk=" + v.Check + n.after}
			default:
				n = note{"It ends with exit code 3 before ", ", unless this is known by then" + n.after}
			}
			if of[n] == nil {
				notes = append(notes, n)
			}
			of[n] = append(of[n], r.of.Name)
		}
	}
	var out []string
	for _, n := range notes {
		out = append(out, n.before+apply.Some(of[n])+n.after)
	}
	return out
}

// printChecks tells what was asked, of what is made anew first.
func (p rotation) printChecks(w io.Writer) {
	for _, n := range p.notes() {
		ui.Wrap(w, "Note     ", n)
	}
	if !p.itself() {
		p = p.leaves[0]
	}
	var good, blind []string
	for _, v := range p.verdicts {
		switch {
		case v.stopped: // it is among the notes
		case v.NoAPI:
			blind = append(blind, v.Check)
		default:
			if good = append(good, v.Check); v.Reason != "" {
				ui.Wrap(w, "Note     ", v.Check+": "+v.Reason)
			}
		}
	}
	if len(good) > 0 {
		ui.Wrap(w, "Checked  ", strings.Join(good, ", "))
	}
	if len(blind) > 0 {
		ui.Wrap(w, "Unknown  ", "since no API server was asked: "+strings.Join(blind, ", "))
	}
}
