package collect

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// repeated is a text as often as is said, between two others.
func repeated(begin, text string, times int, end string) io.Reader {
	many := make([]io.Reader, 0, times/1000+2)
	many = append(many, strings.NewReader(begin))
	thousand := strings.Repeat(text, 1000)
	for range times / 1000 {
		many = append(many, strings.NewReader(thousand))
	}
	return io.MultiReader(append(many, strings.NewReader(end))...)
}

// littleBounds are a hundredth of those of snapshots.
func littleBounds() snapshotBounds {
	return snapshotBounds{size: maxSnapshot, memory: 8 << 20, text: 1 << 20, members: 1000}
}

// TestWhatASnapshotTakesInMemoryIsBounded, all lists together, before they are in memory: a few
// kilobytes, packed, would be gigabytes. What is read takes so much, and is not refused for less.
func TestWhatASnapshotTakesInMemoryIsBounded(t *testing.T) { //nolint:paralleltest // it measures memory
	const memory, member = "what is in its lists takes more than 8 MiB of memory", "an object in it has more than 1000 members"
	var lists []string
	for _, list := range []string{"certificates", "contents", "objects", "bundles", "requests", "nodes", "unasked", "served", "reported", "references", "exposed", "serverLogs", "reads", "gaps", "listed"} {
		empty := "{}"
		if list == "certificates" {
			empty = `""`
		}
		lists = append(lists, fmt.Sprintf(`"%s":[%s%s]`, list, strings.Repeat(empty+",", 9_999), empty))
	}
	for name, c := range map[string]struct {
		begin, text string
		times       int
		end, want   string
	}{
		"certificates of a content":   {`{"contents":[{"certificates":[`, "0,", 600_000, "0]}]}", memory},
		"of many contents":            {`{"contents":[{}`, `,{"certificates":[` + strings.Repeat("0,", 999) + "0]}", 1000, "]}", memory},
		"contents":                    {`{"contents":[{}`, `,{}`, 100_000, "]}", memory},
		"files of a node":             {`{"nodes":[{"files":[{}`, ",{}", 300_000, "]}]}", memory},
		"of one whose name is odd":    {`{"nodes":[{"FI\u006ces":[{}`, ",{}", 300_000, "]}]}", memory},
		"of nodes that were not read": {`{"unasked":[{"files":[{}`, ",{}", 300_000, "]}]}", memory},
		"requests":                    {`{"contents":[{"requests":[{}`, ",{}", 300_000, "]}]}", memory},
		"readers of what is skipped":  {`{"contents":[{"skipped":[{"by":[""`, `,""`, 300_000, "]}]}]}", memory},
		"lists in lists":              {`{"contents":[{"skipped":[{"by":[]}`, `,{"by":[]}`, 200_000, "]}]}", memory},
		"names in a string":           {`{"contents":[{"certificates":["a\"[{",` + `"\\"`, ",0", 600_000, "]}]}", memory},
		"pods":                        {`{"status":{"staticPods":{"pods":[{}`, ",{}", 100_000, "]}}}", memory},
		"operators":                   {`{"cluster":{"operators":{"a":""`, `,"a":""`, 100_000, "}}}", member},
		"labels of objects":           {`{"objects":[{}`, `,{"labels":{"a":""},"annotations":{"a":""}}`, 30_000, "]}", memory},
		"a text":                      {`{"nodes":[{"name":"`, "aaaaaaaaaa", 200_000, `"}]}`, "a text in it has more than 1048576 bytes"},
		"all lists":                   {"{" + strings.Join(lists, ","), "", 0, "}", memory},
	} {
		before := allocated()
		_, err := readSnapshotWithin(repeated(c.begin, c.text, c.times, c.end), littleBounds())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if took := (allocated() - before) >> 20; took > 32 {
			t.Errorf("%s: %d MB were allocated", name, took)
		}
	}
	for name, c := range map[string]struct {
		begin, text string
		times       int
	}{
		"files of a node": {`{"nodes":[{"files":[{}`, ",{}", 15_000},
		"objects":         {`{"objects":[{}`, `,{"labels":{"a":""}}`, 12_000},
		"certificates":    {`{"contents":[{"certificates":[0`, ",0", 400_000},
	} {
		_, err := readSnapshotWithin(repeated(c.begin, c.text, c.times, ""), littleBounds())
		if err == nil || strings.Contains(err.Error(), "memory") {
			t.Errorf("fewer %s: %v", name, err)
		}
	}
}

