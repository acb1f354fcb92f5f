package rotatecmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/verifycmd"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// following is what is seen of a rotation while it is waited for.
type following struct {
	read func(context.Context) (rotations, error)
	find func(rotations, string) (rotate.Rotatable, error)
	say  func(format string, args ...any)
	name string // as find takes it
	// called is the name as it is typed; named: it is said each time, as several are followed.
	called string
	named  bool
	next   string // the line that tells more, or goes on, once it is no longer followed
	// since is the certificate that was to be replaced; nil: whichever stands counts.
	since *pki.Cert
	// signer is the one of the signer that was to be replaced; nil: it is not known.
	signer *pki.Cert
	// begun: something was changed, which goes on by itself. That something can't be read
	// for a while is no reason to give up: the API server may be rolled out.
	begun  bool
	signed []string // what a signer signs that the same run had signed anew
	did    bool     // something else was changed before, by the same run
	quiet  bool     // nothing is waited for, so nothing is said meanwhile
	began  time.Time
	said   map[string]string
	took   map[string]time.Duration // from the begin to when a stage was first seen reached, by its name
}

// following begins to follow what was just written, or stands there. conn is nil where the
// machinery is not asked.
func (f *rotateFlags) following(conn *connect.Connection, of rotate.Rotatable, since *pki.Cert) *following {
	errOut := f.seen.App.Streams.ErrOut
	var w *following
	w = &following{
		read: func(ctx context.Context) (rotations, error) {
			f.shown, f.seen.Callers = true, func(s *inspect.Snapshot) bool { return called(w.name) && signsCallers(s) }
			r, err := f.read(ctx)
			if err == nil && conn != nil {
				r.ask(ctx, conn)
			}
			return r, err
		},
		find: func(r rotations, name string) (rotate.Rotatable, error) { return r.find(f.seen.App, name) },
		say:  func(format string, args ...any) { ui.Printf(errOut, format, args...) },
		name: of.At.Namespace + "/" + of.At.Name, called: of.Name, since: since, begun: since != nil, quiet: f.wait == 0,
		next:  inspect.LiveHints(f.seen.App.Called).Next("{} rotate status %s", of.Name),
		began: collect.Taken(), said: map[string]string{}, took: map[string]time.Duration{},
	}
	if of.Signer() {
		w.signer = since
	}
	return w
}

// called reports whether what is named, as find takes it, is a client's, or signs one, whose
// requests can be made: those are made while it is followed, and at no other time.
func called(name string) bool {
	name = strings.TrimPrefix(name, "secret/")
	is := func(at catalog.Ref) bool { return name == at.Name || name == at.Namespace+"/"+at.Name }
	return slices.ContainsFunc(catalog.Callers(), func(row catalog.Caller) bool {
		return is(row.Presented) || slices.ContainsFunc(catalog.Rotations(), func(r catalog.Rotation) bool {
			return is(r.Signer) && slices.Contains(r.Targets, row.Presented)
		})
	})
}

// signsCallers reports whether the newest signer has signed what a client shows whose
// requests can be made: before that, they would tell of the one before.
func signsCallers(s *inspect.Snapshot) bool {
	facts := inspect.NewFacts(*s, s.Taken, connect.DefaultWithin)
	all := rotate.Rotatables(facts)
	return slices.ContainsFunc(catalog.Callers(), func(row catalog.Caller) bool {
		of, err := rotate.FindRotatable(all, row.Presented.Namespace+"/"+row.Presented.Name)
		if err != nil {
			return false
		}
		signed, _ := rotate.Chain{Facts: facts, Of: of}.Signed()
		return signed == catalog.Yes
	})
}

// stages are those of what was named.
func (p rotation) stages() []rotate.Stage {
	return p.preflight(p.of).Stages()
}

