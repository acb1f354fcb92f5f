package reporttest

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
)

// field is a key of an object.
type field struct {
	key      string
	of       reflect.Type
	optional bool
}

// fieldsOf are the keys of a struct as encoding/json writes them: those of an embedded struct
// stand among its own.
func (d Document) fieldsOf(t reflect.Type) []field {
	var out []field
	for f := range t.Fields() {
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case key == "-":
		case f.Anonymous && key == "":
			out = append(out, d.fieldsOf(f.Type)...)
		case f.IsExported():
			out = append(out, field{key, f.Type, strings.Contains(options, "omit")})
		}
	}
	return out
}

// written is the type whose fields encoding/json writes for t.
func (d Document) written(t reflect.Type) reflect.Type {
	if other, ok := d.As[t]; ok {
		return other
	}
	return t
}

// isText reports whether a value is written as a string.
func isText(t reflect.Type) bool {
	return t == reflect.TypeFor[time.Time]() || t.Kind() == reflect.String ||
		t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) && !t.Implements(reflect.TypeFor[json.Marshaler]())
}

// Keys are all keys of the document, as paths: "claims[].missingCA.sha256".
func (d Document) Keys() []string {
	var out []string
	d.walk("", d.Type, &out)
	slices.Sort(out)
	return slices.Compact(out)
}

func (d Document) walk(at string, t reflect.Type, out *[]string) {
	t = d.written(t)
	switch {
	case isText(t):
	case t.Kind() == reflect.Pointer:
		d.walk(at, t.Elem(), out)
	case t.Kind() == reflect.Slice:
		d.walk(at+"[]", t.Elem(), out)
	case t.Kind() == reflect.Struct:
		for _, f := range d.fieldsOf(t) {
			path := strings.TrimPrefix(at+"."+f.key, ".")
			*out = append(*out, path)
			d.walk(path, f.of, out)
		}
	}
}
