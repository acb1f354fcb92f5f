package pki_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// tagged is a YAML document behind so many directives.
func tagged(many int, end string) []byte {
	var b strings.Builder
	for n := range many {
		fmt.Fprintf(&b, "%%TAG !%d! a%s", n, end)
	}
	return []byte(b.String() + "--- " + end + "a: -----BEGIN CERTIFICATE-----" + end)
}

// TestDirectivesTakeNoLongerThanTheirText: the parsers compare each with all before it.
func TestDirectivesTakeNoLongerThanTheirText(t *testing.T) {
	for name, read := range map[string]func(text []byte){
		"as JSON":         func(text []byte) { _, _ = pki.YAMLToJSON(text) },
		"as YAML":         func(text []byte) { _, _ = pki.ParseYAML(text) },
		"as a kubeconfig": func(text []byte) { _ = pki.UnusableKubeconfig(text) },
		"in a value":      func(text []byte) { pki.NewScanner().Scan(text) },
	} {
		t.Run(name, func(t *testing.T) {
			inspecttest.Grows(t, 1000, func(size int) func() {
				text := tagged(size, "\n")
				return func() { read(text) }
			})
		})
	}
}

// TestManyDirectivesAreRefused at whatever ends a line, and what they stand before is unknown.
func TestManyDirectivesAreRefused(t *testing.T) {
	t.Parallel()
	wide := func(text []byte, low int) []byte {
		out := make([]byte, 2*len(text))
		for i, c := range text {
			out[2*i+low] = c
		}
		return out
	}
	for name, text := range map[string][]byte{
		"\\n": tagged(11, "\n"), "\\r": tagged(11, "\r"), "\\r\\n": tagged(11, "\r\n"), "a next line": tagged(11, "\u0085"), "a line separator": tagged(11, "\u2028"), "a paragraph separator": tagged(11, "\u2029"),
		"behind a mark": append([]byte("\ufeff"), tagged(11, "\n")...),
		"UTF-16":        append([]byte{0xff, 0xfe}, wide(tagged(11, "\n"), 0)...),
		"UTF-16, too":   append([]byte{0xfe, 0xff}, wide(tagged(11, "\n"), 1)...),
	} {
		for _, read := range []func([]byte) error{
			func(text []byte) error { _, err := pki.YAMLToJSON(text); return err },
			func(text []byte) error { _, err := pki.ParseYAML(text); return err },
			pki.UnusableKubeconfig,
		} {
			if err := read(text); err == nil || !strings.Contains(err.Error(), "more than 10 lines that begin with %TAG") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if why := cutShort(pki.NewScanner().Scan(tagged(11, "\n"))); !strings.Contains(why, "more than 10 lines that begin with %TAG") {
		t.Errorf("of a value: %q", why)
	}
	for _, text := range [][]byte{tagged(10, "\n"), []byte("a: |\n" + strings.Repeat("  %TAG\n", 20) + "b: c%TAG\n")} {
		if _, err := pki.YAMLToJSON(text); err != nil {
			t.Errorf("%.20q: %v", text, err)
		}
		if why := cutShort(pki.NewScanner().Scan(text)); why != "" {
			t.Errorf("of a value: %q", why)
		}
	}
}

// endsAfter is over when it was asked so many times.
type endsAfter struct {
	context.Context
	left int
}

func (e *endsAfter) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestOneValueIsReadNoLongerThanTheReading: the parser of YAML takes seconds for a megabyte.
func TestOneValueIsReadNoLongerThanTheReading(t *testing.T) {
	text := "a: -----BEGIN CERTIFICATE-----\nb: [" + strings.Repeat("a,", 100_000) + "]\n"
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(text)); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	for name, value := range map[string][]byte{"YAML": []byte(text), "JSON": []byte("[" + strings.Repeat("1,", 200_000) + "\"-----BEGIN CERTIFICATE-----\"]"), "packed": packed.Bytes()} {
		took := func(ctx context.Context) (uint64, []pki.Found) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			found := pki.NewScanner().Within(ctx).Scan(value)
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc, found
		}
		all, found := took(t.Context())
		if why := cutShort(found); why != "" {
			t.Errorf("%s: %q", name, why)
		}
		some, found := took(&endsAfter{t.Context(), 30})
		if why := cutShort(found); !strings.Contains(why, "reading ended before its end") {
			t.Errorf("%s: %q", name, why)
		}
		if some > all/4 {
			t.Errorf("%s: %d KiB are allocated for a part, of %d for all", name, some>>10, all>>10)
		}
	}
}
