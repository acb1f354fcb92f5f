package pki

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
)

// TestATokenInTheLabelOfAPEMBlockIsNotSaid: whatever the block holds, of a label that no
// standard has nothing is in what is printed and kept.
func TestATokenInTheLabelOfAPEMBlockIsNotSaid(t *testing.T) {
	w := newWorld(t)
	p, _ := pem.Decode(w.server.KeyPEM)
	ca, _ := pem.Decode(w.root.CertPEM)
	for _, token := range []string{"ghp_Vb3kQ9xZ", "sha256-q7XvB2q7XvB2", "hunter2"} {
		labelled := func(body []byte) []byte {
			return pem.EncodeToMemory(&pem.Block{Type: token + " PRIVATE KEY", Bytes: body})
		}
		sound := labelled(p.Bytes)
		tests := map[string]struct {
			in   []byte
			want string
		}{
			"a key":          {sound, "key ECDSA"},
			"no key":         {labelled([]byte("no DER")), "bad 0 unknown label"},
			"empty":          {labelled(nil), "bad 0 unknown label"},
			"cut off":        {sound[:len(sound)/2], "bad 0 unknown label"},
			"a certificate":  {labelled(ca.Bytes), "bad 0 unknown label"},
			"encrypted":      {bytes.Replace(sound, []byte("-----\n"), []byte("-----\nProc-Type: 4,ENCRYPTED\n\n"), 1), "key"},
			"in a document":  {join("ca: |\n", indent(labelled([]byte("no DER")), "  ")), "bad 0 unknown label"},
			"beside a CA":    {join(w.root.CertPEM, labelled([]byte("no DER"))), "bad 1 unknown label"},
			"no key at all":  {bytes.ReplaceAll(sound, []byte(" PRIVATE KEY"), nil), ""},
			"a request, too": {bytes.ReplaceAll(sound, []byte(" PRIVATE KEY"), []byte(" CERTIFICATE REQUEST")), ""},
		}
		for name, tt := range tests {
			found := NewScanner().Scan(tt.in)
			got := strings.Join(lines(found), "\n")
			text, err := json.Marshal(found)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(got+string(text), token) {
				t.Errorf("%s: %s %s", name, got, text)
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("%s: %q, want %q", name, got, tt.want)
			}
		}
	}
}

// TestKnownLabelsAreSaid: the labels of RFC 7468 and of OpenSSL.
func TestKnownLabelsAreSaid(t *testing.T) {
	for _, label := range append(append(keyLabels(), otherLabels()...), "CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CRL", "PKCS7", "CMS",
		"PKCS #7 SIGNED DATA", "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST") {
		if got := StandardLabel(label); got != label {
			t.Errorf("%s is said as %s", label, got)
		}
	}
	if got := StandardLabel("RSA  PRIVATE KEY"); got != unknownLabel {
		t.Error(got)
	}
}
