package collect

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

func (c *Cluster) secrets(ctx context.Context) part {
	return c.namespaced(ctx, "secrets", func(namespace string, t *tally) page {
		return func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error) {
			if len(c.Scope.NamesOf("secrets")) == 0 && !c.Scope.namesField(fieldType) {
				opts.FieldSelector = c.Scope.fieldSelector(fields.OneTermNotEqualSelector(fieldType, helmRelease))
			}
			return c.keyed(ctx, "Secret", "secrets", namespace, opts, t)
		}
	})
}

func (c *Cluster) configMaps(ctx context.Context) part {
	return c.namespaced(ctx, "configmaps", func(namespace string, t *tally) page { return c.keyedPage("ConfigMap", "configmaps", namespace, t) })
}

func (c *Cluster) keyedPage(kind pki.Kind, resource, namespace string, t *tally) page {
	return func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error) {
		return c.keyed(ctx, kind, resource, namespace, opts, t)
	}
}

// keyed reads one page of Secrets or ConfigMaps. What it finds counts only when
// the page came whole: a page that breaks off is asked for again.
func (c *Cluster) keyed(ctx context.Context, kind pki.Kind, resource, namespace string, opts metav1.ListOptions, t *tally) (metav1.ListMeta, error) {
	path := "/api/v1/" + resource
	if namespace != "" {
		path = "/api/v1/namespaces/" + namespace + "/" + resource
	}
	ask := func(opts metav1.ListOptions) (io.ReadCloser, error) {
		return withOptions(c.REST.Get().AbsPath(path), opts).SetHeader("Accept", runtime.ContentTypeProtobuf).Stream(ctx)
	}
	body, err := t.prefetch.take(opts, ask)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer func() { _ = body.Close() }() // read only
	n := 0
	t.page = t.page[:0]
	c = c.within(ctx)
	meta, err := readProtobufList(body, func(meta metav1.ListMeta) {
		next := opts
		next.Continue = meta.Continue
		t.prefetch.start(next, ask)
	}, func(item []byte) error {
		n++
		if err := c.Scanner.Over(); err != nil {
			return err
		}
		return c.scanItem(kind, item, t)
	})
	if err = cmp.Or(err, c.Scanner.Over()); err != nil { // what was cut short is not a page
		t.prefetch.drop()
		return meta, err
	}
	t.add(slices.Clone(t.page))
	t.count(n)
	return meta, nil
}

// scanItem scans the values of one object of a list, and adds what it finds to
// the page.
func (c *Cluster) scanItem(kind pki.Kind, item []byte, t *tally) error {
	before := len(t.page)
	sc := scannerFor(c.Scanner, wireNamespace(item))
	o, err := parseWireObject(kind, item, func(key, value []byte) error {
		for _, f := range sc.Scan(value) {
			t.page = append(t.page, inspect.Bundle{At: pki.Location{Key: t.word(key), Field: f.Field}, Content: f.Content})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if hasLocked(t.page[before:]) {
		opened, err := unlockItem(sc, kind, item, slices.Clone(t.page[before:]))
		if err != nil {
			return err
		}
		t.page = append(t.page[:before], opened...)
	}
	if key, ok := emptyKey(kind, o, t.page[before:]); ok && !sc.Full() {
		t.page = append(t.page, inspect.Bundle{At: pki.Location{Key: key}, Content: &pki.Content{}})
	}
	found := t.page[before:]
	if len(found) == 0 {
		return nil
	}
	if hasOddKey(found) {
		var keys []string
		_, err := parseWireObject(kind, item, func(key, _ []byte) error {
			keys = append(keys, string(key))
			return nil
		})
		if err != nil {
			return err
		}
		indexKeys(found, keys)
	}
	meta, err := parseWireMeta(o.metadata, t.word)
	if err != nil {
		return fmt.Errorf("decode metadata: %w", err)
	}
	obj := objectOf(kind, &meta)
	obj.Type = t.word(o.kind)
	charge(sc, obj)
	for i := range found {
		found[i].Object = obj
		found[i].At.Kind, found[i].At.Namespace, found[i].At.Name = kind, obj.Namespace, obj.Name
	}
	return nil
}

// unlockItem tries the values of an object as passwords of the keystores in it
// that stayed locked. Few objects have such, so the item is walked again for them
// and not remembered for all.
func unlockItem(sc *pki.Scanner, kind pki.Kind, item []byte, found []inspect.Bundle) ([]inspect.Bundle, error) {
	var other passwordCandidates
	_, err := parseWireObject(kind, item, func(key, value []byte) error {
		other.add(key, value)
		return nil
	})
	if err != nil || other.empty() {
		return found, err
	}
	u := newUnlocking(sc, found, other)
	_, err = parseWireObject(kind, item, func(key, value []byte) error {
		u.value(key, value)
		return nil
	})
	return u.all(), err
}

// emptyKey returns the key of an object that must hold certificates, and holds
// nothing of that kind among what was found. That is a fact, too: who reads it
// trusts no one, or has nothing to show.
func emptyKey(kind pki.Kind, o wireObject, found []inspect.Bundle) (string, bool) {
	namespace, name := "", ""
	if kind == "ConfigMap" { // of Secrets the type says it
		_ = eachField(o.metadata, func(field protowire.Number, v []byte) error { // malformed metadata is found out where it is decoded
			switch field {
			case metaNamespace:
				namespace = string(v)
			case metaName:
				name = string(v)
			}
			return nil
		})
	}
	key, ok := certificateKey(kind, namespace, name, string(o.kind))
	return key, ok && !slices.ContainsFunc(found, func(b inspect.Bundle) bool { return b.At.Key == key })
}
