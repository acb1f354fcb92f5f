//go:build unix

package plugin

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The first Ctrl-C ends a run that waits for the other end of a pipe.
func TestAPipeWithoutAnotherEndIsLeftAtTheFirstInterrupt(t *testing.T) {
	t.Parallel()
	demo, err := filepath.Abs("../testdata/demo/okd-4.15-api-int.certrot")
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"--from":                 {"inspect", "--from", "PIPE"},
		"snapshot -o":            {"snapshot", "--from", demo, "-o", "PIPE"},
		"--ca-file":              {"fix-api-int", "--from", demo, "--dry-run=client", "--ca-file", "PIPE"},
		"--ca-file of live":      {"fix-api-int", "--ca-file", "PIPE", "--yes"},
		"--ca-file - of stdin":   {"fix-api-int", "--from", demo, "--dry-run=client", "--ca-file", "-"},
		"--ssh-inventory":        {"inspect", "nodes", "--ssh-inventory", "PIPE"},
		"--api-ca-from":          {"fix-api-int", "--api-ca-from", "ssh://core@127.0.0.1", "--ssh-inventory", "PIPE"},
		"-o custom-columns-file": {"inspect", "--from", demo, "-o", "custom-columns-file=PIPE"},
		"-o jsonpath-file":       {"inspect", "--from", demo, "-o", "jsonpath-file=PIPE"},
		"-o go-template-file":    {"inspect", "--from", demo, "-o", "go-template-file=PIPE"},
		"--template":             {"inspect", "--from", demo, "-o", "go-template-file", "--template", "PIPE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := pipe(t)
			for i := range args {
				args[i] = strings.Replace(args[i], "PIPE", path, 1)
			}
			in, _ := io.Pipe() // of which no end comes
			ctx, interrupt := context.WithCancel(t.Context())
			time.AfterFunc(300*time.Millisecond, interrupt)
			said := &bytes.Buffer{}
			ended := make(chan int, 1)
			go func() {
				ended <- Main(ctx, "v0.0.0", append([]string{"kubectl-certrot"}, args...), genericiooptions.IOStreams{In: in, Out: io.Discard, ErrOut: said})
			}()
			select {
			case code := <-ended:
				if code == 0 || !strings.Contains(said.String(), "interrupted while") {
					t.Errorf("code %d: %s", code, said)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("it still waits")
			}
		})
	}
}

// What ssh reads for one node after the other is no pipe and no device.
func TestAFileOfSSHThatIsReadOftenIsAFile(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--ssh-config", "--ssh-key", "--ssh-known-hosts"} {
		for _, path := range []string{pipe(t), "/dev/zero", t.TempDir()} {
			said := &bytes.Buffer{}
			code := Main(t.Context(), "v0.0.0", []string{"kubectl-certrot", "inspect", "nodes", "worker-1", flag, path}, genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: io.Discard, ErrOut: said})
			if code != 2 || !strings.Contains(said.String(), "error: "+flag+": "+path+" is not a file") {
				t.Errorf("%s %s: code %d: %s", flag, path, code, said)
			}
		}
	}
}

// The shell's <(…) is a pipe whose writer comes, and may come late.
func TestAPipeIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	demo, err := os.ReadFile("../testdata/demo/okd-4.15-api-int.certrot")
	if err != nil {
		t.Fatal(err)
	}
	path := pipe(t)
	go func() { // opened without waiting, a pipe that nothing reads yet is an error
		for t.Context().Err() == nil {
			if w, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
				_, _ = w.Write(demo)
				_ = w.Close()
				return
			}
			runtime.Gosched()
		}
	}()
	out, said := &bytes.Buffer{}, &bytes.Buffer{}
	Main(t.Context(), "v0.0.0", []string{"kubectl-certrot", "inspect", "--from", path, "-o", "name"}, genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: out, ErrOut: said})
	if out.Len() == 0 {
		t.Errorf("nothing was read: %s", said)
	}
}
