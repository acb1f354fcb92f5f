package pbe

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/asn1"
	"hash"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// maxSalt limits the salt of a key derivation. Real ones have 8 to 20 bytes.
const maxSalt = 1024

// mostCounted are rounds that no caller can afford: hours.
const mostCounted = 1 << 32

// Password is one in the two forms that encryption by password uses. The zero
// password is none at all.
type Password struct {
	plain []byte // for PBKDF2: mostly UTF-8
	wide  []byte // for PKCS#12's own derivation: UTF-16, a zero at the end
}

// NewPassword keeps a copy of the text, which Clear clears.
func NewPassword(text []byte) Password {
	units := make([]uint16, 0, len(text)+1) // no letter takes more units than bytes
	defer clear(units[:cap(units)])
	for rest, valid := text, utf8.Valid(text); len(rest) > 0; {
		r, n := rune(rest[0]), 1 // bytes, as OpenSSL does
		if valid {
			r, n = utf8.DecodeRune(rest)
		}
		units, rest = utf16.AppendRune(units, r), rest[n:]
	}
	p := Password{plain: slices.Clone(text), wide: make([]byte, 0, 2*len(units)+2)}
	for _, u := range append(units, 0) {
		p.wide = append(p.wide, byte(u>>8), byte(u))
	}
	return p
}

// Clear clears the bytes of a password.
func (p Password) Clear() {
	clear(p.plain)
	clear(p.wide)
}

// derivation is how a key is made of a password.
type derivation struct {
	hash   func() hash.Hash
	salt   []byte
	rounds int64
	pbkdf2 bool // else PKCS#12's own
}

// sound reports whether a derivation can be made, and is none that only costs.
// That its rounds are affordable is for others to say.
func (d *derivation) sound() bool { return d.hash != nil && d.rounds >= 1 && len(d.salt) <= maxSalt }

// costOf is how many rounds it takes to make a key of so many bytes: as many for
// each digest. What no caller can afford need not be counted.
func (d *derivation) costOf(size int) int64 {
	h := d.hash()
	each, weight := int64(h.Size()), int64(h.BlockSize()/sha256.BlockSize) // SHA-512's take twice as long
	return min(d.rounds, mostCounted) * ((int64(size) + each - 1) / each) * weight
}

// key makes a key of so many bytes. purpose is PKCS#12's: 1 for a key, 2 for an
// initialization vector, 3 for a digest.
func (d *derivation) key(p Password, purpose byte, size int) []byte {
	if !d.pbkdf2 {
		return d.wideKey(p.wide, purpose, size)
	}
	key, err := pbkdf2.Key(d.hash, string(p.plain), d.salt, int(d.rounds), size)
	if err != nil {
		return nil // the rules of FIPS 140: no key fits
	}
	return key
}

// wideKey derives as RFC 7292, appendix B.2 says, whose letters these are.
func (d *derivation) wideKey(wide []byte, purpose byte, size int) []byte {
	h := d.hash()
	v := h.BlockSize()
	diversifier := bytes.Repeat([]byte{purpose}, v)
	input := append(repeatTo(d.salt, v), repeatTo(wide, v)...)
	defer clear(input)
	var out []byte
	for {
		h.Reset()
		h.Write(diversifier)
		h.Write(input)
		a := h.Sum(nil)
		for range d.rounds - 1 {
			h.Reset()
			h.Write(a)
			a = h.Sum(a[:0])
		}
		if out = append(out, a...); len(out) >= size {
			return out[:size]
		}
		b := repeatTo(a, v)[:v]
		for i := 0; i < len(input); i += v { // I_j = I_j + B + 1
			carry := uint(1)
			for j := v - 1; j >= 0; j-- {
				carry += uint(input[i+j]) + uint(b[j])
				input[i+j] = byte(carry)
				carry >>= 8
			}
		}
	}
}

// repeatTo repeats data up to the next multiple of n bytes.
func repeatTo(data []byte, n int) []byte {
	if len(data) == 0 {
		return nil
	}
	size := (len(data) + n - 1) / n * n
	out := make([]byte, size)
	for at := 0; at < size; {
		at += copy(out[at:], data)
	}
	return out
}

// Scheme is encryption by a password.
type Scheme struct {
	derivation
	Cost    int64 // rounds, of all that is derived
	block   func(key []byte) (cipher.Block, error)
	keySize int
	iv      []byte // nil: it is derived, too
}

