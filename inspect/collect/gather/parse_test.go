package gather

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// answer makes an end marker for lines.
func answer(lines ...string) []byte {
	text := header + "\nclock 1795222537.25\nnode h k 0 sha256sum -\n" + strings.Join(lines, "\n") + "\nwalk done 1 2\ncut 0 0\nclock 1795222538\n"
	return fmt.Appendf(nil, "%send %d %x\n", text, len(text), sha256.Sum256([]byte(text)))
}

const (
	zeros = "0000000000000000000000000000000000000000000000000000000000000000"
	plain = "file R 81a4 0 0 root root 10 1 1 1 1 - " + zeros + " - - /a"
)

func TestParseIsStrict(t *testing.T) {
	good := answer(plain, "content "+zeros, "seg 0 2 ab", "key 3 4 0 sound EC%20PRIVATE%20KEY", "note shape x", "more "+zeros+" public", "spki "+zeros)
	r, err := parseOutput(good, pki.NewScanner())
	if err != nil || len(r.Files) != 1 || len(r.Files[0].Content.Keys) != 1 || len(r.Gaps) != 1 {
		t.Fatalf("%v: %+v", err, r)
	}
	for name, out := range map[string][]byte{
		"nothing":                   nil,
		"another program":           []byte("bash: sh: command not found\n"),
		"cut anywhere":              good[:len(good)/2],
		"cut before the end":        good[:bytes.LastIndex(good, []byte("end "))],
		"without its last byte":     good[:len(good)-1],
		"a byte changed":            bytes.Replace(good, []byte("seg 0 2 ab"), []byte("seg 0 2 aB"), 1),
		"a byte more":               append([]byte("x"), good...),
		"too large":                 bytes.Repeat([]byte("a\n"), maxOutput/2+1),
		"a fatal word":              []byte(header + "\nfatal no%20awk\n"),
		"another version":           bytes.Replace(good, []byte("gather 1"), []byte("gather 2"), 1),
		"an unknown record":         answer("surprise"),
		"more units than asked for": answer("unit", "unit", "unit", "unit"),
		"content without file":      answer("content " + zeros),
		"a segment without content": answer(plain, "seg 0 1 a"),
		"a segment that lies":       answer(plain, "content "+zeros, "seg 0 3 ab"),
		"a segment beyond the file": answer(plain, "content "+zeros, "seg 9 2 ab"),
		"an overflow":               answer(plain, "content "+zeros, "seg 9223372036854775807 9223372036854775807 ab"),
		"overlapping segments":      answer(plain, "content "+zeros, "seg 0 2 ab", "seg 1 2 ab"),
		"text beside a block":       answer(plain, "content "+zeros, "gap 0 6 token:"),
		"text behind marks":         answer(plain, "content "+zeros, "gap 0 6 x token"),
		"many marks":                answer(plain, "content "+zeros, "gap 0 6 "+strings.Repeat("x", 60)),
		"overlapping gaps":          answer(plain, "content "+zeros, "gap 0 2 x", "gap 1 2 x"),
		"a gap beyond the file":     answer(plain, "content "+zeros, "gap 9 2 x"),
		"content twice":             answer(plain, "content "+zeros, "content "+zeros),
		"a file twice":              answer(plain, "content "+zeros, plain),
		"a file without content":    answer(plain),
		"a partial redacted text":   answer(plain, "content "+zeros, "note redacted ", "seg 0 2 ab"),
		"a raw byte":                answer(plain, "content "+zeros, "seg 0 2 a\x00"),
		"a relative path":           answer(strings.Replace(plain, "/a", "a", 1)),
		"a missing field":           answer(strings.Replace(plain, " - - ", " - ", 1)),
		"a bad escape":              answer("none %4"),
		"a bad number":              answer(strings.Replace(plain, " 10 ", " -1 ", 1)),
		"a huge size":               answer(strings.Replace(plain, " 10 ", " 18446744073709551615 ", 1)),
		"a bad time":                answer(strings.Replace(plain, " 1 1 ", " 99999999999999 1 ", 1)),
		"a bad kind":                answer(strings.Replace(plain, "file R", "file Z", 1)),
		"a time without JSON":       answer("log 81a0 1 0 9999-12-31T23:59:59-23:59 - /a"),
		"a log of nowhere":          answer("log 81a0 1 0 - - a"),
		"a log without a number":    answer("log 81a0 x 0 - - /a"),
		"a log with a line":         answer("log 81a0 1 0 - token:%20eyJ /a"),
		"a log with a field more":   answer("log 81a0 1 0 - - - /a"),
		"a path longer than any":    answer(strings.Replace(plain, "/a", "/"+strings.Repeat("-", maxPath), 1), "content "+zeros),
		"more logs than any node":   answer(slices.Repeat([]string{"log 81a0 1 0 - - /a"}, maxRecords+1)...),
		"more flags than any":       answer(slices.Repeat([]string{"flag a b 0"}, maxRecords+1)...),
		"two sizes for one sum":     answer(plain, "content "+zeros, strings.NewReplacer(" 10 ", " 11 ", "/a", "/b").Replace(plain)),
	} {
		if r, err := parseOutput(out, pki.NewScanner()); err == nil {
			t.Errorf("%s: no error, but %+v", name, r)
		}
	}
}

type answers struct {
	out []byte
	err error
}

func (a answers) Run(context.Context, io.Reader, ...string) ([]byte, error) { return a.out, a.err }
func (a answers) Path(p string) string                                      { return p }

