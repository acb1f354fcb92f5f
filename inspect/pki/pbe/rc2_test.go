package pbe

import (
	"bytes"
	"encoding/hex"
	"testing"
)

// TestRC2 has the vectors of RFC 2268, section 5, whose effective length is that
// of the key.
func TestRC2(t *testing.T) {
	for _, v := range []struct{ key, plain, secret string }{
		{"ffffffffffffffff", "ffffffffffffffff", "278b27e42e2f0d49"},
		{"3000000000000000", "1000000000000001", "30649edf9be7d2c2"},
		{"88bca90e90875a7f0f79c384627bafb2", "0000000000000000", "2269552ab0f85ca6"},
	} {
		key, _ := hex.DecodeString(v.key)
		plain, _ := hex.DecodeString(v.plain)
		c, err := newRC2(key)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 8)
		if c.Encrypt(got, plain); hex.EncodeToString(got) != v.secret {
			t.Errorf("key %s: %x, want %s", v.key, got, v.secret)
		}
		if c.Decrypt(got, got); !bytes.Equal(got, plain) {
			t.Errorf("key %s: decrypted %x", v.key, got)
		}
	}
}
