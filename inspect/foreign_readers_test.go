package inspect

import (
	"slices"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestWhatReadersSkipTheySkipOnceItIsMarked: a client that loads all of a bundle or none trusts no CA beside a block
// that can't be parsed, whatever of the facts was marked.
func TestWhatReadersSkipTheySkipOnceItIsMarked(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	ca := pkitest.NewCA("kubelet-ca", now, now.Add(time.Hour))
	text := slices.Concat([]byte("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"), ca.CertPEM)
	s := Snapshot{Bundles: []Bundle{{Content: pki.NewScanner().Scan(text)[0].Content}}}
	before := s.Bundles[0].Content.Skipped[0].By
	if !slices.Contains(before, pki.ReaderGoAll) {
		t.Fatalf("skipped by %q", before)
	}
	s.MarkForeign()
	for _, r := range pki.Readers() {
		want := r == pki.ReaderGo
		if loaded, skipped := s.Bundles[0].Content.LoadedBy(r); len(loaded) == 1 != want || len(skipped) == 0 != want {
			t.Errorf("%s loads %d, and skips %d", r, len(loaded), len(skipped))
		}
	}
}