func TestReadBelievesNobody(t *testing.T) {
	read := func(out []byte, err error) error {
		_, err = Read(t.Context(), answers{out, err}, pki.NewScanner(), Options{Limits: Limits{Output: 1000}})
		return err
	}
	broken := errors.New("connection reset")
	if err := read(nil, broken); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := read(answer(plain)[:100], broken); !errors.Is(err, broken) || !errors.Is(err, errIncomplete) {
		t.Error(err)
	}
	if err := read(make([]byte, 2<<20), nil); err == nil || !strings.Contains(err.Error(), "at most 1000") {
		t.Error(err)
	}
	if err := read(answer("none /a"), broken); err != nil { // complete, whatever the shell ended with
		t.Error(err)
	}
}

func TestProgramTakesNoTextFromUsers(t *testing.T) {
	stdin, argv, err := buildProgram("/host", Options{Paths: []string{"/a b/$(reboot)'/*.crt"}})
	if err != nil || strings.Contains(stdin, "reboot") || argv[len(argv)-1] != "r/a b/$(reboot)'/*.crt" || argv[3] != "/host" {
		t.Errorf("%v %q", err, argv)
	}
	if n := strings.Count(gatherText+redactText+nodeText, "'"); n != 0 {
		t.Errorf("%d apostrophes in what stands between apostrophes", n)
	}
	other, _, err := buildProgram("/", Options{})
	if err != nil || other != stdin {
		t.Errorf("%v: the program is not the same for every node", err)
	}
	for _, bad := range []Options{{Paths: []string{"etc"}}, {Paths: []string{"/"}}, {Paths: []string{"/a\x00"}}, {Limits: Limits{Output: 1 << 40}}} {
		if _, _, err := buildProgram("/", bad); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
	for _, root := range []string{"", "host", "/$(x)", "/a b", "/*"} {
		if _, _, err := buildProgram(root, Options{}); err == nil {
			t.Errorf("root %q: no error", root)
		}
	}
}

// TestHalfAProgramDoesNothing cuts the program where a connection may break.
func TestHalfAProgramDoesNothing(t *testing.T) {
	root := newRoot(t)
	stdin, argv, err := buildProgram(root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	somewhere(t, func(t *testing.T, w world) {
		for i := 1; i < 40; i++ {
			n := &node{world: w, root: root, stdin: []byte(stdin[:(len(stdin)-40)*i/39])}
			if out, _ := n.Run(t.Context(), nil, argv...); len(out) > 0 {
				t.Fatalf("%d bytes of the program printed %.200q", len(n.stdin), out)
			}
		}
	})
}

// TestRecordsAreTheSameWithoutAwk compares what the shell says by itself with what awk
// makes of the same words, each character among them once.
func TestRecordsAreTheSameWithoutAwk(t *testing.T) {
	t.Parallel()
	stdin, _, err := buildProgram("/", Options{})
	if err != nil {
		t.Fatal(err)
	}
	functions, _, found := strings.Cut(stdin, "\nmain \"$@\"")
	if !found {
		t.Fatal("where does the program begin to run?")
	}
	words := []string{"", "-", "--", "-n", "/etc/kubernetes", "/etc/*/agent.crt", "ü", "a\nb", "a\tb", "\x01", "\xff"}
	for c := ' '; c <= '~'; c++ {
		words = append(words, "/a"+string(c))
	}
	inEach(t, shells(t), func(t *testing.T, w world) {
		n := &node{world: w, stdin: []byte(functions + `
			asked=0
			awk() {
				asked=$((asked + 1))
				command awk "$@"
			}
			for name; do say x "$name"; done
			[ "$asked" -lt $# ] || echo "awk is asked for all of it"
			awk "$AWK" names x "$@"`)}
		out, err := n.Run(t.Context(), nil, append([]string{"sh", "-s", "--"}, words...)...)
		lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		if err != nil || len(lines) != len(words)+1 {
			t.Fatalf("%v, %d lines for %d words\n%.2000s", err, len(lines), len(words), out)
		}
		said := strings.ReplaceAll(strings.Join(lines[:len(words)], "\n"), "\nx ", " ")
		if said != lines[len(words)] {
			t.Errorf("the shell: %s\nawk: %s", said, lines[len(words)])
		}
	})
}

func TestShellcheck(t *testing.T) {
	bin, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed")
	}
	if out, err := exec.Command(bin, "-s", "sh", "gather.sh").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(string(answer(plain, "content "+zeros, "seg 0 2 ab", "key 3 4 0 sound EC%20PRIVATE%20KEY", "bad 7 1 damaged CERTIFICATE x", "more "+zeros+" public", "spki "+zeros)))
	f.Add("log 81a0 1 0 2026-02-03T04:05:06.123456789+00:00 - /a\nunit\nunit Id a\nflag a b 1\nalias /a /b\nlost x /y\nomitted " + zeros + " 3\nwalk deep /a\nwalk stopped files")
	f.Add(plain + "\ncontent " + zeros + "\nnote redacted \nseg 0 10 0123456789")
	f.Fuzz(func(t *testing.T, text string) {
		for _, out := range [][]byte{[]byte(text), answer(text)} {
			r, err := parseOutput(out, pki.NewScanner())
			if err != nil {
				continue
			}
			for _, file := range r.Files {
				if file.Content != nil && file.Content.Text != nil && int64(len(file.Content.Text)) != file.Meta.Size {
					t.Errorf("a text of %d bytes in a file of %d", len(file.Content.Text), file.Meta.Size)
				}
			}
			facts(t, r, "node")
		}
	})
}
