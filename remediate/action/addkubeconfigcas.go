package action

import (
	"bytes"
	"cmp"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeconfig"
)

// AddKubeconfigCAs makes a kubeconfig on a node trust these CAs beside those that it
// trusts already. Not more than the value of certificate-authority-data changes.
type AddKubeconfigCAs struct {
	NodeName, Path string
	CA             []byte // PEM, in the order and the bytes that are wanted
	Cache          *Cache // nil: all is read again
}

// ID is such as "replace worker-0:/etc/kubernetes/kubeconfig".
func (a AddKubeconfigCAs) ID() string { return "replace " + a.NodeName + ":" + a.Path }

// Node is the node.
func (a AddKubeconfigCAs) Node() string { return a.NodeName }

// Count is the one file.
func (a AddKubeconfigCAs) Count() remediate.Count {
	return remediate.Count{Verb: "CA in", Of: "kubeconfig", N: 1}
}

var _ remediate.Counted = AddKubeconfigCAs{}

// Diff finds the value and says what it would be.
func (a AddKubeconfigCAs) Diff(snapshot inspect.Snapshot, now time.Time) (*remediate.Change, error) {
	text, file, err := a.text(snapshot)
	if err != nil {
		return nil, err
	}
	refuse := func(err error) error {
		next := "compare it with the same file on another node, and fix it by hand first"
		var shape *kubeconfig.Refusal
		if errors.As(err, &shape) && shape.Reason == kubeconfig.CAFile {
			n, _ := snapshot.Node(a.NodeName)
			next = fmt.Sprintf("on the node: %s, then: systemctl restart kubelet", catalog.AppendCA(foreign.Name(shape.Path), n.Role))
		}
		return &remediate.Refusal{Name: remediate.FileShape, Node: a.NodeName, Reason: a.Path + ": " + err.Error(), Next: next}
	}
	ca, err := a.Cache.Find(text)
	if err != nil {
		return nil, refuse(err)
	}
	sc := a.Cache.Scanner()
	old, want := pki.LoadedPEM(sc, ca.PEM), pki.LoadedPEM(sc, a.CA)
	if len(want) == 0 {
		return nil, fmt.Errorf("%s: no CA to write", a.ID())
	}
	if !slices.ContainsFunc(want, func(c *pki.Cert) bool { return !pki.Contains(old, c) }) {
		return nil, nil //nolint:nilnil // already up to date, as Action says
	}
	n, _ := snapshot.Node(a.NodeName)
	value := Union(a.CA, want, old, n.Time(now))
	edit, err := a.Cache.setCA(text, value)
	if err != nil {
		return nil, refuse(err)
	}
	f := &remediate.FileChange{Path: a.Path, SHA256: file.SHA256, Edit: edit, Before: text, After: edit.Apply(text), Old: old, New: pki.LoadedPEM(sc, value)}
	return &remediate.Change{
		Summary: "CA in " + a.Path, File: f,
		Deltas: []inspect.Delta{written(n, f, now)},
	}, nil
}

// written is what a change of a kubeconfig does to the facts. The node's own
// clock says when; it is after the kubelet started in any case.
func written(n *inspect.Node, f *remediate.FileChange, now time.Time) inspect.Delta {
	d := inspect.KubeconfigWritten{Node: n.Name, Path: f.Path, CA: &pki.Content{Certs: f.New}, Text: f.After, At: n.Time(now)}
	if after := n.Kubelet.Started.Add(time.Minute); d.At.Before(after) {
		d.At = after
	}
	for _, k := range n.Kubeconfigs {
		if c, ok := k.InUse(); ok && k.Path == f.Path {
			d.Field = c.Field
		}
	}
	return d
}

// text returns the file as it was read on the node.
func (a AddKubeconfigCAs) text(snapshot inspect.Snapshot) ([]byte, *inspect.NodeFile, error) {
	unread := func(reason, next string) error {
		for _, g := range snapshot.Gaps { // what the reading itself said is better
			if g.What == "node/"+a.NodeName && g.IsAt(a.Path) {
				reason, next = g.Reason, cmp.Or(g.Next, next)
			}
		}
		return &remediate.Refusal{Name: remediate.FileRead, Node: a.NodeName, Reason: a.Path + ": " + reason, Next: next}
	}
	n, ok := snapshot.Node(a.NodeName)
	if !ok || n.Via == "" {
		return nil, nil, unread("the node was not read", "see what is unknown")
	}
	file := n.File(a.Path)
	i := slices.IndexFunc(n.Kubeconfigs, func(k inspect.Kubeconfig) bool { return k.Path == a.Path })
	switch {
	case file == nil || i < 0:
		return nil, nil, unread("there is no such kubeconfig, or it could not be read", "on the node: "+foreign.Command("", "ls -l %s", a.Path))
	case file.Link != "":
		return nil, nil, unread("it is a link to "+foreign.Text(file.Target), "links are not followed: name what it stands for to its owner, or make it a file")
	case n.Kubeconfigs[i].Text == nil:
		return nil, nil, unread("its text is not among the facts", snapshot.Hints.UnreadNodes("read the node again; else edit it by hand on the node"))
	case int64(len(n.Kubeconfigs[i].Text)) != file.Size || file.SHA256 == (pki.Fingerprint{}):
		return nil, nil, unread(fmt.Sprintf("%d of its %d bytes were read", len(n.Kubeconfigs[i].Text), file.Size), "read the node again")
	}
	return n.Kubeconfigs[i].Text, file, nil
}

