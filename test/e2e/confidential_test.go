package e2e

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"index/suffixarray"
	"strings"
	"sync"
	"testing"
)

// confidential is what must never be printed or stored, and how it would look.
type confidential struct {
	mu      sync.Mutex
	needles map[string]string // to whose it is
	kept    map[string][]byte // keys that a test itself needs
}

// leak fails the test if a text has anything confidential.
func (c *confidential) leak(t *testing.T, what, text string) {
	t.Helper()
	for needle, whose := range c.find(text) {
		t.Errorf("%s shows %s: %q", what, whose, needle)
	}
}

// find returns what of it a text has, and whose it is.
func (c *confidential) find(text string) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	index := suffixarray.New([]byte(text))
	found := map[string]string{}
	for needle, whose := range c.needles {
		if len(index.Lookup([]byte(needle), 1)) > 0 {
			found[needle] = whose
		}
	}
	return found
}

func (c *confidential) keep(name string, keyPEM []byte) {
	if c.kept == nil {
		c.kept = map[string][]byte{}
	}
	c.kept[name] = keyPEM
}

// key adds a private key: its scalars, and the text of its PEM.
func (c *confidential) key(whose string, keyPEM []byte) {
	block, _ := pem.Decode(keyPEM)
	if block == nil {
		panic(whose + " is no PEM")
	}
	body := base64.StdEncoding.EncodeToString(block.Bytes)
	for _, scalar := range scalars(block) {
		c.add(whose, scalar[:16])
		c.add(whose, scalar[len(scalar)-16:])
		// A piece of the PEM's text that is in one line and depends on the
		// scalar alone, so that it is also found in base64 once more.
		begin := (bytes.Index(block.Bytes, scalar)*4 + 2) / 3
		if begin%64 > 64-pieceOfPEM {
			begin += 64 - begin%64
		}
		c.add(whose, []byte(body[begin:begin+pieceOfPEM]))
	}
}

const pieceOfPEM = 20

func scalars(block *pem.Block) [][]byte {
	var key any
	var err error
	switch block.Type {
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		panic(err)
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return [][]byte{k.D.Bytes(), k.Primes[0].Bytes(), k.Primes[1].Bytes()}
	case *ecdsa.PrivateKey:
		d, err := k.Bytes()
		if err != nil {
			panic(err)
		}
		return [][]byte{d}
	case ed25519.PrivateKey:
		return [][]byte{k.Seed()}
	}
	panic(fmt.Sprintf("a key of type %T", key))
}

// token makes a JSON web token, such as a service account has.
func (c *confidential) token(whose string) string {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	first, second := sha256.Sum256([]byte(whose)), sha256.Sum256([]byte(whose+"2"))
	signature := base64.RawURLEncoding.EncodeToString(append(first[:], second[:]...))
	token := part(`{"alg":"RS256","kid":"e2e"}`) + "." + part(`{"iss":"kubernetes/serviceaccount","sub":"system:serviceaccount:e2e:robot"}`) + "." + signature
	c.addToken(whose, token)
	return token
}

// addToken adds a token's signature, without which it is worth nothing.
func (c *confidential) addToken(whose, token string) {
	signature := token[strings.LastIndexByte(token, '.')+1:]
	c.add(whose, []byte(signature[:24]))
	c.add(whose, []byte(signature[len(signature)-24:]))
}

// add adds bytes as they are, in hex, and in base64 at any alignment.
func (c *confidential) add(whose string, raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.needles == nil {
		c.needles = map[string]string{}
	}
	plain := hex.EncodeToString(raw)
	var colons []string
	for _, b := range raw {
		colons = append(colons, fmt.Sprintf("%02x", b))
	}
	for _, needle := range []string{string(raw), plain, strings.ToUpper(plain), strings.Join(colons, ":"), strings.ToUpper(strings.Join(colons, ":"))} {
		c.needles[needle] = whose
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			text := encoding.EncodeToString(append(make([]byte, shift), raw...))
			// Characters that also depend on the neighbours are left out.
			c.needles[text[(shift*8+5)/6:(shift+len(raw))*8/6]] = whose
		}
	}
}
