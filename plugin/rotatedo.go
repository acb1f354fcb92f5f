package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/client-go/metadata"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// The document that rotate prints as JSON and YAML; see docs/rotate.md.
type (
	rotationPlanDocument struct {
		APIVersion   string               `json:"apiVersion"`
		Kind         string               `json:"kind"`
		Server       string               `json:"server,omitempty"`
		Version      string               `json:"version,omitempty"`
		Secret       string               `json:"secret"`
		Certificate  *planCert            `json:"certificate,omitempty"` // that is there now
		Owner        string               `json:"owner"`
		Annotation   string               `json:"annotation"` // that is removed
		DryRun       string               `json:"dryRun"`
		Annotations  []annotationDiff     `json:"annotations"` // that differ, as the API server sees it
		Checks       []rotateVerdict      `json:"checks"`
		Accepted     []string             `json:"accepted"`
		Consequences []rotateConsequences `json:"consequences"`
		Undo         string               `json:"undo"`
	}
	annotationDiff struct {
		Name   string  `json:"name"`
		Before *string `json:"before"` // null: not there
		After  *string `json:"after"`
	}
)

const noWayBack = "none: the old key is gone once the new one is made. What trusted the old CA goes on trusting it until it ends; if the new CA does not come to somebody, it is brought there, and what it signs follows later"

// rotation is one that is planned.
type rotation struct {
	rotations
	of       remediate.Rotatable
	action   remediate.Rotate
	verdicts []rotateVerdict
	accepted []string
	after    map[string]string // annotations, as the API server would have them; nil: it was not asked
}

func (f *rotateFlags) rotate(ctx context.Context, name string) error {
	app := f.seen.app
	if !slices.Contains(knownNames(), strings.TrimPrefix(name, "secret/")) {
		return withHint(fmt.Errorf("%q: %w", name, remediate.ErrNoSuchRotation), "%s rotate --list shows what there is", app.Called)
	}
	r, err := f.read(ctx)
	if err != nil {
		return err
	}
	p := rotation{rotations: r}
	if p.of, err = r.find(app, name); err != nil {
		return err
	}
	if reason, next := p.of.Unmanaged(); reason != "" {
		return &exitError{code: exitRefused, err: withHint(&unchanged{"refused, nothing was changed", fmt.Errorf("%s/%s: %s", p.of.At.Namespace, p.of.At.Name, reason)}, "%s", next)}
	}
	var conn *connection
	if len(f.seen.from) == 0 {
		if conn, err = connect(ctx, app, f.seen.config, pki.NewScanner()); err != nil {
			return err
		}
		p.machinery = conn.cluster.Machinery(ctx)
	}
	if err := p.judge(f.risks); err != nil {
		return err
	}
	if conn != nil {
		client, err := metadata.NewForConfig(conn.rest)
		if err != nil {
			return fmt.Errorf("client for %s: %w", conn.server, err)
		}
		if p.action, err = remediate.PlanRotation(ctx, client, p.of.At, p.of.Trigger.Annotation); err != nil {
			return refused(err)
		}
		if h := p.of.Held; h != nil && h.Object != nil && h.Object.Annotations[p.of.Trigger.Annotation] != p.action.Was {
			return p.untried(fmt.Errorf("%s: %w", p.of.At, remediate.ErrChanged)) // it was made anew since it was judged
		}
		if f.dryRun != dryRunClient {
			if p.after, err = p.action.Try(ctx); err != nil {
				return p.untried(err)
			}
		}
	}
	if err := f.showPlan(p); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if f.dryRun != dryRunNone {
		return &exitError{code: exitFindings}
	}
	return f.trigger(ctx, conn, p)
}

// knownNames are what may be typed, of any version.
func knownNames() []string {
	var out []string
	for _, r := range catalog.Rotations() {
		for _, at := range append([]catalog.Ref{r.Signer}, r.Targets...) {
			if at.Kind == catalog.Secret {
				out = append(out, at.Name, at.Namespace+"/"+at.Name)
			}
		}
	}
	return out
}

// untried says why the API server would not do it.
func (p rotation) untried(err error) error {
	if errors.Is(err, remediate.ErrChanged) {
		return &exitError{code: exitRefused, err: withHint(nothingChanged(err), "somebody writes it at this moment: look, and run it again")}
	}
	return refused(err)
}

