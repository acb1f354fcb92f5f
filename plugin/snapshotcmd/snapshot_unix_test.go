//go:build unix

package snapshotcmd

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// A pipe stands for /dev/null, which a test must not risk: `snapshot -o /dev/null`, run
// by root, left a regular file in the place of the device.
func TestASnapshotGoesIntoADeviceAndDoesNotReplaceIt(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "device")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	// Open for both: neither end waits for the other.
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	if err := (&snapshotOptions{output: pipe}).write(t.Context(), inspect.Snapshot{}); err != nil {
		t.Fatal(err)
	}
	if at, err := os.Lstat(pipe); err != nil || at.Mode()&os.ModeNamedPipe == 0 {
		t.Fatalf("the pipe was replaced: %v, %v", at.Mode(), err)
	}
	begin := make([]byte, 2)
	if _, err := io.ReadFull(reader, begin); err != nil || !bytes.Equal(begin, []byte{0x1f, 0x8b}) {
		t.Errorf("got % x, %v; want the first bytes of a snapshot", begin, err)
	}
}

func TestASnapshotFollowsALink(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, link := filepath.Join(folder, "file"), filepath.Join(folder, "link")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if err := (&snapshotOptions{output: link, app: cli.App{Streams: genericiooptions.IOStreams{ErrOut: io.Discard}}}).write(t.Context(), inspect.Snapshot{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		t.Errorf("the file that the link names was not written: %q, %v", text, err)
	}
	if at, err := os.Lstat(link); err != nil || at.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", at.Mode(), err)
	}
}

func TestASnapshotLeavesALinkThatLeadsNowhere(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	link := filepath.Join(folder, "link")
	if err := os.Symlink(filepath.Join(folder, "none"), link); err != nil {
		t.Fatal(err)
	}
	_, refused := (&snapshotFlags{output: link}).toOptions(t.Context())
	for name, err := range map[string]error{"write": (&snapshotOptions{output: link}).write(t.Context(), inspect.Snapshot{}), "toOptions": refused} {
		if err == nil || !strings.Contains(err.Error(), "it is a link whose target can't be followed") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if at, err := os.Lstat(link); err != nil || at.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", at, err)
	}
}
