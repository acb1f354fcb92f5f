package collect

import (
	"fmt"
	"io"
)

const (
	// maxInner bounds what the lists within the elements of a snapshot's lists hold, together: the files
	// of the largest clusters' nodes are a tenth of that.
	maxInner = 4_000_000
	// maxMembers bounds the members of one object: annotations are 256 KiB, and no other map has as many.
	maxMembers = 100_000
	// maxAllMembers bounds those of all objects: elements have some ten each, in more bytes than such a
	// file may have.
	maxAllMembers = 20_000_000
)

// countedJSON reads or writes a snapshot's JSON, and ends with an error once it holds more than a snapshot
// of a cluster does: an element or a member of three bytes is a hundred in memory, so that it must not
// come to be decoded.
type countedJSON struct {
	from io.Reader
	to   io.Writer

	inner, all     int // elements of inner lists, and members
	open           []container
	quoted, escape bool
	err            error
}

type container struct {
	list    bool
	members int
}

func (c *countedJSON) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	if c.count(p[:n]); c.err != nil {
		return 0, c.err
	}
	return n, err
}

func (c *countedJSON) Write(p []byte) (int, error) {
	if c.count(p); c.err != nil {
		return 0, c.err
	}
	return c.to.Write(p)
}

// listDepth is how deep the lists of a snapshot are, which are bounded by themselves.
const listDepth = 2

func (c *countedJSON) count(p []byte) {
	for _, b := range p {
		switch {
		case c.err != nil:
			return
		case c.escape:
			c.escape = false
		case c.quoted:
			c.escape, c.quoted = b == '\\', b != '"'
		case b == '"':
			c.quoted = true
		case b == '{', b == '[':
			c.open = append(c.open, container{list: b == '['})
			c.element()
		case (b == '}' || b == ']') && len(c.open) > 0:
			c.open = c.open[:len(c.open)-1]
		case b == ',':
			c.element()
		}
	}
}

// element counts one of the innermost list or object.
func (c *countedJSON) element() {
	if len(c.open) == 0 {
		return
	}
	in := &c.open[len(c.open)-1]
	switch {
	case in.list && len(c.open) > listDepth:
		c.inner++
	case !in.list:
		in.members++
		c.all++
	}
	switch {
	case len(c.open) > 1000:
		c.err = fmt.Errorf("more than 1000 lists and objects within each other")
	case c.inner > maxInner:
		c.err = fmt.Errorf("the lists in its elements hold more than %d elements, and those of no cluster do", maxInner)
	case in.members > maxMembers:
		c.err = fmt.Errorf("an object in it has more than %d members", maxMembers)
	case c.all > maxAllMembers:
		c.err = fmt.Errorf("its objects have more than %d members, and those of no cluster do", maxAllMembers)
	}
}
