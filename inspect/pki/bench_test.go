package pki

import (
	"bytes"
	"strings"
	"testing"
)

func benchmark(b *testing.B, in []byte, fresh bool, want int) {
	b.Helper()
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	s := NewScanner()
	for b.Loop() {
		if fresh {
			s = NewScanner()
		}
		if got := s.Scan(in); len(got) != want {
			b.Fatalf("got %d results, want %d", len(got), want)
		}
	}
}

// prose is text as cluster objects hold it: words, YAML, hashes, image names.
func prose() []byte {
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: some-name-of-an-object\n  labels: {app.kubernetes.io/name: x}\n" +
		"  image: quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n" +
		"  description: The operator rotates this certificate before it expires; see the documentation for details.\n# ----- comment\n"
	return bytes.Repeat([]byte(text), 20<<10/len(text)+1)[:20<<10]
}

func BenchmarkScanTextWithout(b *testing.B) { benchmark(b, prose(), true, 0) }

func BenchmarkScanBase64Without(b *testing.B) {
	benchmark(b, b64(prose()), true, 0)
}

func BenchmarkScanShortWithout(b *testing.B) {
	benchmark(b, []byte("sha256~abcdefghijklmnopqrstuvwxyz0123456789"), true, 0)
}

func BenchmarkScanPair(b *testing.B) {
	w := newWorld(b)
	benchmark(b, join(w.server.CertPEM, w.server.KeyPEM), true, 1)
}

func BenchmarkScanAuthority(b *testing.B) {
	w := newWorld(b)
	benchmark(b, w.root.CertPEM, true, 1)
}

func BenchmarkScanPairAgain(b *testing.B) {
	w := newWorld(b)
	benchmark(b, join(w.server.CertPEM, w.server.KeyPEM), false, 1)
}

func BenchmarkScanBundle(b *testing.B) {
	w := newWorld(b)
	benchmark(b, bytes.Repeat(w.root.CertPEM, 140), true, 1)
}

func BenchmarkScanKubeconfig(b *testing.B) {
	w := newWorld(b)
	benchmark(b, join("apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n    certificate-authority-data: ", b64(w.root.CertPEM), "\n"), true, 1)
}

func BenchmarkScanLargeJSON(b *testing.B) {
	w := newWorld(b)
	file := `{"path":"/etc/x","contents":{"source":"data:,` + strings.Repeat("hello%20world%0A", 200) + `"}},`
	benchmark(b, join(`{"files":[`, strings.Repeat(file, 300), quoted(b, w.root.CertPEM), `]}`), true, 1)
}
