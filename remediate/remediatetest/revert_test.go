package remediatetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
)

// badFile writes a file that fails its own check.
type badFile struct{ played }

func (a badFile) Diff(inspect.Snapshot, time.Time) (*remediate.Change, error) {
	return &remediate.Change{Summary: a.name, File: &remediate.FileChange{Path: "/etc/file"}}, nil
}

func (badFile) Verify(context.Context, *remediate.Env, *remediate.Change) error {
	return &remediate.BadEffectError{Reason: "it fails its own check"}
}

// reverting is a badFile with a Revert.
type reverting struct {
	badFile
	revert func(context.Context, *remediate.Env, *remediate.Change) error
}

func (a reverting) Revert(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	return a.revert(ctx, env, c)
}

// TestFilesThatFailTheirCheckAreReverted where their action can do so.
func TestFilesThatFailTheirCheckAreReverted(t *testing.T) {
	t.Parallel()
	bad := badFile{played{name: "write", apply: func(context.Context) error { return nil }}}
	restore := action.RestoreFile{NodeName: "worker-0", Backup: host.Backup{Before: host.File{Path: "/etc/file"}}}
	for title, c := range map[string]struct {
		action remediate.Action
		event  remediate.Event
		undone bool
		failed string // why it was not put back
	}{
		"it can":    {reverting{bad, func(context.Context, *remediate.Env, *remediate.Change) error { return nil }}, remediate.Undone, true, ""},
		"it fails":  {reverting{bad, func(context.Context, *remediate.Env, *remediate.Change) error { return errors.New("disk full") }}, remediate.Failed, false, "disk full"},
		"a restore": {reverting{bad, restore.Revert}, remediate.Failed, false, "what was there before is not kept; this writes it again: kubectl certrot fix-api-int --nodes worker-0 "},
		"it can't":  {bad, remediate.Failed, false, ""},
	} {
		change, _ := c.action.Diff(inspect.Snapshot{}, TestNow)
		s := &Stage{}
		record, err := s.Run(t.Context(), t, s.Plan(remediate.Wave{Nodes: []remediate.NodePlan{{Steps: []remediate.Step{{Action: c.action, Change: change}}}}}))
		var stopped *remediate.Stopped
		if !errors.As(err, &stopped) || stopped.Undone != c.undone || (stopped.UndoFailed != nil) != (c.failed != "") || !strings.Contains(err.Error(), "it fails its own check") || !strings.Contains(err.Error(), c.failed) {
			t.Errorf("%s: %v", title, err)
		}
		if last := record.Records[len(record.Records)-1]; last.Event != c.event {
			t.Errorf("%s: the journal says %+v", title, last)
		}
	}
}
