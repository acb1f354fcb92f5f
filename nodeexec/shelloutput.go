package nodeexec

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// holdLimit is how long the last bytes of a live output are held that may be the
// beginning of the last line. All of that line is written at once; but what a
// command writes may look like its beginning, and be waited for.
const holdLimit = 100 * time.Millisecond

// shellOutput is what shell.sh writes to stdout: a greeting, the command's own
// output, and the line of its end. It passes on the output and takes the rest
// off. It never fails to write, so that the end is read in any case.
type shellOutput struct {
	to   io.Writer
	live bool   // what a command writes is waited for before it ends
	mark []byte // how the last line begins

	greeted chan string // gets the first line, once
	ended   chan struct{}
	status  int // once ended is closed: how the command ended

	mu     sync.Mutex
	begun  bool
	kept   []byte // may be a part of what is not to be passed on
	passed int    // how much of kept was passed on all the same: holdLimit was over
	timer  *time.Timer
	over   bool
}

func newShellOutput(word string, to io.Writer, live bool) *shellOutput {
	o := &shellOutput{to: to, live: live, mark: []byte(word + " "), greeted: make(chan string, 1), ended: make(chan struct{})}
	o.timer = time.AfterFunc(holdLimit, o.flush)
	o.timer.Stop()
	return o
}

func (o *shellOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timer.Stop()
	if o.over { // a child of the command that lives on, and has its stdout
		return len(p), nil
	}
	o.kept = append(o.kept, p...)
	if !o.begun && !o.greeting() {
		return len(p), nil
	}
	if i := bytes.Index(o.kept, o.mark); i >= 0 {
		if i < o.passed { // the line came in two parts, and the first is gone
			o.over = true
			return len(p), nil
		}
		o.pass(i)
		o.ending()
		return len(p), nil
	}
	o.pass(len(o.kept) - o.partial())
	if o.live && len(o.kept) > o.passed {
		o.timer.Reset(holdLimit)
	}
	return len(p), nil
}

// flush passes on what was kept for long enough.
func (o *shellOutput) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over || !o.begun || bytes.HasPrefix(o.kept, o.mark) {
		return
	}
	_, _ = o.to.Write(o.kept[o.passed:])
	o.passed = len(o.kept)
}

// greeting takes the first line off, if it is there.
func (o *shellOutput) greeting() bool {
	const most = 1 << 10
	line, rest, found := bytes.Cut(o.kept, []byte("\n"))
	if !found && len(o.kept) < most {
		return false
	}
	o.begun = true
	o.greeted <- string(line[:min(len(line), most)])
	o.kept = rest
	return true
}

// pass passes on the first n bytes that are held.
func (o *shellOutput) pass(n int) {
	if n > o.passed {
		_, _ = o.to.Write(o.kept[o.passed:n]) // what closed it wants no more
	}
	o.kept = append(o.kept[:0], o.kept[n:]...)
	o.passed = max(0, o.passed-n)
}

// partial is how many bytes at the end may be the beginning of the mark.
func (o *shellOutput) partial() int {
	for n := min(len(o.kept), len(o.mark)-1); n > 0; n-- {
		if bytes.HasSuffix(o.kept, o.mark[:n]) {
			return n
		}
	}
	return 0
}

// ending reads the last line, if all of it is there.
func (o *shellOutput) ending() {
	line, _, found := strings.Cut(string(o.kept[len(o.mark):]), "\n")
	status, err := strconv.ParseUint(line, 10, 8)
	if !found && len(line) < 4 {
		return
	}
	o.over = true
	if found && err == nil {
		o.status = int(status)
		close(o.ended)
	}
}
