package collect

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// maxFile bounds the bytes read of one file, unpacked. A list of all secrets of
// a large cluster is below it.
const maxFile = 256 << 20

// Reasons of the gap that a file is in which nothing was found.
const (
	holdsNothing = "holds nothing that looks like a certificate, a key or a Kubernetes object"
	isEmpty      = "is empty"
)

// Nothing is the gap of a file in which nothing was found; false: it has something.
func Nothing(s inspect.Snapshot) (inspect.Gap, bool) {
	i := slices.IndexFunc(s.Gaps, func(g inspect.Gap) bool {
		return g.What == "file" && (g.Reason == holdsNothing || g.Reason == isEmpty)
	})
	if i < 0 {
		return inspect.Gap{}, false
	}
	return s.Gaps[i], true
}

// nothing is the gap of a file in which nothing was found.
func (f File) nothing(data []byte) inspect.Gap {
	g := inspect.Gap{What: "file", Where: f.Path, Reason: holdsNothing, Next: foreign.Command("", "file %s", foreign.Words(nodeexec.Quote(f.Path)))}
	if len(data) == 0 {
		g.Reason, g.Next = isEmpty, "write it again, or name another file"
	}
	if f.Path == "-" || isPipe(f.Path) { // it was read, and is not there any more
		g.Next = "look at what the command before the pipe prints"
	}
	return g
}

// File returns the source for one file: a saved snapshot, Kubernetes objects
// (YAML or JSON, single, list or stream), or anything that holds certificates
// (PEM, DER, a kubeconfig …), each gzipped, xz or neither; or a must-gather, as a
// directory or a tar. "-" is stdin.
type File struct {
	Path    string
	Stdin   io.Reader // read for "-"
	Scanner *pki.Scanner
	Observe func(what string, objects int) // told how much was read so far; may be nil
}

// Name is the file's path.
func (f File) Name() string { return f.Path }

// Collect reads the file. A file that can't be read is a gap.
func (f File) Collect(ctx context.Context) inspect.Snapshot {
	if f.Scanner != nil {
		f.Scanner = f.Scanner.Within(ctx)
	}
	s, err := f.Read()
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("not all was read: %w", context.Cause(ctx))
	}
	if err != nil {
		s.Gaps = append(s.Gaps, inspect.Gap{What: "file", Where: f.Path, Reason: err.Error()})
	}
	return s
}

// Read reads the file. Only snapshots and must-gathers know their time; of others it is
// zero.
func (f File) Read() (inspect.Snapshot, error) {
	s, err := f.read()
	if err == nil {
		if err = boundNodes(s); err != nil {
			return inspect.Snapshot{}, fmt.Errorf("read %s: %w", f.Path, err)
		}
	}
	return s, err
}

func (f File) read() (inspect.Snapshot, error) {
	if info, err := os.Stat(f.Path); err == nil && info.IsDir() && f.Path != "-" {
		return f.mustGatherDirectory(usualBounds())
	}
	in, err := f.open()
	if err != nil {
		return inspect.Snapshot{}, err
	}
	defer func() { _ = in.Close() }() // read only
	r, from, err := unpack(in, usualBounds())
	if err != nil {
		return inspect.Snapshot{}, fmt.Errorf("read %s: %w", f.Path, explained(err))
	}
	head, _ := r.Peek(512) // what can't be peeked at can't be read either
	if err := otherForm(head); err != nil {
		return inspect.Snapshot{}, fmt.Errorf("read %s: %w", f.Path, err)
	}
	switch {
	case isTar(head):
		return f.mustGatherTar(r, from, usualBounds())
	case from != nil && isSnapshot(head):
		s, err := readSnapshot(r)
		if err != nil {
			return s, fmt.Errorf("read %s: %w", f.Path, err)
		}
		return s, nil
	}
	data, err := readBounded(r, from)
	if err != nil {
		return inspect.Snapshot{}, fmt.Errorf("read %s: %w", f.Path, explained(err))
	}
	if isSnapshot(data[:min(len(data), 512)]) {
		s, err := readSnapshot(bytes.NewReader(data))
		if err != nil {
			return s, fmt.Errorf("read %s: %w", f.Path, err)
		}
		return s, nil
	}
	s := f.scan(data)
	if slices.ContainsFunc(s.Gaps, func(g inspect.Gap) bool { return g.Reason == holdsNothing || len(data) == 0 }) {
		if err := notArchive(f.Path, data); err != nil {
			return inspect.Snapshot{}, fmt.Errorf("read %s: %w", f.Path, err)
		}
	}
	return s, nil
}

func (f File) open() (io.ReadCloser, error) {
	if f.Path == "-" {
		if f.Stdin == nil {
			return nil, errors.New("read -: there is no standard input")
		}
		return io.NopCloser(f.Stdin), nil
	}
	return openNamed(f.Path)
}

