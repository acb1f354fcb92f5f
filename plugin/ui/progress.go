package ui

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Progress draws on a terminal how much was read so far, and nothing anywhere else. A reading of
// less than a second draws nothing.
type Progress struct {
	board *Board
	own   bool // the board is for this alone
	begun time.Time

	mu     sync.Mutex
	read   map[string]int
	latest []string // first: what was read last, which a narrow terminal has room for
}

// StartProgress draws below what stands on the board; nil: on w, if that is a terminal.
func StartProgress(w io.Writer, board *Board, now func() time.Time) *Progress {
	p := &Progress{board: board, read: map[string]int{}}
	if board == nil {
		p.board, p.own = NewBoard(w, now), true
	}
	p.begun = p.board.now()
	return p
}

// Observe is told what is read.
func (p *Progress) Observe(what string, objects int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest = slices.Insert(slices.DeleteFunc(p.latest, func(w string) bool { return w == what }), 0, what)
	p.read[what] = objects
	if !p.board.Live() {
		return
	}
	var parts []string
	for i, what := range p.latest {
		if i == 0 || p.read[what] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.read[what], what))
		}
	}
	p.board.set("reading", Row{Text: "reading: " + strings.Join(parts, ", "), Since: p.begun})
}

// Hold draws nothing until Release: the user is asked.
func (p *Progress) Hold() { p.board.Hold() }

// Release goes on after Hold.
func (p *Progress) Release() { p.board.Release() }

// Stop takes the line away.
func (p *Progress) Stop() {
	if p.own {
		p.board.Close()
		return
	}
	p.board.Drop("reading")
}
