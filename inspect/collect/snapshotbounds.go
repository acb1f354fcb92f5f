package collect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// snapshotBounds are what a snapshot file may have: in bytes when unpacked, and, as elements of two bytes are
// hundreds in memory, in bytes that its lists and maps take there, all together.
type snapshotBounds struct {
	size, memory int
	text         int // bytes of one text: a kubeconfig's is the longest
	members      int // of one object: annotations are 256 KiB, and no other map has as many
}

// boundsOfSnapshots are many times what the largest clusters need, and little enough for memory: what a
// cluster's file of maxSnapshot bytes holds takes no more than twice its size.
func boundsOfSnapshots() snapshotBounds {
	return snapshotBounds{size: maxSnapshot, memory: 784 << 20, text: 16 << 20, members: 100_000}
}

// countedJSON reads or writes a snapshot's JSON, and ends with an error once it holds more than its bounds
// say: it must not come to be decoded. It follows the types into which it is decoded.
type countedJSON struct {
	from   io.Reader
	to     io.Writer
	bounds snapshotBounds

	memory int
	open   []container
	fields map[reflect.Type]map[string]reflect.Type

	quoted, escaped bool
	length          int    // of what is quoted
	naming          bool   // the text that is quoted names a member
	name            []byte // of it, as it is written
	err             error
}

// container is a list or an object that is not read to its end.
type container struct {
	of      reflect.Type // into which it is decoded; nil: into none
	list    bool
	begun   bool         // a list that has elements
	each    int          // bytes that one of them takes
	member  reflect.Type // of the value that is next in an object
	named   bool         // that member's name was read
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

func (c *countedJSON) count(p []byte) {
	for len(p) > 0 && c.err == nil {
		if c.quoted {
			p = c.text(p)
			continue
		}
		b := p[0]
		p = p[1:]
		var in *container
		if len(c.open) > 0 {
			in = &c.open[len(c.open)-1]
		}
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		case ']', '}':
			if in != nil {
				c.open = c.open[:len(c.open)-1]
			}
			continue
		}
		if in != nil && in.list && !in.begun {
			in.begun = true
			c.hold(in.each)
		}
		switch {
		case b == '"':
			c.quoted, c.length, c.naming, c.name = true, 0, in != nil && !in.list && !in.named, c.name[:0]
		case b == '{' || b == '[':
			c.begin(b == '[')
		case b == ',' && in != nil && in.list:
			c.hold(in.each)
		case b == ',' && in != nil:
			in.named = false
		}
	}
}

// text goes on with what is quoted, and returns what follows.
func (c *countedJSON) text(p []byte) (rest []byte) {
	defer func() {
		if c.length += len(p) - len(rest); c.length > c.bounds.text {
			c.err = fmt.Errorf("a text in it has more than %d bytes", c.bounds.text)
		}
	}()
	const longest = 200 // of names that are known, each letter escaped
	n := bytes.IndexAny(p, `"\`)
	if c.escaped || n < 0 {
		n = len(p) - 1
		if c.escaped {
			n = 0
		}
		if c.escaped = false; c.naming && len(c.name) < longest {
			c.name = append(c.name, p[:n+1]...)
		}
		return p[n+1:]
	}
	if c.naming && len(c.name) < longest {
		c.name = append(c.name, p[:n]...)
	}
	if c.escaped = p[n] == '\\'; c.escaped {
		if c.naming {
			c.name = append(c.name, '\\')
		}
		return p[n+1:]
	}
	if c.quoted = false; c.naming {
		c.memberOf(&c.open[len(c.open)-1])
	}
	return p[n+1:]
}

// begin begins a list or an object.
func (c *countedJSON) begin(list bool) {
	var t reflect.Type
	switch {
	case len(c.open) == 0:
		t = reflect.TypeFor[snapshotFile]()
	case c.open[len(c.open)-1].list:
		if t = c.open[len(c.open)-1].of; t != nil {
			t = t.Elem()
		}
	default:
		t = c.open[len(c.open)-1].member
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
		c.hold(int(t.Size()))
	}
	next := container{list: list}
	switch {
	case t == nil:
	case list && t.Kind() == reflect.Slice:
		next.of, next.each = t, sizeInMemory(t.Elem())
	case !list && (t.Kind() == reflect.Struct || t.Kind() == reflect.Map):
		next.of = t
	}
	if c.open = append(c.open, next); len(c.open) > 1000 {
		c.err = fmt.Errorf("more than 1000 lists and objects within each other")
	}
}

// memberOf goes on with the value of a member whose name was read.
func (c *countedJSON) memberOf(in *container) {
	in.named, in.member = true, nil
	if in.members++; in.members > c.bounds.members {
		c.err = fmt.Errorf("an object in it has more than %d members", c.bounds.members)
	}
	switch {
	case in.of == nil:
	case in.of.Kind() == reflect.Struct:
		in.member = c.field(in.of)
	default:
		in.member = in.of.Elem()
		c.hold(sizeOfMember(in.of, in.members))
	}
}

// sizeOfMember is what a map takes for its n-th member: the first makes a map, and room for eight.
func sizeOfMember(t reflect.Type, n int) int {
	const header, group = 48, 8
	each := int(t.Key().Size() + t.Elem().Size())
	switch {
	case n == 1:
		return header + group + group*each
	case n <= group:
		return 0
	}
	return 2 * each
}

// field is the type of the field that has the name that was read; nil: none has. As encoding/json does, it
// takes names in letters of another case.
func (c *countedJSON) field(t reflect.Type) reflect.Type {
	if c.fields == nil {
		c.fields = map[reflect.Type]map[string]reflect.Type{}
	}
	fields := c.fields[t]
	if fields == nil {
		fields = map[string]reflect.Type{}
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			fields[name] = f.Type
		}
		c.fields[t] = fields
	}
	if found := fields[string(c.name)]; found != nil {
		return found
	}
	name := string(c.name)
	if strings.Contains(name, `\`) && json.Unmarshal([]byte(`"`+name+`"`), &name) != nil {
		return nil
	}
	for known, found := range fields {
		if strings.EqualFold(known, name) {
			return found
		}
	}
	return nil
}

// hold counts what something takes in memory.
func (c *countedJSON) hold(size int) {
	if c.memory += size; c.memory > c.bounds.memory {
		c.err = fmt.Errorf("what is in its lists takes more than %d MiB of memory, and those of no cluster do", c.bounds.memory>>20)
	}
}

// sizeInMemory is what an element of a list takes: as it is read, and as what becomes of it.
func sizeInMemory(t reflect.Type) int {
	size := 2 * t.Size()
	switch t {
	case reflect.TypeFor[[]byte](): // of a certificate
		size += reflect.TypeFor[pki.Cert]().Size()
	case reflect.TypeFor[fileBundle]():
		size += reflect.TypeFor[inspect.Bundle]().Size() + reflect.TypeFor[inspect.Entry]().Size()
	case reflect.TypeFor[fileReference](), reflect.TypeFor[fileReported](), reflect.TypeFor[fileExposed](), reflect.TypeFor[fileServerLog]():
		size += 2 * reflect.TypeFor[pki.Location]().Size()
	}
	return int(size)
}
