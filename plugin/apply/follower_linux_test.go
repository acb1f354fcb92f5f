package apply_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply/applytest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// onTerminal is a terminal of so many columns, and what was written to it until it is closed.
func onTerminal(t *testing.T, columns, lines uint16) (terminal *os.File, said func() string) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo terminal here: %v", err)
	}
	ask := func(f *os.File, request uintptr, value unsafe.Pointer) {
		if _, _, err := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(value)); err != 0 {
			t.Fatal(err)
		}
	}
	var locked, number int32
	ask(control, syscall.TIOCSPTLCK, unsafe.Pointer(&locked))
	ask(control, syscall.TIOCGPTN, unsafe.Pointer(&number))
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminal here: %v", err)
	}
	size := [4]uint16{lines, columns}
	ask(terminal, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	read := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(control) // it ends with an error when the terminal is closed
		read <- string(text)
	}()
	t.Cleanup(func() { _ = control.Close() })
	return terminal, func() string {
		_ = terminal.Close()
		return strings.ReplaceAll(<-read, "\r\n", "\n")
	}
}

// TestARunIsRedrawnOnATerminal: a line for the node under way, and one that stays when it is
// done. On a dumb terminal each step has its line, and there are no escapes.
func TestARunIsRedrawnOnATerminal(t *testing.T) {
	ca := pkitest.NewCA("any", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	n := plugintest.NewLiveNode(t, "worker-0")
	n.Kubelet(t, ca.CertPEM, "https://127.0.0.1:1", ca)
	for _, c := range []struct {
		name, term string
		columns    uint16
		says, not  []string
	}{
		{"redrawn", "xterm", 80, []string{"○ worker-0  look  ", "0 of 1 node done; Ctrl-C", "\x1b[J✓ worker-0  look at worker-0: done, and checked\n", "\x1b[1A\r\x1b[J\nDone."}, []string{"○ worker-0  look\n"}},
		{"too small", "xterm", 20, []string{"○ worker-0  look\n", "✓ worker-0  look: done, and checked\n", "\nDone."}, []string{"\x1b", "Ctrl-C"}},
		{"of unknown size", "xterm", 0, []string{"○ worker-0  look\n", "✓ worker-0  look: done, and checked\n", "\nDone."}, []string{"\x1b", "Ctrl-C"}},
		{"dumb", "dumb", 80, []string{"○ worker-0  look\n", "✓ worker-0  look: done, and checked\n", "\nDone."}, []string{"\x1b", "Ctrl-C"}},
	} {
		t.Setenv("XDG_STATE_HOME", t.TempDir())
		t.Setenv("TERM", c.term)
		terminal, said := onTerminal(t, c.columns, 24)
		w := applytest.OnNodes(nil, io.Discard, n)
		w.App.Streams = genericiooptions.IOStreams{In: strings.NewReader(""), Out: ui.NewScreen(terminal), ErrOut: io.Discard}
		var none plugintest.Transcript
		if _, code, _ := doing(t, w, &none, apply.DryRunNone, stepsOn(looking{n.Name, func() {}})); code != 0 {
			t.Errorf("%s: ended with %d", c.name, code)
		}
		text := said()
		_, text, _ = strings.Cut(text, "\nRun ")
		for _, want := range c.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %q", c.name, want, text)
			}
		}
		for _, never := range c.not {
			if strings.Contains(text, never) {
				t.Errorf("%s: %q in %q", c.name, never, text)
			}
		}
	}
}
