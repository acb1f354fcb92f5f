package pki

import (
	"bytes"
	"encoding/asn1"
	"unicode/utf8"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// shape is what a DER element looks like from its first few fields. It decides
// which parser to ask and what to say of an element in the wrong place; it
// promises nothing about the rest.
type shape int

const (
	shapeUnknown shape = iota
	shapeCert
	shapeRequest
	shapeCRL
	shapePKCS7
	shapePKCS12
	shapePublicKey
	shapePKCS1 // RSA private key
	shapeSEC1  // EC private key
	shapePKCS8
	shapeEncryptedKey
	shapeBCFKS
)

// describe says what an element of the shape is, with its article.
func (s shape) describe() string {
	switch s {
	case shapeCert:
		return "a certificate"
	case shapeRequest:
		return "a certificate request"
	case shapeCRL:
		return "a revocation list"
	case shapePKCS7:
		return "a PKCS#7 message"
	case shapePKCS12:
		return "a PKCS#12 keystore"
	case shapeBCFKS:
		return "a BCFKS keystore"
	case shapePublicKey:
		return "a public key"
	case shapePKCS1, shapeSEC1, shapePKCS8, shapeEncryptedKey:
		return "a private key"
	}
	return "something else"
}

func (s shape) isKey() bool {
	return s == shapePKCS1 || s == shapeSEC1 || s == shapePKCS8 || s == shapeEncryptedKey
}

// cutElement splits the DER SEQUENCE at the start of data from what follows it.
func cutElement(data []byte) (element, rest []byte, ok bool) {
	in := cryptobyte.String(data)
	var out cryptobyte.String
	if len(data) == 0 || data[0] != 0x30 || !in.ReadASN1Element(&out, cbasn1.SEQUENCE) {
		return nil, data, false
	}
	return out, in, true
}

// shapeOf looks at the first fields of one DER SEQUENCE.
func shapeOf(der []byte) shape {
	in := cryptobyte.String(der)
	var seq cryptobyte.String
	if !in.ReadASN1(&seq, cbasn1.SEQUENCE) {
		return shapeUnknown
	}
	switch {
	case seq.PeekASN1Tag(cbasn1.INTEGER):
		return numberedShape(seq)
	case seq.PeekASN1Tag(cbasn1.OBJECT_IDENTIFIER):
		var oid asn1.ObjectIdentifier
		if seq.ReadASN1ObjectIdentifier(&oid) && len(oid) == 7 && oid[:6].Equal(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7}) {
			return shapePKCS7
		}
	case seq.PeekASN1Tag(cbasn1.SEQUENCE):
		return signedShape(seq)
	}
	return shapeUnknown
}

// numberedShape tells apart what starts with a version number: private keys
// and PKCS#12.
func numberedShape(seq cryptobyte.String) shape {
	var version int64
	if !seq.ReadASN1Integer(&version) {
		return shapeUnknown
	}
	switch {
	case seq.PeekASN1Tag(cbasn1.INTEGER):
		var n, e cryptobyte.String
		if seq.ReadASN1(&n, cbasn1.INTEGER) && seq.ReadASN1(&e, cbasn1.INTEGER) && seq.PeekASN1Tag(cbasn1.INTEGER) {
			return shapePKCS1
		}
	case seq.PeekASN1Tag(cbasn1.OCTET_STRING) && version == 1:
		return shapeSEC1
	case seq.PeekASN1Tag(cbasn1.SEQUENCE):
		var inner cryptobyte.String
		if !seq.ReadASN1(&inner, cbasn1.SEQUENCE) || !inner.PeekASN1Tag(cbasn1.OBJECT_IDENTIFIER) {
			return shapeUnknown
		}
		if seq.PeekASN1Tag(cbasn1.OCTET_STRING) {
			return shapePKCS8
		}
		if version == 3 {
			return shapePKCS12
		}
	}
	return shapeUnknown
}

