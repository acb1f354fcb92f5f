package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"encoding/asn1"
	"encoding/binary"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// errKey says why a private key can't be read; it never quotes the key.
type errKey string

func (e errKey) Error() string { return string(e) }

// readKey identifies a DER private key: it returns the algorithm and the sha256
// of the public half. Numbers are not checked and nothing is precomputed, since
// the only question asked of a key is which certificate it belongs to.
//
// The algorithm is empty for a key of a kind that is well formed but unknown.
func readKey(der []byte) (Key, error) {
	switch shapeOf(der) {
	case shapePKCS1:
		return readPKCS1(der, nil)
	case shapeSEC1:
		return readSEC1(der, nil)
	case shapePKCS8:
		return readPKCS8(der)
	case shapeEncryptedKey:
		return Key{Encrypted: true}, nil
	}
	return Key{}, errKey("not the DER of a private key")
}

// readPKCS1 takes modulus and exponent as they are written. algorithm is the
// AlgorithmIdentifier of the public half, or nil for plain RSA.
func readPKCS1(der, algorithm []byte) (Key, error) {
	in := cryptobyte.String(der)
	var seq, n, e cryptobyte.String
	ok := in.ReadASN1(&seq, cbasn1.SEQUENCE) &&
		seq.SkipASN1(cbasn1.INTEGER) &&
		seq.ReadASN1Element(&n, cbasn1.INTEGER) &&
		seq.ReadASN1Element(&e, cbasn1.INTEGER)
	if !ok {
		return Key{}, errKey("not an RSA private key")
	}
	if algorithm == nil {
		algorithm = []byte(algorithmRSA)
	}
	public := element(cbasn1.SEQUENCE, n, e)
	return Key{SPKI: spkiOf(algorithm, public), Algorithm: "RSA"}, nil
}

// readSEC1 reads an EC private key. curve is the DER of the curve's object
// identifier given outside, by PKCS#8, or nil.
func readSEC1(der []byte, curve []byte) (Key, error) {
	in := cryptobyte.String(der)
	var seq, scalar, params, pub cryptobyte.String
	var hasParams, hasPub bool
	ok := in.ReadASN1(&seq, cbasn1.SEQUENCE) &&
		seq.SkipASN1(cbasn1.INTEGER) &&
		seq.ReadASN1(&scalar, cbasn1.OCTET_STRING) &&
		seq.ReadOptionalASN1(&params, &hasParams, cbasn1.Tag(0).ContextSpecific().Constructed()) &&
		seq.ReadOptionalASN1(&pub, &hasPub, cbasn1.Tag(1).ContextSpecific().Constructed())
	if !ok {
		return Key{}, errKey("not an EC private key")
	}
	if hasParams {
		if curve, ok = readOID(&params); !ok {
			return Key{}, errKey("its curve is written out as numbers instead of being named")
		}
	}
	if curve == nil {
		return Key{}, errKey("its curve is not named")
	}
	point := publicPoint(pub, hasPub)
	if point == nil {
		var err error
		if point, err = derivePoint(curve, scalar); err != nil {
			return Key{}, err
		}
	}
	return Key{SPKI: spkiOf(element(cbasn1.SEQUENCE, []byte(oidEC), curve), point), Algorithm: "ECDSA"}, nil
}

// readOID reads an object identifier and returns its DER.
func readOID(from *cryptobyte.String) (der []byte, ok bool) {
	var whole cryptobyte.String
	if !from.ReadASN1Element(&whole, cbasn1.OBJECT_IDENTIFIER) {
		return nil, false
	}
	der = whole
	var oid asn1.ObjectIdentifier
	return der, whole.ReadASN1ObjectIdentifier(&oid)
}

// publicPoint returns the uncompressed point that most EC keys carry beside
// the scalar. Certificates hold points uncompressed, so a compressed one does
// not help.
func publicPoint(field cryptobyte.String, present bool) []byte {
	var point []byte
	if !present || !field.ReadASN1BitStringAsBytes(&point) || len(point) < 3 || point[0] != 4 {
		return nil
	}
	return point
}

// derivePoint computes the public point: the slow way, for keys without one.
func derivePoint(curve cryptobyte.String, scalar []byte) ([]byte, error) {
	var oid asn1.ObjectIdentifier
	if !curve.ReadASN1ObjectIdentifier(&oid) {
		return nil, errKey("its curve can't be read")
	}
	c := namedCurve(oid)
	if c == nil {
		return nil, errKey("its curve " + oid.String() + " is unknown")
	}
	size := (c.Params().N.BitLen() + 7) / 8
	for len(scalar) > size && scalar[0] == 0 {
		scalar = scalar[1:]
	}
	if len(scalar) > size {
		return nil, errKey("its number is too large for its curve")
	}
	padded := make([]byte, size)
	defer clear(padded)
	copy(padded[size-len(scalar):], scalar)
	key, err := ecdsa.ParseRawPrivateKey(c, padded)
	if err != nil {
		return nil, errKey("its number does not fit its curve")
	}
	defer clear(key.D.Bits()) //nolint:staticcheck // deprecated for use; nothing else reaches the number to wipe it
	point, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, errKey("its public half can't be computed")
	}
	return point, nil
}

