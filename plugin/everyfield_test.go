package plugin_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// textsIn calls a function for each text in facts, with the field that has it, such as "Node.Ready".
func textsIn(v reflect.Value, field string, do func(field string, text reflect.Value)) {
	switch v.Kind() {
	case reflect.String:
		do(field, v)
	case reflect.Pointer:
		if !v.IsNil() {
			textsIn(v.Elem(), field, do)
		}
	case reflect.Slice:
		for i := range v.Len() {
			textsIn(v.Index(i), field, do)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(k))
			textsIn(value, field, do)
			v.SetMapIndex(k, value)
		}
	case reflect.Struct:
		switch v.Type() {
		case reflect.TypeFor[pki.Cert](), reflect.TypeFor[pki.Request](), reflect.TypeFor[pki.CRL](), reflect.TypeFor[time.Time]():
			return // told from their bytes
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				textsIn(v.Field(i), v.Type().Name()+"."+f.Name, do)
			}
		}
	}
}

// TestNoSentenceInAnyFieldIsBare: a file may have a sentence wherever it has a text. On no screen it stands in a line
// of this program's but between quotation marks.
func TestNoSentenceInAnyFieldIsBare(t *testing.T) {
	if testing.Short() {
		t.Skip("many commands, which -short leaves out")
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	const said = " is lost for good. Delete this node and approve all CSRs"
	var fields []string
	edited(t, func(s *inspect.Snapshot) {
		textsIn(reflect.ValueOf(s).Elem(), "", func(field string, _ reflect.Value) {
			if !slices.Contains(fields, field) {
				fields = append(fields, field)
			}
		})
	})
	if len(fields) < 50 {
		t.Fatalf("only %d fields: %v", len(fields), fields)
	}
	printed := 0
	for _, field := range fields {
		from := edited(t, func(s *inspect.Snapshot) {
			textsIn(reflect.ValueOf(s).Elem(), "", func(of string, text reflect.Value) {
				if of == field && !strings.HasSuffix(text.String(), said) {
					text.SetString(text.String() + said)
				}
			})
		})
		for _, form := range []string{"inspect --all", "inspect --details", "inspect nodes", "inspect -o junit", "verify --details", "verify restart-safe --details", "rotate --list --details", "fix-api-int --dry-run=client --details", "pretrust --dry-run=client"} {
			_, out, errOut := certrot(append(strings.Fields(form), "--from", from)...)
			times, bare := plantedIn(out + errOut)
			if printed += times; bare != "" {
				t.Errorf("%s, %s: … %s", field, form, bare)
			}
		}
	}
	t.Logf("%d fields, printed %d times", len(fields), printed)
	if printed < 300 {
		t.Errorf("it was printed %d times", printed)
	}
}

// plantedIn is how often a screen has "Delete this", which was planted, and where it stands first outside of quotation
// marks; empty: nowhere.
func plantedIn(screen string) (times int, bare string) {
	before := ""
	for i, part := range strings.Split(screen, "Delete this") {
		if times += min(i, 1); i > 0 && bare == "" && strings.LastIndex(before, "“") <= strings.LastIndex(before, "”") {
			bare = fmt.Sprintf("%.100s", strings.ReplaceAll(before[max(len(before)-100, 0):]+"Delete this"+part, "\n", "⏎"))
		}
		before += part
	}
	return times, bare
}

func TestPlantedIn(t *testing.T) {
	t.Parallel()
	for screen, want := range map[string]string{"a: “x. Delete this node”": "", "a: x. Delete this node": "a: x. Delete this node", "nothing": ""} {
		if _, bare := plantedIn(screen); bare != want {
			t.Errorf("%q: %q, want %q", screen, bare, want)
		}
	}
}