// Read reads the contents of an AlgorithmIdentifier; false for an algorithm
// that is unknown, and for one that is no algorithm.
func Read(in cryptobyte.String) (Scheme, bool) {
	var c Scheme
	oid, params, ok := readAlgorithm(in)
	if !ok {
		return c, false
	}
	if oid == "1.2.840.113549.1.5.13" {
		return readPBES2(params)
	}
	c.hash = sha1.New
	switch oid {
	case "1.2.840.113549.1.12.1.3":
		c.block, c.keySize = des.NewTripleDESCipher, 24
	case "1.2.840.113549.1.12.1.4":
		c.block, c.keySize = newTwoKeyTripleDES, 16
	case "1.2.840.113549.1.12.1.5":
		c.block, c.keySize = newRC2, 16
	case "1.2.840.113549.1.12.1.6":
		c.block, c.keySize = newRC2, 5
	default:
		return c, false
	}
	var salt cryptobyte.String
	ok = params.ReadASN1(&salt, cbasn1.OCTET_STRING) && params.ReadASN1Integer(&c.rounds)
	c.salt = salt
	if !ok || !c.sound() {
		return c, false
	}
	c.Cost = c.costOf(c.keySize) + c.costOf(des.BlockSize)
	return c, true
}

func newTwoKeyTripleDES(key []byte) (cipher.Block, error) {
	return des.NewTripleDESCipher(slices.Concat(key, key[:8]))
}

// readAlgorithm reads the contents of an AlgorithmIdentifier: what it names, and
// what its parameters hold, where those are a SEQUENCE.
func readAlgorithm(in cryptobyte.String) (oid string, params cryptobyte.String, ok bool) {
	var id asn1.ObjectIdentifier
	if !in.ReadASN1ObjectIdentifier(&id) {
		return "", nil, false
	}
	return id.String(), params, in.ReadOptionalASN1(&params, nil, cbasn1.SEQUENCE)
}

func readPBES2(params cryptobyte.String) (Scheme, bool) {
	var c Scheme
	var kdf, scheme, iv cryptobyte.String
	var oid asn1.ObjectIdentifier
	ok := params.ReadASN1(&kdf, cbasn1.SEQUENCE) &&
		params.ReadASN1(&scheme, cbasn1.SEQUENCE) &&
		scheme.ReadASN1ObjectIdentifier(&oid) &&
		scheme.ReadASN1(&iv, cbasn1.OCTET_STRING)
	if !ok {
		return c, false
	}
	switch oid.String() {
	case "2.16.840.1.101.3.4.1.2":
		c.block, c.keySize = aes.NewCipher, 16
	case "2.16.840.1.101.3.4.1.22":
		c.block, c.keySize = aes.NewCipher, 24
	case "2.16.840.1.101.3.4.1.42":
		c.block, c.keySize = aes.NewCipher, 32
	case "1.2.840.113549.3.7":
		c.block, c.keySize = des.NewTripleDESCipher, 24
	default:
		return c, false
	}
	c.iv = iv
	c.derivation, _, ok = readPBKDF2(kdf)
	if !ok {
		return c, false
	}
	c.Cost = c.costOf(c.keySize)
	return c, true
}

// readPBKDF2 reads the contents of an AlgorithmIdentifier; keySize is 0 where it
// does not say one.
func readPBKDF2(in cryptobyte.String) (d derivation, keySize int, ok bool) {
	oid, params, ok := readAlgorithm(in)
	var salt, prf cryptobyte.String
	d.hash = sha1.New
	ok = ok && oid == "1.2.840.113549.1.5.12" &&
		params.ReadASN1(&salt, cbasn1.OCTET_STRING) &&
		params.ReadASN1Integer(&d.rounds)
	if ok && params.PeekASN1Tag(cbasn1.INTEGER) {
		ok = params.ReadASN1Integer(&keySize)
	}
	if ok && !params.Empty() {
		ok = params.ReadASN1(&prf, cbasn1.SEQUENCE)
		oid, _, _ = readAlgorithm(prf)
		d.hash = digestOf(oid)
	}
	d.salt, d.pbkdf2 = salt, true
	return d, keySize, ok && d.sound()
}

// How many bytes take as long as a round: of ciphers with small blocks, which are slow,
// and of others and digests.
const bytesPerRoundSlow, bytesPerRound = 2, 64

// CostOf is Cost, and what decrypting takes: a small file unpacks to megabytes of it.
func (c *Scheme) CostOf(secret []byte) int64 {
	if c.iv == nil || len(c.iv) == des.BlockSize {
		return c.Cost + int64(len(secret)/bytesPerRoundSlow)
	}
	return c.Cost + int64(len(secret)/bytesPerRound)
}