// judge asks all checks. The error says all that stops it.
func (p *rotation) judge(accepted []string) error {
	var stops []remediate.Verdict
	for _, v := range p.preflight(p.of).Check() {
		p.verdicts = append(p.verdicts, verdictOf(v))
		switch {
		case !v.Stops():
		case v.Risk && slices.Contains(accepted, v.Name):
			p.accepted = append(p.accepted, v.Name)
		default:
			stops = append(stops, v)
		}
	}
	if len(stops) > 0 {
		return stopped(stops)
	}
	return nil
}

// owner is who makes it anew.
func (p rotation) owner() string {
	if p.of.Held != nil && p.of.Held.Owner() != "" {
		return p.of.Held.Owner()
	}
	return "its operator"
}

// differing are the annotations that the API server would change.
func (p rotation) differing() []annotationDiff {
	out := []annotationDiff{}
	if p.after == nil {
		return out
	}
	both := maps.Clone(p.action.Annotations)
	maps.Copy(both, p.after)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		before, was := p.action.Annotations[name]
		after, is := p.after[name]
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

func (f *rotateFlags) showPlan(p rotation) error {
	out := f.seen.app.Streams.Out
	if f.output == "" {
		return printRotation(out, p)
	}
	c := p.facts.Snapshot.Cluster
	d := rotationPlanDocument{
		APIVersion: inspect.InventoryAPIVersion, Kind: "RotationPlan", Server: c.Server, Version: c.Versions.Cluster, Secret: p.of.At.Namespace + "/" + p.of.At.Name,
		Owner: p.owner(), Annotation: p.of.Trigger.Annotation, DryRun: f.dryRun, Annotations: p.differing(), Checks: p.verdicts,
		Accepted: append([]string{}, p.accepted...), Consequences: p.consequences(), Undo: noWayBack,
	}
	if cert := p.of.Cert(); cert != nil {
		d.Certificate = &planCert{cert.Fingerprint, cert.Subject, cert.NotBefore, cert.NotAfter}
	}
	return printDocument(out, f.output, d)
}

func printRotation(out io.Writer, p rotation) error {
	w := &strings.Builder{}
	c := p.facts.Snapshot.Cluster
	printf(w, "Cluster  %s  %s %s\n", orDash(c.Server), product(c.Versions.Cluster), orDash(c.Versions.Cluster))
	if c.Synthetic != "" {
		wrap(w, "         ", "SYNTHETIC DATA: "+c.Synthetic)
	}
	printf(w, "Rotates  %s, of %s\n", p.of.At, p.owner())
	if cert := p.of.Cert(); cert != nil {
		printf(w, "Now      %s\n         %s\n", cert.Subject, identity(cert))
	}
	var good, blind []string
	for _, v := range p.verdicts {
		switch {
		case v.stopped:
			wrap(w, "Note     ", "Accepted by name: "+v.Check+": "+v.Reason)
		case v.NoAPI:
			blind = append(blind, v.Check)
		default:
			if good = append(good, v.Check); v.Reason != "" {
				wrap(w, "Note     ", v.Check+": "+v.Reason)
			}
		}
	}
	wrap(w, "Checked  ", strings.Join(good, ", "))
	if len(blind) > 0 {
		wrap(w, "Unknown  ", "since no API server was asked: "+strings.Join(blind, ", "))
	}
	switch {
	case p.after != nil:
		printf(w, "\nWhat changes, as the API server sees it\n")
		for _, d := range p.differing() {
			if d.Before != nil {
				printf(w, "  - %s: %s\n", d.Name, *d.Before)
			}
			if d.After != nil {
				printf(w, "  + %s: %s\n", d.Name, *d.After)
			}
		}
	default:
		printf(w, "\nWhat changes\n  - %s\n", p.of.Trigger.Annotation)
	}
	printf(w, "\nWhat follows\n")
	for _, c := range p.consequences() {
		wrap(w, fmt.Sprintf("  %-11s", c.Stage), c.At+": "+c.Text)
	}
	wrap(w, "\nBack     ", noWayBack)
	_, err := io.WriteString(out, cleanLines(w.String()))
	return err
}

// trigger asks, and does it.
func (f *rotateFlags) trigger(ctx context.Context, conn *connection, p rotation) error {
	app := f.seen.app
	run := remediate.NewRun(collect.Taken())
	a := &applying{
		mendFlags: mendFlags{app: app, config: f.seen.config, yes: f.yes, output: f.output}, command: rotateCommand, run: run,
		workplace: &workplace{app: app, conn: conn}, noLease: slices.Contains(f.risks, remediate.NoLease),
	}
	if err := a.consent(ctx); err != nil {
		return err
	}
	held, release, err := a.hold(ctx)
	if err != nil {
		return err
	}
	if err := f.stillSo(ctx, conn, p); err != nil {
		release()
		return err
	}
	plan := &remediate.Plan{Run: run, Basis: p.facts.Snapshot, Now: p.facts.Now, Waves: []remediate.Wave{{Nodes: []remediate.NodePlan{{Steps: []remediate.Step{{Action: p.action, Change: &remediate.Change{}}}}}}}}
	if plan.Waves[0].Nodes[0].Steps[0].Change, err = p.action.Diff(p.facts.Snapshot, p.facts.Now); err != nil {
		release()
		return refused(err)
	}
	j, err := a.begin(plan)
	if err != nil {
		release()
		return err
	}
	err = a.apply(held, plan, j)
	release()
	_ = j.Close() // each line is on the disk already
	if err != nil {
		return f.untriggered(p, err)
	}
	a.say("\nDone: %s has made it anew. %s\n", clean(p.owner()), "A rotation can't be taken back.")
	if f.wait == 0 {
		a.say("How far its CA is, at any time: %s rotate status %s\n", app.Called, p.of.Name)
		return nil
	}
	return f.follow(ctx, p)
}

// stillSo asks everything again, now that nobody else with certrot changes anything: a
// question may have been on the screen for an hour, and somebody else rotated what signs.
func (f *rotateFlags) stillSo(ctx context.Context, conn *connection, shown rotation) error {
	fresh, err := f.read(ctx)
	if err != nil {
		return nothingChanged(err)
	}
	now := rotation{rotations: fresh}
	if now.of, err = fresh.find(f.seen.app, shown.of.At.Namespace+"/"+shown.of.At.Name); err != nil {
		return nothingChanged(err)
	}
	now.machinery = conn.cluster.Machinery(ctx)
	if err := now.judge(f.risks); err != nil {
		return err
	}
	if !sameCert(now.of.Cert(), shown.of.Cert()) || !sameCert(now.signs(), shown.signs()) {
		return &exitError{code: exitRefused, err: withHint(nothingChanged(fmt.Errorf("%s, or what signs it: %w", shown.of.At, remediate.ErrChanged)), "look again, and run it again")}
	}
	return nil
}

// signs is the certificate that signs what is rotated now; nil: it was not read.
func (p rotation) signs() *pki.Cert {
	for _, of := range p.all {
		if of.At == p.of.Rotation.Signer {
			return of.Cert()
		}
	}
	return nil
}

// rotateCommand is what journals call it.
const rotateCommand = "rotate"

// untriggered says how it failed.
func (f *rotateFlags) untriggered(p rotation, err error) error {
	var late *remediate.Late
	var refusal *remediate.Refusal
	status := fmt.Sprintf("%s rotate status %s", f.seen.app.Called, cmp.Or(p.of.Name, p.of.At.Name))
	switch {
	case errors.Is(err, remediate.ErrChanged):
		return &exitError{code: exitStopped, err: withHint(nothingChanged(err), "somebody else writes it: look at it, and run this again")}
	case errors.As(err, &late):
		return &exitError{code: exitStopped, err: withHint(fmt.Errorf("the annotation is removed, and %s did not answer: %w", p.owner(), err),
			"does it run? It makes the certificate anew as soon as it does: oc get clusteroperators; %s", status)}
	case errors.As(err, &refusal):
		return &exitError{code: exitStopped, err: withHint(nothingChanged(err), "%s", refusal.Next)}
	}
	return &exitError{code: exitStopped, err: withHint(err, "whether it was made anew: %s", status)}
}
