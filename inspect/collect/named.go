package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// ReadNamed reads a file that a user named: a regular file, or a pipe, as from the shell's
// <(…). "-" is stdin, if that is not nil. A pipe may never get a writer, and a writer may
// never end: the end of ctx ends the wait.
func ReadNamed(ctx context.Context, path string, stdin io.Reader, most int64) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() { // nothing ends the open or the read of a pipe but its other end
		data, err := readNamed(path, stdin, most)
		done <- result{data, err}
	}()
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("interrupted while reading %s", path)
	case r := <-done:
		return r.data, r.err
	}
}

func readNamed(path string, stdin io.Reader, most int64) ([]byte, error) {
	in := stdin
	if path != "-" || stdin == nil {
		file, err := openNamed(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }() // read only
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("read %s: it is larger than %d bytes", path, most)
	}
	return data, err
}

// openNamed opens a file that a user named. It waits for nothing but the writer of a pipe.
// Of devices it takes the null device alone, which is an empty file: others may never end.
func openNamed(path string) (*os.File, error) {
	flags := os.O_RDONLY | syscall.O_NONBLOCK
	if isPipe(path) {
		flags = os.O_RDONLY // opened without waiting, one without a writer reads as empty
	}
	file, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return nil, err
	}
	at, err := file.Stat()
	if err == nil && !at.Mode().IsRegular() && at.Mode()&os.ModeNamedPipe == 0 && !isNullDevice(at) {
		err = fmt.Errorf("read %s: is neither a file nor a pipe (%s)", path, fileKind(at))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// CheckRegular is the error for a file that a user named and that is read again and again, as
// for each node: a pipe has its content once.
func CheckRegular(path string) error {
	at, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !at.Mode().IsRegular() && !isNullDevice(at):
		return fmt.Errorf("%s is not a file (%s): it is read for each node", path, fileKind(at))
	}
	return nil
}

func isPipe(path string) bool {
	at, err := os.Stat(path)
	return err == nil && at.Mode()&os.ModeNamedPipe != 0
}

func isNullDevice(at os.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(at, null)
}

// fileKind names what is no regular file.
func fileKind(at os.FileInfo) string {
	switch mode := at.Mode(); {
	case mode.IsDir():
		return "a directory"
	case mode&os.ModeNamedPipe != 0:
		return "a pipe"
	case mode&os.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
