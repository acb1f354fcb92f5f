package inspectcmd

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/cause"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// node explains a node: what the files have of it, the problems that name it, and who reads and presents what is on it.
func (e *explainer) node(ctx context.Context, w io.Writer, name string) error {
	var of *inspect.Node
	if len(e.reading.From) > 0 {
		if err := e.readFiles(ctx); err != nil {
			return err
		}
		if err := connect.NoNode(e.read, name, e.reading.Hints()); err != nil {
			return err
		}
		of, _ = e.read.Node(name)
	}
	ui.Printf(w, "node/%s\n", foreign.Name(name))
	ui.Wrap(w, "", "A node. Its files have what its kubelet, and pods that use them, present and trust.")
	var fixes []assess.Remediation
	if of != nil {
		var err error
		if fixes, err = e.nodeState(ctx, w, of); err != nil {
			return err
		}
	}
	section(w, "What reads and presents there", func() {
		for _, edge := range e.edgesOn(of) {
			if edge.Trust.Kind == catalog.File {
				runs := ""
				if edge.Optional {
					runs = ", if it runs there"
				}
				line(w, "read", placeOf(edge.Trust)+" by "+edge.Verifier+runs+", "+string(edge.Reload)+": explain "+edge.ID)
			}
			if edge.Presented.Kind == catalog.File {
				line(w, "presented", placeOf(edge.Presented)+" to "+edge.Verifier+": explain "+edge.ID)
			}
		}
	})
	hints := e.reading.App.Hints()
	e.todo(w, []string{
		"its certificates and requests:", hints.Next("{} inspect nodes %s", name),
		"does each client there trust its server?", hints.Next("{} verify --nodes %s", name),
	}, fixes...)
	return nil
}

// nodeState prints how a node of the files is, and the problems that name it. It returns what is to be done about them.
func (e *explainer) nodeState(ctx context.Context, w io.Writer, of *inspect.Node) (fixes []assess.Remediation, err error) {
	all, err := e.tolds(ctx)
	if err != nil {
		return nil, err
	}
	is := func(at pki.Location) bool { return at.Node == of.Name || at.Kind == "Node" && at.Name == of.Name }
	all = slices.DeleteFunc(all, func(t told) bool {
		return !slices.ContainsFunc(t.Names, func(n string) bool { return n == of.Name || strings.HasPrefix(n, of.Name+" (") }) && !slices.ContainsFunc(t.found, func(f finding) bool { return slices.ContainsFunc(f.at, is) })
	})
	section(w, "In this file", func() {
		state := e.read.NodeHealth(of).String()
		if state == "" {
			state = "Ready, with a heartbeat"
		}
		line(w, "state", state)
		if of.Via != "" {
			line(w, "files", "read by "+of.Via)
		} else {
			line(w, "files", "not read")
		}
		for i, t := range apart(all) {
			if i == mostFindings {
				line(w, "problem", ui.Count(len(apart(all))-i, "more problem"))
				break
			}
			title := t.Title
			if len(t.Names) > 0 {
				title += ": " + ui.NamesThatFit(t.Names, namesColumns)
			}
			line(w, "problem", t.Word+" "+ui.Clean(ui.OneLine(title)))
			for _, next := range t.fixesOn(of.Name, is) {
				fixes = withFix(fixes, next)
			}
		}
	})
	return fixes[:min(len(fixes), ui.MaxPlaces)], nil
}

// fixesOn is what to do about a problem on a node: where each of its findings has its own next step, those that are
// about the node.
func (t told) fixesOn(node string, is func(pki.Location) bool) (out []assess.Remediation) {
	if len(t.Others) == 0 {
		if strings.Contains(t.Next.Command, " --nodes ") && !strings.Contains(t.Next.Command+" ", " --nodes "+node+" ") {
			return nil
		}
		return []assess.Remediation{t.Next}
	}
	for _, f := range t.found {
		if slices.ContainsFunc(f.at, is) {
			out = append(out, f.Remediation)
		}
	}
	return out
}

// edgesOn are the rows about files of nodes: of a node, those of its version whose files were read there; nil: of any
// OpenShift.
func (e *explainer) edgesOn(of *inspect.Node) []catalog.Edge {
	var out []catalog.Edge
	for _, edge := range catalog.Edges() {
		there := func(r catalog.Ref) bool {
			return r.Kind == catalog.File && (of == nil || len(of.Files) == 0 || slices.ContainsFunc(of.Files, func(f inspect.NodeFile) bool {
				return r.Fits(catalog.File, "", f.Path, r.Key)
			}))
		}
		holds := edge.In.Component != catalog.Kubernetes
		if of != nil {
			holds = edge.In.Holds(e.read.Cluster.Versions) != catalog.No
		}
		if holds && (there(edge.Trust) || there(edge.Presented)) {
			out = append(out, edge)
		}
	}
	return out
}

// issuedTo are the rows about what a signer of certificate requests issues: who verifies it.
func issuedTo(signer string) []catalog.Edge {
	var roles []catalog.Role
	for _, p := range catalog.Places() {
		if p.Selector.Signer != "" && p.Selector.Signer == signer {
			roles = append(roles, p.Role)
		}
	}
	var out []catalog.Edge
	for _, e := range catalog.Edges() {
		issued := slices.ContainsFunc(catalog.Places(), func(p catalog.Place) bool {
			return p.Owner == "kubelet" && slices.Contains(roles, p.Role) && strings.Contains(p.Name, "*") && p.Fits(catalog.File, "", e.Presented.Name, p.Key)
		})
		if issued && e.Presented.Kind == catalog.File && e.In.Component != catalog.Kubernetes {
			out = append(out, e)
		}
	}
	return out
}

// elsewhere is what to do about nodes that a title names, and whose findings are told in another problem.
func elsewhere(inv *report.Inventory, p cause.Problem, problems []cause.Problem) []assess.Remediation {
	var out []assess.Remediation
	for _, other := range problems {
		there := slices.DeleteFunc(slices.Clone(p.Elsewhere), func(node string) bool { return !slices.Contains(other.Nodes, node) })
		if told := ui.ProblemIn(inv, other); len(there) > 0 && other.ID == catalog.CauseClientCertificate && told.Next.Command != "" {
			names := make([]string, len(there))
			for i, node := range there {
				names[i] = foreign.Name(node)
			}
			out = append(out, told.Next.Saying(ui.NamesThatFit(names, namesColumns)+": "+told.Next.Text))
		}
	}
	return out
}
