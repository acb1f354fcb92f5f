package e2e

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// manyCertificates is how many fit in one ConfigMap, about.
const manyCertificates = 1000

// The longest name that an object may have, with every character that one may.
func (p *plan) oddName() string {
	name := p.id + ".a-b.c0-9.x--y."
	return name + strings.Repeat("z", 253-len(name))
}

// oddKey is the same for a key.
const oddKey = "-._aZ09.tls.crt_-."

// badInput plants what a cluster may hold and no program likes.
func (p *plan) badInput() {
	ns := p.bad()
	place := func(kind, name, key string) string { return kind + "/" + ns + "/" + name + "[" + key + "]" }
	secret := func(name, key string, value func(mint) []byte) {
		p.secret(ns, name, "Opaque", map[string][]byte{key: value(p.at(place("Secret", name, key)))})
	}
	configMap := func(name, key string, value func(mint) []byte) {
		p.configMap(ns, name, map[string][]byte{key: value(p.at(place("ConfigMap", name, key)))})
	}
	secret("garbage", "garbage", func(mint) []byte { return noise(900_000) })
	secret("garbage-in-base64", "garbage", func(mint) []byte { return encoded(noise(600_000)) })
	configMap("dashes", "x", func(mint) []byte { return bytes.Repeat([]byte("-----BEGIN CERTIFICATE-----\n"), 20_000) })
	configMap("a-thousand", "ca-bundle.crt", func(mint) []byte { return p.thousand(place("ConfigMap", "a-thousand", "ca-bundle.crt")) })
	configMap("yaml-bomb", "bomb.yaml", func(m mint) []byte { return bomb(m().CertPEM) })
	configMap("gzip-bomb", "bomb.gz", func(mint) []byte { return zipped(make([]byte, 64<<20)) })
	configMap("nuls", "nuls", func(m mint) []byte {
		return bytes.Join([][]byte{{0, 0, 0xff}, m().CertPEM, bytes.Repeat([]byte{0}, 5000), m().CertPEM, {0}}, nil)
	})
	secret("negative-serial", "tls.crt", func(m mint) []byte { return m(pkitest.Serial(-12345)).CertPEM })
	secret("absurd-dates", "certs", func(m mint) []byte {
		dates := func(from, to time.Time) []byte {
			return m(pkitest.Template(func(c *x509.Certificate) { c.NotBefore, c.NotAfter = from, to })).CertPEM
		}
		return pkitest.Bundle(
			dates(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)),
			dates(p.now.Add(day), p.now.Add(-day)), // expires before it is valid
			dates(time.Date(2049, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(2050, 1, 1, 0, 0, 0, 0, time.UTC)),
		)
	})
	secret("ended-before-it-began", "tls.crt", func(m mint) []byte {
		return m(pkitest.Template(func(c *x509.Certificate) { c.NotBefore, c.NotAfter = p.now.Add(day), p.now.Add(-day) })).CertPEM
	})
	secret("unknown-algorithm", "tls.crt", func(mint) []byte { return p.unknownAlgorithm(place("Secret", "unknown-algorithm", "tls.crt")) })
	configMap("nested-json", "x.json", func(m mint) []byte { return nestedJSON(m().CertPEM, 90) })
	configMap("nested-json-too-deep", "x.json", func(m mint) []byte { return nestedJSON(m().CertPEM, 5000) })
	configMap("brackets", "x.json", func(mint) []byte { return bytes.Repeat([]byte("["), 500_000) })
	configMap("yaml-brackets", "x.yaml", func(mint) []byte { return append([]byte("a: "), bytes.Repeat([]byte("["), 100_000)...) })
	// Not expected: what is nested deeper than anyone nests is not read.
	p.configMap(ns, "base64-too-deep", map[string][]byte{"x": nestedBase64(p.mint().CertPEM, 9)})
	secret(p.oddName(), oddKey, func(m mint) []byte { p := m(); return append(p.CertPEM, p.KeyPEM...) })
	secret("terminal", "tls.crt", func(m mint) []byte {
		return m(pkitest.Template(func(c *x509.Certificate) {
			c.Subject.CommonName = "\x1b[31mred\x1b[0m\r\nCluster  https://evil\x07\u202e"
		})).CertPEM
	})
	// A Secret in which Helm keeps a release: nothing reads certificates from it.
	release := p.mint()
	p.helm.add(place("Secret", "sh.helm.release.v1.x.v1", "release"), shaOf(release.Cert.Raw))
	p.secret(ns, "sh.helm.release.v1.x.v1", helmRelease, map[string][]byte{"release": encoded(zipped(release.CertPEM))})
}

const helmRelease = "helm.sh/release.v1"

func noise(n int) []byte {
	r := rand.NewChaCha8([32]byte{'e', '2', 'e'})
	data := make([]byte, n)
	_, _ = r.Read(data) // never fails
	return data
}

// thousand is a bundle of about a megabyte: as large as an object may be.
func (p *plan) thousand(place string) []byte {
	var bundle []byte
	for n := range manyCertificates {
		ca := pkitest.NewCA(fmt.Sprintf("%s of many %d", p.id, n), p.now.Add(-day), p.now.Add(3650*day))
		p.certs.add(place, shaOf(ca.Cert.Raw))
		bundle = append(bundle, ca.CertPEM...)
	}
	return bundle
}

// bomb is YAML that unfolds to billions of strings, with a certificate.
func bomb(cert []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "cert: |\n%sa0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n", indented(cert, "  "))
	for n := 1; n < 15; n++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", n, n, strings.Repeat(fmt.Sprintf("*a%d, ", n-1), 8), n-1)
	}
	return b.Bytes()
}

func nestedJSON(cert []byte, depth int) []byte {
	return fmt.Appendf(nil, "%s%s%s", strings.Repeat(`{"a":[`, depth/2), asJSON(string(cert)), strings.Repeat(`]}`, depth/2))
}

func nestedBase64(data []byte, depth int) []byte {
	for range depth {
		data = []byte(base64.StdEncoding.EncodeToString(data))
	}
	return data
}

// unknownAlgorithm are a certificate whose key is of an unknown kind,
// and one that is signed with one.
func (p *plan) unknownAlgorithm(place string) []byte {
	var out []byte
	for _, oid := range [][]byte{
		{6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1},    // id-ecPublicKey
		{6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2}, // ecdsa-with-SHA256
	} {
		p.minted++
		ca := pkitest.NewCA(fmt.Sprintf("%s unknown %d", p.id, p.minted), p.now.Add(-day), p.now.Add(3650*day))
		other := bytes.Clone(oid)
		other[len(other)-1] = 0x7f
		der := bytes.ReplaceAll(ca.Cert.Raw, oid, other)
		p.certs.add(place, shaOf(der))
		out = append(out, asPEM(der)...)
	}
	return out
}
