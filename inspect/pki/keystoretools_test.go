package pki

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gopkcs12 "software.sslmate.com/src/go-pkcs12"
)

// runTool runs a program in dir, and skips the test where it is not installed.
func runTool(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(name + " is not installed")
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// folder has the world's files, for other programs.
func folder(t *testing.T, w world) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"server.pem": w.server.CertPEM, "server.key": w.server.KeyPEM, "root.pem": w.root.CertPEM, "other.pem": w.other.CertPEM,
		"both.pem": join(w.server.CertPEM, w.root.CertPEM), "list.pem": armor("X509 CRL", revocations(t, w, 4)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func scanFile(t *testing.T, dir, name string, passwords ...[]byte) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return lines(NewScanner().Unlock(data, passwords))
}

func TestScanWhatOpenSSLWrites(t *testing.T) {
	w := newWorld(t)
	dir := folder(t, w)
	all := []string{"cert CN=server", "cert CN=root", "key ECDSA of CN=server"}
	export := []string{"pkcs12", "-export", "-in", "server.pem", "-inkey", "server.key", "-certfile", "root.pem", "-out", "out", "-passout"}
	cms := append(all[:2:2], "crl of CN=root, 4 revoked")
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"its default", append(export, "pass:changeit"), all},
		{"a password that lies beside", append(export, "pass:s3cret-ü€"), all},
		{"no password", append(export, "pass:"), all},
		{"PBE-SHA1-3DES", append(export, "pass:changeit", "-certpbe", "PBE-SHA1-3DES", "-keypbe", "PBE-SHA1-3DES", "-macalg", "sha1"), all},
		{"two-key 3DES", append(export, "pass:changeit", "-certpbe", "PBE-SHA1-2DES", "-keypbe", "PBE-SHA1-2DES"), all},
		{"AES-128 and SHA-512", append(export, "pass:changeit", "-certpbe", "AES-128-CBC", "-keypbe", "AES-192-CBC", "-macalg", "sha512"), all},
		{"SHA-384 and SHA-224", append(export, "pass:changeit", "-macalg", "sha384"), all},
		{"nothing encrypted", append(export, "pass:changeit", "-certpbe", "NONE", "-keypbe", "NONE"), all},
		{"no digest", append(export, "pass:changeit", "-nomac"), all},
		{"one round", append(export, "pass:changeit", "-noiter", "-nomaciter"), all},
		{"a hundred thousand rounds", append(export, "pass:changeit", "-iter", "100000"), all},
		{"certificates only", []string{"pkcs12", "-export", "-nokeys", "-in", "both.pem", "-out", "out", "-passout", "pass:changeit"}, all[:2]},
		{"a bundle", []string{"crl2pkcs7", "-certfile", "both.pem", "-nocrl", "-out", "out"}, all[:2]},
		{"a bundle in DER", []string{"crl2pkcs7", "-certfile", "both.pem", "-in", "list.pem", "-out", "out", "-outform", "DER"}, cms},
		{"a signed message, streamed", []string{"cms", "-sign", "-stream", "-nodetach", "-binary", "-in", "root.pem", "-signer", "server.pem", "-inkey", "server.key", "-certfile", "root.pem", "-out", "out", "-outform", "DER"}, nil},
		{"a signed message in PEM", []string{"cms", "-sign", "-nodetach", "-binary", "-in", "root.pem", "-signer", "server.pem", "-inkey", "server.key", "-out", "out", "-outform", "PEM"}, all[:1]},
		{"a revocation list in DER", []string{"crl", "-in", "list.pem", "-outform", "DER", "-out", "out"}, cms[2:]},
		{"a revocation list as text", []string{"crl", "-in", "list.pem", "-text", "-out", "out"}, cms[2:]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runTool(t, dir, "openssl", tt.args...)
			got := scanFile(t, dir, "out", []byte("s3cret-ü€"))
			want := tt.want
			if want == nil { // in no order, as a SET is
				want = []string{"cert CN=root", "cert CN=server"}
				if len(got) == 2 && got[0] > got[1] {
					got[0], got[1] = got[1], got[0]
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestScanWhatKeytoolWrites(t *testing.T) {
	w := newWorld(t)
	dir := folder(t, w)
	if err := os.WriteFile(filepath.Join(dir, "server.p12"), p12(t, w, gopkcs12.Modern2023, "changeit"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := []string{"cert CN=server", "cert CN=root", "cert CN=other"}
	const quick = "-J-XX:TieredStopAtLevel=1" // a JVM that need not run for long
	for _, tt := range []struct {
		name, kind string
		flags      []string
		want       string
	}{
		{"JKS", "JKS", nil, "key JKS encrypted"},
		{"JCEKS", "JCEKS", nil, "key JCEKS encrypted"},
		{"PKCS12", "PKCS12", nil, "key ECDSA of CN=server"},
		{"PKCS12 of older releases", "PKCS12", []string{"-J-Dkeystore.pkcs12.legacy"}, "key ECDSA of CN=server"},
		{"PKCS12 without encryption", "PKCS12", []string{"-J-Dkeystore.pkcs12.certProtectionAlgorithm=NONE", "-J-Dkeystore.pkcs12.macAlgorithm=NONE"}, "key ECDSA of CN=server"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := strings.ReplaceAll(tt.name, " ", "-")
			args := append([]string{"-importkeystore", "-noprompt", "-srckeystore", "server.p12", "-srcstoretype", "PKCS12", "-srcstorepass", "changeit",
				"-destkeystore", store, "-deststoretype", tt.kind, "-deststorepass", "s3cret", quick}, tt.flags...)
			runTool(t, dir, "keytool", args...)
			runTool(t, dir, "keytool", append([]string{"-importcert", "-noprompt", "-alias", "a trusted one", "-file", "other.pem", "-keystore", store, "-storetype", tt.kind, "-storepass", "s3cret", quick}, tt.flags...)...)
			got := scanFile(t, dir, store, []byte("s3cret"))
			if len(got) == 4 && got[1] == "cert CN=other" { // in no order
				got[1], got[2] = got[2], got[1]
			}
			if diff := cmp.Diff(append(all[:3:3], tt.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			locked := scanFile(t, dir, store)
			switch {
			case tt.kind != "PKCS12", strings.Contains(tt.name, "without"):
				if len(locked) != 4 || strings.Contains(strings.Join(locked, "\n"), "locked") {
					t.Errorf("certificates that are not encrypted, without the password: %q", locked)
				}
			case !strings.Contains(strings.Join(locked, "\n"), "locked PKCS#12: "+lockedPassword):
				t.Errorf("without the password: %q", locked)
			}
		})
	}
}
