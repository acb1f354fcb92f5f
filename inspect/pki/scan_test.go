package pki

import (
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// world holds the certificates that the tests of this package put into values.
type world struct {
	root    *pkitest.Authority
	other   *pkitest.Authority
	server  pkitest.Pair
	request []byte
	reqKey  []byte
}

func newWorld(t testing.TB) world {
	t.Helper()
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(10, 0, 0)
	var w world
	w.root = pkitest.NewCA("root", from, to)
	w.other = pkitest.NewCA("other", from, to)
	w.server = w.root.Issue("server", from, to, pkitest.DNS("api-int.example.com"), pkitest.IPs("10.0.0.1"))
	w.request, w.reqKey = pkitest.Request("system:node:worker-1")
	return w
}

// lines describes results for comparison: one line for each thing found.
func lines(found []Found) []string {
	names := map[Fingerprint]string{}
	for _, f := range found {
		for _, c := range f.Content.Certs {
			names[c.SPKI] = c.Subject
		}
	}
	var out []string
	for _, f := range found {
		field := ""
		if f.Field != "" {
			field = f.Field + ": "
		}
		for _, c := range f.Content.Certs {
			out = append(out, field+"cert "+c.Subject)
		}
		for _, r := range f.Content.Requests {
			out = append(out, field+"request "+r.Subject)
		}
		for _, k := range f.Content.Keys {
			line := field + "key " + k.Algorithm
			if k.Encrypted {
				line += " encrypted"
			}
			if name := names[k.SPKI]; name != "" {
				line += " of " + name
			}
			out = append(out, line)
		}
		for _, l := range f.Content.CRLs {
			out = append(out, fmt.Sprintf("%scrl of %s, %d revoked", field, l.Issuer, l.Revoked))
		}
		for _, l := range f.Content.Locked {
			out = append(out, field+"locked "+l.Format+": "+l.Reason+markedOnceRead(l.Reason))
		}
		for _, b := range f.Content.Bad {
			out = append(out, fmt.Sprintf("%sbad %d %s: %s", field, b.Index, b.Type, b.Reason)+markedOnceRead(b.Reason))
		}
	}
	return out
}

// markedOnceRead is of a reason that stands between quotation marks once it is read from a snapshot, though it is all a
// scan's own.
func markedOnceRead(reason string) string {
	if Says(reason) || strings.Contains(reason, "“") {
		return ""
	}
	return " (marked once it is read)"
}

func b64(data []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(data)) }

func wrap(data []byte, width int) []byte {
	var out []byte
	for len(data) > width {
		out = append(append(out, data[:width]...), '\n')
		data = data[width:]
	}
	return append(append(out, data...), '\n')
}

func zip(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func indent(data []byte, by string) []byte {
	return []byte(by + strings.ReplaceAll(strings.TrimSuffix(string(data), "\n"), "\n", "\n"+by) + "\n")
}

func quoted(t testing.TB, data []byte) []byte {
	t.Helper()
	out, err := json.Marshal(string(data))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// escaped writes each byte in a form such as \u%04x.
func escaped(form string, text []byte) string {
	var b strings.Builder
	for _, c := range text {
		fmt.Fprintf(&b, form, c)
	}
	return b.String()
}

func join(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			out = append(out, p...)
		case []byte:
			out = append(out, p...)
		}
	}
	return out
}

