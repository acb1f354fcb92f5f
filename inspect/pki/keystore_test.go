package pki

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	gopkcs12 "software.sslmate.com/src/go-pkcs12"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
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

// p12 returns a keystore with w.server, its key and its chain.
func p12(t testing.TB, w world, enc *gopkcs12.Encoder, password string) []byte {
	t.Helper()
	der, err := enc.Encode(signerOf(t, w.server), w.server.Cert, []*x509.Certificate{w.root.Cert}, password)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// signerOf returns the key as the standard library's type.
func signerOf(t testing.TB, p pkitest.Pair) crypto.Signer {
	t.Helper()
	blocks := standardKeys(p.KeyPEM)
	if len(blocks) != 1 {
		t.Fatalf("%d keys", len(blocks))
	}
	return blocks[0]
}

func TestScanPKCS12(t *testing.T) {
	w := newWorld(t)
	all := []string{"cert CN=server", "cert CN=root", "key ECDSA of CN=server"}
	wrong := []string{"locked PKCS#12: " + lockedPassword}
	encoders := []struct {
		name string
		enc  *gopkcs12.Encoder
	}{
		{"RC2", gopkcs12.LegacyRC2}, {"3DES", gopkcs12.LegacyDES}, {"AES", gopkcs12.Modern2023}, {"PBMAC1", gopkcs12.Modern2026},
	}
	for _, e := range encoders {
		for _, p := range []struct {
			name, password string
			beside         []string
			want           []string
		}{
			{"without a password", "", nil, all},
			{"changeit", "changeit", nil, all},
			{"password", "password", nil, all},
			{"a password that lies beside it", "s3cret-ü€", []string{"other", "s3cret-ü€"}, all},
			{"a password that is not there", "s3cret", []string{"other"}, append(wrong[:1:1], "key PKCS#12 encrypted")},
		} {
			t.Run(e.name+", "+p.name, func(t *testing.T) {
				var beside [][]byte
				for _, b := range p.beside {
					beside = append(beside, []byte(b))
				}
				want := p.want
				if len(want) == 2 { // the line of a key comes first
					want = []string{want[1], want[0]}
				}
				if diff := cmp.Diff(want, lines(NewScanner().Unlock(p12(t, w, e.enc, p.password), beside))); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
		t.Run(e.name+", truststore", func(t *testing.T) {
			in, err := e.enc.EncodeTrustStore([]*x509.Certificate{w.root.Cert, w.other.Cert}, "changeit")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"cert CN=root", "cert CN=other"}, lines(NewScanner().Scan(in))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			in, err = e.enc.EncodeTrustStore([]*x509.Certificate{w.root.Cert, w.other.Cert}, "s3cret")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wrong, lines(NewScanner().Scan(in))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	in := p12(t, w, gopkcs12.Modern2023, "changeit")
	for name, in := range map[string][]byte{
		"nothing encrypted, no digest": p12(t, w, gopkcs12.Passwordless, ""),
		"base64":                       wrap(b64(in), 76),
		"base64 in a script":           join("echo ", b64(in), " | base64 -d\n"),
		"gzip":                         zip(t, in),
		"a data URL":                   join("data:application/x-pkcs12;base64,", b64(in)),
		"PEM":                          armor("PKCS12", in),
	} {
		if diff := cmp.Diff(all, lines(NewScanner().Scan(in))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestScanPKCS12OfOtherMakers has what go-pkcs12 does not write.
func TestScanPKCS12OfOtherMakers(t *testing.T) {
	w := newWorld(t)
	oid := func(kind int) []byte { return oidBytes(1, 2, 840, 113549, 1, 12, 10, 1, kind) }
	tagged := func(b ...[]byte) []byte { return long(0xa0, b...) }
	x509Cert := oidBytes(1, 2, 840, 113549, 1, 9, 22, 1)
	certBag := func(der []byte) []byte {
		return long(0x30, oid(3), tagged(long(0x30, x509Cert, tagged(long(4, der)))))
	}
	crlBag := long(0x30, oid(4), tagged(long(0x30, oidBytes(1, 2, 840, 113549, 1, 9, 23, 1), tagged(long(4, revocations(t, w, 2))))))
	pkcs8, err := x509.MarshalPKCS8PrivateKey(signerOf(t, w.server))
	if err != nil {
		t.Fatal(err)
	}
	keyBag := long(0x30, oid(1), tagged(pkcs8))
	secretBag := long(0x30, oid(5), tagged(long(0x30, oidBytes(1, 2, 3), tagged(long(4, []byte("x"))))))
	nest := func(bags ...[]byte) []byte { return long(0x30, oid(6), tagged(long(0x30, bags...))) }
	data := oidBytes(1, 2, 840, 113549, 1, 7, 1)
	type encode = func(byte, ...[]byte) []byte
	pieces := func(der []byte) []byte { return open(0x24, long(4, der[:10]), long(4, der[10:])) }
	whole := func(der []byte) []byte { return long(4, der) }
	// What comes behind a nil is no part, but the digest.
	file := func(encode encode, octets func([]byte) []byte, parts ...[]byte) []byte {
		var mac []byte
		if i := slices.IndexFunc(parts, func(p []byte) bool { return p == nil }); i >= 0 {
			mac, parts = parts[i+1], parts[:i]
		}
		return encode(0x30, long(2, []byte{3}), encode(0x30, data, encode(0xa0, octets(encode(0x30, parts...)))), mac)
	}
	costly := long(0x30, long(0x30, long(0x30, oidBytes(2, 16, 840, 1, 101, 3, 4, 2, 1), []byte("\x05\x00")), long(4, make([]byte, 32))),
		long(4, []byte("saltsalt")), long(2, []byte("\x7f\xff\xff\xff")))
	part := func(encode encode, octets func([]byte) []byte, bags ...[]byte) []byte {
		return encode(0x30, data, encode(0xa0, octets(encode(0x30, bags...))))
	}
	encrypted := func(encode encode, implicit func([]byte) []byte, cost int, bags ...[]byte) []byte {
		algorithm, secret := pbes2(t, "changeit", cost, encode(0x30, bags...))
		return encode(0x30, oidBytes(1, 2, 840, 113549, 1, 7, 6), encode(0xa0, encode(0x30, long(2, []byte{0}),
			encode(0x30, data, algorithm, implicit(secret)))))
	}
	implicit := func(b []byte) []byte { return long(0x80, b) }
	implicitPieces := func(b []byte) []byte { return open(0xa0, long(4, b[:8]), long(4, b[8:])) }
	server, root, other := certBag(w.server.Cert.Raw), certBag(w.root.Cert.Raw), certBag(w.other.Cert.Raw)
	all := []string{"cert CN=server", "cert CN=root", "key ECDSA of CN=server"}
	deep := server
	for range 50 {
		deep = nest(deep)
	}
	tests := []struct {
		name string
		in   []byte
		want []string
	}{
		{"the leaf not in front", file(long, whole, part(long, whole, root, server, keyBag)), all},
		{"certificates only", file(long, whole, part(long, whole, root, other)), []string{"cert CN=root", "cert CN=other"}},
		{"many parts", file(long, whole, part(long, whole, server), part(long, whole, keyBag), part(long, whole, root)), all},
		{"BER", file(open, whole, part(open, whole, server, root, keyBag)), all},
		{"BER in pieces", file(open, pieces, part(open, pieces, server, root, keyBag)), all},
		{"encrypted, no digest", file(long, whole, encrypted(long, implicit, 100, server, root), part(long, whole, keyBag)), all},
		{"encrypted, BER in pieces", file(open, pieces, encrypted(open, implicitPieces, 100, server, root), part(open, pieces, keyBag)), all},
		{"bags in bags", file(long, whole, part(long, whole, nest(server, nest(root)), keyBag)), all},
		{"bags in bags in bags …", file(long, whole, part(long, whole, root, deep)), []string{"cert CN=root", "bad 0 PKCS#12: keystore is cut off or damaged"}},
		{"a secret and a revocation list", file(long, whole, part(long, whole, secretBag, crlBag, root)), []string{"cert CN=root", "crl of CN=root, 2 revoked"}},
		{"a digest of two billion rounds", file(long, whole, encrypted(long, implicit, 100, server), part(long, whole, root), nil, costly), []string{"cert CN=root", "locked PKCS#12: " + lockedRounds}},
		{"two billion rounds", file(long, whole, encrypted(long, implicit, -1, server), part(long, whole, root)), []string{"cert CN=root", "locked PKCS#12: " + lockedRounds}},
		{"a broken certificate", file(long, whole, part(long, whole, root, certBag([]byte("x")))), []string{"cert CN=root", "bad 0 PKCS#12: certificate can't be parsed: x509: malformed certificate"}},
		{"signed", long(0x30, long(2, []byte{3}), long(0x30, oidBytes(1, 2, 840, 113549, 1, 7, 2), tagged(long(0x30, make([]byte, 150))))), []string{"locked PKCS#12: " + lockedAlgorithm}},
		{"for the holder of a key", file(long, whole, part(long, whole, root), long(0x30, oidBytes(1, 2, 840, 113549, 1, 7, 3), tagged(long(0x30)))), []string{"cert CN=root", "locked PKCS#12: " + lockedAlgorithm}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			if diff := cmp.Diff(tt.want, lines(NewScanner().Scan(tt.in))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// pbes2 encrypts as OpenSSL 3 does. Fewer than no rounds are two billion, and
// the secret is none.
func pbes2(t testing.TB, password string, rounds int, plain []byte) (algorithm, secret []byte) {
	t.Helper()
	claimed := rounds
	if rounds < 0 {
		rounds, claimed = 1, 1<<31-1
	}
	key, err := pbkdf2.Key(sha256.New, password, []byte("saltsalt"), rounds, 32)
	if err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	n := 16 - len(plain)%16
	secret = append(bytes.Clone(plain), bytes.Repeat([]byte{byte(n)}, n)...)
	iv := make([]byte, 16)
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(secret, secret)
	count, err := asn1.Marshal(claimed)
	if err != nil {
		t.Fatal(err)
	}
	kdf := long(0x30, oidBytes(1, 2, 840, 113549, 1, 5, 12), long(0x30, long(4, []byte("saltsalt")), count,
		long(0x30, oidBytes(1, 2, 840, 113549, 2, 9), []byte("\x05\x00"))))
	scheme := long(0x30, oidBytes(2, 16, 840, 1, 101, 3, 4, 1, 42), long(4, iv))
	return long(0x30, oidBytes(1, 2, 840, 113549, 1, 5, 13), long(0x30, kdf, scheme)), secret
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
		if spent := maxRoundsOfCheap - r.scanner.rounds.cheapUsual.left.Load(); r.rounds < 0 || spent != enough-r.rounds {
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
	for _, b := range []*budget{&s.rounds.costlyUsual, &s.rounds.costlyBeside} {
		b.left.Store(costlyTries * (cheapTry + 200))
	}
	limit := []string{"key PKCS#12 encrypted", "locked PKCS#12: " + LockedLimit}
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
	if left := s.rounds.costlyUsual.left.Load(); left < 0 || left > cheapTry+200 {
		t.Errorf("tries that were refused were charged, or some were not made: %d left", left)
	}
	check("an ordinary one", all, s.Scan(p12(t, w, gopkcs12.Modern2023, "changeit")))
	s.rounds.cheapUsual.left.Store(0)
	check("an ordinary one, when the usual passwords are not affordable", limit, s.Scan(p12(t, w, gopkcs12.Modern2023, "password")))
	check("an ordinary one with its password beside it", all, s.Unlock(p12(t, w, gopkcs12.Modern2023, "s3cret"), [][]byte{[]byte("no"), []byte("s3cret")}))
	s.rounds.cheapBeside.left.Store(0)
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

// TestRC2 has the vectors of RFC 2268, section 5, whose effective length is that
// of the key.
func TestRC2(t *testing.T) {
	for _, v := range []struct{ key, plain, secret string }{
		{"ffffffffffffffff", "ffffffffffffffff", "278b27e42e2f0d49"},
		{"3000000000000000", "1000000000000001", "30649edf9be7d2c2"},
		{"88bca90e90875a7f0f79c384627bafb2", "0000000000000000", "2269552ab0f85ca6"},
	} {
		key, _ := hex.DecodeString(v.key)
		plain, _ := hex.DecodeString(v.plain)
		c, err := newRC2(key)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 8)
		if c.Encrypt(got, plain); hex.EncodeToString(got) != v.secret {
			t.Errorf("key %s: %x, want %s", v.key, got, v.secret)
		}
		if c.Decrypt(got, got); !bytes.Equal(got, plain) {
			t.Errorf("key %s: decrypted %x", v.key, got)
		}
	}
}

// runTool runs a program in dir, and skips the test where it is not installed.
func runTool(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(name + " is not installed")
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// folder has the world's files, for other programs.
func folder(t *testing.T, w world) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"server.pem": w.server.CertPEM, "server.key": w.server.KeyPEM, "root.pem": w.root.CertPEM, "other.pem": w.other.CertPEM,
		"both.pem": join(w.server.CertPEM, w.root.CertPEM), "list.pem": armor("X509 CRL", revocations(t, w, 4)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func scanFile(t *testing.T, dir, name string, passwords ...[]byte) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return lines(NewScanner().Unlock(data, passwords))
}

func TestScanWhatOpenSSLWrites(t *testing.T) {
	w := newWorld(t)
	dir := folder(t, w)
	all := []string{"cert CN=server", "cert CN=root", "key ECDSA of CN=server"}
	export := []string{"pkcs12", "-export", "-in", "server.pem", "-inkey", "server.key", "-certfile", "root.pem", "-out", "out", "-passout"}
	cms := append(all[:2:2], "crl of CN=root, 4 revoked")
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"its default", append(export, "pass:changeit"), all},
		{"a password that lies beside", append(export, "pass:s3cret-ü€"), all},
		{"no password", append(export, "pass:"), all},
		{"PBE-SHA1-3DES", append(export, "pass:changeit", "-certpbe", "PBE-SHA1-3DES", "-keypbe", "PBE-SHA1-3DES", "-macalg", "sha1"), all},
		{"two-key 3DES", append(export, "pass:changeit", "-certpbe", "PBE-SHA1-2DES", "-keypbe", "PBE-SHA1-2DES"), all},
		{"AES-128 and SHA-512", append(export, "pass:changeit", "-certpbe", "AES-128-CBC", "-keypbe", "AES-192-CBC", "-macalg", "sha512"), all},
		{"SHA-384 and SHA-224", append(export, "pass:changeit", "-macalg", "sha384"), all},
		{"nothing encrypted", append(export, "pass:changeit", "-certpbe", "NONE", "-keypbe", "NONE"), all},
		{"no digest", append(export, "pass:changeit", "-nomac"), all},
		{"one round", append(export, "pass:changeit", "-noiter", "-nomaciter"), all},
		{"a hundred thousand rounds", append(export, "pass:changeit", "-iter", "100000"), all},
		{"certificates only", []string{"pkcs12", "-export", "-nokeys", "-in", "both.pem", "-out", "out", "-passout", "pass:changeit"}, all[:2]},
		{"a bundle", []string{"crl2pkcs7", "-certfile", "both.pem", "-nocrl", "-out", "out"}, all[:2]},
		{"a bundle in DER", []string{"crl2pkcs7", "-certfile", "both.pem", "-in", "list.pem", "-out", "out", "-outform", "DER"}, cms},
		{"a signed message, streamed", []string{"cms", "-sign", "-stream", "-nodetach", "-binary", "-in", "root.pem", "-signer", "server.pem", "-inkey", "server.key", "-certfile", "root.pem", "-out", "out", "-outform", "DER"}, nil},
		{"a signed message in PEM", []string{"cms", "-sign", "-nodetach", "-binary", "-in", "root.pem", "-signer", "server.pem", "-inkey", "server.key", "-out", "out", "-outform", "PEM"}, all[:1]},
		{"a revocation list in DER", []string{"crl", "-in", "list.pem", "-outform", "DER", "-out", "out"}, cms[2:]},
		{"a revocation list as text", []string{"crl", "-in", "list.pem", "-text", "-out", "out"}, cms[2:]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runTool(t, dir, "openssl", tt.args...)
			got := scanFile(t, dir, "out", []byte("s3cret-ü€"))
			want := tt.want
			if want == nil { // in no order, as a SET is
				want = []string{"cert CN=root", "cert CN=server"}
				if len(got) == 2 && got[0] > got[1] {
					got[0], got[1] = got[1], got[0]
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestScanWhatKeytoolWrites(t *testing.T) {
	w := newWorld(t)
	dir := folder(t, w)
	if err := os.WriteFile(filepath.Join(dir, "server.p12"), p12(t, w, gopkcs12.Modern2023, "changeit"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := []string{"cert CN=server", "cert CN=root", "cert CN=other"}
	const quick = "-J-XX:TieredStopAtLevel=1" // a JVM that need not run for long
	for _, tt := range []struct {
		name, kind string
		flags      []string
		want       string
	}{
		{"JKS", "JKS", nil, "key JKS encrypted"},
		{"JCEKS", "JCEKS", nil, "key JCEKS encrypted"},
		{"PKCS12", "PKCS12", nil, "key ECDSA of CN=server"},
		{"PKCS12 of older releases", "PKCS12", []string{"-J-Dkeystore.pkcs12.legacy"}, "key ECDSA of CN=server"},
		{"PKCS12 without encryption", "PKCS12", []string{"-J-Dkeystore.pkcs12.certProtectionAlgorithm=NONE", "-J-Dkeystore.pkcs12.macAlgorithm=NONE"}, "key ECDSA of CN=server"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := strings.ReplaceAll(tt.name, " ", "-")
			args := append([]string{"-importkeystore", "-noprompt", "-srckeystore", "server.p12", "-srcstoretype", "PKCS12", "-srcstorepass", "changeit",
				"-destkeystore", store, "-deststoretype", tt.kind, "-deststorepass", "s3cret", quick}, tt.flags...)
			runTool(t, dir, "keytool", args...)
			runTool(t, dir, "keytool", append([]string{"-importcert", "-noprompt", "-alias", "a trusted one", "-file", "other.pem", "-keystore", store, "-storetype", tt.kind, "-storepass", "s3cret", quick}, tt.flags...)...)
			got := scanFile(t, dir, store, []byte("s3cret"))
			if len(got) == 4 && got[1] == "cert CN=other" { // in no order
				got[1], got[2] = got[2], got[1]
			}
			if diff := cmp.Diff(append(all[:3:3], tt.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			locked := scanFile(t, dir, store)
			switch {
			case tt.kind != "PKCS12", strings.Contains(tt.name, "without"):
				if len(locked) != 4 || strings.Contains(strings.Join(locked, "\n"), "locked") {
					t.Errorf("certificates that are not encrypted, without the password: %q", locked)
				}
			case !strings.Contains(strings.Join(locked, "\n"), "locked PKCS#12: "+lockedPassword):
				t.Errorf("without the password: %q", locked)
			}
		})
	}
}
