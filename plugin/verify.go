package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

type verifyFlags struct {
	config       *genericclioptions.ConfigFlags
	app          App
	nodes        nodeFlags
	from         []string
	now          string
	output       string
	allowUnknown bool
	wait         time.Duration
	comeback     bool // kubelets' own credentials are to be tried, on their nodes
	// callers says of what was read whether masters' client certificates are to be tried,
	// on masters; nil: never.
	callers func(*inspect.Snapshot) bool
}

// askAgain is how long verify --wait waits between two readings.
const askAgain = 10 * time.Second

func newVerifyCommand(app App, config *genericclioptions.ConfigFlags) *cobra.Command {
	f := &verifyFlags{config: config, app: app}
	cmd := &cobra.Command{
		Use:   "verify [PART...]",
		Short: "Say who trusts what it is shown, now and at the next rotation",
		Long: `Certificates that are all valid can still bring a cluster down: when what is shown is signed by a CA that its reader was never given. verify asks, for everybody who verifies a certificate: do its trust anchors verify what it is shown, for that name, now; and what it will be shown after the next rotation?

Each claim is one line: ✓ it holds, ✗ it does not, ! it will not hold any more, ? something that decides could not be read. PART is a part of the cluster: ` + strings.Join(partWords(), ", ") + `; without one, all.

` + restartSafe + ` in place of a part asks each node another question: would its kubelet come back if it was restarted now? It is tried on the node, with the kubelet's own credentials, which do not leave it.

Handshakes are made from nodes that can be read. Exit codes: 0 all claims hold, 1 one does not, or will not, 2 usage or no access, 3 none is broken but something is unknown.`,
		Example: templates.Examples(strings.ReplaceAll(`  # Does everybody trust what it is shown?
  {} verify

  # Who calls api-int, asked from the nodes by ssh
  {} verify api-int --nodes all --via ssh

  # After a repair, until everybody does
  {} verify api-int --nodes all --wait 30m

  # Would every kubelet come back if it was restarted now?
  {} verify restart-safe --nodes all --via ssh

  # From facts that were saved earlier
  {} verify --from cluster.certrot`, "{}", app.Called)),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), args) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			words := partWords()
			if len(args) == 0 {
				words = append(words, restartSafe)
			}
			return without(words, args), cobra.ShellCompDirectiveNoFileComp
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.from, "from", nil, "Read this snapshot or must-gather instead of a cluster, - for standard input; repeatable.")
	flags.StringVar(&f.now, "now", "", "Judge as of this time (RFC 3339) instead of now.")
	flags.StringVarP(&f.output, "output", "o", "", "Form of the output: wide, json, yaml, junit.")
	flags.BoolVar(&f.allowUnknown, "allow-unknown", false, "Exit with 0 although something could not be read.")
	flags.DurationVar(&f.wait, "wait", 0, "While something does not hold or is unknown, ask again every 10 s, for this long (such as 30m).")
	f.nodes.addFlags(cmd, config)
	must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"wide", "json", "yaml", "junit"}, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// partWords are the parts of a cluster as they are typed.
func partWords() []string {
	var out []string
	for _, p := range catalog.Parts() {
		out = append(out, strings.ReplaceAll(string(p), " ", "-"))
	}
	return out
}

