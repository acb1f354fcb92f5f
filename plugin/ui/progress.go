package ui

import (
	"fmt"
	"io"
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

	mu    sync.Mutex
	read  map[string]int
	order []string
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
	if _, ok := p.read[what]; !ok {
		p.order = append(p.order, what)
	}
	p.read[what] = objects
	if !p.board.Live() {
		return
	}
	var parts []string
	for _, what := range p.order {
		parts = append(parts, fmt.Sprintf("%d %s", p.read[what], what))
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