// until reads again and again until it is done, and for no longer than limit from now on.
func (w *following) until(ctx context.Context, limit time.Duration, done func(rotation, []rotate.Stage) bool) (rotation, bool, error) {
	began := collect.Taken()
	for {
		asked := collect.Taken()
		p, stages, err := w.look(ctx)
		now := collect.Taken()
		over := now.Sub(began) >= limit
		switch {
		case ctx.Err() != nil:
		case err != nil && (over || !w.begun):
			return p, false, w.unread(err)
		case err == nil:
			w.begun = w.begun || limit > 0 // it could be read once
			w.progress(stages, now.Sub(w.began))
			if ok := done(p, stages); ok || over {
				return p, ok, nil
			}
		}
		pause := max(verifycmd.AskAgain, now.Sub(asked)) // asking is work for a cluster that may have enough to do
		select {
		case <-ctx.Done():
			return p, false, &cli.ExitError{Code: cli.ExitIncomplete, Err: cli.WithHint(errors.New("interrupted while following it; what was begun goes on by itself"), "%s", w.next)}
		case <-time.After(min(pause, max(0, limit-now.Sub(began)))):
		}
	}
}

// unread says that nothing is known of how far it is.
func (w *following) unread(err error) error {
	if w.since == nil && !w.did {
		return err
	}
	return &cli.ExitError{Code: cli.ExitIncomplete, Err: cli.WithHint(fmt.Errorf("it is done, and how far it is could not be read: %w", err), "%s", w.next)}
}

// look reads, and judges what was named.
func (w *following) look(ctx context.Context) (rotation, []rotate.Stage, error) {
	r, err := w.read(ctx)
	if err != nil {
		return rotation{}, nil, err
	}
	r.since = w.signer
	p := rotation{rotations: r}
	if p.of, err = w.find(r, w.name); err != nil {
		return p, nil, err
	}
	stages := p.stages()
	itself := rotate.StageLeaf
	if p.of.Signer() {
		itself = rotate.StageSigner
	}
	for i, s := range stages {
		if s.Name == itself && sameCert(p.of.Cert(), w.since) { // it was told, and did nothing yet
			stages[i].Reached, stages[i].Text = catalog.No, p.of.At.String()+" is still the certificate of before"
		}
	}
	return p, stages, nil
}

// progress says which stages are new, and keeps when they were reached.
func (w *following) progress(stages []rotate.Stage, after time.Duration) {
	for _, s := range stages {
		is := s.Reached.String()
		if w.said[s.Name] == is {
			continue
		}
		switch _, seen := w.said[s.Name]; {
		case s.Reached != catalog.Yes:
			delete(w.took, s.Name)
		case seen || w.since != nil: // else it was so before it was followed
			w.took[s.Name] = after
		}
		w.said[s.Name] = is
		of := ""
		if w.named {
			of = w.called + ", "
		}
		if !w.quiet {
			w.say("%safter %s: %s %s: %s\n", of, duration.HumanDuration(after), reachedMark(s.Reached), s.Name, ui.Clean(s.Text))
		}
	}
}

// times are how long each stage took since the begin; empty: none was seen to be reached.
func (w *following) times(stages []rotate.Stage) string {
	var out []string
	for _, s := range stages {
		if took, ok := w.took[s.Name]; ok && s.Reached == catalog.Yes {
			out = append(out, fmt.Sprintf("%s %s", s.Name, took))
		}
	}
	return strings.Join(out, ", ")
}

func reachedMark(a catalog.Answer) string {
	return map[catalog.Answer]string{catalog.Yes: "✓", catalog.No: "…", catalog.Unknown: "?"}[a]
}

// through reports whether there is nothing more to wait for. What a signer signs may
// follow days later, and what servers show with it.
func through(p rotation, stages []rotate.Stage) bool {
	return !slices.ContainsFunc(p.counting(stages), func(s rotate.Stage) bool { return s.Reached == catalog.No })
}

// counting are the stages without those that follow by themselves, days later.
func (p rotation) counting(stages []rotate.Stage) []rotate.Stage {
	i := slices.IndexFunc(stages, func(s rotate.Stage) bool { return s.Name == rotate.StageLeaf })
	if i < 0 || !p.of.Signer() || stages[i].Reached != catalog.No || stages[i].Settling {
		return stages
	}
	return stages[:i]
}

