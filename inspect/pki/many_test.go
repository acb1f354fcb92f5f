package pki

import (
	"bytes"
	"compress/gzip"
	"crypto/elliptic"
	"encoding/asn1"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// manyBags is a PKCS#12 file without a password: so many key bags with nothing in them, and then
// so many copies of a certificate.
func manyBags(t *testing.T, keys, certs int, der []byte) []byte {
	t.Helper()
	pkcs12 := func(last ...int) asn1.ObjectIdentifier {
		return append(asn1.ObjectIdentifier{1, 2, 840, 113549, 1}, last...)
	}
	data, keyBag, certBag, x509 := pkcs12(7, 1), pkcs12(12, 10, 1, 1), pkcs12(12, 10, 1, 3), pkcs12(9, 22, 1)
	typed := func(b *cryptobyte.Builder, id asn1.ObjectIdentifier, content func(*cryptobyte.Builder)) {
		b.AddASN1ObjectIdentifier(id)
		b.AddASN1(cbasn1.Tag(0).ContextSpecific().Constructed(), content)
	}
	sequence := func(b *cryptobyte.Builder, content func(*cryptobyte.Builder)) { b.AddASN1(cbasn1.SEQUENCE, content) }
	octets := func(b *cryptobyte.Builder, content func(*cryptobyte.Builder)) {
		b.AddASN1(cbasn1.OCTET_STRING, content)
	}
	b := cryptobyte.NewBuilder(nil)
	sequence(b, func(b *cryptobyte.Builder) {
		b.AddASN1Int64(3)
		sequence(b, func(b *cryptobyte.Builder) {
			typed(b, data, func(b *cryptobyte.Builder) {
				octets(b, func(b *cryptobyte.Builder) {
					sequence(b, func(b *cryptobyte.Builder) {
						sequence(b, func(b *cryptobyte.Builder) {
							typed(b, data, func(b *cryptobyte.Builder) {
								octets(b, func(b *cryptobyte.Builder) {
									sequence(b, func(b *cryptobyte.Builder) {
										for range keys {
											sequence(b, func(b *cryptobyte.Builder) { typed(b, keyBag, func(*cryptobyte.Builder) {}) })
										}
										for range certs {
											sequence(b, func(b *cryptobyte.Builder) {
												typed(b, certBag, func(b *cryptobyte.Builder) {
													sequence(b, func(b *cryptobyte.Builder) {
														typed(b, x509, func(b *cryptobyte.Builder) { octets(b, func(b *cryptobyte.Builder) { b.AddBytes(der) }) })
													})
												})
											})
										}
									})
								})
							})
						})
					})
				})
			})
		})
	})
	out, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestBagsOfAKeystoreAreFew: 17 bytes are a bag of a key. Reading stops at so many, and says so.
func TestBagsOfAKeystoreAreFew(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("ca", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	whole := NewScanner().Scan(manyBags(t, 3, 4, ca.Cert.Raw))
	if len(whole) != 1 || len(whole[0].Content.Certs) != 4 || len(whole[0].Content.Locked) != 0 {
		t.Fatalf("of a small one: %+v", whole)
	}
	found := NewScanner().Scan(manyBags(t, maxInField, 100, ca.Cert.Raw))
	if len(found) != 1 || len(found[0].Content.Certs) != 0 || len(found[0].Content.Locked) != 1 || found[0].Content.Locked[0].Reason != lockedLimit("this value") {
		t.Errorf("of a large one: %d certificates, locked: %+v", len(found[0].Content.Certs), found[0].Content.Locked)
	}
}

// TestWhatIsLeftOutIsNotParsed: a certificate's signature costs most of reading it.
func TestWhatIsLeftOutIsNotParsed(t *testing.T) {
	t.Parallel()
	const more = 50
	ca := pkitest.NewCA("ca", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	serial := ca.Cert.SerialNumber.Bytes()
	at := -1
	for i := range ca.Cert.Raw {
		if i+len(serial) <= len(ca.Cert.Raw) && string(ca.Cert.Raw[i:i+len(serial)]) == string(serial) {
			at = i
			break
		}
	}
	if at < 0 || len(serial) < 4 {
		t.Fatalf("the serial %x is not found", serial)
	}
	var all []byte
	for i := range uint32(maxInField + more) {
		one := append([]byte(nil), ca.Cert.Raw...)
		binary.BigEndian.PutUint32(one[at+len(serial)-4:], i)
		all = append(all, one...)
	}
	sc := NewScanner()
	found := sc.Scan(all)
	parsed, _ := sc.Stats()
	if len(found) != 1 || len(found[0].Content.Certs) != maxInField || parsed != maxInField {
		t.Fatalf("%d certificates, %d parsed, want %d", len(found[0].Content.Certs), parsed, maxInField)
	}
	if bad := found[0].Content.Bad; len(bad) != 1 || bad[0].Type != typeValue {
		t.Errorf("what was left out is not said: %+v", bad)
	}
}

// TestCertificatesOfARunAreFew: each value of some kilobytes may unpack to thousands of
// certificates, and reading one takes a millisecond.
func TestCertificatesOfARunAreFew(t *testing.T) {
	t.Parallel()
	sc := NewScanner()
	sc.small.certs.left.Store(30)
	ca := pkitest.NewCA("ca", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	value := func(n int) []byte {
		var all, out bytes.Buffer
		for range n {
			all.Write(ca.CertPEM)
		}
		w := gzip.NewWriter(&out)
		if _, err := w.Write(all.Bytes()); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	certs := func(data []byte) (n int, said bool) {
		for _, f := range sc.Scan(data) {
			n += len(f.Content.Certs)
			for _, b := range f.Content.Bad {
				said = said || b.Type == typeValue
			}
		}
		return n, said
	}
	own := thingsAtLeast + len(value(40))/(bytesPerThing*thingsPerCert)
	if n, said := certs(value(40)); n != 40 || said {
		t.Errorf("of the first: %d, said %t", n, said)
	}
	left := 30 - (40 - own)
	want := thingsAtLeast + len(value(60))/(bytesPerThing*thingsPerCert) + left
	if n, said := certs(value(60)); n != want || !said {
		t.Errorf("of the second: %d, want %d, said %t", n, want, said)
	}
	if n, said := certs(ca.CertPEM); n != 1 || said {
		t.Errorf("of one that is not compressed: %d, said %t", n, said)
	}
}

// TestCertificatesOfKeystoresAreFew: a PKCS#12 file in a compressed value has no more of them.
func TestCertificatesOfKeystoresAreFew(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("ca", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(manyBags(t, 0, 100, ca.Cert.Raw)); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	sc := NewScanner()
	sc.small.certs.left.Store(30)
	found := sc.Scan(packed.Bytes())
	want := thingsAtLeast + packed.Len()/(bytesPerThing*thingsPerCert) + 30
	if len(found) != 1 || len(found[0].Content.Certs) != want || len(found[0].Content.Locked) != 1 || !strings.Contains(found[0].Content.Locked[0].Reason, "was reached before it") {
		t.Errorf("want %d certificates, and that there are more: %d, %+v", want, len(found[0].Content.Certs), found[0].Content.Locked)
	}
}

// TestCostlySelfSignaturesHaveABudget: verifying one by a key of P-521 takes milliseconds. What is
// ordinary is read whatever they took.
func TestCostlySelfSignaturesHaveABudget(t *testing.T) {
	t.Parallel()
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	var costly []byte
	const many = 12
	for n := range many {
		costly = append(costly, pkitest.NewCA(fmt.Sprintf("costly %d", n), from, to, pkitest.Curve(elliptic.P521())).CertPEM...)
	}
	each := NewScanner().Scan(costly)[0].Content.Certs[0].cost()
	sc := NewScanner()
	sc.small.work.left.Store(int64(3 * each))
	own := workAtLeastPerValue + len(costly)/bytesPerWork
	content := sc.Scan(costly)[0].Content
	if most := own/each + 4; len(content.Certs) < 3 || len(content.Certs) > most || most >= many {
		t.Errorf("%d are read, of %d, where %d may be", len(content.Certs), many, most)
	}
	if bad := content.Bad; len(bad) != 1 || bad[0].Type != typeValue || !strings.Contains(bad[0].Reason, "limit of work") {
		t.Errorf("what was left out is not said: %+v", bad)
	}
	for _, o := range []pkitest.Option{pkitest.RSA(2048), pkitest.Curve(elliptic.P256()), pkitest.Curve(elliptic.P384()), pkitest.Ed25519()} {
		found := sc.Scan(pkitest.NewCA("ordinary", from, to, o).CertPEM)
		if len(found) != 1 || len(found[0].Content.Certs) != 1 || !found[0].Content.Certs[0].SelfSigned || len(found[0].Content.Bad) != 0 {
			t.Errorf("an ordinary one: %+v", found)
		}
	}
}

// TestLargeDERIsRead: a compressed certificate of more than 16 MiB has a length of four bytes.
func TestLargeDERIsRead(t *testing.T) {
	t.Parallel()
	large := append([]byte{0x30, 0x84, 0x01, 0x10, 0, 0}, make([]byte, 0x01100000)...)
	if !isDER(large) {
		t.Error("it is not taken for DER")
	}
}

// TestTenantsShareIsTheirOwn: what values that are read apart spend leaves others readable, the same
// values, too.
func TestTenantsShareIsTheirOwn(t *testing.T) {
	t.Parallel()
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	var costly []byte
	for n := range 6 {
		costly = append(costly, pkitest.NewCA(fmt.Sprintf("costly %d", n), from, to, pkitest.Curve(elliptic.P521())).CertPEM...)
	}
	sc := NewScanner()
	sc.tenants.work.left.Store(0)
	read := func(sc *Scanner) *Content { return sc.Scan(costly)[0].Content }
	if c := read(sc.Apart("a")); len(c.Certs) >= 6 || c.CutShort() == "" {
		t.Fatalf("the share is spent, and %d are read: %+v", len(c.Certs), c.Bad)
	}
	if c := read(sc); len(c.Certs) != 6 || c.CutShort() != "" {
		t.Errorf("the same value, as the platform's: %d certificates, %+v", len(c.Certs), c.Bad)
	}
	if c := read(sc.Apart("a")); len(c.Certs) != 6 {
		t.Errorf("once more apart, when it is known: %d certificates", len(c.Certs))
	}
}

// TestOneWritersShareIsItsOwn: what its values spend leaves those of others readable, the same values, too.
func TestOneWritersShareIsItsOwn(t *testing.T) {
	t.Parallel()
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	var costly []byte
	for n := range 6 {
		costly = append(costly, pkitest.NewCA(fmt.Sprintf("costly %d", n), from, to, pkitest.Curve(elliptic.P521())).CertPEM...)
	}
	read := func(sc *Scanner) *Content { return sc.Scan(costly)[0].Content }
	for name, other := range map[string]func(*Scanner) *Scanner{"another": (*Scanner).Alone, "tenants": func(sc *Scanner) *Scanner { return sc.Apart("a") }, "the platform": func(sc *Scanner) *Scanner { return sc }} {
		sc := NewScanner()
		spent := sc.Alone()
		spent.small.work.left.Store(0)
		for range 2 {
			if c := read(spent.Within(t.Context())); len(c.Certs) >= 6 || c.CutShort() == "" {
				t.Fatalf("the share is spent, and %d are read: %+v", len(c.Certs), c.Bad)
			}
		}
		if c := read(other(sc)); len(c.Certs) != 6 || c.CutShort() != "" {
			t.Errorf("the same value of %s: %d certificates, %+v", name, len(c.Certs), c.Bad)
		}
	}
}

// TestOneNamespacesShareIsItsOwn: what one tenant's values spend leaves those of others readable, and what all
// of them spend together is bounded. Who spent it is named.
func TestOneNamespacesShareIsItsOwn(t *testing.T) {
	t.Parallel()
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	var costly []byte
	for n := range 6 {
		costly = append(costly, pkitest.NewCA(fmt.Sprintf("costly %d", n), from, to, pkitest.Curve(elliptic.P521())).CertPEM...)
	}
	cut := func(sc *Scanner) string { return sc.Scan(costly)[0].Content.CutShort() }
	sc := NewScanner()
	sc.Apart("a").small.work.left.Store(1)
	if why := cut(sc.Apart("a")); !strings.Contains(why, "of namespace a was reached") {
		t.Errorf("its share is spent: %q", why)
	}
	sc.tenants.work.left.Store(1)
	for _, namespace := range []string{"b", "c"} {
		before := sc.Apart(namespace).small.work.left.Load()
		if why := cut(sc.Apart(namespace)); !strings.Contains(why, "of tenants (most: namespace a) was reached") {
			t.Errorf("all shares are spent: %q", why)
		}
		if left := sc.Apart(namespace).small.work.left.Load(); left != before {
			t.Errorf("%d of %d are left of a share, and nothing was read for it", left, before)
		}
	}
	sc.tenants.work.left.Store(maxWorkMore)
	if why := cut(sc.Apart("e")); why != "" {
		t.Errorf("another namespace's share: %q", why)
	}
	if share := sc.Apart("d").small; share.work.left.Load() >= maxWorkMore/2 || share.rounds.cheapUsual.left.Load() >= maxRoundsOfCheap/2 {
		t.Error("a share is more than half of all")
	}
}
