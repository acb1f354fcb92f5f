package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"testing"
	"unicode/utf16"
)

// TestTheCommonNameOfARequestAlone is what reading the whole request says.
func TestTheCommonNameOfARequestAlone(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	const name = "system:node:worker-0"
	text := func(tag int, s string) asn1.RawValue { return asn1.RawValue{Tag: tag, Bytes: []byte(s)} }
	wide := func(s string) string {
		var out []byte
		for _, u := range utf16.Encode([]rune(s)) {
			out = append(out, byte(u>>8), byte(u))
		}
		return string(out)
	}
	cn, o := asn1.ObjectIdentifier{2, 5, 4, 3}, asn1.ObjectIdentifier{2, 5, 4, 10}
	part := func(id asn1.ObjectIdentifier, v any) pkix.RelativeDistinguishedNameSET {
		return pkix.RelativeDistinguishedNameSET{{Type: id, Value: v}}
	}
	many := func(n int) (out pkix.RDNSequence) {
		for range n - 1 {
			out = append(out, part(o, "a"))
		}
		return append(out, part(cn, name))
	}
	for what, subject := range map[string]any{
		"UTF8String":           pkix.RDNSequence{part(o, "system:nodes"), part(cn, text(asn1.TagUTF8String, name))},
		"PrintableString":      pkix.RDNSequence{part(cn, text(asn1.TagPrintableString, name))},
		"IA5String":            pkix.RDNSequence{part(cn, text(asn1.TagIA5String, name))},
		"T61String":            pkix.RDNSequence{part(cn, text(asn1.TagT61String, name))},
		"BMPString":            pkix.RDNSequence{part(cn, text(asn1.TagBMPString, wide(name)))},
		"OCTET STRING":         pkix.RDNSequence{part(cn, []byte(name))},
		"its name in O":        pkix.RDNSequence{part(o, name), part(cn, "another")},
		"the last one counts":  pkix.RDNSequence{part(cn, "another"), part(cn, name)},
		"not the first one":    pkix.RDNSequence{part(cn, name), part(cn, "another")},
		"two in a set":         pkix.RDNSequence{{{Type: cn, Value: "another"}, {Type: cn, Value: name}}},
		"an empty set":         pkix.RDNSequence{{}, part(cn, name)},
		"a longer name":        pkix.RDNSequence{part(cn, name+"0")},
		"none":                 pkix.RDNSequence{},
		"no name at all":       []int{1, 2},
		"as many as are read":  many(maxParts),
		"more than are read":   many(maxParts + 1),
		"another":              pkix.RDNSequence{part(cn, "another")},
		"a number in its type": pkix.RDNSequence{part(cn, 5), part(cn, name)},
	} {
		raw, err := asn1.Marshal(subject)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{RawSubject: raw, DNSNames: []string{name}}, key)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		whole, err := ParseX509Request(der)
		want := err == nil && whole.Subject.CommonName == name
		if got, ok := RequestCommonName(der, name); (ok && got == name) != want {
			t.Errorf("%s: %q, %t; the whole request: %v", what, got, ok, err)
		}
		for i := range der { // cut anywhere, it is none
			if got, ok := RequestCommonName(der[:i], name); ok {
				t.Fatalf("%s: of %d bytes: %q", what, i, got)
			}
		}
	}
	if _, ok := RequestCommonName(nil, name); ok {
		t.Error("of nothing")
	}
}
