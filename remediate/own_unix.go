//go:build unix

package remediate

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Own gives a file the owner of another one, and returns the mode that it may have. Who
// may not give it to the group, gives the group nothing.
func Own(f *os.File, like os.FileInfo, mode os.FileMode) (os.FileMode, error) {
	want, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return mode, nil
	}
	info, err := f.Stat()
	if err != nil {
		return mode, err
	}
	has, ok := info.Sys().(*syscall.Stat_t)
	if !ok || has.Uid == want.Uid && has.Gid == want.Gid {
		return mode, nil
	}
	err = f.Chown(int(want.Uid), int(want.Gid))
	if errors.Is(err, fs.ErrPermission) && has.Uid == want.Uid {
		return mode &^ 0o070, nil
	}
	return mode, err
}