// gunzip unpacks r where it is gzipped.
func gunzip(r io.Reader) (*bufio.Reader, bool, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	head, err := buffered.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	if !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return buffered, false, nil
	}
	zr, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, true, err
	}
	return bufio.NewReaderSize(zr, 64<<10), true, nil
}

// readBounded reads all of a file, unpacked already. from is nil where it was not
// packed.
func readBounded(r io.Reader, from *packed) ([]byte, error) {
	var data []byte
	// Few steps: while one is copied to the next, both are there. Of the largest,
	// the system gives only the pages that are written to.
	for _, size := range []int{1 << 20, 16 << 20, maxFile + 1} {
		more := make([]byte, size)
		had := copy(more, data)
		n, err := fill(more[had:], r)
		data = more[:had+n]
		switch {
		case err == io.EOF: //nolint:errorlint // wrapped, it is that of something inside
			return data, nil
		case err != nil:
			return nil, err
		case had == 0 && isZero(data) && from != nil:
			return nil, fmt.Errorf("unpacks to zeroes, %d MiB of them at its beginning, %s", size>>20, harm)
		case had == 0 && isZero(data):
			return nil, fmt.Errorf("begins with %d MiB of zeroes, as nothing does that holds a certificate: not read further", size>>20)
		}
	}
	if from != nil && maxFile > from.ratio*from.size {
		return nil, from.harmful(maxFile)
	}
	return nil, fmt.Errorf("holds more than %d MiB: split it, or take a snapshot of the cluster instead", maxFile>>20)
}

// fill reads until buf is full. Unlike that of io.ReadFull, its error is r's own:
// a packed file that was cut off is not one that is short.
func fill(buf []byte, r io.Reader) (n int, err error) {
	for n < len(buf) && err == nil {
		var more int
		more, err = r.Read(buf[n:])
		n += more
	}
	return n, err
}

func isZero(data []byte) bool {
	for _, c := range data {
		if c != 0 {
			return false
		}
	}
	return true
}

// isSnapshot looks at the beginning of a file for what WriteSnapshot puts there.
func isSnapshot(head []byte) bool {
	return snapshotHead().Match(head)
}

// snapshotHead fits a snapshot that some tool indented, too.
func snapshotHead() *regexp.Regexp {
	return regexp.MustCompile(`^\s*\{\s*"apiVersion"\s*:\s*"certrot/[^"]*"\s*,\s*"kind"\s*:\s*"` + snapshotKind + `"`)
}

// SnapshotAt reports whether a regular file is a snapshot, by its beginning, and as of when; zero: that
// is not at its beginning.
func SnapshotAt(path string) (taken time.Time, is bool, err error) {
	in, err := os.Open(path)
	if err != nil {
		return taken, false, err
	}
	defer func() { _ = in.Close() }() // read only
	r, _, err := unpack(in, usualBounds())
	if err != nil {
		return taken, false, nil //nolint:nilerr // what can't be unpacked is no snapshot
	}
	head, _ := r.Peek(512) // what can't be peeked at is none either
	if m := regexp.MustCompile(`"taken"\s*:\s*"([^"]*)"`).FindSubmatch(head); m != nil {
		taken, _ = time.Parse(time.RFC3339, string(m[1])) // of another time, nothing is said
	}
	return taken, isSnapshot(head), nil
}

// scan reads Kubernetes objects where the data is such, else whatever it holds.
func (f File) scan(data []byte) inspect.Snapshot {
	s := inspect.Snapshot{Reads: []inspect.Read{{What: "file", Where: f.Path, Objects: 1}}}
	if objects, ok := readObjects(f.Scanner, data); ok {
		objects.Reads = s.Reads
		s = objects.Snapshot
		s.Reads[0].Objects = objects.count
		for i := range s.Gaps {
			s.Gaps[i].Where = f.Path + ": " + s.Gaps[i].Where
		}
		return s
	}
	for _, found := range f.Scanner.Scan(data) {
		at := pki.Location{Kind: pki.KindFile, Path: f.Path, Field: found.Field}
		s.Bundles = append(s.Bundles, inspect.Bundle{At: at, Content: found.Content})
	}
	if why := unfinished(data); why != "" {
		s.Gaps = append(s.Gaps, inspect.Gap{What: "file", Where: f.Path, Reason: "begins as a Kubernetes object and can't be read as one, so only the certificates that are to be seen in it were read: " + why, Next: "get the file again; kubectl and oc write objects whole"})
	} else if len(s.Bundles) == 0 { // named, so something was expected of it
		s.Gaps = append(s.Gaps, f.nothing(data))
	}
	return s
}
