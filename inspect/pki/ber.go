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
func berToDER(data []byte) (der, rest []byte, ok bool) { return closeElement(data, maxBER) }

func closeElement(data []byte, depth int) (der, rest []byte, ok bool) {
	if len(data) < 2 || depth == 0 {
		return nil, nil, false
	}
	const constructed = 0x20
	tag := data[0]
	if tag&0x1f == 0x1f { // of several bytes: none of the formats has such
		return nil, nil, false
	}
	var body []byte
	open := data[1] == 0x80
	if open {
		if tag&constructed == 0 {
			return nil, nil, false
		}
		body = data[2:]
	} else {
		in := cryptobyte.String(data)
		var element cryptobyte.String
		if !in.ReadASN1(&element, cbasn1.Tag(tag)) {
			return nil, nil, false
		}
		body, rest = element, in
		if tag&constructed == 0 {
			return data[:len(data)-len(rest)], rest, true
		}
	}
	var parts [][]byte
	for {
		if open && bytes.HasPrefix(body, []byte("\x00\x00")) {
			rest = body[2:]
			break
		}
		if !open && len(body) == 0 {
			break
		}
		part, more, ok := closeElement(body, depth-1)
		if !ok {
			return nil, nil, false
		}
		parts, body = append(parts, part), more
	}
	if tag == byte(cbasn1.OCTET_STRING)|constructed {
		if parts, ok = contents(parts); !ok {
			return nil, nil, false
		}
		tag = byte(cbasn1.OCTET_STRING)
	}
	return element(cbasn1.Tag(tag), parts...), rest, true
}

// contents strips the headers of the pieces of a string.
func contents(pieces [][]byte) ([][]byte, bool) {
	out := make([][]byte, len(pieces))
	for i, p := range pieces {
		in := cryptobyte.String(p)
		var piece cryptobyte.String
		if !in.ReadASN1(&piece, cbasn1.OCTET_STRING) {
			return nil, false
		}
		out[i] = piece
	}
	return out, true
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
