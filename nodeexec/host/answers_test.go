package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// answering is a node that gives an answer of its own.
type answering struct {
	nodeexec.Node
	out string
	err error
}

func (a answering) Name() string       { return "worker-3" }
func (a answering) Path(string) string { return "/" }
func (a answering) Run(context.Context, io.Reader, ...string) ([]byte, error) {
	return []byte(a.out), a.err
}

// tells reports whether an error tells what another one does: of a command that was
// run all but its text, which is the script's.
func tells(got, err error) bool {
	var was, is *nodeexec.RunError
	if !errors.As(err, &was) {
		return errors.Is(got, err)
	}
	return errors.As(got, &is) && is.Code == was.Code && is.Signal == was.Signal && errors.Is(is.Inner, was.Inner) && !strings.Contains(got.Error(), "umask")
}

func TestWhatIsNotKnown(t *testing.T) {
	r := RunFolder{ID: "a"}
	e := Edit{Path: "/etc/x"}
	good := "certrot-host 1\nfile regular " + strings.Repeat("0", 64) + " 3 4755 1 2 a:b c\ndone changed\nend\n"
	now, err := r.Replace(t.Context(), answering{out: good}, e)
	if err != nil || now != (File{Path: "/etc/x", Kind: Regular, Size: 3, Mode: 0o755 | os.ModeSetuid, UID: 1, GID: 2, Label: "a:b c"}) {
		t.Errorf("%+v, %v", now, err)
	}
	for i := range len(good) {
		if _, err := r.Replace(t.Context(), answering{out: good[:i]}, e); !errors.Is(err, nodeexec.ErrUnknownOutcome) {
			t.Fatalf("%q: %v", good[:i], err)
		}
	}
	for _, out := range []string{good + good, "x" + good, strings.Replace(good, "done changed\n", "", 1), strings.Replace(good, "regular", "odd", 1), strings.Replace(good, " 3 ", " -3 ", 1),
		strings.Replace(good, " 4755 ", " 999 ", 1), strings.Replace(good, "00", "0g", 1), strings.Replace(good, "done changed", "done", 1), "certrot-host 1\nfail unknown x\nend\n"} {
		if _, err := r.Replace(t.Context(), answering{out: out}, e); !errors.Is(err, nodeexec.ErrUnknownOutcome) {
			t.Errorf("%q: %v", out, err)
		}
	}
	lost := fmt.Errorf("the line is cut: %w", nodeexec.ErrUnknownOutcome)
	for err, unknown := range map[error]bool{
		lost:                                         true,
		&nodeexec.RunError{Code: 127}:                false,
		&nodeexec.RunError{Code: 125}:                false,
		&nodeexec.RunError{Code: 2}:                  true,
		&nodeexec.RunError{Code: 137}:                true,
		errors.New("nothing was sent"):               false,
		&nodeexec.RunError{Code: -1, Signal: "KILL"}: true,
		&nodeexec.RunError{Code: -1, Inner: lost}:    true,
		&nodeexec.RunError{Code: -1, Inner: errors.New("not connected")}: false,
	} {
		_, got1 := r.Replace(t.Context(), answering{err: err}, e)
		got2 := r.Restart(t.Context(), answering{err: err}, "a.service")
		for _, got := range []error{got1, got2} {
			if !tells(got, err) || errors.Is(got, nodeexec.ErrUnknownOutcome) != unknown {
				t.Errorf("%v becomes %v", err, got)
			}
		}
		if _, got := Look(t.Context(), answering{err: err}, "/x"); !tells(got, err) {
			t.Errorf("%v becomes %v", err, got)
		}
	}
	_, err = r.Replace(t.Context(), answering{out: "certrot-host 1\nfail failed \x1b[2Jred\xff\nend\n"}, e)
	if err == nil || strings.Contains(err.Error(), "\x1b") || !utf8.ValidString(err.Error()) {
		t.Errorf("%q", err)
	}
}

func TestNoBytesOfAFileLeaveTheNode(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		p := newPlace(t, content)
		spy := &listening{testNode: w.node(t)}
		for range 2 {
			_, _ = p.run.Replace(t.Context(), spy, p.edit(content, 0, 1, "x"))
			_, _ = p.run.Replace(t.Context(), spy, p.edit(content, 0, 99999, "x"))
			_, _ = p.run.Backups(t.Context(), spy)
			_, _ = p.run.Restore(t.Context(), spy, p.file)
			_, _ = Look(t.Context(), spy, p.file)
			_ = os.Chmod(p.file, 0)
		}
		if len(spy.heard) == 0 || bytes.Contains(spy.heard, []byte("secret-token")) {
			t.Errorf("heard %q", spy.heard)
		}
	})
}

type listening struct {
	*testNode
	heard []byte
}

func (l *listening) Run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	out, err := l.testNode.Run(ctx, stdin, argv...)
	l.heard = append(l.heard, out...)
	if err != nil {
		l.heard = append(l.heard, err.Error()...)
	}
	return out, err
}

func FuzzAnswers(f *testing.F) {
	zeros := strings.Repeat("0", 64)
	f.Add("file regular " + zeros + " 3 644 1 2 ?\ndone same")
	f.Add("entry " + zeros + " 3 644 1 2 ?\npath /etc/x y \nafter " + zeros + " " + zeros + "\ndone same")
	f.Add("run a 17 3\ndone same")
	f.Add("now 17.5\nId=a\nLoadState=loaded\nActiveState=a\nSubState=b\nMainPID=1\nNeedDaemonReload=no\nActiveEnterTimestamp=Fri 2026-11-20 10:00:00 UTC\ndone same")
	f.Fuzz(func(_ *testing.T, text string) {
		a, err := parseAnswer("certrot-host 1\n" + text + "\nend\n")
		if err != nil {
			return
		}
		_ = a.failure()
		_, _ = parseEntries(a.lines)
		_, _ = parseRuns(a.lines)
		_, _ = parseUnit(a.lines)
		for _, line := range a.lines {
			_, _ = parseFile("/x", line)
		}
	})
}
