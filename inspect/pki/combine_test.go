package pki

import (
	"net/url"
	"strings"
	"testing"
)

// TestScanCombinations wraps a certificate in every combination of three of
// the ways in which values wrap each other.
func TestScanCombinations(t *testing.T) {
	w := newWorld(t)
	ways := []struct {
		name string
		wrap func([]byte) []byte
	}{
		{"base64", b64},
		{"wrapped base64", func(b []byte) []byte { return wrap(b64(b), 76) }},
		{"base64 in a script", func(b []byte) []byte { return join("#!/bin/sh\nset -e\necho ", b64(b), " | base64 -d\n") }},
		{"wrapped base64 in a script", func(b []byte) []byte { return join("#!/bin/sh\nbase64 -d <<EOF\n", wrap(b64(b), 64), "EOF\n") }},
		{"JSON", func(b []byte) []byte { return join(`{"kind":"List","items":[{"a.b":`, quoted(t, b), `}]}`) }},
		{"JSON of base64", func(b []byte) []byte { return join(`{"kind":"List","items":[{"a.b":"`, b64(b), `"}]}`) }},
		{"YAML of base64", func(b []byte) []byte { return join("data:\n  key: ", b64(b), "\n") }},
		{"YAML of folded base64", func(b []byte) []byte { return join("data:\n  key: >\n", indent(wrap(b64(b), 76), "    ")) }},
		{"YAML", func(b []byte) []byte { return join("a: b\n---\ndata:\n  key: ", quoted(t, b), "\n") }},
		{"gzip", func(b []byte) []byte { return zip(t, b) }},
		{"a data URL of base64", func(b []byte) []byte { return join("data:text/plain;base64,", b64(b)) }},
		{"a data URL", func(b []byte) []byte { return []byte("data:," + url.PathEscape(string(b))) }},
	}
	// Bytes that are no text can't be put into a JSON string.
	binary := func(b []byte) bool { return isGzip(b) || isDER(b) }
	cases := 0
	for _, start := range [][]byte{w.root.CertPEM, w.root.Cert.Raw} {
		for _, a := range ways {
			for _, b := range ways {
				for _, c := range ways {
					in, skip := start, false
					for _, way := range []func([]byte) []byte{a.wrap, b.wrap, c.wrap} {
						out := way(in)
						if binary(in) && strings.Contains(string(out), `\u`) {
							skip = true
							break
						}
						in = out
					}
					if skip {
						continue
					}
					cases++
					n := 0
					for _, f := range NewScanner().Scan(in) {
						n += len(f.Content.Certs)
					}
					if n != 1 {
						t.Errorf("%s in %s in %s: %d certificates", a.name, b.name, c.name, n)
					}
				}
			}
		}
	}
	t.Logf("%d combinations", cases)
}
