package pki

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gopkcs12 "software.sslmate.com/src/go-pkcs12"
)

// javaEntry is one of a Java keystore.
type javaEntry struct {
	kind  uint32
	body  []byte   // of a key or secret
	certs [][]byte // DER
}

// jks writes a Java keystore. Its digest is none.
func jks(magic string, version uint32, entries ...javaEntry) []byte {
	u32 := func(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
	text := func(s string) []byte { return append(binary.BigEndian.AppendUint16(nil, uint16(len(s))), s...) }
	out := join(magic, u32(int(version)), u32(len(entries)))
	for i, e := range entries {
		out = join(out, u32(int(e.kind)), text(fmt.Sprint("alias ", i)), make([]byte, 8))
		switch e.kind {
		case javaKey:
			out = join(out, u32(len(e.body)), e.body, u32(len(e.certs)))
		case javaSecret:
			out = join(out, e.body)
		}
		for _, c := range e.certs {
			if version == 2 {
				out = append(out, text("X.509")...)
			}
			out = join(out, u32(len(c)), c)
		}
	}
	return append(out, make([]byte, 20)...)
}

func TestScanJavaKeystores(t *testing.T) {
	w := newWorld(t)
	trusted := javaEntry{kind: javaCert, certs: [][]byte{w.other.Cert.Raw}}
	key := javaEntry{kind: javaKey, body: []byte("an encrypted key"), certs: [][]byte{w.server.Cert.Raw, w.root.Cert.Raw}}
	secret := javaEntry{kind: javaSecret, body: []byte("\xac\xed\x00\x05sr")}
	trust := jks(magicJKS, 2, trusted, javaEntry{kind: javaCert, certs: [][]byte{w.root.Cert.Raw}})
	two := []string{"cert CN=other", "cert CN=root"}
	identity := jks(magicJKS, 2, trusted, key)
	cut := "bad 0 JKS: keystore is cut off or damaged"
	tests := []struct {
		name string
		in   []byte
		want []string
	}{
		{"a truststore", trust, two},
		{"of version 1", jks(magicJKS, 1, trusted), []string{"cert CN=other"}},
		{"without entries", jks(magicJKS, 2), nil},
		{"a key and its chain come before what is trusted", identity, []string{"cert CN=server", "cert CN=root", "cert CN=other", "key JKS encrypted"}},
		{"JCEKS", jks(magicJCEKS, 2, trusted, key), []string{"cert CN=server", "cert CN=root", "cert CN=other", "key JCEKS encrypted"}},
		{"a secret key ends reading", jks(magicJCEKS, 2, trusted, secret, key), []string{"cert CN=other", "locked JCEKS: " + lockedBehindKey}},
		{"base64", wrap(b64(trust), 76), two},
		{"base64 in a script", join("echo ", b64(trust), " | base64 -d\n"), two},
		{"base64 in a document", join("store: ", b64(trust), "\n"), []string{"store: cert CN=other", "store: cert CN=root"}},
		{"gzip", zip(t, trust), two},
		{"a data URL", join("data:;base64,", b64(trust)), two},
		{"cut off in a certificate", trust[:len(trust)-100], []string{"cert CN=other", cut}},
		{"cut off in its digest", trust[:len(trust)-1], append(two, cut)},
		{"more entries than there are", join(magicJKS, "\x00\x00\x00\x02\xff\xff\xff\xff", jks(magicJKS, 2, trusted)[12:]), []string{"cert CN=other", cut}},
		{"a chain longer than there is", join(magicJKS, "\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00", make([]byte, 8), "\x00\x00\x00\x00\xff\xff\xff\xff"), []string{"key JKS encrypted", cut}},
		{"a length beyond the end", join(magicJKS, "\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00", make([]byte, 8), "\xff\xff\xff\xff"), []string{cut}},
		{"an unknown kind of entry", jks(magicJKS, 2, javaEntry{kind: 7}), []string{cut}},
		{"a certificate that is none", jks(magicJKS, 2, javaEntry{kind: javaCert, certs: [][]byte{[]byte("x")}}), []string{"bad 0 JKS: certificate can't be parsed: x509: malformed certificate"}},

		{"Bouncy Castle's BKS", join("\x00\x00\x00\x02\x00\x00\x00\x14", bytes.Repeat([]byte("x"), 60)), []string{"locked BKS: " + lockedFormat}},
		{"Bouncy Castle's UBER in base64", b64(join("\x00\x00\x00\x01\x00\x00\x00\x14", bytes.Repeat([]byte("x"), 160))), []string{"locked BKS: " + lockedFormat}},
		{"Bouncy Castle's BCFKS", bcfks(), []string{"locked BCFKS: " + lockedFormat}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lines(NewScanner().Scan(tt.in))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func bcfks() []byte {
	algorithm := long(0x30, oidBytes(1, 2, 840, 113549, 1, 5, 13), long(0x30))
	sealed := long(0x30, algorithm, long(4, make([]byte, 200)))
	return long(0x30, sealed, long(0x30, long(0x30, oidBytes(1, 2, 3)), long(0x30, oidBytes(1, 2, 3)), long(4, make([]byte, 20))))
}

// TestKeystoresCostLittle: what a keystore asks for is not what it gets.
func TestKeystoresCostLittle(t *testing.T) {
	w := newWorld(t)
	for i, enc := range []*gopkcs12.Encoder{gopkcs12.LegacyRC2, gopkcs12.LegacyDES, gopkcs12.Modern2023, gopkcs12.Modern2026} {
		const enough = 50_000 // for two passwords
		in := p12(t, w, enc.WithIterations(enough*2/5), "s3cret")
		r := &walk{scanner: NewScanner(), results: &results{}, work: 1 << 20, rounds: enough}
		r.value(in, place{})
		want := []string{"key PKCS#12 encrypted", "locked PKCS#12: " + lockedRounds}
		if diff := cmp.Diff(want, lines(r.results.found())); diff != "" {
			t.Errorf("encoder %d (-want +got):\n%s", i, diff)
		}
		if spent := maxRoundsOfCheap - r.scanner.small.rounds.cheapUsual.left.Load(); r.rounds < 0 || spent != enough-r.rounds {
			t.Errorf("encoder %d: %d left, %d rounds of %d spent", i, r.rounds, spent, enough)
		}
	}
}

// TestCostlyKeystoresLeaveOrdinaryOnesReadable, and ordinary ones without a
// password those that have one, each with its true reason.
func TestCostlyKeystoresLeaveOrdinaryOnesReadable(t *testing.T) {
	w := newWorld(t)
	s := NewScanner()
	const costlyTries = 7
	costly := gopkcs12.Modern2023.WithIterations(cheapTry + 1)
	for _, b := range []*budget{&s.small.rounds.costlyUsual, &s.small.rounds.costlyBeside} {
		b.left.Store(costlyTries * (cheapTry + 200))
	}
	limit := []string{"key PKCS#12 encrypted", "locked PKCS#12: the limit of work for all keystores of this run " + LockedLimit}
	closed := []string{"key PKCS#12 encrypted", "locked PKCS#12: " + lockedPassword}
	all := []string{"cert CN=server", "cert CN=root", "key ECDSA of CN=server"}
	check := func(name string, want []string, found []Found) {
		t.Helper()
		if diff := cmp.Diff(want, lines(found)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for i := range 8 {
		in, want := p12(t, w, costly, "s3cret"), limit
		if i == 0 {
			want = closed
		}
		check("a costly one", want, s.Scan(in))
		check("a costly one with another's password", limit, s.Unlock(in, [][]byte{[]byte("no")}))
	}
	if left := s.small.rounds.costlyUsual.left.Load(); left < 0 || left > cheapTry+200 {
		t.Errorf("tries that were refused were charged, or some were not made: %d left", left)
	}
	check("an ordinary one", all, s.Scan(p12(t, w, gopkcs12.Modern2023, "changeit")))
	s.small.rounds.cheapUsual.left.Store(0)
	check("an ordinary one, when the usual passwords are not affordable", limit, s.Scan(p12(t, w, gopkcs12.Modern2023, "password")))
	check("an ordinary one with its password beside it", all, s.Unlock(p12(t, w, gopkcs12.Modern2023, "s3cret"), [][]byte{[]byte("no"), []byte("s3cret")}))
	s.small.rounds.cheapBeside.left.Store(0)
	check("an ordinary one, when all is spent", limit, s.Unlock(p12(t, w, gopkcs12.Modern2023, "s3cret"), [][]byte{[]byte("s3cret")}))
}

func TestUnlock(t *testing.T) {
	w := newWorld(t)
	in := p12(t, w, gopkcs12.Modern2023, "s3cret")
	s := NewScanner()
	opened := s.Unlock(in, [][]byte{[]byte("s3cret")})
	if len(opened) != 1 || len(opened[0].Content.Certs) != 2 || len(opened[0].Content.Locked) != 0 {
		t.Fatalf("got %v", lines(opened))
	}
	if again := s.Unlock(in, [][]byte{[]byte("no"), []byte("s3cret")}); again[0].Content != opened[0].Content {
		t.Error("two places that were opened do not share what they hold")
	}
	if got := s.Scan(in); len(got[0].Content.Locked) != 1 || len(got[0].Content.Certs) != 0 {
		t.Errorf("a place without the password: %v", lines(got))
	}
	if got := s.Unlock(in, [][]byte{[]byte("no")}); len(got[0].Content.Locked) != 1 {
		t.Errorf("a place with another password: %v", lines(got))
	}
}

// TestKeystoresKeepNoSecrets looks for key bytes and passwords in all that comes
// out of a keystore.
func TestKeystoresKeepNoSecrets(t *testing.T) {
	w := newWorld(t)
	const secret = "correct horse battery staple"
	for _, enc := range []*gopkcs12.Encoder{gopkcs12.LegacyRC2, gopkcs12.LegacyDES, gopkcs12.Modern2023} {
		s := NewScanner()
		passwords := [][]byte{[]byte(secret)}
		found := s.Unlock(p12(t, w, enc, secret), passwords)
		if len(found) != 1 || len(found[0].Content.Keys) != 1 || found[0].Content.Keys[0].SPKI == (Fingerprint{}) {
			t.Fatalf("got %v", lines(found))
		}
		checkSecrets(t, w.server.KeyPEM, found)
		if text := fmt.Sprintf("%+v %+v", found, s); strings.Contains(text, secret) {
			t.Error("the password was kept")
		}
		if string(passwords[0]) != secret {
			t.Error("the caller's password was changed")
		}
	}
}

// TestKeystoresOfOneWriterLeaveOthersReadable, the same ones, too.
func TestKeystoresOfOneWriterLeaveOthersReadable(t *testing.T) {
	w := newWorld(t)
	in := p12(t, w, gopkcs12.Modern2023, "changeit")
	all := []string{"cert CN=server", "cert CN=root", "key ECDSA of CN=server"}
	for whose, writer := range map[string]func(*Scanner) *Scanner{"this node": (*Scanner).Alone, "namespace a": func(s *Scanner) *Scanner { return s.Apart("a") }} {
		s := NewScanner()
		spent := writer(s)
		spent.small.rounds.cheapUsual.left.Store(0)
		limit := []string{"key PKCS#12 encrypted", "locked PKCS#12: the limit of work for all keystores of " + whose + " " + LockedLimit}
		if diff := cmp.Diff(limit, lines(spent.Scan(in))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", whose, diff)
		}
		for _, other := range []*Scanner{s.Apart("b"), s.Alone(), s} {
			if diff := cmp.Diff(all, lines(other.Scan(in))); diff != "" {
				t.Errorf("of %s, beside %s (-want +got):\n%s", other.small.whose, whose, diff)
			}
		}
	}
}

// TestDecryptingIsPaidFor: what is encrypted unpacks from some kilobytes, and each password decrypts all of it.
func TestDecryptingIsPaidFor(t *testing.T) {
	t.Parallel()
	store := func(algorithm, size int) []byte {
		by := long(0x30, oidBytes(1, 2, 840, 113549, 1, 12, 1, algorithm), long(0x30, long(4, make([]byte, 8)), long(2, []byte{1})))
		sealed := long(0x30, long(2, []byte{0}), long(0x30, oidBytes(1, 2, 840, 113549, 1, 7, 1), by, long(0x80, make([]byte, size))))
		safe := long(0x30, long(0x30, oidBytes(1, 2, 840, 113549, 1, 7, 6), long(0xa0, sealed)))
		return long(0x30, long(2, []byte{3}), long(0x30, oidBytes(1, 2, 840, 113549, 1, 7, 1), long(0xa0, long(4, safe))))
	}
	var passwords [][]byte
	for i := range 12 {
		passwords = append(passwords, fmt.Append(nil, i))
	}
	for _, algorithm := range []int{3, 6} { // triple DES, RC2
		for size, want := range map[int]string{1 << 10: lockedPassword, 8 << 20: lockedRounds} {
			s := NewScanner()
			found := s.Unlock(zip(t, store(algorithm, size)), passwords)
			if diff := cmp.Diff([]string{"locked PKCS#12: " + want}, lines(found)); diff != "" {
				t.Errorf("%d bytes (-want +got):\n%s", size, diff)
			}
			if spent := maxRoundsOfCheap - s.small.rounds.cheapBeside.left.Load(); size == 1<<10 && spent < 12*int64(size)/2 {
				t.Errorf("%d bytes: %d spent", size, spent)
			}
		}
	}
}
