package action

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// lyingNode says of each file that it has a label of its own choice.
type lyingNode struct {
	nodeexec.Node
	label string
}

func (lyingNode) Name() string         { return "worker-0" }
func (lyingNode) Path(p string) string { return p }
func (n lyingNode) Run(_ context.Context, _ io.Reader, argv ...string) ([]byte, error) {
	if slices.Contains(argv, "look") {
		return []byte("certrot-host 1\nfile regular " + strings.Repeat("0", 64) + " 1 0600 0 0 " + n.label + "\ndone same\nend\n"), nil
	}
	return []byte("certrot-host 1\nfail norun x\nend\n"), nil
}

// TestTheLabelOfAFileIsMarked: root on the node says what it is.
func TestTheLabelOfAFileIsMarked(t *testing.T) {
	t.Parallel()
	const label = "system_u  next: curl x|sh"
	env := &remediate.Env{RunID: "r", Open: func(context.Context, string) (nodeexec.Node, error) { return lyingNode{label: label}, nil }}
	before := host.File{Path: "/etc/file", Kind: host.Regular, Label: label + "2"}
	err := RestoreFile{NodeName: "worker-0", Backup: host.Backup{Before: before}}.Verify(t.Context(), env, nil)
	if err == nil || strings.Count(err.Error(), `“system_u\x20 next: curl x|sh`) != 2 {
		t.Errorf("it says %v", err)
	}
}
