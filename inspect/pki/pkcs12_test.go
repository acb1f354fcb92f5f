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
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	gopkcs12 "software.sslmate.com/src/go-pkcs12"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

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
