package rotatecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/metadata"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
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
		Secret       string               `json:"secret"`
		Certificate  *apply.PlanCert      `json:"certificate,omitempty"` // that is there now
		Owner        string               `json:"owner"`
		Annotation   string               `json:"annotation"` // that is removed
		DryRun       string               `json:"dryRun"`
		Annotations  []annotationDiff     `json:"annotations"` // that differ, as the API server sees it
		Checks       []rotateVerdict      `json:"checks"`
		Accepted     []string             `json:"accepted"`
		Awaited      []string             `json:"awaited,omitempty"`
		Consequences []rotateConsequences `json:"consequences"`
		Undo         string               `json:"undo"`
		// With --leaf: why the signer is not made anew, and what it signs that is.
		Stands string         `json:"stands,omitempty"`
		Leaves []rotationLeaf `json:"leaves,omitempty"`
	}
	rotationLeaf struct {
		Secret      string           `json:"secret"`
		Annotation  string           `json:"annotation"`
		Annotations []annotationDiff `json:"annotations"`
		Checks      []rotateVerdict  `json:"checks"`
		Accepted    []string         `json:"accepted"`
		Awaited     []string         `json:"awaited"`
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
	of       rotate.Rotatable
	action   action.Rotate
	verdicts []rotateVerdict
	accepted []string
	awaited  []string          // checks that do not hold yet, for which it is waited
	after    map[string]string // annotations, as the API server would have them; nil: it was not asked
	anew     bool              // of a leaf: its signer is to be made anew before
	// left is what is to be done with --leaf; nil: what was named is made anew, and no more.
	left *rotate.Left
	// leaves are what the signer signs, as it is planned that they follow.
	leaves []rotation
}

// itself reports whether what was named is to be made anew.
func (p rotation) itself() bool { return p.left == nil || p.left.Signer }

// idle reports whether there is nothing to do.
func (p rotation) idle() bool { return !p.itself() && len(p.leaves) == 0 }

func (f *rotateFlags) rotate(ctx context.Context, names []string) error {
	app := f.seen.App
	for _, name := range names {
		if !slices.Contains(knownNames(), strings.TrimPrefix(name, "secret/")) {
			return cli.WithHint(fmt.Errorf("%q: %w", name, rotate.ErrNoSuchRotation), "%s rotate --list shows what there is", app.Called)
		}
	}
	if err := f.allowed(); err != nil {
		return err
	}
	r, err := f.read(ctx)
	if err != nil {
		return err
	}
	plans, err := f.named(r, names)
	if err != nil {
		return err
	}
	var conn *connect.Connection
	if len(f.seen.From) == 0 {
		if conn, err = connect.Connect(ctx, app, f.seen.Config, pki.NewScanner(), connect.Writing(f.risks, false)); err != nil {
			return err
		}
		r.ask(ctx, conn)
	}
	idle, resumed := true, false
	for i := range plans {
		plans[i].machinery, plans[i].network, plans[i].unread = r.machinery, r.network, r.unread
		if err := f.plan(ctx, conn, &plans[i], resumed); err != nil {
			return err
		}
		idle = idle && plans[i].idle()
		resumed = resumed || !plans[i].itself() && !plans[i].idle()
	}
	if err := f.showPlans(plans); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	switch {
	case idle:
		return nil
	case f.dryRun != apply.DryRunNone:
		return &cli.ExitError{Code: cli.ExitFindings}
	}
	return f.trigger(ctx, conn, plans)
}

// allowed refuses to write on the word of an API server that is not authenticated.
func (f *rotateFlags) allowed() error {
	if len(f.seen.From) > 0 { // nothing is written, or emitted that writes
		return nil
	}
	return connect.Writing(f.risks, false).Allows(f.seen.Config)
}

