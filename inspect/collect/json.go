package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// listJSON lists cluster-scoped objects at an API path, page by page. T has the
// few fields that are wanted: the schemas of CRDs, megabytes of them, are passed
// over.
func listJSON[T any](ctx context.Context, c *Cluster, path string, opts metav1.ListOptions, each func(*T)) listing {
	return listPages(ctx, opts, func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error) {
		opts.Limit = min(opts.Limit, jsonPageSize)
		body, err := withOptions(c.REST.Get().AbsPath(path), opts).Stream(ctx)
		if err != nil {
			return metav1.ListMeta{}, err
		}
		defer func() { _ = body.Close() }() // read only
		var items []T
		meta, err := readJSONList(body, func(dec *json.Decoder) error {
			items = append(items, *new(T))
			return atItem(len(items)-1, dec.Decode(&timeTolerant[T]{&items[len(items)-1]}))
		})
		if err != nil {
			return meta, fmt.Errorf("decode %s: %w", path, undecoded(err))
		}
		for i := range items { // only now that the page came whole
			if ctx.Err() != nil {
				break
			}
			each(&items[i])
		}
		if ctx.Err() != nil {
			return meta, fmt.Errorf("read %s: %w", path, context.Cause(ctx))
		}
		return meta, nil
	})
}

// withOptions adds a list's parameters to a request.
func withOptions(req *rest.Request, opts metav1.ListOptions) *rest.Request {
	// listPages tries again, too: an overloaded server is asked 20 times, with longestRetry between at most.
	req = req.MaxRetries(3).Param("limit", strconv.FormatInt(opts.Limit, 10))
	for name, value := range map[string]string{"continue": opts.Continue, "labelSelector": opts.LabelSelector, "fieldSelector": opts.FieldSelector} {
		if value != "" {
			req = req.Param(name, value)
		}
	}
	return req
}

// getJSON reads one object.
func (c *Cluster) getJSON(ctx context.Context, path string, into any) error {
	answer := c.REST.Get().AbsPath(path).Do(ctx)
	if err := answer.Error(); err != nil { // it says what was forbidden, and to which user; Raw says "unknown"
		return err
	}
	raw, err := answer.Raw()
	if err != nil {
		return err
	}
	return decodeWithoutUnparsableTimes(raw, into)
}

// readJSONList reads a list item by item, so that of the server's answer no more
// than one item is in memory. each decodes the item that is next. What has no items,
// or is of a kind that is no list, fails: it does not say that there are none.
func readJSONList(in io.Reader, each func(*json.Decoder) error) (meta metav1.ListMeta, err error) {
	dec := json.NewDecoder(in)
	var kind string
	items := false
	if err = expect(dec, '{'); err != nil {
		return meta, err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return meta, err
		}
		switch key {
		case "metadata":
			err = dec.Decode(&meta)
		case "kind":
			err = dec.Decode(&kind)
		case "items":
			items = true
			err = eachJSONItem(dec, jsonPageSize*10, each) // a server may give more than asked for, not any number
		default:
			var skipped json.RawMessage
			err = dec.Decode(&skipped)
		}
		if err != nil {
			return meta, err
		}
	}
	if err := expect(dec, '}'); err != nil {
		return meta, err
	}
	if !items {
		return meta, errNoList
	}
	return meta, checkListKind(kind)
}

// errNoList is the error of an answer that says OK, as a proxy's own does, and is no list.
var errNoList = errors.New("the answer is no list of Kubernetes objects: does something else answer in the API server's place?")

// checkListKind refuses what is no list, and lists of metadata alone. A server need not tell the kind.
func checkListKind(kind string) error {
	if kind != "" && !strings.HasSuffix(kind, "List") || kind == "PartialObjectMetadataList" {
		return errNoList
	}
	return nil
}

// eachJSONItem reads a list; null is one without items, as some servers write it.
func eachJSONItem(dec *json.Decoder, atMost int, each func(*json.Decoder) error) error {
	switch token, err := dec.Token(); {
	case err == nil && token == nil:
		return nil
	case err != nil || token != json.Delim('['):
		return unexpected('[', token, err)
	}
	for n := 0; dec.More(); n++ {
		if n == atMost {
			return fmt.Errorf("a list holds more than %d elements", atMost)
		}
		if err := each(dec); err != nil {
			return err
		}
	}
	return expect(dec, ']')
}

