package apiint

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeconfig"
)

// UserKubeconfigChange is what the administrator's own kubeconfig needs.
type UserKubeconfigChange struct {
	Cluster  string
	Server   string
	Old, New []*pki.Cert // the CAs that the file trusts, before and after
	Text     []byte      // the file after it; nil: already up to date
}

// UserKubeconfig plans the CA of the current cluster of a kubeconfig on this machine, whose server
// presents a chain for a name. CAs that are there and have not expired are kept. Errors are of
// type *Refusal or *kubeconfig.Refusal.
func (a Repair) UserKubeconfig(text []byte, served []*pki.Cert, name string, now time.Time) (*UserKubeconfigChange, error) {
	want, err := a.certificates(catalog.Versions{}, now)
	if err != nil {
		return nil, err
	}
	if err := pki.Verify(served, want, name, now); err != nil {
		return nil, &remediate.Refusal{Name: "ca-verifies-served", Reason: fmt.Sprintf("%s does not verify the certificate that the server presents: %v\n%s", a.CASource, err, chain(served)),
			Next: "the file keeps its CA. Either this is the CA of another cluster, or another server answers: compare the sha256 with that on a control plane node"}
	}
	ca, err := kubeconfig.Find(text)
	if err != nil {
		return nil, err
	}
	sc := pki.NewScanner()
	c := &UserKubeconfigChange{Cluster: ca.Cluster, Server: inspect.ServerURL(ca.Server), Old: pki.LoadedPEM(sc, ca.PEM)}
	c.New = c.Old
	missing := false
	for _, w := range want {
		missing = missing || !pki.Contains(c.Old, w)
	}
	if !missing {
		return c, nil
	}
	verbatim := a.CA
	if !a.Published {
		verbatim = pki.EncodePEM(want) // of any other text, only the certificates are written
	}
	value := action.Union(verbatim, want, c.Old, now)
	edit, err := kubeconfig.SetCA(text, value)
	if err != nil {
		return nil, err
	}
	c.New, c.Text = pki.LoadedPEM(sc, value), edit.Apply(text)
	return c, nil
}

// UserKubeconfigFile is a file of this machine's user.
type UserKubeconfigFile struct {
	Path     string // links followed
	LockedAs string // as others call it, who lock it by that name; may be Path
	Backup   string // what it was; must not be there yet
}

// ReplaceUserKubeconfig replaces a file, if it still is what before says, and keeps that as its
// backup. The locks are those of kubectl config. At any moment, the file is the one or
// the other; written says which, whatever the error. If it was not written, nothing is
// left behind.
func ReplaceUserKubeconfig(f UserKubeconfigFile, before, after []byte) (written bool, err error) {
	for _, name := range slices.Compact([]string{f.LockedAs, f.Path}) {
		lock, failed := os.OpenFile(name+".lock", os.O_CREATE|os.O_EXCL, 0)
		if errors.Is(failed, os.ErrExist) {
			return false, fmt.Errorf("%s.lock is there: another program is changing the file, or was killed while it did; in that case, remove the lock", name)
		}
		if failed != nil {
			return false, fmt.Errorf("lock: %w", failed)
		}
		defer func() { err = errors.Join(err, lock.Close(), os.Remove(lock.Name())) }()
	}
	info, err := os.Stat(f.Path)
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, fmt.Errorf("replace %s: it is no regular file", f.Path)
	}
	now, err := os.ReadFile(f.Path)
	if err != nil {
		return false, err
	}
	if !bytes.Equal(now, before) {
		return false, remediate.ErrChanged
	}
	made, err := create(filepath.Dir(f.Path), after, info.Mode().Perm(), info)
	if err != nil {
		return false, err
	}
	kept, err := create(filepath.Dir(f.Backup), before, 0o600, info)
	if err != nil {
		return false, errors.Join(fmt.Errorf("backup: %w", err), os.Remove(made))
	}
	if err := os.Link(kept, f.Backup); err != nil {
		// Not every filesystem knows links; the name has a time in it, so it is free.
		if err = os.Rename(kept, f.Backup); err != nil {
			return false, errors.Join(fmt.Errorf("backup: %w", err), os.Remove(made), os.Remove(kept))
		}
	} else if err := os.Remove(kept); err != nil {
		return false, errors.Join(err, os.Remove(made), os.Remove(f.Backup))
	}
	if err := os.Rename(made, f.Path); err != nil {
		return false, errors.Join(err, os.Remove(made), os.Remove(f.Backup))
	}
	return true, remediate.SyncFolder(filepath.Dir(f.Path))
}

// create writes a file of a name of its own, down to the disk, or leaves none.
func create(folder string, text []byte, mode os.FileMode, like os.FileInfo) (name string, err error) {
	f, err := os.CreateTemp(folder, ".certrot-*") // 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if err == nil {
		mode, err = remediate.Own(f, like, mode)
	}
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}
