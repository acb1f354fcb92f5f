package collect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// namespacesAtOnce bounds the lists that run in parallel where RBAC allows
// reading only namespace by namespace.
const namespacesAtOnce = 10

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

// Sources returns one source for each resource in scope, to be read in
// parallel.
func (c *Cluster) Sources() []Source {
	readers := map[string]func(context.Context) inspect.Snapshot{
		"secrets":                         c.secrets,
		"configmaps":                      c.configMaps,
		"validatingwebhookconfigurations": c.webhooks("validatingwebhookconfigurations"),
		"mutatingwebhookconfigurations":   c.webhooks("mutatingwebhookconfigurations"),
		"apiservices":                     c.apiServices,
		"customresourcedefinitions":       c.customResourceDefinitions,
		"certificatesigningrequests":      c.signingRequests,
	}
	var out []Source
	for _, r := range Resources() {
		if c.Scope.Wants(r) {
			out = append(out, reader{r.Plural, readers[r.Plural]})
		}
	}
	return out
}

// reader is a Source made of a name and a function.
type reader struct {
	name    string
	collect func(context.Context) inspect.Snapshot
}

func (r reader) Name() string                                 { return r.name }
func (r reader) Collect(ctx context.Context) inspect.Snapshot { return r.collect(ctx) }

func (c *Cluster) secrets(ctx context.Context) inspect.Snapshot {
	return c.namespaced(ctx, "secrets", func(namespace string, t *tally) page {
		return func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error) {
			if opts.FieldSelector == "" {
				opts.FieldSelector = fields.OneTermNotEqualSelector("type", helmRelease).String()
			}
			return c.keyed(ctx, "Secret", "secrets", namespace, opts, t)
		}
	})
}

func (c *Cluster) configMaps(ctx context.Context) inspect.Snapshot {
	return c.namespaced(ctx, "configmaps", func(namespace string, t *tally) page {
		return func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error) {
			return c.keyed(ctx, "ConfigMap", "configmaps", namespace, opts, t)
		}
	})
}

// keyed reads one page of Secrets or ConfigMaps. What it finds counts only when
// the page came whole: a page that breaks off is asked for again.
func (c *Cluster) keyed(ctx context.Context, kind pki.Kind, resource, namespace string, opts metav1.ListOptions, t *tally) (metav1.ListMeta, error) {
	path := "/api/v1/" + resource
	if namespace != "" {
		path = "/api/v1/namespaces/" + namespace + "/" + resource
	}
	body, err := withOptions(c.REST.Get().AbsPath(path), opts).SetHeader("Accept", runtime.ContentTypeProtobuf).Stream(ctx)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer func() { _ = body.Close() }() // read only
	var found []inspect.Bundle
	n := 0
	meta, err := readProtobufList(body, func(item []byte) error {
		n++
		b, err := c.scanItem(kind, item)
		found = append(found, b...)
		return err
	})
	if err != nil {
		return meta, err
	}
	t.add(found)
	t.count(n)
	return meta, nil
}

// scanItem scans the values of one object of a list.
func (c *Cluster) scanItem(kind pki.Kind, item []byte) ([]inspect.Bundle, error) {
	o, err := parseWireObject(kind, item)
	if err != nil {
		return nil, err
	}
	var obj *inspect.Object
	var out []inspect.Bundle
	if key, published := publishedKey(kind, o.metadata); published && c.Scanner.Scan(o.values[key]) == nil {
		// an empty copy is a fact, too: its readers trust nobody
		var meta metav1.ObjectMeta
		if err := meta.Unmarshal(o.metadata); err != nil {
			return nil, fmt.Errorf("decode metadata: %w", err)
		}
		obj = objectOf(kind, &meta)
		at := pki.Location{Kind: kind, Namespace: obj.Namespace, Name: obj.Name, Key: key}
		out = append(out, inspect.Bundle{At: at, Object: obj, Content: &pki.Content{}})
	}
	for key, value := range o.values {
		for _, f := range c.Scanner.Scan(value) {
			if obj == nil {
				var meta metav1.ObjectMeta
				if err := meta.Unmarshal(o.metadata); err != nil {
					return nil, fmt.Errorf("decode metadata: %w", err)
				}
				obj = objectOf(kind, &meta)
				obj.Type = o.kind
			}
			at := pki.Location{Kind: kind, Namespace: obj.Namespace, Name: obj.Name, Key: key, Field: f.Field}
			out = append(out, inspect.Bundle{At: at, Object: obj, Content: f.Content})
		}
	}
	return out, nil
}

// publishedKey returns the key of a ConfigMap that a publisher writes into every
// namespace; false for any other object. metadata is its wire form, of which
// field 1 is the name.
func publishedKey(kind pki.Kind, metadata []byte) (string, bool) {
	if kind != "ConfigMap" {
		return "", false
	}
	name := ""
	_ = eachField(metadata, func(field protowire.Number, v []byte) error { // malformed metadata is found out where it is decoded
		if field == 1 {
			name = string(v)
		}
		return nil
	})
	key, ok := catalog.PublishedCopies()[name]
	return key, ok
}

