package collect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
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
	if err := writeSnapshot(&out, s, snapshotBounds{size: 100_000, memory: 1 << 20, text: 1 << 20, members: 100}); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	// The certificate that both have is in the file once, at its first place.
	err := writeSnapshot(&out, s, snapshotBounds{size: 500, memory: 1 << 20, text: 1 << 20, members: 100})
	if err == nil || !strings.Contains(err.Error(), "more than 500 bytes unpacked") || !strings.Contains(err.Error(), "most bytes are of: few (") {
		t.Errorf("%v", err)
	}
}

// TestARefusedSnapshotNamesTheNode of which most of it is, and not a namespace that has little.
func TestARefusedSnapshotNamesTheNode(t *testing.T) {
	t.Parallel()
	place := inspect.Bundle{At: pki.Location{Kind: "Secret", Namespace: "openshift-etcd", Name: "a"}, Content: &pki.Content{}}
	many := func(n int) (all []inspect.Kubeconfig) {
		for i := range n {
			all = append(all, inspect.Kubeconfig{Path: fmt.Sprint("/etc/kubernetes/", i), Text: bytes.Repeat([]byte("x"), 1000)})
		}
		return all
	}
	for name, c := range map[string]struct {
		s    inspect.Snapshot
		size int
		want string
	}{
		"texts":        {inspect.Snapshot{Nodes: []inspect.Node{{Name: "master-0", Kubeconfigs: many(2)}, {Name: "worker-1", Kubeconfigs: many(200)}}}, 100_000, "100000 bytes unpacked"},
		"gaps":         {inspect.Snapshot{Gaps: slices.Repeat([]inspect.Gap{{What: "node/worker-1", Where: "/a", Reason: "not read"}}, 2000)}, 100_000, "100000 bytes unpacked"},
		"lists":        {inspect.Snapshot{Nodes: []inspect.Node{{Name: "worker-1", Processes: make([]inspect.Process, 20_000)}}}, 10 << 20, "more than 1 MiB of memory"},
		"certificates": {inspect.Snapshot{Bundles: slices.Repeat([]inspect.Bundle{{At: pki.Location{Kind: pki.KindFile, Node: "worker-1", Path: "/a"}, Content: &pki.Content{Certs: make([]*pki.Cert, 2001)}}}, 2000)}, 10 << 20, "more than 4000000 certificates"},
		"keys": {inspect.Snapshot{Bundles: append(slices.Repeat([]inspect.Bundle{{At: pki.Location{Kind: pki.KindFile, Node: "worker-1", Path: "/a"}, Content: &pki.Content{Keys: make([]pki.Key, 2001)}}}, 2000),
			inspect.Bundle{At: place.At, Content: &pki.Content{Certs: make([]*pki.Cert, 9)}})}, 10 << 20, "more than 4000000 certificates"},
	} {
		c.s.Bundles = append(c.s.Bundles, place)
		err := writeSnapshot(io.Discard, c.s, snapshotBounds{size: c.size, memory: 1 << 20, text: 1 << 20, members: 100})
		if err == nil || !strings.Contains(err.Error(), c.want) || !regexp.MustCompile(`; most (bytes are of|of them are in): node/worker-1 \(\d+\)`).MatchString(err.Error()) {
			t.Errorf("%s: %v", name, err)
		}
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

// TestSnapshotsHoldSoMuch as a cluster's places do: a content that many places share is stored
// once, so that a few kilobytes would be billions of certificates.
func TestSnapshotsHoldSoMuch(t *testing.T) {
	t.Parallel()
	der := pkitest.NewCA("ca", time.Unix(0, 0), time.Unix(1<<31, 0)).Cert.Raw
	file := func(places int, c fileContent) *snapshotFile {
		f := &snapshotFile{APIVersion: snapshotAPIVersion, Kind: snapshotKind, Certificates: [][]byte{der}, Contents: []fileContent{c}, Outlined: true}
		for i := range places {
			f.Bundles = append(f.Bundles, fileBundle{At: fmt.Sprintf("ConfigMap/n%d/c[ca.crt]", i)})
		}
		return f
	}
	const want = "hold more than 4000000 certificates, keys and the like"
	for name, c := range map[string]fileContent{
		"certificates": {Certificates: make([]int, 1001)},
		"requests":     {Requests: slices.Repeat([]*pki.Request{{}}, 1001)},
		"keys":         {Keys: make([]fileKey, 1001)},
		"lists":        {CRLs: make([]fileCRL, 1001)},
		"keystores":    {Locked: make([]fileLocked, 1001)},
		"bad blocks":   {Bad: make([]fileBad, 1001)},
		"skipped":      {Skipped: make([]fileSkipped, 1001)},
		"readers":      {Skipped: []fileSkipped{{By: make([]pki.Reader, 16_016)}}},
	} {
		f := file(4000, c)
		if _, err := unpackSnapshot(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s, read: %v", name, err)
		}
		f.Bundles = f.Bundles[1000:]
		s, err := unpackSnapshot(f)
		if err != nil {
			t.Errorf("%s, fewer of them: %v", name, err)
		}
		s.Bundles = append(s.Bundles, s.Bundles[:1000]...)
		if err := WriteSnapshot(io.Discard, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s, written: %v", name, err)
		}
	}
	if _, err := unpackSnapshot(file(20_000, fileContent{Certificates: make([]int, 150)})); err != nil {
		t.Errorf("the CAs of a system in every namespace of a large cluster, twice: %v", err)
	}
}

// TestAnOlderSnapshotsFilesShareTheirContents: what is added for each file of a node is added once.
func TestAnOlderSnapshotsFilesShareTheirContents(t *testing.T) {
	t.Parallel()
	f := &snapshotFile{Certificates: [][]byte{pkitest.NewCA("ca", time.Unix(0, 0), time.Unix(1<<31, 0)).Cert.Raw}, Contents: []fileContent{{Certificates: []int{0}}}}
	for i := range 3 {
		f.Bundles = append(f.Bundles, fileBundle{At: pki.Location{Kind: pki.KindFile, Node: fmt.Sprintf("n%d", i), Path: "/ca.crt"}.String()})
	}
	f.Bundles = append(f.Bundles, fileBundle{At: "ConfigMap/n/c[ca.crt]"})
	s, err := unpackSnapshot(f)
	if err != nil {
		t.Fatal(err)
	}
	if s.Bundles[0].Content != s.Bundles[2].Content || len(s.Bundles[2].Content.Skipped) != 1 || len(s.Bundles[3].Content.Skipped) != 0 {
		t.Errorf("%v", s.Bundles)
	}
}
