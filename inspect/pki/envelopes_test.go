package pki

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// long encodes DER of any length.
func long(tag byte, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	der, err := asn1.Marshal(asn1.RawValue{Class: int(tag >> 6), Tag: int(tag & 0x1f), IsCompound: tag&0x20 != 0, Bytes: body})
	if err != nil {
		panic(err)
	}
	return der
}

// open encodes an element whose length is not said in front.
func open(tag byte, parts ...[]byte) []byte {
	return join(string([]byte{tag, 0x80}), bytes.Join(parts, nil), "\x00\x00")
}

func oidBytes(oid ...int) []byte {
	der, err := asn1.Marshal(asn1.ObjectIdentifier(oid))
	if err != nil {
		panic(err)
	}
	return der
}

// p7b returns a certs-only PKCS#7 message; encode is long, or open for BER.
func p7b(encode func(byte, ...[]byte) []byte, certs, crls []byte) []byte {
	signed := [][]byte{
		long(2, []byte{1}), long(0x31),
		encode(0x30, oidBytes(1, 2, 840, 113549, 1, 7, 1)),
		encode(0xa0, certs),
	}
	if crls != nil {
		signed = append(signed, encode(0xa1, crls))
	}
	signed = append(signed, long(0x31))
	return encode(0x30, oidBytes(1, 2, 840, 113549, 1, 7, 2), encode(0xa0, encode(0x30, signed...)))
}

