package collect

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/ulikunitz/xz"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// tarOf makes a tar of files, in this order: name, content, name, content …
func tarOf(t testing.TB, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		h := &tar.Header{Name: files[i], Size: int64(len(files[i+1])), Mode: 0o600, ModTime: time.Unix(1.7e9, 0)}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, files[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func xzed(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := xz.WriterConfig{DictCap: 1 << 20}.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// again reads the same bytes again and again.
type again struct {
	data  []byte
	at    int
	times int
}

func (a *again) Read(buf []byte) (int, error) {
	if a.at == len(a.data) {
		a.at, a.times = 0, a.times-1
	}
	if a.times <= 0 {
		return 0, io.EOF
	}
	n := copy(buf, a.data[a.at:])
	a.at += n
	return n, nil
}

// byXZ is "1234567812345678" packed by the tool xz 5.4 in two threads, in blocks
// of 8 bytes that name their sizes; with each of its checksums.
func byXZ() map[string]string {
	return map[string]string{
		"crc64": "fd377a585a000004e6d6b44602c00c08210116009edb7ca90100073132333435363738000978ac2b48808b5c02c00c082101" +
			"16009edb7ca90100073132333435363738000978ac2b48808b5c0002200820080000317e406bb1c467fb020000000004595a",
		"crc32": "fd377a585a0000016922de3602c00c08210116009edb7ca9010007313233343536373800afdae09a02c00c08210116009edb" +
			"7ca9010007313233343536373800afdae09a00021c081c080000fefe05a23e300d8b020000000001595a",
		"sha256": "fd377a585a00000ae1fb0ca102c00c08210116009edb7ca9010007313233343536373800ef797c8118f02dfb649607dd5d3f" +
			"8c7623048c9c063d532cc95c5ed7a898a64f02c00c08210116009edb7ca9010007313233343536373800ef797c8118f02dfb" +
			"649607dd5d3f8c7623048c9c063d532cc95c5ed7a898a64f0002380838080000b7816811b6e9df1c02000000000a595a",
		"none": "fd377a585a000000ff12d94102c00c08210116009edb7ca901000731323334353637380002c00c08210116009edb7ca90100" +
			"073132333435363738000002180818080000bf2bf6b6a8000afc020000000000595a",
	}
}

func TestXZOfTheToolIsUnpacked(t *testing.T) {
	t.Parallel()
	for name, text := range byXZ() {
		file, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		two := append(append(bytes.Clone(file), 0, 0, 0, 0), file...) // streams, with filling between them
		r, packed, err := unpack(bytes.NewReader(two), usualBounds())
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if want := strings.Repeat("12345678", 4); packed == nil || string(got) != want || err != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		for cut := 8; cut < len(file); cut++ {
			r, _, err := unpack(bytes.NewReader(file[:cut]), usualBounds())
			if err == nil {
				_, err = io.ReadAll(r)
			}
			if err == nil {
				t.Errorf("%s: cut off after %d bytes, it looks whole", name, cut)
			}
		}
	}
}

func TestXZThatWantsMuchMemoryIsRefused(t *testing.T) {
	t.Parallel()
	const dictionary = 12 + 4 // head of the stream, then size, flags, filter, its size
	file := xzed(t, []byte("some text"))
	file[dictionary] = 40 // 4 GiB
	if _, err := io.ReadAll(&xzFrames{in: bufio.NewReader(bytes.NewReader(file)), dictionary: func(int64) error { return nil }}); err == nil || !strings.Contains(err.Error(), "more than 64 MiB of memory") {
		t.Errorf("got %v", err)
	}
	// many small blocks, each of which wants some
	small := xzed(t, []byte("x"))
	small[dictionary] = 28 // 64 MiB
	p := &packed{bounds: bounds{slack: 1 << 30, ratio: 200}}
	_, err := io.Copy(io.Discard, &xzFrames{in: bufio.NewReader(bytes.NewReader(bytes.Repeat(small, 1000))), dictionary: p.spend})
	if err == nil || !strings.Contains(err.Error(), "made to do harm") {
		t.Errorf("many: got %v", err)
	}
}

// Ten gigabytes of zeroes in some megabytes or less.
func TestBombsAreStopped(t *testing.T) {
	t.Parallel()
	zeroes := make([]byte, 8<<20)
	for name, one := range map[string][]byte{"gzip": gzipped(t, zeroes), "xz": xzed(t, zeroes)} {
		b := usualBounds()
		b.slack = 64 << 20
		r, _, err := unpack(&again{data: one, times: 10 << 30 / len(zeroes)}, b)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, r)
		if err == nil || !strings.Contains(err.Error(), "made to do harm") || n > b.slack+b.ratio*1<<20 {
			t.Errorf("%s: stopped after %d MiB: %v", name, n>>20, err)
		}
	}
}

// Of what was packed as of what was not, memory is as the bound says, and the
// message says what is wrong with the file.
func TestLargeFilesAreRefused(t *testing.T) {
	zeroes, text := make([]byte, 8<<20), bytes.Repeat([]byte("a: b\n"), 8<<20/5)
	hard := make([]byte, 1<<20)
	for i, x := 0, uint32(1); i < len(hard); i++ {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		hard[i] = byte(x)
	}
	for _, c := range []struct {
		name string
		one  []byte
		want string
		most uint64 // MiB
	}{
		{"zeroes, gzip", gzipped(t, zeroes), "unpacks to zeroes, 1 MiB of them at its beginning, as only a file made to do harm does", 8},
		{"zeroes, xz", xzed(t, zeroes), "unpacks to zeroes, 1 MiB of them at its beginning, as only a file made to do harm does", 24},
		{"zeroes", zeroes, "begins with 1 MiB of zeroes", 8},
		{"text, gzip", gzipped(t, text), "unpacks to more than 256 MiB and 200 times its size, as only a file made to do harm does", 290},
		{"noise, gzip", gzipped(t, hard), "holds more than 256 MiB: split it", 290},
		{"text", text, "holds more than 256 MiB: split it", 290},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := File{Path: "-", Stdin: &again{data: c.one, times: 1280}, Scanner: pki.NewScanner()}.Read()
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > c.most {
			t.Errorf("%s: allocates %d MiB", c.name, took)
		}
	}
}

func TestReadBoundedReadsAll(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 16 << 20, 16<<20 + 1, 20 << 20} {
		want := bytes.Repeat([]byte("0123456789abcde"), size/15+1)[:size]
		got, err := readBounded(iotest.DataErrReader(bytes.NewReader(want)), nil)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: got %d, %v", size, len(got), err)
		}
	}
}