func (f *verifyFlags) run(ctx context.Context, args []string) error {
	if slices.Contains(args, restartSafe) {
		return f.restart(ctx, args)
	}
	var parts []catalog.Part
	for _, a := range args {
		i := slices.Index(partWords(), strings.ToLower(a))
		if i < 0 {
			return fmt.Errorf("part %q is none of %s, and not %s", a, strings.Join(partWords(), ", "), restartSafe)
		}
		parts = append(parts, catalog.Parts()[i])
	}
	write, ok := map[string]func(io.Writer, *report.Verification) error{
		"": f.people(false), "wide": f.people(true), "json": reportDocument("json"), "yaml": reportDocument("yaml"), "junit": reportJUnit,
	}[f.output]
	if !ok {
		return fmt.Errorf("-o %q is none of wide, json, yaml, junit", f.output)
	}
	now, err := f.asOf()
	if err != nil {
		return err
	}
	if f.wait < 0 || f.wait > 0 && (len(f.from) > 0 || f.now != "") {
		return errors.New("--wait is a time such as 30m, and goes with a cluster, not with --from or --now")
	}
	report, err := f.until(ctx, askAgain, func() (report.Verification, error) {
		s, err := f.read(ctx)
		if err != nil {
			return report.Verification{}, err
		}
		if f.now == "" {
			now = s.Taken
		}
		return report.NewVerification(inspect.NewFacts(s, now, defaultWithin), parts...), nil
	})
	if err != nil {
		return err
	}
	if err := write(f.app.Streams.Out, &report); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if ctx.Err() != nil {
		return &exitError{code: exitIncomplete, err: errors.New("interrupted: what is shown is not complete")}
	}
	return f.verdict(&report)
}

// verdict is the exit code that says what a report comes to.
func (f *verifyFlags) verdict(r *report.Verification) error {
	switch worst := r.Worst(); {
	case worst >= trust.WillBreak:
		return &exitError{code: exitFindings}
	case (worst == trust.Unknown || len(r.Gaps) > 0) && !f.allowUnknown:
		return &exitError{code: exitIncomplete}
	}
	return nil
}

// settled reports whether there is nothing to wait for: what could not be read at all
// does not get better by asking again.
func (f *verifyFlags) settled(r *report.Verification) bool {
	worst := r.Worst()
	return worst == trust.Holds || worst == trust.Unknown && f.allowUnknown
}

// until asks once, and with --wait again until all holds or the time is over: the last
// answer counts. That the first one can't be had is an error; later on the cluster may
// well be away for a while.
func (f *verifyFlags) until(ctx context.Context, pause time.Duration, ask func() (report.Verification, error)) (report.Verification, error) {
	begin := time.Now()
	last, err := ask()
	took := time.Since(begin)
	for err == nil && !f.settled(&last) && ctx.Err() == nil {
		// Asking is work for a cluster that may have trouble enough: a third of the time.
		pause := max(pause, 2*took)
		if time.Since(begin)+pause > f.wait {
			break
		}
		printf(f.app.Streams.ErrOut, "%s; asking again in %s, until %s\n", claimTally(last.Claims), duration.HumanDuration(pause), begin.Add(f.wait).Format(time.TimeOnly))
		select {
		case <-ctx.Done():
			return last, nil
		case <-time.After(pause):
		}
		asked := time.Now()
		next, err := ask()
		took = time.Since(asked)
		if err != nil {
			printf(f.app.Streams.ErrOut, "%s\n", clean(oneLine(err.Error())))
			continue
		}
		last = next
	}
	return last, err
}

// asOf is the time of --now; zero without it.
func (f *verifyFlags) asOf() (time.Time, error) {
	if f.now == "" {
		return time.Time{}, nil
	}
	now, err := time.Parse(time.RFC3339, f.now)
	if err != nil {
		err = fmt.Errorf("--now %q is no time such as 2026-01-31T12:00:00Z", f.now)
	}
	return now, err
}

func (f *verifyFlags) read(ctx context.Context) (inspect.Snapshot, error) {
	nodes, err := f.nodes.toChoice(ctx, f.app, collect.Scope{})
	if err != nil {
		return inspect.Snapshot{}, err
	}
	if err := f.nodes.checkFrom(f.from); err != nil {
		return inspect.Snapshot{}, err
	}
	nodes.served, nodes.comeback, nodes.callers = true, f.comeback, f.callers
	r := reading{app: f.app, config: f.config, nodes: nodes}
	if len(f.from) > 0 {
		return r.files(ctx, f.from)
	}
	return r.live(ctx)
}

func reportDocument(format string) func(io.Writer, *report.Verification) error {
	return func(w io.Writer, r *report.Verification) error { return printDocument(w, format, r) }
}

