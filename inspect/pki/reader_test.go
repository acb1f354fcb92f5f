package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
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
			if !Says(s.Reason) {
				t.Errorf("marked once it is read from a snapshot: %s", s.Reason)
			}
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

func TestAReaderLoadsNothingByOpenSSLOfABundleThatOpenSSLRefuses(t *testing.T) {
	ca := readerCA()
	good := string(ca.CertPEM)
	begin, rest, _ := strings.Cut(good, "\n")
	block, _ := pem.Decode(ca.CertPEM)
	key, _ := pem.Decode(ca.KeyPEM)
	turned := bytes.Clone(block.Bytes)
	turned[5] ^= 0xff
	noCert := []byte("\x30\x03\x02\x01\x01")
	oneLine := base64.StdEncoding.EncodeToString(block.Bytes)
	asOpenSSL(t, false, map[string]string{
		"an empty line before END":                      strings.Replace(good, "-----END", "\n-----END", 1),
		"an empty line before END, Windows":             strings.ReplaceAll(strings.Replace(good, "-----END", "\n-----END", 1), "\n", "\r\n"),
		"spaces before END":                             strings.Replace(good, "-----END", "  \n-----END", 1),
		"an empty line in the middle":                   begin + "\n" + rest[:65] + "\n" + rest[65:],
		"an empty line after BEGIN, then one long line": "-----BEGIN CERTIFICATE-----\n\n" + oneLine + "\n-----END CERTIFICATE-----\n",
		"spaces after BEGIN, then one long line":        "-----BEGIN CERTIFICATE-----\n \n" + oneLine + "\n-----END CERTIFICATE-----\n",
		"another one with an empty line after BEGIN":    good + "-----BEGIN CERTIFICATE-----\n\n" + oneLine + "\n-----END CERTIFICATE-----\n",
		"a revocation list that is none":                good + blockOf("X509 CRL", noCert),
		"an RSA key that is none":                       good + blockOf("RSA PRIVATE KEY", noCert),
		"an RSA key without its primes":                 good + blockOf("RSA PRIVATE KEY", []byte("\x30\x0a\x02\x01\x00\x02\x02\x00\x8f\x02\x01\x03")),
		"an EC key that is none":                        good + blockOf("EC PRIVATE KEY", noCert),
		"a PKCS#8 key that is none":                     good + blockOf("PRIVATE KEY", noCert),
		"a PKCS#8 key, cut off":                         good + blockOf("PRIVATE KEY", key.Bytes[:len(key.Bytes)-9]),
		"an unknown block that is empty":                good + "-----BEGIN FOO-----\n-----END FOO-----\n",
		"a certificate that is empty":                   good + "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
		"a certificate that is none":                    good + blockOf("CERTIFICATE", noCert),
		"a certificate that is damaged inside":          good + blockOf("CERTIFICATE", turned),
		"a damaged one with trust settings":             good + blockOf("TRUSTED CERTIFICATE", turned),
		"a damaged one behind a byte order mark":        good + "\ufeff" + blockOf("CERTIFICATE", turned),
		"a damaged one whose BEGIN line ends in \\v":    good + strings.Replace(blockOf("CERTIFICATE", turned), "-----\n", "-----\v\n", 1),
		"a damaged one behind a long line":              good + strings.Repeat("z", 254) + blockOf("CERTIFICATE", turned),
		"a damaged one, a no-break space after BEGIN":   good + strings.Replace(blockOf("CERTIFICATE", noCert), "-----\n", "-----\u00a0\n", 1),
		"a damaged one, a byte order mark after BEGIN":  good + strings.Replace(blockOf("CERTIFICATE", noCert), "-----\n", "-----\ufeff\r\n", 1),
		"a damaged one, odd bytes after BEGIN":          good + strings.Replace(blockOf("CERTIFICATE", noCert), "-----\n", "----- \xff\x80 \n", 1),
		"a key with an unknown label":                   good + blockOf("FOO PRIVATE KEY", noCert),
		"a key that says ANY":                           good + blockOf("ANY PRIVATE KEY", noCert),
		"a key that says ED25519":                       good + blockOf("ED25519 PRIVATE KEY", noCert),
	})
}

func TestAReaderLoadsByOpenSSLABundleWithBlocksThatOpenSSLReadsOrPassesOver(t *testing.T) {
	ca := readerCA()
	good := string(ca.CertPEM)
	rsa := pkitest.NewCA("rsa", ca.Cert.NotBefore, ca.Cert.NotAfter, pkitest.RSA(1024))
	ed := pkitest.NewCA("ed", ca.Cert.NotBefore, ca.Cert.NotAfter, pkitest.Ed25519())
	block, _ := pem.Decode(ca.CertPEM)
	key, _ := pem.Decode(ca.KeyPEM)
	noCert := []byte("\x30\x03\x02\x01\x01")
	oneLine := base64.StdEncoding.EncodeToString(block.Bytes)
	ec, err := x509.ParseECPrivateKey(key.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	issuer := *ca.Cert
	issuer.KeyUsage |= x509.KeyUsageCRLSign
	list, err := x509.CreateRevocationList(nil, &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: ca.Cert.NotBefore, NextUpdate: ca.Cert.NotAfter}, &issuer, ec)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8 := func(key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	asOpenSSL(t, true, map[string]string{
		"a revocation list":                good + blockOf("X509 CRL", list),
		"an EC key":                        good + string(ca.KeyPEM),
		"an RSA key":                       good + string(rsa.KeyPEM),
		"a PKCS#8 key":                     good + blockOf("PRIVATE KEY", pkcs8(rsa.Key)),
		"an Ed25519 key":                   good + string(ed.KeyPEM),
		"a PKCS#8 key of a curve":          good + blockOf("PRIVATE KEY", pkcs8(ec)),
		"an encrypted PKCS#8 key":          good + blockOf("ENCRYPTED PRIVATE KEY", noCert),
		"an unknown block":                 good + blockOf("FOO", noCert),
		"a public key that is none":        good + blockOf("PUBLIC KEY", noCert),
		"a line longer than the buffer":    "-----BEGIN CERTIFICATE-----\n" + oneLine[:255] + "\n" + oneLine[255:] + "\n-----END CERTIFICATE-----\n",
		"an empty line between two blocks": good + "\n \n" + string(ca.CertPEM),
	})
}

func blockOf(label string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der}))
}

