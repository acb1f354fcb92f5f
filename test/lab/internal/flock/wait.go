package flock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Wait locks the file of this path, which is made if need be, and waits while another
// process has it: waiting is called once in that case. The lock ends with this process, or
// with unlock.
func Wait(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open a lock: %w", err)
	}
	for told := false; ; {
		locked, err := Try(f)
		if locked {
			return func() { _ = f.Close() }, nil
		}
		if err == nil && !told {
			waiting()
			told = true
		}
		select {
		case <-ctx.Done():
			err = errors.Join(err, context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}
