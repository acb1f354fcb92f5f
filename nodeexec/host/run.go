package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// DefaultFolder is where runs are kept on a node.
const DefaultFolder = "/var/lib/certrot"

// RunFolder is what changes belong to that are made, and put back, together. What they
// need to be put back is in a folder on each node, FOLDER/ID, of mode 0700.
type RunFolder struct {
	ID     string // 1 to 64 of a-z, 0-9 and -
	Folder string // on the node; "" is DefaultFolder
}

// Edit replaces some bytes of a file.
type Edit struct {
	Path   string
	Before [32]byte // the sha256 of the file as the plan has it
	Offset int64    // of the first byte that is replaced
	Length int64    // how many bytes are; 0 only inserts
	Insert []byte   // what comes there
}

// Backup is one file that a run changed or removed, or was about to when it was
// interrupted. A change that failed leaves none; one that was put back is there as long as
// nothing else is at its path.
type Backup struct {
	// Before is what it was before the run, and what Restore makes of it. Of a Link it
	// has no more than path and kind.
	Before File
	// Wrote is the sha256 of each content that the run gave it, or was about to
	// when it was interrupted. The last one is the newest.
	Wrote [][32]byte
	// Removed: the run removed it, or was about to. A Link that was removed said
	// Target.
	Removed bool
	Target  string
	// Later is the run that changed it after this one, and whose it is as it is now.
	Later string
}

// IsWritten reports whether a file is as the run left it; nil: the run did not write it.
func (b *Backup) IsWritten(f File) bool {
	return b != nil && len(b.Wrote) > 0 && b.Wrote[len(b.Wrote)-1] == f.SHA256
}

// Summary is a run as a node knows it.
type Summary struct {
	ID    string
	Began time.Time // when the oldest file of its folder was written; the node's clock, to the second; zero: there is none
	Files int       // how many files it changed that are not what they were before
}

// Replace changes a file of the node and returns what it is now. Owner, mode, label,
// ACL and extended attributes stay. It writes nothing if the file has these bytes
// already.
//
// Before the file changes, the node has its bytes and a Backup on its disk. A
// second Replace keeps what the file was before the first.
//
// The errors are ErrChanged, with what is there now as the File; ErrBusy; what the
// node refuses or can't do, such as a link, a full disk or a read-only one; and
// ErrUnknownOutcome, after which Look tells what became of it. In all others, the
// file is untouched.
func (r RunFolder) Replace(ctx context.Context, n nodeexec.Node, e Edit) (File, error) {
	const most = 1 << 40 // far from where sums overflow
	insert := sha256.Sum256(e.Insert)
	args, err := r.args(e.Path, hex.EncodeToString(e.Before[:]), number(e.Offset), number(e.Length), number(int64(len(e.Insert))), hex.EncodeToString(insert[:]))
	if err == nil {
		err = checkPath(e.Path)
	}
	if err == nil && (e.Offset < 0 || e.Length < 0 || e.Offset > most || e.Length > most) {
		err = fmt.Errorf("%d bytes at %d are no range of a file", e.Length, e.Offset)
	}
	if err != nil {
		return File{}, fmt.Errorf("change %s: %w", at(n, e.Path), err)
	}
	return change(ctx, n, "change", e.Path, request{op: "replace", args: args, stdin: e.Insert, changes: true})
}

// Restore makes a file what it was before the run, bytes, owner, mode and label,
// and returns what it is now. If its bytes are those already, it does nothing.
//
// It does so only if the file is what the run made of it: anything else is
// ErrChanged. Other errors are those of Replace, and ErrNoRun.
func (r RunFolder) Restore(ctx context.Context, n nodeexec.Node, path string) (File, error) {
	args, err := r.args(path)
	if err == nil {
		err = checkPath(path)
	}
	if err != nil {
		return File{}, fmt.Errorf("put back %s: %w", at(n, path), err)
	}
	return change(ctx, n, "put back", path, request{op: "restore", args: args, changes: true})
}

// RemoveFile removes a file. Its bytes and a Backup are on the node's disk before that.
// before is the sha256 of the file as it was read; the errors are those of Replace.
// What this run removed already stays so.
func (r RunFolder) RemoveFile(ctx context.Context, n nodeexec.Node, path string, before [32]byte) (File, error) {
	return r.move(ctx, n, "remove", request{op: "aside", changes: true}, path, hex.EncodeToString(before[:]))
}

