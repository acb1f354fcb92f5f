package pki

import (
	"bytes"
	"encoding/asn1"
	"unicode/utf8"
)

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
