package pki

import (
	"bytes"
	"crypto/x509"
	"math"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	gopkcs12 "software.sslmate.com/src/go-pkcs12"
)

// envelopes returns one value of each format, whose keys are derived in no time.
func envelopes(t testing.TB) map[string][]byte {
	t.Helper()
	w := newWorld(t)
	certs := join(w.server.Cert.Raw, w.root.Cert.Raw)
	trusted := javaEntry{kind: javaCert, certs: [][]byte{w.other.Cert.Raw}}
	key := javaEntry{kind: javaKey, body: []byte("an encrypted key"), certs: [][]byte{w.server.Cert.Raw}}
	return map[string][]byte{
		"JKS":           jks(magicJKS, 2, key, trusted),
		"JCEKS":         jks(magicJCEKS, 2, trusted, javaEntry{kind: javaSecret, body: []byte("\xac\xed")}),
		"PKCS#7":        p7b(long, certs, revocations(t, w, 2)),
		"PKCS#7 in BER": p7b(open, certs, revocations(t, w, 2)),
		"CRL":           revocations(t, w, 3),
		"BCFKS":         bcfks(),
		"PKCS#12, bare": p12(t, w, gopkcs12.Passwordless, ""),
		"PKCS#12, RC2":  p12(t, w, gopkcs12.LegacyRC2.WithIterations(1), "changeit"),
		"PKCS#12, 3DES": p12(t, w, gopkcs12.LegacyDES.WithIterations(1), "password"),
		"PKCS#12, AES":  p12(t, w, gopkcs12.Modern2023.WithIterations(1), "changeit"),
		"PKCS#12, MAC":  p12(t, w, gopkcs12.Modern2026.WithIterations(1), ""),
	}
}

