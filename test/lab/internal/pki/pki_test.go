package pki

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"slices"
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

func TestARotatedSignerIsTrustedBesideTheOneBefore(t *testing.T) {
	dir, into, now := t.TempDir(), t.TempDir(), time.Now()
	if err := Mint(dir, now); err != nil {
		t.Fatal(err)
	}
	if err := RotateLoadBalancerSigner(dir, into, now); err != nil {
		t.Fatal(err)
	}
	leaf := func(dir string) *x509.Certificate {
		pair, err := tls.LoadX509KeyPair(CertFile(dir, InternalServing), KeyFile(dir, InternalServing))
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf
	}
	old, rotated := leaf(dir), leaf(into)
	if !slices.Equal(old.DNSNames, rotated.DNSNames) || old.Subject.String() != rotated.Subject.String() {
		t.Errorf("the new certificate is of %s for %v, want %s for %v", rotated.Subject, rotated.DNSNames, old.Subject, old.DNSNames)
	}
	bundles := BundlesWith(LoadBalancerSigner)
	if want := []string{"loadbalancer-serving-ca", "kube-apiserver-server-ca", "serviceaccount-ca"}; !slices.Equal(bundles, want) {
		t.Errorf("the signer is in %v, want %v", bundles, want)
	}
	for _, name := range bundles {
		for _, c := range []struct {
			leaf    *x509.Certificate
			dir     string
			trusted bool
		}{{old, dir, true}, {rotated, dir, false}, {old, into, true}, {rotated, into, true}} {
			_, err := c.leaf.Verify(x509.VerifyOptions{Roots: pool(t, BundleFile(c.dir, name)), CurrentTime: now})
			if trusted := err == nil; trusted != c.trusted {
				t.Errorf("bundle %s of %s trusts the certificate of %s: %v", name, c.dir, c.leaf.Issuer, trusted)
			}
		}
	}
}