func namedCurve(oid asn1.ObjectIdentifier) elliptic.Curve {
	switch oid.String() {
	case "1.3.132.0.33":
		return elliptic.P224()
	case "1.2.840.10045.3.1.7":
		return elliptic.P256()
	case "1.3.132.0.34":
		return elliptic.P384()
	case "1.3.132.0.35":
		return elliptic.P521()
	}
	return nil
}

// readPKCS8 unwraps the key inside and asks the reader of its kind.
func readPKCS8(der []byte) (Key, error) {
	in := cryptobyte.String(der)
	var seq, algorithm, body, inner cryptobyte.String
	var oid asn1.ObjectIdentifier
	ok := in.ReadASN1(&seq, cbasn1.SEQUENCE) &&
		seq.SkipASN1(cbasn1.INTEGER) &&
		seq.ReadASN1Element(&algorithm, cbasn1.SEQUENCE) &&
		seq.ReadASN1(&inner, cbasn1.OCTET_STRING)
	body = algorithm
	ok = ok && body.ReadASN1(&body, cbasn1.SEQUENCE) && body.ReadASN1ObjectIdentifier(&oid)
	if !ok {
		return Key{}, errKey("not a PKCS#8 private key")
	}
	switch oid.String() {
	case "1.2.840.113549.1.1.1":
		return readPKCS1(inner, nil)
	case "1.2.840.113549.1.1.10": // RSA-PSS: the certificate repeats the parameters
		return readPKCS1(inner, algorithm)
	case "1.2.840.10045.2.1":
		curve, ok := readOID(&body)
		if !ok {
			curve = nil
		}
		return readSEC1(inner, curve)
	case "1.3.101.112":
		var seed cryptobyte.String
		if !inner.ReadASN1(&seed, cbasn1.OCTET_STRING) || len(seed) != ed25519.SeedSize {
			return Key{}, errKey("not an Ed25519 private key")
		}
		private := ed25519.NewKeyFromSeed(seed)
		defer clear(private)
		return Key{SPKI: spkiOf(algorithm, ed25519.PublicKey(private[ed25519.SeedSize:])), Algorithm: "Ed25519"}, nil
	}
	return Key{}, nil
}

// spkiOf fingerprints the SubjectPublicKeyInfo of an AlgorithmIdentifier and
// the bytes of a public key.
func spkiOf(algorithm, public []byte) Fingerprint {
	const wholeBytes = "\x00" // no bits of the last byte are unused
	return FingerprintOf(element(cbasn1.SEQUENCE, algorithm, element(cbasn1.BIT_STRING, []byte(wholeBytes), public)))
}

// element writes a DER element that holds parts. cryptobyte's Builder could do
// it, and takes a dozen allocations where there are as many keys as certificates.
func element(tag cbasn1.Tag, parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	out := append(make([]byte, 0, n+6), elementHeader(tag, n)...)
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// elementHeader is what stands before so many bytes.
func elementHeader(tag cbasn1.Tag, n int) []byte {
	if n < 0x80 {
		return []byte{byte(tag), byte(n)}
	}
	size := bytes.TrimLeft(binary.BigEndian.AppendUint32(make([]byte, 0, 4), uint32(n)), "\x00") //nolint:gosec // a value has no four gigabytes
	return append([]byte{byte(tag), 0x80 | byte(len(size))}, size...)
}

// DER that is the same in every key of its kind.
const (
	algorithmRSA = "\x30\x0d" + oidRSA + "\x05\x00"               // rsaEncryption, NULL
	oidRSA       = "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01" // 1.2.840.113549.1.1.1
	oidEC        = "\x06\x07\x2a\x86\x48\xce\x3d\x02\x01"         // 1.2.840.10045.2.1
)

// readOpenSSH reads the clear head of an "openssh-key-v1" container: the kind
// of key, and whether it is encrypted.
func readOpenSSH(data []byte) (Key, error) {
	rest, ok := bytes.CutPrefix(data, []byte("openssh-key-v1\x00"))
	if !ok {
		return Key{}, errKey("not an OpenSSH private key")
	}
	var cipher, kind []byte
	for i := range 3 { // cipher, key derivation, its options
		var word []byte
		if word, rest, ok = sshString(rest); !ok {
			return Key{}, errKey("not an OpenSSH private key")
		}
		if i == 0 {
			cipher = word
		}
	}
	if len(rest) >= 4 { // number of keys
		if public, _, ok := sshString(rest[4:]); ok {
			kind, _, _ = sshString(public)
		}
	}
	key := Key{Encrypted: string(cipher) != "none"}
	switch {
	case string(kind) == "ssh-rsa":
		key.Algorithm = "RSA"
	case string(kind) == "ssh-ed25519":
		key.Algorithm = "Ed25519"
	case bytes.HasPrefix(kind, []byte("ecdsa-sha2-")):
		key.Algorithm = "ECDSA"
	}
	return key, nil
}

// sshString cuts a string with a four-byte length off s.
func sshString(s []byte) (word, rest []byte, ok bool) {
	if len(s) < 4 {
		return nil, nil, false
	}
	n := binary.BigEndian.Uint32(s)
	if uint64(n) > uint64(len(s)-4) {
		return nil, nil, false
	}
	return s[4 : 4+n], s[4+n:], true
}
