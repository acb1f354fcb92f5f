package labdir

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/flock"
)

// Lock makes the folder if need be and takes its lock, waiting while another
// command has it; waiting is called once in that case. The lock ends with the
// process, or with the func that is returned.
//
// `down` deletes the locked folder, so who waited looks again whether what it
// has locked is still what the path names.
func (d Dir) Lock(ctx context.Context, waiting func()) (unlock func(), err error) {
	told := false
	for {
		if err := os.MkdirAll(string(d), 0o700); err != nil {
			return nil, fmt.Errorf("make the lab's folder: %w", err)
		}
		f, err := os.Open(string(d))
		if err != nil {
			return nil, fmt.Errorf("lock the lab's folder: %w", err)
		}
		locked, err := flock.Try(f)
		if locked && d.same(f) {
			return func() { _ = f.Close() }, nil
		}
		_ = f.Close()
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", d, err)
		}
		if locked {
			continue // deleted meanwhile: lock the new one
		}
		if !told {
			waiting()
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the lock on %s, which another lab command has: %w", d, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (d Dir) same(f *os.File) bool {
	locked, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(string(d))
	return err == nil && os.SameFile(locked, named)
}
