package apply

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeconfig"
)

// printPlan shows a plan to people: in terms of certificates.
func printPlan(out io.Writer, a *Run, p *remediate.Plan) error {
	w := &strings.Builder{}
	c := p.Basis.Cluster
	if c.Server != "" || c.Versions.Cluster != "" {
		what := ""
		if c.Versions.Cluster != "" {
			what = "  " + ui.Product(c.Versions.Cluster) + " " + c.Versions.Cluster
		}
		ui.Printf(w, "Cluster  %s%s\n", c.Server, what)
	}
	ui.PrintUnauthenticated(w, c.Unauthenticated)
	if c.Synthetic != "" {
		ui.Printf(w, "         SYNTHETIC DATA: %s\n", c.Synthetic)
	}
	ui.NotReviewed(w, c.Versions.NotReviewed())
	a.About(w, p)
	for _, note := range p.Notes {
		ui.Wrap(w, "Note     ", note)
	}
	if p.Empty() {
		printUnknown(w, p)
		ui.Printf(w, "\nNothing to do: it is so already on %s.\n", Some(NodesOf(p)))
		for _, n := range lostOf(p) {
			ui.Printf(w, "  %s  %s\n", n.Name, state(n, p.Basis.Life(n)))
		}
		_, err := io.WriteString(out, ui.CleanLines(w.String()))
		return err
	}
	for _, wave := range p.Waves {
		printWave(w, p, wave)
	}
	printUnknown(w, p)
	if len(p.Solved) > 0 {
		ui.Printf(w, "\nSolves   %s\n", "by the checks of inspect, before and after")
		for _, f := range p.Solved {
			ui.Wrap(w, "         "+ui.Mark(f.Severity.String())+" ", f.Check+": "+f.Message+"  ("+strings.Join(inspect.Fold(f.At), ", ")+")")
		}
	}
	if a.Undoes == "" && a.Workplace != nil && a.DryRun != DryRunClient && writesFiles(p) {
		ui.Printf(w, "\nBack     what was before is kept on each node in %s/%s: %s\n", host.DefaultFolder, p.Run, inspect.LiveHints(a.App.Called).Next("{} undo %s", p.Run))
	}
	_, err := io.WriteString(out, ui.CleanLines(w.String()))
	return err
}

// writesFiles reports whether a plan changes files on nodes.
func writesFiles(p *remediate.Plan) bool {
	for _, n := range p.Nodes() {
		if slices.ContainsFunc(n.Steps, func(s remediate.Step) bool { return s.Change != nil && s.Change.File != nil }) {
			return true
		}
	}
	return false
}

// printWave shows the nodes of a wave that need something, and names the others.
func printWave(w io.Writer, p *remediate.Plan, wave remediate.Wave) {
	if wave.Name != "" {
		ui.Printf(w, "\n")
		ui.Wrap(w, "Wave     ", wave.Name+": "+wave.Why)
	}
	var already []string
	for _, n := range wave.Nodes {
		if wave.Name != "" && !n.Changes() {
			already = append(already, cmp.Or(n.Name, n.Title()))
			continue
		}
		ui.Printf(w, "\n%s", cmp.Or(n.Name, TheCluster))
		if node, ok := p.Basis.Node(n.Name); ok {
			ui.Printf(w, "  %s", state(node, p.Basis.Life(node)))
		}
		ui.Printf(w, "\n")
		for i, s := range n.Steps {
			printStep(w, i+1, s, p.Now)
		}
	}
	if len(already) > 0 {
		ui.Wrap(w, "         ", "so already: "+Some(already))
	}
}

// printUnknown shows nodes of which it is not known what they need.
func printUnknown(w io.Writer, p *remediate.Plan) {
	for i, r := range p.Unknown {
		if i == 0 {
			ui.Printf(w, "\n")
		}
		ui.Wrap(w, "Unknown  ", r.Node+": "+r.Name+": "+r.Reason)
		if r.Next != "" {
			ui.Wrap(w, "         ", "next: "+r.Next)
		}
	}
}

// Some names nodes, as long as they are few.
func Some(names []string) string { return Few(names, 12) }

