package pki

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestScanTakesLinearTime gives every pattern that could make reading slow in
// two sizes, one four times the other. Quadratic reading takes sixteen times as
// long; the limit leaves room for noisy machines.
func TestScanTakesLinearTime(t *testing.T) {
	w := newWorld(t)
	const reduce = 16 // of the sizes, to keep the tests quick
	root := string(w.root.CertPEM)
	short := strings.TrimSpace(root)
	der := string(b64(w.root.Cert.Raw))
	tests := []struct {
		name string
		unit string // repeated; a %d is replaced by the count
		size int    // bytes of the smaller input
	}{
		{"BEGIN lines", "-----BEGIN CERTIFICATE-----\n", 4 << 20},
		{"BEGIN lines without newlines", "-----BEGIN CERTIFICATE-----", 4 << 20},
		{"BEGIN words", "-----BEGIN ", 4 << 20},
		{"END lines", "-----END CERTIFICATE-----\n", 4 << 20},
		{"BEGIN and END lines", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", 4 << 20},
		{"BEGIN lines that end differently", "-----BEGIN CERTIFICATE-----\n-----END X-----\n", 4 << 20},
		{"BEGIN lines with headers", "-----BEGIN CERTIFICATE-----\na: b\n", 4 << 20},
		{"headers", "a: b\n", 1 << 20},
		{"dashes", "-", 8 << 20},
		{"five dashes", "----- ", 8 << 20},
		{"certificates", root, 1 << 20},
		{"certificates glued", short, 1 << 20},
		{"escaped certificates", strings.ReplaceAll(root, "\n", `\\n`), 1 << 20},
		{"backslashes", `\`, 4 << 20},
		{"percent signs", "%25", 4 << 20},
		{"base64 of DER", der + "\n", 1 << 20},
		{"base64 of DER without newline", der, 1 << 20},
		{"base64 letters", "MIIC", 4 << 20},
		{"base64 lines", strings.Repeat("MIIC", 16) + "\n", 4 << 20},
		{"base64 lines growing shorter", strings.Repeat("MIIC", 16) + "\n" + strings.Repeat("MIIC", 15) + "\n", 4 << 20},
		{"base64 of text", string(b64([]byte(strings.Repeat("hello world ", 6)))) + " ", 2 << 20},
		{"binary", "\x00\xff\x30\x82\x01\x00\x1f\x8b", 8 << 20},
		{"DER headers", "\x30\x82\xff\xff", 8 << 20},
		{"DER small", "\x30\x81\x80" + strings.Repeat("\x30\x00", 64), 4 << 20},
		{"open lengths", "\x30\x80", 4 << 20},
		{"open PKCS#7", "\x30\x80\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02\xa0\x80", 4 << 20},
		{"open PKCS#7 in base64", string(b64([]byte("\x30\x80\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02\xa0\x80\x00"))) + "\n\n", 4 << 20},
		{"a Java keystore of nothing", magicJKS + "\x00\x00\x00\x01", 8 << 20},
		{"Java keystores in base64", string(b64([]byte(magicJKS+strings.Repeat("\x00\x00\x00\x01", 9)))) + "\n\n", 2 << 20},
		{"PKCS#12", string(pkcs12()), 2 << 20},
		{"PKCS#12 in base64", string(b64(pkcs12())) + "\n\n", 1 << 20},
		{"PKCS#7 in PEM", "-----BEGIN PKCS7-----\n" + string(b64(pkcs7())) + "\n-----END PKCS7-----\n", 1 << 20},
		{"NULs", "\x00", 8 << 20},
		{"brackets", "[", 1 << 18},
		{"braces", `{"a":`, 1 << 18},
		{"YAML lists", "- ", 1 << 18},
		{"YAML keys", "a: b\n", 1 << 18},
		{"YAML documents", "---\na: b\n", 1 << 18},
		{"YAML comments", "# a\n", 1 << 18},
		{"YAML anchors", "- &a b\n", 1 << 18},
		{"YAML question marks", "? ", 1 << 16},
		{"YAML flow", "[a, {b: c}, ", 1 << 16},
		{"JSON in YAML", `- '{"a": "-----BEGIN CERTIFICATE-----"}'` + "\n", 1 << 19},
		{"JSON in JSON", `["{\"a\": \"-----BEGIN CERTIFICATE-----\"}"],` + "\n", 1 << 21},
		{"JSON in base64 in text", string(b64([]byte(`{"a": "-----BEGIN CERTIFICATE-----"}`))) + "\n\n", 1 << 20},
		{"data URLs", "x: data:,%41" + "\n", 1 << 18},
		{"JSON documents", "{}\n", 1 << 19},
		{"JSON strings", `["` + strings.Repeat("x", 100) + `"],`, 1 << 20},
	}
	for _, tt := range tests {
		for _, with := range []struct{ name, before, after string }{
			{"alone", "", ""},
			{"before a certificate", "", "\n" + root},
			{"behind a key", "a: b\n", "\n" + root},
			{"in a list", "[", "]\n" + root},
		} {
			t.Run(tt.name+" "+with.name, func(t *testing.T) {
				took := func(size int) time.Duration {
					in := []byte(with.before + strings.Repeat(tt.unit, size/len(tt.unit)) + with.after)
					start := time.Now()
					NewScanner().Scan(in)
					return time.Since(start)
				}
				// Other programs on the machine may spoil some of the attempts.
				var small, large time.Duration
				for range 5 {
					small, large = took(tt.size/reduce), took(4*tt.size/reduce)
					if large < 10*small+200*time.Millisecond && large < 20*time.Second {
						return
					}
				}
				t.Errorf("%d bytes took %v, four times as many %v", tt.size/reduce, small, large)
			})
		}
	}
}

func TestScanManyCertificates(t *testing.T) {
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	ca := pkitest.NewCA("ca", from, from.AddDate(1, 0, 0))
	var in []byte
	const n = 1000
	for i := range n {
		in = append(in, ca.Issue(fmt.Sprint(i), from, from.AddDate(1, 0, 0)).CertPEM...)
	}
	in = bytes.Repeat(in, 10)
	start := time.Now()
	s := NewScanner()
	got := s.Scan(in)
	if len(got) != 1 || len(got[0].Content.Certs) != 10*n || len(got[0].Content.Bad) != 0 {
		t.Fatalf("got %.300v", lines(got))
	}
	if certs, _ := s.Stats(); certs != n {
		t.Errorf("%d distinct certificates, want %d", certs, n)
	}
	t.Logf("%d certificates, %d bytes: %v", 10*n, len(in), time.Since(start))
}

func TestScanBombs(t *testing.T) {
	w := newWorld(t)
	laughs := "a: &a [" + string(quoted(t, w.root.CertPEM)) + "]\n"
	last := "a"
	for _, name := range strings.Split("bcdefghij", "") {
		laughs += fmt.Sprintf("%s: &%s [%s*%s]\n", name, name, strings.Repeat("*"+last+",", 9), last)
		last = name
	}
	if diff := cmp.Diff([]string{"a[0]: cert CN=root"}, lines(NewScanner().Scan([]byte(laughs)))); diff != "" {
		t.Errorf("YAML of a billion laughs (-want +got):\n%s", diff)
	}

	cut := "bad -1 value: unpacks to more than 32 MiB: the rest was not read"
	bomb := zip(t, join(w.root.CertPEM, bytes.Repeat([]byte{0}, 100<<20)))
	if diff := cmp.Diff([]string{"cert CN=root", cut}, lines(NewScanner().Scan(bomb))); diff != "" {
		t.Errorf("a gzip bomb (-want +got):\n%s", diff)
	}
	twice := zip(t, zip(t, bytes.Repeat([]byte{0}, 100<<20)))
	if diff := cmp.Diff([]string{cut}, lines(NewScanner().Scan(twice))); diff != "" {
		t.Errorf("a gzip bomb zipped again (-want +got):\n%s", diff)
	}
	many := bytes.Repeat(join(b64(bomb), "\n\n"), 100)
	start := time.Now()
	NewScanner().Scan(many)
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("a hundred gzip bombs took %v", took)
	}

	nested := w.root.CertPEM
	for range 5 {
		nested = join(`{"a":`, quoted(t, nested), `,"b":"`, b64(nested), `"}`)
	}
	start = time.Now()
	found := NewScanner().Scan(nested)
	if took := time.Since(start); took > 20*time.Second || len(found) == 0 {
		t.Errorf("documents in documents, %d bytes: %d results in %v", len(nested), len(found), took)
	}
}

func TestScanGarbage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	garbage := make([]byte, 10<<20)
	for i := range garbage {
		garbage[i] = byte(r.Uint32())
	}
	start := time.Now()
	if got := NewScanner().Scan(garbage); got != nil {
		t.Errorf("got %.300v", lines(got))
	}
	if got := NewScanner().Scan(b64(garbage)); got != nil {
		t.Errorf("got %.300v", lines(got))
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestScanLimitsBadBlocks(t *testing.T) {
	got := NewScanner().Scan([]byte(strings.Repeat("-----BEGIN CERTIFICATE-----\n", 1_000_000)))
	if len(got) != 1 || len(got[0].Content.Bad) != maxBad+1 {
		t.Fatalf("got %.300v", lines(got))
	}
	want := BadBlock{Index: -1, Type: "PEM", Reason: "999900 more blocks can't be read"}
	if diff := cmp.Diff(want, got[0].Content.Bad[maxBad]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
