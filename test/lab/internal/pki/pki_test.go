package pki

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"
	"time"
)

func TestEveryLeafVerifiesAgainstItsOwnSignerAlone(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	if err := Mint(dir, now); err != nil {
		t.Fatal(err)
	}
	for _, l := range leaves() {
		t.Run(l.name, func(t *testing.T) {
			pair, err := tls.LoadX509KeyPair(CertFile(dir, l.name), KeyFile(dir, l.name))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range signers(now) {
				_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool(t, CertFile(dir, s.name)), CurrentTime: now, KeyUsages: l.usages})
				if trusted := err == nil; trusted != (s.name == l.signer) {
					t.Errorf("trusting %s alone: %v; its signer is %s", s.name, err, l.signer)
				}
			}
			for _, host := range l.hosts {
				if err := pair.Leaf.VerifyHostname(host); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestKubeletSignerIsAnIntermediate(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	if err := Mint(dir, now); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(CertFile(dir, "csr-signer"), KeyFile(dir, "csr-signer"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool(t, BundleFile(dir, "csr-controller-signer-ca")), CurrentTime: now}); err != nil {
		t.Errorf("csr-signer is not signed by csr-signer-signer: %v", err)
	}
}

func pool(t *testing.T, file string) *x509.CertPool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		t.Fatalf("no certificate in %s", file)
	}
	return roots
}