// reportJUnit writes a test suite for each part, as CI systems show them.
func reportJUnit(w io.Writer, r *report.Verification) error {
	var doc junitDocument
	for _, part := range catalog.Parts() {
		s := junitSuite{Name: string(part)}
		for _, c := range r.Claims {
			if c.Part != string(part) {
				continue
			}
			t := junitCase{Name: strings.TrimSpace(c.Claim + " " + where(c)), Class: c.ID}
			if c.Shown != nil {
				t.Name += ": " + c.Shown.String()
			}
			switch c.Status {
			case trust.Broken.String(), trust.WillBreak.String():
				t.fail(strings.TrimSpace(c.Status + ": " + c.Why))
			case trust.Unknown.String():
				t.skip("unknown: " + c.Why)
			}
			s.add(t)
		}
		if s.Tests > 0 {
			doc.Suites = append(doc.Suites, s)
		}
	}
	return doc.write(w)
}

// where says where a claim is about: its node, else the places of its trust.
func where(c report.VerificationClaim) string {
	switch {
	case c.Node != "":
		return "on " + c.Node
	case len(c.Trust) == 1:
		return "in " + c.Trust[0].String()
	case len(c.Trust) > 1:
		return "in " + strings.Join(inspect.Fold(c.Trust), ", ")
	}
	return ""
}

// people writes a report for people: claims that agree are one line.
func (f *verifyFlags) people(wide bool) func(io.Writer, *report.Verification) error {
	return func(out io.Writer, r *report.Verification) error {
		w := &strings.Builder{}
		header := peoplePrinter{called: f.app.Called}
		header.cluster(w, r.Cluster)
		printf(w, "As of    %s\n", r.Now.Format("2006-01-02 15:04 MST"))
		header.gaps(w, &report.Inventory{Gaps: r.Gaps})
		var lines []report.VerificationClaim
		for _, part := range catalog.Parts() {
			groups := groupClaims(r.Claims, string(part))
			if len(groups) == 0 && !slices.ContainsFunc(r.Story, func(e trust.Event) bool { return e.Part == part }) {
				continue
			}
			printf(w, "\n%s\n", part)
			printStory(w, r, part)
			var last claimGroup
			for i, g := range groups {
				if r.Cluster.Unreviewed != "" && i+1 < len(groups) && g.unknownAs(groups[i+1]) { // the last of them says why
					printf(w, "%s %s%s\n", statusMark(g[0].Status), g[0].Claim, g.about(g.among(r.Claims), wide))
				} else {
					g.print(w, r.Now, last, g.among(r.Claims), wide)
				}
				last = g
				lines = append(lines, g[0])
			}
		}
		printf(w, "\nLines    %s\n", claimTally(lines))
		if len(r.Claims) > 0 {
			printf(w, "Claims   %s   (one for each node and place; -o json has them)\n", claimTally(r.Claims))
		}
		_, err := io.WriteString(out, cleanLines(w.String()))
		return err
	}
}

// printStory writes what has become of the CA of api-int, and what will, or of what
// kubeadm made, as one paragraph.
func printStory(w io.Writer, r *report.Verification, part catalog.Part) {
	var story, next []string
	for _, e := range r.Story {
		if e.Part != part {
			continue
		}
		s := strings.ToUpper(e.What[:1]) + e.What[1:]
		if !e.When.IsZero() {
			s += " " + e.When.UTC().Format("2006-01-02") + " (" + inTime(r.Now, e.When) + ")"
		}
		if !e.Until.IsZero() {
			s += ", " + e.Until.UTC().Format("2006-01-02") + " at the latest"
		}
		story = append(story, s+".")
		if e.Next != "" {
			next = append(next, e.Next)
		}
	}
	if len(story) == 0 {
		return
	}
	wrap(w, "  ", clean(strings.Join(story, " ")))
	for _, n := range next {
		printf(w, "  Next: %s\n", n)
	}
	printf(w, "\n")
}

