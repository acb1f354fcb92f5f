package collect

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

func TestBrokenArchives(t *testing.T) {
	t.Parallel()
	files := slices.Clone(caseConfigMap)
	for i := range 30 { // what packs badly, so that a cut is somewhere in it
		files = append(files, fmt.Sprintf("mg/image/namespaces/a/core/configmaps/%d.yaml", i), configMapYAML("a", fmt.Sprint("c", i), "1", string(pkitest.NewCA(fmt.Sprint("ca ", i), time.Unix(1.7e9, 0), time.Unix(1.8e9, 0)).CertPEM)))
	}
	noise := make([]byte, 512<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise) // never fails
	plain := tarOf(t, append(files, "mg/image/journal.log", string(noise))...)
	for name, whole := range map[string][]byte{"tar": plain, "gzip": gzipped(t, plain), "xz": xzed(t, plain)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := func(data []byte) (inspect.Snapshot, error) {
				return File{Path: "-", Stdin: bytes.NewReader(data), Scanner: pki.NewScanner()}.Read()
			}
			all, err := read(whole)
			if err != nil || len(all.Gaps) > 0 || len(all.Bundles) != 31 {
				t.Fatalf("whole: %d bundles, gaps %s, %v", len(all.Bundles), reasons(all.Gaps), err)
			}
			end := len(whole)
			if name == "tar" {
				end -= 512 // its mark is twice as long as it has to be
			}
			for i := range 20 {
				cut := i * end / 20
				s, err := read(whole[:cut])
				if err == nil && len(s.Gaps) == 0 {
					t.Errorf("cut after %d of %d bytes: it looks whole, with %d bundles", cut, len(whole), len(s.Bundles))
				}
			}
			if s, err := read(whole[:end*9/10]); err != nil || len(s.Bundles) != 31 || !strings.Contains(reasons(s.Gaps), "breaks off after") {
				t.Errorf("cut near its end: %d bundles, gaps %s, %v", len(s.Bundles), reasons(s.Gaps), err)
			}
			if name == "tar" {
				return // which has no checksum of its content
			}
			for i := 1; i < 20; i++ {
				bad := bytes.Clone(whole)
				bad[i*len(whole)/20] ^= 0x55
				if s, err := read(bad); err == nil && len(s.Gaps) == 0 {
					t.Errorf("changed at %d of %d bytes, it looks whole", i*len(whole)/20, len(whole))
				}
			}
		})
	}
	t.Run("a second archive behind it", func(t *testing.T) {
		t.Parallel()
		s, err := File{Path: "-", Stdin: bytes.NewReader(append(bytes.Clone(plain), plain...)), Scanner: pki.NewScanner()}.Read()
		if err != nil || len(s.Bundles) != 31 || !strings.Contains(reasons(s.Gaps), "something follows its end") {
			t.Errorf("gaps %s, %v", reasons(s.Gaps), err)
		}
	})
}

func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ content, want string }{
		"no YAML":            {"a: [", "mapping values\\|did not find expected"},
		"an empty file":      {"", "it is empty"},
		"no object":          {"a: b\n", "no kind or no name"},
		"a list of anything": {"apiVersion: v1\nkind: List\nitems: [1, {}, {kind: ConfigMap, metadata: {name: x}}]\n", "2 of 3 objects can't be read"},
		"lists in lists":     {strings.Repeat("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[", 2000) + strings.Repeat("]}", 2000), "list in a list"},
		"NUL bytes":          {"\x00\x00\x00", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := append(slices.Clone(caseConfigMap), "mg/image/namespaces/b/core/configmaps.yaml", c.content)
			s := readTarOf(t, files...)
			if len(s.Bundles) != 1 || len(s.Gaps) != 1 || !strings.Contains(s.Gaps[0].Where, "namespaces/b/core/configmaps.yaml") {
				t.Errorf("bundles %s, gaps %s", places(s.Bundles), reasons(s.Gaps))
			}
			if !slices.ContainsFunc(strings.Split(c.want, "\\|"), func(w string) bool { return strings.Contains(reasons(s.Gaps), w) }) {
				t.Errorf("gaps %s", reasons(s.Gaps))
			}
		})
	}
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("namespaces/n%d/core/configmaps.yaml", i), "a: [")
	}
	if s := readTarOf(t, many...); len(s.Gaps) != 51 || !strings.Contains(s.Gaps[50].Reason, "950 more") {
		t.Errorf("a thousand bad files are %d gaps", len(s.Gaps))
	}
}

