//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
)

// abandon ends a lab that did not come up. Interrupted by the user, it leaves
// nothing; otherwise it leaves the logs and prints the end of the one that matters.
func abandon(ctx context.Context, dir labdir.Dir, cause error) error {
	if s, found, err := dir.Status(); err == nil && found && s.Error != "" {
		log := dir.Log("supervisor")
		if s.Failed != "" {
			log = dir.Log(s.Failed)
		}
		cause = fmt.Errorf("%w: %s\nlast lines of %s:\n%s", cause, s.Error, log, tail(log, 15))
	}
	if err := stop(dir); err != nil {
		return errors.Join(cause, err)
	}
	if ctx.Err() == context.Canceled {
		fmt.Println("interrupted: removing what was made so far")
		if err := dir.Clear(true); err != nil {
			return errors.Join(cause, err)
		}
		return cause
	}
	return fmt.Errorf("%w\nall logs: %s; `make lab-down` removes what is left", cause, dir.Log(""))
}

func tail(path string, n int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Sprintf("  (%v)", err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return "  " + strings.Join(lines, "\n  ")
}
