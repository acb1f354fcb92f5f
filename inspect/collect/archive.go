package collect

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ulikunitz/xz"
)

// bounds are how much of an archive or a directory is read: many times what the
// largest clusters need, little enough for memory and patience.
type bounds struct {
	// slack and ratio bound what a packed file may unpack to: slack bytes and
	// ratio times its own size. Text packs to a tenth or a hundredth, and a file
	// of zeroes to a thousandth (gzip) or less (xz).
	slack, ratio int64
	files        int   // in all
	objects      int64 // bytes of files of objects, in all
	logs         int64 // bytes of logs that are searched, unpacked, in all
	depth        int   // of directories
	gaps         int   // reported one by one; of more, how many
}

func usualBounds() bounds {
	return bounds{slack: 256 << 20, ratio: 200, files: 5_000_000, objects: 4 << 30, logs: 2 << 30, depth: 64, gaps: 50}
}

// packed is a file as it lies there, and what unpacking it may cost.
type packed struct {
	io.Reader
	bounds
	size  int64 // read so far
	spent int64 // unpacked so far
}

func (p *packed) Read(buf []byte) (int, error) {
	n, err := p.Reader.Read(buf)
	p.size += int64(n)
	return n, err
}

// spend charges for n bytes of memory filled from the file.
func (p *packed) spend(n int64) error {
	if p.spent += n; p.spent > p.slack+p.ratio*p.size {
		return p.harmful(p.slack)
	}
	return nil
}

// harmful is the error for what unpacks to more than size and to more than is
// honest.
func (p *packed) harmful(size int64) error {
	return fmt.Errorf("unpacks to more than %d MiB and %d times its size, %s", size>>20, p.ratio, harm)
}

const harm = "as only a file made to do harm does: not read further"

// unpacked is what a packed file holds.
type unpacked struct {
	io.Reader
	from *packed
}

func (u unpacked) Read(buf []byte) (int, error) {
	n, err := u.Reader.Read(buf)
	if over := u.from.spend(int64(n)); over != nil {
		return n, over
	}
	return n, err
}

// unpack unpacks r where it is gzipped or xz, which its content says and not its
// name; packed is nil where it is neither.
func unpack(r io.Reader, b bounds) (*bufio.Reader, *packed, error) {
	p := &packed{Reader: r, bounds: b}
	plain, gzipped, err := gunzip(p)
	if err != nil {
		return nil, nil, err
	}
	if gzipped {
		return bufio.NewReaderSize(unpacked{plain, p}, 64<<10), p, nil
	}
	if head, _ := plain.Peek(6); !bytes.Equal(head, []byte("\xfd7zXZ\x00")) { // what can't be peeked at can't be read either
		return plain, nil, nil
	}
	zr, err := xz.NewReader(&xzFrames{in: plain, dictionary: p.spend})
	if err != nil {
		return nil, nil, err
	}
	return bufio.NewReaderSize(unpacked{zr, p}, 64<<10), p, nil
}

// isTar reports whether a file begins with the header of a tar entry: 512 bytes
// that hold their own checksum, the same in all formats of tar.
func isTar(head []byte) bool {
	if len(head) < 512 {
		return false
	}
	want, err := strconv.ParseInt(strings.Trim(string(head[148:156]), " \x00"), 8, 32)
	sum := int64(8 * ' ') // as if the checksum were spaces
	for i, c := range head[:512] {
		if i < 148 || i >= 156 {
			sum += int64(c)
		}
	}
	return err == nil && sum == want
}

// notArchive is the error for what is named as an archive or begins as one, and
// holds nothing; nil for what is neither.
func notArchive(name string, data []byte) error {
	const magic, at = "ustar", 257
	begun := len(data) >= at+len(magic) && string(data[at:at+len(magic)]) == magic
	switch {
	case !begun && !isArchive(name):
		return nil
	case len(bytes.Trim(data, "\x00")) == 0:
		return errors.New("is an empty archive: there is no file in it; get it again, and compare its size with the original's")
	case len(data) < 512:
		return fmt.Errorf("is an archive that was cut off, or is still being written: there are %d bytes of it; get it again, and compare its size with the original's", len(data))
	}
	return errors.New("is no archive that is read, which are tar, tar.gz and tar.xz, or it is damaged: unpack it, and name the directory")
}

