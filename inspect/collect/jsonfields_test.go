package collect

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// objectsInJSON are what a file may hold, also such as no API server writes.
func objectsInJSON() []string {
	return []string{
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"b","resourceVersion":"7","managedFields":[{"time":"2024-01-01T00:00:00Z"}]},"type":"Opaque","data":{"a":"LS0t","b":"","c":"x\ny","d":"\u00e9\"","e":"é"}}`,
		` { "kind" : "List" , "apiVersion" : "v1" , "items" : [ {"a":[1,{"b":"]}"}]} , 2 , "x" , null , [] ] } `,
		`{"kind":"List","items":[]}`, `{"kind":"List","items":[ ]}`, `{"kind":"List","items":null}`, `{"kind":"List","items":{}}`, `{"kind":"List","items":"x"}`, `{}`, `{ }`, `null`, `[]`, `"x"`, `1`,
		`{"KIND":"a","kind":"b"}`, `{"kind":"a","KIND":"b"}`, `{"kind":"a","kind":"b"}`, `{"\u006bind":"a"}`, `{"` + "\u212a" + `ind":"a"}`, `{"kind":null}`, `{"kind":1}`, `{"metadata":null}`, `{"metadata":[]}`, `{"metadata":{"name":1}}`, `{"metadata":{"creationTimestamp":"x"}}`,
		`{"data":null}`, `{"data":{}}`, `{"data":{"a":null}}`, `{"data":{"a":1}}`, `{"data":{"a":"1","a":"2"}}`, `{"data":[]}`, `{"data":"x"}`, `{"Data":{"a":"x"}}`, `{"data":{"a":"x"},"DATA":{"b":"y"}}`, `{"data":{"a\n":"\\","b\"":"\\\""}}`, `{"data":{"a":"` + "\xff" + `"}}`, `{"` + "\xff" + `":1,"kind":"a"}`,
		`{"type":null,"stringData":{"a":"b"},"binaryData":{"c":"ZA=="}}`, `{"type":{}}`, `{"data":{"a":"\ud800"}}`, `{"spec":{"kind":"x"},"kind":"y","status":-1.5e3}`,
	}
}

// TestFieldsOfJSON: what is found by passing over the rest is what encoding/json decodes.
func TestFieldsOfJSON(t *testing.T) {
	t.Parallel()
	for _, raw := range objectsInJSON() {
		if !json.Valid([]byte(raw)) {
			t.Errorf("no JSON: %s", raw)
		}
		sameJSON(t, []byte(raw))
	}
	r := rand.New(rand.NewPCG(1, 2))
	const marks = `{}[]:,"\\ kK1n`
	valid := 0
	for range 20000 {
		raw := []byte(objectsInJSON()[r.IntN(len(objectsInJSON()))])
		for range 1 + r.IntN(3) {
			at := r.IntN(len(raw))
			if r.IntN(2) == 0 {
				raw[at] = marks[r.IntN(len(marks))]
			} else {
				raw = append(raw[:at], append([]byte{marks[r.IntN(len(marks))]}, raw[at:]...)...)
			}
		}
		if sameJSON(t, raw) {
			valid++
		}
	}
	if valid < 2000 {
		t.Errorf("only %d were valid", valid)
	}
	if h, err := headerOf([]byte(objectsInJSON()[1])); err != nil || len(h.Items) != 5 || string(h.Items[0]) != `{"a":[1,{"b":"]}"}]}` {
		t.Errorf("%s, %v", h.Items, err)
	}
}

// sameJSON fails where the two differ; false: it is no JSON, of which only an end is wanted.
func sameJSON(t *testing.T, raw []byte) bool {
	t.Helper()
	gotHeader, gotErr := headerOf(raw)
	gotValues, gotErr2 := valuesOf(raw)
	if !json.Valid(raw) {
		return false
	}
	var header header
	var values gatheredValues
	err, err2 := json.Unmarshal(raw, &header), json.Unmarshal(raw, &values)
	if fmt.Sprint(gotErr, gotErr2) != fmt.Sprint(err, err2) {
		t.Errorf("%s: %v and %v, not %v and %v", raw, gotErr, gotErr2, err, err2)
	}
	if err == nil && !same(gotHeader, header) || err2 == nil && !same(gotValues, values) {
		t.Errorf("%s is\n%+v\n%+v, not\n%+v\n%+v", raw, gotHeader, gotValues, header, values)
	}
	return true
}

// same is equality, and takes an empty list or map for none.
func same(a, b any) bool {
	return reflect.DeepEqual(a, b) || strings.ReplaceAll(fmt.Sprintf("%+v", a), "[]", "") == strings.ReplaceAll(fmt.Sprintf("%+v", b), "[]", "")
}