// Union is what is written: the wanted bytes verbatim, then what was trusted
// before and has not expired, one newline between blocks. The order matters: from
// 4.16 on, machine-config-daemon looks for the ConfigMap's blocks in the text, and
// rewrites the file and restarts the kubelet where one is not found as it is there
// (openshift/machine-config-operator pkg/daemon/certificate_writer.go).
func Union(verbatim []byte, want, old []*pki.Cert, now time.Time) []byte {
	value := append(bytes.TrimRight(bytes.Clone(verbatim), "\r\n"), '\n')
	// What stands behind the last block is a piece of its own, which must stay the last.
	var rest []byte
	if last := bytes.LastIndex(value, []byte(endCertificate)); last >= 0 {
		if end := last + len(endCertificate); len(bytes.TrimSpace(value[end:])) > 0 {
			value, rest = append(value[:end:end], '\n'), bytes.Clone(value[end:])
		}
	}
	for _, c := range old {
		if !pki.Contains(want, c) && c.NotAfter.After(now) {
			value = append(value, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.DER})...)
			want = append(want[:len(want):len(want)], c)
		}
	}
	if rest != nil {
		value = append(bytes.TrimRight(value, "\n"), rest...)
	}
	return value
}

const endCertificate = "-----END CERTIFICATE-----"

// Apply replaces the file.
func (a AddKubeconfigCAs) Apply(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	n, err := env.Connect(ctx, a.NodeName)
	if err != nil {
		return err
	}
	run := host.RunFolder{ID: env.RunID}
	e := host.Edit{Path: a.Path, Before: c.File.SHA256, Offset: int64(c.File.Edit.Offset), Length: int64(c.File.Edit.Length), Insert: c.File.Edit.Insert}
	_, err = run.Replace(ctx, n, e)
	switch {
	case errors.Is(err, host.ErrChanged):
		return fmt.Errorf("%w: %w", remediate.ErrChanged, err)
	case errors.Is(err, nodeexec.ErrUnknownOutcome):
		env.Disconnect(a.NodeName)
		return a.settle(ctx, env, e, err)
	}
	return err
}

// settle finds out what a write did whose end was not seen, by trying it once more
// on a new way there. It has the node's lock then: what was begun is over, or is
// said to be still at work.
func (a AddKubeconfigCAs) settle(ctx context.Context, env *remediate.Env, e host.Edit, unseen error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), remediate.ReadTime)
	defer cancel()
	n, err := env.Connect(ctx, a.NodeName)
	if err == nil {
		_, err = host.RunFolder{ID: env.RunID}.Replace(ctx, n, e)
	}
	if err == nil {
		return nil
	}
	if !errors.Is(err, host.ErrChanged) {
		return fmt.Errorf("%w; and once more: %w", unseen, err)
	}
	now, entry, err := env.Stat(ctx, a.NodeName, a.Path)
	switch {
	case err != nil:
		return fmt.Errorf("%w; and asking again: %w", unseen, err)
	case entry.IsWritten(now):
		return nil
	}
	return fmt.Errorf("%w: it is neither as it was nor as it was to be: %w", remediate.ErrChanged, unseen)
}