// RemoveLink removes a symbolic link that says target; what it leads to stays.
func (r RunFolder) RemoveLink(ctx context.Context, n nodeexec.Node, path, target string) (File, error) {
	return r.move(ctx, n, "remove", request{op: "unlink", changes: true}, path, target)
}

// RestoreOver is Restore of what the run removed, where another file has its name by
// now: over is its sha256 as it was read.
func (r RunFolder) RestoreOver(ctx context.Context, n nodeexec.Node, path string, over [32]byte) (File, error) {
	return r.move(ctx, n, "put back", request{op: "restore", changes: true}, path, hex.EncodeToString(over[:]))
}

// RestoreLink puts a link back that the run removed, where nothing has its name or a
// link that says over.
func (r RunFolder) RestoreLink(ctx context.Context, n nodeexec.Node, path, over string) (File, error) {
	return r.move(ctx, n, "put back", request{op: "relink", changes: true}, path, over)
}

// move is an operation on a path as it was read: before says what it was.
func (r RunFolder) move(ctx context.Context, n nodeexec.Node, what string, q request, path, before string) (File, error) {
	args, err := r.args(path, before)
	if err == nil {
		err = checkPath(path)
	}
	if err != nil {
		return File{}, fmt.Errorf("%s %s: %w", what, at(n, path), err)
	}
	q.args = args
	return change(ctx, n, what, path, q)
}

// change asks for what changes a file.
func change(ctx context.Context, n nodeexec.Node, what, path string, r request) (File, error) {
	var now File
	a, err := ask(ctx, n, r)
	if err != nil {
		return now, fmt.Errorf("%s %s: %w", what, at(n, path), err)
	}
	told := a.code == "" || a.code == "changed"
	if told && len(a.lines) == 1 {
		now, err = parseFile(path, a.lines[0])
	} else if told || len(a.lines) > 0 {
		err = fmt.Errorf("the answer has %d lines about the file", len(a.lines))
	}
	failed := a.failure()
	switch {
	case failed == nil && err != nil:
		return File{}, fmt.Errorf("%s %s: %w: %w", what, at(n, path), nodeexec.ErrUnknownOutcome, err)
	case failed == nil:
		return now, nil
	case errors.Is(failed, nodeexec.ErrUnknownOutcome):
		return File{}, fmt.Errorf("%s %s: %w", what, at(n, path), failed)
	case a.code == "changed" && err == nil && now.Kind == Regular:
		failed = fmt.Errorf("%w (it has %d bytes of sha256 %x)", failed, now.Size, now.SHA256)
	}
	return now, fmt.Errorf("%s %s: %w: %w", what, at(n, path), ErrNothingChanged, failed)
}

