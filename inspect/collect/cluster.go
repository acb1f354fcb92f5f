package collect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// namespacesAtOnce bounds the lists that run in parallel where RBAC allows
// reading only namespace by namespace.
const namespacesAtOnce = 10

// namespacesNamed is how many of many namespaces are named in one gap.
const namespacesNamed = 5

// helmRelease is the type of Secrets that hold a chart's history, compressed:
// often most bytes of a cluster, and nothing reads certificates from there.
const helmRelease = "helm.sh/release.v1"

// Cluster reads a live cluster over its API. It lists and gets; it never
// writes or watches.
type Cluster struct {
	REST    rest.Interface // see NewREST
	Scanner *pki.Scanner
	Scope   Scope
	// Namespace is the caller's own: what is left to read when neither all
	// namespaces nor their list may be read.
	Namespace string
	// Observe is told how many objects of a resource are read so far. It may be
	// called from several goroutines.
	Observe func(what string, objects int)
	// Now is what time it is at the API server, by its Date; nil, or zero: unknown.
	Now func() time.Time
	// Renewals remembers Leases between readings; nil: none is.
	Renewals *Renewals
}

// NewREST returns the client that Cluster needs. It knows no API types but the
// server's errors: what certrot reads of an object is a few fields, and the
// typed clients of every API group would make the program half as large again.
func NewREST(config *rest.Config) (rest.Interface, error) {
	errorsOnly := runtime.NewScheme()
	metav1.AddToGroupVersion(errorsOnly, schema.GroupVersion{Version: "v1"})
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = serializer.NewCodecFactory(errorsOnly).WithoutConversion()
	return rest.UnversionedRESTClientFor(config)
}

// within is the same for a reading that ends with ctx.
func (c *Cluster) within(ctx context.Context) *Cluster {
	bound := *c
	bound.Scanner = c.Scanner.Within(ctx)
	return &bound
}

// Sources returns one source for each resource in scope, and one for all of
// OpenShift's own, to be read in parallel.
func (c *Cluster) Sources() []Source {
	readers := map[string]func(context.Context) part{
		"secrets":                         c.secrets,
		"configmaps":                      c.configMaps,
		"validatingwebhookconfigurations": c.webhooks("validatingwebhookconfigurations"),
		"mutatingwebhookconfigurations":   c.webhooks("mutatingwebhookconfigurations"),
		"apiservices":                     c.apiServices,
		"customresourcedefinitions":       c.customResourceDefinitions,
		"certificatesigningrequests":      c.signingRequests,
		kubernetesName:                    c.ingresses,
	}
	var out []Source
	var openShift []Resource
	for _, r := range Resources() {
		switch read := readers[r.Plural]; {
		case !c.Scope.Wants(r):
		case read != nil:
			out = append(out, reader{r.Plural, read})
		default:
			openShift = append(openShift, r)
		}
	}
	if len(openShift) > 0 {
		out = append(out, reader{"OpenShift's kinds", func(ctx context.Context) part { return c.openShift(ctx, openShift) }})
	}
	return out
}

// reader is a Source made of a name and a function.
type reader struct {
	name    string
	collect func(context.Context) part
}

func (r reader) Name() string                                 { return r.name }
func (r reader) Collect(ctx context.Context) inspect.Snapshot { return merge(r.collect(ctx)) }

// whole is the collect of a reader whose snapshot is whole at once.
func whole(collect func(context.Context) inspect.Snapshot) func(context.Context) part {
	return func(ctx context.Context) part { return part{Snapshot: collect(ctx)} }
}

// tally gathers the bundles of one list, and tells the observer.
type tally struct {
	mu      sync.Mutex
	what    string
	pages   [][]inspect.Bundle
	found   inspect.Snapshot // what objects say and refer to, and those that could not be read
	objects int
	observe func(string, int)

	// What follows belongs to the one goroutine that reads the list's pages.

	prefetch prefetch          // the page after the one that is read now
	page     []inspect.Bundle  // what the page read now holds so far; the room is used again for the next one
	words    map[string]string // namespaces, keys and types, of which there are few
}

func (t *tally) add(pages ...[]inspect.Bundle) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range pages {
		if len(p) > 0 {
			t.pages = append(t.pages, p)
		}
	}
}

// take adds what the objects of a page hold, say and refer to.
func (t *tally) take(found inspect.Snapshot) {
	t.add(found.Bundles)
	found.Bundles = nil
	t.mu.Lock()
	defer t.mu.Unlock()
	take(&t.found, found)
}

