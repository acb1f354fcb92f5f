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
	set := func(name, text string) { b.Set(name, Row{Name: name, Text: text, Since: *now}) }
	set("worker-1", "CA in /etc/kubernetes/kubeconfig")
	*now = now.Add(5 * time.Second)
	set("worker-1", "restart kubelet.service")
	set("worker-2\x1b[2J", "wait for a heartbeat\nnext: curl x")
	*now = now.Add(65 * time.Second)
	b.Print("    a note \x1b[31m\n")
	got := strings.Join(f.screen, "\n")
	if !strings.HasPrefix(got, "    a note \\x1b[31m\n○ worker-1") || !strings.Contains(got, "1m5s of 1m10s\n○ worker-2\\x1b[2J") || !strings.HasSuffix(got, "1m10s  wave workers: 0 of 2 nodes done\n") || len(f.screen) != 5 {
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
	set("late", "text")
	b.Footer("late")
	b.Print("after\n")
	if got := strings.Join(f.screen, "\n"); got != "    a note \\x1b[31m\n✓ worker-1  done\nafter\n" {
		t.Errorf("at the end:\n%s", got)
	}
}

// TestRowsOfABoardStay: what is kept stays above what comes later, what is cleared does not, and
// what is written while the board is held is not drawn over.
func TestRowsOfABoardStay(t *testing.T) {
	t.Parallel()
	f := &fakeTerminal{t: t, columns: 40, lines: 24}
	b, now := boardOn(f)
	b.Set("bundle", Row{Text: "○ bundle", Since: *now})
	*now = now.Add(65 * time.Second)
	b.Set("trust", Row{Text: "○ trust  \x1b[2Jkubelet on a-node-with-a-long-name.example.com", Since: *now})
	b.Set("bundle", Row{Text: "✓ bundle"})
	if got := strings.Join(f.screen, "\n"); got != "✓ bundle\n○ trust  \\x1b[2Jkubelet…example.com  0s\n" {
		t.Errorf("got\n%s", got)
	}
	*now = now.Add(time.Minute)
	b.Keep()
	b.Set("next", Row{Text: "○ next"})
	b.Clear()
	b.Set("asked", Row{Text: "○ asked"})
	b.Hold()
	b.Set("asked", Row{Text: "✓ asked"})
	if _, err := f.Write([]byte("password: \n")); err != nil {
		t.Fatal(err)
	}
	b.Release()
	if got := f.screen; len(got) != 5 || !strings.HasSuffix(got[1], "…xample.com  1m0s") || got[2] != "password: " || got[3] != "✓ asked" {
		t.Errorf("got %q", got)
	}
	b.Close()
	b.Keep()
	if got := f.screen; len(got) != 4 || got[2] != "password: " || got[3] != "" {
		t.Errorf("at the end: %q", got)
	}
}

// TestReadingsAreDrawnOnABoard: how much was read, with the next second, below the rows of the
// board.
func TestReadingsAreDrawnOnABoard(t *testing.T) {
	t.Parallel()
	f := &fakeTerminal{t: t, columns: 60, lines: 24}
	b, now := boardOn(f)
	b.Set("trust", Row{Text: "○ trust"})
	p := StartProgress(nil, b, nil)
	p.Observe("nodes", 1)
	p.Observe("routes", 0)
	if got := strings.Join(f.screen, "\n"); got != "○ trust\n" {
		t.Errorf("at once: %q", got)
	}
	*now = now.Add(2 * time.Second)
	p.Observe("files\x1b[2J", 300)
	b.change(func() {}) // as each second
	if got := strings.Join(f.screen, "\n"); got != "○ trust\nreading: 300 files\\x1b[2J, 1 nodes  2s\n" {
		t.Errorf("got %q", got)
	}
	p.Stop()
	if got := strings.Join(f.screen, "\n"); got != "○ trust\n" {
		t.Errorf("at the end: %q", got)
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
			name := fmt.Sprintf("%d-%s", i, strings.Repeat("n", 253))
			b.Set(name, Row{Name: name, Text: strings.Repeat("text ", 50), Since: b.now()})
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
	b.Set("a", Row{Name: "a", Text: strings.Repeat("text ", 30), Since: b.now()})
	b.Set("b", Row{Text: strings.Repeat("text ", 30)})
	f.shrink(40)
	b.Set("c", Row{Text: "text"})
	b.Close()
	if got := strings.Join(f.screen, "\n"); got != "stays\n" {
		t.Errorf("after it became narrower:\n%s", got)
	}
}

// TestABoardElsewhere: a file, a pipe, a dumb terminal have the lines that stay, and nothing else.
func TestABoardElsewhere(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	b := NewBoard(NewScreen(&out), time.Now)
	b.Set("a", Row{Text: "b"})
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
