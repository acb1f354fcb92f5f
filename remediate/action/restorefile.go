package action

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/csr"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeconfig"
)

// RestoreFile puts back what a file was before a run.
type RestoreFile struct {
	NodeName string
	Backup   host.Backup // of the run's folder on the node
	// AcceptUntrusted says that untrusted serving certificates were accepted by the check's name.
	AcceptUntrusted bool
	// RecheckRequests: whether its kubelet waits for a certificate is asked once more before.
	RecheckRequests bool
}

// ID is such as "restore worker-0:/etc/kubernetes/kubeconfig".
func (a RestoreFile) ID() string { return "restore " + a.NodeName + ":" + a.path() }

// Node is the node.
func (a RestoreFile) Node() string { return a.NodeName }

func (a RestoreFile) path() string { return a.Backup.Before.Path }

// Diff compares the file with what the run made of it.
func (a RestoreFile) Diff(snapshot inspect.Snapshot, now time.Time) (*remediate.Change, error) {
	if later := a.Backup.Later; later != "" {
		return nil, &remediate.Refusal{Name: remediate.ChangedSince, Node: a.NodeName, Reason: fmt.Sprintf("run %s changed %s after this run: restoring the backup would undo that too", later, a.path()),
			Next: snapshot.Hints.Next("to put that run back first: {} undo %s --from-nodes --nodes %s", later, a.NodeName)}
	}
	if a.Backup.Removed {
		return a.moveBack(snapshot, now)
	}
	text, file, err := AddKubeconfigCAs{NodeName: a.NodeName, Path: a.path()}.text(snapshot)
	if err != nil {
		return nil, err
	}
	if file.SHA256 == pki.Fingerprint(a.Backup.Before.SHA256) {
		return nil, nil //nolint:nilnil // already up to date, as Action says
	}
	if !slices.Contains(a.Backup.Wrote, [32]byte(file.SHA256)) {
		return nil, &remediate.Refusal{Name: remediate.ChangedSince, Node: a.NodeName, Reason: fmt.Sprintf("%s was changed after the run (sha256 %s now): restoring the backup would undo that too", a.path(), file.SHA256.Short()),
			Next: "the backup is in the run's folder below " + host.DefaultFolder + " on the node, under the sha256 " + pki.Fingerprint(a.Backup.Before.SHA256).String()}
	}
	n, _ := snapshot.Node(a.NodeName)
	before, err := a.backup(n)
	if err != nil {
		return nil, err
	}
	f := &remediate.FileChange{Path: a.path(), SHA256: file.SHA256, Before: text, After: before, Old: caOf(text), New: caOf(before)}
	return &remediate.Change{Summary: "put back " + a.path(), File: f, Versions: snapshot.Cluster.Versions, Deltas: []inspect.Delta{written(n, f, now)}}, nil
}

