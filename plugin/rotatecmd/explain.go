package rotatecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

// formMermaid is a sequence diagram, as GitHub and GitLab render it.
const formMermaid = "mermaid"

// The document that --explain prints as JSON and YAML; see docs/rotate.md.
type (
	rotationFlowDocument struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Version    string         `json:"version"`
		Secret     string         `json:"secret"`
		Steps      []rotationStep `json:"steps"`
	}
	rotationStep struct {
		Stage  string `json:"stage"`
		By     string `json:"by"`
		To     string `json:"to"`
		Action string `json:"action"`
		Node   string `json:"onEachNode,omitempty"` // none, reload, kubelet restart, crio restart, reboot
		Pools  bool   `json:"byPool,omitempty"`     // a paused pool blocks it
		Tested bool   `json:"testedInLab"`
		Test   string `json:"test,omitempty"` // that saw it
		Mark   string `json:"mark"`           // of docs/catalog.md
		Source string `json:"source"`
	}
)

// explain tells how a rotation goes in a version, by the catalog alone.
func (o *rotateOptions) explain(ctx context.Context) error {
	s := inspect.Snapshot{Cluster: inspect.Cluster{Versions: catalog.Versions{Cluster: o.version}}}
	if o.version == "" {
		r, err := o.read(ctx)
		if err != nil {
			return o.orVersion(err)
		}
		s.Cluster = r.Facts.Snapshot.Cluster
	}
	s.Cluster.Versions.UnreviewedAccepted = slices.Contains(o.risks, preflight.UnreviewedVersion)
	version := s.Cluster.Versions.Cluster
	if _, ok := catalog.ParseMinor(version); !ok {
		return cli.WithHint(fmt.Errorf("version %q: no version of OpenShift", version), "name it: --for-version 4.15")
	}
	s.Advise(o.reading.Hints())
	of, err := rotate.NewReading(ctx, inspect.NewFacts(s, s.Taken, connect.DefaultWithin)).Find(o.names[0])
	var refused *rotate.Error
	switch {
	case errors.As(err, &refused) && refused.Outcome == rotate.Refused && o.output == "":
		return o.printUnrotated(refused.Error(), refused.Next)
	case err != nil:
		return exitError(suggested(err, o.names[0], o.reading.Hints().From()))
	case !of.Signer():
		return cli.WithHint(fmt.Errorf("%s is signed by %s", of.Name, of.Rotation.Signer), "explain that: %s", o.app.Hints().Next("{} rotate %s --explain", of.Rotation.Signer.Name)+o.reading.Hints().From())
	}
	out := o.app.Streams.Out
	switch reason, next := of.Unmanaged(); {
	case reason == "":
	case of.Unrotated() && o.output == "":
		return o.printUnrotated(of.At.String()+": "+reason, next)
	default:
		return cli.Refused(cli.WithHint(errors.New(of.Name+": "+reason), "%s", next))
	}
	steps := of.Rotation.Flow(of.At, s.Cluster.Versions)
	switch o.output {
	case formMermaid:
		_, err = io.WriteString(out, mermaid(steps))
	case "json", "yaml":
		d := rotationFlowDocument{APIVersion: report.APIVersion, Kind: "RotationFlow", Version: version, Secret: of.At.Namespace + "/" + of.At.Name, Steps: []rotationStep{}}
		for _, s := range steps {
			d.Steps = append(d.Steps, rotationStep{s.Stage, s.Actor, s.To, s.Action, string(s.Node), s.Pools, s.LabTest != "", s.LabTest, string(s.Mark), s.Source})
		}
		err = ui.PrintDocument(out, o.output, d)
	default:
		ui.PrintUnreviewed(out, s.Cluster.Versions.WhyUnreviewed())
		brief := flowInBrief(steps, of.Rotation.ClientEdges(s.Cluster.Versions))
		err = printFlow(out, of, version, brief, steps, o.sources)
	}
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// orVersion is an error about a cluster that can't be read: a version needs none.
func (o *rotateOptions) orVersion(err error) error {
	without := o.app.Hints().Next("without a cluster: {} rotate %s --explain --for-version 4.15", o.names[0])
	var h *cli.HintError
	if errors.As(err, &h) {
		without = h.Hint + "\n" + without
	}
	return cli.WithHint(err, "%s", without)
}

// printUnrotated answers for what certrot does not rotate: what else renews it.
func (o *rotateOptions) printUnrotated(reason, renewed string) error {
	w := ui.NewPage(o.app.Streams.Out)
	ui.Printf(w, "%s\n", reason)
	if renewed != "" {
		ui.Printf(w, "\n")
		ui.Wrap(w, "", strings.ToUpper(renewed[:1])+renewed[1:]+".")
	}
	if _, err := io.WriteString(o.app.Streams.Out, w.String()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// printFlow prints each step for people, below what is to be known first. sources: with where it is known from,
// which is named once, at the end.
func printFlow(out io.Writer, of rotate.Rotatable, version string, brief []string, steps []catalog.FlowStep, sources bool) error {
	w := ui.NewPage(out)
	ui.WrapLine(w, "", fmt.Sprintf("How a rotation of %s goes in %s", of.At, version))
	ui.Printf(w, "\n")
	for _, line := range brief {
		ui.Wrap(w, "", line)
	}
	ui.Printf(w, "\n")
	var from []catalog.Evidence
	number := map[catalog.Evidence]int{}
	untested := false
	for i, s := range steps {
		if number[s.Evidence] == 0 {
			from = append(from, s.Evidence)
			number[s.Evidence] = len(from)
		}
		text := stepText(s)
		if sources {
			text += fmt.Sprintf(" [%d]", number[s.Evidence])
		}
		if s.LabTest == "" {
			text, untested = text+" *", true
		}
		ui.Wrap(w, fmt.Sprintf("%3d  ", i+1), text)
	}
	if untested {
		ui.Printf(w, "\n* from source code, not tested\n")
	}
	if sources {
		ui.Printf(w, "\nSources (V read, D derived, U unverified, K from the field)\n")
		for i, e := range from {
			ui.Wrap(w, fmt.Sprintf("%3d  ", i+1), string(e.Mark)+": "+e.Source)
		}
	}
	_, err := io.WriteString(out, w.String())
	return err
}

// flowInBrief is what of a rotation is to be known first: what restarts, whether this version brings the CA to
// nodes, and before which step that is done by a command.
func flowInBrief(steps []catalog.FlowStep, clients []catalog.Edge) []string {
	var restarts, at []string
	for i, s := range steps {
		if component, ok := strings.CutPrefix(s.To, "static pods of "); ok && s.Rollout {
			at = append(at, strconv.Itoa(i+1))
			if !slices.Contains(restarts, component) {
				restarts = append(restarts, component)
			}
		}
	}
	out := []string{"Restarts no static pods."}
	if len(restarts) > 0 {
		out[0] = fmt.Sprintf("Restarts, on one control plane node after another: %s (%s).", strings.Join(restarts, ", "), stepsAt(at...))
	}
	for i, s := range steps {
		if s.Undelivered == "" && s.Node == "" {
			continue
		}
		to, ahead := shortPlace(s.To)+" (", ""
		for _, e := range slices.Backward(clients) { // the first one stays
			if e.Trust != s.Object {
				continue
			}
			to = "each " + e.Verifier + " (" + shortPlace(s.To) + ", "
			signed := slices.IndexFunc(steps, func(of catalog.FlowStep) bool { return of.Stage == catalog.FlowLeaf && of.Object == e.Presented })
			if command := strings.Fields(e.Ahead); len(command) > 1 && signed >= 0 { // {} pretrust …
				ahead = ": run " + command[1] + " before " + stepsAt(strconv.Itoa(signed+1))
			}
		}
		to += stepsAt(strconv.Itoa(i+1)) + ")"
		if s.Undelivered != "" {
			out = append(out, "! This version does not bring the CA to "+to+ahead+".")
			continue
		}
		effect := strings.TrimPrefix(s.Action, "effect: ")
		if long, _, ok := strings.Cut(effect, ": "); ok && len(effect) > longEffect {
			effect = long
		}
		out = append(out, "This version brings the CA to "+to+": "+effect+".")
	}
	return out
}

// longEffect has its reasons in its step alone.
const longEffect = 160

// stepsAt names steps by their numbers.
func stepsAt(at ...string) string {
	if len(at) == 1 {
		return "step " + at[0]
	}
	return "steps " + strings.Join(at, ", ")
}

// stepText is a step in a sentence: who does what to which place.
func stepText(s catalog.FlowStep) string {
	switch {
	case s.Undelivered != "":
		return s.Actor + " updates " + shortPlace(s.To) + " in this version: " + s.Undelivered
	case s.Reads != "": // one does, or many do
		return s.Actor + ": " + s.To + ": read " + string(s.Reads)
	}
	return fmt.Sprintf("%s: %s: %s", s.Actor, s.To, s.Action)
}

// mermaid is the same as a sequence diagram.
func mermaid(steps []catalog.FlowStep) string {
	w := &strings.Builder{}
	ui.Printf(w, "sequenceDiagram\n")
	alias := map[string]string{}
	for _, s := range steps {
		for _, name := range []string{s.Actor, s.To} {
			if alias[name] == "" {
				alias[name] = fmt.Sprintf("p%d", len(alias))
				ui.Printf(w, "    participant %s as %s\n", alias[name], diagramText(name))
			}
		}
	}
	for _, s := range steps {
		arrow := "->>"
		if s.LabTest == "" { // dotted
			arrow = "-->>"
		}
		ui.Printf(w, "    %s%s%s: %s\n", alias[s.Actor], arrow, alias[s.To], diagramText(s.Action))
	}
	ui.Printf(w, "    Note over p0: dotted: from source code, not tested\n")
	return w.String()
}

// diagramText is a text without what ends a statement or begins a code there.
func diagramText(s string) string { return strings.NewReplacer(";", ",", "#", "No. ").Replace(s) }