// Backups returns what the run changed on the node, sorted by path. ErrNoRun means
// that it has no folder there.
func (r RunFolder) Backups(ctx context.Context, n nodeexec.Node) ([]Backup, error) {
	var entries []Backup
	args, err := r.args()
	if err == nil {
		var a answer
		if a, err = ask(ctx, n, request{op: "entries", args: args}); err == nil {
			err = a.failure()
		}
		if err == nil {
			entries, err = parseEntries(a.lines)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read what run %s changed on %s: %w", r.ID, n.Name(), err)
	}
	return entries, nil
}

// Runs returns the runs that have a folder on the node, sorted by their IDs. A
// folder of "" is DefaultFolder.
func Runs(ctx context.Context, n nodeexec.Node, folder string) ([]Summary, error) {
	var runs []Summary
	folder, err := folderOr(folder)
	if err == nil {
		var a answer
		if a, err = ask(ctx, n, request{op: "runs", args: []string{folder}}); err == nil {
			err = a.failure()
		}
		if err == nil {
			runs, err = parseRuns(a.lines)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("list runs in %s: %w", at(n, folder), err)
	}
	return runs, nil
}

// Remove deletes the run's folder on the node, and so its backups. If it is not
// there, all is well. If anything is in it that is not the run's, or an earlier run made
// the same of a file and would count as its owner then, nothing is deleted.
func (r RunFolder) Remove(ctx context.Context, n nodeexec.Node) error {
	args, err := r.args()
	if err == nil {
		var a answer
		if a, err = ask(ctx, n, request{op: "remove", args: args, changes: true}); err == nil {
			err = a.failure()
		}
	}
	if err != nil {
		return fmt.Errorf("remove run %s from %s: %w", r.ID, n.Name(), err)
	}
	return nil
}

// args are those of all operations of a run, and more.
func (r RunFolder) args(more ...string) ([]string, error) {
	if !validID(r.ID) {
		return nil, fmt.Errorf("run %q: a run's ID is 1 to 64 of a-z, 0-9 and -", r.ID)
	}
	folder, err := folderOr(r.Folder)
	return append([]string{folder, r.ID}, more...), err
}

func validID(id string) bool {
	return id != "" && len(id) <= 64 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

func folderOr(folder string) (string, error) {
	if folder == "" {
		folder = DefaultFolder
	}
	return folder, checkPath(folder)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// parseEntries reads groups of four lines: "entry" with the fields of parseFacts,
// "path PATH", "after" with hashes, and - where it was removed, and "later" with the
// run to which it belongs now, or -. Of a link they are "entry link", its path, "after"
// with what it said, and "later".
func parseEntries(lines []string) ([]Backup, error) {
	var entries []Backup
	for group := range slices.Chunk(lines, 4) {
		if len(group) != 4 {
			return nil, fmt.Errorf("the answer is cut off within an entry: %s", quoted(strings.Join(group, " ")))
		}
		facts, ok := strings.CutPrefix(group[0], "entry ")
		path, ok2 := strings.CutPrefix(group[1], "path ")
		sums, ok3 := strings.CutPrefix(group[2], "after ")
		later, ok4 := strings.CutPrefix(group[3], "later ")
		if later == "-" {
			later = ""
		}
		if !ok || !ok2 || !ok3 || !ok4 || checkPath(path) != nil || later != "" && !validID(later) {
			return nil, fmt.Errorf("the answer %s is no entry", quoted(strings.Join(group, " ")))
		}
		e := Backup{Later: later}
		var err error
		if facts == "link" && sums != "" {
			entries = append(entries, Backup{Before: File{Path: path, Kind: Link}, Removed: true, Target: sums, Later: later})
			continue
		}
		if e.Before, err = parseFacts(path, facts); err != nil {
			return nil, err
		}
		for text := range strings.SplitSeq(sums, " ") {
			if text == "-" {
				e.Removed = true
				continue
			}
			sum, err := parseSum(text)
			if err != nil {
				return nil, err
			}
			e.Wrote = append(e.Wrote, sum)
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b Backup) int { return strings.Compare(a.Before.Path, b.Before.Path) })
	return entries, nil
}

// parseRuns reads lines of "run ID SECONDS FILES", with - where no time is known.
func parseRuns(lines []string) ([]Summary, error) {
	var runs []Summary
	for _, line := range lines {
		f := strings.Split(line, " ")
		if len(f) != 4 || f[0] != "run" || !validID(f[1]) {
			return nil, fmt.Errorf("the answer %s is no run", quoted(line))
		}
		var began time.Time
		if f[2] != "-" {
			var err error
			if began, err = unixTime(f[2]); err != nil {
				return nil, err
			}
		}
		files, err := strconv.ParseUint(f[3], 10, 31)
		if err != nil {
			return nil, fmt.Errorf("the answer %s is no run", quoted(line))
		}
		runs = append(runs, Summary{ID: f[1], Began: began, Files: int(files)})
	}
	slices.SortFunc(runs, func(a, b Summary) int { return strings.Compare(a.ID, b.ID) })
	return runs, nil
}

// maxSeconds is the year 9999, the last one that JSON can hold.
const maxSeconds = 253402300799

// unixTime reads seconds since 1970, with up to nine digits behind a point.
func unixTime(text string) (time.Time, error) {
	whole, part, _ := strings.Cut(text, ".")
	s, err := strconv.ParseInt(whole, 10, 40)
	var ns int64
	if err == nil && part != "" {
		ns, err = strconv.ParseInt((part + "000000000")[:9], 10, 32)
	}
	if err != nil || s < 0 || s > maxSeconds || ns < 0 || len(part) > 9 {
		return time.Time{}, fmt.Errorf("%s is no time", quoted(text))
	}
	return time.Unix(s, ns).UTC(), nil
}
