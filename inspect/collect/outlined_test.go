package collect

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestWhatOpenSSLLoadsOfANodesFileInAnOlderSnapshotIsNotKnown: an older version kept what
// left the node, and not what stayed there beside it. Of what came from elsewhere, and of
// fields of kubeconfigs, all is known.
func TestWhatOpenSSLLoadsOfANodesFileInAnOlderSnapshotIsNotKnown(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	ca := pkitest.NewCA("ca", at, at.AddDate(1, 0, 0))
	content := pki.NewScanner().Scan(ca.CertPEM)[0].Content
	places := []pki.Location{
		{Kind: pki.KindFile, Node: "worker-3", Path: "/etc/kubernetes/ca.crt"},
		{Kind: pki.KindFile, Node: "worker-3", Path: "/var/lib/kubelet/kubeconfig", Field: "clusters[0].cluster.certificate-authority-data"},
		{Kind: "ConfigMap", Namespace: "ns", Name: "ca", Key: "ca.crt"},
	}
	s := inspect.Snapshot{Taken: at}
	for _, place := range places {
		s.Bundles = append(s.Bundles, inspect.Bundle{At: place, Content: content})
	}
	var file bytes.Buffer
	if err := WriteSnapshot(&file, s); err != nil {
		t.Fatal(err)
	}
	r, _, err := gunzip(&file)
	if err != nil {
		t.Fatal(err)
	}
	now, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	older := bytes.Replace(now, []byte(`"outlined":true`), []byte(`"absent":true`), 1)
	if bytes.Equal(older, now) {
		t.Fatal("the snapshot has no mark")
	}
	for _, text := range [][]byte{now, older} {
		again, err := readSnapshot(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range again.Bundles {
			for _, by := range append(pki.Readers(), pki.ReaderUnknown) {
				loaded, skipped := b.Content.LoadedBy(by)
				known := i > 0 || &text[0] == &now[0] || by == pki.ReaderGo || by == pki.ReaderGoAll
				if known != (len(loaded) == 1) || known != (len(skipped) == 0) {
					t.Errorf("%s by %s: loads %d, skips %v", b.At, by, len(loaded), skipped)
				}
			}
		}
	}
}