// Few names the first ones, and says how many more there are.
func Few(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// NodesOf are the nodes of a plan, each once.
func NodesOf(p *remediate.Plan) []string {
	var names []string
	for _, n := range p.Nodes() {
		if n.Name != "" && !slices.Contains(names, n.Name) {
			names = append(names, n.Name)
		}
	}
	return names
}

// lostOf are the nodes of a plan that are known not to work.
func lostOf(p *remediate.Plan) []*inspect.Node {
	var out []*inspect.Node
	for _, name := range NodesOf(p) {
		if n, ok := p.Basis.Node(name); ok && p.Basis.Life(n).Lost() {
			out = append(out, n)
		}
	}
	return out
}

// state says how a node is, in a few words.
func state(n *inspect.Node, life inspect.Life) string {
	words := []string{"via " + ui.OrDash(n.Via)}
	if n.Ready != "" {
		words = append(words, "Ready "+n.Ready)
	}
	if life.Alive == catalog.No || life.Alive == catalog.Unknown && n.Ready == "True" {
		words = append(words, life.Heartbeat())
	}
	if n.Kubelet.Active != "" {
		words = append(words, "kubelet "+ui.OrDash(n.Kubelet.Sub)+" since "+n.Kubelet.Started.UTC().Format("2006-01-02 15:04:05 MST"))
	}
	return "(" + strings.Join(words, ", ") + ")"
}

// Ended says why a CA is left out: it has ended.
func Ended(c *pki.Cert, now time.Time) string {
	if c.NotAfter.Before(now) {
		return "  (ended)"
	}
	return ""
}

func printStep(w io.Writer, number int, s remediate.Step, now time.Time) {
	if s.Change == nil {
		ui.Printf(w, "  %d  %s: so already\n", number, s.Action.ID())
		return
	}
	ui.Printf(w, "  %d  %s\n", number, s.Change.Summary)
	f := s.Change.File
	if f == nil {
		return
	}
	if f.Taken {
		ui.Printf(w, "       what it was is kept on the node, below %s\n", host.DefaultFolder)
		return
	}
	kept := 0
	for _, c := range f.Old {
		if !contains(f.New, c) {
			ui.Printf(w, "     - %s%s\n       %s\n", pki.Foreign(c.Subject), Ended(c, now), Identity(c))
		} else {
			kept++
		}
	}
	for _, c := range f.New {
		if !contains(f.Old, c) {
			ui.Printf(w, "     + %s\n       %s\n", pki.Foreign(c.Subject), Identity(c))
		}
	}
	ui.Printf(w, "       %s kept\n", ui.Count(kept, "CA"))
}

func contains(certs []*pki.Cert, c *pki.Cert) bool {
	for _, x := range certs {
		if x.Fingerprint == c.Fingerprint {
			return true
		}
	}
	return false
}

// Described is a finding on one line.
func Described(c *pki.Cert) string { return pki.Foreign(c.Subject) + "  " + Identity(c) }

// Identity is a certificate on one line, for plans.
func Identity(c *pki.Cert) string {
	return fmt.Sprintf("sha256 %s  %s to %s", c.Fingerprint, c.NotBefore.UTC().Format(time.DateOnly), c.NotAfter.UTC().Format(time.DateOnly))
}

// AboutCA says where the CA is from, and what it was held against.
func AboutCA(w io.Writer, fix apiint.Repair, p *remediate.Plan) {
	n := 0
	for _, found := range pki.NewScanner().Scan(fix.CA) {
		n += len(found.Content.Certs)
	}
	ui.Printf(w, "CA       %s of %s\n", ui.Count(n, "certificate"), fix.From)
	said := map[string]bool{}
	for _, v := range p.Basis.Served {
		if len(v.Chain) == 0 || v.Server != "" { // a snapshot has what others showed, too
			continue
		}
		line := fmt.Sprintf("at %s: %s, issued by %s, until %s, sha256 %s; the CA verifies it", v.Address, pki.Foreign(v.Chain[0].Subject), pki.Foreign(v.Chain[0].Issuer), v.Chain[0].NotAfter.UTC().Format(time.DateOnly), v.Chain[0].Fingerprint.Short())
		if !said[line] {
			said[line] = true
			ui.Wrap(w, "Shown    ", line)
		}
	}
}

// printPlanDiff shows what changes in files, as a unified diff, or as the program
// in KUBECTL_EXTERNAL_DIFF shows it. Keys and tokens are runs of x on both sides.
func printPlanDiff(out, errOut io.Writer, a *Run, p *remediate.Plan) error {
	notes := &strings.Builder{}
	a.About(notes, p)
	for _, note := range p.Notes {
		ui.Wrap(notes, "Note     ", note)
	}
	printUnknown(notes, p)
	if _, err := io.WriteString(errOut, ui.CleanLines(notes.String())); err != nil {
		return err
	}
	var changes []fileDiff
	for _, n := range p.Nodes() {
		for _, s := range n.Steps {
			switch {
			case s.Change == nil:
			case s.Change.File == nil:
				ui.Printf(errOut, "%s: then %s\n", ui.Clean(cmp.Or(n.Name, TheCluster)), s.Change.Summary)
			default:
				changes = append(changes, fileDiff{n.Name, s.Change.File})
			}
		}
	}
	if program := os.Getenv("KUBECTL_EXTERNAL_DIFF"); program != "" && len(changes) > 0 {
		return externalDiff(out, errOut, program, changes)
	}
	if p.Empty() {
		ui.Printf(errOut, "Nothing to do: it is so already on %s.\n", ui.Clean(Some(NodesOf(p))))
	}
	for _, c := range changes {
		name := c.node + ":" + c.Path
		text := diff.Diff(name, readable(c.Before, c.Old), name, readable(c.After, c.New))
		if _, err := io.WriteString(out, ui.CleanLines(string(text))); err != nil {
			return err
		}
	}
	return nil
}

type fileDiff struct {
	node string
	*remediate.FileChange
}

// readable is a kubeconfig with the CA's thousands of characters cut short, and
// below it a comment for each certificate in it.
func readable(text []byte, certs []*pki.Cert) []byte {
	ca, err := kubeconfig.Find(text)
	if err != nil {
		return text
	}
	lineStart := bytes.LastIndexByte(text[:ca.Offset], '\n') + 1
	indent := strings.Repeat(" ", len(text[lineStart:ca.Offset])-len(bytes.TrimLeft(text[lineStart:ca.Offset], " ")))
	end := ca.Offset + ca.Length
	rest := text[end:]
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[i:]
	} else {
		rest = nil
	}
	var b bytes.Buffer
	b.Write(text[:ca.Offset])
	fmt.Fprintf(&b, "%.16s… # %d bytes, %s:", text[ca.Offset:end], ca.Length, ui.Count(len(certs), "certificate"))
	for _, c := range certs {
		fmt.Fprintf(&b, "\n%s#   %s", indent, Described(c))
	}
	b.Write(rest)
	return b.Bytes()
}

