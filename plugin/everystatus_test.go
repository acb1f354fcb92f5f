package plugin_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
)

// oneOfEach puts one element into each list of a status that has none, and one text into each map. Certificates are
// left out.
func oneOfEach(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.Type() == reflect.TypeFor[*pki.Cert]() {
			return
		}
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		oneOfEach(v.Elem())
	case reflect.Slice:
		of := v.Type().Elem()
		if of.Kind() == reflect.Uint8 || of == reflect.TypeFor[*pki.Cert]() {
			return
		}
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			oneOfEach(v.Index(i))
		}
	case reflect.Map:
		if v.Len() == 0 && v.Type() == reflect.TypeFor[map[string]string]() {
			v.Set(reflect.ValueOf(map[string]string{"a": "b"}))
		}
	case reflect.Struct:
		switch v.Type() {
		case reflect.TypeFor[pki.Cert](), reflect.TypeFor[time.Time]():
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				oneOfEach(v.Field(i))
			}
		}
	}
}

// TestNoSentenceOfAStatusIsBare: the status in a file, of operators, pools and nodes, has sentences in it. On no screen
// they stand in a line of this program's but between quotation marks.
func TestNoSentenceOfAStatusIsBare(t *testing.T) {
	if testing.Short() {
		t.Skip("many commands, which -short leaves out")
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	const said = " is lost for good. Delete this node and approve all CSRs"
	whole := func(s *inspect.Snapshot) reflect.Value {
		s.Status = plugintest.AtRest(*s)
		oneOfEach(reflect.ValueOf(s.Status))
		return reflect.ValueOf(s.Status)
	}
	var fields []string
	edited(t, func(s *inspect.Snapshot) {
		textsIn(whole(s), "", func(field string, _ reflect.Value) {
			if !slices.Contains(fields, field) {
				fields = append(fields, field)
			}
		})
	})
	if len(fields) < 40 {
		t.Fatalf("only %d fields: %v", len(fields), fields)
	}
	printed := 0
	for together := range slices.Chunk(fields, 4) {
		from := edited(t, func(s *inspect.Snapshot) {
			textsIn(whole(s), "", func(of string, text reflect.Value) {
				if slices.Contains(together, of) && !strings.HasSuffix(text.String(), said) {
					text.SetString(text.String() + said)
				}
			})
		})
		for _, form := range []string{"verify --details", "rotate --list --details", "rotate aggregator-client-signer --dry-run=client --details", "rotate loadbalancer-serving-signer --dry-run=client --details", "fix-api-int --nodes worker-2 --dry-run=client --details"} {
			_, out, errOut := certrot(append(strings.Fields(form), "--from", from)...)
			if strings.Contains(errOut, "--from: read") {
				t.Fatalf("%v: %s", together, errOut)
			}
			times, bare := plantedIn(out + errOut)
			if printed += times; bare != "" {
				t.Errorf("%v, %s: … %s", together, form, bare)
			}
		}
	}
	t.Logf("%d fields, printed %d times", len(fields), printed)
	if printed < 15 {
		t.Errorf("it was printed %d times", printed)
	}
}
