package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// standardCerts finds certificates as ordinary programs do.
func standardCerts(data []byte) map[Fingerprint]bool {
	certs := map[Fingerprint]bool{}
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return certs
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if x, err := x509.ParseCertificate(block.Bytes); err == nil {
			certs[FingerprintOf(x.Raw)] = true
		}
	}
}

// standardKeys finds private keys as ordinary programs do.
func standardKeys(data []byte) (keys []crypto.Signer) {
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return keys
		}
		if k, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
			keys = append(keys, k)
		}
		if k, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if k, ok := k.(crypto.Signer); ok {
				keys = append(keys, k)
			}
		}
	}
}

// standardSecrets finds the private numbers of keys as ordinary programs do.
func standardSecrets(t testing.TB, data []byte) (secrets [][]byte) {
	for _, k := range standardKeys(data) {
		switch k := k.(type) {
		case *rsa.PrivateKey:
			secrets = append(secrets, k.D.Bytes())
		case *ecdsa.PrivateKey:
			secrets = append(secrets, scalar(t, k))
		case ed25519.PrivateKey:
			secrets = append(secrets, k.Seed())
		}
	}
	return secrets
}

func FuzzScan(f *testing.F) {
	w := newWorld(f)
	root, server := w.root.CertPEM, w.server.CertPEM
	kubeconfig := join("clusters:\n- cluster:\n    certificate-authority-data: ", b64(root), "\n")
	for _, seed := range [][]byte{
		root, join(root, server, w.server.KeyPEM), w.request, w.root.Cert.Raw, b64(root), b64(b64(root)), kubeconfig,
		join("data:;base64,", b64(kubeconfig)), join(`{"a":[`, quoted(f, root), `],"b":`, quoted(f, kubeconfig), `}`),
		zip(f, root), join(strings.TrimSpace(string(root)), root), indent(root, "# "), quoted(f, quoted(f, root)),
		bytes.ReplaceAll(root, []byte("\n"), []byte("%0A")), bytes.ReplaceAll(root, []byte("\n"), []byte("\r\n")),
		[]byte("-----BEGIN CERTIFICATE-----\n<your certificate>\n-----END CERTIFICATE-----\n"),
		[]byte("a: &a [*a, *a]\n---\n? [b]\n: -----BEGIN"), pkcs12(), pkcs7(),
		[]byte("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----\n"),
		[]byte("-----BEGIN CERTIFICATE-----\nx: -----END \n" + strings.SplitAfterN(string(root), "\n", 2)[1]),
	} {
		f.Add(seed)
	}
	for _, seed := range envelopes(f) {
		f.Add(seed)
		f.Add(wrap(b64(seed), 64))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		input := bytes.Clone(data)
		start := time.Now()
		s := NewScanner()
		found := s.Scan(data)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("took %v", took)
		}
		if !bytes.Equal(input, data) {
			t.Error("the input was changed")
		}
		want := standardCerts(data)
		for _, f := range found {
			if f.Content.Empty() {
				t.Errorf("empty content at %q", f.Field)
			}
			for _, c := range f.Content.Certs {
				delete(want, c.Fingerprint)
				if _, err := c.X509(); err != nil {
					t.Errorf("X509: %v", err)
				}
			}
		}
		if len(want) > 0 {
			t.Errorf("%d certificates were missed", len(want))
		}
		if again := s.Scan(data); !reflect.DeepEqual(found, again) {
			t.Errorf("scanned again, other results:\n%s", cmp.Diff(lines(found), lines(again)))
		}
		if fresh := NewScanner().Scan(data); !reflect.DeepEqual(found, fresh) {
			t.Errorf("scanned by a new scanner, other results:\n%s", cmp.Diff(lines(found), lines(fresh)))
		}
		checkSecrets(t, data, found)
		checkPlain(t, data)
	})
}

