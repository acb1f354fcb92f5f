package collect

import (
	"bytes"
	"compress/gzip"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

func TestASnapshotKeepsWhichReadersSkipACA(t *testing.T) {
	from := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, form := range pkitest.Forms(pkitest.NewCA("ca", from, from.AddDate(1, 0, 0)).CertPEM) {
		content := pki.NewScanner().Scan(form.Text)[0].Content
		var file bytes.Buffer
		at := pki.Location{Kind: pki.KindFile, Node: "n1", Path: "/etc/kubernetes/kubelet-ca.crt"}
		if err := WriteSnapshot(&file, inspect.Snapshot{Bundles: []inspect.Bundle{{At: at, Content: content}}}); err != nil {
			t.Fatal(err)
		}
		plain, err := gzip.NewReader(&file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := readSnapshot(plain)
		if err != nil {
			t.Fatal(err)
		}
		for reader, want := range map[pki.Reader]bool{pki.ReaderGo: form.Go, pki.ReaderOpenSSL: form.OpenSSL} {
			if loaded, _ := s.Bundles[0].Content.LoadedBy(reader); (len(loaded) == 1) != want {
				t.Errorf("%s: %s loads %d", form.Name, reader, len(loaded))
			}
		}
	}
}
