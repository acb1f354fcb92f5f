package pki

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// distinct are values, each with one certificate of its own.
func distinct(n int) (values [][]byte) {
	for i := range n {
		ca := pkitest.NewCA("ca", time.Unix(0, 0), time.Unix(1<<31, 0), pkitest.Serial(int64(i+1)), pkitest.Ed25519())
		values = append(values, ca.CertPEM)
	}
	return values
}

// takes is what a value takes of its namespace's share.
func takes(value []byte) int64 {
	s := NewScanner().Apart("x")
	s.Scan(value)
	return maxKeptOfOne - s.small.kept.left.Load()
}

// TestMemoryOfOneNamespaceIsBounded: though no value of it is compressed. What is beyond its share is said
// with its name, and leaves those of others readable.
func TestMemoryOfOneNamespaceIsBounded(t *testing.T) {
	t.Parallel()
	s, values := NewScanner(), distinct(4)
	shop := s.Apart("shop")
	if left := shop.small.kept.left.Load(); left != 200<<20 {
		t.Errorf("a namespace may take %d", left)
	}
	shop.small.kept.left.Store(2 * takes(values[0]))
	for i, v := range values[:3] {
		f := shop.Scan(v)
		if len(f) != 1 || len(f[0].Content.Certs) != min(1, 2-min(i, 2)) {
			t.Fatalf("value %d: %+v", i, f)
		}
		if why := f[0].Content.CutShort(); (i == 2) != strings.HasPrefix(why, "the limit of memory for values of namespace shop was reached before it") {
			t.Errorf("value %d: %q", i, why)
		}
	}
	all := bytes.Join(values, nil)
	for name, other := range map[string]*Scanner{"the platform's": s, "another tenant's": s.Apart("web"), "administrators'": s.Apart("default"), "a node's": s.Alone()} {
		if f := other.Scan(all); len(f) != 1 || len(f[0].Content.Certs) != 4 || f[0].Content.CutShort() != "" || other.Full() {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if f := shop.Scan(values[0]); !shop.Full() || len(f) != 1 || len(f[0].Content.Certs) != 0 || f[0].Content.CutShort() == "" {
		t.Errorf("once it was reached: %+v", f)
	}
	named := 2
	for range 300 {
		named += len(shop.Scan(values[0]))
	}
	if named != namedOfOne {
		t.Errorf("%d values are named", named)
	}
	if f := shop.Unlock(values[0], nil); len(f) != 1 || f[0].Content.CutShort() == "" {
		t.Errorf("a place that is there already: %+v", f)
	}
}

// TestMemoryOfAllTenantsIsBounded: by what a new scanner has. The one with most is named, and a namespace with
// little is read from what is left to such.
func TestMemoryOfAllTenantsIsBounded(t *testing.T) {
	t.Parallel()
	s, value := NewScanner(), distinct(1)[0]
	if all, spare := s.tenants.kept.left.Load(), s.spare.left.Load(); all != 500<<20 || spare != 200<<20 {
		t.Errorf("all tenants may take %d, and those with little %d", all, spare)
	}
	for i, n := range []int64{199 << 20, 200 << 20, 101 << 20} { // all but a part of what one value takes
		if !s.Apart(string(rune('a' + i))).small.kept.take(min(n, s.tenants.kept.left.Load()-10)) {
			t.Fatal(i)
		}
	}
	few, some := s.Apart("few"), s.Apart("some")
	some.small.kept.left.Add(-keptOfSmall)
	if f := few.Scan(value); f[0].Content.CutShort() != "" || len(f[0].Content.Certs) != 1 {
		t.Errorf("a namespace with little: %+v", f[0].Content)
	}
	if f := some.Scan(value); !strings.HasPrefix(f[0].Content.CutShort(), "the limit of memory for values of tenants (most: namespace b) was reached before it") || !strings.HasSuffix(f[0].Content.CutShort(), "of namespace some") {
		t.Errorf("a namespace with more: %q", f[0].Content.CutShort())
	}
	s.spare.left.Store(10)
	if f := s.Apart("late").Scan(value); f[0].Content.CutShort() == "" {
		t.Error("what is left to those with little has no bound")
	}
	if f := s.Scan(value); f[0].Content.CutShort() != "" {
		t.Errorf("the platform's: %+v", f[0].Content)
	}
}

// TestWhatStaysIsCharged: of each kind of thing about what it takes, and of one value in many places.
func TestWhatStaysIsCharged(t *testing.T) {
	var live [2]runtime.MemStats
	var addresses []string
	for i := range 290 {
		addresses = append(addresses, fmt.Sprintf("203.113.%d.%d", 100+i/250, 100+i%150))
	}
	for name, value := range map[string]func(i int) []byte{
		"bad blocks": func(i int) []byte {
			return fmt.Appendf(nil, "-----BEGIN CERTIFICATE-----\nAAAA%012d\n-----END CERTIFICATE-----\n", i)
		},
		"certificates of many addresses": func(i int) []byte {
			return pkitest.SelfSigned(fmt.Sprint(i), time.Unix(0, 0), time.Unix(1<<31, 0), pkitest.Ed25519(), pkitest.KeyName("one"), pkitest.IPs(addresses...)).CertPEM
		},
		"requests of many addresses": func(i int) []byte {
			request, _ := pkitest.Request(fmt.Sprint(i), pkitest.Ed25519(), pkitest.KeyName("one"), pkitest.IPs(addresses...))
			return request
		},
	} {
		s, n := NewScanner(), 100
		shop := s.Apart("shop")
		kept, values := make([][]Found, 0, n), make([][]byte, 0, n)
		for i := range n {
			values = append(values, value(i))
		}
		runtime.GC()
		runtime.ReadMemStats(&live[0])
		for _, v := range values {
			kept = append(kept, shop.Scan(v))
		}
		runtime.GC()
		runtime.ReadMemStats(&live[1])
		real, charged := int64(live[1].HeapAlloc)-int64(live[0].HeapAlloc), maxKeptOfOne-shop.small.kept.left.Load()
		if t.Logf("%s: %d bytes of memory, %d are charged", name, real/int64(n), charged/int64(n)); charged < real {
			t.Errorf("%s: %d bytes of memory, only %d are charged", name, real, charged)
		}
		runtime.KeepAlive(kept)
		runtime.KeepAlive(values)
	}
}
