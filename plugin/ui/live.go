package ui

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/duration"
)

// LiveLine is one line of what is under way.
type LiveLine struct {
	Text string // on a terminal, where it replaces what stood there before
	// Event is what a log gets, as a line of its own; empty: nothing worth one happened.
	Event string
	// Since is when it began; its elapsed time is drawn behind the text, and goes on. Zero: it is
	// over, or has no time of its own.
	Since time.Time
}

// Live says what is under way. On a terminal each thing has one line, which is redrawn in place.
// Elsewhere, and on a dumb terminal, each event is a line that is appended.
//
// Other text goes to the same terminal only between Freeze and the next Show, or between Hold and
// Release.
type Live struct {
	mu    sync.Mutex
	plain io.Writer // where lines are appended; nil: they are redrawn
	w     io.Writer // the terminal
	size  func() (columns, rows int)
	now   func() time.Time
	color bool

	ids    []string
	lines  map[string]LiveLine
	drawn  int // lines that stand on the terminal
	paused bool
	stop   chan struct{}
}

// liveEvery is how often elapsed times are drawn again.
const liveEvery = time.Second

// NewLive shows what is under way on w. Close it.
func NewLive(w io.Writer, now func() time.Time) *Live {
	f, ok := StreamFile(w)
	if !ok || !term.IsTerminal(int(f.Fd())) || !movesCursor(os.Getenv) {
		return &Live{plain: w, now: now}
	}
	l := newLive(f, func() (int, int) {
		columns, rows, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0, 0
		}
		return columns, rows
	}, now)
	if s, ok := w.(*screen); ok {
		s.mu.Lock()
		l.color = s.color
		s.mu.Unlock()
	}
	l.stop = make(chan struct{})
	go l.tick(l.stop)
	return l
}

// newLive draws on w, which is a terminal of that size.
func newLive(w io.Writer, size func() (columns, rows int), now func() time.Time) *Live {
	return &Live{w: w, size: size, now: now, lines: map[string]LiveLine{}}
}

func (l *Live) tick(stop chan struct{}) {
	t := time.NewTicker(liveEvery)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			l.mu.Lock()
			if l.drawn > 0 {
				l.draw()
			}
			l.mu.Unlock()
		}
	}
}

// Show puts a line where the one with the same id stands, or below all others.
func (l *Live) Show(id string, line LiveLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.plain != nil {
		if line.Event != "" {
			Printf(l.plain, "%s\n", Clean(line.Event))
		}
		return
	}
	if !slices.Contains(l.ids, id) {
		l.ids = append(l.ids, id)
	}
	if l.lines[id] = line; !l.paused {
		l.draw()
	}
}

// Hold draws nothing until Release: the user is asked.
func (l *Live) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused, l.drawn = true, 0
}

// Release goes on after Hold, below what was written meanwhile.
func (l *Live) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.paused = false; l.plain == nil && len(l.ids) > 0 {
		l.draw()
	}
}

// Freeze leaves on the terminal what stands there. The next line begins below it.
func (l *Live) Freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.drawn > 0 {
		l.draw()
	}
	l.forget()
}

// Clear takes from the terminal what stands there: something says the same in full.
func (l *Live) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.drawn > 0 {
		Printf(l.w, "%s", l.up()+"\x1b[J")
	}
	l.forget()
}

// Close ends it, and leaves what stands there.
func (l *Live) Close() {
	l.Freeze()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop != nil {
		close(l.stop)
		l.stop = nil
	}
}

func (l *Live) forget() {
	l.ids, l.drawn = nil, 0
	if l.plain == nil {
		l.lines = map[string]LiveLine{}
	}
}

// up leads to the first line that is drawn.
func (l *Live) up() string {
	if l.drawn == 0 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", l.drawn)
}

// draw writes all lines in one piece, so that no other text comes between them. A line never
// wraps, and all of them fit on the terminal: the cursor could not go back over more.
func (l *Live) draw() {
	columns, rows := l.size()
	if columns <= 0 {
		columns = defaultColumns
	}
	ids, hidden := l.ids, 0
	if rows > 2 && len(ids) > rows-1 {
		hidden = len(ids) - (rows - 2)
		ids = ids[hidden:] // what began last stands at the end
	}
	var b strings.Builder
	b.WriteString(l.up())
	n := 0
	put := func(text string) {
		line := shortened(text, columns-1)
		if l.color {
			line = strings.TrimSuffix(colored(line+"\n", true), "\n")
		}
		b.WriteString(line + "\x1b[K\n")
		n++
	}
	if hidden > 0 {
		put(fmt.Sprintf("  %d more above", hidden))
	}
	for _, id := range ids {
		line := l.lines[id]
		text := Clean(line.Text)
		if !line.Since.IsZero() {
			elapsed := "  " + duration.HumanDuration(max(0, l.now().Sub(line.Since)))
			text = shortened(text, columns-1-len(elapsed)) + elapsed
		}
		put(text)
	}
	for range l.drawn - n { // the terminal became lower
		b.WriteString("\x1b[K\n")
		n++
	}
	l.drawn = n
	_, _ = io.WriteString(l.w, b.String())
}