// TestALargeClustersSnapshotIsWithinItsBounds, whose parts are counted here as they are in a file of a
// thousandth of its nodes, namespaces and so on.
func TestALargeClustersSnapshotIsWithinItsBounds(t *testing.T) {
	t.Parallel()
	var s inspect.Snapshot
	content := &pki.Content{}
	for i := range 500 { // places in objects
		o := &inspect.Object{Kind: "Secret", Namespace: "namespace", Name: fmt.Sprintf("name-%d", i), Labels: map[string]string{}, Annotations: map[string]string{}}
		for k := range 5 {
			o.Labels[fmt.Sprintf("example.com/label-%d", k)], o.Annotations[fmt.Sprintf("example.com/annotation-%d", k)] = "a value", "another value of an annotation"
		}
		s.Bundles = append(s.Bundles, inspect.Bundle{At: pki.Location{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Key: "tls.crt"}, Object: o, Content: content})
	}
	for i := range 5 { // nodes
		n := inspect.Node{Name: fmt.Sprintf("worker-%d.example.com", i), Via: "ssh"}
		for k := range 80 {
			n.Files = append(n.Files, inspect.NodeFile{Path: fmt.Sprintf("/etc/kubernetes/static-pod-resources/certs/%d/tls.crt", k), Mode: 0o600, Modified: time.Unix(0, 0).UTC(), SHA256: pki.FingerprintOf(nil), Whole: true})
			s.Bundles = append(s.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: n.Name, Path: n.Files[k].Path}, Content: content})
		}
		s.Nodes = append(s.Nodes, n)
	}
	bounds := boundsOfSnapshots()
	bounds.memory /= 1000
	var out bytes.Buffer
	if err := writeSnapshot(&out, s, bounds); err != nil {
		t.Fatal(err)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestNoSnapshotIsWrittenWithMoreThanIsRead, in its inner lists too.
func TestNoSnapshotIsWrittenWithMoreThanIsRead(t *testing.T) {
	t.Parallel()
	n := inspect.Node{Name: "a", Files: make([]inspect.NodeFile, 30_000)}
	for i := range n.Files {
		n.Files[i].Modified = time.Unix(0, 0).UTC()
	}
	const want = "the snapshot would be one that no certrot reads: what is in its lists takes more than 8 MiB of memory"
	if err := writeSnapshot(io.Discard, inspect.Snapshot{Nodes: []inspect.Node{n}}, littleBounds()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	n.Files = n.Files[:15_000]
	var out bytes.Buffer
	if err := writeSnapshot(&out, inspect.Snapshot{Nodes: []inspect.Node{n}}, littleBounds()); err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readSnapshotWithin(plain, littleBounds()); err != nil {
		t.Error(err)
	}
}

// TestALongSentenceOfASnapshotIsForeign, whatever it begins with.
func TestALongSentenceOfASnapshotIsForeign(t *testing.T) {
	t.Parallel()
	long := "context " + strings.Repeat("a", 2000)
	if got := sentence("Reason", long); len(got) > 1100 {
		t.Errorf("%d bytes", len(got))
	}
	if short := "context " + strings.Repeat("a", 100); sentence("Reason", short) != short {
		t.Error(sentence("Reason", short))
	}
}

// TestKubeconfigsOfAFileAreAsOnANode: a file may repeat a path, or a cluster's name, some thousand times, and each
// would be a problem of its own.
func TestKubeconfigsOfAFileAreAsOnANode(t *testing.T) {
	t.Parallel()
	const path, others = "/etc/kubernetes/kubeconfig", "/var/lib/kubelet/kubeconfig"
	cluster := inspect.KubeconfigCluster{Name: "c", Server: "https://api-int.example.com:6443", Insecure: true}
	another := cluster
	another.Name = "d"
	s := inspect.Snapshot{Nodes: []inspect.Node{{Name: "worker-0", Kubeconfigs: append(slices.Repeat([]inspect.Kubeconfig{{Path: others, Clusters: []inspect.KubeconfigCluster{cluster}}}, 4000),
		inspect.Kubeconfig{Path: path, Current: "c", Clusters: append(slices.Repeat([]inspect.KubeconfigCluster{cluster}, 4000), another)})}}}
	var file bytes.Buffer
	if err := WriteSnapshot(&file, s); err != nil {
		t.Fatal(err)
	}
	text, err := gzip.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readSnapshot(text)
	if err != nil || len(got.Nodes) != 1 || len(got.Nodes[0].Kubeconfigs) != 2 {
		t.Fatalf("%v, %d nodes", err, len(got.Nodes))
	}
	repeated, many := got.Nodes[0].Kubeconfigs[0], got.Nodes[0].Kubeconfigs[1]
	if repeated.Problem != "the snapshot has 4000 kubeconfigs of this path: the others were not looked at" || len(repeated.Clusters) != 1 {
		t.Errorf("%d clusters, %s", len(repeated.Clusters), repeated.Problem)
	}
	if many.Problem != "it can't be used as a kubeconfig: of 4001 clusters in it 3999 have the name of another one" || len(many.Clusters) != 2 || many.Clusters[1] != another {
		t.Errorf("%d clusters, %s", len(many.Clusters), many.Problem)
	}
}
