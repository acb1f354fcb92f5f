package pkitest

import (
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"testing"
	"time"
)

// The sums were written by an earlier run: output must never change between
// runs, processes and machines, since golden files hold it.
func TestOutputIsTheSameForever(t *testing.T) {
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(1, 0, 0)
	ca := NewCA("ca", from, to)
	request, _ := Request("request")
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"an authority", ca.CertPEM, "46cc66688fcc4ccd"},
		{"its key", ca.KeyPEM, "9d72af52738beb2a"},
		{"a leaf", ca.Issue("leaf", from, to, DNS("a"), IPs("::1"), URIs("a://b")).CertPEM, "1beaae05381e53b3"},
		{"an intermediate", ca.CA("sub", from, to).CertPEM, "6b56a50980aaf9d4"},
		{"P-384", NewCA("p384", from, to, Curve(elliptic.P384())).CertPEM, "7f286e8ee8884d24"},
		{"RSA", NewCA("rsa", from, to, RSA(1024)).CertPEM, "ec1c637a9661c46d"},
		{"Ed25519", NewCA("ed25519", from, to, Ed25519()).CertPEM, "4dcdd24107d972fd"},
		{"a negative serial number", NewCA("negative", from, to, Serial(-5)).CertPEM, "b583fa32371557db"},
		{"a request", request, "2bdf1a1e918792d9"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sum := sha256.Sum256(tt.data)
			if got := hex.EncodeToString(sum[:8]); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestPairsWork(t *testing.T) {
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(1, 0, 0)
	root := NewCA("root", from, to)
	sub := root.CA("sub", from, to)
	leaf := sub.Issue("leaf", from, to, DNS("leaf.example.com"))
	if _, err := tls.X509KeyPair(leaf.CertPEM, leaf.KeyPEM); err != nil {
		t.Error(err)
	}
	roots, subs := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(root.Cert)
	subs.AddCert(sub.Cert)
	_, err := leaf.Cert.Verify(x509.VerifyOptions{
		DNSName: "leaf.example.com", Roots: roots, Intermediates: subs, CurrentTime: from.AddDate(0, 1, 0),
	})
	if err != nil {
		t.Error(err)
	}
}

func TestKeysFollowNames(t *testing.T) {
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(1, 0, 0)
	first, again := NewCA("ca", from, to, KeyName("one")), NewCA("ca", from, to, KeyName("one"))
	if !first.Cert.Equal(again.Cert) {
		t.Error("the same call made two certificates")
	}
	later := NewCA("ca", from.AddDate(0, 1, 0), to)
	if string(first.KeyPEM) == string(later.KeyPEM) {
		t.Error("a later authority of the same name has the same key")
	}
	renewed := NewCA("ca", from.AddDate(0, 1, 0), to, KeyName("one"))
	if string(first.KeyPEM) != string(renewed.KeyPEM) {
		t.Error("KeyName does not lead to the same key")
	}
	seen := map[string]bool{}
	for i := range 50 {
		leaf := first.Issue(fmt.Sprint(i), from, to)
		seen[leaf.Cert.SerialNumber.String()+string(leaf.KeyPEM)] = true
	}
	if len(seen) != 50 {
		t.Errorf("%d distinct pairs of 50", len(seen))
	}
}

func BenchmarkIssue(b *testing.B) {
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	ca := NewCA("ca", from, from.AddDate(1, 0, 0))
	for i := 0; b.Loop(); i++ {
		ca.Issue(fmt.Sprint(i), from, from.AddDate(1, 0, 0))
	}
}
