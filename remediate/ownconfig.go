package remediate

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeconfig"
)

// OwnChange is what the administrator's own kubeconfig needs.
type OwnChange struct {
	Cluster  string
	Server   string
	Old, New []*pki.Cert // whom the file trusts, before and after
	Text     []byte      // the file after it; nil: it is so already
}

// Own plans the CA of the current cluster of a kubeconfig on this machine, whose server
// shows a chain for a name. CAs that are there and have not ended are kept. Errors are of
// type *Refusal or *kubeconfig.Refusal.
func (a APIInt) Own(text []byte, served []*pki.Cert, name string, now time.Time) (*OwnChange, error) {
	want, err := a.certificates(now)
	if err != nil {
		return nil, err
	}
	if err := pki.Verify(served, want, name, now); err != nil {
		return nil, &Refusal{Name: "ca-verifies-served", Reason: fmt.Sprintf("%s does not verify what the server shows: %v\n%s", a.From, err, chain(served)),
			Next: "the file keeps its CA. Either this is the CA of another cluster, or somebody else answers: compare the sha256 with what a master says"}
	}
	ca, err := kubeconfig.Find(text)
	if err != nil {
		return nil, err
	}
	sc := pki.NewScanner()
	c := &OwnChange{Cluster: ca.Cluster, Server: ca.Server, Old: certs(sc, ca.PEM)}
	c.New = c.Old
	missing := false
	for _, w := range want {
		missing = missing || !holds(c.Old, w)
	}
	if !missing {
		return c, nil
	}
	value := union(a.CA, want, c.Old, now)
	edit, err := kubeconfig.SetCA(text, value)
	if err != nil {
		return nil, err
	}
	c.New, c.Text = certs(sc, value), edit.Apply(text)
	return c, nil
}

// ReplaceOwn writes a file of this machine's user anew, if it still is what before
// says, and keeps that as backup, which must not be there yet. The lock is that of
// kubectl config. At any moment, the file is the one or the other.
func ReplaceOwn(path, backup string, before, after []byte) (err error) {
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_EXCL, 0)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s.lock is there: another program is changing the file, or was killed while it did; then remove the lock", path)
	}
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close(), os.Remove(lock.Name())) }()
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	digest := sha256.New()
	_, err = io.Copy(digest, file)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if want := sha256.Sum256(before); !bytes.Equal(digest.Sum(nil), want[:]) {
		return ErrChanged
	}
	if err := create(backup, before, 0o600, nil); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	made := path + ".certrot-new"
	if err := create(made, after, info.Mode().Perm(), info); err != nil {
		return err
	}
	if err := os.Rename(made, path); err != nil {
		return errors.Join(err, os.Remove(made))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// create writes a file that must not be there, down to the disk, or leaves none.
func create(path string, text []byte, mode os.FileMode, like os.FileInfo) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil && like != nil {
		err = own(f, like)
	}
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
