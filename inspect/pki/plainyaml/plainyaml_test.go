package plainyaml

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// texts are of the plain kind.
func texts() []string {
	return []string{
		"a: b\n", "---\na: b\n", "a:\nb: \"\"\nc: ''\nd: {}\ne: []\n", "b: 1\na: 2\n", "a:\n- b\n- c: d\n  e:\n  - f\n  -   g: 1\n-\n-\n  h: i\nj:\n  - - k\n    - l\n  - m\n",
		"a: |\n  x\n   y\n\n  z\n\nb: |-\n  x\n\n\nc: |+\n  x\n\n\n", "a: |\n\n  x\n     \n", "- |\n x\n- |-\n  y\n", "a:\n- |\n x\n",
		"a: \"\\n \\t \\\" \\\\ \\u00e9 \\x41 \\u003c\\r\\u0001\\x7f\"\nb: 'it''s'\n", "a: \"b\n  c \\\n  \\ d\n  e\"\nb: 'c\n  d'\n", "a: one\n  two \"three\"\n  (four)\nb: c\n",
		"a: -1\nb: 0\nc: 12\nd: 1.5\ne: 1e3\nf: 4.8.0\ng: 0755\nh: 0x1f\nh1: 10.0.0.1\nh2: 0b1.0.1\ni: 1_000\nj: 2021-08-03\nk: 0c84f9ad-62de\nl: 12e\nm: .5\nn1: +1\no: -0\np: 10:20\nq: 0b1\nr: 0o7\ns: -x\n",
		"a: true\nb: False\nc: yes\nd: no\ne: ~\nf: null\ni: on\nj: nothing\nk: y\nl: Null\nm: .\n",
		"f:metadata:\n  f:a: {}\n  .: {}\n  k:{\"type\":\"Ready\"}:\n    f:b: {}\n  'k:{\"a\": 1}':\n    .: {}\n\"true\": x\n\"\": y\n", "a: <b>&c\nb: \u00e9\nc: a#b\nd: http://x/y?z\n",
		"name: x\ntype: y\nnew: z\nno-such: 1\n", "a: b c\nx y: z\n", "a: |\n  x\n  y\tz\n", "apiVersion: v1\nitems:\n- data:\n    ca.crt: |\n      -----BEGIN CERTIFICATE-----\n      MIIB\n      -----END CERTIFICATE-----\nkind: List\n",
	}
}

// others are not, or are no YAML.
func others() []string {
	return []string{
		"", "\n", "a", "a: b", "a: b\r\n", "a: [b]\n", "a: {b: c}\n", "a: &x b\nc: *x\n", "a: !!str 1\n", "a: b # c\n", "# c\na: b\n", "a: b\na: c\n", "a: >\n  b\n", "a: |2\n   b\n", "a: b: c\n",
		"a:\n  b: c\n d: e\n", "a:\n  - b\n c: d\n", "- a\nb: c\n", "? a\n: b\n", "<<: {}\n", "a:\tb\n", "a: b\tc\n", "a: \"b\n\n  c\"\n", "a: b\n\n  c\n", "a: |\n   \n  b\n", "a: |\n  b\n\t\n", "a: \"\\q\"\n", "a: \"\\ud800\"\n",
		"1: a\n", "true: a\n", "null: a\n", "a: \"b\n", "a: 'b'c\n", "'a' : b\n", "a : b\n", "a: b\n---\nc: d\n", "a: b\n...\n", "%YAML 1.1\n---\na: b\n", "\ufeffa: b\n", "a: \u2028\n", "a: \u0085\n", "a: \x00\n", "a: \x7f\n", "a: \xff\n", "a: \"x\\ \n  y\"\n", "a: b\n  c: d\n", "a: |\nb: c\n", "a: |\n  \tx\n", "a: .nan\n",
	}
}

// TestReads: of the plain kind, all is read here; of others, nothing.
func TestReads(t *testing.T) {
	t.Parallel()
	for _, text := range texts() {
		if _, ok := ToJSON([]byte(text), yaml.YAMLToJSON); !ok {
			t.Errorf("not read: %q", text)
		}
		isSame(t, []byte(text))
	}
	for _, text := range others() {
		if out, ok := ToJSON([]byte(text), yaml.YAMLToJSON); ok {
			t.Errorf("%q is read: %s", text, out)
		}
	}
	deep := ""
	for i := range 500 {
		deep += strings.Repeat(" ", i) + "a:\n"
	}
	for _, text := range []string{deep, strings.Repeat("- 0.5\n", 1001), strings.Repeat("- ", 500) + "a\n", strings.Repeat("k", 2000) + ": v\n"} {
		if _, ok := ToJSON([]byte(text), yaml.YAMLToJSON); ok {
			t.Errorf("%.20q is read", text)
		}
	}
}