// TestDamagedEnvelopes cuts values off at every byte, and puts other values into
// every byte: lengths, counts, tags, versions.
func TestDamagedEnvelopes(t *testing.T) {
	for name, whole := range envelopes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := NewScanner() // for all, which share their certificates
			if found := s.Scan(whole); len(found) != 1 || len(found[0].Content.Bad) > 0 {
				t.Fatalf("got %v", lines(found))
			}
			start := time.Now()
			for n := range whole {
				s.Scan(whole[:n:n])
			}
			step := 1
			if testing.Short() {
				step = 7
			}
			for i := 0; i < len(whole); i += step {
				for _, b := range []byte{0, 0x7f, 0x80, 0x84, 0xff, whole[i] + 1, whole[i] - 1} {
					damaged := bytes.Clone(whole)
					damaged[i] = b
					// What four bytes in a row claim may be a length or a number of rounds.
					s.small.rounds.fill(1)
					s.Scan(damaged)
				}
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestClaimsAllocateNothing: a few bytes that claim gigabytes.
func TestClaimsAllocateNothing(t *testing.T) {
	const huge = "\xff\xff\xff\xff"
	entry := "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" // no alias, no date
	claims := map[string][]byte{
		"entries":       join(magicJKS, "\x00\x00\x00\x02", huge, bytes.Repeat([]byte{0}, 64)),
		"a certificate": join(magicJKS, "\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x02", entry, huge, bytes.Repeat([]byte{0}, 64)),
		"a key":         join(magicJCEKS, "\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01", entry, huge, bytes.Repeat([]byte{0}, 64)),
		"a chain":       join(magicJKS, "\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01", entry, "\x00\x00\x00\x00", huge, bytes.Repeat([]byte{0}, 4000)),
		"DER":           join("\x30\x84\x7f\xff\xff\xff\x02\x01\x03\x30", bytes.Repeat([]byte{0x30, 0x80}, 2000)),
		"BER":           join("\x30\x80\x02\x01\x03\x30", bytes.Repeat([]byte{0x30, 0x80}, 2000)),
		"open strings":  join("\x30\x80\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02\xa0\x80", bytes.Repeat([]byte{0x24, 0x80}, 2000)),
	}
	for name, in := range claims {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		NewScanner().Scan(in)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
			t.Errorf("%s: %d bytes claim so much that %d were allocated", name, len(in), n)
		}
	}
}

// TestBERCostsLittle: open lengths in each other are copied once for each layer.
func TestBERCostsLittle(t *testing.T) {
	inner := bytes.Repeat(long(4, make([]byte, 100)), 100_000) // 10 MB
	for range 20 {
		inner = open(0x30, inner)
	}
	start := time.Now()
	if _, _, ok := berToDER(inner); !ok {
		t.Error("not read")
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestElementsOfBERTakeWhatTheyAre: a value of 288 bytes unpacks to millions of elements of two.
func TestElementsOfBERTakeWhatTheyAre(t *testing.T) {
	const size = 2 << 20
	for name, in := range map[string][]byte{
		"empty sequences": open(0x30, long(6, []byte("\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02")), bytes.Repeat([]byte{0x30, 0}, size/2)),
		"open sequences":  open(0x30, long(6, []byte("\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02")), bytes.Repeat([]byte{0x30, 0x80, 0, 0}, size/4)),
		"empty strings":   open(0x30, long(6, []byte("\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02")), bytes.Repeat([]byte{4, 0}, size/2)),
		"pieces":          open(0x30, long(6, []byte("\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02")), open(0x24, bytes.Repeat([]byte{4, 0}, size/2))),
	} {
		for what, read := range map[string]func(){
			"closed": func() { berToDER(in) },
			"read":   func() { NewScanner().Scan(in) },
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			read()
			runtime.ReadMemStats(&after)
			if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 16 {
				t.Errorf("%s, %s: of %d MiB %d were allocated", name, what, size>>20, n)
			}
		}
	}
}

// scanCheaply is Scan with a small budget for key derivation, so that a fuzzer
// gets around.
func scanCheaply(data []byte) []Found {
	w := &walk{scanner: NewScanner(), results: &results{}, work: workAtLeast + workPerByte*len(data), unpacked: 1 << 20, rounds: 3000}
	w.value(data, place{})
	return w.results.found()
}

func fuzzEnvelope(f *testing.F, seeds ...string) {
	all := envelopes(f)
	for _, name := range seeds {
		f.Add(all[name])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		input := bytes.Clone(data)
		start := time.Now()
		found := scanCheaply(data)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
		if !bytes.Equal(input, data) {
			t.Error("the input was changed")
		}
		for _, f := range found {
			if f.Content.Empty() {
				t.Errorf("empty content at %q", f.Field)
			}
			for _, c := range f.Content.Certs {
				if _, err := c.X509(); err != nil {
					t.Errorf("X509: %v", err)
				}
			}
			for _, l := range f.Content.CRLs {
				if l.Revoked < 0 || l.Fingerprint == (Fingerprint{}) {
					t.Errorf("got %+v", l)
				}
			}
		}
		if again := scanCheaply(data); !reflect.DeepEqual(found, again) {
			t.Errorf("scanned again, other results:\n%s", cmp.Diff(lines(found), lines(again)))
		}
	})
}

func FuzzJavaKeystore(f *testing.F) { fuzzEnvelope(f, "JKS", "JCEKS") }

func FuzzPKCS12(f *testing.F) {
	fuzzEnvelope(f, "PKCS#12, bare", "PKCS#12, RC2", "PKCS#12, 3DES", "PKCS#12, AES", "PKCS#12, MAC", "BCFKS")
}

func FuzzPKCS7(f *testing.F) { fuzzEnvelope(f, "PKCS#7", "PKCS#7 in BER") }

func FuzzBER(f *testing.F) {
	for _, name := range []string{"PKCS#7", "PKCS#7 in BER", "PKCS#12, bare"} {
		f.Add(envelopes(f)[name])
	}
	f.Add(open(0x30, long(2, []byte{1}), open(0x24, long(4, []byte("ab")), long(4, []byte("c")))))
	f.Fuzz(func(t *testing.T, data []byte) {
		der, rest, ok := berToDER(data)
		if !ok {
			return
		}
		if !bytes.HasSuffix(data, rest) || len(der) > len(data)+2*maxBER {
			t.Errorf("%d bytes became %d, and %d are left", len(data), len(der), len(rest))
		}
		again, none, ok := berToDER(der)
		if !ok || len(none) > 0 || !bytes.Equal(again, der) {
			t.Errorf("%x is no DER", der)
		}
	})
}

func FuzzCRL(f *testing.F) {
	w := newWorld(f)
	for _, n := range []int{0, 1, 5} {
		f.Add(revocations(f, w, n))
	}
	f.Fuzz(func(t *testing.T, der []byte) {
		got, err := parseCRL(der)
		if (got == nil) == (err == nil) {
			t.Fatalf("got %v and %v", got, err)
		}
		want, standard := x509.ParseRevocationList(der)
		_, rest, _ := cutElement(der)
		switch {
		case standard != nil, len(rest) > 0: // which crypto/x509 passes over
		case err != nil:
			t.Errorf("crypto/x509 reads it: %v", err)
		case got.Issuer != want.Issuer.String() || got.Revoked != len(want.RevokedCertificateEntries) || !got.ThisUpdate.Equal(want.ThisUpdate) || !got.NextUpdate.Equal(want.NextUpdate):
			t.Errorf("got %+v, crypto/x509 reads %+v", got, want)
		}
		if got != nil && got.Revoked > math.MaxInt32 {
			t.Errorf("%d revoked", got.Revoked)
		}
	})
}
