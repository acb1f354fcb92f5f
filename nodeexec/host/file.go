package host

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// Kind is what is at a path; links are not followed.
type Kind string

// What may be at a path. Only a Regular file has more than a path and a kind.
const (
	Absent    Kind = "absent"
	Regular   Kind = "regular"
	Directory Kind = "directory"
	Link      Kind = "link" // symbolic
	Other     Kind = "other"
)

// File is the state of a file: what is needed to say that it is as it was. Two
// states of the same path can be compared with ==.
type File struct {
	Path   string
	Kind   Kind
	SHA256 [32]byte
	Size   int64       // bytes
	Mode   fs.FileMode // permissions, setuid, setgid and sticky
	UID    int
	GID    int
	Label  string // of SELinux; "" where the node does not tell
}

// Look returns what is at some paths of a node, in their order. It writes
// nothing there. A path is absolute and clean; what is not there is Absent.
func Look(ctx context.Context, n nodeexec.Node, paths ...string) ([]File, error) {
	for _, p := range paths {
		if err := checkPath(p); err != nil {
			return nil, fmt.Errorf("look at files on %s: %w", n.Name(), err)
		}
	}
	var files []File
	for some := range slices.Chunk(paths, 100) { // an argument list is bounded
		a, err := ask(ctx, n, request{op: "look", args: some})
		if err == nil {
			err = a.failure()
		}
		if err == nil && len(a.lines) != len(some) {
			err = fmt.Errorf("%d answers for %d files", len(a.lines), len(some))
		}
		if err != nil {
			return nil, fmt.Errorf("look at files on %s: %w", n.Name(), err)
		}
		for i, line := range a.lines {
			f, err := parseFile(some[i], line)
			if err != nil {
				return nil, fmt.Errorf("look at %s: %w", at(n, some[i]), err)
			}
			files = append(files, f)
		}
	}
	return files, nil
}

func at(n nodeexec.Node, p string) string { return n.Name() + ":" + p }

// checkPath refuses what can't be told from another path, or not be written in
// a line.
func checkPath(p string) error {
	switch {
	case !path.IsAbs(p) || path.Clean(p) != p || p == "/":
		return fmt.Errorf("path %q: a file's path starts with / and has no empty, . or .. part", p)
	case strings.ContainsAny(p, "\n\x00"):
		return fmt.Errorf("path %q: a path with a newline or a NUL byte is not worked on", p)
	}
	return nil
}

// parseFile reads "file KIND", for a regular file followed by the seven fields
// that parseFacts takes.
func parseFile(p, line string) (File, error) {
	rest, ok := strings.CutPrefix(line, "file ")
	if !ok {
		return File{}, fmt.Errorf("the answer %s is about no file", quoted(line))
	}
	kind, rest, more := strings.Cut(rest, " ")
	switch k := Kind(kind); {
	case k == Regular && more:
		return parseFacts(p, rest)
	case !more && slices.Contains([]Kind{Absent, Directory, Link, Other}, k):
		return File{Path: p, Kind: k}, nil
	}
	return File{}, fmt.Errorf("the answer %s is not understood", quoted(line))
}

// parseFacts reads "SHA256 SIZE MODE UID GID LABEL".
func parseFacts(p, text string) (File, error) {
	f := File{Path: p, Kind: Regular}
	fields := strings.SplitN(text, " ", 6)
	if len(fields) != 6 || fields[5] == "" {
		return File{}, fmt.Errorf("the answer %s has not the fields of a file", quoted(text))
	}
	var errs [5]error
	f.SHA256, errs[0] = parseSum(fields[0])
	f.Size, errs[1] = strconv.ParseInt(fields[1], 10, 64)
	var mode uint64
	mode, errs[2] = strconv.ParseUint(fields[2], 8, 12)
	f.Mode = fileMode(uint32(mode))
	f.UID, errs[3] = strconv.Atoi(fields[3])
	f.GID, errs[4] = strconv.Atoi(fields[4])
	if err := errors.Join(errs[:]...); err != nil || f.Size < 0 || f.UID < 0 || f.GID < 0 {
		return File{}, fmt.Errorf("the answer %s has not the fields of a file", quoted(text))
	}
	if fields[5] != "?" {
		f.Label = fields[5]
	}
	return f, nil
}

func parseSum(text string) (sum [32]byte, err error) {
	if len(text) != 2*len(sum) || strings.Trim(text, "0123456789abcdef") != "" {
		return sum, fmt.Errorf("%s is no sha256", quoted(text))
	}
	_, err = hex.Decode(sum[:], []byte(text))
	return sum, err
}

// fileMode turns what chmod takes into Go's.
func fileMode(bits uint32) fs.FileMode {
	m := fs.FileMode(bits & 0o777)
	if bits&0o4000 != 0 {
		m |= fs.ModeSetuid
	}
	if bits&0o2000 != 0 {
		m |= fs.ModeSetgid
	}
	if bits&0o1000 != 0 {
		m |= fs.ModeSticky
	}
	return m
}
