package pki_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// packed is what tenants write: kilobytes that hold megabytes.
func packed(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fields is a list of so many texts that claim to be keys.
func fields(t *testing.T, many int, own string) []byte {
	t.Helper()
	list := []string{own}
	for range many {
		list = append(list, "-----BEGIN PRIVATE KEY-----")
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return packed(t, text)
}

// cutShort is why reading of what was found stopped; empty: it did not.
func cutShort(found []pki.Found) string {
	for _, f := range found {
		for _, b := range f.Content.Bad {
			if b.Type == "value" {
				return b.Reason
			}
		}
	}
	return ""
}

func TestPlacesOfOneValueAreBounded(t *testing.T) {
	t.Parallel()
	for _, many := range []int{5_000, 12_000, 48_000} {
		found := pki.NewScanner().Scan(fields(t, many, ""))
		if why := cutShort(found); len(found) > 10_001 || (why != "") != (many > 10_000) || why != "" && !strings.Contains(why, "more than 10000 fields") {
			t.Errorf("%d fields: %d places, %q", many, len(found), why)
		}
	}
}

func TestCertificatesOfOneFieldAreBounded(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
	for _, many := range []int{9_000, 11_000, 44_000} {
		found := pki.NewScanner().Scan(packed(t, []byte(strings.Repeat(key, many))))
		if len(found) != 1 {
			t.Fatalf("%d fields", len(found))
		}
		if why := cutShort(found); len(found[0].Content.Keys) != min(many, 10_000) || (why != "") != (many > 10_000) || why != "" && !strings.Contains(why, "were left out") {
			t.Errorf("%d keys: %d, %q", many, len(found[0].Content.Keys), why)
		}
	}
}

// TestPlacesOfAllValuesAreBounded: the same value in many places, and many values. What is not
// compressed is read as ever.
func TestPlacesOfAllValuesAreBounded(t *testing.T) {
	t.Parallel()
	from := pkitest.NewCA("ca", time.Unix(0, 0), time.Unix(1<<31, 0)).CertPEM
	for name, own := range map[string]func(n int) string{"the same value": func(int) string { return "" }, "distinct values": func(n int) string { return strings.Repeat("x", n) }} {
		places := func(values int) (all int, last string) {
			sc := pki.NewScanner()
			for n := range values {
				found := sc.Scan(fields(t, 9_000, own(n)))
				all, last = all+len(found), cutShort(found)
			}
			if found := sc.Scan(from); len(found) != 1 || len(found[0].Content.Certs) != 1 || cutShort(found) != "" {
				t.Errorf("%s: a plain value after %d: %+v", name, values, found)
			}
			return all, last
		}
		few, why := places(5)
		if few < 5*9_000 || why != "" {
			t.Errorf("%s: of 5 %d places are kept: %q", name, few, why)
		}
		for _, values := range []int{15, 30} {
			if all, why := places(values); all > 110_000 || !strings.Contains(why, "was reached before it") {
				t.Errorf("%s: of %d %d places are kept: %q", name, values, all, why)
			}
		}
	}
}

// TestUnpackingAllValuesIsBounded: each may unpack to 32 MiB, and all of them to twice that.
func TestUnpackingAllValuesIsBounded(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("ca", time.Unix(0, 0), time.Unix(1<<31, 0)).CertPEM
	value := func(n int) []byte {
		return packed(t, bytes.Join([][]byte{bytes.Repeat([]byte{' '}, 30<<20+n), ca}, nil))
	}
	sc := pki.NewScanner()
	for n := range 4 {
		found := sc.Scan(value(n))
		if why := cutShort(found); (n < 2) != (why == "") || why != "" && !strings.Contains(why, "compressed values of this run") {
			t.Errorf("value %d: %q, %d places", n, why, len(found))
		}
	}
	// What unpacks to what its length accounts for, takes from nothing.
	if found := sc.Scan(packed(t, ca)); cutShort(found) != "" || len(found) != 1 || len(found[0].Content.Certs) != 1 {
		t.Errorf("an ordinary value: %+v", found)
	}
}