// externalDiff calls the program as kubectl diff does: with two folders. Exit
// code 1 says that there are differences.
func externalDiff(out, errOut io.Writer, program string, changes []fileDiff) (err error) {
	dir, err := os.MkdirTemp("", "certrot-diff-")
	if err != nil {
		return fmt.Errorf("diff: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	live, planned := filepath.Join(dir, "LIVE"), filepath.Join(dir, "PLANNED")
	for folder, text := range map[string]func(fileDiff) []byte{live: func(c fileDiff) []byte { return c.Before }, planned: func(c fileDiff) []byte { return c.After }} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return fmt.Errorf("diff: %w", err)
		}
		for _, c := range changes {
			name := strings.ReplaceAll(c.node+c.Path, "/", ".")
			if err := os.WriteFile(filepath.Join(folder, name), []byte(ui.CleanLines(string(text(c)))), 0o600); err != nil {
				return fmt.Errorf("diff: %w", err)
			}
		}
	}
	argv := append(strings.Fields(program), live, planned)
	cmd := exec.CommandContext(context.Background(), argv[0], argv[1:]...) //nolint:gosec // the user's own choice of program, as with kubectl diff
	cmd.Stdout, cmd.Stderr = ui.Raw(out), ui.Raw(errOut)                   // it may set colours; what it reads is clean
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil
	}
	if err != nil {
		return cli.WithHint(fmt.Errorf("KUBECTL_EXTERNAL_DIFF=%q: %w", program, err), "unset it to have the diff made here")
	}
	return nil
}

