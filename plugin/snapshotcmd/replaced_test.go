package snapshotcmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// TestASnapshotReplacesOnlyASnapshot: a file of another kind stays, byte for byte, and it is said before
// anything is read.
func TestASnapshotReplacesOnlyASnapshot(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"a text": "previous", "half a gzip": "\x1f\x8b\x08", "a document": `{"apiVersion":"certrot/v1alpha2","kind":"Plan"}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "my file")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, refused := (&snapshotFlags{output: path}).toOptions(t.Context())
			for when, err := range map[string]error{"write": (&snapshotOptions{output: path}).write(t.Context(), inspect.Snapshot{}), "toOptions": refused} {
				if err == nil || !strings.Contains(err.Error(), "is no snapshot, and is not replaced") {
					t.Errorf("%s: %v", when, err)
				}
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != content {
				t.Errorf("it is %q now, %v", now, err)
			}
		})
	}
}

// TestWhatIsWrittenIsSaid: its size, the nodes in it, and what it replaces.
func TestWhatIsWrittenIsSaid(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.certrot")
	if err := os.WriteFile(path, nil, 0o600); err != nil { // as mktemp does
		t.Fatal(err)
	}
	worker := inspect.Node{Name: "worker-1", Via: "ssh", Role: catalog.RoleWorker}
	for _, c := range []struct {
		nodes []inspect.Node
		want  string
	}{
		{nil, "; no node)\n"},
		{[]inspect.Node{worker, {Name: "worker-2"}}, "; 1 node, no control plane node), in place of the snapshot of 2026-03-01 12:00Z\n"},
		{[]inspect.Node{worker, {Name: "master-0", Via: "ssh", Role: catalog.RoleMaster}}, "; 2 nodes, 1 control plane node among them), in place of the snapshot of 2026-03-01 12:00Z\n"},
	} {
		var said bytes.Buffer
		o := &snapshotOptions{output: path, app: cli.App{Streams: genericiooptions.IOStreams{ErrOut: &said}}}
		if err := o.write(t.Context(), inspect.Snapshot{Taken: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Nodes: c.nodes}); err != nil {
			t.Fatal(err)
		}
		if text := said.String(); !strings.HasPrefix(text, "wrote "+path+" (") || !strings.HasSuffix(text, c.want) || !strings.Contains(text, " B; ") {
			t.Errorf("%q, want %q", text, c.want)
		}
	}
}
