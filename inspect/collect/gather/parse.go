package gather

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// header starts what the program prints; the number is the version.
const header = "certrot-gather 1"

// errIncomplete says that an answer does not end as it should: the connection
// broke, or the program was killed.
var errIncomplete = errors.New("the answer is incomplete")

// parseOutput reads what the program printed. Anything that is not exactly as the
// program prints it is an error: half an answer is none.
func parseOutput(out []byte, sc *pki.Scanner) (Result, error) {
	body, err := verified(out)
	if err != nil {
		return Result{}, err
	}
	p := parser{files: map[string]bool{}, sizes: map[pki.Fingerprint]int64{}, drafts: map[pki.Fingerprint]*draft{}, others: map[string]int{}}
	for i, line := range strings.Split(string(body), "\n") {
		if i == 0 && line != header {
			return Result{}, fmt.Errorf("answer starts with %s in place of %q", foreign.QuotedName(fmt.Sprintf("%.40s", line)), header)
		}
		if i == 0 {
			continue
		}
		if err := p.line(line); err != nil {
			return Result{}, fmt.Errorf("line %d of the answer: %w", i+1, foreign.Error(err))
		}
	}
	r, err := p.finish(sc)
	return r, foreign.Error(err)
}

// verified returns the lines before the end marker, if they are what the end
// marker says.
func verified(out []byte) ([]byte, error) {
	if len(out) > maxOutput {
		return nil, fmt.Errorf("the answer has %d bytes, which is more than was allowed", len(out))
	}
	text, ok := bytes.CutSuffix(out, []byte("\n"))
	i := bytes.LastIndexByte(text, '\n')
	if !ok || i < 0 {
		return nil, errIncomplete
	}
	word := strings.Split(string(text[i+1:]), " ")
	if first, rest, _ := bytes.Cut(text, []byte("\n")); word[0] != "end" && string(first) == header && bytes.HasPrefix(rest, []byte("fatal ")) {
		reason, err := field(strings.TrimPrefix(string(rest), "fatal "))
		return nil, errors.Join(fmt.Errorf("the node can't run the program: %s", foreign.Text(fmt.Sprintf("%.200s", reason))), err)
	}
	if len(word) != 3 || word[0] != "end" {
		return nil, errIncomplete
	}
	if word[1] != strconv.Itoa(i+1) {
		return nil, fmt.Errorf("%w: it has %d bytes, and says %s", errIncomplete, i+1, foreign.Name(fmt.Sprintf("%.20s", word[1])))
	}
	if sum := sha256.Sum256(text[:i+1]); word[2] != hex.EncodeToString(sum[:]) {
		return nil, fmt.Errorf("%w: its checksum is wrong", errIncomplete)
	}
	return text[:i], nil
}

// maxRecords bounds the logs, processes, flags and the like that a node tells of: a real one has some hundred.
// maxPath is Linux' PATH_MAX.
const (
	maxRecords = 10_000
	maxPath    = 4096
)

// parser collects records. Contents belong to checksums, not to files.
type parser struct {
	result Result
	files  map[string]bool
	sizes  map[pki.Fingerprint]int64
	drafts map[pki.Fingerprint]*draft
	now    *draft         // the content that lines are about
	ended  bool           // the walk
	cut    bool           // contents were left out
	others map[string]int // records that are no files, by their word
	// partial are the directories below which not everything was listed.
	partial []string
}

