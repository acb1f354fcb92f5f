package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// secretOf returns the private numbers of a key.
func secretOf(t *testing.T, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return k.D.Bytes()
	case *ecdsa.PrivateKey:
		return scalar(t, k)
	}
	return der[len(der)-32:]
}

// plain unwraps the signers of pkitest.
func plain(t *testing.T, pair pkitest.Pair) crypto.Signer {
	t.Helper()
	block, _ := pem.Decode(pair.KeyPEM)
	switch block.Type {
	case "EC PRIVATE KEY":
		key, err := x509.ParseECPrivateKey(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	return pair.Key
}

func TestScanKeysMatchTheirCertificates(t *testing.T) {
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(1, 0, 0)
	kinds := []struct {
		name string
		opt  pkitest.Option
		want string
	}{
		{"P-224", pkitest.Curve(elliptic.P224()), "ECDSA"},
		{"P-256", pkitest.Curve(elliptic.P256()), "ECDSA"},
		{"P-384", pkitest.Curve(elliptic.P384()), "ECDSA"},
		{"P-521", pkitest.Curve(elliptic.P521()), "ECDSA"},
		{"RSA", pkitest.RSA(2048), "RSA"},
		{"Ed25519", pkitest.Ed25519(), "Ed25519"},
	}
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			pair := pkitest.SelfSigned(kind.name, from, to, kind.opt)
			key := plain(t, pair)
			secret := secretOf(t, key)
			for form, der := range forms(t, key) {
				label := "PRIVATE KEY"
				if cut, rest, ok := strings.Cut(form, ":"); ok {
					label = rest
					form = cut
				}
				keyPEM := pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der})
				for where, in := range map[string][]byte{
					"PEM":  join(pair.CertPEM, keyPEM),
					"DER":  join(pair.Cert.Raw, der),
					"YAML": join("cert: ", b64(pair.CertPEM), "\nkey: ", b64(keyPEM), "\n"),
					"text": join("x ", pair.CertPEM, "\ny ", b64(keyPEM), "\n"),
				} {
					s := NewScanner()
					found := s.Scan(in)
					var key Key
					for _, f := range found {
						for _, k := range f.Content.Keys {
							key = k
						}
					}
					want := Key{SPKI: FingerprintOf(pair.Cert.RawSubjectPublicKeyInfo), Algorithm: kind.want}
					if diff := cmp.Diff(want, key); diff != "" {
						t.Errorf("%s in %s (-want +got):\n%s\n%s", form, where, diff, lines(found))
					}
					leaks(t, form+" in "+where, secret, found, s)
				}
			}
		})
	}
}

// forms encodes a key in every way in which it is met.
func forms(t *testing.T, key crypto.Signer) map[string][]byte {
	t.Helper()
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string][]byte{"PKCS#8": pkcs8}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		forms["PKCS#1:RSA PRIVATE KEY"] = x509.MarshalPKCS1PrivateKey(k)
	case *ecdsa.PrivateKey:
		sec1, err := x509.MarshalECPrivateKey(k)
		if err != nil {
			t.Fatal(err)
		}
		forms["SEC 1:EC PRIVATE KEY"] = sec1
		forms["SEC 1 without point:EC PRIVATE KEY"] = withoutPoint(t, sec1)
	}
	return forms
}

type sec1 struct {
	Version int
	Scalar  []byte
	Curve   asn1.ObjectIdentifier `asn1:"optional,explicit,tag:0"`
	Point   asn1.BitString        `asn1:"optional,explicit,tag:1"`
}

