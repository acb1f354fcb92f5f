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
	at         time.Time
	token, key bool   // seen in it
	tail       []byte // of the pieces before: as much as may be the beginning of a token
}

// read counts such lines.
func (l *logSearch) read(r io.Reader) (inspect.Exposed, error) {
	var e inspect.Exposed
	var line logLine
	in := bufio.NewReaderSize(r, 64<<10)
	starts, partial := true, false // with this piece; the runtime's mark of it
	for {
		text, err := in.ReadSlice('\n')
		if starts {
			if line.tail == nil {
				line.at = lineTime(text)
			}
			partial = false
			if m := l.head.FindSubmatchIndex(text); m != nil {
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
			line = logLine{}
			continue
		}
		text = bytes.TrimSuffix(text, []byte("\n"))
		line.tail = bytes.Clone(text[max(0, len(text)-2000):])
	}
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
		if e.First.IsZero() {
			e.First = line.at
		}
		e.Last = line.at
	}
}

// lineTime is the time that stands before a line of a log; zero: there is none.
func lineTime(line []byte) time.Time {
	word, _, _ := bytes.Cut(line[:min(len(line), 64)], []byte(" "))
	at, err := time.Parse(time.RFC3339, string(word))
	if err != nil || !plausible(at) {
		return time.Time{}
	}
	return at.UTC()
}

// search looks through a log in a must-gather. Only what breaks off the reading
// of the file is an error.
func (g *gathering) search(name string, r io.Reader) error {
	g.logs++
	if g.scan == nil {
		g.scan = newLogSearch()
	}
	log := r
	if strings.HasSuffix(name, ".gz") {
		zr, err := gzip.NewReader(r)
		if err != nil {
			g.gap(name, reason("unpack", err), "")
			return nil
		}
		log = zr
	}
	limited := &io.LimitedReader{R: log, N: maxLog}
	e, err := g.scan.read(limited)
	if limited.N <= 0 {
		g.gap(name, fmt.Sprintf("searched for tokens in its first %d MiB only", maxLog>>20), "")
	}
	if e.Tokens+e.Keys > 0 {
		e.At = pki.Location{Kind: pki.KindFile, Path: name}
		if g.where != "-" {
			e.At.Path = path.Join(g.where, name)
		}
		g.exposed = append(g.exposed, exposedIn{name, e})
	}
	if err != nil && log != r { // the archive goes on behind it
		g.gap(name, reason("unpack", err), "")
		return nil
	}
	return err
}

// exposedIn is what was found in a file of this name.
type exposedIn struct {
	name string
	inspect.Exposed
}
