package collect

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// indented is a text below a key of a ConfigMap.
func indented(text string) string {
	return strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}

// wrapped is base64 in lines of 64.
func wrapped(text string) string {
	if len(text) <= 64 {
		return text
	}
	return text[:64] + "\n    " + wrapped(text[64:])
}

// encodings are ways in which a value of a ConfigMap or Secret may hold a certificate: what follows its
// key, or where it begins so, data or binaryData as a whole.
func encodings(t *testing.T) map[string]func(cert string) string {
	t.Helper()
	utf16le := func(text string) string {
		var out bytes.Buffer
		_ = binary.Write(&out, binary.LittleEndian, append([]uint16{0xfeff}, utf16.Encode([]rune(text))...)) // never fails
		return out.String()
	}
	escapes := func(text, as string) string {
		var out strings.Builder
		for _, c := range text {
			fmt.Fprintf(&out, as, c)
		}
		return out.String()
	}
	crlf := func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }
	kubeconfig := func(c string) string {
		return "apiVersion: v1\nkind: Config\nclusters:\n- name: a\n  cluster:\n    server: https://api-int.x:6443\n    certificate-authority-data: " + b64(c) + "\n"
	}
	quoted := func(text string) string {
		out, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	folded := func(text string) string { // a long line in quotes, as yaml.v2 breaks it
		return strings.ReplaceAll(quoted(text), `\n`, "\\n\\\n    ") + "\n"
	}
	return map[string]func(string) string{
		"literal":                   func(c string) string { return "|\n    " + indented(c) },
		"literal, no end":           func(c string) string { return "|-\n    " + indented(c) },
		"literal, all ends":         func(c string) string { return "|+\n    " + indented(c) + "\n\n" },
		"literal among text":        func(c string) string { return "|\n    " + indented("# the CA: of <a> & \"b\"\n\n"+c+"\n end\n") },
		"folded":                    func(c string) string { return ">\n    " + indented(strings.ReplaceAll(c, "\n", "\n\n")) },
		"double quotes":             func(c string) string { return quoted(c) + "\n" },
		"double quotes over lines":  folded,
		"CR and LF":                 func(c string) string { return quoted(crlf(c)) + "\n" },
		"escapes of four digits":    func(c string) string { return `"` + escapes(c, `\u%04x`) + "\"\n" },
		"escapes of two digits":     func(c string) string { return `"` + escapes(c, `\x%02x`) + "\"\n" },
		"base64":                    func(c string) string { return b64(c) + "\n" },
		"base64, in quotes":         func(c string) string { return "'" + b64(c) + "'\n" },
		"base64 twice":              func(c string) string { return b64(b64(c)) + "\n" },
		"base64 over plain lines":   func(c string) string { return wrapped(b64(c)) + "\n" },
		"base64 over literal lines": func(c string) string { return "|\n    " + wrapped(b64(c)) + "\n" },
		"JSON in a literal":         func(c string) string { return "|\n    {\"a\": {\"ca\": " + quoted(c) + "}}\n" },
		"JSON in JSON":              func(c string) string { return quoted("{\"a\": "+quoted("{\"b\": "+quoted(c)+"}")+"}") + "\n" },
		"YAML in a literal":         func(c string) string { return "|\n    " + indented("a:\n  b: |\n    "+indented(c)) },
		"kubeconfig":                func(c string) string { return "|\n    " + indented(kubeconfig(c)) },
		"data URL":                  func(c string) string { return "data:text/plain;charset=utf-8;base64," + b64(c) + "\n" },
		"percent":                   func(c string) string { return "\"data:," + escapes(c, "%%%02X") + "\"\n" },
		"flow":                      func(c string) string { return "data: {a: " + quoted(c) + "}\n" },
		"flow over lines":           func(c string) string { return "data: {\n  a: " + b64(c) + ",\n  b: c}\n" },
		"an alias":                  func(c string) string { return "data:\n  a: &x " + quoted(c) + "\n  b: *x\n" },
		"gzip":                      func(c string) string { return "binaryData:\n  a: " + b64(string(gzipped(t, []byte(c)))) + "\n" },
		"gzip, base64 twice":        func(c string) string { return b64(string(gzipped(t, []byte(c)))) + "\n" },
		"UTF-16":                    func(c string) string { return "binaryData:\n  a: " + b64(utf16le(c)) + "\n" },
		"DER": func(c string) string {
			block, _ := pem.Decode([]byte(c))
			return "binaryData:\n  a: " + b64(string(block.Bytes)) + "\n"
		},
		"a Secret": func(c string) string {
			return "kind: Secret\ntype: kubernetes.io/tls\ndata:\n  tls.crt: " + b64(c) + "\n  tls.key: MTcwNCBieXRlcyBsb25n\n"
		},
	}
}

// TestEveryEncoding: a certificate is found, however it is written; and a file is read by the short way as by the
// parser of all of YAML, which a comment in it makes necessary.
func TestEveryEncoding(t *testing.T) {
	t.Parallel()
	var files, commented, lists []string
	want := map[string][32]byte{}
	items := "apiVersion: v1\nitems:\n"
	for name, write := range encodings(t) {
		object := strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), ",", "")
		cert := string(pkitest.NewCA(name, time.Unix(1.7e9, 0), time.Unix(1.8e9, 0)).CertPEM)
		block, _ := pem.Decode([]byte(cert))
		want[name] = sha256.Sum256(block.Bytes)
		value := write(cert)
		switch {
		case strings.HasPrefix(value, "data:") && !strings.HasPrefix(value, "data:text"), strings.HasPrefix(value, "binaryData:"):
			value = "kind: ConfigMap\n" + value
		case !strings.HasPrefix(value, "kind:"):
			value = "kind: ConfigMap\ndata:\n  a: " + value
		}
		value += "metadata:\n  name: " + strings.ToLower(object) + "\n  namespace: a\n"
		path := "mg/image/namespaces/a/core/configmaps/" + object + ".yaml"
		files = append(files, path, "apiVersion: v1\n"+value)
		commented = append(commented, path, "apiVersion: v1 # as a comment\n"+value)
		items += "- " + strings.ReplaceAll(strings.TrimSuffix(value, "\n"), "\n", "\n  ") + "\n"
	}
	lists = append(lists, "mg/image/namespaces/a/core/configmaps.yaml", items+"kind: List\n")
	short, long := readTarOf(t, files...), readTarOf(t, commented...)
	if a, b := inJSON(t, short), inJSON(t, long); a != b {
		t.Errorf("read otherwise:\n%s\n%s", a, b)
	}
	list, commentedList := readTarOf(t, lists...), readTarOf(t, lists[0], "# a comment\n"+lists[1])
	if a, b := inJSON(t, list), inJSON(t, commentedList); a != b {
		t.Errorf("a list is read otherwise:\n%s\n%s", a, b)
	}
	for name, s := range map[string]inspect.Snapshot{"files": short, "a list": list} {
		found := map[[32]byte]bool{}
		for _, b := range s.Bundles {
			for _, c := range b.Content.Certs {
				found[c.Fingerprint] = true
			}
		}
		for encoding, sum := range want {
			if found[sum] != (encoding != "UTF-16") { // in which programs read no certificates
				t.Errorf("%s: %s: found: %v", name, encoding, found[sum])
			}
		}
	}
}

func inJSON(t *testing.T, s inspect.Snapshot) string {
	t.Helper()
	out, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