// signedShape tells apart what starts with a SEQUENCE: the signed structures
// of X.509 (to-be-signed, algorithm, bit string), public keys (algorithm, bit
// string) and encrypted keys (algorithm, octet string).
func signedShape(seq cryptobyte.String) shape {
	var first, alg cryptobyte.String
	if !seq.ReadASN1(&first, cbasn1.SEQUENCE) {
		return shapeUnknown
	}
	if first.PeekASN1Tag(cbasn1.OBJECT_IDENTIFIER) {
		switch {
		case seq.PeekASN1Tag(cbasn1.BIT_STRING):
			return shapePublicKey
		case seq.PeekASN1Tag(cbasn1.OCTET_STRING):
			return shapeEncryptedKey
		}
		return shapeUnknown
	}
	if isSealed(first) {
		return shapeBCFKS
	}
	if !seq.ReadASN1(&alg, cbasn1.SEQUENCE) || !alg.PeekASN1Tag(cbasn1.OBJECT_IDENTIFIER) || !seq.PeekASN1Tag(cbasn1.BIT_STRING) {
		return shapeUnknown
	}
	version := cbasn1.Tag(0).ContextSpecific().Constructed()
	if first.PeekASN1Tag(version) {
		return shapeCert
	}
	// Without an explicit version: a version 1 certificate starts with its
	// serial number, a request and a version 2 CRL with their version, a
	// version 1 CRL with an algorithm.
	if first.PeekASN1Tag(cbasn1.SEQUENCE) {
		return shapeCRL
	}
	if !first.SkipASN1(cbasn1.INTEGER) || !first.ReadASN1(&alg, cbasn1.SEQUENCE) || !first.SkipASN1(cbasn1.SEQUENCE) {
		return shapeUnknown
	}
	switch {
	case first.PeekASN1Tag(cbasn1.SEQUENCE):
		return shapeCert
	case first.PeekASN1Tag(version), first.Empty():
		return shapeRequest
	case first.PeekASN1Tag(cbasn1.UTCTime), first.PeekASN1Tag(cbasn1.GeneralizedTime):
		return shapeCRL
	}
	return shapeUnknown
}

// isSealed reports whether the parts of a SEQUENCE are an algorithm that
// encrypts by a password, and what it encrypted: how Bouncy Castle's BCFKS
// starts.
func isSealed(parts cryptobyte.String) bool {
	var algorithm cryptobyte.String
	var oid asn1.ObjectIdentifier
	return parts.ReadASN1(&algorithm, cbasn1.SEQUENCE) && algorithm.ReadASN1ObjectIdentifier(&oid) &&
		oid.String() == "1.2.840.113549.1.5.13" && parts.SkipASN1(cbasn1.OCTET_STRING) && parts.Empty()
}

// maxBER limits elements in elements: a PKCS#7 message has eight layers, and
// each of them costs a copy.
const maxBER = 24

// isBER reports whether data starts as PKCS#7 and PKCS#12 do when they were
// written in one pass, without knowing lengths in advance: an open SEQUENCE, and
// in it an object identifier of PKCS#7, or version 3.
func isBER(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\x30\x80\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07")) ||
		bytes.HasPrefix(data, []byte("\x30\x80\x02\x01\x03\x30"))
}

// isOpen reports whether data starts with a SEQUENCE whose length is not said.
func isOpen(data []byte) bool { return bytes.HasPrefix(data, []byte("\x30\x80")) }

// berToDER closes the open lengths of the element at the start of data, and
// joins strings that are in pieces, so that it can be read as DER. What is DER
// already stays as it is, byte for byte. rest is what follows the element.
func berToDER(data []byte) (der, rest []byte, ok bool) {
	c := closing{}
	if rest, ok = c.element(data, maxBER); !ok {
		clear(c.out)
		return nil, nil, false
	}
	return c.out, rest, true
}

// closing writes DER. All of it goes to one place: an element of two bytes costs no more than
// those, and a value has millions of them.
type closing struct{ out []byte }

// add is append that leaves no copy of what may be a key.
func (c *closing) add(data ...byte) {
	if len(c.out)+len(data) > cap(c.out) {
		old := c.out
		c.out = append(make([]byte, 0, 2*cap(old)+len(data)+64), old...)
		clear(old)
	}
	c.out = append(c.out, data...)
}

func (c *closing) element(data []byte, depth int) (rest []byte, ok bool) {
	if len(data) < 2 || depth == 0 {
		return nil, false
	}
	const constructed = 0x20
	tag := data[0]
	if tag&0x1f == 0x1f { // of several bytes: none of the formats has such
		return nil, false
	}
	var body []byte
	open := data[1] == 0x80
	if open {
		if tag&constructed == 0 {
			return nil, false
		}
		body = data[2:]
	} else {
		in := cryptobyte.String(data)
		var element cryptobyte.String
		if !in.ReadASN1(&element, cbasn1.Tag(tag)) {
			return nil, false
		}
		body, rest = element, in
		if tag&constructed == 0 {
			c.add(data[:len(data)-len(rest)]...)
			return rest, true
		}
	}
	begin, joined := len(c.out), tag == byte(cbasn1.OCTET_STRING)|constructed
	for {
		if open && bytes.HasPrefix(body, []byte("\x00\x00")) {
			rest = body[2:]
			break
		}
		if !open && len(body) == 0 {
			break
		}
		part := len(c.out)
		if body, ok = c.element(body, depth-1); !ok || joined && !c.strip(part) {
			return nil, false
		}
	}
	if joined {
		tag = byte(cbasn1.OCTET_STRING)
	}
	c.head(begin, tag)
	return rest, true
}

