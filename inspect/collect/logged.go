package collect

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// isDaemonLog tells from a file's name in a must-gather whether it is a log of a
// machine-config-daemon:
// namespaces/openshift-machine-config-operator/pods/POD/CONTAINER/CONTAINER/logs/current.log.
func isDaemonLog(name string) bool {
	const dir = gatheredNamespaces + "/openshift-machine-config-operator/pods/machine-config-daemon-"
	_, rest, ok := strings.Cut("/"+name, "/"+dir)
	return ok && strings.Contains(rest, "/logs/") && strings.Contains(path.Base(rest), ".log")
}

// maxLog bounds what is read of one log, unpacked: many times what kubelets keep.
const maxLog = 256 << 20

// logsRead is how much of a must-gather's logs was read.
type logsRead struct {
	searched int // for tokens
	unread   int // beyond the bound of all
	bytes    int64
	scan     *logSearch
}

// logSearch finds lines of logs that give away a token or a key of a kubeconfig,
// printed as it is or with its quotes escaped. The program that runs on nodes
// looks for the same (gather/node.awk).
type logSearch struct{ token, key, head *regexp.Regexp }

func newLogSearch() *logSearch {
	return &logSearch{
		token: regexp.MustCompile(`oken[ \\"']*:[ \\"']*eyJ[A-Za-z0-9_-]{17,}[.]eyJ[A-Za-z0-9_-]{17}`),
		key:   regexp.MustCompile(`client-key-data[ \\"']*:[ \\"']*LS0tLS1CRUdJTi[A-Za-z0-9+/]{40}`),
		head:  regexp.MustCompile(`^[-0-9T:.Z+]+ std(?:out|err) ([PF]) `),
	}
}

// logLine is a line while it is being read. A container runtime writes a long one
// in pieces, marked P up to the last, each with its time and stream in front; and
// one that is longer than the buffer comes in pieces, too.
type logLine struct {
	begin      []byte // as much as may be its time
	token, key bool   // seen in it
	tail       []byte // of the pieces before: as much as may be the beginning of a token
}

// read counts such lines.
func (l *logSearch) read(r io.Reader) (inspect.Exposed, error) {
	var e inspect.Exposed
	var line logLine
	in := lines{in: bufio.NewReaderSize(r, 64<<10), holds: mayExpose}
	starts, partial := true, false // with this piece; the runtime's mark of it
	for {
		if starts && line.tail == nil {
			in.skip()
		}
		text, err := in.next()
		if starts {
			if line.tail == nil {
				line.begin = append(line.begin[:0], text[:min(len(text), 64)]...)
			}
			partial = false
			if m := l.mark(text); m != nil {
				partial, text = text[m[2]] == 'P', text[m[1]:]
			}
		}
		if line.tail != nil {
			text = append(line.tail, text...)
		}
		l.judge(&line, text, &e)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return e, err
		}
		if starts = err == nil; starts && !partial {
			line = logLine{begin: line.begin}
			continue
		}
		text = bytes.TrimSuffix(text, []byte("\n"))
		line.tail = bytes.Clone(text[max(0, len(text)-2000):])
	}
}

// mark finds the runtime's mark of a piece.
func (l *logSearch) mark(text []byte) []int {
	if !bytes.Contains(text[:min(len(text), 64)], []byte(" std")) {
		return nil
	}
	return l.head.FindSubmatchIndex(text)
}

// mayExpose reports whether some lines of a log may give away a token or a key, or
// be pieces of one that does. Nearly none do.
func mayExpose(lines []byte) bool {
	return bytes.Contains(lines, []byte("eyJ")) || bytes.Contains(lines, []byte("LS0tL")) || bytes.Contains(lines, []byte(" P "))
}

// lines reads a log by lines. It skips those that hold nothing, many at a time:
// a log has millions.
type lines struct {
	in    *bufio.Reader
	holds func(lines []byte) bool
	known int   // bytes that are next, and among which something is
	err   error // behind all that was read
}

