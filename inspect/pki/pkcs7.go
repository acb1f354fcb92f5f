package pki

import (
	"encoding/asn1"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

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