// named finds what is meant, and refuses what can't be rotated at all, or not together.
func (f *rotateFlags) named(r rotations, names []string) ([]rotation, error) {
	var plans []rotation
	refuse := func(next, format string, args ...any) error {
		return &cli.ExitError{Code: cli.ExitRefused, Err: cli.WithHint(cli.RefusedUnchanged(fmt.Errorf(format, args...)), "%s", next)}
	}
	for _, name := range names {
		of, err := r.find(f.seen.App, name)
		if err != nil {
			return nil, err
		}
		if reason, next := of.Unmanaged(); reason != "" {
			return nil, refuse(next, "%s/%s: %s", of.At.Namespace, of.At.Name, reason)
		}
		if f.leaf && !of.Signer() {
			return nil, refuse(inspect.LiveHints(f.seen.App.Called).Next("{} rotate %s", of.Name), "--leaf: %s/%s signs nothing; it is signed by %s", of.At.Namespace, of.At.Name, of.Rotation.Signer.Name)
		}
		for _, p := range plans {
			same := p.of.Rotation.Signer == of.Rotation.Signer
			switch {
			case same && p.of.At == of.At:
				return nil, refuse(inspect.LiveHints(f.seen.App.Called).Next("{} rotate %s", of.Name), "%s is named twice", of.Name)
			case same && !p.of.Signer() && !of.Signer(): // with --leaf their signer might be made anew
				return nil, refuse(inspect.LiveHints(f.seen.App.Called).Next("one after the other: {} rotate %s; then {} rotate %s", p.of.Name, of.Name),
					"%s and %s are of one chain, that of %s: one run has one of them made anew", p.of.Name, of.Name, of.Rotation.Signer.Name)
			case same:
				return nil, refuse(inspect.LiveHints(f.seen.App.Called).Next("{} rotate %s --leaf does it in the safe order", of.Rotation.Signer.Name),
					"%s and %s are of one chain: what a signer signs is made anew only after everybody trusts the signer's new CA", p.of.Name, of.Name)
			}
		}
		plans = append(plans, rotation{rotations: r, of: of})
	}
	return plans, nil
}

// plan judges one, and has the API server try it. resumed: it comes after one that was
// begun before.
func (f *rotateFlags) plan(ctx context.Context, conn *connect.Connection, p *rotation, resumed bool) error {
	if err := f.judgeAll(p, resumed); err != nil {
		return err
	}
	if conn == nil {
		return nil
	}
	if p.itself() {
		if err := f.try(ctx, conn, p); err != nil {
			return err
		}
	}
	for i := range p.leaves {
		if p.leaves[i].of.Told() {
			continue
		}
		if err := f.try(ctx, conn, &p.leaves[i]); err != nil {
			return err
		}
	}
	return nil
}

// judgeAll judges what is to be made anew. What is waited for stops nothing yet: what a new
// signer brings, and, where one was made before, that the cluster comes to rest after that.
func (f *rotateFlags) judgeAll(p *rotation, resumed bool) error {
	if f.leaf {
		left := p.preflight(p.of).Left(p.all)
		p.left = &left
		resumed = resumed || !left.Signer
		for _, of := range left.Leaves {
			leaf := rotation{rotations: p.rotations, of: of, anew: left.Signer}
			if err := leaf.judgeLeaf(f.risks, func(v preflight.Verdict) bool { return broughtAlong(v) || resumed && settling(v) }); err != nil {
				return err
			}
			p.leaves = append(p.leaves, leaf)
		}
	}
	if !p.itself() {
		return nil
	}
	return p.judge(f.risks, func(v preflight.Verdict) bool { return resumed && settling(v) })
}

// try reads what is to be patched, and has the API server try that.
func (f *rotateFlags) try(ctx context.Context, conn *connect.Connection, p *rotation) error {
	client, err := metadata.NewForConfig(conn.Rest)
	if err != nil {
		return fmt.Errorf("client for %s: %w", conn.Server, err)
	}
	if p.action, err = action.PlanRotation(ctx, client, p.of.At, p.of.Trigger.Annotation, inspect.LiveHints(f.seen.App.Called)); err != nil {
		return apply.Refused(err)
	}
	if h := p.of.Held; h != nil && h.Object != nil && h.Object.Annotations[p.of.Trigger.Annotation] != p.action.Was {
		return p.untried(fmt.Errorf("%s: %w", p.of.At, remediate.ErrChanged)) // it was made anew since it was judged
	}
	if f.dryRun != apply.DryRunClient {
		if p.after, err = p.action.Try(ctx); err != nil {
			return p.untried(err)
		}
	}
	return nil
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
		return &cli.ExitError{Code: cli.ExitRefused, Err: cli.WithHint(cli.NothingChanged(err), "somebody writes it at this moment: look, and run it again")}
	}
	return apply.Refused(err)
}