func TestScanPEM(t *testing.T) {
	w := newWorld(t)
	root, other, server := w.root.CertPEM, w.other.CertPEM, w.server.CertPEM
	noNewline := bytes.TrimSuffix(root, []byte("\n"))
	relabel := func(block []byte, from, to string) []byte {
		return bytes.ReplaceAll(block, []byte(from), []byte(to))
	}
	trusted := pem.EncodeToMemory(&pem.Block{
		Type: "TRUSTED CERTIFICATE", Bytes: join(w.root.Cert.Raw, "\x30\x08\x30\x06\x06\x04\x55\x1d\x25\x00"),
	})
	tests := []struct {
		name string
		in   []byte
		want []string
	}{
		{"nothing in nothing", nil, nil},
		{"nothing in text", []byte("no certificate here, only words and more words to make it long"), nil},
		{"a certificate", root, []string{"cert CN=root"}},
		{"a bundle keeps its order and its duplicates", join(root, other, root), []string{"cert CN=root", "cert CN=other", "cert CN=root"}},
		{"a certificate and its key match", join(server, w.server.KeyPEM), []string{"cert CN=server", "key ECDSA of CN=server"}},
		{"a request", w.request, []string{"request CN=system:node:worker-1"}},
		{"an old label for a request", relabel(w.request, "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"), []string{"request CN=system:node:worker-1"}},
		{"an old label for a certificate", relabel(root, "CERTIFICATE", "X509 CERTIFICATE"), []string{"cert CN=root"}},
		{"OpenSSL's trusted certificate with its settings behind", trusted, []string{"cert CN=root"}},
		{"other kinds of block are ignored", join(
			pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: w.root.Cert.RawSubjectPublicKeyInfo}),
			pem.EncodeToMemory(&pem.Block{Type: "DH PARAMETERS", Bytes: []byte("dh")}), root,
		), []string{"cert CN=root"}},
		{"comments between blocks", join("# root\n", root, "\nother: the second\n", other), []string{"cert CN=root", "cert CN=other"}},
		{"no newline at the end", noNewline, []string{"cert CN=root"}},
		{"CRLF", relabel(root, "\n", "\r\n"), []string{"cert CN=root"}},
		{"trailing spaces", relabel(root, "\n", "  \n"), []string{"cert CN=root"}},
		{"an indented body", relabel(root, "\nM", "\n    M"), []string{"cert CN=root"}},
		{"everything indented", indent(root, "   "), []string{
			"cert CN=root",
			"bad 0 CERTIFICATE: standard readers (Go, OpenSSL) skip this certificate: its BEGIN line does not start a line",
		}},
		{"indented inside a script is fine", join("cat <<EOF\n", indent(root, "  "), "EOF\n"), []string{"cert CN=root"}},
		{"two blocks run together", join(noNewline, other), []string{
			"cert CN=root", "cert CN=other",
			"bad 0 CERTIFICATE: standard readers (Go, OpenSSL) skip this certificate: the block after it follows without a newline",
			"bad 1 CERTIFICATE: standard readers (Go, OpenSSL) skip this certificate: it follows the block before it without a newline",
		}},
		{"escaped once", quoted(t, root), []string{
			"cert CN=root",
			"bad 0 CERTIFICATE: standard readers (Go, OpenSSL) skip this certificate: its BEGIN line does not start a line",
		}},
		{"escaped three times in other text", join("log ", quoted(t, quoted(t, quoted(t, root)))), []string{"cert CN=root"}},
		{"a slash escaped, as PHP does", join("x = ", relabel(relabel(root, "/", `\/`), "\n", `\n`)), []string{"cert CN=root"}},
		{"a plus escaped, as .NET does", join("x = ", relabel(relabel(root, "+", `\u002B`), "\n", `\n`)), []string{"cert CN=root"}},
		{"every character escaped, in JSON", join(`{"a":"`, escaped(`\u%04x`, root), `"}`), []string{"a: cert CN=root"}},
		{"every character escaped, in JSON in JSON", join(`{"b":`, quoted(t, join(`{"a":"`, escaped(`\u%04X`, root), `"}`)), `}`), []string{"b#a: cert CN=root"}},
		{"every character escaped, in YAML", join("a:\n- \"", escaped(`\x%02x`, root), "\"\n"), []string{"a[0]: cert CN=root"}},
		{"the base64 of PEM, every character escaped", join(`["`, escaped(`\u%04x`, []byte(base64.StdEncoding.EncodeToString(root))), `"]`), []string{"[0]: cert CN=root"}},
		{"percent-encoded", []byte("data:," + url.PathEscape(string(root))), []string{"cert CN=root"}},
		{"form-encoded", []byte("cert=" + url.QueryEscape(string(root)) + "&x=y"), []string{"cert CN=root"}},
		{"percent-encoded twice", []byte("cert=" + url.PathEscape(url.PathEscape(string(root)))), []string{"cert CN=root"}},
		{"commented out", join("a comment\n", indent(root, "# ")), []string{"cert CN=root"}},
		{"OpenSSL's text in front", join("Certificate:\n    Data:\n        Version: 3 (0x2)\n        Serial Number:\n            04:d2\n", root, "subject=CN = x\n", other), []string{"cert CN=root", "cert CN=other"}},
		{"a header line in front of glued blocks", join("Issuer: CN=root\n", noNewline, other), []string{
			"cert CN=root", "cert CN=other",
			"bad 1 CERTIFICATE: standard readers (Go, OpenSSL) skip this certificate: it follows the block before it without a newline",
		}},
		{"a comment in front of an indented block", join("# root\n", indent(root, " ")), []string{
			"cert CN=root",
			"bad 0 CERTIFICATE: standard readers (Go, OpenSSL) skip this certificate: its BEGIN line does not start a line",
		}},
		{"a command that speaks of PEM", []byte(`awk '/-----BEGIN CERTIFICATE-----/,/-----END CERTIFICATE-----/' | grep -c "-----BEGIN CERTIFICATE-----"`), nil},
		{"a regular expression", []byte(`-----BEGIN [A-Z ]+-----`), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lines(NewScanner().Scan(tt.in))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestScanBadPEM(t *testing.T) {
	w := newWorld(t)
	root := string(w.root.CertPEM)
	block := func(kind, body string) []byte {
		return []byte("-----BEGIN " + kind + "-----\n" + body + "\n-----END " + kind + "-----\n")
	}
	der := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	keyDER, _ := pem.Decode(w.server.KeyPEM)
	broken := bytes.Replace(w.root.Cert.Raw, []byte("\x17\x0d24"), []byte("\x17\x0dXX"), 1)
	tests := []struct {
		name string
		in   []byte
		want []string
	}{
		{"cut off in the middle", []byte(root[:len(root)/2]), []string{"bad 0 CERTIFICATE: cut off: it has no END line"}},
		{"cut off before the END line", []byte(root[:strings.Index(root, "-----END")]), []string{
			"cert CN=root", "bad 0 CERTIFICATE: standard readers (Go, OpenSSL) skip this certificate: it has no END line",
		}},
		{"cut off, then another block", join(root[:len(root)/2], "\n", root), []string{
			"cert CN=root", "bad 0 CERTIFICATE: cut off: it has no END line",
		}},
		{"a good one between bad ones", join(block("CERTIFICATE", "AAAA"), root, block("CERTIFICATE", "!!")), []string{
			"cert CN=root",
			"bad 0 CERTIFICATE: not DER: it holds no certificate",
			`bad 2 CERTIFICATE: not base64: unexpected '!'`,
		}},
		{"an empty block", block("CERTIFICATE", ""), []string{"bad 0 CERTIFICATE: empty: it holds no certificate data"}},
		{"a placeholder in angle brackets", block("CERTIFICATE", "<your certificate here>"), []string{"bad 0 CERTIFICATE: a placeholder: it holds no certificate data"}},
		{"a placeholder of dots", block("CERTIFICATE", "..."), []string{"bad 0 CERTIFICATE: a placeholder: it holds no certificate data"}},
		{"a template", block("CERTIFICATE", "{{ .Values.ca }}"), []string{"bad 0 CERTIFICATE: a placeholder: it holds no certificate data"}},
		{"a key in the place of a certificate", der("CERTIFICATE", keyDER.Bytes), []string{"bad 0 CERTIFICATE: it holds a private key, not a certificate"}},
		{"a request in the place of a certificate", bytes.ReplaceAll(w.request, []byte(" REQUEST"), nil), []string{"bad 0 CERTIFICATE: it holds a certificate request, not a certificate"}},
		{"a certificate in the place of a key", der("RSA PRIVATE KEY", w.root.Cert.Raw), []string{"bad 0 RSA PRIVATE KEY: it holds a certificate, not a private key"}},
		{"a certificate in the place of a request", der("CERTIFICATE REQUEST", w.root.Cert.Raw), []string{"bad 0 CERTIFICATE REQUEST: it holds a certificate, not a certificate request"}},
		{"a public key in the place of a certificate", der("CERTIFICATE", w.root.Cert.RawSubjectPublicKeyInfo), []string{"bad 0 CERTIFICATE: it holds a public key, not a certificate"}},
		{"a PKCS#7 message in the place of a certificate", der("CERTIFICATE", pkcs7()), []string{"bad 0 CERTIFICATE: it holds a PKCS#7 message, not a certificate"}},
		{"a keystore in the place of a certificate", der("CERTIFICATE", pkcs12()), []string{"bad 0 CERTIFICATE: it holds a PKCS#12 keystore, not a certificate"}},
		{"a revocation list in the place of a certificate", der("CERTIFICATE", crl(t, w)), []string{"bad 0 CERTIFICATE: it holds a revocation list, not a certificate"}},
		{"other DER in the place of a certificate", der("CERTIFICATE", []byte("\x30\x03\x01\x01\xff")), []string{"bad 0 CERTIFICATE: it holds DER, but no certificate"}},
		{"a request cut off", der("CERTIFICATE REQUEST", w.root.Cert.Raw[:50]), []string{"bad 0 CERTIFICATE REQUEST: cut off: the DER is longer than the block"}},
		{"DER cut off", der("CERTIFICATE", w.root.Cert.Raw[:200]), []string{"bad 0 CERTIFICATE: cut off: the DER is longer than the block"}},
		{"bytes behind the DER", der("CERTIFICATE", join(w.root.Cert.Raw, "x")), []string{"bad 0 CERTIFICATE: certificate can't be parsed: “x509: trailing data”"}},
		{"a certificate with a broken date", der("CERTIFICATE", broken), []string{"bad 0 CERTIFICATE: certificate can't be parsed: “x509: malformed UTCTime”"}},
		{"a key that is cut off", []byte(string(w.server.KeyPEM)[:100]), []string{"bad 0 EC PRIVATE KEY: cut off: it has no END line"}},
		{"a key that is not base64", block("RSA PRIVATE KEY", "MII!"), []string{"bad 0 RSA PRIVATE KEY: not base64"}},
		{"a key that is no key", block("RSA PRIVATE KEY", "AAAA"), []string{"key RSA PRIVATE KEY", "bad 0 RSA PRIVATE KEY: not the DER of a private key"}},
		{"labels that differ", []byte(strings.Replace(root, "END CERTIFICATE", "END X509 CERTIFICATE", 1)), []string{
			"cert CN=root",
			"bad 0 CERTIFICATE: standard readers (Go, OpenSSL) skip this certificate: its END line does not match its BEGIN line",
		}},
		{"dashes missing at the end", []byte(strings.TrimRight(root, "-\n") + "---\n"), []string{
			"cert CN=root",
			"bad 0 CERTIFICATE: standard readers (Go, OpenSSL) skip this certificate: its END line does not match its BEGIN line",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found := NewScanner().Scan(tt.in)
			if diff := cmp.Diff(tt.want, lines(found)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestScanEncodings(t *testing.T) {
	w := newWorld(t)
	root := w.root.CertPEM
	bundle := join(root, w.other.CertPEM)
	der := w.root.Cert.Raw
	reqDER, _ := pem.Decode(w.request)
	keyDER, _ := pem.Decode(w.server.KeyPEM)
	kubeconfig := join("apiVersion: v1\nclusters:\n- name: c\n  cluster:\n    certificate-authority-data: ", b64(root), "\n")
	const ca = "clusters[0].cluster.certificate-authority-data: cert CN=root"
	one, two := []string{"cert CN=root"}, []string{"cert CN=root", "cert CN=other"}
	tests := []struct {
		name string
		in   []byte
		want []string
	}{
		{"DER", der, one},
		{"DER, one after another", join(der, w.other.Cert.Raw), two},
		{"DER of a request", reqDER.Bytes, []string{"request CN=system:node:worker-1"}},
		{"DER of a key", join(w.server.Cert.Raw, keyDER.Bytes), []string{"cert CN=server", "key ECDSA of CN=server"}},
		{"DER, then PEM", join(der, "\n", w.other.CertPEM), two},
		{"DER, broken", bytes.Replace(der, []byte("\x17\x0d24"), []byte("\x17\x0dXX"), 1), []string{"bad 0 CERTIFICATE: certificate can't be parsed: “x509: malformed UTCTime”"}},
		{"base64 of PEM", b64(bundle), two},
		{"base64 of PEM, wrapped", wrap(b64(bundle), 76), two},
		{"base64 of PEM, wrapped short", wrap(b64(bundle), 20), two},
		{"base64 of DER", b64(der), one},
		{"URL base64 of DER", []byte(base64.RawURLEncoding.EncodeToString(der)), one},
		{"base64 of base64 of PEM", b64(b64(bundle)), two},
		{"base64 of base64 of base64 of DER", b64(b64(b64(der))), one},
		{"base64 in a script", join("#!/bin/sh\necho ", b64(bundle), " | base64 -d > /etc/ca.pem\n"), two},
		{"base64 in a script, behind other bytes", join("#!/bin/sh\nx=abcd/", b64(bundle), "\n"), two},
		{"wrapped base64 in a script", join("base64 -d <<EOF\n", wrap(b64(bundle), 76), "EOF\n"), two},
		{"base64 of DER in a script", join("echo '", b64(der), "' | base64 -d\n"), one},
		{"PEM after a comment, in base64, in a script", join("echo ", b64(join("# Ä!\n", root)), "\n"), one},
		{"gzip", zip(t, bundle), two},
		{"base64 of gzip in a script", join("echo ", b64(zip(t, bundle)), " | base64 -d | gunzip\n"), two},
		{"a kubeconfig in base64 in a script", join("echo ", b64(kubeconfig), "\n"), []string{ca}},
		{"a kubeconfig in a data URL", join("data:text/plain;charset=utf-8;base64,", b64(kubeconfig)), []string{ca}},
		{"a percent-encoded kubeconfig in a data URL", []byte("data:," + url.PathEscape(string(kubeconfig))), []string{ca}},
		{"what starts like a Java keystore", join("\xfe\xed\xfe\xed\x00\x00\x00\x02", strings.Repeat("x", 50)), []string{"bad 0 JKS: keystore is cut off or damaged"}},
		{"what starts like a PKCS#12 keystore", pkcs12(), []string{"bad 0 PKCS#12: keystore is cut off or damaged"}},
		{"what starts like a PKCS#7 message", pkcs7(), []string{"bad 0 PKCS7: the PKCS#7 message is malformed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lines(NewScanner().Scan(tt.in))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// pkcs12 returns the frame of a PKCS#12 file.
func pkcs12() []byte {
	data := "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01\xa0\x81\x80" + strings.Repeat("\x04\x0e01234567890123", 8)
	return tlv(0x30, "\x02\x01\x03"+string(tlv(0x30, data)))
}

// pkcs7 returns the frame of a PKCS#7 message.
func pkcs7() []byte {
	return tlv(0x30, "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02\xa0\x81\x80"+strings.Repeat("\x04\x0e01234567890123", 8))
}

// crl returns an empty revocation list.
func crl(t *testing.T, w world) []byte {
	t.Helper()
	issuer := *w.root.Cert
	issuer.KeyUsage |= x509.KeyUsageCRLSign
	der, err := x509.CreateRevocationList(nil, &x509.RevocationList{
		Number: big.NewInt(1), ThisUpdate: w.root.Cert.NotBefore, NextUpdate: w.root.Cert.NotAfter,
	}, &issuer, w.root.Key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// tlv encodes DER with a one- or two-byte length.
func tlv(tag byte, body string) []byte {
	head := []byte{tag, byte(len(body))}
	if len(body) > 255 {
		head = []byte{tag, 0x82, byte(len(body) >> 8), byte(len(body))}
	} else if len(body) > 127 {
		head = []byte{tag, 0x81, byte(len(body))}
	}
	return append(head, body...)
}
