package ui

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	// leastBoardColumns and leastBoardLines are the size below which nothing is redrawn.
	leastBoardColumns, leastBoardLines = 30, 4
	// redrawn is how often elapsed times are.
	redrawn = time.Second
)

// Board prints lines that stay, and on a terminal below them one line for each thing that is
// under way, which is redrawn in place with the time that it takes. Anywhere else, and on a
// terminal that can't move its cursor, only the lines that stay are printed.
type Board struct {
	mu     sync.Mutex
	stay   io.Writer // a screen
	live   io.Writer // past the screen, which lets no escape through; nil: nothing is redrawn
	size   func() (columns, lines int)
	now    func() time.Time
	rows   []boardRow
	footer string
	begun  time.Time
	drawn  []int // the widths of the lines that are to be erased
	paused bool
	closed bool
	stop   chan struct{}
	over   sync.WaitGroup
}

type boardRow struct {
	name, text  string
	first, last time.Time // since when there is the row, and its text
}

// NewBoard prints to out until Close.
func NewBoard(out io.Writer) *Board {
	b := &Board{stay: out, now: time.Now, stop: make(chan struct{})}
	f, ok := StreamFile(out)
	if !ok || !term.IsTerminal(int(f.Fd())) || !movesCursor(os.Getenv) {
		return b
	}
	b.size = func() (int, int) {
		columns, lines, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0, 0
		}
		return columns, lines
	}
	if !fits(b.size()) { // or its size is unknown
		return b
	}
	b.live, b.begun = f, b.now()
	b.over.Go(func() {
		tick := time.NewTicker(redrawn)
		defer tick.Stop()
		for {
			select {
			case <-b.stop:
				return
			case <-tick.C:
				b.change(func() {})
			}
		}
	})
	return b
}

// movesCursor reports whether a terminal does what escapes say.
func movesCursor(env func(string) string) bool { return env("TERM") != "dumb" && env("TERM") != "" }

// fits reports whether rows are readable on a terminal.
func fits(columns, lines int) bool { return columns >= leastBoardColumns && lines >= leastBoardLines }

// Live reports whether rows are seen.
func (b *Board) Live() bool { return b.live != nil }

// Print writes lines that stay, above the rows.
func (b *Board) Print(text string) {
	b.change(func() { _, _ = io.WriteString(b.stay, text) })
}

// Set says what is done in a row. A new one comes last.
func (b *Board) Set(name, text string) {
	b.change(func() {
		for i := range b.rows {
			if b.rows[i].name == name {
				b.rows[i].text, b.rows[i].last = text, b.now()
				return
			}
		}
		b.rows = append(b.rows, boardRow{name, text, b.now(), b.now()})
	})
}

// Drop takes a row away.
func (b *Board) Drop(name string) {
	b.change(func() {
		for i := range b.rows {
			if b.rows[i].name == name {
				b.rows = append(b.rows[:i:i], b.rows[i+1:]...)
				return
			}
		}
	})
}

// Footer is the line below the rows, before the time since the beginning.
func (b *Board) Footer(text string) { b.change(func() { b.footer = text }) }

// Hold takes the rows away until Release: the user is asked.
func (b *Board) Hold() { b.change(func() { b.paused = true }) }

// Release draws them again.
func (b *Board) Release() { b.change(func() { b.paused = false }) }

// Close takes the rows away. What is printed later stays, too.
func (b *Board) Close() {
	b.change(func() {
		if !b.closed {
			close(b.stop)
		}
		b.closed = true
	})
	b.over.Wait()
}

// change erases what is drawn, does something, and draws again.
func (b *Board) change(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.live == nil {
		do()
		return
	}
	columns, lines := b.size()
	b.erase(columns, lines)
	do()
	b.draw(columns, lines)
}

// erase empties the lines that were drawn. On a terminal that was made narrower since, each of
// them may have become several.
func (b *Board) erase(columns, lines int) {
	up := 0
	for _, width := range b.drawn {
		up += max((width+columns-1)/max(columns, 1), 1)
	}
	b.drawn = nil
	if up = min(up, max(lines-1, 0)); up > 0 {
		Printf(b.live, "\x1b[%dA\r\x1b[J", up)
	}
}

// draw writes the rows that fit, and below them the footer. The cursor stays below them all:
// whoever kills the program finds a prompt on a line of its own.
func (b *Board) draw(columns, lines int) {
	if b.closed || b.paused || !fits(columns, lines) || len(b.rows) == 0 && b.footer == "" {
		return
	}
	rows := b.rows
	most := lines - 2 // the footer, and where the cursor is
	hidden := 0
	if len(rows) > most {
		hidden = len(rows) - most + 1
		rows = rows[:most-1]
	}
	width := 0
	for _, r := range rows {
		width = max(width, columnsIn(Clean(r.name)))
	}
	width = min(width, columns/3)
	var out []string
	for _, r := range rows {
		took := Elapsed(b.now().Sub(r.last))
		if whole := Elapsed(b.now().Sub(r.first)); whole != took {
			took += " of " + whole
		}
		lead := "… " + Padded(Clean(r.name), width) + "  "
		out = append(out, lead+Padded(Clean(OneLine(r.text)), max(columns-1-columnsIn(lead)-columnsIn(took)-2, 1))+"  "+took)
	}
	if hidden > 0 {
		out = append(out, fmt.Sprintf("… %d more", hidden))
	}
	if b.footer != "" {
		out = append(out, Elapsed(b.now().Sub(b.begun))+"  "+Clean(b.footer))
	}
	var text strings.Builder
	for _, line := range out {
		line = shortened(line, columns-1)
		b.drawn = append(b.drawn, columnsIn(line))
		text.WriteString(line + "\n")
	}
	_, _ = io.WriteString(b.live, text.String())
}

// Elapsed is a duration to the second.
func Elapsed(d time.Duration) string { return d.Round(time.Second).String() }
