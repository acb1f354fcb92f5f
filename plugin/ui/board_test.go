package ui

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fakeTerminal does what a board asks of a terminal: it has lines of so many columns, breaks
// longer ones, scrolls, and moves its cursor up.
type fakeTerminal struct {
	t              *testing.T
	columns, lines int
	screen         []string // from the first line that was ever written
}

var escape = regexp.MustCompile(`^\x1b\[(\d+)A\r\x1b\[J`)

func (f *fakeTerminal) Write(p []byte) (int, error) {
	rest := string(p)
	if len(f.screen) == 0 {
		f.screen = []string{""}
	}
	for rest != "" {
		if m := escape.FindStringSubmatch(rest); m != nil {
			up, _ := strconv.Atoi(m[1])
			if up > f.lines-1 {
				f.t.Errorf("%d lines up on a terminal of %d", up, f.lines)
			}
			f.screen = append(f.screen[:len(f.screen)-1-up], "")
			rest = rest[len(m[0]):]
			continue
		}
		r := []rune(rest)[0]
		rest = rest[len(string(r)):]
		switch last := len(f.screen) - 1; {
		case r == '\n':
			f.screen = append(f.screen, "")
		case r < ' ':
			f.t.Errorf("%U reaches the terminal", r)
		case columnsIn(f.screen[last])+columnsOf(r) > f.columns:
			f.screen = append(f.screen, string(r))
		default:
			f.screen[last] += string(r)
		}
	}
	return len(p), nil
}

// shrink makes it narrower: lines that are longer become several.
func (f *fakeTerminal) shrink(columns int) {
	var out []string
	for _, line := range f.screen {
		r := []rune(line)
		for len(r) > columns {
			out, r = append(out, string(r[:columns])), r[columns:]
		}
		out = append(out, string(r))
	}
	f.columns, f.screen = columns, out
}

func boardOn(f *fakeTerminal) (*Board, *time.Time) {
	now := time.Unix(1_700_000_000, 0)
	b := &Board{stay: NewScreen(f), live: f, begun: now, stop: make(chan struct{}), now: func() time.Time { return now }, size: func() (int, int) { return f.columns, f.lines }}
	return b, &now
}

// TestABoardIsRedrawnInPlace: rows below lines that stay, with their times; at the end only
// those lines are left.
func TestABoardIsRedrawnInPlace(t *testing.T) {
	t.Parallel()
	f := &fakeTerminal{t: t, columns: 60, lines: 24}
	b, now := boardOn(f)
	b.Footer("wave workers: 0 of 2 nodes done")
	b.Set("worker-1", "CA in /etc/kubernetes/kubeconfig")
	*now = now.Add(5 * time.Second)
	b.Set("worker-1", "restart kubelet.service")
	b.Set("worker-2\x1b[2J", "wait for a heartbeat\nnext: curl x")
	*now = now.Add(65 * time.Second)
	b.Print("    a note \x1b[31m\n")
	got := strings.Join(f.screen, "\n")
	if !strings.HasPrefix(got, "    a note \\x1b[31m\n… worker-1") || !strings.Contains(got, "1m5s of 1m10s\n… worker-2\\x1b[2J") || !strings.HasSuffix(got, "1m10s  wave workers: 0 of 2 nodes done\n") || len(f.screen) != 5 {
		t.Errorf("got\n%s", got)
	}
	b.Hold()
	if got := strings.Join(f.screen, "\n"); got != "    a note \\x1b[31m\n" {
		t.Errorf("held:\n%s", got)
	}
	b.Release()
	b.Drop("worker-1")
	b.Print("✓ worker-1  done\n")
	b.Close()
	b.Close()
	b.Set("late", "text")
	b.Footer("late")
	b.Print("after\n")
	if got := strings.Join(f.screen, "\n"); got != "    a note \\x1b[31m\n✓ worker-1  done\nafter\n" {
		t.Errorf("at the end:\n%s", got)
	}
}

// TestABoardOnASmallTerminal: no more lines than there are, none that is broken, and where it
// is smaller still, none; also when it becomes so while rows are on it.
func TestABoardOnASmallTerminal(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{30, 4}, {29, 24}, {80, 3}, {31, 10}, {200, 24}, {0, 0}} {
		f := &fakeTerminal{t: t, columns: max(size[0], 1), lines: size[1]}
		b, _ := boardOn(f)
		b.size = func() (int, int) { return size[0], size[1] }
		b.Footer("wave " + strings.Repeat("long ", 50))
		for i := range 50 {
			b.Set(fmt.Sprintf("%d-%s", i, strings.Repeat("n", 253)), strings.Repeat("text ", 50))
		}
		if drawn := len(f.screen) - 1; drawn > max(size[1]-1, 0) {
			t.Errorf("%v: %d lines are drawn", size, drawn)
		}
		for _, line := range f.screen {
			if columnsIn(line) >= max(size[0], 1) && line != "" {
				t.Errorf("%v: a line has %d columns: %q", size, columnsIn(line), line)
			}
		}
		b.Close()
		if left := strings.Join(f.screen, ""); left != "" {
			t.Errorf("%v: %q is left", size, left)
		}
	}
	f := &fakeTerminal{t: t, columns: 100, lines: 24}
	b, _ := boardOn(f)
	b.Print("stays\n")
	b.Set("a", strings.Repeat("text ", 30))
	b.Set("b", strings.Repeat("text ", 30))
	f.shrink(40)
	b.Set("c", "text")
	b.Close()
	if got := strings.Join(f.screen, "\n"); got != "stays\n" {
		t.Errorf("after it became narrower:\n%s", got)
	}
}

// TestABoardElsewhere: a file, a pipe, a dumb terminal have the lines that stay, and nothing else.
func TestABoardElsewhere(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	b := NewBoard(NewScreen(&out))
	b.Set("a", "b")
	b.Footer("f")
	b.Print("stays\n")
	b.Hold()
	b.Print("too\n")
	b.Close()
	if b.Live() || out.String() != "stays\ntoo\n" {
		t.Errorf("got %q", out.String())
	}
	for name, want := range map[string]bool{"dumb": false, "": false, "xterm-256color": true} {
		if got := movesCursor(func(string) string { return name }); got != want {
			t.Errorf("TERM=%s: %v", name, got)
		}
	}
}