// revocations returns a list that revokes n certificates.
func revocations(t testing.TB, w world, n int) []byte {
	t.Helper()
	issuer := *w.root.Cert
	issuer.KeyUsage |= x509.KeyUsageCRLSign
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: w.root.Cert.NotBefore, NextUpdate: w.root.Cert.NotAfter}
	for i := range n {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: big.NewInt(int64(i + 1)), RevocationTime: w.root.Cert.NotBefore, ReasonCode: i % 2,
		})
	}
	der, err := x509.CreateRevocationList(nil, list, &issuer, w.root.Key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func armor(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func TestScanMessages(t *testing.T) {
	w := newWorld(t)
	certs := join(w.server.Cert.Raw, w.root.Cert.Raw)
	der, ber := p7b(long, certs, nil), p7b(open, certs, nil)
	list := revocations(t, w, 3)
	two := []string{"cert CN=server", "cert CN=root"}
	one := []string{"crl of CN=root, 3 revoked"}
	attribute := long(0xa1, []byte("\x02\x01\x01")) // an attribute certificate
	tests := []struct {
		name string
		in   []byte
		want []string
	}{
		{"DER", der, two},
		{"BER", ber, two},
		{"PEM", armor("PKCS7", der), two},
		{"PEM of BER", armor("PKCS7", ber), two},
		{"PEM, as CMS", armor("CMS", der), two},
		{"PEM, as GnuTLS writes it", armor("PKCS #7 SIGNED DATA", der), two},
		{"base64", wrap(b64(der), 64), two},
		{"base64 of BER in a script", join("echo ", b64(ber), " | base64 -d\n"), two},
		{"base64 of PEM in a document", join(`{"bundle": "`, b64(armor("PKCS7", der)), `"}`), []string{"bundle: cert CN=server", "bundle: cert CN=root"}},
		{"gzip", zip(t, ber), two},
		{"a data URL", join("data:application/pkcs7-mime;base64,", b64(der)), two},
		{"behind a certificate", join(w.other.Cert.Raw, der), []string{"cert CN=other", "cert CN=server", "cert CN=root"}},
		{"before PEM", join(ber, "\n", w.other.CertPEM), append(two, "cert CN=other")},
		{"with a revocation list", p7b(long, certs, list), append(two, one...)},
		{"with an attribute certificate", p7b(long, join(attribute, certs), nil), two},
		{"without certificates", p7b(long, nil, nil), nil},
		{"for the holder of a key", long(0x30, oidBytes(1, 2, 840, 113549, 1, 7, 3), long(0xa0, long(0x30, long(2, []byte{0}), make([]byte, 0), bytes.Repeat(long(4, []byte("0123456789")), 20)))), nil},
		{"a broken certificate in it", p7b(long, join(w.root.Cert.Raw, long(0x30, []byte("\x02\x01\x01"))), nil), []string{"cert CN=root", "bad 0 PKCS7: certificate can't be parsed: x509: malformed tbs certificate"}},
		{"cut off", armor("PKCS7", der[:len(der)-5]), []string{"bad 0 PKCS7: cut off: the DER is longer than the block"}},
		{"a certificate in its place", armor("PKCS7", w.root.Cert.Raw), []string{"bad 0 PKCS7: it holds a certificate, not a PKCS#7 message"}},

		{"a revocation list in DER", list, one},
		{"a revocation list in PEM", join(w.root.CertPEM, armor("X509 CRL", list)), append([]string{"cert CN=root"}, one...)},
		{"a revocation list in base64", b64(list), one},
		{"a revocation list in gzip", zip(t, armor("X509 CRL", list)), one},
		{"an empty revocation list", armor("X509 CRL", crl(t, w)), []string{"crl of CN=root, 0 revoked"}},
		{"a certificate in the place of a revocation list", armor("X509 CRL", w.root.Cert.Raw), []string{"bad 0 X509 CRL: it holds a certificate, not a revocation list"}},
		{"a revocation list cut off", armor("X509 CRL", list[:100]), []string{"bad 0 X509 CRL: cut off: the DER is longer than the block"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lines(NewScanner().Scan(tt.in))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCRLIsWhatCryptoX509Reads(t *testing.T) {
	w := newWorld(t)
	for _, n := range []int{0, 1, 500} {
		der := revocations(t, w, n)
		want, err := x509.ParseRevocationList(der)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parseCRL(der)
		if err != nil {
			t.Fatal(err)
		}
		c, err := ParseCert(w.root.Cert.Raw)
		if err != nil {
			t.Fatal(err)
		}
		if got.Issuer != c.Subject || got.IssuerKey != c.SubjectKey || !got.ThisUpdate.Equal(want.ThisUpdate) || !got.NextUpdate.Equal(want.NextUpdate) || got.Revoked != n {
			t.Errorf("got %+v", got)
		}
	}
}

func TestCRLOfVersion1(t *testing.T) {
	name, err := asn1.Marshal(pkix.Name{CommonName: "old"}.ToRDNSequence())
	if err != nil {
		t.Fatal(err)
	}
	algorithm := long(0x30, oidBytes(1, 2, 840, 113549, 1, 1, 11), []byte("\x05\x00"))
	der := long(0x30, long(0x30, algorithm, name, long(0x17, []byte("240301000000Z"))), algorithm, long(3, make([]byte, 257)))
	got, err := parseCRL(der)
	if err != nil {
		t.Fatal(err)
	}
	want := &CRL{Fingerprint: FingerprintOf(der), Issuer: "CN=old", ThisUpdate: time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"crl of CN=old, 0 revoked"}, lines(NewScanner().Scan(der))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBERIsClosed(t *testing.T) {
	pieces := open(0x24, long(4, []byte("ab")), open(0x24, long(4, []byte("c"))), long(4, []byte("d")))
	der, rest, ok := berToDER(join(open(0x30, long(2, []byte{1}), pieces), "rest"))
	if want := long(0x30, long(2, []byte{1}), long(4, []byte("abcd"))); !ok || !bytes.Equal(der, want) || string(rest) != "rest" {
		t.Errorf("got %x, %q, %v; want %x", der, rest, ok, want)
	}
	for name, in := range map[string][]byte{
		"without an end":     open(0x30, long(2, []byte{1}))[:5],
		"nothing":            nil,
		"nested too deeply":  []byte(strings.Repeat("\x30\x80", 100) + strings.Repeat("\x00\x00", 100)),
		"primitive and open": []byte("\x04\x80ab\x00\x00"),
		"a long tag":         []byte("\x3f\x81\x01\x00"),
		"pieces of others":   open(0x24, long(2, []byte{1})),
	} {
		if _, _, ok := berToDER(in); ok {
			t.Errorf("%s: read", name)
		}
	}
}