func TestOddEntries(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i, kind := range []byte{tar.TypeSymlink, tar.TypeLink, tar.TypeChar, tar.TypeBlock, tar.TypeFifo} {
		if err := w.WriteHeader(&tar.Header{Typeflag: kind, Name: fmt.Sprintf("namespaces/a/core/secrets/%d.yaml", i), Linkname: "/etc/passwd"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"../../../namespaces/b/core/configmaps/c.yaml", "/namespaces/c/core/configmaps/c.yaml", strings.Repeat("d/", 3000) + "namespaces/d/core/configmaps/c.yaml"} {
		content := configMapYAML(strings.Split(name[strings.Index(name, "namespaces/"):], "/")[1], "c", "1", string(caPEM()))
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := File{Path: "-", Stdin: &out, Scanner: pki.NewScanner()}.Read()
	if err != nil || places(s.Bundles) != "ConfigMap/b/c[ca.crt], ConfigMap/c/c[ca.crt]" || len(s.Gaps) != 5 || !strings.Contains(notes(s.Reads), "5 links and devices, not followed") {
		t.Errorf("bundles %s, reads %s, gaps %s, %v", places(s.Bundles), notes(s.Reads), reasons(s.Gaps), err)
	}
}

func TestWhatIsNoMustGather(t *testing.T) {
	t.Parallel()
	read := func(f File) string {
		f.Scanner = pki.NewScanner()
		_, err := f.Read()
		return fmt.Sprint(err)
	}
	stream := func(data []byte) File { return File{Path: "-", Stdin: bytes.NewReader(data)} }
	for name, c := range map[string]struct{ got, want string }{
		"an empty directory":          {read(File{Path: t.TempDir()}), "is a directory that holds no must-gather among its 0 files; expected what oc adm must-gather"},
		"a directory of other things": {read(File{Path: directoryOf(t, "a.pem", "x", "deploy/namespaces/a/apps/deployments/d.yaml", "a: b")}), "name"},
		"a directory of an archive":   {read(File{Path: directoryOf(t, "must-gather.tar.gz", "x")}), "archives in it (1) are not opened"},
		"a tar of other things":       {read(stream(tarOf(t, "a.pem", string(caPEM())))), "is a tar archive that holds no must-gather among its 1 file; expected"},
		"a tar that ends at once":     {read(stream(tarOf(t, append([]string{"mg/a.log", "log"}, caseConfigMap...)...)[:1500])), "the archive breaks off after 1 file: unexpected EOF"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s: %s", name, c.got)
		}
	}
}

func TestBoundsOfAMustGather(t *testing.T) {
	t.Parallel()
	whole := tarOf(t, append(slices.Clone(caseConfigMap), "mg/a.log", "", "mg/image/namespaces/b/core/configmaps.yaml", list())...)
	for want, b := range map[string]bounds{
		"more than 2 files": {files: 2, objects: 1 << 20, gaps: 9},
		"1 file not read":   {files: 9, objects: 1, gaps: 9},
	} {
		s, err := File{Path: "m", Scanner: pki.NewScanner()}.mustGatherTar(bytes.NewReader(whole), nil, b)
		if err != nil || len(s.Bundles) != 1 || !strings.Contains(reasons(s.Gaps), want) {
			t.Errorf("bundles %s, gaps %s, %v", places(s.Bundles), reasons(s.Gaps), err)
		}
	}
}

func TestAHundredThousandFiles(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	go func() { // a tar is not kept in memory, neither here nor there
		out := tar.NewWriter(w)
		for i := range 100_000 {
			name, content := fmt.Sprintf("m/namespaces/n%d/pods/p/%d.log", i%100, i), "a line\n"
			if i%20 == 0 {
				name, content = fmt.Sprintf("m/namespaces/n%d/core/configmaps/%d.yaml", i%100, i), configMapYAML(fmt.Sprint("n", i%100), fmt.Sprint("c", i), "1", "x")
			}
			if out.WriteHeader(&tar.Header{Name: name, Size: int64(len(content))}) != nil {
				return
			}
			_, _ = io.WriteString(out, content)
		}
		_ = w.CloseWithError(out.Close())
	}()
	s, err := File{Path: "-", Stdin: r, Scanner: pki.NewScanner()}.Read()
	if err != nil || len(s.Gaps) > 0 || s.Reads[0].Objects != 5000 || !strings.Contains(notes(s.Reads), "95000 logs and other files") {
		t.Errorf("reads %s, gaps %s, %v", notes(s.Reads), reasons(s.Gaps), err)
	}
}