// An archive in which nothing is to be read is an error, wherever it was cut off.
func TestArchivesCutOffOrEmpty(t *testing.T) {
	t.Parallel()
	whole := tarOf(t, caseConfigMap...)
	packed, byXZ := gzipped(t, whole), xzed(t, whole)
	const cut, empty = "cut off, or is still being written", "is an empty archive"
	for _, c := range []struct {
		name, file string
		data       []byte
		want       string
	}{
		{"a tar of 300 bytes", "x.tar", whole[:300], cut},
		{"a tar of 300 bytes, from stdin", "", whole[:300], cut},
		{"a tar of 100 bytes", "x.tar", whole[:100], cut},
		{"a tar of 600 bytes", "x.tar", tarOf(t, "x.yaml", strings.Repeat("a: b\n", 100))[:600], "the archive breaks off after 1 file: unexpected EOF"},
		{"a tar of no bytes", "x.tar", nil, empty},
		{"a tar that ends where it begins", "x.tar", make([]byte, 10240), empty},
		{"nothing, gzipped", "x.tgz", gzipped(t, nil), empty},
		{"nothing, xz", "x.tar.xz", xzed(t, nil), empty},
		{"an empty tar, gzipped", "x.tar.gz", gzipped(t, make([]byte, 10240)), empty},
		{"a tgz of 1 byte", "x.tgz", packed[:1], cut},
		{"a tgz of 5 bytes", "x.tgz", packed[:5], cut},
		{"a tgz of 60 bytes", "x.tgz", packed[:60], cut},
		{"a tgz without its end", "x.tgz", gzipped(t, whole[:300])[:50], cut},
		{"a tar of 300 bytes, gzipped", "x.tgz", gzipped(t, whole[:300]), cut},
		{"a txz of 4 bytes", "x.txz", byXZ[:4], cut},
		{"a txz of 20 bytes", "x.txz", byXZ[:20], cut},
		{"another kind of archive", "x.zip", bytes.Repeat([]byte("PK\x03\x04"), 200), "is packed as zip, which is not read"},
		{"a zip from stdin", "", bytes.Repeat([]byte("PK\x03\x04"), 200), "unpack it first (unzip FILE)"},
		{"an empty zip, gzipped", "x.gz", gzipped(t, []byte("PK\x05\x06\x00\x00")), "is packed as zip"},
		{"bzip2 of the tool", "x.tar.bz2", []byte("BZh91AY&SY\x17rE8P\x90\x00\x00\x00\x00"), "unpack it first (bzip2 -d FILE)"},
		{"lzma of the tool", "x.lzma", []byte("\x5d\x00\x00\x80\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00"), "unpack it first (xz -d FILE)"},
		{"named as an archive, and of no form that is known", "x.zip", bytes.Repeat([]byte("PKWARE"), 200), "is no archive that is read"},
		{"text of no certificates", "x.pem", whole[:100], ""},
		{"certificates in what is named as an archive", "x.tar", caPEM(), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := File{Path: "-", Stdin: bytes.NewReader(c.data), Scanner: pki.NewScanner()}
			if c.file != "" {
				f.Path = filepath.Join(t.TempDir(), c.file)
				if err := os.WriteFile(f.Path, c.data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := f.Read()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// What came before the bomb stays.
func TestBombInATar(t *testing.T) {
	t.Parallel()
	begin := tarOf(t, caseConfigMap...)
	var h bytes.Buffer
	w := tar.NewWriter(&h)
	if err := w.WriteHeader(&tar.Header{Name: "mg/big.log", Size: 10 << 30}); err != nil {
		t.Fatal(err)
	}
	head := gzipped(t, append(begin[:len(begin)-1024], h.Bytes()...)) // without its end
	zeroes := gzipped(t, make([]byte, 8<<20))
	s, err := File{Path: "-", Stdin: io.MultiReader(bytes.NewReader(head), &again{data: zeroes, times: 1280}), Scanner: pki.NewScanner()}.Read()
	if err != nil || len(s.Bundles) != 1 || len(s.Gaps) != 1 || !strings.Contains(s.Gaps[0].Reason, "made to do harm") {
		t.Errorf("got %d bundles, gaps %+v, %v", len(s.Bundles), s.Gaps, err)
	}
}

// Whatever bytes come, reading them ends, with facts or an error.
func FuzzArchive(f *testing.F) {
	whole := tarOf(f, caseConfigMap...)
	f.Add(whole)
	f.Add(gzipped(f, whole))
	f.Add(xzed(f, whole))
	for _, text := range byXZ() {
		file, err := hex.DecodeString(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = File{Path: "-", Stdin: bytes.NewReader(data), Scanner: pki.NewScanner()}.Read()
	})
}