// checkPlain: where reading takes a text for plain PEM, and therefore does not ask
// encoding/pem, that would have found the same certificates.
func checkPlain(t *testing.T, data []byte) {
	t.Helper()
	plain, certs := 0, map[Fingerprint]bool{}
	for next := 0; ; {
		b, ok := nextBlock(data, next)
		if !ok {
			break
		}
		next = b.end
		w := &walk{scanner: NewScanner(), results: &results{}}
		s := w.block(data, &b, place{})
		if s.plain {
			plain++
		}
		if s.isCert {
			certs[s.id] = true
		}
	}
	if !isPlain(data, plain) {
		return
	}
	standard := standardCerts(data)
	if diff := cmp.Diff(standard, certs); diff != "" {
		t.Errorf("encoding/pem finds other certificates (-encoding/pem +here):\n%s", diff)
	}
}

func checkSecrets(t *testing.T, data []byte, found []Found) {
	t.Helper()
	text, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range standardSecrets(t, data) {
		for i := 0; i+8 <= len(secret); i++ {
			if bytes.Equal(secret[i:i+8], bytes.Repeat(secret[i:i+1], 8)) {
				continue // not a real key, and likely elsewhere too
			}
			if bytes.Contains(text, secret[i:i+8]) {
				t.Fatal("a piece of a private key is in the results")
			}
		}
	}
}

func FuzzParseCert(f *testing.F) {
	w := newWorld(f)
	f.Add(w.root.Cert.Raw)
	f.Add(w.server.Cert.Raw)
	f.Add([]byte{0x30, 0x82})
	f.Fuzz(func(t *testing.T, der []byte) {
		c, err := ParseCert(der)
		if (c == nil) == (err == nil) {
			t.Fatalf("got %v and %v", c, err)
		}
		if err != nil {
			return
		}
		if !bytes.Equal(c.DER, der) || c.Fingerprint != FingerprintOf(der) {
			t.Error("the DER was changed")
		}
		x, err := c.X509()
		if err != nil {
			t.Fatal(err)
		}
		if c.SPKI != FingerprintOf(x.RawSubjectPublicKeyInfo) || c.PublicKey == "" || c.Signature == "" || c.Serial == "" {
			t.Errorf("got %+v", c)
		}
		if s := shapeOf(der); s != shapeCert {
			t.Errorf("a certificate with the shape of %s", s.describe())
		}
	})
}

func FuzzLocation(f *testing.F) {
	f.Add("Secret", "", "ns", "name", "tls.crt", "", "")
	f.Add("APIService", "", "", "v1beta1.metrics.k8s.io", "", "", "spec.caBundle")
	f.Add("File", "worker-3", "", "", "", "/var/lib/kubelet/kubeconfig", "clusters[0].cluster")
	f.Add("File", "", "", "", "", "./ca.pem", "")
	f.Add("Secret", "", "ns", "name", KeyIndex(3), "", "sessions["+KeyIndex(0)+"][0]")
	f.Add("node", "", "a/b", "[c]", "d]#%", "", "\xff\n#")
	f.Fuzz(func(t *testing.T, kind, node, namespace, name, key, path, field string) {
		// Any text is either refused, or stands for a location that String writes
		// in a way that reads the same.
		if l, err := ParseLocation(name); err == nil {
			again, err := ParseLocation(l.String())
			if err != nil || again != l {
				t.Errorf("%q is %+v, and as %q it is %+v, %v", name, l, l.String(), again, err)
			}
		}
		l := Location{Kind: Kind(kind), Namespace: namespace, Name: name, Key: key, Field: field}
		if l.Kind == KindFile {
			l = Location{Kind: KindFile, Node: node, Path: path, Field: field}
		}
		if l.Kind == "" {
			return
		}
		text := l.String()
		got, err := ParseLocation(text)
		if err != nil || got != l {
			t.Errorf("%+v as %q is %+v, %v", l, text, got, err)
		}
		if strings.ContainsAny(text, "\n\r\x00") {
			t.Errorf("%q has control characters", text)
		}
		if other := (Location{Kind: l.Kind, Name: name + "x"}); l.Kind != KindFile && Compare(l, other) == 0 {
			t.Error("different locations compare as equal")
		}
	})
}