// inBundles reports whether a signer is made, and in all bundles.
func inBundles(stages []rotate.Stage) bool {
	for _, s := range stages {
		switch s.Name {
		case rotate.StageSigner, rotate.StageBundle, rotate.StageAggregates:
			if s.Reached != catalog.Yes {
				return false
			}
		}
	}
	return len(stages) > 1
}

// followAll waits for what was made anew, one after the other, and tells of each how it
// went. The exit code is the worst.
func (f *rotateFlags) followAll(ctx context.Context, all []*following) error {
	worst := []int{cli.ExitFine, cli.ExitIncomplete, cli.ExitFindings, cli.ExitUsage, cli.ExitStopped} // the last one is
	code := cli.ExitFine
	var through, under, unknown, hints []string
	var said []error
	for _, w := range all {
		err := f.follow(ctx, w)
		if ctx.Err() != nil {
			return err
		}
		var e *cli.ExitError
		var h *cli.HintError
		if err != nil && (!errors.As(err, &e) || e.Err != nil) {
			said = append(said, err)
		}
		switch {
		case err == nil:
			through = append(through, w.called)
			continue
		case cli.CodeOf(err) == cli.ExitFindings:
			under = append(under, w.called)
		default:
			unknown = append(unknown, w.called)
		}
		next := w.next
		if errors.As(err, &h) {
			next = h.Hint
		}
		hints = append(hints, next)
		if is := cli.CodeOf(err); slices.Index(worst, is) > slices.Index(worst, code) {
			code = is
		}
	}
	switch {
	case code == cli.ExitFine:
		return nil
	case len(under) > 0:
		said = append(said, fmt.Errorf("%s: %s", f.isOver(), listed("through", through, "on its way", under, "not known", unknown)))
	case len(said) == 0: // it was shown of each
		return &cli.ExitError{Code: code}
	}
	return &cli.ExitError{Code: code, Err: cli.WithHint(errors.Join(said...), "%s", strings.Join(hints, "\n"))}
}

// follow waits for one of them.
func (f *rotateFlags) follow(ctx context.Context, w *following) error {
	p, _, err := w.until(ctx, f.left(), through)
	if err != nil {
		return err
	}
	return f.ending(p, w)
}

// ending tells how far it is at the end, and when each stage was reached.
func (f *rotateFlags) ending(p rotation, w *following) error {
	stages := p.stages()
	switch f.output {
	case "":
		ui.Printf(f.seen.App.Streams.Out, "\n")
	case "yaml":
		ui.Printf(f.seen.App.Streams.Out, "---\n")
	}
	if err := f.showStages(p, stages, w); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if sameCert(p.of.Cert(), w.since) {
		return &cli.ExitError{Code: cli.ExitFindings, Err: fmt.Errorf("%s is still the certificate of before", p.of.At)}
	}
	return verdictOn(p.counting(stages))
}

// settle waits until the next one may be begun: that all bundles have it must be seen.
func (f *rotateFlags) settle(ctx context.Context, w *following) error {
	p, ok, err := w.until(ctx, f.left(), func(_ rotation, stages []rotate.Stage) bool { return inBundles(stages) })
	if err != nil || ok {
		return err
	}
	var e *cli.ExitError
	if err := f.ending(p, w); !errors.As(err, &e) || e.Err != nil || e.Code != cli.ExitIncomplete {
		return err
	}
	return &cli.ExitError{Code: cli.ExitIncomplete, Err: cli.WithHint(fmt.Errorf("%s is made anew, and whether it is in all bundles could not be read", p.of.At), "%s", w.next)}
}

// awaitChecks waits until what is asked before a rotation holds: one that was begun just
// before may keep operators busy, and roll out the API server.
func (f *rotateFlags) awaitChecks(ctx context.Context, w *following, p *rotation) error {
	w.begun = true
	var why error
	now, ok, err := w.until(ctx, f.left(), func(now rotation, _ []rotate.Stage) bool {
		why = now.judge(f.risks, nil)
		return why == nil
	})
	switch {
	case err != nil:
		return err
	case !ok:
		return why
	case f.over():
		return &cli.ExitError{Code: cli.ExitFindings}
	}
	p.rotations, p.of = now.rotations, now.of
	return nil
}
