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
		var b cryptobyte.Builder
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
			b.AddASN1ObjectIdentifier(oidRSA())
			b.AddASN1NULL()
		})
		algorithm = b.BytesOrPanic()
	}
	var pub cryptobyte.Builder
	pub.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddBytes(n)
		b.AddBytes(e)
	})
	public, err := pub.Bytes()
	if err != nil {
		return Key{}, errKey("not an RSA private key")
	}
	return Key{SPKI: spkiOf(algorithm, public), Algorithm: "RSA"}, nil
}

// readSEC1 reads an EC private key. curve is the curve's object identifier
// given outside, by PKCS#8, or nil.
func readSEC1(der []byte, curve asn1.ObjectIdentifier) (Key, error) {
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
	if hasParams && !params.ReadASN1ObjectIdentifier(&curve) {
		return Key{}, errKey("its curve is written out as numbers instead of being named")
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
	var alg cryptobyte.Builder
	alg.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1ObjectIdentifier(oidEC())
		b.AddASN1ObjectIdentifier(curve)
	})
	algorithm, err := alg.Bytes()
	if err != nil {
		return Key{}, errKey("its curve can't be read")
	}
	return Key{SPKI: spkiOf(algorithm, point), Algorithm: "ECDSA"}, nil
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
func derivePoint(curve asn1.ObjectIdentifier, scalar []byte) ([]byte, error) {
	c := namedCurve(curve)
	if c == nil {
		return nil, errKey("its curve " + curve.String() + " is unknown")
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
	var oid, curve asn1.ObjectIdentifier
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
		if !body.ReadASN1ObjectIdentifier(&curve) {
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
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddBytes(algorithm)
		b.AddASN1BitString(public)
	})
	der, err := b.Bytes()
	if err != nil {
		return Fingerprint{}
	}
	return FingerprintOf(der)
}

func oidRSA() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1} }
func oidEC() asn1.ObjectIdentifier  { return asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1} }

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
