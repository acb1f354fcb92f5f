package pki

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScanDocuments(t *testing.T) {
	w := newWorld(t)
	root, other := w.root.CertPEM, w.other.CertPEM
	kubeconfig := join(`apiVersion: v1
kind: Config
current-context: admin
clusters:
- name: cluster
  cluster:
    server: https://api-int.example.com:6443
    certificate-authority-data: `, b64(join(root, other)), `
users:
- name: admin
  user:
    client-certificate-data: `, b64(w.server.CertPEM), `
    client-key-data: `, b64(w.server.KeyPEM), `
    token: sha256~abcdefghijklmnopqrstuvwxyzabcdefghijklmnopq
`)
	inKubeconfig := func(prefix string) []string {
		return []string{
			prefix + "clusters[0].cluster.certificate-authority-data: cert CN=root",
			prefix + "clusters[0].cluster.certificate-authority-data: cert CN=other",
			prefix + "users[0].user.client-certificate-data: cert CN=server",
			prefix + "users[0].user.client-key-data: key ECDSA of CN=server",
		}
	}
	block := indent(root, "    ")
	tests := []struct {
		name string
		in   []byte
		want []string
	}{
		{"a kubeconfig", kubeconfig, inKubeconfig("")},
		{"a kubeconfig with a byte order mark", join("\ufeff", kubeconfig), inKubeconfig("")},
		{"a kubeconfig encoded whole", b64(kubeconfig), inKubeconfig("")},
		{"a kubeconfig in an object", join(`{"data":{"kubeconfig":`, quoted(t, kubeconfig), `}}`), inKubeconfig("data.kubeconfig#")},
		{"a kubeconfig in a list of files", join(`{"files":[{"path":"/etc/x"},{"source":"data:,"},{"source":"data:;base64,`, b64(kubeconfig), `"}]}`), inKubeconfig("files[2].source#")},
		{"a zipped release in an object", join("data:\n  release: ", b64(b64(zip(t, join(`{"manifest":`, quoted(t, join("---\na: 1\n---\ndata:\n  ca.crt: |\n", block)), `}`)))), "\n"),
			[]string{`data.release#manifest#(2).data["ca.crt"]: cert CN=root`}},
		{"a block scalar", join("data:\n  ca.crt: |\n", block), []string{`data["ca.crt"]: cert CN=root`}},
		{"keys that need quotes", join("a.b:\n- - \"*.y\":\n      '': |\n", indent(root, "        ")), []string{`["a.b"][0][0]["*.y"][""]: cert CN=root`}},
		{"keys with spaces", join("a b:\n- - \"x\\ty\":\n      '': |\n", indent(root, "        ")), []string{`[key:0][0][0][key:0][""]: cert CN=root`}},
		{"a list of certificates", join("[", quoted(t, root), ",", quoted(t, other), "]"), []string{"[0]: cert CN=root", "[1]: cert CN=other"}},
		{"a stream of YAML documents", join("a: |\n", block, "---\nb: |\n", indent(other, " "), "---\n- |\n", block), []string{
			"a: cert CN=root", "(2).b: cert CN=other", "(3)[0]: cert CN=root",
		}},
		{"a stream of JSON documents", join(`{"a":`, quoted(t, root), "}\n", `{"a":[1,{"b":`, quoted(t, other), "}]}"), []string{
			"a: cert CN=root", "(2).a[1].b: cert CN=other",
		}},
		{"JSON with all kinds of values", join(`{"n":1,"l":[true,null,[],{}],"m":{"x":{},"y":`, quoted(t, root), `},"z":[[1,2],[3,`, quoted(t, other), `]]}`), []string{
			"m.y: cert CN=root", "z[1][1]: cert CN=other",
		}},
		{"a certificate in a YAML comment", join("# ", strings.ReplaceAll(string(root), "\n", "\n# "), "\na:\n  b: |\n", block, "c: |\n", indent(other, "  ")), []string{
			"a.b: cert CN=root", "c: cert CN=other",
		}},
		{"only in a YAML comment", join("a: b\n# ", strings.ReplaceAll(string(root), "\n", "\n# "), "\n"), []string{"cert CN=root"}},
		{"a certificate as a key", join(`{`, quoted(t, root), `:"some value that is long enough"}`), []string{"cert CN=root"}},
		{"YAML that breaks off keeps the documents before", join("a: |\n", block, "---\nb: [\n"), []string{"a: cert CN=root"}},
		{"YAML that is broken is read as text", join("a: [\n", block), []string{"cert CN=root"}},
		{"JSON that is broken is read as text", join(`{"a":`, quoted(t, root), `,}`), []string{"a: cert CN=root"}},
		{"JSON that is cut off is read as text", join(`{"a":`, quoted(t, root)), []string{"cert CN=root"}},
		{"an alias is read where it stands", join("a: &x |\n", block, "b: *x\nc: *x\n"), []string{"a: cert CN=root"}},
		{"a placeholder in a document", []byte("ca.crt: |\n  -----BEGIN CERTIFICATE-----\n  <paste here>\n  -----END CERTIFICATE-----\n"), []string{
			`["ca.crt"]: bad 0 CERTIFICATE: a placeholder: it holds no certificate data`,
		}},
		{"two blocks glued in a document", join(`{"ca":`, quoted(t, join(strings.TrimSpace(string(root)), other)), `}`), []string{
			"ca: cert CN=root", "ca: cert CN=other",
			"ca: bad 0 CERTIFICATE: standard readers (Go, OpenSSL) skip this certificate: the block after it follows without a newline",
			"ca: bad 1 CERTIFICATE: standard readers (Go, OpenSSL) skip this certificate: it follows the block before it without a newline",
		}},
		{"nested too deeply is read as text", join(strings.Repeat("[", 200), quoted(t, root), strings.Repeat("]", 200)), []string{"cert CN=root"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lines(NewScanner().Scan(tt.in))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestScanSaysWhenItStops(t *testing.T) {
	w := newWorld(t)
	in := w.root.CertPEM
	for range 8 {
		in = b64(in)
	}
	want := []string{"bad -1 value: values are nested too deeply: the innermost were not read"}
	if diff := cmp.Diff(want, lines(NewScanner().Scan(in))); diff != "" {
		t.Errorf("eight layers of base64 (-want +got):\n%s", diff)
	}
}

func TestScanShares(t *testing.T) {
	w := newWorld(t)
	s := NewScanner()
	a, b := s.Scan(w.root.CertPEM), s.Scan(w.root.CertPEM)
	if a[0].Content != b[0].Content {
		t.Error("the same value was read twice")
	}
	leaf := s.Scan(w.server.CertPEM)[0].Content.Certs[0]
	c := s.Scan(join("a: ", b64(join(w.root.CertPEM, w.server.CertPEM))))
	if c[0].Content.Certs[0] != a[0].Content.Certs[0] || c[0].Content.Certs[1] != leaf {
		t.Error("the same certificate is there twice")
	}
	certs, values := s.Stats()
	if certs != 2 || values != 3 {
		t.Errorf("Stats() = %d, %d, want 2, 3", certs, values)
	}
	done := make(chan string)
	for i := range 8 {
		go func() {
			s.Scan(fmt.Appendf(nil, "%d: |\n%s", i, indent(w.other.CertPEM, "  ")))
			done <- strings.Join(lines(s.Scan(w.other.CertPEM)), "\n")
		}()
	}
	for range 8 {
		if got := <-done; got != "cert CN=other" {
			t.Errorf("in parallel: %s", got)
		}
	}
}

func TestScanDoesNotKeepItsInput(t *testing.T) {
	w := newWorld(t)
	in := join("a: |\n", indent(w.server.CertPEM, "  "), "---\n- ", b64(w.request), "\n- |\n  -----BEGIN CERTIFICATE-----\n  !\n  -----END CERTIFICATE-----\n")
	found := NewScanner().Scan(in)
	before := lines(found)
	der := string(found[0].Content.Certs[0].DER)
	for i := range in {
		in[i] = 'x'
	}
	if diff := cmp.Diff(before, lines(found)); diff != "" || der != string(w.server.Cert.Raw) {
		t.Errorf("results changed with the input:\n%s", diff)
	}
}
