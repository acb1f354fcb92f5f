package verifycmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// verifyFlags is what was typed.
type verifyFlags struct {
	config       *cli.ConfigFlags
	app          cli.App
	nodes        connect.NodeFlags
	from         []string
	now          string
	output       string
	details      bool
	rows         ui.RowFlags
	allowUnknown bool
	wait         time.Duration
}

// verifyOptions is what a run needs.
type verifyOptions struct {
	app          cli.App
	reading      connect.Reading
	parts        []catalog.Part // none: all
	now          time.Time      // zero: the time of the facts
	wait         time.Duration
	allowUnknown bool
	print        func(io.Writer, *report.Verification) error
}

// pollInterval is how long verify --wait waits between two readings.
const pollInterval = 10 * time.Second

// NewCommand is the command verify.
func NewCommand(app cli.App, config *cli.ConfigFlags) *cobra.Command {
	f := &verifyFlags{config: config, app: app}
	cmd := &cobra.Command{
		Use:        "verify [PART...]",
		SuggestFor: []string{"check", "test", "validate"},
		Short:      "Check that every client trusts the certificate its server presents, now and after the next rotation",
		Long: `Certificates that are all valid can still bring a cluster down: when a server presents one that is signed by a CA its client was never given. verify checks for every client that its trust anchors verify the certificate its server presents, for that name: now, and after the next rotation.

The summary lists what fails (✗), what will fail (!) and what is unknown (?) since something that decides could not be read; --details lists each check. PART is a part of the cluster: ` + strings.Join(PartWords(), ", ") + `; without one, all.

` + restartSafe + ` in place of a part asks each node another question: would its kubelet come back if it was restarted now? It is tried on the node, with the kubelet's own credentials, which do not leave it.

Handshakes are made from nodes that can be read. Exit codes: 0 all checks pass, 1 one fails or will fail, 2 usage or no access, 3 none fails but something is unknown.`,
		Example: templates.Examples(strings.ReplaceAll(`  # Every client and server of the cluster
  {} verify

  # Clients of api-int, checked from the nodes by ssh
  {} verify api-int --nodes all --via ssh

  # After a repair, until every client trusts api-int
  {} verify api-int --nodes all --wait 30m

  # Would every kubelet come back if it was restarted now?
  {} verify restart-safe --nodes all --via ssh

  # From facts that were saved earlier
  {} verify --from cluster.certrot`, "{}", app.ProgramName)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, restartSafe) {
				o, err := f.toRestartOptions(cmd.Context(), args)
				if err != nil {
					return err
				}
				return o.run(cmd.Context())
			}
			o, err := f.toOptions(cmd.Context(), args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			words := PartWords()
			if len(args) == 0 {
				words = append(words, restartSafe)
			}
			return connect.Without(words, args), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f.addFlags(cmd)
	return cmd
}

func (f *verifyFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.from, "from", nil, "Read this snapshot or must-gather instead of a cluster, - for standard input; repeatable.")
	flags.StringVar(&f.now, "now", "", "Judge as of this time (RFC 3339, or a date in UTC) instead of now.")
	flags.StringVarP(&f.output, "output", "o", "", ui.OutputUsage("the output", strings.Join(verifyForms(), ", ")))
	flags.BoolVar(&f.details, "details", false, "Print each check, with its trust anchors and its evidence.")
	f.rows.AddFlags(cmd, verifyForms()...)
	flags.BoolVar(&f.allowUnknown, "allow-unknown", false, "Exit with 0 although something could not be read.")
	cli.DurationVar(flags, &f.wait, "wait", 0, "While something does not hold or is unknown, ask again every 10 s, for this long (such as 30m).")
	f.nodes.AddFlags(cmd, f.config)
}

// verifyForms are the forms of the output besides those that each list has.
func verifyForms() []string { return []string{"wide", "json", "yaml", "junit"} }

// PartWords are the parts of a cluster as they are typed.
func PartWords() []string {
	var out []string
	for _, p := range catalog.Parts() {
		out = append(out, strings.ReplaceAll(string(p), " ", "-"))
	}
	return out
}

func (f *verifyFlags) toOptions(ctx context.Context, args []string) (*verifyOptions, error) {
	o := &verifyOptions{app: f.app, wait: f.wait, allowUnknown: f.allowUnknown}
	for _, a := range args {
		i := slices.Index(PartWords(), strings.ToLower(a))
		if i < 0 {
			return nil, ui.Unknown("part", a, append(PartWords(), restartSafe)...)
		}
		o.parts = append(o.parts, catalog.Parts()[i])
	}
	var err error
	if o.reading, err = f.toReading(ctx); err != nil {
		return nil, err
	}
	listed, err := f.rows.ToPrinter(ctx, f.output, ui.RowsOf[report.VerificationClaim]("claims"), verifyForms()...)
	if err != nil {
		return nil, err
	}
	o.print = map[string]func(io.Writer, *report.Verification) error{
		"": humanPrinter{hints: o.reading.Hints(), details: f.details}.print, "wide": humanPrinter{hints: o.reading.Hints(), wide: true}.print, "json": reportDocument("json"), "yaml": reportDocument("yaml"), "junit": reportJUnit,
	}[f.output]
	if listed != nil {
		o.print = func(w io.Writer, r *report.Verification) error { return listed(w, r) }
	}
	if o.now, err = f.asOf(); err != nil {
		return nil, err
	}
	if f.wait > 0 && (len(f.from) > 0 || f.now != "") {
		return nil, errors.New("--wait goes with a cluster, not with --from or --now")
	}
	return o, nil
}

// asOf is the time of --now; zero without it.
func (f *verifyFlags) asOf() (time.Time, error) {
	if f.now == "" {
		return time.Time{}, nil
	}
	now, err := cli.ParseTime(f.now)
	if err != nil {
		err = fmt.Errorf("--now %q is %w", f.now, err)
	}
	return now, err
}

func (f *verifyFlags) toReading(ctx context.Context) (connect.Reading, error) {
	if f.config.Context.Namespace != "" {
		return connect.Reading{}, errors.New("-n: verify judges the whole cluster; leave it out")
	}
	nodes, err := f.nodes.ToChoice(ctx, f.app, collect.Scope{})
	if err == nil {
		err = f.nodes.CheckFrom(f.from)
	}
	nodes.Served = true
	return connect.Reading{App: f.app, Config: f.config, From: f.from, Nodes: nodes}, err
}

func (o *verifyOptions) run(ctx context.Context) error {
	report, err := o.until(ctx, pollInterval, func() (report.Verification, error) {
		s, err := o.reading.Read(ctx)
		if err != nil {
			return report.Verification{}, err
		}
		now := o.now
		if now.IsZero() {
			now = s.Taken
		}
		return report.NewVerification(ctx, inspect.NewFacts(s, now, connect.DefaultWithin), o.parts...), nil
	})
	if err != nil {
		return err
	}
	if err := o.print(o.app.Streams.Out, &report); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if ctx.Err() != nil {
		return cli.Interrupted()
	}
	return Verdict(&report, o.allowUnknown)
}

// Verdict is the exit code that says what a report comes to.
func Verdict(r *report.Verification, allowUnknown bool) error {
	return cli.Judged(r.Worst(), len(r.Gaps) > 0, allowUnknown)
}

// settled reports whether there is nothing to wait for: what could not be read at all
// does not get better by asking again.
func (o *verifyOptions) settled(r *report.Verification) bool {
	worst := r.Worst()
	return worst == assess.Pass || worst == assess.Unknown && o.allowUnknown
}

// until asks once, and with --wait again until all holds or the time is over: the last
// answer counts. That the first one can't be had is an error; later on the cluster may
// well be away for a while.
func (o *verifyOptions) until(ctx context.Context, pause time.Duration, ask func() (report.Verification, error)) (report.Verification, error) {
	begin := time.Now()
	last, err := ask()
	took := time.Since(begin)
	for err == nil && !o.settled(&last) && ctx.Err() == nil {
		// Asking is work for a cluster that may have trouble enough: a third of the time.
		pause := max(pause, 2*took)
		if time.Since(begin)+pause > o.wait {
			break
		}
		ui.Printf(o.app.Streams.ErrOut, "%s; asking again in %s, until %s\n", ClaimTally(last.Claims), duration.HumanDuration(pause), begin.Add(o.wait).Format(time.TimeOnly))
		select {
		case <-ctx.Done():
			return last, nil
		case <-time.After(pause):
		}
		asked := time.Now()
		next, err := ask()
		took = time.Since(asked)
		if err != nil {
			ui.Printf(o.app.Streams.ErrOut, "%s\n", ui.Clean(ui.OneLine(err.Error())))
			continue
		}
		last = next
	}
	return last, err
}

func reportDocument(format string) func(io.Writer, *report.Verification) error {
	return func(w io.Writer, r *report.Verification) error { return ui.PrintDocument(w, format, r) }
}

// reportJUnit writes a test suite for each part, as CI systems show them.
func reportJUnit(w io.Writer, r *report.Verification) error {
	var doc ui.JunitDocument
	for _, part := range catalog.Parts() {
		s := ui.JunitSuite{Name: string(part)}
		for _, c := range r.Claims {
			if c.Part != string(part) {
				continue
			}
			t := ui.JunitCase{Name: strings.TrimSpace(c.Claim + " " + Where(c)), Class: c.ID}
			if c.Presented != nil {
				t.Name += ": " + c.Presented.String()
			}
			switch c.Status {
			case assess.Fail, assess.Warn:
				t.Fail(strings.TrimSpace(ClaimWord(c.Status) + ": " + c.Because()))
			case assess.Unknown:
				t.Skip("unknown: " + c.Because())
			}
			s.Add(t)
		}
		if s.Tests > 0 {
			doc.Suites = append(doc.Suites, s)
		}
	}
	return doc.Write(w)
}

// Where says where a claim is about: its node, else the places of its trust.
func Where(c report.VerificationClaim) string {
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

// lines writes every line: claims that agree are one.
func (p humanPrinter) lines(w *ui.Page, r *report.Verification) {
	header := ui.HumanPrinter{}
	header.Cluster(w, r.Cluster)
	asOf := ui.AsOf(r.Cluster, r.Now, "2006-01-02 15:04 MST")
	ui.Printf(w, "As of    %s\n", strings.TrimPrefix(strings.TrimPrefix(asOf, "judged "), "as of "))
	header.Gaps(w, &report.Inventory{Gaps: r.Gaps})
	for _, part := range catalog.Parts() {
		groups := GroupClaims(r.Claims, string(part))
		if len(groups) == 0 && !slices.ContainsFunc(r.Timeline, func(e trust.Event) bool { return e.Part == part }) {
			continue
		}
		ui.Printf(w, "\n%s\n", part)
		printTimeline(w, r, part)
		var last ClaimGroup
		for i, g := range groups {
			if r.Cluster.Unreviewed != "" && i+1 < len(groups) && g.unknownAs(groups[i+1]) { // the last of them says why
				ui.WrapLine(w, ui.StatusMark(g[0].Status)+" ", g[0].Said()+g.about(g.among(r.Claims), p.wide))
			} else {
				g.print(w, r.Now, last, g.among(r.Claims), p.wide)
			}
			last = g
		}
	}
	ui.Printf(w, "\n%s\n", ClaimTally(r.Claims))
	if len(r.Claims) > 0 {
		ui.Hang(w, "A check is a client and its server, or a bundle; a place is where it is checked: -o json has each.", 0)
	}
}

// printTimeline writes what has become of the CA of api-int, and what will, or of what
// kubeadm made, as one paragraph.
func printTimeline(w io.Writer, r *report.Verification, part catalog.Part) {
	var events, next []string
	for _, e := range r.Timeline {
		if e.Part != part {
			continue
		}
		s := strings.ToUpper(e.What[:1]) + e.What[1:]
		if !e.When.IsZero() {
			s += " " + e.When.UTC().Format("2006-01-02") + " (" + ui.RelativeTime(r.Now, e.When) + ")"
		}
		if !e.Until.IsZero() {
			s += ", " + e.Until.UTC().Format("2006-01-02") + " at the latest"
		}
		events = append(events, s+".")
		if e.Remediation.Text != "" {
			next = append(next, e.Remediation.Text)
		}
	}
	if len(events) == 0 {
		return
	}
	ui.Wrap(w, "  ", ui.Clean(strings.Join(events, " ")))
	for _, n := range next {
		ui.Printf(w, "  next  %s\n", n)
	}
	ui.Printf(w, "\n")
}

// ClaimWord says a status of claims to people.
func ClaimWord(s assess.Status) string {
	switch s {
	case assess.Pass:
		return "pass"
	case assess.Warn:
		return "will fail"
	case assess.Fail:
		return "fail"
	}
	return "unknown"
}
