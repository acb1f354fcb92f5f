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
//
// Other text goes to the same terminal only after Keep or Clear, before the next Set, or between
// Hold and Release.
type Board struct {
	mu     sync.Mutex
	stay   io.Writer // a screen
	live   io.Writer // past the screen, which lets no escape through; nil: nothing is redrawn
	size   func() (columns, lines int)
	now    func() time.Time
	color  bool
	rows   []boardRow
	footer string
	begun  time.Time
	drawn  []int // the widths of the lines that are to be erased
	paused bool
	closed bool
	stop   chan struct{}
	over   sync.WaitGroup
}

// Row is a thing that is under way.
type Row struct {
	Name  string // stands before the text, in a column of its own; may be empty
	Text  string
	Since time.Time // when what the text says began; zero: no time is drawn
}

type boardRow struct {
	Row
	id    string
	first time.Time // Since, when the row was new
}

// NewBoard prints to out until Close.
func NewBoard(out io.Writer, now func() time.Time) *Board {
	b := &Board{stay: out, now: now, stop: make(chan struct{})}
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
	if s, ok := out.(*screen); ok {
		s.mu.Lock()
		b.color = s.color
		s.mu.Unlock()
	}
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

// Set puts a row where the one with the same id is, else below all others.
func (b *Board) Set(id string, row Row) { b.change(func() { b.put(id, row) }) }

// set is Set, but for what changes often: it is drawn with the next second.
func (b *Board) set(id string, row Row) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.put(id, row)
}

func (b *Board) put(id string, row Row) {
	for i := range b.rows {
		if b.rows[i].id == id {
			b.rows[i].Row = row
			return
		}
	}
	b.rows = append(b.rows, boardRow{row, id, row.Since})
}

// Drop takes a row away.
func (b *Board) Drop(id string) {
	b.change(func() { b.rows = slices.DeleteFunc(b.rows, func(r boardRow) bool { return r.id == id }) })
}

// Keep makes lines that stay of all rows.
func (b *Board) Keep() {
	b.change(func() {
		if b.live != nil && !b.closed && !b.paused {
			b.write(b.lines(b.size()))
		}
		b.rows, b.footer = nil, ""
	})
}

// Clear takes all rows away: something else says the same in full.
func (b *Board) Clear() { b.change(func() { b.rows, b.footer = nil, "" }) }

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

// draw writes the rows. The cursor stays below them all: whoever kills the program finds a prompt
// on a line of its own.
func (b *Board) draw(columns, lines int) {
	if b.closed || b.paused {
		return
	}
	for _, line := range b.write(b.lines(columns, lines)) {
		b.drawn = append(b.drawn, columnsIn(line))
	}
}

// write writes lines in one piece, and returns them.
func (b *Board) write(lines []string) []string {
	var text strings.Builder
	for _, line := range lines {
		text.WriteString(line + "\n")
	}
	out := text.String()
	if b.color {
		out = colored(out, true)
	}
	_, _ = io.WriteString(b.live, out)
	return lines
}

// lines are the rows that fit, and below them the footer. None of them wraps.
func (b *Board) lines(columns, lines int) []string {
	if !fits(columns, lines) || len(b.rows) == 0 && b.footer == "" {
		return nil
	}
	rows := b.rows
	most := lines - 2 // the footer, and where the cursor is
	hidden := 0
	if len(rows) > most {
		hidden = len(rows) - most + 1
		rows = rows[:most-1]
	}
	name := 0
	for _, r := range rows {
		name = max(name, columnsIn(Clean(r.Name)))
	}
	name = min(name, columns/3)
	texts, times := make([]string, len(rows)), make([]string, len(rows))
	width, least := 0, columns-1
	for i, r := range rows {
		texts[i] = Clean(r.Text)
		if r.Name != "" {
			texts[i] = "○ " + Padded(Clean(r.Name), name) + "  " + texts[i]
		}
		if r.Since.IsZero() {
			continue
		}
		times[i] = b.took(r.Since)
		if whole := b.took(r.first); whole != times[i] && !r.first.IsZero() {
			times[i] += " of " + whole
		}
		width = max(width, columnsIn(texts[i]))
		least = min(least, columns-1-2-columnsIn(times[i]))
	}
	width = max(min(width, least), 1)
	var out []string
	for i, text := range texts {
		if times[i] != "" {
			text = Padded(text, width) + "  " + times[i]
		}
		out = append(out, text)
	}
	if hidden > 0 {
		out = append(out, fmt.Sprintf("… %d more", hidden))
	}
	if b.footer != "" {
		out = append(out, b.took(b.begun)+"  "+Clean(b.footer))
	}
	for i := range out {
		out[i] = shortened(out[i], columns-1)
	}
	return out
}

// took is the time since then.
func (b *Board) took(since time.Time) string { return Elapsed(max(0, b.now().Sub(since))) }

// Elapsed is a duration to the second.
func Elapsed(d time.Duration) string { return d.Round(time.Second).String() }
