package pki_test

import (
	"encoding/base64"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// configured is a kubeconfig with a list of so many elements.
func configured(ca []byte, many int) string {
	return "apiVersion: v1\nkind: Config\nclusters:\n- name: a\n  cluster:\n    certificate-authority-data: " + base64.StdEncoding.EncodeToString(ca) + "\nx: &a 1\ny: *a\nz: [" + strings.Repeat("a,", many) + "]\n"
}

// TestYAMLOfAllValuesIsBounded: 8 kB hold 15 texts of 2 MiB, each a kubeconfig.
func TestYAMLOfAllValuesIsBounded(t *testing.T) {
	ca := pkitest.NewCA("ca", time.Unix(0, 0), time.Unix(1<<31, 0)).CertPEM
	value := func(texts int) []byte {
		list := make([]string, texts)
		for i := range list {
			list[i] = configured(ca, 500_000)
		}
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		return packed(t, packed(t, text))
	}
	took := func(sc *pki.Scanner, data []byte) (uint64, []pki.Found) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		found := sc.Scan(data)
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) >> 20, found
	}
	sc := pki.NewScanner()
	one, found := took(sc.Apart("a"), value(1))
	if len(found) != 1 || len(found[0].Content.Certs) != 1 || len(found[0].Content.Skipped) != 1 || !strings.Contains(found[0].Content.Skipped[0].Reason, "too large to be read as a kubeconfig") {
		t.Errorf("of one: %+v", found)
	}
	all, found := took(sc.Apart("a"), value(15))
	if all > 10*one {
		t.Errorf("one takes %d MiB, and 15 take %d", one, all)
	}
	if why := cutShort(found); !strings.Contains(why, "limit of YAML in compressed values of namespace a ") {
		t.Errorf("of 15: %q", why)
	}
	if _, found := took(sc, value(1)); cutShort(found) != "" {
		t.Errorf("what tenants spent is missing: %+v", found)
	}
	plain := []byte(configured(ca, 10))
	if found := sc.Apart("a").Scan(plain); len(found) != 1 || cutShort(found) != "" || len(found[0].Content.Certs) != 1 || len(found[0].Content.Skipped) != 0 {
		t.Errorf("a plain one afterwards: %+v", found)
	}
}

// TestKubeconfigsOfAValueArePaidFor: each is read by client-go's parser, too.
func TestKubeconfigsOfAValueArePaidFor(t *testing.T) {
	ca := pkitest.NewCA("ca", time.Unix(0, 0), time.Unix(1<<31, 0)).CertPEM
	var list []string
	for range 500 {
		list = append(list, configured(ca, 9000))
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	refused, short := 0, 0
	for _, f := range pki.NewScanner().Scan(packed(t, text)) {
		for _, s := range f.Content.Skipped {
			if strings.Contains(s.Reason, "limit of YAML in compressed values of this run ") {
				refused++
			}
		}
		if strings.Contains(f.Content.CutShort(), "limit of YAML in compressed values of this run ") {
			short++
		}
	}
	if refused+short < 100 || refused+short > 400 {
		t.Errorf("%d are not judged, and %d not read as YAML, of 500", refused, short)
	}
}
