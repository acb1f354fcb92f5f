package ui

import (
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// subjects are texts of a tenant's, which YAML's writer must not write.
func subjects(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`CN=a\, "b" %d.`, i))
	}
	return out
}

// A tenant who made 4000 certificates with a comma in their names stopped -o yaml for two
// minutes: each text copied the whole document. It is bytes that are counted, not time.
func TestYAMLOfTwiceAsManyTextsIsTwiceTheWork(t *testing.T) { // not parallel: what others allocate would count
	work := func(n int) uint64 {
		texts := subjects(n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := PrintDocument(io.Discard, "yaml", texts); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if one, two := work(2000), work(4000); two > 3*one {
		t.Errorf("2000 texts take %d bytes, 4000 take %d", one, two)
	}
}

// What stands in for a text is no text of a tenant's.
func TestYAMLKeepsTextsThatLookLikeItsMarks(t *testing.T) {
	t.Parallel()
	want := map[string][]string{"escaped.0.": append(subjects(12), "escaped", "escaped.0.", "escaped-.1.", "a\nescaped.0.", strings.Repeat("escaped-", 9), "“escaped.99.”")}
	var out strings.Builder
	if err := PrintDocument(&out, "yaml", want); err != nil {
		t.Fatal(err)
	}
	var got map[string][]string
	if err := yaml.Unmarshal([]byte(out.String()), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("it reads back as %q, %v:\n%s", got, err, out.String())
	}
}