// isSame fails where a text is read otherwise than by a parser of all of YAML.
func isSame(t *testing.T, text []byte) bool {
	t.Helper()
	got, ok := ToJSON(text, yaml.YAMLToJSON)
	if !ok {
		return false
	}
	want, err := yaml.YAMLToJSON(text)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%q is read as\n%s, not as\n%s, %v", text, got, want, err)
	}
	return true
}

// TestSame generates objects, changes what is written of them here and there, and puts pieces of
// YAML together.
func TestSame(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	read, changed := 0, 0
	const n = 3000
	for range n {
		text, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "items": value(r, 4), "data": value(r, 3)})
		if err != nil {
			t.Fatal(err)
		}
		if isSame(t, text) {
			read++
		}
		if isSame(t, change(r, text)) {
			changed++
		}
		isSame(t, change(r, []byte(texts()[r.IntN(len(texts()))])))
		isSame(t, change(r, []byte(others()[r.IntN(len(others()))])))
		isSame(t, pieces(r))
	}
	if read < n/3 || changed < n/10 {
		t.Errorf("of %d, %d were read, and %d of the changed ones", n, read, changed)
	}
}

func value(r *rand.Rand, depth int) any {
	switch n := r.IntN(8); {
	case n < 3 && depth > 0:
		m := map[string]any{}
		for range r.IntN(5) {
			m[word(r)] = value(r, depth-1)
		}
		return m
	case n < 5 && depth > 0:
		l := make([]any, r.IntN(4))
		for i := range l {
			l[i] = value(r, depth-1)
		}
		return l
	case n == 5:
		return []any{nil, true, false, r.IntN(1 << 30), -3, 0.25, 1e30}[r.IntN(7)]
	}
	return word(r)
}

func word(r *rand.Rand) string {
	switch r.IntN(10) {
	case 0:
		return strings.Repeat("a line of words, which is long\n", r.IntN(4)) + "end"
	case 1:
		return strings.Repeat("some words: and \"quotes\" ", 1+r.IntN(9))
	case 2:
		return strings.Repeat("words without any marks ", 1+r.IntN(9)) + "x"
	case 3:
		return "-----BEGIN CERTIFICATE-----\n" + strings.Repeat("MIIBszCCAVmgAwIBAgIU\n", r.IntN(4)) + "-----END CERTIFICATE-----\n"
	case 4:
		return []string{"yes", "1", "0x1", "1e3", "null", "~", "", " ", "a ", " a", "a\tb", "é", "\u2028", "<<", "2021-08-03T10:13:47Z", "4.8.0", "1.2.3", "a\r\nb", "\x01", "- a", "# a", "k:{\"type\":\"Ready\"}", "f:data", ".", "a\n\n", "\na", "  a\nb\n"}[r.IntN(27)]
	}
	return fmt.Sprint("k", r.IntN(1000))
}

// change changes a text in a few places.
func change(r *rand.Rand, text []byte) []byte {
	const marks = "\n\n\n      ::--\"'|\\#&*{}[],>?.~+1eax\té"
	text = bytes.Clone(text)
	for range 1 + r.IntN(3) {
		if len(text) == 0 {
			return text
		}
		at := r.IntN(len(text))
		mark := marks[r.IntN(len(marks))]
		switch r.IntN(3) {
		case 0:
			text[at] = mark
		case 1:
			text = append(text[:at], text[at+1:]...)
		default:
			text = append(text[:at], append([]byte{mark}, text[at:]...)...)
		}
	}
	return text
}

// pieces puts a text together of what YAML is made of.
func pieces(r *rand.Rand) []byte {
	parts := []string{"a", "b: ", "c:\n", "\n", "\n", "  ", "  ", "    ", "- ", "-\n", "|\n", "|-\n", "\"", "'", "\\", "1", "0x", "e3", ": ", " #", "true", "~", "{}", "[]", ".", "\n\n", "\t", "text ", "\"x\"", "'y'", "\n  z", "\n- "}
	var out []byte
	for range 2 + r.IntN(16) {
		out = append(out, parts[r.IntN(len(parts))]...)
	}
	return append(out, '\n')
}

// FuzzSame: what is read here is what a parser of all of YAML reads.
func FuzzSame(f *testing.F) {
	for _, text := range append(texts(), others()...) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { isSame(t, text) })
}
