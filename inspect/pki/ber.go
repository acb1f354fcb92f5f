package pki

import (
	"bytes"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

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