func readJSONItems[T any](dec *json.Decoder, atMost int) ([]T, error) {
	var items []T
	err := eachJSONItem(dec, atMost, func(dec *json.Decoder) error {
		items = append(items, *new(T))
		return atItem(len(items)-1, dec.Decode(&items[len(items)-1]))
	})
	return items, err
}

func expect(dec *json.Decoder, want json.Delim) error {
	if token, err := dec.Token(); err != nil || token != want {
		return unexpected(want, token, err)
	}
	return nil
}

func unexpected(want json.Delim, token json.Token, err error) error {
	return errors.Join(fmt.Errorf("want %v, got %v", want, token), err)
}

// jsonPageSize is smaller than pageSize: a CRD can be a megabyte.
const jsonPageSize = 100

// The parts of kinds that certrot reads of them; the field names are the API's.
type (
	// clientConfig is how the API server calls someone else.
	clientConfig struct {
		CABundle []byte `json:"caBundle"`
		Service  struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"service"`
		InsecureSkipTLSVerify bool `json:"insecureSkipTLSVerify"` // of an APIService
		failurePolicy         inspect.FailurePolicy
	}
	apiServiceObject struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     clientConfig      `json:"spec"`
		Status   struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	crdObject struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			Conversion struct {
				Webhook struct {
					ClientConfig clientConfig `json:"clientConfig"`
				} `json:"webhook"`
			} `json:"conversion"`
		} `json:"spec"`
	}
	webhookObject struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Webhooks []struct {
			ClientConfig  clientConfig          `json:"clientConfig"`
			FailurePolicy inspect.FailurePolicy `json:"failurePolicy"`
		} `json:"webhooks"`
	}
	namedObject struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
)

// caller is an object by which the API server calls others: which CAs it trusts there
// is in the object.
type caller interface {
	// clients returns the object's metadata, and how others are called, by the field
	// that says it.
	clients() (*metav1.ObjectMeta, map[string]clientConfig)
}

func (o *apiServiceObject) clients() (*metav1.ObjectMeta, map[string]clientConfig) {
	return &o.Metadata, map[string]clientConfig{"spec": o.Spec}
}

func (o *crdObject) clients() (*metav1.ObjectMeta, map[string]clientConfig) {
	return &o.Metadata, map[string]clientConfig{"spec.conversion.webhook.clientConfig": o.Spec.Conversion.Webhook.ClientConfig}
}

func (o *webhookObject) clients() (*metav1.ObjectMeta, map[string]clientConfig) {
	all := map[string]clientConfig{}
	for i, w := range o.Webhooks {
		w.ClientConfig.failurePolicy = w.FailurePolicy
		all[fmt.Sprintf("webhooks[%d].clientConfig", i)] = w.ClientConfig
	}
	return &o.Metadata, all
}

// readCaller returns the CA bundles in an object, and for which server they are: the
// Service that is called, where there is one and it is not trusted blindly.
func readCaller(sc *pki.Scanner, kind pki.Kind, o caller) inspect.Snapshot {
	meta, clients := o.clients()
	obj := objectOf(kind, meta)
	values := map[string][]byte{}
	var s inspect.Snapshot
	for _, field := range slices.Sorted(maps.Keys(clients)) {
		c := clients[field]
		values[field+".caBundle"] = c.CABundle
		if c.Service.Name != "" && !c.InsecureSkipTLSVerify {
			from := pki.Location{Kind: kind, Name: meta.Name, Field: field + ".caBundle"}
			s.References = append(s.References, inspect.Reference{From: from, To: pki.Location{Kind: "Service", Namespace: c.Service.Namespace, Name: c.Service.Name}})
		}
	}
	s.Bundles = bundlesOf(sc, obj, values, false)
	for i := range s.Bundles {
		b := &s.Bundles[i]
		field, _, _ := strings.Cut(b.At.Field, ".caBundle")
		b.FailurePolicy = clients[field].failurePolicy
	}
	return s
}

// parseCaller is readCaller for an object from a file.
func parseCaller(sc *pki.Scanner, obj *inspect.Object, raw []byte) (inspect.Snapshot, error) {
	var o caller
	switch obj.Kind {
	case "CustomResourceDefinition":
		o = &crdObject{}
	case "APIService":
		o = &apiServiceObject{}
	default:
		o = &webhookObject{}
	}
	if err := json.Unmarshal(raw, o); err != nil {
		return inspect.Snapshot{}, fmt.Errorf("decode %s: %w", foreign.Text(obj.ID()), undecoded(err))
	}
	return readCaller(sc, obj.Kind, o), nil
}

func (c *Cluster) apiServices(ctx context.Context) part {
	var down []inspect.Read
	s := clusterScoped(ctx, c, "apiservices", "/apis/"+apiregistrationV1+"/apiservices", func(o *apiServiceObject) caller {
		if r, bad := unavailable(o); bad {
			down = append(down, r)
		}
		return o
	})
	s.Reads = append(s.Reads, down...)
	return s
}

// webhooks reads one of the two kinds of webhook configuration: they are alike.
func (c *Cluster) webhooks(resource string) func(context.Context) part {
	return func(ctx context.Context) part {
		return clusterScoped(ctx, c, resource, "/apis/"+admissionV1+"/"+resource, func(o *webhookObject) caller { return o })
	}
}

func (c *Cluster) customResourceDefinitions(ctx context.Context) part {
	return clusterScoped(ctx, c, "customresourcedefinitions", "/apis/"+apiextensionsV1+"/customresourcedefinitions", func(o *crdObject) caller { return o })
}

// unavailable says that an aggregated API does not answer. Nothing that certrot
// reads is served by one, so this is no gap; but it is worth knowing.
func unavailable(o *apiServiceObject) (inspect.Read, bool) {
	for _, c := range o.Status.Conditions {
		if c.Type == "Available" && c.Status == metav1.ConditionFalse {
			return inspect.Read{
				What: "API " + o.Metadata.Name, Skipped: true,
				Note: "does not answer: " + foreign.ReasonAndMessage(c.Reason, inspect.WithoutUserinfo(c.Message)),
			}, true
		}
	}
	return inspect.Read{}, false
}

// clusterScoped lists a cluster-scoped resource of callers.
func clusterScoped[T any](ctx context.Context, c *Cluster, what, path string, as func(*T) caller) part {
	t := &tally{what: what, observe: c.Observe}
	kind := kindOf(what)
	c = c.within(ctx)
	each := func(o *T) {
		t.count(1)
		t.take(readCaller(c.Scanner, kind, as(o)))
	}
	return c.wholeOrNamed(ctx, t, func(opts metav1.ListOptions) listing { return listJSON(ctx, c, path, opts, each) })
}

// wholeOrNamed runs a cluster-scoped list once, or once for each name asked for.
func (c *Cluster) wholeOrNamed(_ context.Context, t *tally, list func(metav1.ListOptions) listing) part {
	there := *c
	var err error
	if there.Scope, err = c.Scope.ofCluster(); err != nil {
		return t.part("", listing{err: err})
	}
	c = &there
	names := c.Scope.NamesOf(t.what)
	if len(names) == 0 {
		return t.part("", list(c.options()))
	}
	var gaps []inspect.Gap
	for _, name := range names {
		before := t.objects
		opts := c.options()
		opts.FieldSelector = c.Scope.fieldSelector(fields.OneTermEqualSelector(fieldName, name))
		l := list(opts)
		switch {
		case l.err != nil:
			gaps = append(gaps, gapOf(t.what, "", 0, l))
		case t.objects == before:
			gaps = append(gaps, inspect.Gap{What: t.what, Reason: fmt.Sprintf("no object named %q", name), Next: foreign.Command("", "kubectl get %s", t.what)})
		}
	}
	p := t.part("", listing{})
	p.Gaps = gaps
	return p
}

func kindOf(plural string) pki.Kind {
	for _, r := range Resources() {
		if r.Plural == plural {
			return r.Kind
		}
	}
	return pki.Kind(plural)
}

// projects lists the namespaces that an OpenShift user may see.
func (c *Cluster) projects(ctx context.Context) ([]string, error) {
	return c.names(ctx, "/apis/project.openshift.io/v1/projects")
}

// names lists the names of objects, and decodes nothing else of them: labels may be megabytes.
func (c *Cluster) names(ctx context.Context, path string) ([]string, error) {
	type named struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	var names []string
	l := listJSON(ctx, c, path, metav1.ListOptions{}, func(o *named) { names = append(names, o.Metadata.Name) })
	return names, l.err
}
