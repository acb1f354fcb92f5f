package nodeexec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

const (
	defaultOutput = 64 << 20
	stderrTail    = 8 << 10
)

// tail keeps the last bytes that were written to it: what a command says last
// is why it failed.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*stderrTail {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-stderrTail:]...)
	}
	return len(p), nil
}

func (t *tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.kept[max(0, len(t.kept)-stderrTail):])
}

// bounded keeps what a command writes, up to a limit. Beyond it, it calls full
// once and discards the rest: full stops the command, and no full pipe blocks it.
type bounded struct {
	limit int64
	full  func(error)
	kept  bytes.Buffer
	over  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.over {
		return len(p), nil
	}
	if int64(b.kept.Len())+int64(len(p)) > b.limit {
		b.over = true
		b.kept = bytes.Buffer{}
		b.full(fmt.Errorf("%w: more than %d bytes", errOutputLimit, b.limit))
		return len(p), nil
	}
	return b.kept.Write(p)
}

// feed copies stdin to a command. If the reader fails, it calls failed and
// leaves the command's stdin open: an end of file would say that this was all.
func feed(to io.WriteCloser, stdin io.Reader, failed func(error)) {
	if stdin != nil {
		src := &remembering{r: stdin}
		// An error in writing is the command's choice: it need not read all.
		_, _ = io.Copy(to, src)
		if src.err != nil {
			failed(fmt.Errorf("read what is to go to its stdin: %w", src.err))
			return
		}
	}
	_ = to.Close() // already closed when the command has finished
}

// remembering tells a reader's own errors from those of where it is copied to.
type remembering struct {
	r   io.Reader
	err error
}

func (r *remembering) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}
