package collect

import (
	"bytes"
	"io"
	"runtime"
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
	for range times / 1000 {
		many = append(many, strings.NewReader(strings.Repeat(text, 1000)))
	}
	return io.MultiReader(append(many, strings.NewReader(end))...)
}

// TestASnapshotsInnerListsAreBounded before they are in memory: a few hundred kilobytes, packed, would
// be gigabytes.
func TestASnapshotsInnerListsAreBounded(t *testing.T) { //nolint:paralleltest // it measures memory
	const inner, member, all = "the lists in its elements hold more than 4000000 elements", "an object in it has more than 100000 members", "its objects have more than 20000000 members"
	for name, c := range map[string]struct {
		begin, text string
		times       int
		end, want   string
	}{
		"certificates of a content":  {`{"contents":[{"certificates":[`, "0,", 50_000_000, "0]}]}", inner},
		"of many contents":           {`{"contents":[{}`, `,{"certificates":[` + strings.Repeat("0,", 999) + "0]}", 100_000, "]}", inner},
		"files of a node":            {`{"nodes":[{"files":[{}`, ",{}", 30_000_000, "]}]}", inner},
		"readers of what is skipped": {`{"contents":[{"skipped":[{"by":[""`, `,""`, 30_000_000, "]}]}]}", inner},
		"lists in lists":             {`{"contents":[{"skipped":[{"by":[]}`, `,{"by":[]}`, 20_000_000, "]}]}", inner},
		"names in a string":          {`{"contents":[{"certificates":["a\"[{",` + `"\\"`, ",0", 30_000_000, "]}]}", inner},
		"operators":                  {`{"cluster":{"operators":{"a":""`, `,"a":""`, 10_000_000, "}}}", member},
		"labels of objects":          {`{"objects":[{}`, `,{"labels":{` + strings.Repeat(`"a":"",`, 999) + `"a":""}}`, 30_000, "]}", all},
	} {
		before := allocated()
		_, err := readSnapshot(repeated(c.begin, c.text, c.times, c.end))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if took := (allocated() - before) >> 20; took > 1500 {
			t.Errorf("%s: %d MB were allocated", name, took)
		}
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
	n := inspect.Node{Name: "a", Files: make([]inspect.NodeFile, maxInner+1)}
	for i := range n.Files {
		n.Files[i].Modified = time.Unix(0, 0).UTC()
	}
	if err := WriteSnapshot(io.Discard, inspect.Snapshot{Nodes: []inspect.Node{n}}); err == nil || !strings.Contains(err.Error(), "the lists in its elements hold more than") && !strings.Contains(err.Error(), "bytes unpacked") {
		t.Errorf("%v", err)
	}
	n.Files = n.Files[:1000]
	var out bytes.Buffer
	if err := WriteSnapshot(&out, inspect.Snapshot{Nodes: []inspect.Node{n}}); err != nil {
		t.Fatal(err)
	}
	if _, err := (File{Path: "-", Stdin: &out, Scanner: pki.NewScanner()}).Read(); err != nil {
		t.Error(err)
	}
}

// TestALongSentenceOfASnapshotIsForeign, whatever it begins with.
func TestALongSentenceOfASnapshotIsForeign(t *testing.T) {
	t.Parallel()
	long := "context " + strings.Repeat("a", 2000)
	if got := sentence(long); len(got) > 1100 {
		t.Errorf("%d bytes", len(got))
	}
	if short := "context " + strings.Repeat("a", 100); sentence(short) != short {
		t.Error(sentence(short))
	}
}