func (p *parser) line(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "seg", "gap", "key", "bad", "note", "spki":
		if p.now == nil {
			return fmt.Errorf("%q belongs to no file", word)
		}
		return p.now.line(word, rest)
	}
	p.now = nil
	if word == "content" || word == "more" {
		return p.begin(word, rest)
	}
	if p.others[word]++; word != "file" && p.others[word] > maxRecords {
		return fmt.Errorf("more than %d records %.40q", maxRecords, word)
	}
	f, err := fields(rest)
	if err != nil {
		return err
	}
	if n := fieldsOf(word); n > 0 && len(f) != n && (word != "unit" || rest != "") && (word != "process" || len(f) < n) {
		return fmt.Errorf("%q has %d fields in place of %d", word, len(f), n)
	}
	switch word {
	case "clock":
		return p.clock(f[0])
	case "node":
		uid, err := strconv.ParseUint(f[2], 10, 32)
		p.result.Node.Hostname, p.result.Node.Kernel, p.result.Node.UID = f[0], f[1], int(uid)
		return err
	case "unit":
		return p.unit(f)
	case "missing":
		p.gap("", missing(f[0], f[1]), "")
	case "flag":
		p.result.Node.Flags = append(p.result.Node.Flags, Flag{Name: f[0], Value: f[1], Disclosed: f[2] == "1"})
	case "none":
		p.result.Missing = append(p.result.Missing, f[0])
	case "alias":
		if p.result.Aliases == nil {
			p.result.Aliases = map[string]string{}
		}
		p.result.Aliases[f[0]] = f[1]
	case "lost":
		p.gap(f[1], said(f[0]), "")
	case "file":
		return p.file(f)
	case "log":
		return p.log(f)
	case "began":
		at, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil || at < 0 || at > maxSeconds {
			return fmt.Errorf("began %.40q is no time", f[0])
		}
		p.result.Node.Began = time.Unix(at, 0).UTC()
	case "process":
		at, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil || at < 0 || at > maxSeconds {
			return fmt.Errorf("process %.40q: %.40q is no time", f[0], f[1])
		}
		process := Process{Command: f[0], Started: time.Unix(at, 0).UTC()}
		switch {
		case len(f) == 5 && f[2] != "" && f[3] != "" && f[4] != "":
			process.PodUID, process.Namespace, process.Pod = f[2], f[3], f[4]
		case len(f) == 3 && (f[2] == "host" || f[2] == "unknown"):
			process.Host = f[2] == "host"
		default:
			return fmt.Errorf("process %.40q: whose it is has %d fields", f[0], len(f)-2)
		}
		p.result.Node.Processes = append(p.result.Node.Processes, process)
	case "all":
		p.result.Node.AllProcesses = f[0] == "processes"
	case "heard":
		return p.heard(f)
	case "refused":
		return p.refused(f)
	case "omitted":
		return p.omitted(f)
	case "walk":
		return p.walk(f)
	case "cut":
		if f[0] != "0" {
			p.result.Stopped = true
			p.gap("", foreign.Text(f[0])+" files are not listed: the output has no room left", nextRoom)
		}
		p.cut = f[1] != "0"
	default:
		return fmt.Errorf("record %.40q is unknown", word)
	}
	return nil
}

// fieldsOf is how many fields a record has; 0: that depends, or it is unknown.
func fieldsOf(word string) int {
	switch word {
	case "clock", "none", "began", "all":
		return 1
	case "unit", "missing", "alias", "lost", "omitted", "cut":
		return 2
	case "flag", "process": // the latter: at least
		return 3
	case "heard":
		return 4
	case "node", "refused":
		return 5
	case "log":
		return 6
	case "file":
		return 16
	}
	return 0
}

const (
	nextRoom = "read fewer paths at once"
	nextNode = "run certrot on the node itself"
)

func (p *parser) gap(where, reason, next string) {
	p.result.Gaps = append(p.result.Gaps, inspect.Gap{Where: where, Reason: reason, Next: next})
}

func (p *parser) clock(text string) error {
	seconds, fraction, _ := strings.Cut(text, ".")
	s, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || len(fraction) > 9 || s < 0 || s > maxSeconds {
		return fmt.Errorf("clock %.40q is no time", text)
	}
	n, err := strconv.ParseUint("0"+(fraction + "000000000")[:9], 10, 32)
	if err != nil {
		return fmt.Errorf("clock %.40q is no time", text)
	}
	at := time.Unix(s, int64(n)).UTC()
	if c := &p.result.Node.Clock; c.Before.IsZero() {
		c.Before = at
	} else {
		c.After = at
	}
	return nil
}

// maxSeconds is the year 9999, the last one that JSON can hold.
const maxSeconds = 253402300799

// maxUnits is as many as the program asks for.
const maxUnits = 3

func (p *parser) unit(f []string) error {
	units := &p.result.Node.Units
	if len(f) == 0 || len(*units) == 0 {
		if len(*units) == maxUnits {
			return fmt.Errorf("more than %d units", maxUnits)
		}
		*units = append(*units, Unit{})
	}
	if len(f) == 0 {
		return nil
	}
	u := &(*units)[len(*units)-1]
	count := func() int { n, _ := strconv.Atoi(f[1]); return n } // "[not set]" is 0
	switch f[0] {
	case "Id":
		u.Name = f[1]
	case "LoadState":
		u.Loaded = f[1] == "loaded"
	case "ActiveState":
		u.Active = f[1]
	case "SubState":
		u.Sub = f[1]
	case "MainPID":
		u.MainPID = count()
	case "Type":
		u.Notifies = strings.HasPrefix(f[1], "notify")
	case "NRestarts":
		u.Restarts = count()
	case "NeedDaemonReload":
		u.NeedsReload = f[1] == "yes"
	case "ActiveEnterTimestamp":
		u.Since = stamp(f[1])
	case "ExecMainStartTimestamp":
		u.Started = stamp(f[1])
	}
	return nil
}