// asOpenSSL wants of texts what OpenSSL itself does, where it is installed.
func asOpenSSL(t *testing.T, want bool, texts map[string]string) {
	t.Helper()
	tool, _ := exec.LookPath("openssl")
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			if tool != "" && opensslLoads(t, tool, []byte(text)) != want {
				t.Fatalf("openssl says %v", !want)
			}
			for _, by := range []Reader{ReaderOpenSSL, ReaderUnknown} {
				if got, why := loaded(t, []byte(text), by); got != want || want == (why != "") {
					t.Errorf("%s: loaded %v, want %v; %q", by, got, want, why)
				}
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

// TestAReaderSkipsHeadersThatLookEscaped: encoding/pem finds such a block, and who reads CA bundles
// by it skips what has headers.
func TestAReaderSkipsHeadersThatLookEscaped(t *testing.T) {
	t.Parallel()
	ca := readerCA().CertPEM
	of := LoadedPEM(NewScanner(), ca)[0]
	for _, header := range []string{"Issued-By: CORP\\nadmin\n\n", "Friend\\nly-Name: ca\n", "Name%0A: x\n\n"} {
		odd := bytes.Replace(ca, []byte("-----\n"), []byte("-----\n"+header), 1)
		for name, text := range map[string][]byte{
			"alone": odd, "beside another": append(pkitest.NewCA("other", time.Unix(0, 0), time.Unix(1e10, 0)).CertPEM, odd...), "beside a broken one": append(bytes.Clone(odd), bytes.Replace(ca, []byte("-----END"), []byte("-\x00----END"), 1)...),
		} {
			for _, by := range Readers() {
				for _, f := range NewScanner().Scan(text) {
					if certs, _ := f.Content.LoadedBy(by); Contains(certs, of) {
						t.Errorf("%q, %s: %s loads it", header, name, by)
					}
				}
			}
			if _, why := loaded(t, text, ReaderUnknown); why == "" || name == "alone" && why != "it has PEM headers" {
				t.Errorf("%q, %s: %q", header, name, why)
			}
		}
		if whole := append(bytes.Clone(odd), ca...); !Contains(LoadedPEM(NewScanner(), whole), of) {
			t.Errorf("%q: its plain copy is not loaded", header)
		}
	}
}

func readerCA() *pkitest.Authority {
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	return pkitest.NewCA("ca", from, from.AddDate(1, 0, 0))
}

// TestRefuses: what the reader skips is tried where the roots do not do, each alone and as long as it
// is paid for.
func TestRefuses(t *testing.T) {
	t.Parallel()
	no := errors.New("unknown authority")
	root, first, second, leaf := &Cert{Subject: "root"}, &Cert{Subject: "CN=ca"}, &Cert{Subject: "CN=ca"}, &Cert{Issuer: "CN=ca"}
	first.Fingerprint[0], second.Fingerprint[0] = 1, 2
	skipped := []Skipped{{Cert: first}, {Cert: second}}
	for title, c := range map[string]struct {
		trusted *Cert
		pays    int // for so many tries
		needed  *Skipped
		all     bool
		err     error
		tried   [][]*Cert
	}{
		"a root does":                  {root, 1, nil, true, nil, [][]*Cert{{root}}},
		"the first skipped one would":  {first, 2, &skipped[0], true, no, [][]*Cert{{root}, {first}}},
		"the second skipped one would": {second, 3, &skipped[1], true, no, [][]*Cert{{root}, {first}, {second}}},
		"none would":                   {nil, 3, nil, true, no, [][]*Cert{{root}, {first}, {second}}},
		"the roots are not paid for":   {root, 0, nil, false, ErrCostly, nil},
		"the second is not paid for":   {second, 2, nil, false, no, [][]*Cert{{root}, {first}}},
	} {
		var tried [][]*Cert
		needed, all, err := Refuses([]*Cert{root}, skipped, []*Cert{leaf}, func([]*Cert) bool { c.pays--; return c.pays >= 0 }, func(roots []*Cert) error {
			if tried = append(tried, roots); slices.Contains(roots, c.trusted) {
				return nil
			}
			return no
		})
		if needed != c.needed || all != c.all || !errors.Is(err, c.err) || !reflect.DeepEqual(tried, c.tried) {
			t.Errorf("%s: %v, %t, %v, tried %v", title, needed, all, err, tried)
		}
	}
}
