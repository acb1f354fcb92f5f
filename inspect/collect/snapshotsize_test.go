package collect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// TestNoSnapshotIsWrittenThatIsNotRead: a file that no certrot reads again is found out when it is
// needed, and the cluster may be gone then.
func TestNoSnapshotIsWrittenThatIsNotRead(t *testing.T) {
	t.Parallel()
	ca := pkitest.NewCA("ca", time.Unix(0, 0), time.Unix(1<<31, 0))
	cert := pki.NewScanner().Scan(ca.CertPEM)[0].Content.Certs[0]
	s := inspect.Snapshot{Bundles: []inspect.Bundle{
		{At: pki.Location{Kind: "ConfigMap", Namespace: "few", Name: "a", Key: "k"}, Content: &pki.Content{Certs: []*pki.Cert{cert}}},
		{At: pki.Location{Kind: "ConfigMap", Namespace: "many", Name: "a", Key: "k"}, Content: &pki.Content{Certs: []*pki.Cert{cert, cert}}},
	}}
	var out bytes.Buffer
	if err := writeSnapshot(&out, s, 100_000); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	err := writeSnapshot(&out, s, 500)
	if err == nil || !strings.Contains(err.Error(), "more than 500 bytes unpacked") || !strings.Contains(err.Error(), "most certificates are in: many (2), few (1)") {
		t.Errorf("%v", err)
	}
}

// TestSnapshotsNameSoManyNodes as a cluster has, in their places too.
func TestSnapshotsNameSoManyNodes(t *testing.T) {
	t.Parallel()
	var s inspect.Snapshot
	for i := range 10_001 {
		s.Bundles = append(s.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: fmt.Sprintf("n%d", i), Path: "/a"}, Content: &pki.Content{}})
	}
	const want = "names 10001 nodes, and no cluster has more than 10000"
	if err := WriteSnapshot(io.Discard, s); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("written: %v", err)
	}
	raw, err := json.Marshal(packSnapshot(s))
	if err != nil {
		t.Fatal(err)
	}
	nodes := strings.Builder{}
	for i := range 10_001 {
		fmt.Fprintf(&nodes, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n%d"}}`+"\n---\n", i)
	}
	for _, text := range []string{string(raw), nodes.String()} {
		if _, err := (File{Path: "-", Stdin: strings.NewReader(text), Scanner: pki.NewScanner()}).Read(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("read: %v", err)
		}
	}
	s.Bundles = s.Bundles[1:]
	if err := WriteSnapshot(io.Discard, s); err != nil {
		t.Error(err)
	}
}
