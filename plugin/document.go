package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"time"

	"sigs.k8s.io/yaml"
)

// printDocument prints what a program reads, as "json" or "yaml". Times are whole
// seconds of UTC, in all documents: jq's fromdate and others read no fractions.
func printDocument(out io.Writer, format string, d any) error {
	raw, err := json.MarshalIndent(wholeSeconds(d), "", "    ") // as kubectl's
	if err == nil && format == "yaml" {
		raw, err = yaml.JSONToYAML(raw)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", bytes.TrimSpace(raw))
	return err
}

// wholeSeconds is a document with its times cut to seconds. The document itself, which
// may share times with the facts that it is made from, stays as it is.
func wholeSeconds(d any) any {
	v := reflect.ValueOf(d)
	if !v.IsValid() {
		return d
	}
	return cutTimes(v).Interface()
}

func cutTimes(v reflect.Value) reflect.Value {
	if !hasTimes(v.Type(), map[reflect.Type]bool{}) {
		return v
	}
	if t, ok := v.Interface().(time.Time); ok {
		return reflect.ValueOf(t.UTC().Truncate(time.Second))
	}
	switch v.Kind() {
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(cutTimes(v.Field(i)))
			}
		}
		return out
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(cutTimes(v.Elem()))
		return out
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(cutTimes(v.Index(i)))
		}
		return out
	}
	return v
}

// hasTimes reports whether values of a type hold times. A type that writes itself
// cuts its own.
func hasTimes(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == reflect.TypeFor[time.Time]() {
		return true
	}
	if t.Kind() == reflect.Pointer {
		return hasTimes(t.Elem(), seen)
	}
	if seen[t] || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Slice:
		return hasTimes(t.Elem(), seen)
	case reflect.Struct:
		for field := range t.Fields() {
			if field.IsExported() && hasTimes(field.Type, seen) {
				return true
			}
		}
	}
	return false
}