// word returns the one copy of a word that many objects share.
func (t *tally) word(w []byte) string {
	if one, ok := t.words[string(w)]; ok {
		return one
	}
	if t.words == nil {
		t.words = map[string]string{}
	}
	one := string(w)
	t.words[one] = one
	return one
}

func (t *tally) count(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.objects += n
	if t.observe != nil {
		t.observe(t.what, t.objects)
	}
}

// namespaced lists a namespaced resource: all of it at once where that is
// allowed, namespace by namespace where only that is.
func (c *Cluster) namespaced(ctx context.Context, what string, in func(namespace string, t *tally) page) part {
	t := &tally{what: what, observe: c.Observe}
	if len(c.Scope.NamesOf(t.what)) > 0 {
		return c.named(ctx, t, in)
	}
	l := listPages(ctx, c.options(), in(c.Scope.Namespace, t))
	if l.err != nil && apierrors.IsForbidden(l.err) && c.Scope.Namespace == "" {
		return c.byNamespace(ctx, t, in)
	}
	return t.part(c.Scope.Namespace, l)
}

func (c *Cluster) options() metav1.ListOptions {
	var opts metav1.ListOptions
	if c.Scope.Selector != nil {
		opts.LabelSelector = c.Scope.Selector.String()
	}
	opts.FieldSelector = c.Scope.fieldSelector()
	return opts
}

// part turns what was tallied, and how the list ended, into facts.
func (t *tally) part(where string, l listing) part {
	p := part{pages: t.pages, Snapshot: t.found}
	switch {
	case l.err == nil:
		p.Reads = []inspect.Read{{What: t.what, Where: where, Objects: t.objects, Note: l.note}}
		p.Listed = listed(t.what, where, l)
	case apierrors.IsNotFound(l.err):
		p.Reads = []inspect.Read{notServed(t.what, where)}
	default:
		p.Gaps = append(p.Gaps, gapOf(t.what, where, t.objects, l))
	}
	return p
}

// listed says of which namespace a list is whole: what is not in it is not there.
func listed(what, namespace string, l listing) []inspect.Listed {
	kind, ok := map[string]pki.Kind{"secrets": catalog.Secret, "configmaps": catalog.ConfigMap}[what]
	if !ok || namespace == "" || l.err != nil || l.note != "" {
		return nil
	}
	return []inspect.Listed{{Kind: kind, Namespace: namespace}}
}

// gapOf explains a list that did not come to its end.
func gapOf(what, where string, read int, l listing) inspect.Gap {
	g := inspect.Gap{What: what, Where: where, Reason: reason("list "+what, l.err)}
	if read > 0 {
		g.Reason = fmt.Sprintf("list %s: broke off after %d objects", what, read)
		if l.left > 0 {
			g.Reason += fmt.Sprintf(" (about %d more)", l.left)
		}
		g.Reason += ": " + l.err.Error()
	}
	switch {
	case apierrors.IsForbidden(l.err):
		g.Next = "ask for the cluster role cluster-reader (OpenShift) or for list on " + what + "; secrets need more than view"
	case apierrors.IsUnauthorized(l.err):
		g.Next = "log in again (oc login), or use a certificate kubeconfig: oc whoami; kubectl config view --minify"
	case what == "routes":
		g.Next = "run again; if it stays, look at the server that has them: kubectl get apiservices v1.route.openshift.io; kubectl get clusteroperators openshift-apiserver"
	default:
		g.Next = "run again; if it stays, look at the API server: kubectl get --raw '/readyz?verbose'"
	}
	return g
}

// named reads objects by name, wherever they are in scope.
func (c *Cluster) named(ctx context.Context, t *tally, in func(string, *tally) page) part {
	var gaps []inspect.Gap
	names := c.Scope.NamesOf(t.what)
	for _, name := range names {
		before := t.objects
		opts := c.options()
		opts.FieldSelector = c.Scope.fieldSelector(fields.OneTermEqualSelector(fieldName, name))
		namespace := c.Scope.Namespace
		l := listPages(ctx, opts, in(namespace, t))
		if l.err != nil && apierrors.IsForbidden(l.err) && namespace == "" && c.Namespace != "" {
			all := l.err
			namespace = c.Namespace
			if l = listPages(ctx, opts, in(namespace, t)); l.err == nil {
				gaps = append(gaps, inspect.Gap{What: t.what, Reason: reason("list "+t.what+" named "+name+" in all namespaces", all), Next: fmt.Sprintf("only namespace %q was looked at; name others with -n", namespace)})
			}
		}
		switch {
		case l.err != nil:
			gaps = append(gaps, gapOf(t.what, namespace, 0, l))
		case t.objects == before:
			gaps = append(gaps, notFound(t.what, name, namespace))
		}
	}
	p := part{pages: t.pages, Snapshot: t.found}
	p.Reads = []inspect.Read{{What: t.what, Where: c.Scope.Namespace, Objects: t.objects, Note: "by name: " + strings.Join(names, ", ")}}
	p.Gaps = append(p.Gaps, gaps...)
	return p
}