// strip takes the header off the piece of a string that was written last.
func (c *closing) strip(at int) bool {
	in := cryptobyte.String(c.out[at:])
	var piece cryptobyte.String
	if !in.ReadASN1(&piece, cbasn1.OCTET_STRING) {
		return false
	}
	c.out = c.out[:at+copy(c.out[at:], piece)]
	return true
}

// head puts a header before what was written since.
func (c *closing) head(begin int, tag byte) {
	header := elementHeader(cbasn1.Tag(tag), len(c.out)-begin)
	c.add(header...) // for its room
	copy(c.out[begin+len(header):], c.out[begin:])
	copy(c.out[begin:], header)
}

// readOctets reads a string with an implicit tag, which may be in pieces.
func readOctets(s *cryptobyte.String, tag cbasn1.Tag) ([]byte, bool) {
	var whole cryptobyte.String
	if s.PeekASN1Tag(tag) {
		ok := s.ReadASN1(&whole, tag)
		return whole, ok
	}
	if !s.ReadASN1(&whole, tag.Constructed()) {
		return nil, false
	}
	var out []byte
	for !whole.Empty() {
		var piece cryptobyte.String
		if !whole.ReadASN1(&piece, cbasn1.OCTET_STRING) {
			return nil, false
		}
		out = append(out, piece...)
	}
	return out, true
}

// elements is how many elements DER has, up to one more than maxElements; 0 of what is short.
func elements(der []byte) int {
	if len(der) <= fewBytes {
		return 0
	}
	left := maxElements
	countElements(der, &left, maxDER, true)
	return maxElements - left
}

// countElements counts down. What is no DER counts as if it were of the shortest, unless it is a string.
func countElements(in cryptobyte.String, left *int, depth int, within bool) {
	for !in.Empty() && *left >= 0 && depth > 0 {
		var inner cryptobyte.String
		var tag cbasn1.Tag
		if !in.ReadAnyASN1(&inner, &tag) {
			if within {
				*left = max(*left-len(in)/2, -1)
			}
			return
		}
		*left--
		if constructed := tag&0x20 != 0; constructed || tag == cbasn1.OCTET_STRING { // extensions wrap their values so
			countElements(inner, left, depth-1, constructed)
		}
	}
}

// OneLineStrings is a copy of a certificate in which no string breaks a line: a ? stands
// in the place of each line feed and carriage return of a name, an address or a comment.
// All lengths stay. It is for printing alone: the signature no longer holds.
func OneLineStrings(der []byte) []byte {
	der = bytes.Clone(der)
	oneLine(der, maxDER)
	return der
}

// maxDER is more than any certificate has; what lies deeper is left alone.
const maxDER = 20

// oneLine changes the strings of DER in place; false: it is not DER from end to end.
func oneLine(der []byte, depth int) bool {
	if depth == 0 {
		return false
	}
	for len(der) > 0 {
		var v asn1.RawValue
		rest, err := asn1.Unmarshal(der, &v)
		if err != nil {
			return false
		}
		content := der[len(v.FullBytes)-len(v.Bytes) : len(v.FullBytes)]
		switch {
		case v.IsCompound:
			oneLine(content, depth-1)
		case v.Class == asn1.ClassUniversal && v.Tag == asn1.TagOctetString:
			// Extensions wrap their values so. Try on a copy: a key's ID is no DER, and
			// some have their text in there as it is.
			if inner := bytes.Clone(content); oneLine(inner, depth-1) {
				copy(content, inner)
			} else if utf8.Valid(content) {
				joinLines(content)
			}
		case v.Class == asn1.ClassContextSpecific, v.Class == asn1.ClassUniversal && isString(v.Tag):
			joinLines(content)
		}
		der = rest
	}
	return true
}

func joinLines(text []byte) {
	for i, b := range text {
		if b == '\n' || b == '\r' {
			text[i] = '?'
		}
	}
}

func isString(tag int) bool {
	switch tag {
	case asn1.TagUTF8String, asn1.TagNumericString, asn1.TagPrintableString, asn1.TagT61String, asn1.TagIA5String, asn1.TagGeneralString, asn1.TagBMPString:
		return true
	}
	return false
}
