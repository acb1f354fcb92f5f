package remediate

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// The journal is a file of JSON lines: a Header, then one Record for each thing
// that happened. Each line is on the disk before what it announces is begun.
const (
	// journalAPIVersion is the version of the journal.
	journalAPIVersion = "certrot/v1alpha1"
	// journalKind is the kind of the journal.
	journalKind = "Run"
)

// Header is the first line of a journal.
type Header struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Run        string    `json:"run"`
	Command    string    `json:"command"` // "fix-api-int", "undo"
	Undoes     string    `json:"undoes,omitempty"`
	Server     string    `json:"server,omitempty"`  // the API's URL; empty: there was none
	Cluster    string    `json:"cluster,omitempty"` // the ID that it gave itself; empty: not read, or it has none
	Lapsed     string    `json:"lapsed,omitempty"`  // the holder from which the Lease was taken over; empty: no one
	Nodes      []string  `json:"nodes"`
	Started    time.Time `json:"started"`
	Certrot    string    `json:"certrot"` // its version
}

// SameCluster reports whether two runs asked the same API server, as far as they tell, or none.
func (h Header) SameCluster(as Header) bool {
	other := h.Cluster != "" && as.Cluster != "" && h.Cluster != as.Cluster // by a tunnel, several have one URL
	return h.Server == as.Server && !other
}

// Event is what happened to an action.
type Event string

// The events. A journal that ends with a Begun ends in the middle of an action:
// what became of it is in the run's folder on the node.
const (
	Begun    Event = "begun"
	Done     Event = "done"     // and its effect was seen
	Failed   Event = "failed"   // the error says whether anything was changed
	Undone   Event = "undone"   // by itself, because its own check failed
	Unseen   Event = "unseen"   // done, and its effect does not show, or can't be asked for
	LeftOut  Event = "left-out" // nothing is done to this node any more in this run, and others go on
	Finished Event = "finished" // the run, with nothing left to do
)

// Record is a line of a journal.
type Record struct {
	Time   time.Time        `json:"time"`
	Event  Event            `json:"event"`
	Action string           `json:"action,omitempty"`
	Node   string           `json:"node,omitempty"`
	Path   string           `json:"path,omitempty"`
	Before *pki.Fingerprint `json:"before,omitempty"` // sha256 of the file for which it was planned
	Error  string           `json:"error,omitempty"`
	// Unchanged: it failed before it changed anything.
	Unchanged bool `json:"unchanged,omitempty"`
}

// Journals is the folder with the journals of runs.
type Journals struct{ Folder string }

// Journal is the journal of one run, while it runs.
type Journal struct {
	mu   sync.Mutex // a line is whole, whoever else writes one
	file *os.File
	size int64 // of its whole lines, in bytes
	now  func() time.Time
}

// Begin starts the journal of a run. Where it can't be kept, nothing is to be
// done: it is half of undo.
func (j Journals) Begin(h Header, now func() time.Time) (*Journal, error) {
	h.APIVersion, h.Kind = journalAPIVersion, journalKind
	if err := os.MkdirAll(j.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	file, err := os.OpenFile(j.path(h.Run), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	out := &Journal{file: file, now: now}
	if err = out.line(h); err == nil {
		err = SyncFolder(j.Folder)
	}
	if err != nil { // an empty journal would only raise questions
		return nil, errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	return out, nil
}

// SyncFolder puts the name of a new file on the disk.
func SyncFolder(folder string) error {
	if runtime.GOOS == "windows" { // which can't, and does it by itself
		return nil
	}
	f, err := os.Open(folder)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("journal: sync %s: %w", folder, err)
	}
	return nil
}

func (j Journals) path(run string) string { return filepath.Join(j.Folder, run+".jsonl") }

// Add writes a record.
func (j *Journal) Add(r Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	r.Time = j.now().UTC()
	return j.line(r)
}

// line writes a line behind the whole ones: of one that a full disk cut, nothing stays.
func (j *Journal) line(v any) error {
	raw, err := json.Marshal(v)
	if err == nil {
		err = j.file.Truncate(j.size)
	}
	if err == nil {
		_, err = j.file.WriteAt(append(raw, '\n'), j.size)
	}
	if err == nil {
		j.size += int64(len(raw)) + 1
		err = j.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("journal %s: %w", j.file.Name(), err)
	}
	return nil
}

// Close ends it.
func (j *Journal) Close() error { return j.file.Close() }

// RunRecord is what a journal tells.
type RunRecord struct {
	Header
	Records []Record
}

// errNoJournal means that this machine has no journal of a run.
var errNoJournal = errors.New("no journal of this run here")

// maxJournal bounds a journal, in bytes: a line for each step of hundreds of nodes
// is far less.
const maxJournal = 64 << 20

// Read reads the journal of a run. A last line that was cut off is left out.
func (j Journals) Read(run string) (RunRecord, error) {
	var s RunRecord
	if !ValidRun(run) {
		return s, fmt.Errorf("run %q: the ID of a run is such as 20260131-120000-1a2b3c", run)
	}
	file, err := os.Open(j.path(run))
	if errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("run %s: %w (%s)", run, errNoJournal, j.Folder)
	}
	if err != nil {
		return s, fmt.Errorf("journal: %w", err)
	}
	defer func() { _ = file.Close() }() // read only
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxJournal)
	for number := 1; lines.Scan(); number++ {
		if number == 1 {
			err = json.Unmarshal(lines.Bytes(), &s.Header)
			s.Server = inspect.ServerURL(s.Server) // older ones have it as the kubeconfig wrote it
			if err == nil && (s.Kind != journalKind || s.APIVersion != journalAPIVersion || s.Run != run) {
				err = fmt.Errorf("it is a %q of version %q for run %q", s.Kind, s.APIVersion, s.Run)
			}
		} else {
			var r Record
			if err = json.Unmarshal(lines.Bytes(), &r); err == nil {
				s.Records = append(s.Records, r)
			} else if !lines.Scan() {
				return s, nil // cut off
			}
		}
		if err != nil {
			return s, fmt.Errorf("journal %s, line %d: %w", file.Name(), number, err)
		}
	}
	if s.Run == "" && lines.Err() == nil {
		return s, fmt.Errorf("journal %s is empty", file.Name())
	}
	return s, lines.Err()
}