// Verify reads the file again: it is what this run wrote, it loads, it holds what
// it is to hold, has the owner it had, and trusts what is served now.
func (a AddKubeconfigCAs) Verify(ctx context.Context, env *remediate.Env, c *remediate.Change) error {
	now, entry, err := env.Stat(ctx, a.NodeName, a.Path)
	switch {
	case err != nil:
		return err
	case entry == nil:
		return fmt.Errorf("%s on %s is not in the manifest of run %s", a.Path, a.NodeName, env.RunID)
	case !entry.IsWritten(now):
		return fmt.Errorf("%s on %s: %w", a.Path, a.NodeName, remediate.ErrChanged)
	case now.Mode != entry.Before.Mode || now.UID != entry.Before.UID || now.GID != entry.Before.GID || now.Label != entry.Before.Label:
		return &remediate.BadEffectError{Reason: fmt.Sprintf("%s on %s has another owner, mode or label than before", a.Path, a.NodeName)}
	}
	snapshot, err := env.Read(ctx, a.NodeName)
	if err != nil {
		return err
	}
	text, file, err := a.text(snapshot)
	if err != nil && len(gapsAt(snapshot, a.NodeName, a.Path)) > 0 {
		return err // not read, which says nothing of the file
	}
	if err != nil {
		return &remediate.BadEffectError{Reason: err.Error()}
	}
	if file.SHA256 != now.SHA256 { // by another client, a moment ago: it is theirs to judge
		return fmt.Errorf("%s on %s: %w", a.Path, a.NodeName, remediate.ErrChanged)
	}
	ca, err := a.Cache.Find(text)
	if err != nil {
		return &remediate.BadEffectError{Reason: a.Path + ": " + err.Error()}
	}
	if found := pki.LoadedPEM(a.Cache.Scanner(), ca.PEM); !slices.EqualFunc(found, c.File.New, func(x, y *pki.Cert) bool { return x.Fingerprint == y.Fingerprint }) {
		return &remediate.BadEffectError{Reason: fmt.Sprintf("%s on %s holds %d certificates, not the %d that were written", a.Path, a.NodeName, len(found), len(c.File.New))}
	}
	err = Trusts(snapshot, a.NodeName, a.Path, env.Now())
	var bad *remediate.BadEffectError
	if errors.As(err, &bad) && !a.trusted(snapshot, c, env.Now()) {
		// The served chain changed meanwhile, or one of several servers presents another
		// chain: the file from before would be no better.
		return fmt.Errorf("it is written, and %s; the file from before does not trust it either", bad.Reason)
	}
	return err
}

// trusted reports whether the CAs from before verify the chain that is served now.
func (a AddKubeconfigCAs) trusted(snapshot inspect.Snapshot, c *remediate.Change, now time.Time) bool {
	n, ok := snapshot.Node(a.NodeName)
	if !ok {
		return false
	}
	for _, k := range n.Kubeconfigs {
		cluster, ok := k.InUse()
		if k.Path != a.Path || !ok {
			continue
		}
		if address, name, err := cluster.Dialled(); err == nil {
			served, _ := snapshot.ServedTo(a.NodeName, address)
			return pki.Verify(served.Chain, c.File.Old, name, n.Time(now)) == nil
		}
	}
	return false
}

// gapsAt are what was not read of a file, or of all of a node.
func gapsAt(snapshot inspect.Snapshot, node, path string) (out []inspect.Gap) {
	for _, g := range snapshot.Gaps {
		if g.What == "node/"+node && (g.IsAt(path) || g.Where == "") {
			out = append(out, g)
		}
	}
	return out
}

// Trusts says whether a kubeconfig on a node verifies the chain that its server presents now.
func Trusts(snapshot inspect.Snapshot, node, path string, now time.Time) error {
	n, ok := snapshot.Node(node)
	if !ok {
		return fmt.Errorf("node %s was not read", node)
	}
	i := slices.IndexFunc(n.Kubeconfigs, func(k inspect.Kubeconfig) bool { return k.Path == path })
	if i < 0 {
		return &remediate.BadEffectError{Reason: path + " can't be read as a kubeconfig"}
	}
	client, err := trust.ClientOf(&snapshot, n, n.Kubeconfigs[i])
	if err != nil {
		return &remediate.BadEffectError{Reason: path + ": " + err.Error()}
	}
	served, ok := client.Served()
	if !ok {
		return fmt.Errorf("the certificate that %s presents to node %s is unknown: %s", client.Address, node, WhyUnread(snapshot, client.Address))
	}
	if err := client.Refuses(served.Chain, now); err != nil {
		return &remediate.BadEffectError{Reason: fmt.Sprintf("%s on %s does not trust the certificate that %s presents: %v", path, node, client.Address, err)}
	}
	return nil
}

// WhyUnread says why something was not read.
func WhyUnread(snapshot inspect.Snapshot, where string) string {
	for _, g := range snapshot.Gaps {
		if g.Where == where {
			return g.Reason
		}
	}
	return "no handshake was made"
}

var _ remediate.Reverter = AddKubeconfigCAs{}

// Revert puts the bytes from before back.
func (a AddKubeconfigCAs) Revert(ctx context.Context, env *remediate.Env, _ *remediate.Change) error {
	return restore(ctx, env, a.NodeName, a.Path)
}

func restore(ctx context.Context, env *remediate.Env, node, path string) error {
	n, err := env.Connect(ctx, node)
	if err != nil {
		return err
	}
	_, err = host.RunFolder{ID: env.RunID}.Restore(ctx, n, path)
	switch {
	case errors.Is(err, host.ErrChanged):
		return fmt.Errorf("%w: %w", remediate.ErrChanged, err)
	case errors.Is(err, nodeexec.ErrUnknownOutcome):
		env.Disconnect(node)
		now, entry, lookErr := env.Stat(ctx, node, path)
		if lookErr == nil && entry != nil && now.SHA256 == entry.Before.SHA256 {
			return nil
		}
		return errors.Join(err, lookErr)
	}
	return err
}
