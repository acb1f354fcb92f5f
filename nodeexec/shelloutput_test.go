package nodeexec

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

func TestShellOutput(t *testing.T) {
	const word = "XYXYZ" // begins like itself
	for _, c := range []struct {
		name, written, passed string
		status                int // -1: no end was seen
	}{
		{"nothing at all", "", "", -1},
		{"the greeting only", "hello\n", "", -1},
		{"half a greeting", "hel", "", -1},
		{"output and no end", "hello\nout", "out", -1},
		{"output and its end", "hello\nout\nXYXYZ 7\n", "out\n", 7},
		{"no output", "hello\nXYXYZ 0\n", "", 0},
		{"output that ends without a newline", "hello\noutXYXYZ 0\n", "out", 0},
		{"output that looks like the end", "hello\nXYXYXYZXYXYZ 255\n", "XYXYXYZ", 255},
		{"half an end", "hello\noutXYXYZ 1", "out", -1},
		{"half a word", "hello\noutXYXY", "out", -1},
		{"what comes after the end", "hello\noutXYXYZ 1\nmore", "out", 1},
		{"no number", "hello\noutXYXYZ x\n", "out", -1},
		{"too large a number", "hello\noutXYXYZ 256\n", "out", -1},
	} {
		for _, size := range []int{1, 2, 3, 5, 1000} {
			var passed bytes.Buffer
			o := newShellOutput(word, &passed, false)
			for chunk := range slices.Chunk([]byte(c.written), size) {
				if n, err := o.Write(slices.Clone(chunk)); n != len(chunk) || err != nil {
					t.Fatalf("%s: write: %d, %v", c.name, n, err)
				}
			}
			got := -1
			select {
			case <-o.ended:
				got = o.status
			default:
			}
			if want := c.passed; got != c.status || passed.String() != want && !(got < 0 && strings.HasPrefix(want, passed.String())) {
				t.Errorf("%s, by %d: passed %q and status %d, want %q and %d", c.name, size, passed.String(), got, want, c.status)
			}
			if strings.Contains(c.written, "\n") && <-o.greeted != "hello" {
				t.Errorf("%s: another greeting", c.name)
			}
		}
	}
}

// A reader may wait for the very byte that looks like the beginning of the end.
func TestLiveShellOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var passed tail // which may be read at any time
		o := newShellOutput("XYXYZ", &passed, true)
		write := func(text string) {
			t.Helper()
			if _, err := o.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		wait := func() { <-time.After(2 * holdLimit); synctest.Wait() }
		write("hello\noutX")
		if string(passed.Bytes()) != "out" {
			t.Errorf("at once: %q", string(passed.Bytes()))
		}
		wait()
		if string(passed.Bytes()) != "outX" {
			t.Errorf("after a while: %q", string(passed.Bytes()))
		}
		write("X")
		wait()
		write("more")
		if string(passed.Bytes()) != "outXXmore" {
			t.Errorf("more: %q", string(passed.Bytes()))
		}
		write("XYX")
		write("YZ 7")
		wait()
		write("\n")
		if string(passed.Bytes()) != "outXXmore" {
			t.Errorf("with the end: %q", string(passed.Bytes()))
		}
		select {
		case <-o.ended:
		default:
			t.Error("no end was seen")
		}
	})
}

// An end of which the first half was taken for output is no end that was seen.
func TestLiveShellOutputCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var passed tail // which may be read at any time
		o := newShellOutput("XYXYZ", &passed, true)
		for _, part := range []string{"hello\nout", "XY", "XYZ 0\n"} {
			if _, err := o.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
			<-time.After(2 * holdLimit)
			synctest.Wait()
		}
		select {
		case <-o.ended:
			t.Errorf("an end was seen, behind %q", string(passed.Bytes()))
		default:
		}
	})
}

// TestShellScript runs the script in the shells that are here.
func TestShellScript(t *testing.T) {
	var every []byte
	for b := 1; b < 256; b++ {
		every = append(every, byte(b))
	}
	args := []string{string(every), "", " ", "\n", "a\n\n", "-n", "--", `\`, `\0101`, "%s", "'", "$HOME", "*", strings.Repeat("é", 5000)}
	for _, shell := range [][]string{{"dash"}, {"bash"}, {"bash", "--posix"}, {"busybox", "sh"}, {"ksh"}, {"zsh", "--emulate", "sh"}} {
		t.Run(strings.Join(shell, " "), func(t *testing.T) {
			program, err := exec.LookPath(shell[0])
			if err != nil {
				t.Skip(shell[0] + " is not installed")
			}
			for _, c := range []struct {
				argv   []string
				stdin  string
				want   string
				status int
			}{
				{append([]string{"printf", `%s\000`}, args...), "", strings.Join(args, "\x00") + "\x00", 0},
				{[]string{"cat"}, "what is left of stdin\n", "what is left of stdin\n", 0},
				{[]string{"sh", "-c", "exit 42"}, "", "", 42},
				{[]string{"exit"}, "", "", 127},
				{[]string{"certrot-no-such-command"}, "", "", 127},
				{[]string{"sh", "-c", "kill -KILL $$"}, "", "", 137},
			} {
				var out bytes.Buffer
				o := newShellOutput("WORD", &out, false)
				cmd := exec.Command(program, append(slices.Clone(shell[1:]), "-c", shellScriptSent(), "sh", "")...)
				// By single bytes: who reads more than a line takes what is not its own.
				cmd.Stdin = iotest.OneByteReader(strings.NewReader(string(shellArguments("WORD", c.argv)) + c.stdin))
				cmd.Stdout = o
				_ = cmd.Run() // its own status says nothing
				select {
				case <-o.ended:
				default:
					t.Fatalf("%q: no end was seen", c.argv[0])
				}
				if out.String() != c.want || o.status != c.status {
					t.Errorf("%q: status %d, want %d; %.300q", c.argv[0], o.status, c.status, out.String())
				}
			}
		})
	}
}

func TestShellScriptIsSmall(t *testing.T) {
	if n := len(shellScriptSent()); n > 700 {
		t.Errorf("%d bytes of a URL are shell.sh", n)
	}
	if strings.Contains(shellScriptSent(), "# ") {
		t.Errorf("has comments:\n%s", shellScriptSent())
	}
}
