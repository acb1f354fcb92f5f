package node

import (
	"os"
	"path/filepath"
)

// coreID is the user core's id; the root file system has the same.
const coreID = 1000

// tree writes files below a folder. The first error is kept, later calls do
// nothing: a list of files reads better without a check after each.
type tree struct {
	root string
	err  error
}

// file writes one as root's. Its mode is what is asked for, whatever the umask:
// tools look at the modes of what holds keys.
func (t *tree) file(path, text string, mode os.FileMode) {
	path = filepath.Join(t.root, path)
	t.folder(filepath.Dir(path))
	t.do(func() error { return os.WriteFile(path, []byte(text), mode) })
	t.do(func() error { return os.Chmod(path, mode) })
}

// copy copies a file.
func (t *tree) copy(path, from string, mode os.FileMode) {
	var text []byte
	t.do(func() (err error) { text, err = os.ReadFile(from); return err })
	t.file(path, string(text), mode)
}

func (t *tree) link(path, target string) {
	path = filepath.Join(t.root, path)
	t.folder(filepath.Dir(path))
	t.do(func() error { return os.Symlink(target, path) })
}

// private gives a folder or file to a user alone.
func (t *tree) private(path string, uid int, mode os.FileMode) {
	path = filepath.Join(t.root, path)
	t.do(func() error { return os.Chown(path, uid, uid) })
	t.do(func() error { return os.Chmod(path, mode) })
}

// folder makes an absolute path below root, each folder of it open to readers:
// it hides the one of that name in the root file system.
func (t *tree) folder(path string) {
	if t.err != nil || len(path) < len(t.root) {
		return
	}
	if _, err := os.Stat(path); err == nil {
		return
	}
	if path != t.root {
		t.folder(filepath.Dir(path))
	}
	t.do(func() error { return os.Mkdir(path, 0o755) })
	t.do(func() error { return os.Chmod(path, 0o755) })
}

func (t *tree) do(step func() error) {
	if t.err == nil {
		t.err = step()
	}
}
