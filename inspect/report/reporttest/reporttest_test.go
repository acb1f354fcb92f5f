package reporttest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
)

func TestKeysAreThoseThatAreWritten(t *testing.T) {
	t.Parallel()
	type part struct {
		X int `json:"x"`
	}
	type base struct {
		Name string `json:"name"`
	}
	type whole struct {
		base
		Parts  []part     `json:"parts"`
		One    *part      `json:"one,omitempty"`
		At     *time.Time `json:"at"`
		Hidden string     `json:"-"`
	}
	if got, want := (Document{Type: reflect.TypeFor[whole]()}).Keys(), []string{"at", "name", "one", "one.x", "parts", "parts[].x"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestValidationFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	type part struct {
		X int `json:"x"`
	}
	type whole struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Status     assess.Status  `json:"status"`
		At         *time.Time     `json:"at"`
		Parts      []part         `json:"parts,omitempty"`
		Counts     map[string]int `json:"counts,omitempty"`
	}
	var schema object
	if err := json.Unmarshal(Document{APIVersion: "v2", Kind: "Whole", Type: reflect.TypeFor[whole]()}.schema(t), &schema); err != nil {
		t.Fatal(err)
	}
	for doc, want := range map[string]string{
		`{"apiVersion":"v2","kind":"Whole","status":"pass","at":null,"parts":[{"x":1}],"counts":{"a":1}}`: "",
		`{"apiVersion":"v1","kind":"Whole","status":"pass","at":null}`:                                    "v1 is not v2",
		`{"apiVersion":"v2","kind":"Whole","status":"holds","at":null}`:                                   "holds is none of",
		`{"apiVersion":"v2","kind":"Whole","status":"pass"}`:                                              "lacks at",
		`{"apiVersion":"v2","kind":"Whole","status":"pass","at":"noon"}`:                                  "noon is none of",
		`{"apiVersion":"v2","kind":"Whole","status":"pass","at":"2026-01-31T12:00:00Z","parts":null}`:     "no array",
		`{"apiVersion":"v2","kind":"Whole","status":"pass","at":null,"parts":[{"x":"1"}]}`:                "no integer",
		`{"apiVersion":"v2","kind":"Whole","status":"pass","at":null,"parts":[{"x":1,"why":"?"}]}`:        `the key "why"`,
		`{"apiVersion":"v2","kind":"Whole","status":"pass","at":null,"counts":{"a":true}}`:                "no integer",
	} {
		var value any
		if err := json.Unmarshal([]byte(doc), &value); err != nil {
			t.Fatal(err)
		}
		v := validation{defs: schema["$defs"]}
		v.check("doc", schema, value)
		if got := strings.Join(v.problems, "; "); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
	}
}

func TestThePageIsHeldToTheKeys(t *testing.T) {
	t.Parallel()
	page := "# Keys\n\n## A\n\n| v1alpha1 | v1alpha2 |\n|---|---|\n| `a[].why` | `a[].reason` |\n| `lost` | – |\n\nNew: `new`,\n`newer`.\n\n## B\n\n| `x` | `y` |\n"
	old := []string{"a", "a[].why", "a[].why.text", "lost", "lost.x", "same"}
	for now, want := range map[string]string{
		"a a[].reason a[].reason.text same new newer":       "",
		"a a[].why a[].why.text same new newer":             "does not say where a[].why comes from",
		"a a[].reason a[].reason.text same new newer lost":  "does not say where lost comes from",
		"a a[].reason a[].reason.text same newer":           "there is no new",
		"a a[].reason a[].reason.text same new":             "there is no newer",
		"a a[].reason a[].reason.text same new newer other": "where other comes from",
	} {
		if got := strings.Join(compared(old, strings.Fields(now), renamesOf(page, "A")), "; "); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", now, got, want)
		}
	}
	if got := compared([]string{"a"}, []string{"a"}, []rename{{"b", "c"}}); !slices.Contains(got, "v1alpha1 had no b") {
		t.Errorf("a row of a key that was never there: %q", got)
	}
}
