package pbe

import (
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"math/bits"
)

// rc2 is the cipher of RFC 2268, whose names these are. It is broken, and for
// twenty years OpenSSL and Java encrypted the certificates of PKCS#12 files with
// it by default. Go has it in internal packages only.
type rc2 struct{ k [64]uint16 }

// newRC2 returns the cipher whose effective key is all of the key.
func newRC2(key []byte) (cipher.Block, error) {
	t := len(key)
	if t == 0 || t > 128 {
		return nil, errors.New("not a key of RC2")
	}
	var l [128]byte
	copy(l[:], key)
	for i := t; i < 128; i++ {
		l[i] = piTable[l[i-1]+l[i-t]]
	}
	l[128-t] = piTable[l[128-t]]
	for i := 127 - t; i >= 0; i-- {
		l[i] = piTable[l[i+1]^l[i+t]]
	}
	c := &rc2{}
	for i := range c.k {
		c.k[i] = binary.LittleEndian.Uint16(l[2*i:])
	}
	return c, nil
}

func (*rc2) BlockSize() int { return 8 }

// Encrypt encrypts one block.
func (c *rc2) Encrypt(dst, src []byte) {
	r := load(src)
	for round := range 16 {
		for i := range 4 {
			r[i] += c.k[4*round+i] + r[(i+3)%4]&r[(i+2)%4] + ^r[(i+3)%4]&r[(i+1)%4]
			r[i] = bits.RotateLeft16(r[i], shift(i))
		}
		if round == 4 || round == 10 {
			for i := range 4 {
				r[i] += c.k[r[(i+3)%4]%64]
			}
		}
	}
	r.store(dst)
}

// Decrypt decrypts one block.
func (c *rc2) Decrypt(dst, src []byte) {
	r := load(src)
	for round := 15; round >= 0; round-- {
		if round == 4 || round == 10 {
			for i := 3; i >= 0; i-- {
				r[i] -= c.k[r[(i+3)%4]%64]
			}
		}
		for i := 3; i >= 0; i-- {
			r[i] = bits.RotateLeft16(r[i], -shift(i))
			r[i] -= c.k[4*round+i] + r[(i+3)%4]&r[(i+2)%4] + ^r[(i+3)%4]&r[(i+1)%4]
		}
	}
	r.store(dst)
}

// shift is by how much each word is rotated: 1, 2, 3, 5.
func shift(i int) int { return i + 1 + i/3 }

// words is a block.
type words [4]uint16

func load(src []byte) (r words) {
	for i := range r {
		r[i] = binary.LittleEndian.Uint16(src[2*i:])
	}
	return r
}

func (r words) store(dst []byte) {
	for i, w := range r {
		binary.LittleEndian.PutUint16(dst[2*i:], w)
	}
}

// piTable is the permutation of RFC 2268, made of the digits of pi.
const piTable = "\xd9\x78\xf9\xc4\x19\xdd\xb5\xed\x28\xe9\xfd\x79\x4a\xa0\xd8\x9d" +
	"\xc6\x7e\x37\x83\x2b\x76\x53\x8e\x62\x4c\x64\x88\x44\x8b\xfb\xa2" +
	"\x17\x9a\x59\xf5\x87\xb3\x4f\x13\x61\x45\x6d\x8d\x09\x81\x7d\x32" +
	"\xbd\x8f\x40\xeb\x86\xb7\x7b\x0b\xf0\x95\x21\x22\x5c\x6b\x4e\x82" +
	"\x54\xd6\x65\x93\xce\x60\xb2\x1c\x73\x56\xc0\x14\xa7\x8c\xf1\xdc" +
	"\x12\x75\xca\x1f\x3b\xbe\xe4\xd1\x42\x3d\xd4\x30\xa3\x3c\xb6\x26" +
	"\x6f\xbf\x0e\xda\x46\x69\x07\x57\x27\xf2\x1d\x9b\xbc\x94\x43\x03" +
	"\xf8\x11\xc7\xf6\x90\xef\x3e\xe7\x06\xc3\xd5\x2f\xc8\x66\x1e\xd7" +
	"\x08\xe8\xea\xde\x80\x52\xee\xf7\x84\xaa\x72\xac\x35\x4d\x6a\x2a" +
	"\x96\x1a\xd2\x71\x5a\x15\x49\x74\x4b\x9f\xd0\x5e\x04\x18\xa4\xec" +
	"\xc2\xe0\x41\x6e\x0f\x51\xcb\xcc\x24\x91\xaf\x50\xa1\xf4\x70\x39" +
	"\x99\x7c\x3a\x85\x23\xb8\xb4\x7a\xfc\x02\x36\x5b\x25\x55\x97\x31" +
	"\x2d\x5d\xfa\x98\xe3\x8a\x92\xae\x05\xdf\x29\x10\x67\x6c\xba\xc9" +
	"\xd3\x00\xe6\xcf\xe1\x9e\xa8\x2c\x63\x16\x01\x3f\x58\xe2\x89\xa9" +
	"\x0d\x38\x34\x1b\xab\x33\xff\xb0\xbb\x48\x0c\x5f\xb9\xb1\xcd\x2e" +
	"\xc5\xf3\xdb\x47\xe5\xa5\x9c\x77\x0a\xa6\x20\x68\xfe\x7f\xc1\xad"