// skip goes on to a line in whose neighbourhood something is.
func (l *lines) skip() {
	for l.known <= 0 {
		if _, l.err = l.in.Peek(1); l.err != nil { // which is said once, and next returns
			return
		}
		buffered, _ := l.in.Peek(l.in.Buffered()) // which are there
		whole := buffered[:bytes.LastIndexByte(buffered, '\n')+1]
		if len(whole) == 0 || l.holds(whole) {
			l.known = max(len(whole), 1)
			return
		}
		_, _ = l.in.Discard(len(whole)) // which are there
	}
}

// next returns a line, or as much of it as the buffer has room for.
func (l *lines) next() ([]byte, error) {
	if l.err != nil {
		return nil, l.err
	}
	text, err := l.in.ReadSlice('\n')
	l.known -= len(text)
	return text, err
}

// judge looks for what is new in a line.
func (l *logSearch) judge(line *logLine, text []byte, e *inspect.Exposed) {
	token := !line.token && bytes.Contains(text, []byte("eyJ")) && l.token.Match(text)
	key := !line.key && bytes.Contains(text, []byte("LS0tL")) && l.key.Match(text)
	if token {
		line.token = true
		e.Tokens++
	}
	if key {
		line.key = true
		e.Keys++
	}
	if token || key {
		at := lineTime(line.begin)
		if e.First.IsZero() {
			e.First = at
		}
		e.Last = at
	}
}

// lineTime is the time that stands before a line of a log; zero: there is none.
func lineTime(line []byte) time.Time {
	if len(line) < len("2006-01-02T15:04:05Z") || line[4] != '-' || line[10] != 'T' { // as most are that have none
		return time.Time{}
	}
	word, _, _ := bytes.Cut(line[:min(len(line), 64)], []byte(" "))
	at, err := time.Parse(time.RFC3339, string(word))
	if err != nil || !plausible(at) {
		return time.Time{}
	}
	return at.UTC()
}

// readLog reads a log in a must-gather, within the bounds of one and of all, and
// of what a packed one may hold. Only what breaks off the reading of the file
// around it is an error.
func (g *gathering) readLog(name string, r io.Reader, what string, search func(string, io.Reader) error) error {
	left := min(maxLog, g.bounds.logs-g.logs.bytes)
	if left <= 0 || g.charge(0) != nil {
		g.logs.unread++
		return nil
	}
	log, gzipped := r, strings.HasSuffix(name, ".gz")
	if gzipped {
		zr, err := gzip.NewReader(r)
		if err != nil {
			g.gap(name, reason("unpack", err), "")
			return nil
		}
		log = unpacked{zr, g.from}
	}
	limited := &io.LimitedReader{R: log, N: left}
	err := search(name, limited)
	g.logs.bytes += left - limited.N
	if limited.N <= 0 {
		g.gap(name, fmt.Sprintf("searched for %s in its first %s only", what, sized(left)), "")
	}
	if err != nil && gzipped { // the archive goes on behind it
		g.gap(name, reason("unpack", err), "")
		return nil
	}
	return err
}

// charge charges for n bytes that came out of the must-gather and are not in it.
func (g *gathering) charge(n int64) error { return g.from.spend(n) }

// sized writes a number of bytes.
func sized(n int64) string {
	if n >= 10<<30 || n%(1<<30) == 0 {
		return fmt.Sprintf("%d GiB", n>>30)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// search looks for tokens and keys in a log.
func (g *gathering) search(name string, r io.Reader) error {
	g.logs.searched++
	if g.logs.scan == nil {
		g.logs.scan = newLogSearch()
	}
	e, err := g.logs.scan.read(r)
	if e.Tokens+e.Keys > 0 {
		e.At = pki.Location{Kind: pki.KindFile, Path: name}
		if g.where != "-" {
			e.At.Path = path.Join(g.where, name)
		}
		g.exposed = append(g.exposed, exposedIn{name, e})
	}
	return err
}

// exposedIn is what was found in a file of this name.
type exposedIn struct {
	name string
	inspect.Exposed
}
