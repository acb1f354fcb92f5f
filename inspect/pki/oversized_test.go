package pki

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// patience is a hundred times what reading one value takes, and a tenth of what one
// operation with a key of a million bits does.
const patience = 20 * time.Second

// inTime scans a value, and fails where that does not come to its end.
func inTime(t *testing.T, value []byte) []string {
	t.Helper()
	done := make(chan []string, 1)
	go func() { done <- lines(NewScanner().Scan(value)) }()
	select {
	case got := <-done:
		return got
	case <-time.After(patience):
		t.Fatalf("reading %d bytes takes longer than %s", len(value), patience)
		return nil
	}
}

func TestAnOversizedKeyIsABadBlockAndNeverVerified(t *testing.T) {
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(1, 0, 0)
	million, millionRequest := pkitest.Oversized("million", 1<<20, from, to)
	above, aboveRequest := pkitest.Oversized("above", 16392, from, to)
	atMost, atMostRequest := pkitest.Oversized("at most", 16384, from, to)
	good := pkitest.NewCA("good", from, to)
	store := p7b(long, der(t, million), nil)
	const why = "above 16384 bits it is neither read nor verified"
	tests := []struct {
		name string
		in   []byte
		want []string
	}{
		{"a certificate of a million bits, beside a good one", join(million, good.CertPEM), []string{"cert CN=good", "bad 0 CERTIFICATE: its RSA key has 1048576 bits: " + why}},
		{"in DER", der(t, million), []string{"bad 0 CERTIFICATE: its RSA key has 1048576 bits: " + why}},
		{"in a PKCS#7 message", store, []string{"bad 0 PKCS7: its RSA key has 1048576 bits: " + why}},
		{"in a Java keystore", jks(magicJKS, 2, javaEntry{kind: javaCert, certs: [][]byte{der(t, million)}}), []string{"bad 0 JKS: its RSA key has 1048576 bits: " + why}},
		{"a request of a million bits", millionRequest, []string{"bad 0 CERTIFICATE REQUEST: its RSA key has 1048576 bits: " + why}},
		{"a certificate just above the limit", above, []string{"bad 0 CERTIFICATE: its RSA key has 16392 bits: " + why}},
		{"a request just above the limit", aboveRequest, []string{"bad 0 CERTIFICATE REQUEST: its RSA key has 16392 bits: " + why}},
		{"a certificate and a request at the limit are read", join(atMost, atMostRequest), []string{"cert CN=at most", "request CN=at most"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, inTime(t, tt.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNamesOfTooManyPartsAreBadBlocks: crypto/x509 writes a name in quadratic time.
func TestNamesOfTooManyPartsAreBadBlocks(t *testing.T) {
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(1, 0, 0)
	of := func(parts int) pkitest.Option {
		name := pkix.Name{CommonName: "parts"}
		for range parts {
			name.ExtraNames = append(name.ExtraNames, pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 11}, Value: "x"})
		}
		return pkitest.Subject(name)
	}
	subject := pkitest.NewCA("x", from, to, of(2000))
	request, _ := pkitest.Request("x", of(2000))
	issued := subject.Issue("leaf", from, to)
	list := crl(t, world{root: subject})
	tests := []struct {
		name string
		in   []byte
		want []string
	}{
		{"a subject", zip(t, subject.CertPEM), []string{"bad 0 CERTIFICATE: its subject has 2001 parts: above 1000 it is not read"}},
		{"an issuer", zip(t, issued.CertPEM), []string{"bad 0 CERTIFICATE: its issuer has 2001 parts: above 1000 it is not read"}},
		{"a request's subject", zip(t, request), []string{"bad 0 CERTIFICATE REQUEST: its subject has 2001 parts: above 1000 it is not read"}},
		{"the issuer of a revocation list", zip(t, list), []string{"bad 0 X509 CRL: its issuer has 2001 parts: above 1000 it is not read"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, inTime(t, tt.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadingStopsWhenItsTimeIsOver(t *testing.T) {
	w := newWorld(t)
	spent := errors.New("not done after 2m0s")
	over, cancel := context.WithCancelCause(t.Context())
	cancel(spent)
	s := NewScanner()
	found := s.Within(over).Scan(join(w.root.CertPEM, w.other.CertPEM))
	want := []string{"bad -1 value: reading ended before its end: not done after 2m0s"}
	if diff := cmp.Diff(want, lines(found)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if certs, values := s.Stats(); certs != 0 || values != 0 {
		t.Errorf("%d certificates and %d values were read after the end", certs, values)
	}
	// What was cut short is not what the value holds.
	if got := lines(s.Within(t.Context()).Scan(join(w.root.CertPEM, w.other.CertPEM))); len(got) != 2 {
		t.Errorf("the same value read in time: %q", got)
	}
	if got := lines(s.Within(over).Scan(w.server.KeyPEM)); !strings.Contains(strings.Join(got, " "), spent.Error()) {
		t.Errorf("a key after the end: %q", got)
	}
	if got := s.Within(over).Scan([]byte("no certificate")); got != nil {
		t.Errorf("a value without anything: %q", lines(got))
	}
}

func TestAnchorsLeavesOutWhatIsNotVerified(t *testing.T) {
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	million, _ := pkitest.Oversized("million", 1<<20, from, from.AddDate(1, 0, 0))
	good := pkitest.NewCA("good", from, from.AddDate(1, 0, 0))
	want := x509.NewCertPool()
	want.AddCert(good.Cert)
	indented := bytes.ReplaceAll(pkitest.NewCA("indented", from, from.AddDate(1, 0, 0)).CertPEM, []byte("-----BEGIN"), []byte(" -----BEGIN"))
	if got := Anchors(join(million, indented, good.CertPEM)); !got.Equal(want) {
		t.Error("the anchors are not the good certificate alone")
	}
}

func der(t *testing.T, text []byte) []byte {
	t.Helper()
	b, _ := pem.Decode(text)
	if b == nil {
		t.Fatal("no PEM")
	}
	return b.Bytes
}

// TestAChainThatAHandshakeRefusesIsNotVerified: crypto/tls takes smaller keys than are read.
func TestAChainThatAHandshakeRefusesIsNotVerified(t *testing.T) {
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	for bits, refused := range map[int]bool{8192: false, 8200: true} {
		certPEM, _ := pkitest.Oversized("server", bits, from, from.AddDate(1, 0, 0))
		chain := NewScanner().Scan(certPEM)[0].Content.Certs
		for name, err := range map[string]error{"a server's": Verify(chain, chain, "", from.AddDate(0, 1, 0)), "a client's": VerifyClient(chain, chain, from.AddDate(0, 1, 0))} {
			if got := err != nil && strings.Contains(err.Error(), "has an RSA key of 8200 bits"); got != refused {
				t.Errorf("%s of %d bits: %v", name, bits, err)
			}
		}
	}
}

// uris are an extension of so many empty names, of two bytes each.
func uris(n int) pkix.Extension {
	value, err := asn1.Marshal(asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true, Bytes: bytes.Repeat([]byte{0x86, 0}, n)})
	if err != nil {
		panic(err)
	}
	return pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: value}
}

func withURIs(n int) pkitest.Option {
	return pkitest.Template(func(c *x509.Certificate) { c.ExtraExtensions = append(c.ExtraExtensions, uris(n)) })
}

// TestWhatHasTooManyElementsIsNotParsed: crypto/x509 makes an object of 140 bytes of each empty URI, and
// a value of 20 kB has ten million of them.
//
// Not in parallel: it measures.
func TestWhatHasTooManyElementsIsNotParsed(t *testing.T) {
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(1, 0, 0)
	cert := func(n int) []byte { return pkitest.NewCA("names", from, to, withURIs(n)).CertPEM }
	key := pkitest.NewCA("key", from, to).Key
	request := func(n int) []byte {
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{ExtraExtensions: []pkix.Extension{uris(n)}}, key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	}
	long := pkix.Name{CommonName: "x"}
	for range 100_000 {
		long.ExtraNames = append(long.ExtraNames, pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 11}, Value: "x"})
	}
	const bytesBad, elementsBad = "it has 1000", "it has more than 25000 elements: it is not read"
	for _, tt := range []struct {
		name string
		in   []byte
		want string
	}{
		{"a certificate of many bytes", cert(500_000), "bad 0 CERTIFICATE: " + bytesBad},
		{"in DER", der(t, cert(500_000)), "bad 0 CERTIFICATE: " + bytesBad},
		{"of many elements", cert(50_000), "bad 0 CERTIFICATE: " + elementsBad},
		{"a request of many bytes", request(500_000), "bad 0 CERTIFICATE REQUEST: " + bytesBad},
		{"a request of many elements", request(50_000), "bad 0 CERTIFICATE REQUEST: " + elementsBad},
		{"a revocation list of an issuer of many bytes", crl(t, world{root: pkitest.NewCA("x", from, to, pkitest.Subject(long))}), "bad 0 X509 CRL: it has "},
		{"a certificate with thousands of names is read", pkitest.NewCA("names", from, to, withURIs(5000)).CertPEM, "cert CN=names"},
	} {
		value := zip(t, tt.in)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		found := lines(NewScanner().Scan(value))
		runtime.ReadMemStats(&after)
		if len(found) != 1 || !strings.HasPrefix(found[0], tt.want) {
			t.Errorf("%s: %q, want %s", tt.name, found, tt.want)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 30<<20 {
			t.Errorf("%s: reading %d bytes takes %d MiB", tt.name, len(value), n>>20)
		}
	}
}

// TestManyNamesCountAsMoreCertificates: those of one run stay in memory.
func TestManyNamesCountAsMoreCertificates(t *testing.T) {
	t.Parallel()
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	ca := pkitest.NewCA("names", from, from.AddDate(1, 0, 0), withURIs(20_000))
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: slices.Repeat([]string{"a"}, 20_000)}, key)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string][]byte{"certificates": ca.CertPEM, "certificate requests": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})} {
		s := NewScanner()
		s.small.certs.left.Store(150)
		read, refused := 0, 0
		for i := range 4 {
			found := s.Scan(zip(t, join([]byte(strings.Repeat("#", i)+"\n"), text)))
			for _, f := range found {
				read += len(f.Content.Certs) + len(f.Content.Requests)
				if strings.HasPrefix(f.Content.CutShort(), "the limit of "+what+" in compressed values of this run") {
					refused++
				}
			}
		}
		if read != 1 || refused != 3 {
			t.Errorf("%s: %d were read, %d refused", what, read, refused)
		}
	}
}