// Decrypt returns what comes out with a password, sense or nonsense; nil where
// by the padding alone it is nonsense.
func (c *Scheme) Decrypt(secret []byte, p Password) []byte {
	const forKey, forVector = 1, 2
	key := c.key(p, forKey, c.keySize)
	defer clear(key)
	block, err := c.block(key)
	if err != nil {
		return nil
	}
	iv := c.iv
	if iv == nil {
		iv = c.key(p, forVector, block.BlockSize())
	}
	size := block.BlockSize()
	if len(iv) != size || len(secret) == 0 || len(secret)%size != 0 {
		return nil
	}
	plain := make([]byte, len(secret))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, secret)
	padding := int(plain[len(plain)-1])
	if padding == 0 || padding > size || !bytes.HasSuffix(plain, bytes.Repeat([]byte{byte(padding)}, padding)) {
		clear(plain)
		return nil
	}
	return plain[:len(plain)-padding]
}

// MAC is the digest by which a password of a whole keystore is known to fit.
type MAC struct {
	derivation
	Cost    int64 // rounds, of all that is derived
	keySize int
	hmac    func() hash.Hash
	digest  []byte
}

// ReadMAC reads the contents of a MacData; false where it is empty, or unknown.
func ReadMAC(in cryptobyte.String) (MAC, bool) {
	var m MAC
	var info, algorithm, digest, salt cryptobyte.String
	ok := in.ReadASN1(&info, cbasn1.SEQUENCE) &&
		info.ReadASN1(&algorithm, cbasn1.SEQUENCE) &&
		info.ReadASN1(&digest, cbasn1.OCTET_STRING)
	if !ok {
		return m, false
	}
	m.digest = digest
	oid, params, ok := readAlgorithm(algorithm)
	if !ok {
		return m, false
	}
	if oid == "1.2.840.113549.1.5.14" { // PBMAC1, which ignores what follows
		return m, m.readPBMAC1(params)
	}
	m.rounds = 1
	ok = in.ReadASN1(&salt, cbasn1.OCTET_STRING) && (in.Empty() || in.ReadASN1Integer(&m.rounds))
	m.salt = salt
	m.hash = digestOf(oid)
	m.hmac = m.hash
	if !ok || !m.sound() {
		return m, false
	}
	m.keySize = m.hash().Size()
	m.Cost = m.costOf(m.keySize)
	return m, true
}

func (m *MAC) readPBMAC1(params cryptobyte.String) bool {
	var kdf, algorithm cryptobyte.String
	if !params.ReadASN1(&kdf, cbasn1.SEQUENCE) || !params.ReadASN1(&algorithm, cbasn1.SEQUENCE) {
		return false
	}
	oid, _, ok := readAlgorithm(algorithm)
	m.hmac = digestOf(oid)
	if !ok || m.hmac == nil {
		return false
	}
	m.derivation, m.keySize, ok = readPBKDF2(kdf)
	// RFC 9579: a shorter key makes digests that any user can make.
	if !ok || m.keySize < 20 || m.keySize > sha512.Size {
		return false
	}
	m.Cost = m.costOf(m.keySize)
	return true
}

// CostOf is Cost, and what the digest over the message takes.
func (m *MAC) CostOf(message []byte) int64 { return m.Cost + int64(len(message)/bytesPerRound) }

// Verifies reports whether a password makes the digest over the message.
func (m *MAC) Verifies(message []byte, p Password) bool {
	const forDigest = 3
	key := m.key(p, forDigest, m.keySize)
	defer clear(key)
	h := hmac.New(m.hmac, key)
	h.Write(message)
	return hmac.Equal(h.Sum(nil), m.digest)
}

// digestOf returns the digest of an object identifier, which may be that of the
// HMAC with it; nil where it is unknown.
func digestOf(oid string) func() hash.Hash {
	switch oid {
	case "1.3.14.3.2.26", "1.2.840.113549.2.7":
		return sha1.New
	case "2.16.840.1.101.3.4.2.4", "1.2.840.113549.2.8":
		return sha256.New224
	case "2.16.840.1.101.3.4.2.1", "1.2.840.113549.2.9":
		return sha256.New
	case "2.16.840.1.101.3.4.2.2", "1.2.840.113549.2.10":
		return sha512.New384
	case "2.16.840.1.101.3.4.2.3", "1.2.840.113549.2.11":
		return sha512.New
	}
	return nil
}