// The document that -o json and -o yaml print; see docs/output.md.
type (
	planDocument struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Command    string `json:"command"`
		Run        string `json:"run"`
		Server     string `json:"server,omitempty"`
		Version    string `json:"version,omitempty"`
		Unreviewed string `json:"unreviewed,omitempty"` // versions that run and were not reviewed
		// Unauthenticated says why another server than the API server may have answered.
		Unauthenticated string        `json:"unauthenticated,omitempty"`
		Notes           []string      `json:"notes"`
		Waves           []planWave    `json:"waves"`
		Nodes           []planNode    `json:"nodes"`
		Unknown         []planUnknown `json:"unknown"`
		Solved          []planFinding `json:"solved"`
		Shown           []planServed  `json:"shown"`
	}
	planWave struct {
		Name     string `json:"name"`
		Why      string `json:"why"`
		Parallel int    `json:"parallel"`
	}
	planUnknown struct {
		Name   string `json:"name"`
		Check  string `json:"check"`
		Reason string `json:"reason"`
		Next   string `json:"next,omitempty"`
	}
	planNode struct {
		Name      string     `json:"name"` // empty: the cluster itself
		Wave      string     `json:"wave,omitempty"`
		Via       string     `json:"via,omitempty"`
		Ready     string     `json:"ready,omitempty"`
		Alive     string     `json:"alive,omitempty"`     // "yes", "no", "unknown", by its Lease; absent: the API was not asked
		Heartbeat string     `json:"heartbeat,omitempty"` // why it is not yes
		Steps     []planStep `json:"steps"`
	}
	planStep struct {
		Action  string    `json:"action"`
		Change  bool      `json:"change"` // false: it is so already
		Summary string    `json:"summary,omitempty"`
		File    *planFile `json:"file,omitempty"`
	}
	planFile struct {
		Path    string          `json:"path"`
		SHA256  pki.Fingerprint `json:"sha256"`          // of the file now
		Taken   bool            `json:"taken,omitempty"` // it is taken away, or put back
		Added   []PlanCert      `json:"added"`
		Removed []PlanCert      `json:"removed"`
		Kept    []PlanCert      `json:"kept"`
	}
	// PlanCert is a certificate in it.
	PlanCert struct {
		SHA256    pki.Fingerprint `json:"sha256"`
		Subject   string          `json:"subject"`
		NotBefore time.Time       `json:"notBefore"`
		NotAfter  time.Time       `json:"notAfter"`
	}
	planFinding struct {
		Check     string         `json:"check"`
		Severity  string         `json:"severity"`
		Message   string         `json:"message"`
		Locations []pki.Location `json:"locations"`
	}
	planServed struct {
		Node    string     `json:"node"`
		Address string     `json:"address"`
		Chain   []PlanCert `json:"chain"`
	}
)

func printPlanDocument(out io.Writer, format, command string, p *remediate.Plan) error {
	d := planDocument{
		APIVersion: report.APIVersion, Kind: "Plan", Command: command, Run: p.Run,
		Server: p.Basis.Cluster.Server, Version: p.Basis.Cluster.Versions.Cluster, Unreviewed: p.Basis.Cluster.Versions.NotReviewed(), Unauthenticated: p.Basis.Cluster.Unauthenticated,
		Notes: append([]string{}, p.Notes...), Waves: []planWave{}, Nodes: []planNode{}, Solved: []planFinding{}, Shown: []planServed{},
	}
	for _, w := range p.Waves {
		if w.Name != "" {
			d.Waves = append(d.Waves, planWave{w.Name, w.Why, w.Parallel})
		}
		for _, n := range w.Nodes {
			d.Nodes = append(d.Nodes, nodeDocument(p, w, n))
		}
	}
	d.Unknown = unknownDocuments(p)
	for _, f := range p.Solved {
		d.Solved = append(d.Solved, planFinding{f.Check, f.Severity.String(), f.Message, f.At})
	}
	for _, v := range p.Basis.Served {
		if v.Server == "" {
			d.Shown = append(d.Shown, planServed{v.Node, v.Address, certDocuments(v.Chain, nil, false)})
		}
	}
	return ui.PrintDocument(out, format, d)
}

func nodeDocument(p *remediate.Plan, w remediate.Wave, n remediate.NodePlan) planNode {
	pn := planNode{Name: n.Name, Wave: w.Name, Steps: []planStep{}}
	if node, ok := p.Basis.Node(n.Name); ok {
		pn.Via, pn.Ready = node.Via, node.Ready
		pn.Alive, pn.Heartbeat = p.Basis.Life(node).Words()
	}
	for _, s := range n.Steps {
		pn.Steps = append(pn.Steps, stepDocument(s))
	}
	return pn
}

func unknownDocuments(p *remediate.Plan) []planUnknown {
	out := []planUnknown{}
	for _, r := range p.Unknown {
		out = append(out, planUnknown{r.Node, r.Name, r.Reason, r.Next})
	}
	return out
}

func stepDocument(s remediate.Step) planStep {
	d := planStep{Action: s.Action.ID(), Change: s.Change != nil}
	if s.Change == nil {
		return d
	}
	d.Summary = s.Change.Summary
	if f := s.Change.File; f != nil {
		d.File = &planFile{Path: f.Path, SHA256: f.SHA256, Taken: f.Taken, Added: certDocuments(f.New, f.Old, false), Removed: certDocuments(f.Old, f.New, false), Kept: certDocuments(f.Old, f.New, true)}
	}
	return d
}

// certDocuments are those of certs that are, or are not, in others.
func certDocuments(certs, others []*pki.Cert, in bool) []PlanCert {
	out := []PlanCert{}
	for _, c := range certs {
		if contains(others, c) == in {
			out = append(out, PlanCert{SHA256: c.Fingerprint, Subject: c.Subject, NotBefore: c.NotBefore, NotAfter: c.NotAfter})
		}
	}
	return out
}
