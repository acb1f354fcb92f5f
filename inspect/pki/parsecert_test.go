package pki

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestTheCommonNameIsNoOtherAttributes: a request's other attributes are what its client likes, and signers
// read the common name.
func TestTheCommonNameIsNoOtherAttributes(t *testing.T) {
	for want, name := range map[string]pkix.Name{
		"system:node:worker-0": {CommonName: "system:node:worker-0", SerialNumber: "1,CN=benign"},
		"benign":               {CommonName: "benign", SerialNumber: "CN=a+CN=system:node:worker-0", Organization: []string{"b,CN=system:node:worker-0"}},
		`a\,CN=b`:              {CommonName: "a,CN=b"},
		`SERIALNUMBER=1\,CN=x`: {SerialNumber: "1,CN=x"},
	} {
		if got := CommonName(name.String()); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestParseCert(t *testing.T) {
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(2, 0, 0)
	ca := pkitest.NewCA("signer@1", from, to)
	pair := ca.Issue("api-int", from, to,
		pkitest.Subject(pkix.Name{CommonName: "api-int", Organization: []string{"a, b"}}),
		pkitest.DNS("api-int.example.com", "*.apps.example.com"),
		pkitest.IPs("10.0.0.1", "fd00::1"),
		pkitest.URIs("spiffe://cluster/x"),
		pkitest.Serial(0x1f2e),
		pkitest.Usages(x509.ExtKeyUsageServerAuth),
		pkitest.Template(func(t *x509.Certificate) {
			t.EmailAddresses = []string{"root@example.com"}
			t.UnknownExtKeyUsage = append(t.UnknownExtKeyUsage, asn1.ObjectIdentifier{1, 2, 3, 4})
		}))
	in := bytes.Clone(pair.Cert.Raw)
	got, err := ParseCert(in)
	if err != nil {
		t.Fatal(err)
	}
	clear(in)
	want := &Cert{
		Fingerprint: sha256.Sum256(pair.Cert.Raw),
		DER:         pair.Cert.Raw,
		Subject:     `CN=api-int,O=a\, b`,
		Issuer:      "CN=signer@1",
		Serial:      "1f2e",
		NotBefore:   from,
		NotAfter:    to,
		Names: Names{
			DNS:    []string{"api-int.example.com", "*.apps.example.com"},
			IPs:    []string{"10.0.0.1", "fd00::1"},
			Others: []string{"root@example.com", "spiffe://cluster/x"},
		},
		Usages:     []string{"server auth", "1.2.3.4"},
		PublicKey:  "ECDSA P-256",
		Signature:  "ECDSA-SHA256",
		SPKI:       sha256.Sum256(pair.Cert.RawSubjectPublicKeyInfo),
		SubjectKey: hex.EncodeToString(pair.Cert.SubjectKeyId),
		IssuerKey:  hex.EncodeToString(ca.Cert.SubjectKeyId),
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Cert{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	x, err := got.X509()
	if err != nil || !x.Equal(pair.Cert) {
		t.Errorf("X509() = %v, %v", x, err)
	}
}

func TestParseCertOddities(t *testing.T) {
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(2, 0, 0)
	ca := pkitest.NewCA("ca", from, to)
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	forged := bytes.Clone(ca.Cert.Raw)
	forged[len(forged)-1] ^= 1
	gost := bytes.Replace(ca.Cert.Raw, []byte("\x06\x07\x2a\x86\x48\xce\x3d\x02\x01"), []byte("\x06\x07\x2a\x85\x03\x02\x02\x13\x01"), 1)
	tests := []struct {
		name string
		der  []byte
		ok   func(*Cert) bool
	}{
		{"an authority signs itself", ca.Cert.Raw, func(c *Cert) bool { return c.IsCA && c.SelfSigned }},
		{"a self-signed leaf is no authority", pkitest.SelfSigned("x", from, to).Cert.Raw, func(c *Cert) bool { return !c.IsCA && c.SelfSigned }},
		{"an intermediate is an authority", ca.CA("sub", from, to).Cert.Raw, func(c *Cert) bool { return c.IsCA && !c.SelfSigned }},
		{"a broken signature is not self-signed", forged, func(c *Cert) bool { return c.IsCA && !c.SelfSigned }},
		{"its issuer's name alone does not make it self-signed", ca.Issue("ca", from, to).Cert.Raw, func(c *Cert) bool { return !c.SelfSigned && c.Issuer == c.Subject }},
		{"a negative serial number", pkitest.NewCA("n", from, to, pkitest.Serial(-0x1234567)).Cert.Raw, func(c *Cert) bool { return c.Serial == "-1234567" && c.SelfSigned }},
		{"the year 9999", ca.Issue("x", from, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)).Cert.Raw, func(c *Cert) bool { return c.NotAfter.Year() == 9999 }},
		{"the year 1", ca.Issue("x", year(1), to).Cert.Raw, func(c *Cert) bool { return c.NotBefore.Year() == 1 }},
		{"an end before the start", ca.Issue("x", to, from).Cert.Raw, func(c *Cert) bool { return c.NotAfter.Equal(from) && c.NotBefore.Equal(to) }},
		{"an unknown public key algorithm is named by its number", gost, func(c *Cert) bool { return c.PublicKey == "1.2.643.2.2.19.1" && !c.SelfSigned }},
		{"RSA", pkitest.NewCA("r", from, to, pkitest.RSA(1024)).Cert.Raw, func(c *Cert) bool { return c.PublicKey == "RSA 1024" && c.Signature == "SHA256-RSA" && c.SelfSigned }},
		{"Ed25519", pkitest.NewCA("e", from, to, pkitest.Ed25519()).Cert.Raw, func(c *Cert) bool { return c.PublicKey == "Ed25519" && c.SelfSigned }},
		{"an empty subject", ca.Issue("", from, to, pkitest.Subject(pkix.Name{}), pkitest.DNS("a")).Cert.Raw, func(c *Cert) bool { return c.Subject == "" }},
		{"a long serial number", ca.Issue("x", from, to, pkitest.Template(func(t *x509.Certificate) {
			t.SerialNumber = new(big.Int).Lsh(big.NewInt(1), 150)
		})).Cert.Raw, func(c *Cert) bool { return len(c.Serial) == 38 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := ParseCert(tt.der)
			if err != nil {
				t.Fatal(err)
			}
			if !tt.ok(c) {
				t.Errorf("got %+v", c)
			}
		})
	}
}

func TestUnsupportedCurveIsABadBlock(t *testing.T) {
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	ca := pkitest.NewCA("ca", from, from.AddDate(1, 0, 0))
	sm2 := bytes.Replace(ca.Cert.Raw, []byte("\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"), []byte("\x06\x08\x2a\x81\x1c\xcf\x55\x01\x82\x2d"), 1)
	want := []string{"bad 0 CERTIFICATE: certificate can't be parsed: x509: unsupported elliptic curve"}
	if diff := cmp.Diff(want, lines(NewScanner().Scan(sm2))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseRequest(t *testing.T) {
	w := newWorld(t)
	got := NewScanner().Scan(join(w.request, w.reqKey))
	if len(got) != 1 || len(got[0].Content.Requests) != 1 {
		t.Fatalf("got %v", lines(got))
	}
	r, k := got[0].Content.Requests[0], got[0].Content.Keys[0]
	if r.SPKI != k.SPKI || r.KeyAlgo != "ECDSA P-256" || r.Subject != "CN=system:node:worker-1" {
		t.Errorf("got %+v with key %+v", r, k)
	}
	if _, err := ParseRequest([]byte("x")); err == nil || !strings.HasPrefix(err.Error(), "certificate request can't be parsed: ") {
		t.Errorf("error %v", err)
	}
}

// TestTimesCanBeWritten: an offset leads out of the years that JSON has.
func TestTimesCanBeWritten(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"9999-12-31T23:59:59-01:00": "9999-12-31T23:59:59Z",
		"9999-12-31T23:59:59+01:00": "9999-12-31T22:59:59Z",
		"0000-01-01T00:00:00+01:00": "0000-01-01T00:00:00Z",
		"2026-01-01T00:00:00+01:00": "2025-12-31T23:00:00Z",
	} {
		at, err := time.Parse(time.RFC3339, given)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(WritableTime(at)); err != nil || string(got) != `"`+want+`"` {
			t.Errorf("%s: %s, %v", given, got, err)
		}
	}
	// openssl calls such a time bad, and crypto/x509 reads it.
	ca := pkitest.NewCA("ca", time.Unix(1.7e9, 0), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))
	var all, signed cryptobyte.String
	in := cryptobyte.String(ca.Cert.Raw)
	if !in.ReadASN1(&all, cbasn1.SEQUENCE) || !all.ReadASN1(&signed, cbasn1.SEQUENCE) {
		t.Fatal("it is no certificate")
	}
	late := bytes.Replace(signed, []byte("\x18\x0f99991231235959Z"), []byte("\x18\x1399991231235959-0100"), 1)
	i := bytes.Index(late, []byte("\x18\x13")) - 15 // the other time, in UTCTime
	if i < 2 || late[i-2] != 0x30 {
		t.Fatal("its dates were not found")
	}
	late[i-1] += 4
	b := cryptobyte.NewBuilder(nil)
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) { b.AddBytes(late) })
		b.AddBytes(all)
	})
	c, err := ParseCert(b.BytesOrPanic())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(c.NotAfter); err != nil || c.NotAfter.Year() != 9999 {
		t.Errorf("%s: %v", c.NotAfter, err)
	}
}
