package rotatecmd

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// The document that rotate prints as JSON and YAML; see docs/rotate.md.
type (
	rotationPlanDocument struct {
		APIVersion   string               `json:"apiVersion"`
		Kind         string               `json:"kind"`
		Server       string               `json:"server,omitempty"`
		Version      string               `json:"version,omitempty"`
		Unreviewed   string               `json:"unreviewed,omitempty"` // versions that run and were not reviewed
		Taken        time.Time            `json:"taken"`                // when the cluster was read
		Secret       string               `json:"secret"`
		Certificate  *apply.PlanCert      `json:"certificate,omitempty"` // that is there now
		Owner        string               `json:"owner"`
		Annotation   string               `json:"annotation"` // that is removed
		DryRun       string               `json:"dryRun"`
		Annotations  []annotationDiff     `json:"annotations"` // that differ, as the API server sees it
		Checks       []apply.PlanCheck    `json:"checks"`
		Accepted     []string             `json:"accepted"`
		Awaited      []string             `json:"awaited,omitempty"`
		Consequences []rotate.Consequence `json:"consequences"`
		Undo         string               `json:"undo"`
		// With --leaf: why the signer is not rotated, and what it signs that is.
		SignerUnchanged string         `json:"signerUnchanged,omitempty"`
		Leaves          []rotationLeaf `json:"leaves,omitempty"`
	}
	rotationLeaf struct {
		Secret      string            `json:"secret"`
		Annotation  string            `json:"annotation"`
		Annotations []annotationDiff  `json:"annotations"`
		Checks      []apply.PlanCheck `json:"checks"`
		Accepted    []string          `json:"accepted"`
		Awaited     []string          `json:"awaited"`
	}
	annotationDiff struct {
		Name   string  `json:"name"`
		Before *string `json:"before"` // null: not there
		After  *string `json:"after"`
	}
)

const noUndo = "none: the old key is gone once the new one is made. Clients that trust the old CA trust it until it expires. Where the new CA does not arrive, bring it there; what it signs is rotated later"

func (o *rotateOptions) showPlans(plans []rotate.Planned) error {
	out := o.app.Streams.Out
	if o.output == "" {
		for i, p := range plans {
			if i > 0 {
				ui.Printf(out, "\n")
			}
			if err := o.showPlan(out, p, i == len(plans)-1); err != nil {
				return err
			}
		}
		return nil
	}
	for i, p := range plans {
		if i > 0 && o.output == "yaml" {
			ui.Printf(out, "---\n")
		}
		if err := ui.PrintDocument(out, o.output, o.planDocument(p)); err != nil {
			return err
		}
	}
	return nil
}

func (o *rotateOptions) planDocument(p rotate.Planned) rotationPlanDocument {
	c := p.Facts.Snapshot.Cluster
	d := rotationPlanDocument{
		APIVersion: report.APIVersion, Kind: "RotationPlan", Server: c.Server, Version: c.Versions.Cluster, Unreviewed: c.Versions.WhyUnreviewed(), Taken: p.Facts.Snapshot.Taken, Secret: p.Of.At.Namespace + "/" + p.Of.At.Name,
		Owner: p.Owner(), Annotation: p.Of.Trigger.Annotation, DryRun: o.dryRun, Annotations: differing(p), Checks: apply.ChecksDocument(p.Checks),
		Accepted: append([]string{}, p.Accepted...), Awaited: p.Awaited, Consequences: p.Consequences(), Undo: noUndo,
	}
	if !p.Rotates() {
		d.SignerUnchanged, d.Annotation = p.Left.Why, ""
	}
	for _, leaf := range p.Leaves {
		d.Leaves = append(d.Leaves, rotationLeaf{
			leaf.Of.At.Namespace + "/" + leaf.Of.At.Name, leaf.Of.Trigger.Annotation, differing(leaf),
			apply.ChecksDocument(leaf.Checks), append([]string{}, leaf.Accepted...), append([]string{}, leaf.Awaited...),
		})
	}
	if cert := p.Of.Cert(); cert != nil {
		d.Certificate = &apply.PlanCert{SHA256: cert.Fingerprint, Subject: cert.Subject, NotBefore: cert.NotBefore, NotAfter: cert.NotAfter}
	}
	return d
}

