package collect

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// jsonList is any list of objects of which the fields in T are wanted. Decoding
// into few fields keeps the schemas of CRDs, megabytes of them, out of memory.
type jsonList[T any] struct {
	Metadata metav1.ListMeta `json:"metadata"`
	Items    []T             `json:"items"`
}

// listJSON lists cluster-scoped objects at an API path, page by page.
func listJSON[T any](ctx context.Context, c *Cluster, path string, opts metav1.ListOptions, each func(*T)) listing {
	return listPages(ctx, opts, func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error) {
		req := c.JSON.Get().AbsPath(path).Param("limit", strconv.FormatInt(min(opts.Limit, jsonPageSize), 10))
		for name, value := range map[string]string{"continue": opts.Continue, "labelSelector": opts.LabelSelector, "fieldSelector": opts.FieldSelector} {
			if value != "" {
				req = req.Param(name, value)
			}
		}
		raw, err := req.Do(ctx).Raw()
		if err != nil {
			return metav1.ListMeta{}, err
		}
		var list jsonList[T]
		if err := json.Unmarshal(raw, &list); err != nil {
			return metav1.ListMeta{}, fmt.Errorf("decode %s: %w", path, err)
		}
		for i := range list.Items {
			each(&list.Items[i])
		}
		return list.Metadata, nil
	})
}

// jsonPageSize is smaller than pageSize: a CRD can be a megabyte.
const jsonPageSize = 50

// The parts of kinds that certrot reads of them; the field names are the API's.
type (
	clientConfig struct {
		CABundle []byte `json:"caBundle"`
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
	namedObject struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
)

func (c *Cluster) apiServices(ctx context.Context) inspect.Snapshot {
	var down []inspect.Gap
	s := clusterScoped(ctx, c, "apiservices", "/apis/"+apiregistrationV1+"/apiservices",
		func(o *apiServiceObject) (*metav1.ObjectMeta, map[string][]byte) {
			if g, bad := unavailable(o); bad {
				down = append(down, g)
			}
			return &o.Metadata, map[string][]byte{"spec.caBundle": o.Spec.CABundle}
		})
	s.Gaps = append(s.Gaps, down...)
	return s
}

func (c *Cluster) customResourceDefinitions(ctx context.Context) inspect.Snapshot {
	return clusterScoped(ctx, c, "customresourcedefinitions", "/apis/"+apiextensionsV1+"/customresourcedefinitions",
		func(o *crdObject) (*metav1.ObjectMeta, map[string][]byte) {
			return &o.Metadata, map[string][]byte{"spec.conversion.webhook.clientConfig.caBundle": o.Spec.Conversion.Webhook.ClientConfig.CABundle}
		})
}

// unavailable turns an aggregated API that does not answer into a gap.
func unavailable(o *apiServiceObject) (inspect.Gap, bool) {
	for _, c := range o.Status.Conditions {
		if c.Type == "Available" && c.Status == metav1.ConditionFalse {
			return inspect.Gap{
				What:   "apiservice " + o.Metadata.Name,
				Reason: fmt.Sprintf("the aggregated API is not available: %s: %s; objects that it serves could not be read", c.Reason, c.Message),
				Next:   "kubectl describe apiservice " + o.Metadata.Name,
			}, true
		}
	}
	return inspect.Gap{}, false
}

// clusterScoped lists a cluster-scoped resource and scans the values that pick
// names.
func clusterScoped[T any](ctx context.Context, c *Cluster, what, path string, pick func(*T) (*metav1.ObjectMeta, map[string][]byte)) inspect.Snapshot {
	t := &tally{what: what, observe: c.Observe}
	kind := kindOf(what)
	each := func(o *T) {
		meta, values := pick(o)
		t.count(1)
		t.add(bundlesOf(c.Scanner, objectOf(kind, meta), values, false))
	}
	return c.wholeOrNamed(ctx, t, func(opts metav1.ListOptions) listing { return listJSON(ctx, c, path, opts, each) })
}

// wholeOrNamed runs a cluster-scoped list once, or once for each name asked for.
func (c *Cluster) wholeOrNamed(_ context.Context, t *tally, list func(metav1.ListOptions) listing) inspect.Snapshot {
	if len(c.Scope.Names) == 0 {
		return t.snapshot("", list(c.options()))
	}
	var all inspect.Snapshot
	for _, name := range c.Scope.Names {
		before := t.objects
		opts := c.options()
		opts.FieldSelector = "metadata.name=" + name
		l := list(opts)
		switch {
		case l.err != nil:
			all.Gaps = append(all.Gaps, gapOf(t.what, "", 0, l))
		case t.objects == before:
			all.Gaps = append(all.Gaps, inspect.Gap{What: t.what, Reason: fmt.Sprintf("no object named %q", name), Next: "kubectl get " + t.what})
		}
	}
	s := t.snapshot("", listing{})
	s.Gaps = append(s.Gaps, all.Gaps...)
	return s
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
	var names []string
	l := listJSON(ctx, c, "/apis/project.openshift.io/v1/projects", metav1.ListOptions{}, func(o *namedObject) { names = append(names, o.Metadata.Name) })
	return names, l.err
}
