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

// Progress prints on a terminal how much was read so far, and nothing anywhere
// else.
type Progress struct {
	mu     sync.Mutex
	w      io.Writer // nil: prints nothing
	read   map[string]int
	order  []string
	last   time.Time
	width  int // of what stands on the line
	paused bool
	live   *Live // what stands above the line; nil: nothing
}

// Hold empties the line and draws nothing more until release: the user is asked.
func (p *Progress) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w != nil && p.width > 0 {
		p.line("")
		_, _ = fmt.Fprint(p.w, "\r")
		p.width = 0
	}
	p.paused = true
	if p.live != nil {
		p.live.Hold()
	}
}

// Release goes on after Hold.
func (p *Progress) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = false
	if p.live != nil {
		p.live.Release()
	}
}

// StartProgress shows progress on w if that is a terminal, below live; that may be nil.
func StartProgress(w io.Writer, live *Live) *Progress {
	p := &Progress{read: map[string]int{}, live: live}
	if f, ok := StreamFile(w); ok && term.IsTerminal(int(f.Fd())) {
		p.w = f // past the screen, which lets no carriage return through
	}
	return p
}

// Observe is told what is read.
func (p *Progress) Observe(what string, objects int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil {
		return
	}
	if _, ok := p.read[what]; !ok {
		p.order = append(p.order, what)
	}
	p.read[what] = objects
	if p.paused || time.Since(p.last) < 100*time.Millisecond {
		return
	}
	p.last = time.Now()
	var parts []string
	for _, what := range p.order {
		parts = append(parts, fmt.Sprintf("%d %s", p.read[what], what))
	}
	p.line("reading: " + strings.Join(parts, ", "))
}

// line overwrites what stands on the terminal's line.
func (p *Progress) line(s string) {
	s = Clean(s)
	if f, ok := p.w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 1 && len(s) >= columns {
			s = s[:columns-1]
		}
	}
	_, _ = fmt.Fprintf(p.w, "\r%-*s", p.width, s)
	p.width = len(s)
}

// Stop leaves the line empty.
func (p *Progress) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w != nil && p.width > 0 {
		p.line("")
		_, _ = fmt.Fprint(p.w, "\r")
		p.w = nil
	}
}