// moveBack is Diff for what the run removed.
func (a RestoreFile) moveBack(snapshot inspect.Snapshot, now time.Time) (*remediate.Change, error) {
	n, ok := snapshot.Node(a.NodeName)
	if !ok || n.Via == "" {
		return nil, &remediate.Refusal{Name: remediate.FileRead, Node: a.NodeName, Reason: "the node was not read", Next: "see what is unknown"}
	}
	path := a.path()
	file := n.File(path)
	if file == nil && !inspect.MissingFile(snapshot, n, path) {
		return nil, &remediate.Refusal{Name: remediate.FileRead, Node: a.NodeName, Reason: path + ": it could not be read", Next: "on the node: " + foreign.Command("", "ls -l %s", path)}
	}
	since := func(what string) error {
		return &remediate.Refusal{Name: remediate.ChangedSince, Node: a.NodeName, Reason: path + " " + what + ": restoring the backup would undo that too", Next: "the backup is in the run's folder below " + host.DefaultFolder + " on the node"}
	}
	f := &remediate.FileChange{Path: path, Removed: true}
	c := &remediate.Change{Summary: "put back " + path, File: f, Versions: snapshot.Cluster.Versions}
	if a.Backup.Before.Kind == host.Link {
		f.After = leading(a.Backup.Target)
		c.Summary += ", a link to " + foreign.Text(a.Backup.Target)
		switch {
		case file == nil:
		case file.Link == "":
			return nil, since("is no link any more")
		case file.Link == a.Backup.Target:
			return nil, nil //nolint:nilnil // already up to date, as Action says
		default:
			f.Link, f.Before = file.Link, leading(file.Link)
		}
		return c, nil
	}
	if file != nil && file.SHA256 == pki.Fingerprint(a.Backup.Before.SHA256) {
		return nil, nil //nolint:nilnil // already up to date, as Action says
	}
	if file != nil {
		f.SHA256 = file.SHA256
		for _, k := range n.Kubeconfigs {
			if k.Path == path {
				f.Before, f.Old = k.Text, caOf(k.Text)
			}
		}
		if !slices.Contains(a.Backup.Wrote, [32]byte(file.SHA256)) && !KubeletWrote(f.Before) {
			return nil, since("is not as a kubelet writes it, so another user or program changed it")
		}
	}
	from := ""
	for _, k := range n.Kubeconfigs { // its text may be such that it did not leave the node
		if kept := n.File(k.Path); kept != nil && kept.SHA256 == pki.Fingerprint(a.Backup.Before.SHA256) && strings.HasPrefix(k.Path, host.DefaultFolder+"/") {
			from, f.After, f.New = k.Path, k.Text, caOf(k.Text)
		}
	}
	if from != "" {
		at := n.Time(now)
		if after := n.Kubelet.Started.Add(time.Minute); at.Before(after) {
			at = after
		}
		c.Deltas = []inspect.Delta{inspect.KubeconfigCopied{Node: a.NodeName, From: from, To: path, At: at}}
	}
	return c, nil
}

// KubeletWrote reports whether a kubeconfig is such as a kubelet makes when it joins: of
// this shape, with any CA and server.
func KubeletWrote(text []byte) bool {
	const shape = "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data:\n    server:\n  name: default-cluster\ncontexts:\n- context:\n    cluster: default-cluster\n    namespace: default\n    user: default-auth\n" +
		"  name: default-context\ncurrent-context: default-context\nkind: Config\nusers:\n- name: default-auth\n  user:\n    client-certificate: " + inspect.KubeletClient + "\n    client-key: " + inspect.KubeletClient + "\n"
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		for _, key := range []string{"    certificate-authority-data:", "    server:"} {
			if strings.HasPrefix(line, key) {
				line = key + "\n"
			}
		}
		if line != "preferences: {}\n" { // up to 1.33
			b.WriteString(line)
		}
	}
	return b.String() == shape
}

// backup finds the bytes from before among what was read of the run's folder.
func (a RestoreFile) backup(n *inspect.Node) ([]byte, error) {
	for _, k := range n.Kubeconfigs {
		if f := n.File(k.Path); f != nil && f.SHA256 == pki.Fingerprint(a.Backup.Before.SHA256) && strings.HasPrefix(k.Path, host.DefaultFolder+"/") && int64(len(k.Text)) == f.Size {
			return k.Text, nil
		}
	}
	return nil, &remediate.Refusal{Name: "backup-read", Node: a.NodeName, Reason: "what " + a.path() + " was before could not be read", Next: "on the node: " + foreign.Command("", "ls -lR %s", host.DefaultFolder)}
}

// caOf are the CAs in a kubeconfig; none where it can't be read.
func caOf(text []byte) []*pki.Cert {
	ca, err := kubeconfig.Find(text)
	if err != nil {
		return nil
	}
	return pki.LoadedPEM(pki.NewScanner(), ca.PEM)
}

var _ remediate.Rechecker = RestoreFile{}