// claimTally counts claims by status.
func claimTally(claims []report.VerificationClaim) string {
	n := map[string]int{}
	for _, c := range claims {
		n[c.Status]++
	}
	var out []string
	for s := trust.Broken; s >= trust.Holds; s-- {
		if n[s.String()] > 0 {
			out = append(out, fmt.Sprintf("%s %d %s", statusMark(s.String()), n[s.String()], plural(s, n[s.String()])))
		}
	}
	return cmp.Or(strings.Join(out, "   "), "nothing here can be judged: no edge of the catalog is about what was read")
}

func plural(s trust.Status, n int) string {
	if s == trust.Holds && n != 1 {
		return "hold"
	}
	return s.String()
}

func statusMark(status string) string {
	switch status {
	case trust.Holds.String():
		return "✓"
	case trust.WillBreak.String():
		return "!"
	case trust.Broken.String():
		return "✗"
	}
	return "?"
}

// claimGroup is claims of one edge that agree.
type claimGroup []report.VerificationClaim

func groupClaims(claims []report.VerificationClaim, part string) []claimGroup {
	type key struct{ id, status, why, lacks string }
	index := map[key]int{}
	var out []claimGroup
	for _, c := range claims {
		if c.Part != part {
			continue
		}
		k := key{c.ID, c.Status, c.Why, ""}
		if c.Lacks != nil {
			k.lacks = c.Lacks.SHA256.String()
		}
		n, ok := index[k]
		if !ok {
			n = len(out)
			index[k] = n
			out = append(out, nil)
		}
		out[n] = append(out[n], c)
	}
	return out
}

// same reports whether two groups do not hold for the same reason.
func (g claimGroup) same(o claimGroup) bool {
	return len(g) == len(o) && g[0].Status == o[0].Status && g[0].Why == o[0].Why &&
		slices.EqualFunc(g, o, func(a, b report.VerificationClaim) bool { return slices.Equal(a.Trust, b.Trust) })
}

// unknownAs reports whether two groups are unknown for the same reason, and nothing else
// is to be said of the first.
func (g claimGroup) unknownAs(o claimGroup) bool {
	return g[0].Status == trust.Unknown.String() && g[0].Seen == nil && o[0].Status == g[0].Status && o[0].Why == g[0].Why
}

// nodes are those that the claims are about, each once.
func (g claimGroup) nodes() (names []string) {
	for _, c := range g {
		if c.Node != "" && !slices.Contains(names, c.Node) {
			names = append(names, c.Node)
		}
	}
	return names
}

// among is the number of claims of the group's edge, of all its lines.
func (g claimGroup) among(claims []report.VerificationClaim) int {
	n := 0
	for _, c := range claims {
		if c.ID == g[0].ID && c.Part == g[0].Part {
			n++
		}
	}
	return n
}

// about says of how much of the cluster the line tells. Where other lines tell of the
// rest, all is the number of claims of all of them.
func (g claimGroup) about(all int, wide bool) string {
	nodes := g.nodes()
	shown, places := map[string]bool{}, 0
	for _, m := range g {
		places += len(m.Trust)
		if m.Shown != nil {
			shown[m.Shown.String()] = true
		}
	}
	switch {
	case len(nodes) > 3 && !wide:
		return "  (" + count(len(nodes), "node") + ")"
	case len(nodes) > 0:
		return "  (" + strings.Join(nodes, ", ") + ")"
	case len(g) < all:
		return fmt.Sprintf("  (%d of %d claims)", len(g), all)
	case len(shown) > 1:
		return "  (" + count(len(shown), "certificate") + ")"
	case places > 1:
		return "  (" + count(places, "place") + ")"
	case len(g[0].Logs) > 0 && g[0].Seen == nil:
		return "  (" + count(len(g[0].Logs), "log") + ")"
	}
	return ""
}

