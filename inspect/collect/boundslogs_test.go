package collect

import (
	"archive/tar"
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// What is skipped holds nothing: the cases give the same among so many other lines
// that the buffer ends anywhere in them.
func TestLinesThatHoldNothingAreSkipped(t *testing.T) {
	t.Parallel()
	dull := strings.Repeat("2024-01-31T08:00:00.5Z I0131 a line of no interest\n\n", 3000)
	for name, c := range loggedCases() {
		log := dull + strings.TrimSuffix(c.log, "\n") + "\n" + dull + c.log
		e, err := newLogSearch().read(strings.NewReader(log))
		if err != nil || e.Tokens != 2*c.tokens || e.Keys != 2*c.keys {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
		if dated := strings.HasPrefix(c.log, "2024"); e.Tokens+e.Keys > 0 && (dated == e.First.IsZero() || dated && e.First.Hour() != 9) {
			t.Errorf("%s: first %s", name, e.First)
		}
	}
	asked, read := 0, 0
	in := lines{in: bufio.NewReaderSize(strings.NewReader(dull), 64<<10), holds: func([]byte) bool { asked++; return false }}
	for err := error(nil); err == nil; read++ {
		in.skip()
		_, err = in.next()
	}
	if blocks := len(dull)/(64<<10) + 2; asked > blocks || read > blocks {
		t.Errorf("asked %d times, and read %d lines", asked, read)
	}
}

// All logs of a must-gather have one bound, whatever each of them holds.
func TestLogsAreBoundedTogether(t *testing.T) {
	t.Parallel()
	log := strings.Repeat("a line\n", 6000) // 42 kB
	files := append([]string{}, caseConfigMap...)
	for i := range 6 {
		files = append(files, fmt.Sprintf("mg/image/%srotated/%d.log", daemonLogs, i), log)
	}
	files = append(files, "mg/image/namespaces/openshift-kube-apiserver/pods/kube-apiserver-m1/kube-apiserver/kube-apiserver/logs/current.log", log)
	b := usualBounds()
	b.logs = 100_000
	s, err := File{Path: "m", Scanner: pki.NewScanner()}.mustGatherTar(bytes.NewReader(tarOf(t, files...)), nil, b)
	if err != nil || len(s.Bundles) != 1 || len(s.Gaps) != 2 || !strings.Contains(s.Gaps[0].Where, "2.log") || !strings.Contains(s.Gaps[1].Reason, "4 logs not searched") {
		t.Errorf("bundles %s, gaps %s, %v", places(s.Bundles), reasons(s.Gaps), err)
	}
}

// A packed log may unpack to as much as a packed archive may, and all of them
// together to no more.
func TestPackedLogsAreNoBombs(t *testing.T) {
	t.Parallel()
	bomb := gzipped(t, bytes.Repeat([]byte("\n"), 8<<20))
	b := usualBounds()
	b.slack = 1 << 20
	g := newGathering(File{Scanner: pki.NewScanner()}, b)
	for i := range 40 {
		g.from.Reader = bytes.NewReader(bomb)
		if err := g.read(fmt.Sprintf("%srotated/%d.log.gz", daemonLogs, i), int64(len(bomb)), time.Time{}, g.from); err != nil {
			t.Fatal(err)
		}
	}
	if most := b.slack + b.ratio*int64(len(bomb))*2; g.logs.bytes > most || g.logs.searched+g.logs.unread != 40 || g.logs.unread == 0 {
		t.Errorf("%d logs searched, %d not; %d bytes, want at most %d", g.logs.searched, g.logs.unread, g.logs.bytes, most)
	}
	if len(g.gaps) == 0 || !strings.Contains(reasons(g.gaps), "made to do harm") {
		t.Errorf("gaps %s", reasons(g.gaps))
	}
	// In an archive of almost no bytes, which they are charged to.
	var files []string
	for i := range 40 {
		files = append(files, fmt.Sprintf("mg/image/%srotated/%d.log.gz", daemonLogs, i), string(bomb))
	}
	r, from, err := unpack(bytes.NewReader(xzed(t, tarOf(t, append(files, caseConfigMap...)...))), b)
	if err != nil {
		t.Fatal(err)
	}
	_, err = File{Path: "m", Scanner: pki.NewScanner()}.mustGatherTar(r, from, b)
	if err == nil || !strings.Contains(err.Error(), "made to do harm") || from.spent > b.slack+b.ratio*from.size+1<<20 {
		t.Errorf("%d bytes of %d: %v", from.spent, from.size, err)
	}
}

// sparseHeader is the header of an old GNU tar for a file that is empty throughout.
func sparseHeader(name string, size int64) []byte {
	h := make([]byte, 512)
	octal := func(at, width int, n int64) { copy(h[at:], fmt.Sprintf("%0*o\x00", width-1, n)) }
	copy(h, name)
	octal(100, 8, 0o600)
	octal(124, 12, 0) // of it, in the tar
	octal(136, 12, 1_700_000_000)
	h[156] = tar.TypeGNUSparse
	copy(h[257:], "ustar  \x00")
	octal(386, 12, size) // where its one piece is
	octal(398, 12, 0)
	octal(483, 12, size)
	copy(h[148:], "        ")
	sum := int64(0)
	for _, c := range h {
		sum += int64(c)
	}
	octal(148, 7, sum)
	return h
}

func TestHolesAreChargedFor(t *testing.T) {
	t.Parallel()
	begin := tarOf(t, caseConfigMap...)
	data := begin[:len(begin)-1024] // without its end
	for i := range 20 {
		data = append(data, sparseHeader(fmt.Sprintf("namespaces/openshift-machine-config-operator/pods/machine-config-daemon-%d/a/a/logs/current.log", i), 250<<20)...)
		data = append(data, sparseHeader(fmt.Sprintf("mg/image/namespaces/a/core/configmaps/%d.yaml", i), 8<<20)...)
	}
	b := usualBounds()
	b.slack = 4 << 20
	s, err := File{Path: "m", Scanner: pki.NewScanner()}.mustGatherTar(bytes.NewReader(append(data, make([]byte, 1024)...)), nil, b)
	if err != nil || len(s.Bundles) != 1 || !strings.Contains(reasons(s.Gaps), "the archive breaks off after 1 file: unpacks to more than 4 MiB") {
		t.Errorf("bundles %s, gaps %s, %v", places(s.Bundles), reasons(s.Gaps), err)
	}
}
