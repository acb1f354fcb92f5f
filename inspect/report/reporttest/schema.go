package reporttest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
	"unicode"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
)

// Document is a kind of document that certrot prints.
type Document struct {
	APIVersion, Kind string
	Type             reflect.Type
	// As names for a type that writes itself the type whose fields it writes.
	As map[reflect.Type]reflect.Type
}

// Check holds the type to docs/schema/KIND.json, which UPDATE=1 writes, and to the table
// of the kind in docs/v1alpha2.md.
func (d Document) Check(t *testing.T) {
	t.Helper()
	file := filepath.Join(root(t), "docs", "schema", d.Kind+".json")
	want := d.schema(t)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, want, 0o644); err != nil { //nolint:gosec // G306: it is documentation
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not the schema of %s: run UPDATE=1 go test on this package (%v)", file, d.Type, err)
	}
	d.checkRenames(t)
}

// root is the folder of the module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("there is no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

// object is a JSON object; encoding/json sorts its keys.
type object = map[string]any

// schema is the JSON Schema of the document. It allows keys that it does not name: documents
// gain some within a version.
func (d Document) schema(t *testing.T) []byte {
	t.Helper()
	defs := object{}
	of := map[string]reflect.Type{}
	s := d.object(t, d.Type, defs, of)
	s["$schema"], s["title"] = "https://json-schema.org/draft/2020-12/schema", d.Kind
	s["properties"].(object)["apiVersion"] = object{"const": d.APIVersion} //nolint:forcetypeassert // made above
	s["properties"].(object)["kind"] = object{"const": d.Kind}             //nolint:forcetypeassert // made above
	if len(defs) > 0 {
		s["$defs"] = defs
	}
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(raw, '\n')
}

// valueSchema is the schema of a value. Structs are among the definitions.
func (d Document) valueSchema(t *testing.T, typ reflect.Type, defs object, names map[string]reflect.Type) object {
	t.Helper()
	typ = d.written(typ)
	switch {
	case typ == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case typ == reflect.TypeFor[assess.Status]():
		return object{"enum": []any{"pass", "warn", "fail", "unknown"}}
	case typ == reflect.TypeFor[assess.Severity]():
		return object{"enum": []any{"info", "warning", "critical"}}
	case isText(typ):
		return object{"type": "string"}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return d.valueSchema(t, typ.Elem(), defs, names)
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Slice:
		return object{"type": "array", "items": d.valueSchema(t, typ.Elem(), defs, names)}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": d.valueSchema(t, typ.Elem(), defs, names)}
	case reflect.Struct:
		first := []rune(typ.Name())
		first[0] = unicode.ToUpper(first[0])
		name := string(first)
		if other, ok := names[name]; ok && other != typ {
			t.Fatalf("%s and %s have one name", other, typ)
		}
		if _, ok := names[name]; !ok {
			names[name] = typ
			defs[name] = d.object(t, typ, defs, names)
		}
		return object{"$ref": "#/$defs/" + name}
	}
	t.Fatalf("%s: no schema says what %s is", d.Kind, typ)
	return nil
}

func (d Document) object(t *testing.T, typ reflect.Type, defs object, names map[string]reflect.Type) object {
	t.Helper()
	properties, required := object{}, []string{}
	for _, f := range d.fieldsOf(typ) {
		s := d.valueSchema(t, f.of, defs, names)
		if !f.optional {
			required = append(required, f.key)
			if f.of.Kind() == reflect.Pointer {
				s = object{"anyOf": []any{s, object{"type": "null"}}}
			}
		}
		properties[f.key] = s
	}
	return object{"type": "object", "properties": properties, "required": required}
}

// Validate holds a printed document to the schema of its kind, and to name no key beside those
// of the schema.
func Validate(t *testing.T, doc any) {
	t.Helper()
	top, _ := doc.(object)
	kind, _ := top["kind"].(string)
	raw, err := os.ReadFile(filepath.Join(root(t), "docs", "schema", filepath.Base(kind)+".json"))
	if err != nil {
		t.Fatalf("no schema for a document of kind %q: %v", kind, err)
	}
	var schema object
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	v := validation{defs: schema["$defs"]}
	v.check(kind, schema, doc)
	for _, problem := range v.problems {
		t.Error(problem)
	}
}