// judge asks all checks. The error says all that stops it; what waits reports is waited
// for, and does not. waits may be nil.
func (p *rotation) judge(accepted []string, waits func(preflight.Verdict) bool) error {
	return p.weigh(p.preflight(p.of).Check(), accepted, waits)
}

// judgeLeaf asks all checks of what is signed anew because its signer was. Where its owner
// was told already nothing holds that back any more, and what is asked of trust is only
// told.
func (p *rotation) judgeLeaf(accepted []string, waits func(preflight.Verdict) bool) error {
	pre := p.preflight(p.of)
	pre.Follows, pre.Anew = true, p.anew
	if !p.of.Told() {
		return p.weigh(pre.Check(), accepted, waits)
	}
	p.verdicts, p.accepted, p.awaited = nil, nil, nil
	for _, v := range pre.Check() {
		if slices.Contains([]string{rotate.SignerTrusted, rotate.OutsideVerifiers, rotate.PodsMemory, rotate.OwnKubeconfig}, v.Name) {
			p.verdicts = append(p.verdicts, verdictOf(v))
		}
	}
	return nil
}

// broughtAlong reports whether the new signer brings it by itself, or people do meanwhile.
func broughtAlong(v preflight.Verdict) bool {
	return slices.Contains([]string{rotate.SignerTrusted, rotate.OutsideVerifiers, rotate.PodsMemory, rotate.OwnKubeconfig, "chain-settled"}, v.Name)
}

// settling reports whether it is what a new signer keeps busy until it has come to
// everybody: operators, static pods, and nodes with their pools. What is not known of
// those does not get known by waiting.
func settling(v preflight.Verdict) bool {
	return v.Holds == catalog.No && slices.Contains([]string{"operators-settled", preflight.StaticPodsSettled, "pools-ready", "nodes-ready"}, v.Name)
}

