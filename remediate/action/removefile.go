package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// RemoveFile removes a file, or a symbolic link, whose target stays. The backup is in the
// run's folder on the node.
type RemoveFile struct{ NodeName, Path string }

// ID is such as "take-away worker-0:/var/lib/kubelet/kubeconfig": journals that are kept have these words.
func (a RemoveFile) ID() string { return "take-away " + a.NodeName + ":" + a.Path }

// Node is the node.
func (a RemoveFile) Node() string { return a.NodeName }

// Diff finds the file.
func (a RemoveFile) Diff(snapshot inspect.Snapshot, now time.Time) (*remediate.Change, error) {
	n, ok := snapshot.Node(a.NodeName)
	if !ok || n.Via == "" {
		return nil, &remediate.Refusal{Name: remediate.FileRead, Node: a.NodeName, Reason: "the node was not read", Next: "see what is unknown"}
	}
	file := n.File(a.Path)
	switch {
	case file == nil && inspect.MissingFile(snapshot, n, a.Path):
		return nil, nil //nolint:nilnil // already up to date, as Action says
	case file == nil || file.Link == "" && file.SHA256 == (pki.Fingerprint{}):
		return nil, &remediate.Refusal{Name: remediate.FileRead, Node: a.NodeName, Reason: a.Path + ": it could not be read", Next: "on the node: " + foreign.Command("", "ls -l %s", a.Path)}
	}
	f := &remediate.FileChange{Path: a.Path, SHA256: file.SHA256, Removed: true, Link: file.Link}
	for _, k := range n.Kubeconfigs {
		if k.Path == a.Path {
			f.Before = k.Text
		}
	}
	c := &remediate.Change{Summary: "remove " + a.Path, File: f, Deltas: []inspect.Delta{inspect.FileRemoved{Node: a.NodeName, Path: a.Path}}}
	switch {
	case f.Link != "":
		f.SHA256, f.Before = pki.Fingerprint{}, leading(f.Link)
		c.Summary += ", a link: " + foreign.Text(f.Link) + " stays"
	case a.Path == catalog.KubeletKubeconfigs()[1]:
		c.Summary += ": the kubelet writes it again, from " + catalog.KubeletKubeconfigs()[0]
		at := n.Time(now)
		if after := n.Kubelet.Started.Add(time.Minute); at.Before(after) {
			at = after
		}
		c.Deltas = []inspect.Delta{inspect.KubeconfigCopied{Node: a.NodeName, From: catalog.KubeletKubeconfigs()[0], To: a.Path, At: at}}
	}
	return c, nil
}

// leading is a link as a diff prints it.
func leading(target string) []byte { return fmt.Appendln(nil, "a link to", foreign.Text(target)) }

// Apply removes it, if it is as it was read.
func (a RemoveFile) Apply(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	remove := func() error {
		n, err := env.Connect(ctx, a.NodeName)
		if err != nil {
			return err
		}
		if c.File.Link != "" {
			_, err = host.RunFolder{ID: env.RunID}.RemoveLink(ctx, n, a.Path, c.File.Link)
		} else {
			_, err = host.RunFolder{ID: env.RunID}.RemoveFile(ctx, n, a.Path, c.File.SHA256)
		}
		return err
	}
	err := remove()
	if errors.Is(err, nodeexec.ErrUnknownOutcome) { // what it removed already stays so
		env.Disconnect(a.NodeName)
		again := remove()
		if again != nil { // the first time may have done it
			again = fmt.Errorf("%w; and once more: %w", err, again)
		}
		err = again
	}
	if errors.Is(err, host.ErrChanged) {
		return fmt.Errorf("%w: %w", remediate.ErrChanged, err)
	}
	return err
}

// Verify looks whether nothing has the name, and whether the backup is kept.
func (a RemoveFile) Verify(ctx context.Context, env *remediate.Env, _ *remediate.Change) error {
	now, entry, err := env.Stat(ctx, a.NodeName, a.Path)
	switch {
	case err != nil:
		return err
	case entry == nil || !entry.Removed:
		return fmt.Errorf("%s on %s is not among the files that run %s removed", a.Path, a.NodeName, env.RunID)
	case now.Kind != host.Absent:
		return fmt.Errorf("%s on %s: %w: something has its name again", a.Path, a.NodeName, remediate.ErrChanged)
	}
	return nil
}

// putBack puts back what was removed. over is what has its name by now; nil: nothing.
func putBack(ctx context.Context, env *remediate.Env, node, path string, link bool, over *remediate.FileChange) error {
	n, err := env.Connect(ctx, node)
	if err != nil {
		return err
	}
	run := host.RunFolder{ID: env.RunID}
	switch {
	case link && over != nil:
		_, err = run.RestoreLink(ctx, n, path, over.Link)
	case link:
		_, err = run.RestoreLink(ctx, n, path, "")
	case over != nil && over.SHA256 != (pki.Fingerprint{}):
		_, err = run.RestoreOver(ctx, n, path, over.SHA256)
	default:
		_, err = run.Restore(ctx, n, path)
	}
	if errors.Is(err, host.ErrChanged) {
		return fmt.Errorf("%w: %w", remediate.ErrChanged, err)
	}
	return err // where its end was not seen, doing it again is harmless
}
