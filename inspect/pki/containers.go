package pki

import (
	"bytes"
	"crypto/sha1"
	"encoding/asn1"
	"io"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// What the files of Java's own keystores start with.
const (
	magicJKS   = "\xfe\xed\xfe\xed"
	magicJCEKS = "\xce\xce\xce\xce"
)

// The kinds of entries in a Java keystore. The last occurs in JCEKS only.
const (
	javaKey    = 1
	javaCert   = 2
	javaSecret = 3
)

// javaStore reads a JKS or JCEKS keystore. Certificates in it are not encrypted:
// the password protects private keys, and a digest at the end, which is not
// checked, as nothing is believed because of it.
//
// Lengths are believed as far as the value goes; nothing is allocated by them.
func (w *walk) javaStore(data []byte, at place) {
	e := w.results.at(at.field)
	index := e.next()
	format := "JKS"
	if bytes.HasPrefix(data, []byte(magicJCEKS)) {
		format = "JCEKS"
	}
	s := javaStore{in: data[len(magicJKS):]}
	problem := s.read()
	// Chains of private keys come first, as an identity presents its leaf;
	// the file has its entries in no order.
	for _, der := range append(s.chains, s.trusted...) {
		if id, ok := w.cert(e, index, format, der); ok {
			e.skip(id, whyKeystore, Readers()...)
		}
	}
	for range s.keys {
		e.addKey(Key{Encrypted: true}, format)
	}
	switch {
	case s.secret:
		e.lock(format, lockedBehindKey)
	case problem != "":
		e.bad(index, format, problem)
	}
}

// javaStore is what was read of a keystore.
type javaStore struct {
	in      cryptobyte.String
	version uint32
	chains  [][]byte // DER of certificates, with private keys
	trusted [][]byte // likewise, alone
	keys    int
	secret  bool // reading ended at a secret key
}

// read reads all entries. What is wrong is said after what could be read.
func (s *javaStore) read() (problem string) {
	const cut = "keystore is cut off or damaged"
	var entries uint32
	if !s.in.ReadUint32(&s.version) || !s.in.ReadUint32(&entries) {
		return cut
	}
	for ; entries > 0; entries-- {
		var kind uint32
		var alias cryptobyte.String
		const date = 8
		if !s.in.ReadUint32(&kind) || !s.in.ReadUint16LengthPrefixed(&alias) || !s.in.Skip(date) {
			return cut
		}
		switch kind {
		case javaKey:
			if !s.key() {
				return cut
			}
		case javaCert:
			der, ok := s.cert()
			if !ok {
				return cut
			}
			s.trusted = append(s.trusted, der)
		case javaSecret: // a serialized object, whose end only Java knows
			s.secret = true
			return ""
		default:
			return cut
		}
	}
	if len(s.in) < sha1.Size { // the digest
		return cut
	}
	return ""
}

// key passes over a private key, and reads its chain.
func (s *javaStore) key() bool {
	var chain uint32
	if _, ok := s.bytes(); !ok || !s.in.ReadUint32(&chain) {
		return false
	}
	s.keys++
	for ; chain > 0; chain-- {
		der, ok := s.cert()
		if !ok {
			return false
		}
		s.chains = append(s.chains, der)
	}
	return true
}

func (s *javaStore) cert() (der []byte, ok bool) {
	var kind cryptobyte.String // always X.509
	if s.version == 2 && !s.in.ReadUint16LengthPrefixed(&kind) {
		return nil, false
	}
	return s.bytes()
}

// bytes reads a length of four bytes, and as many bytes.
func (s *javaStore) bytes() (b []byte, ok bool) {
	var n uint32
	if !s.in.ReadUint32(&n) || uint64(n) > uint64(len(s.in)) {
		return nil, false
	}
	b, s.in = s.in[:n], s.in[n:]
	return b, true
}

// pkcs7 adds the certificates and revocation lists of a PKCS#7 (CMS) message in
// DER: those that a SignedData carries, which is how a chain travels in a .p7b.
// Signatures are not checked, as nothing is believed because of them. A message
// of another type holds no certificate that could be read without a key.
func (w *walk) pkcs7(e *entry, index int, kind string, der []byte) {
	certs, lists, ok := cutSignedData(der)
	if !ok {
		e.bad(index, kind, "the PKCS#7 message is malformed")
		return
	}
	// The certificates are a SET, of which each element has its tag: those that
	// are no SEQUENCE are no X.509 (attribute certificates, OCSP responses).
	for !certs.Empty() {
		if der, ok := nextSequence(&certs); ok {
			if id, ok := w.cert(e, index, kind, der); ok {
				e.skip(id, whyMessage, Readers()...)
			}
		}
	}
	for !lists.Empty() {
		if der, ok := nextSequence(&lists); ok {
			w.crl(e, index, kind, der)
		}
	}
}

// cutSignedData returns the elements of the fields certificates and crls, which
// are well formed; nothing for a message of another type.
func cutSignedData(der []byte) (certs, lists cryptobyte.String, ok bool) {
	in := cryptobyte.String(der)
	var message, content, signed cryptobyte.String
	var oid asn1.ObjectIdentifier
	if !in.ReadASN1(&message, cbasn1.SEQUENCE) || !message.ReadASN1ObjectIdentifier(&oid) {
		return nil, nil, false
	}
	if oid.String() != "1.2.840.113549.1.7.2" {
		return nil, nil, true
	}
	ok = message.ReadASN1(&content, cbasn1.Tag(0).ContextSpecific().Constructed()) &&
		content.ReadASN1(&signed, cbasn1.SEQUENCE) &&
		signed.SkipASN1(cbasn1.INTEGER) && // version
		signed.SkipASN1(cbasn1.SET) && // digest algorithms
		signed.SkipASN1(cbasn1.SEQUENCE) && // what is signed
		signed.ReadOptionalASN1(&certs, nil, cbasn1.Tag(0).ContextSpecific().Constructed()) &&
		signed.ReadOptionalASN1(&lists, nil, cbasn1.Tag(1).ContextSpecific().Constructed()) &&
		isElements(certs) && isElements(lists)
	return certs, lists, ok
}

func isElements(s cryptobyte.String) bool {
	for !s.Empty() {
		var element cryptobyte.String
		var tag cbasn1.Tag
		if !s.ReadAnyASN1Element(&element, &tag) {
			return false
		}
	}
	return true
}

// nextSequence cuts off the next of elements that are well formed; false if it
// is no SEQUENCE.
func nextSequence(elements *cryptobyte.String) (der []byte, ok bool) {
	var element cryptobyte.String
	var tag cbasn1.Tag
	elements.ReadAnyASN1Element(&element, &tag)
	return element, tag == cbasn1.SEQUENCE
}

// unpacking reads what a value unpacks to, up to what may be spent on it.
type unpacking struct {
	from io.Reader
	w    *walk
	over int // how much more than all values may unpack to; 0: they may
}

func (u *unpacking) Read(p []byte) (int, error) {
	p = p[:min(len(p), u.w.unpacked)]
	if len(p) == 0 {
		return 0, io.EOF
	}
	n, err := u.from.Read(p)
	if more := n - u.w.ownUnpacked; more > 0 && !u.w.scanner.small.unpacked.take(int64(more)) {
		n, err, u.over = u.w.ownUnpacked, io.EOF, more
	}
	u.w.ownUnpacked = max(u.w.ownUnpacked-n, 0)
	u.w.unpacked -= n
	return n, err
}

// things is how many things were found in a field, and the field itself. A certificate weighs what
// it takes.
func (f *Found) things() int {
	c := f.Content
	return 1 + thingsPerCert*(len(c.Certs)+len(c.Requests)+len(c.CRLs)) + len(c.Keys) + len(c.Locked) + len(c.Bad)
}

// About how many bytes of memory a thing takes beside its texts, with what reports and indexes make of it.
const (
	bytesOfPlace   = 500
	bytesOfBad     = 500 // in one place, for its finding
	bytesOfContent = 400
	bytesOfCert    = 1000
	bytesOfRequest = 300
	bytesOfCRL     = 300
	bytesOfOne     = 64 // of a key, a keystore, a bad block
	bytesOfString  = 24 // its header, and what is allocated above its length
)

// stays is about how many bytes of it stay in memory.
func (c *Cert) stays() int {
	return bytesOfCert + len(c.DER) + len(c.Subject) + len(c.Issuer) + len(c.SubjectKey) + len(c.IssuerKey) + len(c.Serial) + c.Names.stay() + bytesOf(c.Usages)
}

func (n *Names) stay() int { return bytesOf(n.DNS) + bytesOf(n.IPs) + bytesOf(n.Others) }

func bytesOf(texts []string) int {
	n := bytesOfString * len(texts)
	for _, t := range texts {
		n += len(t)
	}
	return n
}

// stays is about how many bytes of it stay in memory, without its certificates: those are counted where they are
// parsed.
func (f *Found) stays() int {
	c := f.Content
	n := bytesOfContent + len(f.Field) + bytesOfOne*(len(c.Keys)+len(c.Locked)+len(c.Bad)+len(c.Skipped)) + len(c.Certs)*8
	for _, q := range c.Requests {
		n += bytesOfRequest + len(q.Subject) + q.Names.stay()
	}
	for _, l := range c.CRLs {
		n += bytesOfCRL + len(l.Issuer) + len(l.IssuerKey)
	}
	for _, b := range c.Bad {
		n += len(b.Reason)
	}
	return n
}

// stay charges for what was found in a value in one more place, and, where it is the first one, for what it holds.
// Where that is too much, it returns what stands in the place of all of it, else nil.
func (s *Scanner) stay(found []Found, first bool) *Content {
	return s.pay(func() (n int) {
		for i := range found {
			if n += bytesOfPlace; len(found[i].Content.Bad) > 0 {
				n += bytesOfBad
			}
			if first {
				n += found[i].stays()
			}
		}
		return n
	})
}

// pay charges for so many bytes that stay in memory. Where that is too much, it returns what stands in the place
// of all that is read later, else nil. What the platform and nodes have is not counted.
func (s *Scanner) pay(size func() int) *Content {
	own := s.small
	if own.kept.beyond == nil {
		return nil
	}
	if full := own.full.Load(); full != nil {
		return full
	}
	if n := size(); n > 0 && !own.kept.take(int64(n)) {
		return s.spent(n)
	}
	return nil
}

// Keep charges for so many bytes that stay in memory beside a value, such as its object's annotations, and reports
// whether they may. Where they are too many, values that are read later are left out, as Scan says.
func (s *Scanner) Keep(bytes int) bool { return s.pay(func() int { return bytes }) == nil }

// LeftOut is what stands in the place of something that Keep refused; nothing once enough were named.
func (s *Scanner) LeftOut() []Found {
	if full := s.small.full.Load(); full != nil {
		return s.unread(full)
	}
	return nil
}

// spent notes that there is no memory for so many bytes more. It stays so, whatever comes later: else what is read
// would be a matter of luck.
func (s *Scanner) spent(n int) *Content {
	own := s.small
	if own.full.Load() == nil {
		whose := s.spentBy(func(s *smallness) *budget { return &s.kept }, int64(n))
		own.full.CompareAndSwap(nil, &Content{Bad: []BadBlock{{
			Index: -1, Type: typeValue,
			Reason: "the limit of memory for values of " + whose + " was reached before it: it was not read, nor what was to be read after it of " + own.whose,
		}}})
	}
	return own.full.Load()
}

// Full reports whether values are no longer read, because what was read of them takes as much memory as it may: that
// nothing is found in one says nothing.
func (s *Scanner) Full() bool { return s.small.full.Load() != nil }

// unread is what is said of a value that is not read; nothing once enough were named.
func (s *Scanner) unread(full *Content) []Found {
	if s.small.named.Add(1) > namedOfOne {
		return nil
	}
	return []Found{{Content: full}}
}
