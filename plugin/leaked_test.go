package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin"
)

// A private key in a ConfigMap names the certificate that it belongs to, in each form of
// output and in a snapshot, and not a byte of the key is in any of them.
func TestALeakedKeyNamesItsCertificate(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)
	ca := pkitest.NewCA("shop CA", now.AddDate(-1, 0, 0), now.AddDate(9, 0, 0))
	for name, pair := range map[string]pkitest.Pair{
		"ECDSA":   ca.Issue("ec.example.com", now.AddDate(0, 0, -1), now.AddDate(1, 0, 0), pkitest.DNS("ec.example.com")),
		"RSA":     ca.Issue("rsa.example.com", now.AddDate(0, 0, -1), now.AddDate(1, 0, 0), pkitest.DNS("rsa.example.com"), pkitest.RSA(2048)),
		"Ed25519": ca.Issue("ed.example.com", now.AddDate(0, 0, -1), now.AddDate(1, 0, 0), pkitest.DNS("ed.example.com"), pkitest.Ed25519()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write := func(file string, o map[string]any) string {
				data, err := json.Marshal(o)
				if err != nil {
					t.Fatal(err)
				}
				file = filepath.Join(dir, file)
				if err := os.WriteFile(file, data, 0o600); err != nil {
					t.Fatal(err)
				}
				return file
			}
			from := []string{
				"--from", write("secret.json", map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": map[string]string{"namespace": "shop", "name": "shop-tls"},
					"data": map[string][]byte{"tls.crt": pair.CertPEM, "tls.key": pair.KeyPEM}}),
				"--from", write("configmap.json", map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]string{"namespace": "web", "name": "nginx"},
					"data": map[string]string{"server.key": string(pair.KeyPEM)}}),
			}
			snapshot := filepath.Join(dir, "snapshot")
			run(t, 0, append([]string{"snapshot", "-o", snapshot}, from...)...)
			says := `it is the key of "` + pair.Cert.Subject.CommonName + `"`
			for _, args := range [][]string{from, {"--from", snapshot}} {
				for _, form := range []string{"json", "yaml", "wide"} {
					args := append([]string{"inspect", "--now", now.Format(time.RFC3339), "-o", form, "--details"}, args...)
					got := strings.Join(strings.Fields(run(t, 1, args...)), " ")
					if plain := strings.ReplaceAll(got, `\"`, `"`); !strings.Contains(plain, says) || !strings.Contains(plain, "Secret/shop/shop-tls[tls.crt]") {
						t.Errorf("%v: does not say %s and where:\n%s", args, says, got)
					}
					withoutKey(t, strings.Join(args, " "), []byte(got), pair.KeyPEM)
				}
			}
		})
	}
}

// run runs certrot, wants this exit code, and returns all that was printed.
func run(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}
	if got := plugin.Main(context.Background(), "test", append([]string{"kubectl-certrot"}, args...), streams); got != code {
		t.Fatalf("%v: exit code %d, want %d:\n%s", args, got, code, out.String())
	}
	return out.String()
}

// withoutKey fails where a part of a private key is in what was printed.
func withoutKey(t *testing.T, what string, printed, key []byte) {
	t.Helper()
	for line := range strings.Lines(string(key)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") && len(line) >= 16 && bytes.Contains(printed, []byte(line[:16])) {
			t.Errorf("%s: prints a part of the private key", what)
		}
	}
}

// The certificates of a cluster that works are no finding of the checks that look for
// those that clients refuse.
func TestNoFalseAlarmOnSamples(t *testing.T) {
	t.Parallel()
	samples := []string{"../testdata/demo/okd-4.15-api-int.certrot"}
	if sample := os.Getenv("CERTROT_MUST_GATHER"); sample != "" {
		samples = append(samples, sample)
	}
	for _, sample := range samples {
		out := run(t, 0, "inspect", "--from", sample, "--fail-on", "none", "--allow-unknown", "-o", "jsonpath={range .findings[*]}{.id} {end}{.cluster.version}")
		if !strings.Contains(out, "4.") {
			t.Errorf("%s: no version in %q", sample, out)
		}
		for _, check := range []string{"secret-ca-verifies", "serving-usage", "serving-names", "key-in-place"} {
			if strings.Contains(out, check) {
				t.Errorf("%s: a finding of %s: %s", sample, check, out)
			}
		}
	}
}