// otherForm is the error for what begins as a file does that is packed in a form
// that is not read; nil: it does not. LZMA's old form has no mark: it begins with
// the parameters that xz and 7z give it unless told otherwise, and so does no text.
func otherForm(head []byte) error {
	for _, form := range []struct{ begin, name, unpack string }{
		{"PK\x03\x04", "zip", "unzip FILE"},
		{"PK\x05\x06", "zip", "unzip FILE"},
		{"BZh", "bzip2", "bzip2 -d FILE"},
		{"\x28\xb5\x2f\xfd", "zstd", "zstd -d FILE"},
		{"7z\xbc\xaf\x27\x1c", "7z", "7z x FILE"},
		{"\x5d\x00\x00", "lzma", "xz -d FILE"},
		{"LZIP\x01", "lzip", "lzip -d FILE"},
		{"\x1f\x9d", "compress", "gzip -d FILE"},
	} {
		if bytes.HasPrefix(head, []byte(form.begin)) {
			return fmt.Errorf("is packed as %s, which is not read, unlike gzip and xz: unpack it first (%s), and name what comes out", form.name, form.unpack)
		}
	}
	return nil
}

// explained adds to the error of a packed file what it means.
func explained(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it was cut off, or is still being written: get it again, and compare its size with the original's: %w", err)
	}
	return err
}

// isArchive reports whether a name is that of an archive: what is in one is not
// looked for.
func isArchive(name string) bool {
	name = strings.ToLower(name)
	for _, end := range []string{".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tar.zst", ".zip", ".7z"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// marked notes how much of a stream was read, and whether its end was reached: a
// whole tar ends by a mark of its own, and no one reads beyond.
type marked struct {
	io.Reader
	size  int64
	ended bool
}

func (m *marked) Read(buf []byte) (int, error) {
	n, err := m.Reader.Read(buf)
	m.size += int64(n)
	if errors.Is(err, io.EOF) {
		m.ended = true
	}
	return n, err
}

// entry is the content of a file in a tar. Of one with holes, more comes out than
// is in the tar: that is charged for like what a packed file unpacks to.
type entry struct {
	io.Reader
	in     *marked
	charge func(int64) error
}

func (e entry) Read(buf []byte) (int, error) {
	before := e.in.size
	n, err := e.Reader.Read(buf)
	if sparse := int64(n) - (e.in.size - before); sparse > 0 {
		if over := e.charge(sparse); over != nil {
			return n, over
		}
	}
	return n, err
}

// readTar passes on the regular files of a tar, one at a time, and the names of links, devices and the
// like, which it passes over. The error says why it broke off. charge is asked for the bytes of holes.
func readTar(r io.Reader, charge func(int64) error, each func(*tar.Header, io.Reader) error, odd func(name string)) error {
	in := &marked{Reader: r}
	tr := tar.NewReader(in)
	for {
		h, err := tr.Next()
		switch {
		case errors.Is(err, io.EOF) && in.ended:
			return errors.New("it has no end: it was cut off, or is still being written")
		case errors.Is(err, io.EOF):
			return readRest(in)
		case errors.Is(err, tar.ErrInsecurePath): // a name is a label here: nothing is written anywhere
		case err != nil:
			return err
		}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeGNUSparse:
			if err := each(h, entry{tr, in, charge}); err != nil {
				return err
			}
		case tar.TypeDir, tar.TypeXGlobalHeader:
		default:
			odd(h.Name)
		}
	}
}

// readRest reads what follows an archive's end, for the checksum that a packed
// file has there.
func readRest(r io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if len(bytes.Trim(buf[:n], "\x00")) > 0 { // what fills the last block is zeroes
			return errors.New("something follows its end, such as a second archive: that was not read")
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
