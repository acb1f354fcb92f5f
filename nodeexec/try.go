package nodeexec

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// FirstOf is the first of these ways that leads onto a node, asked in this order.
// Where none does, the error says of each why.
func FirstOf(ways ...Transport) Transport { return firstOf(ways) }

type firstOf []Transport

func (f firstOf) Name() string {
	names := make([]string, len(f))
	for i, t := range f {
		names[i] = t.Name()
	}
	return strings.Join(names, ", ")
}

func (f firstOf) Dial(ctx context.Context, node string) (Node, error) {
	var refused refusals
	for _, t := range f {
		n, err := t.Dial(ctx, node)
		if err == nil {
			return tried{n, t.Name()}, nil
		}
		refused = append(refused, fmt.Errorf("%s: %w", t.Name(), err))
		if ctx.Err() != nil {
			break // the next one would only say the same
		}
	}
	if len(refused) == 0 {
		return nil, fmt.Errorf("no way onto node %s: no transport was allowed", node)
	}
	return nil, fmt.Errorf("no way onto node %s: %w", node, refused)
}

// Via returns the name of the transport that led to a node of FirstOf, and "" for
// any other Node.
func Via(n Node) string {
	if t, ok := n.(tried); ok {
		return t.via
	}
	return ""
}

type tried struct {
	Node
	via string
}

// refusals are why each transport did not lead to a node.
type refusals []error

func (r refusals) Error() string {
	texts := make([]string, len(r))
	for i, err := range r {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (r refusals) Unwrap() []error { return r }

// IsNoTransport reports whether an error of Dial says only that there is no way: nothing
// was tried on the node. One way that was tried in vain is another matter.
func IsNoTransport(err error) bool {
	var all refusals
	if !errors.As(err, &all) {
		return errors.Is(err, ErrNoTransport)
	}
	for _, err := range all {
		if !errors.Is(err, ErrNoTransport) {
			return false
		}
	}
	return true
}
