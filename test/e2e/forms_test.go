package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/url"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// mint makes one more certificate with a key of its own, for the value that is
// being written.
type mint func(opts ...pkitest.Option) pkitest.Pair

// form is a way in which people and programs keep certificates in a value.
type form struct {
	name  string // of the object, too
	key   string // in a Secret or ConfigMap
	write func(mint) []byte
}

// forms are all of them; keys are as odd as the API allows.
func forms() []form {
	return []form{
		{"pem", "tls.crt", func(m mint) []byte { return m().CertPEM }},
		{"pem-without-newline", "certificate", func(m mint) []byte { return bytes.TrimSpace(m().CertPEM) }},
		{"pem-with-crlf", "data", func(m mint) []byte { return bytes.ReplaceAll(m().CertPEM, []byte("\n"), []byte("\r\n")) }},
		{"pem-of-several-kinds", "all.in-one", severalKinds},
		{"pem-blocks-run-together", "-", func(m mint) []byte { return append(bytes.TrimSpace(m().CertPEM), m().CertPEM...) }},
		{"pem-after-openssl-text", ".a", func(m mint) []byte {
			return fmt.Appendf(nil, "Certificate:\n    Data:\n        Version: 3 (0x2)\nsubject=CN = a\n%sissuer=CN = b\n%s---\nServer Temp Key: X25519\n", m().CertPEM, m().CertPEM)
		}},
		{"pem-in-an-env-file", "CA_BUNDLE", func(m mint) []byte { return fmt.Appendf(nil, "A=1\nCA=\"%s\"\nB=2\n", m().CertPEM) }},
		{"trusted-certificate", "0", func(m mint) []byte {
			return pem.EncodeToMemory(&pem.Block{Type: "TRUSTED CERTIFICATE", Bytes: append(bytes.Clone(m().Cert.Raw), 0x30, 0)})
		}},
		{"der", "der", func(m mint) []byte { return m().Cert.Raw }},
		{"der-of-two", "two.cer", func(m mint) []byte { return append(bytes.Clone(m().Cert.Raw), m().Cert.Raw...) }},
		{"der-in-base64", "x.509", func(m mint) []byte { return encoded(m().Cert.Raw) }},
		{"der-in-url-base64", "x5c", func(m mint) []byte { return []byte(base64.RawURLEncoding.EncodeToString(m().Cert.Raw)) }},
		{"pem-in-base64", "b64", func(m mint) []byte { p := m(); return encoded(append(p.CertPEM, p.KeyPEM...)) }},
		{"pem-in-wrapped-base64", "__", func(m mint) []byte { p := m(); return wrapped(append(p.CertPEM, p.KeyPEM...), "") }},
		{"pem-in-base64-in-base64", "b64.b64", func(m mint) []byte { p := m(); return encoded(encoded(append(p.CertPEM, p.KeyPEM...))) }},
		{"pem-in-gzip", "ca.pem.gz", func(m mint) []byte { return zipped(m().CertPEM) }},
		{"base64-in-gzip-in-base64", "release", func(m mint) []byte { p := m(); return encoded(zipped(encoded(append(p.CertPEM, p.KeyPEM...)))) }},
		{"kubeconfig", "kubeconfig", func(m mint) []byte { return kubeconfigWith(m(), m(), "") }},
		{"json-document", "config.json", func(m mint) []byte {
			p := m()
			return asJSON(map[string]any{"tls": map[string]any{"cert": string(p.CertPEM), "key": string(p.KeyPEM)}, "ca": []any{"x", string(m().CertPEM)}})
		}},
		{"json-in-json", "payload", func(m mint) []byte {
			p := m()
			inner := asJSON(map[string]any{"key": string(p.KeyPEM), "cert": string(p.CertPEM)})
			return asJSON(map[string]any{"message": string(inner), "n": 1})
		}},
		{"yaml-document", "config.yaml", func(m mint) []byte {
			p := m()
			return fmt.Appendf(nil, "# a comment\nserving:\n  key: |\n%s  cert: |\n%s  other: [1, 2]\nquoted: %q\n",
				indented(p.KeyPEM, "    "), indented(p.CertPEM, "    "), m().CertPEM)
		}},
		{"yaml-stream-of-manifests", "manifests", func(m mint) []byte {
			p := m()
			return fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  ca.crt: |\n%s---\napiVersion: v1\nkind: Secret\nmetadata: {name: b}\ndata:\n  tls.crt: %s\n  tls.key: %s\n",
				indented(m().CertPEM, "    "), encoded(p.CertPEM), encoded(p.KeyPEM))
		}},
		{"yaml-with-wrapped-base64", "values.yaml", func(m mint) []byte {
			return fmt.Appendf(nil, "ca: |\n%s\nz: 1\n", wrapped(m().CertPEM, "  "))
		}},
		{"ignition", "userData", func(m mint) []byte {
			p := m()
			file := func(path, source string) map[string]any {
				return map[string]any{"path": path, "contents": map[string]any{"source": source}}
			}
			return asJSON(map[string]any{"ignition": map[string]any{"version": "3.2.0"}, "storage": map[string]any{"files": []any{
				file("/etc/ca.crt", "data:text/plain;charset=utf-8;base64,"+string(encoded(p.CertPEM))),
				file("/etc/tls.key", "data:;base64,"+string(encoded(p.KeyPEM))),
				file("/etc/other.crt", "data:,"+url.PathEscape(string(m().CertPEM))),
			}}})
		}},
		{"text-around-it", "notes.txt", func(m mint) []byte {
			return fmt.Appendf(nil, "Dear admin,\n\nthis is the CA:\n\n%s\n\nIts predecessor, quoted:\n\n%s\nRegards\n", m().CertPEM, indented(m().CertPEM, "> "))
		}},
	}
}

// severalKinds is one value with everything that may stand in a PEM file.
func severalKinds(m mint) []byte {
	p := m()
	request, _ := pkitest.Request("no certificate", pkitest.KeyName("of the request in a bundle"))
	return pkitest.Bundle(
		[]byte("# generated, do not edit\n"),
		pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7}}),
		p.KeyPEM, p.CertPEM, request, m().CertPEM,
		pem.EncodeToMemory(&pem.Block{Type: "DH PARAMETERS", Bytes: bytes.Repeat([]byte{1}, 200)}),
		m().CertPEM,
	)
}

func encoded(data []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(data)) }

// wrapped is base64 in lines, as of base64(1).
func wrapped(data []byte, indent string) []byte {
	text := base64.StdEncoding.EncodeToString(data)
	var lines []string
	for len(text) > 76 {
		lines = append(lines, indent+text[:76])
		text = text[76:]
	}
	return []byte(strings.Join(append(lines, indent+text), "\n") + "\n")
}

func zipped(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(data) // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

func indented(text []byte, by string) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		out = append(append(out, by...), line...)
	}
	return out
}

func asJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// kubeconfigWith embeds a CA, a client certificate with its key, and a token.
func kubeconfigWith(ca, client pkitest.Pair, token string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: one
  cluster: {server: "https://one.example:6443", certificate-authority-data: %s}
users:
- name: me
  user:
    client-certificate-data: %s
    client-key-data: %s
    token: %s
contexts:
- name: one
  context: {cluster: one, user: me}
current-context: one
`, encoded(ca.CertPEM), encoded(client.CertPEM), encoded(client.KeyPEM), token)
}
