package e2e

import (
	"compress/gzip"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// Not one byte of a private key or token is printed or stored, whatever is asked.
func TestKeysAndTokensAreNeverShownOrStored(t *testing.T) {
	t.Parallel()
	w := enter(t)
	secrets := w.planted.secrets
	w.learnKeys(t)

	columns := filepath.Join(t.TempDir(), "columns")
	if err := os.WriteFile(columns, []byte("PLACE LEFT\n.locations[0] .notAfter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{},
		{"--all", "-o", "wide"},
		{"-o", "json"},
		{"-o", "yaml"},
		{"-o", "name"},
		{"-o", "pem"},
		{"-o", "text"},
		{"-o", "jsonpath={}"},
		{"-o", "go-template={{.}}"},
		{"-o", "custom-columns=S:.subject,L:.locations,K:.publicKey,U:.usages,O:.owner"},
		{"-o", "custom-columns-file=" + columns},
		{"-o", "json", "--min-severity", "info"},
		{"secrets", "-n", w.planted.rich(), "--all", "-o", "wide", "--min-severity", "info"},
	} {
		t.Run(strings.Join(append([]string{"inspect"}, args...), " "), func(t *testing.T) {
			t.Parallel()
			r := w.run(t, append([]string{"inspect"}, args...)...)
			if r.code != 1 || len(r.stdout) < 1000 {
				t.Errorf("ended with %d, want 1, after %d bytes:\n%.500s", r.code, len(r.stdout), r.said())
			}
			secrets.leak(t, "stdout", r.stdout)
			secrets.leak(t, "stderr", r.stderr)
		})
	}
	t.Run("a level of verbosity, which does not exist", func(t *testing.T) {
		t.Parallel()
		// Should it come one day: client-go logs bodies of answers at 9.
		r := w.run(t, "inspect", "-v=9")
		if r.code != 2 {
			t.Errorf("ended with %d, want 2", r.code)
		}
		secrets.leak(t, "inspect -v=9", r.said())
	})
	t.Run("the snapshot file", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "snapshot")
		r := w.run(t, "snapshot", "-o", file)
		secrets.leak(t, "snapshot's output", r.said())
		secrets.leak(t, "the snapshot", unpacked(t, file))
	})
	t.Run("a snapshot of files", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		objects, file := filepath.Join(dir, "objects.yaml"), filepath.Join(dir, "snapshot")
		if err := os.WriteFile(objects, w.mustKubectl(t, "get", everyKind, "-A", "-o", "yaml"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := w.run(t, "snapshot", "--from", objects, "-o", file)
		secrets.leak(t, "snapshot's output", r.said())
		secrets.leak(t, "the snapshot", unpacked(t, file))
	})
}

func TestTheSearchForKeysFindsThem(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, options := range [][]pkitest.Option{nil, {pkitest.Ed25519()}, {pkitest.RSA(1024)}, {pkitest.Curve(elliptic.P521())}} {
		pair := pkitest.SelfSigned("to be found", now, now.Add(day), options...)
		c := &confidential{}
		c.key("it", pair.KeyPEM)
		block, _ := pem.Decode(pair.KeyPEM)
		scalar := scalars(block)[0]
		for form, text := range map[string]string{
			"PEM": string(pair.KeyPEM), "base64 of PEM": string(encoded(pair.KeyPEM)),
			"JSON": string(asJSON(string(pair.KeyPEM))), "DER": string(block.Bytes), "hex of DER": hex.EncodeToString(block.Bytes),
			"hex of the scalar": fmt.Sprintf("%X", scalar), "text as of openssl": strings.ReplaceAll(fmt.Sprintf("% x", scalar), " ", ":"), "base64 of the scalar": string(encoded(scalar)),
			"base64 of something before and the scalar": base64.URLEncoding.EncodeToString(append([]byte("x"), scalar...)),
		} {
			if len(c.find("before "+text+" after")) == 0 {
				t.Errorf("%s of a key of type %T is not found", form, pair.Key)
			}
		}
		if found := c.find(string(pair.CertPEM) + string(encoded(pair.CertPEM)) + hex.EncodeToString(pair.Cert.Raw)); len(found) > 0 {
			t.Errorf("in a certificate, %q is taken for a key", found)
		}
	}
}

// learnKeys makes confidential whatever keys the cluster and the user's
// kubeconfig have anyway.
func (w *world) learnKeys(t *testing.T) {
	t.Helper()
	var list struct {
		Items []struct{ Data map[string][]byte }
	}
	if err := w.get(&list, "secrets", "-A", "--field-selector=type=kubernetes.io/tls"); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range list.Items {
		if block, _ := pem.Decode(s.Data["tls.key"]); block != nil {
			w.planted.secrets.key("a key of the cluster", s.Data["tls.key"])
			n++
		}
	}
	config := w.userKubeconfig(t)
	key, err := base64.StdEncoding.DecodeString(config.user["client-key-data"].(string))
	if err != nil {
		t.Fatal(err)
	}
	w.planted.secrets.key("the key of the user's kubeconfig", key)
	if n < 10 {
		t.Errorf("found only %d keys in the cluster", n)
	}
}

func unpacked(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) < 100_000 {
		t.Errorf("%s holds %d bytes only", file, len(text))
	}
	return string(text)
}