// tally gathers the bundles of one list, and tells the observer.
type tally struct {
	mu      sync.Mutex
	what    string
	pages   [][]inspect.Bundle // put together once, at the end: there may be many thousands
	objects int
	observe func(string, int)
}

func (t *tally) add(b []inspect.Bundle) {
	if len(b) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pages = append(t.pages, b)
}

func (t *tally) bundles() []inspect.Bundle { return slices.Concat(t.pages...) }

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
func (c *Cluster) namespaced(ctx context.Context, what string, in func(namespace string, t *tally) page) inspect.Snapshot {
	t := &tally{what: what, observe: c.Observe}
	if len(c.Scope.Names) > 0 {
		return c.named(ctx, t, in)
	}
	l := listPages(ctx, c.options(), in(c.Scope.Namespace, t))
	if l.err != nil && apierrors.IsForbidden(l.err) && c.Scope.Namespace == "" {
		return c.byNamespace(ctx, t, in)
	}
	return t.snapshot(c.Scope.Namespace, l)
}

func (c *Cluster) options() metav1.ListOptions {
	var opts metav1.ListOptions
	if c.Scope.Selector != nil {
		opts.LabelSelector = c.Scope.Selector.String()
	}
	return opts
}

// snapshot turns what was tallied, and how the list ended, into facts.
func (t *tally) snapshot(where string, l listing) inspect.Snapshot {
	s := inspect.Snapshot{Bundles: t.bundles()}
	if l.err == nil {
		s.Reads = []inspect.Read{{What: t.what, Where: where, Objects: t.objects, Note: l.note}}
		return s
	}
	if apierrors.IsNotFound(l.err) {
		s.Reads = []inspect.Read{{What: t.what, Where: where, Skipped: true, Note: "not served by this cluster"}}
		return s
	}
	s.Gaps = []inspect.Gap{gapOf(t.what, where, t.objects, l)}
	return s
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
	default:
		g.Next = "run again; if it stays, look at the API server: kubectl get --raw '/readyz?verbose'"
	}
	return g
}

// named reads objects by name, wherever they are in scope.
func (c *Cluster) named(ctx context.Context, t *tally, in func(string, *tally) page) inspect.Snapshot {
	var gaps []inspect.Gap
	for _, name := range c.Scope.Names {
		before := t.objects
		opts := c.options()
		opts.FieldSelector = fields.OneTermEqualSelector("metadata.name", name).String()
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
	return inspect.Snapshot{
		Bundles: t.bundles(),
		Reads:   []inspect.Read{{What: t.what, Where: c.Scope.Namespace, Objects: t.objects, Note: "by name: " + strings.Join(c.Scope.Names, ", ")}},
		Gaps:    gaps,
	}
}

func notFound(what, name, namespace string) inspect.Gap {
	where := "in any namespace"
	if namespace != "" {
		where = "in namespace " + namespace
	}
	return inspect.Gap{What: what, Where: namespace, Reason: fmt.Sprintf("no object named %q %s", name, where), Next: "kubectl get " + what + " -A | grep " + name}
}

// byNamespace lists in each namespace that can be seen.
func (c *Cluster) byNamespace(ctx context.Context, t *tally, in func(string, *tally) page) inspect.Snapshot {
	namespaces, gaps := c.namespaces(ctx)
	var mu sync.Mutex
	var forbidden []string
	var g errgroup.Group
	g.SetLimit(namespacesAtOnce)
	for _, ns := range namespaces {
		g.Go(func() error {
			own := &tally{what: t.what}
			l := listPages(ctx, c.options(), in(ns, own))
			t.add(own.bundles())
			t.count(own.objects)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case l.err == nil:
			case apierrors.IsForbidden(l.err):
				forbidden = append(forbidden, ns)
			case apierrors.IsNotFound(l.err): // the namespace went away meanwhile
			default:
				gaps = append(gaps, gapOf(t.what, ns, own.objects, l))
			}
			return nil
		})
	}
	_ = g.Wait()
	if len(forbidden) > 0 {
		slices.Sort(forbidden)
		gaps = append(gaps, inspect.Gap{
			What:   t.what,
			Where:  strings.Join(forbidden, ", "),
			Reason: fmt.Sprintf("list %s: forbidden in the whole cluster and in %d of %d namespaces", t.what, len(forbidden), len(namespaces)),
			Next:   "kubectl auth can-i list " + t.what + " -n " + forbidden[0],
		})
	}
	s := inspect.Snapshot{Bundles: t.bundles(), Gaps: gaps}
	if allowed := len(namespaces) - len(forbidden); allowed > 0 {
		s.Reads = []inspect.Read{{What: t.what, Objects: t.objects, Note: fmt.Sprintf("namespace by namespace: %d of %d allowed", allowed, len(namespaces))}}
	}
	return s
}

// Namespaces lists the names of all namespaces.
func (c *Cluster) Namespaces(ctx context.Context) ([]string, error) {
	var names []string
	l := listJSON(ctx, c, "/api/v1/namespaces", metav1.ListOptions{}, func(o *namedObject) { names = append(names, o.Metadata.Name) })
	return names, l.err
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