// Recheck asks whether its kubelet would still trust what is presented to it, which another certificate may be since
// the plan, and whether it waits for one by now.
func (a RestoreFile) Recheck(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	if err := a.stillTrusts(ctx, env, c); err != nil {
		return err
	}
	if !a.RecheckRequests || env.Kube == nil {
		return nil
	}
	requests, err := csr.PendingOf(ctx, env.Kube, csr.RequestedNode{Name: a.NodeName, Hints: env.Hints})
	if err != nil {
		return csr.RefuseUnread(a.NodeName, err)
	}
	var names []string
	snapshot, err := env.Read(ctx, a.NodeName)
	if err != nil {
		return err
	}
	snapshot.Cluster.Versions = c.Versions
	for _, r := range requests {
		if csr.MayWait(snapshot, a.NodeName, env.Now(), r.Spec.SignerName, r.Spec.Username) {
			names = append(names, r.Name)
		}
	}
	return csr.RefuseWaiting(a.NodeName, names)
}

// stillTrusts refuses what Verify would find once it is too late: nothing keeps what the run had written.
func (a RestoreFile) stillTrusts(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	if a.AcceptUntrusted || len(c.Deltas) == 0 {
		return nil
	}
	snapshot, err := env.Read(ctx, a.NodeName)
	if err != nil {
		return err
	}
	if err := Trusts(snapshot.With(c.Deltas...), a.NodeName, a.path(), env.Now()); err != nil {
		return &remediate.Refusal{Name: remediate.BreaksTrust, Node: a.NodeName, Reason: "afterwards " + err.Error(), Cause: err,
			Next: "leave it as it is. If other files of this node were put back, this repairs them: " + a.repair(env)}
	}
	return nil
}

// repair is the command that writes again what a restored file lacks.
func (a RestoreFile) repair(env *remediate.Env) string {
	return env.Hints.Next("{} fix-api-int --nodes %s --dry-run=client", foreign.Commas([]string{a.NodeName}))
}

// Apply puts it back.
func (a RestoreFile) Apply(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	if a.Backup.Removed {
		return putBack(ctx, env, a.NodeName, a.path(), a.Backup.Before.Kind == host.Link, c.File)
	}
	return restore(ctx, env, a.NodeName, a.path())
}

// Verify looks whether it is what it was, bytes, owner, mode and label.
func (a RestoreFile) Verify(ctx context.Context, env *remediate.Env, _ *remediate.Change) error {
	now, _, err := env.Stat(ctx, a.NodeName, a.path())
	if err != nil {
		return err
	}
	if now != a.Backup.Before {
		return fmt.Errorf("%s on %s is not as it was before: sha256 %x, mode %04o, owner %d:%d, label %s; it was %x, %04o, %d:%d, %s", a.path(), a.NodeName,
			now.SHA256[:6], now.Mode, now.UID, now.GID, foreign.Quoted(now.Label), a.Backup.Before.SHA256[:6], a.Backup.Before.Mode, a.Backup.Before.UID, a.Backup.Before.GID, foreign.Quoted(a.Backup.Before.Label))
	}
	if a.AcceptUntrusted {
		return nil
	}
	snapshot, err := env.Read(ctx, a.NodeName)
	if err != nil {
		return err
	}
	if a.Backup.Before.Kind == host.Link {
		if n, ok := snapshot.Node(a.NodeName); !ok || n.File(a.path()) == nil || n.File(a.path()).Link != a.Backup.Target {
			return fmt.Errorf("%s on %s does not lead to %s", a.path(), a.NodeName, foreign.Text(a.Backup.Target))
		}
		return nil
	}
	return Trusts(snapshot, a.NodeName, a.path(), env.Now())
}

var _ remediate.Reverter = RestoreFile{}

// Revert is not possible, and says so: what the run had written is not kept. Doing what the run
// did writes it again.
func (a RestoreFile) Revert(_ context.Context, env *remediate.Env, _ *remediate.Change) error {
	return fmt.Errorf("%s: what was there before is not kept; this writes it again: %s", a.ID(), a.repair(env))
}
