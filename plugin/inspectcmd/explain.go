package inspectcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/check"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// NewExplainCommand is the command explain.
//
// whys are the checks by the words that a list has of them (rotate --list); verified is what verify's
// first screen tells.
func NewExplainCommand(app cli.App, whys map[string]string, verified func(inspect.Hints, *report.Verification) []ui.ToldClaims) *cobra.Command {
	words := apply.CheckWords()
	maps.Copy(words, whys)
	e := explainer{program: app.ProgramName, whys: words, verified: verified, reading: connect.Reading{App: app}}
	cmd := &cobra.Command{
		Use:   "explain ['TITLE' | CHECK | PAIR | STAGE | NODE | [KIND/]NAMESPACE/NAME | FILE]...",
		Short: "Say what a problem, a check or an object is about, why it matters, and what to do",
		Long:  `Explains by the names that inspect, verify, fix-api-int and rotate print: checks, pairs of client and server, checks before a change, and stages of a rotation: what it is, what it means, what to do, details. Of an object or a file of a node it says what the catalog knows: who owns it, when it is renewed, which clients read it. The title of a problem on a screen is a name too. Without a name, it lists all names. It needs no cluster; with --from, the names of what the file has come first, and a kind may be left out.`,
		Example: templates.Examples(strings.ReplaceAll(`  # What a problem means
  {} explain rotation-overdue

  # A pair of client and server
  {} explain kubelet-api-int

  # Why something is not rotated now, and a stage of a rotation
  {} explain reaches-verifiers
  {} explain aggregates

  # Who owns a Secret, when it is renewed, which clients depend on it
  {} explain Secret/openshift-kube-apiserver-operator/loadbalancer-serving-signer

  # What a file or the list of rotations names
  {} explain shop/shop-tls --from cluster.certrot
  {} explain clients unknown

  # Every name, with its claim; those about kubelets
  {} explain
  {} explain | grep -i kubelet`, "{}", app.ProgramName)),
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{cli.NoCluster: ""},
		RunE: func(cmd *cobra.Command, args []string) error {
			if flag := cmd.Flag("namespace"); flag != nil {
				e.namespace = flag.Value.String()
			}
			w := ui.NewPage(app.Streams.Out)
			found, err := false, error(nil)
			typed := strings.Join(args, " ")
			if found = e.word(w, topics(), typed); !found && strings.Contains(typed, " ") {
				found, err = e.title(cmd.Context(), w, topics(), typed)
			}
			if !found && err == nil {
				err = e.print(cmd.Context(), w, e.asTyped(args))
			}
			var hint *cli.HintError
			switch {
			case errors.As(err, &hint):
				return err
			case err != nil:
				return cli.WithHint(err, "%s", app.Hints().Next("list all names: {} explain")+e.reading.Hints().From())
			}
			_, err = io.WriteString(app.Streams.Out, ui.AsCalled(e.program, w.String()))
			return err
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var out []string
			for _, t := range topics() {
				if !slices.Contains(args, t.name) && !slices.ContainsFunc(out, func(o string) bool { return strings.HasPrefix(o, t.name+"\t") }) {
					out = append(out, cobra.CompletionWithDesc(t.name, t.claim))
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().StringArrayVar(&e.reading.From, "from", nil, "Look in this file what a node or an object is that is named without its kind, - for standard input; repeatable.")
	ui.Must(cmd.MarkFlagFilename("from"))
	cmd.Flags().BoolVar(&e.noHeaders, "no-headers", false, "Leave the header line of the list out.")
	cmd.Flags().BoolVar(&e.sources, "sources", false, "Also print where it is known from: repositories, paths and commits.")
	return cmd
}

// explainer is what was asked for.
type explainer struct {
	noHeaders, sources bool
	program            string // as it is called
	namespace          string // -n
	whys               map[string]string
	verified           func(inspect.Hints, *report.Verification) []ui.ToldClaims
	reading            connect.Reading // of --from: what names without a kind are looked up in
	read               *inspect.Snapshot
	onNode             map[string]string // the node of a path that was typed as NODE:/path
}

// topic is something that is explained by its name: in one line what it is, then what it means, what
// to do, and details.
type topic struct {
	kind, claim string
	alias       string   // another name; empty: none
	words       []string // what screens call it, where that is no name
	help
	details func(io.Writer, explainer) // nil: none
}

// edgeKind is that of a trust edge.
const edgeKind = "Client and server"

// servedKind is that of what is checked of a server.
const servedKind = "Check of inspect HOST:PORT"

// topics are checks, trust edges, checks of servers, checks before a change, risks, and the stages of a rotation.
func topics() []topic {
	var out []topic
	for _, c := range check.Checks() {
		out = append(out, topic{kind: "Check", claim: c.Title, help: helpOf(checkHelp(), c.ID), details: func(w io.Writer, _ explainer) {
			for i, paragraph := range strings.Split(c.Doc, "\n") {
				if i > 0 {
					ui.Printf(w, "\n")
				}
				ui.Wrap(w, indent, paragraph)
			}
		}})
	}
	out = append(out, edgeTopics()...)
	for _, c := range report.ServedClaims() {
		out = append(out, topic{kind: servedKind, claim: c.Statement, help: help{name: c.ID, means: c.Doc, todo: servedSteps(c.ID)}})
	}
	before := map[string]int{}
	for _, c := range preflight.CheckStatements() {
		before[c.Name] = len(out)
		out = append(out, topic{kind: "Check before a repair", claim: c.Statement, help: helpOf(beforeHelp(), c.Name), details: reference("fix-api-int.md")})
	}
	for _, c := range rotate.CheckStatements() {
		if i, ok := before[c.Name]; ok {
			out[i].kind, out[i].details = "Check before a repair or a rotation", reference("fix-api-int.md", "rotate.md")
			continue
		}
		out = append(out, topic{kind: "Check before a rotation", claim: c.Statement, help: helpOf(beforeHelp(), c.Name), details: reference("rotate.md")})
	}
	return slices.Concat(out, waveTopics(), pretrustTopics(), refusalTopics(), riskTopics(), stageTopics(), partTopics(), restartTopics(), wordTopics())
}

// servedSteps are what to do where a check of a server does not pass.
func servedSteps(id string) []string {
	switch id {
	case "served-handshake":
		return []string{"look whether the server runs, and whether this machine reaches it; openssl tells what is answered:", "openssl s_client -connect HOST:PORT -showcerts"}
	case "served-name":
		return []string{"use a name of the certificate, or have the server's certificate issued with the name that clients use."}
	case "served-chain":
		return []string{"have the server present its certificate, followed by the CAs up to the root, all of them valid."}
	case "served-trust":
		return []string{"have the server's certificate issued by a CA that its clients have, or give them its CA."}
	}
	return []string{"see which clients refuse it, and what repairs each:", "{} verify --nodes all"}
}

// reference says where a check before a change is described.
func reference(pages ...string) func(io.Writer, explainer) {
	return func(w io.Writer, _ explainer) {
		ui.Wrap(w, indent, "Where it does not pass, or is unknown, nothing is changed. What is checked, and whether --accept-risk accepts it:")
		for _, page := range pages {
			ui.Printf(w, "%s%s\n", indent, cli.Page(page))
		}
	}
}

// helpOf is the help of a name.
func helpOf(all []help, name string) help {
	i := slices.IndexFunc(all, func(h help) bool { return h.name == name })
	if i < 0 {
		return help{name: name}
	}
	return all[i]
}

// edgeHelp is that of a trust edge, by its row.
func edgeHelp(e catalog.Edge) help {
	h := help{name: e.ID, means: e.Impact, todo: e.Steps()}
	if who, what, ok := strings.Cut(e.Impact, ": "); ok && what != "" && !strings.ContainsAny(who, ".;") {
		h.means = "Affected: " + who + ". " + strings.ToUpper(what[:1]) + what[1:]
	}
	if e.Ahead != "" {
		h.todo = append(h.todo, "if the new CA signs nothing yet:", e.Ahead)
	}
	return h
}

// indent stands before what a section says.
const indent = "  "

// section prints a heading, and what stands below it.
func section(w io.Writer, title string, print func()) {
	ui.Printf(w, "\n%s\n", title)
	print()
}

// print prints a topic.
func (t topic) print(w io.Writer, e explainer) {
	ui.Printf(w, "%s\n", t.name)
	ui.Wrap(w, "", t.about())
	if t.means != "" {
		section(w, "What it means", func() { ui.Wrap(w, indent, t.means) })
	}
	e.todo(w, t.todo)
	printTask(w, taskOf(t.kind, t.name))
	if t.details != nil {
		section(w, "Details", func() { t.details(w, e) })
	}
}

// about says what its claim is.
func (t topic) about() string {
	switch {
	case t.kind == unknownKind:
		return "Unknown: it was not read."
	case t.kind == problemKind:
		return "Problem. Found by: " + t.claim
	case t.kind == waveKind:
		return t.kind + ". Done when: " + t.claim
	case strings.HasPrefix(t.kind, "Stage"):
		return t.kind + ". Reached when: " + t.claim
	case t.kind == "Check":
		return "What is checked: " + t.claim
	case t.kind == wordKind:
		return t.kind + ". It says that " + t.claim
	}
	return t.kind + ". What is checked: " + t.claim
}

// print explains names; without any, it lists them all.
func (e *explainer) print(ctx context.Context, w io.Writer, names []string) error {
	all := topics()
	if len(names) == 0 {
		if len(e.reading.From) > 0 {
			if err := e.listFound(ctx, w, all); err != nil {
				return err
			}
		}
		return e.list(w, all)
	}
	for i, name := range names {
		if i > 0 {
			ui.Printf(w, "\n")
		}
		if err := e.one(ctx, w, all, name); err != nil {
			return err
		}
	}
	return nil
}

// one explains one name.
func (e *explainer) one(ctx context.Context, w io.Writer, all []topic, name string) error {
	secrets := rotated(name)
	if strings.Contains(name, "/") && !(strings.Count(name, "/") == 1 && len(secrets) > 0) {
		if node, is := nodeIn(name); is {
			return e.node(ctx, w, node)
		}
		if kindIsMissing(name) {
			return e.ofAnyKind(ctx, w, name)
		}
		found, err := e.inAnyNamespace(ctx, name)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return e.objects(ctx, w, found)
		}
		return e.object(ctx, w, name)
	}
	known, found := []string{}, 0
	for _, t := range all {
		known = append(known, t.name)
		if lower := strings.ToLower(name); t.name != lower && (t.alias == "" || t.alias != lower) && !t.called(name) {
			continue
		}
		if found++; found > 1 { // as signer-type, which inspect checks, too
			ui.Printf(w, "\n")
		}
		t.print(w, *e)
	}
	switch {
	case found > 0:
		return nil
	case len(secrets) == 1:
		return e.object(ctx, w, secrets[0])
	case len(secrets) > 1:
		return e.several(name, secrets)
	case len(e.reading.From) > 0:
		if is, err := e.inFile(ctx, w, name); is || err != nil {
			return err
		}
		if is, err := e.certificate(ctx, w, name); is || err != nil {
			return err
		}
	}
	err := fmt.Errorf("no check or stage is called %q%s", name, cli.DidYouMean(name, slices.Compact(slices.Sorted(slices.Values(known)))))
	hints := e.reading.App.Hints()
	if foreign.Fit(name) && strings.ContainsAny(name, ".0123456789") { // as nodes' names are
		return cli.WithHint(err, "%s", hints.Next("list all names: {} explain")+e.reading.Hints().From()+hints.Next("\nof a node: {} inspect nodes %s", name)+e.reading.Hints().From())
	}
	return err
}

// list prints all names, by kind.
func (e *explainer) list(w io.Writer, all []topic) error {
	for i := 0; i < len(all); {
		group := all[i].group()
		if !e.noHeaders {
			if i > 0 {
				ui.Printf(w, "\n")
			}
			ui.Printf(w, "%s\n", group)
		}
		from := i
		for i < len(all) && all[i].group() == group {
			i++
		}
		if err := e.table(w, all[from:i]); err != nil {
			return err
		}
	}
	if !e.noHeaders {
		printTasks(w)
	}
	return nil
}

// table prints the names of topics with their claims.
func (e *explainer) table(w io.Writer, topics []topic) error {
	t := printers.GetNewTabWriter(w)
	if !e.noHeaders {
		ui.Printf(t, "NAME\tCLAIM\n")
	}
	for _, topic := range topics {
		ui.Printf(t, "%s\t%s\n", topic.name, topic.claim)
	}
	return t.Flush()
}

// group is the heading above a topic in the list.
func (t topic) group() string {
	switch {
	case t.kind == "Check":
		return "Checks of inspect"
	case t.kind == servedKind:
		return "Checks of inspect HOST:PORT"
	case t.kind == waveKind:
		return "Waves of a repair"
	case t.kind == pretrustKind:
		return "Checks before pretrust"
	case t.kind == partKind:
		return "Parts of verify"
	case t.kind == restartKind:
		return "Questions of verify restart-safe"
	case t.kind == wordKind:
		return "Words on screens"
	case slices.Contains([]string{"Check before a repair", "Check before a rotation", "Check before a repair or a rotation"}, t.kind):
		return "Checks before a repair or a rotation"
	case strings.HasPrefix(t.kind, "Check before"):
		return "Checks before other changes"
	case t.kind == edgeKind:
		return "Checks of verify: pairs of client and server"
	case strings.HasPrefix(t.kind, "Risk"):
		return "Risks that stop a change"
	}
	return "Stages of a rotation"
}
