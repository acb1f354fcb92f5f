package collect

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// readSized reads a file of so many bytes. They are not believed before they come:
// memory grows with what is there.
func readSized(r io.Reader, size int64) ([]byte, error) {
	var data []byte
	for _, step := range []int64{1 << 20, 16 << 20, size} {
		more := make([]byte, min(step, size)+1)
		had := copy(more, data)
		n, err := fill(more[had:], r)
		data = more[:had+n]
		switch {
		case err == io.EOF: //nolint:errorlint // wrapped, it is that of something inside
			return data, nil
		case err != nil:
			return data, err
		case step >= size:
			return data, errors.New("it grew while it was read")
		}
	}
	return data, nil
}

// gatheredPlace is where in a must-gather a file of objects is.
type gatheredPlace struct {
	image    string // directory
	cluster  bool   // among what has no namespace
	resource string // group/plural
	list     string // the namespace whose objects these are; empty: one object, or none of a namespace
}

// placeOf tells from a file's name which objects it holds; false for files that
// hold none.
func placeOf(name string) (gatheredPlace, bool) {
	ext := path.Ext(name)
	if ext != ".yaml" && ext != ".yml" && ext != ".json" {
		return gatheredPlace{}, false
	}
	parts := strings.Split(strings.TrimSuffix(name, ext), "/")
	part := func(fromEnd int) string {
		if fromEnd > len(parts) {
			return ""
		}
		return parts[len(parts)-fromEnd]
	}
	at := func(fromEnd int, resource string) (gatheredPlace, bool) {
		return gatheredPlace{path.Join(parts[:len(parts)-fromEnd]...), part(fromEnd) == gatheredCluster, resource, ""}, true
	}
	switch {
	case part(4) == gatheredCluster: // cluster-scoped-resources/group/resource/name
		return at(4, part(3)+"/"+part(2))
	case part(3) == gatheredCluster: // cluster-scoped-resources/group/resource, a list
		return at(3, part(2)+"/"+part(1))
	case part(5) == gatheredNamespaces: // namespaces/namespace/group/resource/name
		return at(5, part(3)+"/"+part(2))
	case part(4) == gatheredNamespaces: // namespaces/namespace/group/resource, a list
		p, ok := at(4, part(2)+"/"+part(1))
		p.list = part(3)
		return p, ok
	case part(3) == gatheredNamespaces && part(2) == part(1): // namespaces/namespace/namespace
		return at(3, "core/namespaces")
	}
	return gatheredPlace{}, false
}

// holds is which of the kinds read over the API a place has; false: another.
func (p gatheredPlace) holds() (Resource, bool) {
	group, plural, _ := strings.Cut(p.resource, "/")
	i := slices.IndexFunc(Resources(), func(r Resource) bool {
		in, _, grouped := strings.Cut(r.apiVersion, "/")
		return r.path() == plural && (grouped && in == group || !grouped && group == "core")
	})
	if i < 0 {
		return Resource{}, false
	}
	return Resources()[i], true
}

// known reports whether certrot reads the objects of a place.
func (p gatheredPlace) known() bool {
	switch p.resource {
	case "core/namespaces", "core/nodes", configGroup + "/clusterversions", configGroup + "/clusteroperators", configGroup + "/infrastructures":
		return true
	}
	_, ok := p.holds()
	return ok
}

// numbered writes a number and its noun; the plural has an s unless given.
func numbered(n int, one string, many ...string) string {
	if n == 1 {
		return "1 " + one
	}
	if len(many) > 0 {
		return fmt.Sprintf("%d %s", n, many[0])
	}
	return fmt.Sprintf("%d %ss", n, one)
}