func notFound(what, name, namespace string) inspect.Gap {
	where := "in any namespace"
	if namespace != "" {
		where = "in namespace " + namespace
	}
	return inspect.Gap{What: what, Where: namespace, Reason: fmt.Sprintf("no object named %q %s", name, where), Next: foreign.Command("", "kubectl get %s -A | grep %s", what, name)}
}

// byNamespace lists in each namespace that can be seen.
func (c *Cluster) byNamespace(ctx context.Context, t *tally, in func(string, *tally) page) part {
	namespaces, gaps := c.namespaces(ctx)
	var mu sync.Mutex
	var forbidden []string
	var whole []inspect.Listed
	failed := map[string][]inspect.Gap{} // by why
	var g errgroup.Group
	g.SetLimit(namespacesAtOnce)
	for _, ns := range namespaces {
		g.Go(func() error {
			own := &tally{what: t.what}
			l := listPages(ctx, c.options(), in(ns, own))
			t.add(own.pages...)
			t.take(own.found)
			t.count(own.objects)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case l.err == nil:
				whole = append(whole, listed(t.what, ns, l)...)
			case apierrors.IsForbidden(l.err):
				forbidden = append(forbidden, ns)
			case apierrors.IsNotFound(l.err): // the namespace went away meanwhile
			default:
				failed[l.err.Error()] = append(failed[l.err.Error()], gapOf(t.what, ns, own.objects, l))
			}
			return nil
		})
	}
	_ = g.Wait()
	for _, why := range slices.Sorted(maps.Keys(failed)) {
		gaps = append(gaps, alike(failed[why]))
	}
	if len(forbidden) > 0 {
		slices.Sort(forbidden)
		gaps = append(gaps, inspect.Gap{
			What:   t.what,
			Where:  strings.Join(forbidden, ", "),
			Reason: fmt.Sprintf("list %s: forbidden in the whole cluster and in %d of %d namespaces", t.what, len(forbidden), len(namespaces)),
			Next:   inspect.Hints{}.Unread(inspect.MayList(t.what, forbidden[0])),
		})
	}
	s := part{pages: t.pages, Snapshot: t.found}
	s.Gaps = append(s.Gaps, gaps...)
	slices.SortFunc(whole, func(a, b inspect.Listed) int { return strings.Compare(a.Namespace, b.Namespace) })
	s.Listed = whole
	if allowed := len(namespaces) - len(forbidden); allowed > 0 {
		s.Reads = []inspect.Read{{What: t.what, Objects: t.objects, Note: fmt.Sprintf("namespace by namespace: %d of %d allowed", allowed, len(namespaces))}}
	}
	return s
}

// alike makes one gap of those that namespaces have for the same reason.
func alike(gaps []inspect.Gap) inspect.Gap {
	one := gaps[0]
	if len(gaps) == 1 {
		return one
	}
	in := make([]string, len(gaps))
	for i, g := range gaps {
		in[i] = g.Where
	}
	slices.Sort(in)
	one.Where = strings.Join(in[:min(len(in), namespacesNamed)], ", ")
	if more := len(in) - namespacesNamed; more > 0 {
		one.Where += fmt.Sprintf(" and %d more", more)
	}
	return one
}

// Namespaces lists the names of all namespaces.
func (c *Cluster) Namespaces(ctx context.Context) ([]string, error) {
	return c.names(ctx, "/api/v1/namespaces")
}

// namespaces returns those that can be seen: all, else OpenShift's projects of
// this user, else the kubeconfig's own. Anything less than all is a gap.
func (c *Cluster) namespaces(ctx context.Context) ([]string, []inspect.Gap) {
	names, err := c.Namespaces(ctx)
	if err == nil {
		return names, nil
	}
	gap := inspect.Gap{What: "namespaces", Reason: reason("list namespaces", err)}
	if projects, err := c.projects(ctx); err == nil && len(projects) > 0 {
		gap.Next = fmt.Sprintf("only the %d projects that you can see were read; certificates in others are unknown", len(projects))
		return projects, []inspect.Gap{gap}
	}
	gap.Next = fmt.Sprintf("only namespace %q was read; name others with -n", c.Namespace)
	return []string{c.Namespace}, []inspect.Gap{gap}
}
