package inspectcmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// partKind is that of a part of the cluster.
const partKind = "Part of verify"

// partTopics are the parts that verify takes.
func partTopics() []topic {
	means := map[catalog.Part]string{
		catalog.PartAPIInt:       "api-int is the address at which nodes and pods of the network reach kube-apiserver. Clients without its CA get x509 errors.",
		catalog.PartControlPlane: "Its processes verify each other: kube-apiserver, kubelets, etcd, controllers.",
		catalog.PartNodes:        "What nodes present, and what new nodes get.",
		catalog.PartServices:     "Services with a certificate of the service CA, webhooks and aggregated APIs.",
		catalog.PartAccess:       "What users reach: the API, routes, oauth.",
		catalog.PartBundles:      "CA bundles that are made of others.",
	}
	var out []topic
	for _, part := range catalog.Parts() {
		name := strings.ReplaceAll(string(part), " ", "-")
		verify := foreign.Command("", "{} verify %s", name)
		claim := "each client of it trusts the certificate that its server presents"
		if part == catalog.PartBundles {
			claim = "each bundle holds all CAs that it is made of"
		}
		out = append(out, topic{kind: partKind, claim: claim, help: help{name, means[part], []string{verify}}})
	}
	return out
}

// kindIsMissing reports whether a name is NAMESPACE/NAME, as screens print objects.
func kindIsMissing(name string) bool {
	first, rest, _ := strings.Cut(name, "/")
	if first == "" || rest == "" || strings.Contains(rest, "/") {
		return false
	}
	for _, p := range catalog.Places() {
		if strings.EqualFold(p.Kind, first) {
			return false
		}
	}
	_, err := collect.ParseResource(first)
	return err != nil
}

// nodeIn is the node of node/NAME and nodes/NAME.
func nodeIn(name string) (string, bool) {
	kind, node, _ := strings.Cut(name, "/")
	return node, slices.Contains([]string{"node", "nodes"}, strings.ToLower(kind)) && node != "" && !strings.Contains(node, "/")
}

// ofAnyKind explains NAMESPACE/NAME: the kinds are looked up in the files, if there are any.
func (e *explainer) ofAnyKind(ctx context.Context, w io.Writer, name string) error {
	if len(e.reading.From) > 0 {
		if is, err := e.inFile(ctx, w, name); is || err != nil {
			return err
		}
		var names []string
		for _, b := range e.read.Bundles {
			names = append(names, foreign.Name(b.At.Namespace+"/"+b.At.Name))
		}
		return cli.WithHint(fmt.Errorf("%q: the file has no such object%s", name, cli.DidYouMean(name, slices.Compact(slices.Sorted(slices.Values(names))))), "%s", e.reading.App.Hints().Next("{} inspect --all")+e.reading.Hints().From())
	}
	commands := e.reading.App.Hints().Next("{} explain secret/%[1]s\n{} explain configmap/%[1]s", name)
	return cli.WithHint(fmt.Errorf("%q: its kind is missing: is it a Secret or a ConfigMap?", name), "%s", commands)
}

// readFiles reads them, once.
func (e *explainer) readFiles(ctx context.Context) error {
	if e.read != nil {
		return nil
	}
	s, err := e.reading.Read(ctx)
	if err == nil {
		e.read = &s
	}
	return err
}

// absent is the error about an object that the catalog does not have, and the files have not although all of its kind
// were read; nil: there is such an object, or it is unknown.
func (e *explainer) absent(ctx context.Context, kind, namespace, object string) error {
	found, err := collect.ParseResource(kind)
	if len(e.reading.From) == 0 || err != nil || len(found) != 1 {
		return nil
	}
	if err := e.readFiles(ctx); err != nil {
		return err
	}
	var names []string
	for _, b := range e.read.Bundles {
		if at := b.At; string(at.Kind) == kind && at.Namespace == namespace {
			if at.Name == object {
				return nil
			}
			names = append(names, foreign.Name(at.Name))
		}
	}
	if slices.ContainsFunc(e.read.Requests, func(r inspect.SigningRequest) bool { return string(r.Object.Kind) == kind && r.Object.Name == object }) {
		return nil
	}
	facts, name := inspect.Facts{Snapshot: *e.read}, object
	if !facts.ReadAll(found[0].Plural) && !facts.Absent(catalog.Ref{Kind: kind, Namespace: namespace}) {
		return nil
	}
	next := e.reading.App.Hints().Next("{} inspect "+found[0].Plural) + " --all"
	if namespace != "" {
		name, next = namespace+"/"+object, next+foreign.Command("", " -n %s", namespace)
	}
	return cli.WithHint(fmt.Errorf("%s %q not found: the file has no certificate of it%s", found[0].Plural, name, cli.DidYouMean(object, names)), "%s", next+e.reading.Hints().From())
}

// inFile explains what the files have by a name without a kind; false: nothing.
func (e *explainer) inFile(ctx context.Context, w io.Writer, name string) (bool, error) {
	if err := e.readFiles(ctx); err != nil {
		return false, err
	}
	if _, is := e.read.Node(name); is {
		return true, e.node(ctx, w, name)
	}
	var found []string
	add := func(kind pki.Kind, namespace, object string) {
		whole := string(kind) + "/" + object
		if namespace != "" {
			whole = string(kind) + "/" + namespace + "/" + object
		}
		if (name == object || name == namespace+"/"+object) && kind != pki.KindFile && !slices.Contains(found, whole) {
			found = append(found, whole)
		}
	}
	for _, b := range e.read.Bundles {
		add(b.At.Kind, b.At.Namespace, b.At.Name)
	}
	for _, r := range e.read.Requests {
		add(r.Object.Kind, r.Object.Namespace, r.Object.Name)
	}
	slices.Sort(found)
	return len(found) > 0, e.objects(ctx, w, found)
}

// objects explains several objects.
func (e *explainer) objects(ctx context.Context, w io.Writer, names []string) error {
	for i, name := range names {
		if i > 0 {
			ui.Printf(w, "\n")
		}
		if err := e.object(ctx, w, name); err != nil {
			return err
		}
	}
	return nil
}