// withoutPoint removes the optional public half of an EC key.
func withoutPoint(t *testing.T, der []byte) []byte {
	t.Helper()
	var key sec1
	if _, err := asn1.Unmarshal(der, &key); err != nil {
		t.Fatal(err)
	}
	key.Point = asn1.BitString{}
	der, err := asn1.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// leaks looks for pieces of a secret in everything that a scan leaves behind.
func leaks(t *testing.T, name string, secret []byte, found []Found, s *Scanner) {
	t.Helper()
	out, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	fmt.Fprintf(&all, "%s\n%+v\n%v\n", out, found, s.words)
	for _, f := range found {
		fmt.Fprintf(&all, "%+v\n%#v\n", *f.Content, *f.Content)
		for _, c := range f.Content.Certs {
			fmt.Fprintf(&all, "%+v\n%x\n%s\n", *c, c.DER, c.DER)
		}
	}
	text := all.String()
	for i := 0; i+8 <= len(secret); i++ {
		run := secret[i : i+8]
		for _, form := range []string{
			string(run), hex.EncodeToString(run), strings.Trim(fmt.Sprintf("%d", run), "[]"),
			base64.RawStdEncoding.EncodeToString(run[:6]),
		} {
			if strings.Contains(text, form) {
				t.Fatalf("%s: a piece of the key is in the results", name)
			}
		}
	}
}

func TestScanUnusualKeys(t *testing.T) {
	w := newWorld(t)
	block := func(label string, der []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der})
	}
	header := func(label string) []byte {
		return pem.EncodeToMemory(&pem.Block{
			Type: label, Bytes: []byte("0123456789abcdef"),
			Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"},
		})
	}
	ssh := func(cipher, kind string) []byte {
		word := func(s string) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...) }
		return join("openssh-key-v1\x00", word(cipher), word("none"), word(""), "\x00\x00\x00\x01", word(string(word(kind))+"public"), word("private"))
	}
	pbes2 := tlv(0x30, string(tlv(0x30, "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x05\x0d\x30\x00"))+string(tlv(4, strings.Repeat("x", 200))))
	ed448 := tlv(0x30, "\x02\x01\x00"+string(tlv(0x30, "\x06\x03\x2b\x65\x71"))+string(tlv(4, strings.Repeat("k", 59))))
	explicit := tlv(0x30, "\x02\x01\x01"+string(tlv(4, strings.Repeat("k", 32)))+string(tlv(0xa0, string(tlv(0x30, "\x02\x01\x01")))))
	brainpool := tlv(0x30, "\x02\x01\x01"+string(tlv(4, strings.Repeat("k", 32)))+string(tlv(0xa0, "\x06\x09\x2b\x24\x03\x03\x02\x08\x01\x01\x07")))
	tests := []struct {
		name string
		in   []byte
		want []string
	}{
		{"encrypted by PEM header", header("RSA PRIVATE KEY"), []string{"key RSA encrypted"}},
		{"encrypted by PEM header, EC, in JSON", join(`{"k":`, quoted(t, header("EC PRIVATE KEY")), `}`), []string{"k: key ECDSA encrypted"}},
		{"encrypted PKCS#8", block("ENCRYPTED PRIVATE KEY", pbes2), []string{"key ENCRYPTED PRIVATE KEY encrypted"}},
		{"OpenSSH", block("OPENSSH PRIVATE KEY", ssh("none", "ssh-ed25519")), []string{"key Ed25519"}},
		{"OpenSSH encrypted", block("OPENSSH PRIVATE KEY", ssh("aes256-ctr", "ssh-rsa")), []string{"key RSA encrypted"}},
		{"OpenSSH of an unknown kind", block("OPENSSH PRIVATE KEY", ssh("none", "sk-ssh")), []string{"key OPENSSH PRIVATE KEY"}},
		{"OpenSSH broken", block("OPENSSH PRIVATE KEY", []byte("openssh-key-v1\x00\xff\xff\xff\xff")), []string{
			"key OPENSSH PRIVATE KEY", "bad 0 OPENSSH PRIVATE KEY: not an OpenSSH private key",
		}},
		{"an unknown algorithm", block("PRIVATE KEY", ed448), []string{"key PRIVATE KEY"}},
		{"a curve as numbers", block("EC PRIVATE KEY", explicit), []string{
			"key EC PRIVATE KEY", "bad 0 EC PRIVATE KEY: its curve is written out as numbers instead of being named",
		}},
		{"an unknown curve without point", block("EC PRIVATE KEY", brainpool), []string{
			"key EC PRIVATE KEY", "bad 0 EC PRIVATE KEY: its curve 1.3.36.3.3.2.8.1.1.7 is unknown",
		}},
		{"a key in front of its certificate", join(w.server.KeyPEM, w.server.CertPEM), []string{"cert CN=server", "key ECDSA of CN=server"}},
		{"curve parameters in front of a key", join(block("EC PARAMETERS", []byte("\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07")), w.server.KeyPEM), []string{"key ECDSA"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lines(NewScanner().Scan(tt.in))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestScanRSAPSSKeyRepeatsTheParameters(t *testing.T) {
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	key := pkitest.SelfSigned("pss", from, from.AddDate(1, 0, 0), pkitest.RSA(1024)).Key.(*rsa.PrivateKey)
	algorithm := tlv(0x30, "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0a\x30\x00")
	pkcs8 := tlv(0x30, string(join("\x02\x01\x00", algorithm, tlv(4, string(x509.MarshalPKCS1PrivateKey(key))))))
	public := join("\x00", x509.MarshalPKCS1PublicKey(&key.PublicKey))
	spki := tlv(0x30, string(join(algorithm, tlv(3, string(public)))))
	found := NewScanner().Scan(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
	want := []Key{{SPKI: FingerprintOf(spki), Algorithm: "RSA"}}
	if len(found) != 1 || !cmp.Equal(want, found[0].Content.Keys) {
		t.Errorf("got %v", lines(found))
	}
}

// scalar is the private number of an ECDSA key.
func scalar(t testing.TB, k *ecdsa.PrivateKey) []byte {
	t.Helper()
	raw, err := k.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
