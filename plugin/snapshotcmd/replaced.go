package snapshotcmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
)

// replaced says what a new snapshot at a path replaces: an earlier one; empty: nothing. Scripts write to
// one name again and again, and to what mktemp made; a file of another kind is lost by a slip of the
// hand, and that is an error.
func replaced(path string) (string, error) {
	at, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && (!at.Mode().IsRegular() || at.Size() == 0):
		return "", nil
	case err != nil:
		return "", nil // it is said when it is written
	}
	taken, is, err := collect.SnapshotAt(path)
	switch {
	case err != nil:
		return "", cli.WithHint(fmt.Errorf("write %s: what is there can't be read, and is not replaced: %w", path, err), "name another file")
	case !is:
		return "", cli.WithHint(fmt.Errorf("write %s: what is there is no snapshot, and is not replaced", path), "name another file")
	case taken.IsZero():
		return ", in place of an earlier snapshot", nil
	}
	return ", in place of the snapshot of " + taken.UTC().Format("2006-01-02 15:04Z"), nil
}

// tell says what was written.
func (o *snapshotOptions) tell(path string, s inspect.Snapshot, before string) {
	size := ""
	if at, err := os.Stat(path); err == nil {
		size = sizeOf(at.Size()) + "; "
	}
	ui.Printf(o.app.Streams.ErrOut, "wrote %s (%s%s)%s\n", o.output, size, nodesIn(s), before)
}

// sizeOf is a number of bytes for people.
func sizeOf(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// nodesIn says of which nodes there are facts: without them, much is unknown.
func nodesIn(s inspect.Snapshot) string {
	read, masters := 0, 0
	for i := range s.Nodes {
		if s.Nodes[i].Via == "" {
			continue
		}
		if read++; inspect.RunsAPIServer(s, &s.Nodes[i]) {
			masters++
		}
	}
	switch {
	case read == 0:
		return "no node"
	case masters == 0:
		return ui.Count(read, "node") + ", no control plane node"
	}
	return ui.Count(read, "node") + ", " + ui.Count(masters, "control plane node") + " among them"
}