func printRotation(out io.Writer, p rotate.Planned) error {
	w := ui.NewPage(out)
	c := p.Facts.Snapshot.Cluster
	ui.Printf(w, "Cluster  %s  %s %s\n", ui.OrDash(c.Server), ui.Product(c.Versions.Cluster), ui.OrDash(c.Versions.Cluster))
	ui.PrintUnauthenticated(w, c.Unauthenticated)
	if c.Synthetic != "" {
		ui.Wrap(w, "         ", "SYNTHETIC DATA: "+c.Synthetic)
	}
	ui.PrintUnreviewed(w, c.Versions.WhyUnreviewed())
	switch {
	case p.Rotates():
		ui.Printf(w, "Rotates  %s, of %s\n", p.Of.At, p.Owner())
	default:
		ui.Printf(w, "Signer   %s, of %s\n", p.Of.At, p.Owner())
	}
	if cert := p.Of.Cert(); cert != nil {
		ui.Printf(w, "Now      %s\n         %s\n", pki.Foreign(cert.Subject), apply.Identity(cert))
	}
	if !p.Rotates() {
		ui.Wrap(w, "Stays    ", "It is not rotated: "+p.Left.Why+". Without --leaf another one is made.")
	}
	if p.NoChanges() {
		ui.Printf(w, "\nNothing to do.\n")
		_, err := io.WriteString(out, ui.CleanLines(w.String()))
		return err
	}
	printChecks(w, p)
	ui.Printf(w, "\nWhat changes%s\n", map[bool]string{true: ", as the API server sees it", false: ""}[tried(p)])
	if p.Rotates() {
		printDiff(w, p)
	}
	for _, leaf := range p.Leaves {
		ui.Wrap(w, "  ", fmt.Sprintf("then %s, one after the other, each once all its clients are seen to trust the new CA, now and next", leaf.Of.At))
		printDiff(w, leaf)
	}
	ui.Printf(w, "\nWhat follows\n")
	for _, c := range p.Consequences() {
		ui.Wrap(w, fmt.Sprintf("  %-15s", stageName(c.Stage)), c.At+": "+c.Text)
	}
	ui.Printf(w, "\n")
	ui.Wrap(w, "Undo     ", noUndo)
	_, err := io.WriteString(out, ui.CleanLines(w.String()))
	return err
}

// tried reports whether the API server was asked what would change.
func tried(p rotate.Planned) bool {
	return p.After != nil || len(p.Leaves) > 0 && p.Leaves[0].After != nil
}

// printDiff prints the annotations that change.
func printDiff(w io.Writer, p rotate.Planned) {
	if p.Of.Triggered() {
		ui.Printf(w, "  %s is removed already: waiting for its owner\n", p.Of.Trigger.Annotation)
		return
	}
	if p.After == nil {
		ui.Printf(w, "  remove annotation %s\n", p.Of.Trigger.Annotation)
		return
	}
	for _, d := range differing(p) {
		if d.Before != nil {
			ui.Printf(w, "  - %s: %s\n", d.Name, *d.Before)
		}
		if d.After != nil {
			ui.Printf(w, "  + %s: %s\n", d.Name, *d.After)
		}
	}
}

// notesOf are the checks that do not pass and stop nothing: accepted ones, and those that are awaited.
func notesOf(p rotate.Planned) []string {
	type note struct{ before, after string } // what it is of
	var notes []note
	of := map[note][]string{}
	all := p.Leaves
	if p.Rotates() {
		all = append([]rotate.Planned{p}, all...)
	}
	for _, r := range all {
		for _, v := range r.Checks {
			n := note{"Waited for, before ", ": " + v.Named()}
			switch {
			case !v.Blocks():
				continue
			case r.Of.Triggered():
				n.before = "Its owner rotates it already, whatever this says: "
			case slices.Contains(r.Accepted, v.ID):
				n.before = "Accepted by name, of "
			case v.Status == assess.Fail:
			case v.Risk:
				n = note{"Stops with exit code 3 before ", ", unless this is read by then, or accepted with --accept-risk=" + v.ID + n.after}
			default:
				n = note{"Stops with exit code 3 before ", ", unless this is read by then" + n.after}
			}
			if of[n] == nil {
				notes = append(notes, n)
			}
			of[n] = append(of[n], r.Of.Name)
		}
	}
	var out []string
	for _, n := range notes {
		out = append(out, n.before+apply.NodeNames(of[n])+n.after)
	}
	return out
}

// printChecks tells what was checked, of what is rotated first.
func printChecks(w io.Writer, p rotate.Planned) {
	for _, n := range notesOf(p) {
		ui.Wrap(w, "Note     ", n)
	}
	checked := checkedFirst(p)
	for _, v := range checked.Verdicts {
		if v.Status == assess.Pass && v.Reason != "" {
			ui.Wrap(w, "Note     ", v.Named())
		}
	}
	checked.InFull(w)
}

// checkedFirst are the checks of what is rotated first.
func checkedFirst(p rotate.Planned) apply.PlanChecks {
	if !p.Rotates() {
		p.Checks, p.Accepted = p.Leaves[0].Checks, p.Leaves[0].Accepted
	}
	return apply.PlanChecks{Checked: remediate.CheckedOf(p.Facts.Snapshot, p.Checks, p.Accepted)}
}

// differing are the annotations that the API server would change.
func differing(p rotate.Planned) []annotationDiff {
	out := []annotationDiff{}
	if p.After == nil {
		return out
	}
	both := maps.Clone(p.Action.Annotations)
	maps.Copy(both, p.After)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		before, was := p.Action.Annotations[name]
		after, is := p.After[name]
		if was == is && before == after {
			continue
		}
		d := annotationDiff{Name: name}
		if was {
			d.Before = &before
		}
		if is {
			d.After = &after
		}
		out = append(out, d)
	}
	return out
}
