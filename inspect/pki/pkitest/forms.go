package pkitest

import (
	"bytes"
	"strings"
)

// Form is one way to write a certificate in PEM, and which readers load it.
type Form struct {
	Name string
	// Go and OpenSSL say what crypto/x509's AppendCertsFromPEM and OpenSSL 3's
	// X509_load_cert_crl_file load.
	Go, OpenSSL bool
	Text        []byte
}

// Forms returns a certificate, as encoding/pem writes it, in forms that people and
// programs write: those that readers differ on, and those that only look odd.
func Forms(certPEM []byte) []Form {
	text := string(certPEM)
	each := func(before, after string) string {
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		return before + strings.Join(lines, after+"\n"+before) + after + "\n"
	}
	header := func(h string) string {
		return strings.Replace(text, "-----\n", "-----\n"+h, 1)
	}
	forms := []struct {
		name        string
		inGo, byTLS bool
		text        string
	}{
		{"plain", true, true, text},
		{"without a newline at the end", true, true, strings.TrimSuffix(text, "\n")},
		{"with lines of Windows", true, true, strings.ReplaceAll(text, "\n", "\r\n")},
		{"behind a comment", true, true, "# the CA\n" + text},
		{"with spaces at the end of its lines", true, true, each("", "  ")},
		{"indented", false, false, each("  ", "")},
		{"quoted", false, false, `"` + strings.TrimSuffix(text, "\n") + "\"\n"},
		{"behind a byte order mark", false, true, "\ufeff" + text},
		{"labelled TRUSTED CERTIFICATE", false, true, strings.ReplaceAll(text, "CERTIFICATE", "TRUSTED CERTIFICATE")},
		{"labelled X509 CERTIFICATE", false, true, strings.ReplaceAll(text, "CERTIFICATE", "X509 CERTIFICATE")},
		{"with PEM headers", false, false, header("Friendly-Name: ca\n\n")},
		{"with PEM headers and no empty line", false, false, header("Friendly-Name: ca\n")},
		{"with newlines written as \\n", false, false, strings.ReplaceAll(text, "\n", `\n`)},
		{"with another END line", false, false, strings.Replace(text, "END CERT", "END X509 CERT", 1)},
	}
	out := make([]Form, 0, len(forms))
	for _, f := range forms {
		out = append(out, Form{f.name, f.inGo, f.byTLS, bytes.Clone([]byte(f.text))})
	}
	return out
}
