package pki

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIsBase64KnowsTheAlphabet(t *testing.T) {
	var got strings.Builder
	for c := range 256 {
		if isBase64(byte(c)) {
			got.WriteByte(byte(c))
		}
	}
	const want = "+/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFingerprintText(t *testing.T) {
	in := FingerprintOf([]byte("x"))
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out Fingerprint
	if err := json.Unmarshal(text, &out); err != nil || in != out {
		t.Errorf("%s read as %v, %v", text, out, err)
	}
	if short := in.Short(); !strings.HasPrefix(in.String(), short) || len(short) != 12 {
		t.Errorf("Short() = %s of %s", short, in)
	}
	for _, bad := range []string{"", "00", strings.Repeat("0", 63), strings.Repeat("0", 66), strings.Repeat("g", 64)} {
		if err := out.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