// List returns all runs, the oldest first, and why some journals can't be read.
func (j Journals) List() ([]RunRecord, error) {
	names, err := os.ReadDir(j.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []RunRecord
	errs := []error{err}
	for _, n := range names {
		run, ok := strings.CutSuffix(n.Name(), ".jsonl")
		if !ok || !ValidRun(run) {
			continue
		}
		s, err := j.Read(run)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b RunRecord) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Run, b.Run)) })
	return out, errors.Join(errs...)
}

// NotUndone are the runs of the same command on the same cluster since then whose files were not put
// back, the newest first.
func (j Journals) NotUndone(as Header, since time.Time) (runs []string) {
	all, _ := j.List() // what can't be read tells nothing
	back := map[string][]string{}
	for _, s := range all {
		if s.Undoes != "" && s.Outcome() == string(Finished) {
			back[s.Undoes] = append(back[s.Undoes], s.Nodes...)
		}
	}
	for _, s := range slices.Backward(all) {
		if s.Undoes != "" || s.Command != as.Command || !s.SameCluster(as) || s.Started.Before(since) {
			continue
		}
		for node := range s.Changed() {
			if !slices.Contains(back[s.Run], node) {
				runs = append(runs, s.Run)
				break
			}
		}
	}
	return runs
}

// ExpiredHolders are those from which runs took the Lease over since then. What they hold on nodes
// is no one's, also for a later run.
func (j Journals) ExpiredHolders(since time.Time) (holders []string) {
	all, _ := j.List() // what can't be read tells nothing
	for _, s := range all {
		if s.Lapsed != "" && s.Started.After(since) {
			holders = append(holders, s.Lapsed)
		}
	}
	return holders
}

// Remove deletes the journal of a run.
func (j Journals) Remove(run string) error {
	if !ValidRun(run) {
		return fmt.Errorf("run %q is no ID of a run", run)
	}
	for _, path := range []string{j.ObjectBackup(run), j.path(run)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("journal: %w", err)
		}
	}
	return nil
}

// ObjectBackup is the file beside the journal of a run in which an object is kept as it was.
func (j Journals) ObjectBackup(run string) string { return filepath.Join(j.Folder, run+"-before.yaml") }

// ValidRun reports whether this can be the ID of a run.
func ValidRun(id string) bool {
	return id != "" && len(id) <= 64 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// Changed are the nodes and files that a run changed, or was about to when it was
// interrupted.
func (s RunRecord) Changed() map[string][]string {
	out := map[string][]string{}
	for i, r := range s.Records {
		if r.Event == Begun && r.Path != "" && !slices.Contains(out[r.Node], r.Path) && !s.FailedUnchanged(i) {
			out[r.Node] = append(out[r.Node], r.Path)
		}
	}
	return out
}

// Touched are the nodes that may keep something of a run: also those of a change that
// failed.
func (s RunRecord) Touched() (nodes []string) {
	for _, r := range s.Records {
		if r.Event == Begun && r.Path != "" && !slices.Contains(nodes, r.Node) {
			nodes = append(nodes, r.Node)
		}
	}
	return nodes
}

// FailedUnchanged reports whether what was begun with the record of this index failed
// before it changed anything.
func (s RunRecord) FailedUnchanged(begun int) bool {
	b := s.Records[begun]
	for _, r := range s.Records[begun+1:] {
		if r.Node == b.Node && r.Path == b.Path && r.Action == b.Action {
			return r.Event == Failed && (r.Unchanged || r.saysUnchanged())
		}
	}
	return false
}

// saysUnchanged is Unchanged for journals of binaries that had only words for it. What was
// tried twice may have been done the first time.
func (r Record) saysUnchanged() bool {
	return strings.Contains(r.Error, "change "+r.Node+":"+r.Path+": nothing was changed: ") && !strings.Contains(r.Error, "; and once more: ")
}

// LeftOut are the nodes that were left out while it ran.
func (s RunRecord) LeftOut() (nodes []string) {
	for _, r := range s.Records {
		if r.Event == LeftOut {
			nodes = append(nodes, r.Node)
		}
	}
	return nodes
}

// Outcome is how it ended, in a few words.
func (s RunRecord) Outcome() string {
	how := s.end()
	if left := s.LeftOut(); len(left) > 0 {
		how += "; left out: " + strings.Join(left, ", ")
	}
	return how
}

// Ended reports whether it came to its end; one that did not may be under way.
func (s RunRecord) Ended() bool { return s.end() == string(Finished) }

// end is how its last step ended.
func (s RunRecord) end() string {
	steps := slices.DeleteFunc(slices.Clone(s.Records), func(r Record) bool { return r.Event == LeftOut })
	if len(steps) == 0 {
		return "nothing was done"
	}
	switch last := steps[len(steps)-1]; last.Event {
	case Finished:
		return string(Finished)
	case Failed:
		return "failed: " + last.Action
	case Undone:
		return "undone: " + last.Action
	case Unseen:
		return "done, effect not seen: " + last.Action
	case Begun:
		return "interrupted in: " + last.Action
	default:
		return "interrupted after: " + last.Action
	}
}

// Timestamp is a time for people, in UTC to the second.
func Timestamp(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("2006-01-02 15:04:05 MST")
}