// print writes the claim, who it is about, and where it does not hold, why; last is
// what was written before, and all the claims of all lines of the edge.
func (g claimGroup) print(w io.Writer, now time.Time, last claimGroup, all int, wide bool) {
	c, nodes := g[0], g.nodes()
	printf(w, "%s %s%s\n", statusMark(c.Status), c.Claim, g.about(all, wide))
	holds := c.Status == trust.Holds.String()
	if !holds || c.Why != "" {
		wrap(w, "    ", clean(oneLine(c.Why)))
	}
	if holds {
		return
	}
	g.seen(w, now, wide)
	if c.Status == trust.Unknown.String() {
		return
	}
	if g.same(last) {
		printf(w, "    trust the same places, which lack the same\n")
	} else {
		g.evidence(w, now, wide)
	}
	g.again(w, c.Status)
	wrap(w, "    then  ", "lost: "+c.Lost)
	if c.Mend != "" {
		mend := c.Mend
		if len(nodes) > 1 {
			list := strings.Join(nodes, ",")
			if mend = strings.ReplaceAll(c.Advice, "--nodes NODE", foreign.Command("", "--nodes %s", foreign.Commas(nodes))); strings.Contains(mend, "NODE") {
				mend += "; for each NODE of " + list
			}
		}
		wrap(w, "    next  ", mend)
	}
}

// seen writes what logs of servers say of clients.
func (g claimGroup) seen(w io.Writer, now time.Time, wide bool) {
	n := 0
	for _, m := range g {
		if m.Seen == nil {
			continue
		}
		if n++; n > placesShown && !wide {
			continue
		}
		who := m.Seen.Client
		if m.Seen.Whose != "" {
			who = m.Seen.Whose + " (" + who + ")"
		}
		last := ""
		if !m.Seen.Last.IsZero() {
			last = ", the last one " + duration.HumanDuration(now.Sub(m.Seen.Last)) + " before"
		}
		wrap(w, "    seen  ", clean(fmt.Sprintf("%s: %s%s, in %s", who, count(m.Seen.Count, "handshake"), last, strings.Join(inspect.Fold(m.Logs), ", "))))
	}
	if n > placesShown && !wide {
		printf(w, "    seen  %d more: -o wide\n", n-placesShown)
	}
}

// again writes when what is shown is verified again: until then a verifier may work
// on.
func (g claimGroup) again(w io.Writer, status string) {
	if g[0].Next == nil {
		return
	}
	lead, text := "    when  ", g[0].Next.Verifies
	if status == trust.WillBreak.String() {
		lead, text = "          ", "then "+text
	}
	var from, to time.Time
	for _, m := range g {
		n := m.Next
		if !n.To.IsZero() && (from.IsZero() || n.From.Before(from)) {
			from = n.From
		}
		if n.To.After(to) {
			to = n.To
		}
	}
	if !to.IsZero() {
		text += fmt.Sprintf("; when its client certificate is renewed, %s to %s", from.UTC().Format("2006-01-02"), to.UTC().Format("2006-01-02 MST"))
	}
	wrap(w, lead, text)
}

// evidence writes where the trust anchors are, what they lack, and since when or
// from when that counts.
func (g claimGroup) evidence(w io.Writer, now time.Time, wide bool) {
	c := g[0]
	var trusts []string
	for _, m := range g {
		trusts = append(trusts, inspect.Fold(m.Trust)...)
	}
	for i, at := range trusts {
		if i == placesShown && !wide {
			printf(w, "    trust %d more: -o wide\n", len(trusts)-i)
			break
		}
		printf(w, "    trust %s\n", at)
	}
	if c.Lacks != nil {
		wrap(w, "    lacks ", fmt.Sprintf("CA %s (%s), made %s", foreign.Called(c.Lacks.Subject), c.Lacks.SHA256.Short(), c.Lacks.Since.UTC().Format("2006-01-02 15:04 MST")))
	}
	if c.From != nil {
		first := *c.From
		for _, m := range g {
			if m.From != nil && m.From.Before(first) {
				first = *m.From
			}
		}
		wrap(w, "    when  ", fmt.Sprintf("%s at the earliest (%s)", first.UTC().Format("2006-01-02 15:04 MST"), inTime(now, first)))
	}
}
