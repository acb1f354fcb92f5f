package inspect

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestABundleThatRepeatsACertificateIsOnePlace, and weighs as one: a snapshot lists it by its index.
func TestABundleThatRepeatsACertificateIsOnePlace(t *testing.T) {
	const places, repeats = 1000, 1000
	cert := func(subject string, id byte) *pki.Cert {
		return &pki.Cert{Subject: subject, Fingerprint: pki.FingerprintOf([]byte{id})}
	}
	a, b, again := cert("CN=b", 1), cert("CN=a", 2), cert("CN=b", 1)
	content := &pki.Content{}
	for range repeats {
		content.Certs = append(content.Certs, a, b, again)
	}
	var s Snapshot
	for i := range places {
		s.Bundles = append(s.Bundles, Bundle{At: pki.Location{Kind: "ConfigMap", Namespace: fmt.Sprintf("n%03d", i), Name: "c", Key: "ca.crt"}, Content: content})
	}
	f := NewFacts(s, time.Time{}, 0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	certs := storedCerts(f.Entries)
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 1 {
		t.Errorf("%d MiB for %d places", took, places)
	}
	if len(certs) != 2 || certs[0].Cert != b || certs[1].Cert != a {
		t.Fatalf("%v", certs)
	}
	for _, c := range certs {
		if len(c.Entries) != places || cap(c.Entries) != places {
			t.Fatalf("%s: %d places", c.Subject, len(c.Entries))
		}
		for i, h := range c.Entries {
			if h != &f.Entries[i] {
				t.Fatalf("%s: place %d is %s", c.Subject, i, h.At)
			}
		}
	}
}
