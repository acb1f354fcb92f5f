package nodeexec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// podsOn lists the pods of a node: of all namespaces at once, or, where that is
// not allowed, of those that are named.
func (a *podAPI) podsOn(ctx context.Context, node string, namespaces []string, selector string) ([]podObject, error) {
	if slices.ContainsFunc(namespaces, func(s string) bool { return strings.ContainsAny(s, `*?[\`) }) {
		all, err := a.listPods(ctx, "", node, selector)
		if err == nil || !isRBAC(err) {
			return all, err
		}
	}
	var all []podObject
	var denied []error
	for _, ns := range namespaces {
		if strings.ContainsAny(ns, `*?[\`) {
			continue
		}
		pods, err := a.listPods(ctx, ns, node, selector)
		if err != nil && !isRBAC(err) {
			return nil, err
		}
		if err != nil {
			denied = append(denied, err)
		}
		all = append(all, pods...)
	}
	if len(all) == 0 {
		return nil, errors.Join(denied...)
	}
	return all, nil
}

// listPods lists pods, page by page and in each pod by pod: a tenant's may have megabytes, of which little is kept.
func (a *podAPI) listPods(ctx context.Context, namespace, node, selector string) ([]podObject, error) {
	var all []podObject
	var pages foreign.Pages
	for next := ""; ; {
		r := a.rest.Get().AbsPath(podsPath(namespace)).Param("limit", "250").Param("continue", next).Param("labelSelector", selector)
		if node != "" {
			r = r.Param("fieldSelector", fields.OneTermEqualSelector("spec.nodeName", node).String())
		}
		body, err := r.Stream(ctx)
		if err == nil {
			next, err = readPods(body, func(p podObject) {
				if selector != debugLabel { // of other pods they are of no use, and large
					p.Metadata.Annotations = nil
				}
				all = append(all, p)
			})
			_ = body.Close() // read only
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", podsPath(namespace), foreign.Error(err))
		}
		if more, err := pages.Next(next); !more {
			return all, err
		}
	}
}

// readPods reads a page of a list of pods, and returns the token of the next one.
func readPods(in io.Reader, each func(podObject)) (next string, err error) {
	dec := json.NewDecoder(in)
	if err := begins(dec, '{'); err != nil {
		return "", err
	}
	listed := false
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return "", err
		}
		switch key {
		case "metadata":
			var meta struct {
				Continue string `json:"continue"`
			}
			err = dec.Decode(&meta)
			next = meta.Continue
		case "items":
			listed = true
			err = readItems(dec, each)
		default:
			err = dec.Decode(new(json.RawMessage))
		}
		if err != nil {
			return "", err
		}
	}
	if !listed {
		return "", errors.New("the answer is no list of pods")
	}
	return next, begins(dec, '}')
}

func readItems(dec *json.Decoder, each func(podObject)) error {
	switch token, err := dec.Token(); {
	case err != nil || token == nil: // null is a list without items
		return err
	case token != json.Delim('['):
		return fmt.Errorf("want [, got %v", token)
	}
	for dec.More() {
		var p podObject
		if err := dec.Decode(&p); err != nil {
			return err
		}
		each(p)
	}
	return begins(dec, ']')
}

// begins takes what comes next, which is to be this one.
func begins(dec *json.Decoder, want json.Delim) error {
	token, err := dec.Token()
	if err == nil && token != want {
		err = fmt.Errorf("want %v, got %v", want, token)
	}
	return err
}