// stamp reads a time as systemctl prints it where TZ is UTC.
func stamp(text string) time.Time {
	t, err := time.Parse("Mon 2006-01-02 15:04:05 UTC", text)
	if err != nil {
		return time.Time{}
	}
	return t
}

func (p *parser) file(f []string) error {
	name := f[15]
	switch {
	case p.ended:
		return errors.New("a file after the end of the walk")
	case p.files[name]:
		return fmt.Errorf("file %q is there twice", name)
	case len(name) > maxPath:
		return fmt.Errorf("a path of %d bytes is longer than any", len(name))
	case !strings.HasPrefix(name, "/"):
		return fmt.Errorf("path %q does not start at the root", name)
	case len(f[0]) != 1 || !strings.Contains("RHGTULDXPSCO", f[0]):
		return fmt.Errorf("kind %.20q of file is unknown", f[0])
	}
	p.files[name] = true
	file := File{Path: name, Kind: Kind(f[0][0]), Target: Target{Text: f[13], Path: f[14]}}
	var err error
	if file.Meta, err = meta(f); err != nil {
		return fmt.Errorf("file %q: %w", name, err)
	}
	if file.Kind == KindRead || file.Kind == KindHashed {
		if err := file.SHA256.UnmarshalText([]byte(f[12])); err != nil {
			return fmt.Errorf("file %q: %w", name, err)
		}
		if size, ok := p.sizes[file.SHA256]; ok && size != file.Meta.Size {
			return fmt.Errorf("file %q: two sizes with the same checksum", name)
		}
		p.sizes[file.SHA256] = file.Meta.Size
	}
	p.result.Files = append(p.result.Files, file)
	return nil
}

func meta(f []string) (Meta, error) {
	var n [8]uint64
	for i, at := range []int{2, 3, 6, 9, 10} {
		v, err := strconv.ParseUint(f[at], 10, 64)
		if err != nil {
			return Meta{}, fmt.Errorf("%.40q is no number", f[at])
		}
		n[i] = v
	}
	raw, err := strconv.ParseUint(f[1], 16, 32)
	if err != nil || n[0] > 1<<32 || n[1] > 1<<32 || n[2] > 1<<62 {
		return Meta{}, errors.New("mode, owner or size is out of range")
	}
	m := Meta{Mode: mode(raw), Label: f[11], Size: int64(n[2]), Inode: Inode{Number: n[3], Device: n[4]}}
	m.Owner = Owner{UID: int(n[0]), GID: int(n[1]), User: f[4], Group: f[5]}
	for i, to := range []*time.Time{&m.ModTime, &m.Changed} {
		s, err := strconv.ParseInt(f[7+i], 10, 64)
		if err != nil || s > maxSeconds || s < -maxSeconds {
			return Meta{}, fmt.Errorf("%.40q is no time", f[7+i])
		}
		*to = time.Unix(s, 0).UTC()
	}
	return m, nil
}

// mode turns st_mode into Go's.
func mode(raw uint64) fs.FileMode {
	m := fs.FileMode(raw & 0o777)
	for bit, flag := range map[uint64]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if raw&bit != 0 {
			m |= flag
		}
	}
	switch raw & 0o170000 {
	case 0o040000:
		m |= fs.ModeDir
	case 0o120000:
		m |= fs.ModeSymlink
	case 0o010000:
		m |= fs.ModeNamedPipe
	case 0o140000:
		m |= fs.ModeSocket
	case 0o060000:
		m |= fs.ModeDevice
	case 0o020000:
		m |= fs.ModeDevice | fs.ModeCharDevice
	}
	return m
}

func (p *parser) omitted(f []string) error {
	var id pki.Fingerprint
	if err := id.UnmarshalText([]byte(f[0])); err != nil {
		return err
	}
	d := p.draft(id)
	d.notes = append(d.notes, Note{"omitted", "no room left in the output"})
	return nil
}
