package pki

import (
	"encoding/asn1"

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