func (p *rotation) weigh(verdicts []preflight.Verdict, accepted []string, waits func(preflight.Verdict) bool) error {
	p.verdicts, p.accepted, p.awaited = nil, nil, nil
	var stops []preflight.Verdict
	for _, v := range verdicts {
		p.verdicts = append(p.verdicts, verdictOf(v))
		switch {
		case !v.Stops():
		case v.Risk && slices.Contains(accepted, v.Name):
			p.accepted = append(p.accepted, v.Name)
		case waits != nil && waits(v):
			p.awaited = append(p.awaited, v.Name)
		default:
			stops = append(stops, v)
		}
	}
	if len(stops) > 0 {
		return apply.Stopped(stops)
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
	if p.of.Told() {
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
			case r.of.Told():
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

// trigger asks once, and does one after the other.
func (f *rotateFlags) trigger(ctx context.Context, conn *connect.Connection, plans []rotation) error {
	if err := f.applying(conn).Consent(ctx); err != nil {
		return err
	}
	if f.wait > 0 {
		f.ends = collect.Taken().Add(f.wait)
		ui.Printf(f.seen.App.Streams.ErrOut, "It is followed for at most %s (--wait).\n", f.wait)
	}
	var begun []*following
	err := f.inTurn(plans, func(p rotation, later, last bool) (bool, error) {
		w, changed, err := f.one(ctx, conn, p, later, last)
		begun = append(begun, w)
		return changed, err
	})
	if err != nil || f.leaf || f.wait == 0 { // leaves are followed one by one
		return err
	}
	return f.followAll(ctx, begun)
}

// left is what is left of --wait, which is for the whole run.
func (f *rotateFlags) left() time.Duration {
	if f.ends.IsZero() {
		return f.wait
	}
	return max(0, f.ends.Sub(collect.Taken()))
}

// over reports whether the time of --wait is: nothing more is begun.
func (f *rotateFlags) over() bool { return !f.ends.IsZero() && f.left() == 0 }

// isOver says so.
func (f *rotateFlags) isOver() string { return fmt.Sprintf("the time of --wait (%s) is over", f.wait) }

// inTurn has one done after the other, until one fails.
func (f *rotateFlags) inTurn(plans []rotation, one func(p rotation, later, last bool) (changed bool, err error)) error {
	var unknown error // done, as far as it is known
	begun := false    // one of those before
	for i, p := range plans {
		if p.idle() {
			continue
		}
		changed, err := one(p, i > 0, i == len(plans)-1)
		err = partly(err, begun)
		begun = begun || changed
		var e *cli.ExitError
		switch {
		case err == nil:
			continue
		case errors.As(err, &e) && e.Err == nil && e.Code == cli.ExitIncomplete:
			unknown = err
			continue
		}
		return f.rest(err, plans, i, changed)
	}
	return unknown
}

// standing tells of several NAMEs what is done, what is on its way, and what was not begun,
// when the one at this index failed.
func standing(plans []rotation, at int, changed bool) string {
	var done, under, left []string
	for i, p := range plans {
		switch {
		case p.idle():
		case i < at:
			done = append(done, p.of.Name)
		case i == at && changed:
			under = append(under, p.of.Name)
		default:
			left = append(left, p.of.Name)
		}
	}
	return listed("done", done, "on its way", under, "not begun", left)
}

// listed joins lists of names, each after what it is; those that are empty are left out.
func listed(parts ...any) string {
	var out []string
	for i := 0; i+1 < len(parts); i += 2 {
		if names, ok := parts[i+1].([]string); ok && len(names) > 0 {
			out = append(out, fmt.Sprintf("%s: %s", parts[i], strings.Join(names, ", ")))
		}
	}
	return strings.Join(out, "; ")
}

// rest says where it stands when one failed, and which line goes on: with those that were
// not begun, and with --leaf with that one, too.
func (f *rotateFlags) rest(failed error, plans []rotation, at int, changed bool) error {
	rest := plans[at:]
	if changed && !f.leaf {
		rest = plans[at+1:] // it is on its way by itself
	}
	if len(plans) == 1 && !f.leaf {
		rest = nil
	}
	var e *cli.ExitError
	var h *cli.HintError
	code, err := cli.CodeOf(failed), failed
	stands := standing(plans, at, changed)
	if f.over() {
		stands = f.isOver() + ": " + stands
	}
	switch silent := errors.As(failed, &e) && e.Err == nil; {
	case silent && f.over():
		err = errors.New(stands)
	case silent:
		err = fmt.Errorf("not through: %s", stands)
	case len(plans) > 1 && (at > 0 || f.over()):
		err = fmt.Errorf("%w; %s", failed, stands)
	}
	var hints, names []string
	if errors.As(failed, &h) {
		hints = append(hints, h.Hint)
	}
	if changed && !f.leaf && h == nil {
		hints = append(hints, inspect.LiveHints(f.seen.App.Called).Next("{} rotate status %s", plans[at].of.Name))
	}
	for _, p := range rest {
		names = append(names, p.of.Name)
	}
	if len(rest) > 1 || len(rest) == 1 && (h == nil || !strings.Contains(h.Hint, f.line+" ")) { // else it says so itself
		hints = append(hints, "to go on from there:\n    "+f.line+" "+nodeexec.Quote(names...))
	}
	if len(hints) > 0 {
		err = cli.WithHint(err, "%s", strings.Join(hints, "\n"))
	}
	return &cli.ExitError{Code: code, Err: err}
}

// applying writes one thing, as a run of its own.
func (f *rotateFlags) applying(conn *connect.Connection) *apply.Run {
	return &apply.Run{
		Flags: apply.Flags{App: f.seen.App, Config: f.seen.Config, Yes: f.yes, Output: f.output}, Command: rotate.RotateCommand, Run: remediate.NewRun(collect.Taken()),
		Workplace: &apply.Session{App: f.seen.App, Conn: conn}, NoLease: slices.Contains(f.risks, remediate.NoLease),
	}
}

// one has one made anew, and follows it. later: it is not the first, last: nor are there
// others after it. changed: it was begun; w is how it is followed from then on.
func (f *rotateFlags) one(ctx context.Context, conn *connect.Connection, p rotation, later, last bool) (w *following, changed bool, err error) {
	app := f.seen.App
	w = f.following(conn, p.of, nil)
	w.named = later || !last
	if p.itself() {
		a := f.applying(conn)
		for tries := 1; ; tries++ {
			if later {
				if err := f.awaitChecks(ctx, w, &p); err != nil {
					return w, false, err
				}
			}
			err := f.write(ctx, a, func() (rotation, error) { return p, f.stillSo(ctx, conn, p) })
			if err == nil {
				break
			}
			if !later || tries == patience || !passing(ctx, err) {
				return w, len(a.Deeds) > 0, err
			}
		}
		a.Say("\nDone: %s has made it anew. %s\n", ui.Clean(p.owner()), "A rotation can't be taken back.")
		if f.wait == 0 {
			a.Say("How far its CA is, at any time: %s\n", inspect.LiveHints(app.Called).Next("{} rotate status %s", p.of.Name))
			return w, true, nil
		}
		w = f.following(conn, p.of, p.of.Cert())
		w.named = later || !last
	}
	switch {
	case p.left != nil:
		err := f.signLeaves(ctx, conn, w, p.itself())
		return w, p.itself() || w.did, err
	case last: // it is followed with those before it
		return w, true, nil
	}
	return w, true, f.settle(ctx, w)
}

// write does one thing under the Lease, after what is to be done was looked at once more.
func (f *rotateFlags) write(ctx context.Context, a *apply.Run, look func() (rotation, error)) error {
	held, release, err := a.Hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	p, err := look()
	switch {
	case err != nil:
		return err
	case f.over(): // reading, or the Lease, took the rest of it
		return &cli.ExitError{Code: cli.ExitFindings, Err: cli.WithHint(cli.NothingChanged(errors.New(f.isOver())), "%s %s", f.line, p.of.Name)}
	}
	plan := &remediate.Plan{Run: a.Run, Basis: p.facts.Snapshot, Now: p.facts.Now, Waves: []remediate.Wave{{Nodes: []remediate.NodePlan{{Steps: []remediate.Step{{Action: p.action, Change: &remediate.Change{}}}}}}}}
	if plan.Waves[0].Nodes[0].Steps[0].Change, err = p.action.Diff(p.facts.Snapshot, p.facts.Now); err != nil {
		return apply.Refused(err)
	}
	j, err := a.Begin(plan)
	if err != nil {
		return err
	}
	err = a.Apply(held, plan, j)
	_ = j.Close() // each line is on the disk already
	if err != nil {
		return f.untriggered(p, err)
	}
	return nil
}

// stillSo asks everything again, now that nobody else with certrot changes anything: a
// question may have been on the screen for an hour, and somebody else rotated what signs.
func (f *rotateFlags) stillSo(ctx context.Context, conn *connect.Connection, shown rotation) error {
	fresh, err := f.read(ctx)
	if err != nil {
		return cli.NothingChanged(err)
	}
	fresh.ask(ctx, conn)
	now := rotation{rotations: fresh}
	if now.of, err = fresh.find(f.seen.App, shown.of.At.Namespace+"/"+shown.of.At.Name); err != nil {
		return cli.NothingChanged(err)
	}
	if err := now.judge(f.risks, nil); err != nil {
		return err
	}
	if !sameCert(now.of.Cert(), shown.of.Cert()) || !sameCert(now.signs(), shown.signs()) {
		return &cli.ExitError{Code: cli.ExitRefused, Err: cli.WithHint(cli.NothingChanged(fmt.Errorf("%s, or what signs it: %w", shown.of.At, remediate.ErrChanged)), "look again, and run it again")}
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

// untriggered says how it failed.
func (f *rotateFlags) untriggered(p rotation, err error) error {
	var late *remediate.Late
	var refusal *remediate.Refusal
	status := inspect.LiveHints(f.seen.App.Called).Next("{} rotate status %s", cmp.Or(p.of.Name, p.of.At.Name))
	switch {
	case errors.Is(err, remediate.ErrChanged):
		return &cli.ExitError{Code: cli.ExitStopped, Err: cli.WithHint(cli.NothingChanged(err), "somebody else writes it: look at it, and run this again")}
	case errors.As(err, &late):
		return &cli.ExitError{Code: cli.ExitStopped, Err: cli.WithHint(fmt.Errorf("the annotation is removed, and %s did not answer: %w", p.owner(), err),
			"does it run? It makes the certificate anew as soon as it does: oc get clusteroperators; %s", status)}
	case errors.As(err, &refusal):
		return &cli.ExitError{Code: cli.ExitStopped, Err: cli.WithHint(cli.NothingChanged(err), "%s", refusal.Next)}
	}
	return &cli.ExitError{Code: cli.ExitStopped, Err: cli.WithHint(err, "whether it was made anew: %s", status)}
}
