package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// loaded reports whether a reader loads the one certificate of a text, by Scan.
func loaded(t *testing.T, text []byte, by Reader) (loads bool, why string) {
	t.Helper()
	for _, f := range NewScanner().Scan(text) {
		certs, skipped := f.Content.LoadedBy(by)
		loads = loads || len(certs) > 0
		for _, s := range skipped {
			why += s.Reason
		}
	}
	return loads, why
}

func TestAReaderLoadsOfEachFormWhatItReallyDoes(t *testing.T) {
	ca := readerCA()
	tool, _ := exec.LookPath("openssl")
	for _, form := range pkitest.Forms(ca.CertPEM) {
		t.Run(form.Name, func(t *testing.T) {
			if got := x509.NewCertPool().AppendCertsFromPEM(form.Text); got != form.Go {
				t.Fatalf("AppendCertsFromPEM says %v", got)
			}
			if tool != "" {
				if got := opensslLoads(t, tool, form.Text); got != form.OpenSSL {
					t.Fatalf("openssl says %v", got)
				}
			}
			for by, want := range map[Reader]bool{ReaderGo: form.Go, ReaderGoAll: form.Go, ReaderOpenSSL: form.OpenSSL, ReaderUnknown: form.Go && form.OpenSSL} {
				got, why := loaded(t, form.Text, by)
				if got != want || want == (why != "") {
					t.Errorf("%s: loaded %v, want %v; %q", by, got, want, why)
				}
			}
			if found := NewScanner().Scan(form.Text); len(found) != 1 || len(found[0].Content.Certs) != 1 {
				t.Error("it is not found at all")
			}
		})
	}
}

// opensslLoads asks OpenSSL itself.
func opensslLoads(t *testing.T, tool string, text []byte) bool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := exec.CommandContext(t.Context(), tool, "verify", "-no-CApath", "-CAfile", path, "/dev/null").CombinedOutput()
	return !bytes.Contains(out, []byte("by_file.c")) && !bytes.Contains(out, []byte("rror loading file "+path))
}

func TestAReaderLoadsWhatStandsPlainlyBesideACopyThatItSkips(t *testing.T) {
	ca := readerCA()
	for _, form := range pkitest.Forms(ca.CertPEM) {
		if got, why := loaded(t, slices.Concat(ca.CertPEM, []byte("\n"), form.Text), ReaderGo); !got || why != "" {
			t.Errorf("%s: %v %q", form.Name, got, why)
		}
	}
}

func TestAReaderSeesThroughNoMoreThanItsOwnEncoding(t *testing.T) {
	ca := readerCA()
	once := []byte(base64.StdEncoding.EncodeToString(ca.CertPEM))
	twice := base64.StdEncoding.EncodeToString(once)
	block, _ := pem.Decode(ca.CertPEM)
	kubeconfig := func(data string) []byte {
		return []byte("clusters:\n- cluster:\n    certificate-authority-data: " + data + "\n  name: c\n")
	}
	for name, c := range map[string]struct {
		text []byte
		want bool
	}{
		"PEM":                                    {ca.CertPEM, true},
		"DER":                                    {block.Bytes, false},
		"base64 of PEM":                          {once, false},
		"base64 in a kubeconfig":                 {kubeconfig(string(once)), true},
		"base64 of base64 in a kubeconfig":       {kubeconfig(twice), false},
		"a comment in a kubeconfig":              {slices.Concat(kubeconfig("none"), []byte("# "+string(once)+"\n")), false},
		"base64 of base64 in the middle of text": {[]byte("see " + string(once) + " there"), false},
	} {
		if got, why := loaded(t, c.text, ReaderGo); got != c.want || got == (why != "") {
			t.Errorf("%s: %v %q", name, got, why)
		}
	}
}

func TestAReaderOfAllOrNoneLoadsNothingBesideABlockThatIsNoCertificate(t *testing.T) {
	ca := readerCA()
	bad := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("\x30\x03abc")})
	text := slices.Concat(ca.CertPEM, bad)
	if got, _ := loaded(t, text, ReaderGo); !got {
		t.Error("AppendCertsFromPEM skips the other block only")
	}
	if got, why := loaded(t, text, ReaderGoAll); got || !strings.Contains(why, "loads none") {
		t.Errorf("all or none: %v %q", got, why)
	}
}

func readerCA() *pkitest.Authority {
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	return pkitest.NewCA("ca", from, from.AddDate(1, 0, 0))
}
