package reporttest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// validation holds a value to what schema writes; no other keyword is known to it.
type validation struct {
	defs     any
	problems []string
}

func (v *validation) fail(at, format string, args ...any) {
	v.problems = append(v.problems, at+": "+fmt.Sprintf(format, args...))
}

func (v *validation) check(at string, schema object, value any) {
	for keyword := range schema {
		if !slices.Contains(strings.Fields("$schema $defs $ref title type properties required items additionalProperties enum const format anyOf"), keyword) {
			v.fail(at, "the schema has the keyword %q, which nothing checks", keyword)
		}
	}
	if ref, ok := schema["$ref"].(string); ok {
		defs, _ := v.defs.(object)
		to, ok := defs[strings.TrimPrefix(ref, "#/$defs/")].(object)
		if !ok {
			v.fail(at, "there is no %s", ref)
			return
		}
		v.check(at, to, value)
	}
	if want, ok := schema["const"]; ok && want != value {
		v.fail(at, "%v is not %v", value, want)
	}
	if want, ok := schema["enum"].([]any); ok && !slices.Contains(want, value) {
		v.fail(at, "%v is none of %v", value, want)
	}
	if choices, ok := schema["anyOf"].([]any); ok && !slices.ContainsFunc(choices, func(one any) bool {
		try := validation{defs: v.defs}
		try.check(at, one.(object), value) //nolint:forcetypeassert // a schema is an object
		return len(try.problems) == 0
	}) {
		v.fail(at, "%v is none of %v", value, choices)
	}
	if want, ok := schema["type"].(string); ok && typeOf(value) != want && (want != "number" || typeOf(value) != "integer") {
		v.fail(at, "%v is no %s", value, want)
		return
	}
	switch value := value.(type) {
	case string:
		if _, err := time.Parse(time.RFC3339, value); schema["format"] == "date-time" && err != nil {
			v.fail(at, "%q is no time", value)
		}
	case []any:
		items, _ := schema["items"].(object)
		for i, one := range value {
			v.check(fmt.Sprintf("%s[%d]", at, i), items, one)
		}
	case object:
		v.object(at, schema, value)
	}
}

func (v *validation) object(at string, schema, value object) {
	if schema["type"] != "object" {
		return // a reference, which was checked
	}
	required, _ := schema["required"].([]any)
	for _, key := range required {
		if _, ok := value[key.(string)]; !ok { //nolint:forcetypeassert // a key is a string
			v.fail(at, "lacks %s", key)
		}
	}
	properties, _ := schema["properties"].(object)
	others, _ := schema["additionalProperties"].(object)
	for key, one := range value {
		of, ok := properties[key].(object)
		if !ok {
			of = others
		}
		if of == nil {
			v.fail(at, "has the key %q, of which the schema does not tell", key)
			continue
		}
		v.check(at+"."+key, of, one)
	}
}

func typeOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		if value == math.Trunc(value) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}
