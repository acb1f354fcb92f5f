package reporttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// frozenFile has a line for each key of the documents: its path, its type, whether it is always
// there, and the values of an enumeration. Lines are only added.
const frozenFile = "testdata/v1alpha2.txt"

// TestFrozenVersionOnlyGainsKeys: what reads certrot/v1alpha2 today reads it tomorrow. Each key
// stays, with its type, and stays there where it always was; UPDATE=1 adds new ones.
func TestFrozenVersionOnlyGainsKeys(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root(t), "docs", "schema", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no schemas: %v", err)
	}
	var now []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := keysOf(data)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		now = append(now, lines...)
	}
	slices.Sort(now)
	data, err := os.ReadFile(frozenFile)
	if err != nil && os.Getenv("UPDATE") == "" {
		t.Fatal(err)
	}
	frozen := strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' })
	lost, gained := compareKeys(frozen, now)
	for _, line := range lost {
		t.Errorf("certrot/v1alpha2 is frozen, and has no more: %s", line)
	}
	if len(gained) > 0 && os.Getenv("UPDATE") != "" {
		all := slices.Sorted(slices.Values(append(frozen, gained...)))
		if err := os.WriteFile(frozenFile, []byte(strings.Join(all, "\n")+"\n"), 0o644); err != nil { //nolint:gosec // G306: it is in the repository
			t.Fatal(err)
		}
		gained = nil
	}
	for _, line := range gained {
		t.Errorf("new, add it with UPDATE=1: %s", line)
	}
}

func TestKeysThatAreLostAreSeen(t *testing.T) {
	const before = `{"title":"K","required":["a"],"$defs":{"D":{"properties":{"x":{"enum":["1","2"]}}}},
		"properties":{"a":{"type":"string"},"b":{"type":"array","items":{"$ref":"#/$defs/D"}}}}`
	for name, c := range map[string]struct {
		old, new     string
		lost, gained int
	}{
		"the same":           {"", "", 0, 0},
		"a key is gone":      {`"a":{"type":"string"},`, "", 1, 0},
		"another type":       {`"a":{"type":"string"}`, `"a":{"type":"integer"}`, 1, 1},
		"no longer required": {`"required":["a"],`, "", 1, 1},
		"a value is gone":    {`"1","2"`, `"1"`, 1, 0},
		"a value more":       {`"1","2"`, `"1","2","3"`, 0, 1},
		"a key more":         {`"a":`, `"c":{"type":"string"},"a":`, 0, 1},
		"of an item":         {`"x":`, `"y":`, 3, 3},
	} {
		frozen, err := keysOf([]byte(before))
		if err != nil {
			t.Fatal(err)
		}
		now, err := keysOf([]byte(strings.Replace(before, c.old, c.new, 1)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if lost, gained := compareKeys(frozen, now); len(lost) != c.lost || len(gained) != c.gained {
			t.Errorf("%s: lost %q, gained %q", name, lost, gained)
		}
	}
}

func compareKeys(frozen, now []string) (lost, gained []string) {
	for _, line := range frozen {
		if !slices.Contains(now, line) {
			lost = append(lost, line)
		}
	}
	for _, line := range now {
		if !slices.Contains(frozen, line) {
			gained = append(gained, line)
		}
	}
	return lost, gained
}

// keysOf is a line for each key of a schema, in any depth, such as
// "Inventory findings[].status string always", and one for each value of an enumeration.
func keysOf(schema []byte) ([]string, error) {
	var s object
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	title, _ := s["title"].(string)
	defs, _ := s["$defs"].(object)
	lines := map[string]bool{}
	var walk func(path, when string, s object, above []string) error
	walk = func(path, when string, s object, above []string) error {
		if ref, ok := s["$ref"].(string); ok {
			name := strings.TrimPrefix(ref, "#/$defs/")
			to, ok := defs[name].(object)
			if !ok {
				return fmt.Errorf("%s: there is no %s", path, ref)
			}
			if slices.Contains(above, name) { // a type in itself
				lines[fmt.Sprintf("%s %s %s%s", title, path, name, when)] = true
				return nil
			}
			return walk(path, when, to, append(slices.Clone(above), name))
		}
		kind := "any"
		if value, ok := s["const"]; ok {
			kind = fmt.Sprintf("%q", value)
		} else if _, ok := s["enum"]; ok {
			kind = "enumeration"
		} else if format, ok := s["format"].(string); ok {
			kind = format
		} else if value, ok := s["type"]; ok {
			kind = fmt.Sprint(value)
		}
		if path != "" {
			lines[fmt.Sprintf("%s %s %s%s", title, path, kind, when)] = true
		}
		if values, ok := s["enum"].([]any); ok {
			for _, v := range values {
				lines[fmt.Sprintf("%s %s = %v", title, path, v)] = true
			}
		}
		for _, of := range []string{"anyOf", "oneOf", "allOf"} {
			some, _ := s[of].([]any)
			for _, one := range some {
				if err := walk(path, when, one.(object), above); err != nil {
					return err
				}
			}
		}
		if items, ok := s["items"].(object); ok {
			if err := walk(path+"[]", "", items, above); err != nil {
				return err
			}
		}
		if each, ok := s["additionalProperties"].(object); ok {
			if err := walk(path+".*", "", each, above); err != nil {
				return err
			}
		}
		properties, _ := s["properties"].(object)
		required, _ := s["required"].([]any)
		for name, p := range properties {
			when := ""
			if slices.Contains(required, any(name)) {
				when = " always"
			}
			if err := walk(strings.TrimPrefix(path+"."+name, "."), when, p.(object), above); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk("", "", s, nil); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(lines)), nil
}
