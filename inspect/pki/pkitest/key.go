package pkitest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math/big"
)

// stream returns n bytes that depend on the name alone.
func stream(name string, n int) []byte {
	var out []byte
	for i := uint32(0); len(out) < n; i++ {
		block := sha256.Sum256(binary.BigEndian.AppendUint32([]byte("pkitest "+name+"\x00"), i))
		out = append(out, block[:]...)
	}
	return out[:n]
}

// ecdsaKey signs deterministically: crypto/x509 gives every signer a source of
// randomness, which this one ignores.
type ecdsaKey struct{ *ecdsa.PrivateKey }

func (k ecdsaKey) Sign(_ io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	return k.PrivateKey.Sign(nil, digest, opts)
}

func newECDSA(name string, curve elliptic.Curve) ecdsaKey {
	// Eight bytes more than needed make the remainder as good as uniform.
	n := curve.Params().N
	size := (n.BitLen() + 7) / 8
	d := new(big.Int).SetBytes(stream(name, size+8))
	d.Mod(d, new(big.Int).Sub(n, big.NewInt(1)))
	d.Add(d, big.NewInt(1))
	key, err := ecdsa.ParseRawPrivateKey(curve, d.FillBytes(make([]byte, size)))
	must(err)
	return ecdsaKey{key}
}

func newEd25519(name string) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(stream(name, ed25519.SeedSize))
}

// newRSA derives an RSA key: slow, some tenths of a second for 2048 bits.
func newRSA(name string, bits int) *rsa.PrivateKey {
	one := big.NewInt(1)
	e := big.NewInt(65537)
	p := prime(name+" p", bits/2, e)
	q := prime(name+" q", bits-bits/2, e)
	phi := new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one))
	key := &rsa.PrivateKey{
		PublicKey: rsa.PublicKey{N: new(big.Int).Mul(p, q), E: int(e.Int64())},
		D:         new(big.Int).ModInverse(e, phi),
		Primes:    []*big.Int{p, q},
	}
	key.Precompute()
	must(key.Validate())
	return key
}

// prime returns the first prime p at or after a number made of the name, of
// exactly the given length, for which e has an inverse modulo p-1.
func prime(name string, bits int, e *big.Int) *big.Int {
	p := new(big.Int).SetBytes(stream(name, (bits+7)/8))
	p.Rsh(p, uint((8-bits%8)%8))
	p.SetBit(p, bits-1, 1) // the two top bits make the product of two primes long enough
	p.SetBit(p, bits-2, 1)
	p.SetBit(p, 0, 1)
	one, two := big.NewInt(1), big.NewInt(2)
	for {
		gcd := new(big.Int).GCD(nil, nil, e, new(big.Int).Sub(p, one))
		if gcd.Cmp(one) == 0 && p.ProbablyPrime(20) {
			return p
		}
		p.Add(p, two)
	}
}

func must(err error) {
	if err != nil {
		panic("pkitest: " + err.Error())
	}
}
