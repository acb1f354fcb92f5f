package remediatetest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ulikunitz/xz"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
)

// A kept run is what a release leaves behind where it is killed: for each record of its
// journal, the journal up to there, and what is on the nodes at that time. Those below
// testdata/kept were made by that release. Later ones list them, go on, and undo them.
//
//	CERTROT_KEEP=testdata/kept/2 go test -run TestKeepRuns ./remediate
//
// makes one more, of the code as it is.
const (
	keptRun     = "20261123-103000-aaaaaa"
	keptUndo    = "20261123-113000-bbbbbb"
	keptAddress = "127.67.82.1:16743" // in the kubeconfigs: nothing else listens there
	keptToken   = "sesame-of-a-kept-run"
)

// keptDirs are what a run and the fakes of a node write.
func keptDirs() []string { return []string{"etc", "var", "fake", "proc"} }

// keptIncident has CAs that are valid for as long as any user may try.
func keptIncident() Incident {
	return newIncidentBetween(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2046, 1, 1, 0, 0, 0, 0, time.UTC))
}

func newKeptWorld(t *testing.T, names ...string) *World {
	t.Helper()
	l, err := net.Listen("tcp", keptAddress)
	if err != nil {
		t.Skipf("the address of kept runs can't be used here: %v", err)
	}
	in := keptIncident()
	w := newWorldBy(in, serve(t, l, in.Young))
	w.token = keptToken
	for _, n := range names {
		w.add(t, n)
	}
	return w
}

// stopKept copies what there is: a journal, and the nodes' folders.
func stopKept(w *World, t *testing.T, dir string, journal []byte) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/journal.jsonl", journal, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, m := range w.Machines {
		if err := os.Mkdir(dir+"/"+name, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, sub := range keptDirs() {
			if out, err := exec.Command("cp", "-a", m.At("/"+sub), dir+"/"+name).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
	}
}

// TestKeepRuns makes kept runs, in a temporary folder where CERTROT_KEEP names none.
func TestKeepRuns(t *testing.T) {
	thorough(t)
	dir, err := filepath.Abs(cmp.Or(os.Getenv("CERTROT_KEEP"), t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	stops := t.TempDir()
	w := newKeptWorld(t, "worker-0", "worker-1")
	stopKept(w, t, stops+"/before", nil)
	folder := host.DefaultFolder + "/" + keptRun
	keepRun(w, t, stops+"/repair", remediate.Header{Run: keptRun, Command: "fix-api-int"}, func() *remediate.Plan { return repair(w, t, keptRun) })
	w.api.show(t, w.Old)
	keepRun(w, t, stops+"/undo", remediate.Header{Run: keptUndo, Command: "undo", Undoes: keptRun}, func() *remediate.Plan {
		p, err := undoing(w, t, keptRun).Plan(keptRun, w.snapshot(t, folder), w.Now())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}, folder)
	for _, part := range []string{"repair", "undo"} {
		if made, err := filepath.Glob(stops + "/" + part + "/*/journal.jsonl"); len(made) < 10 {
			t.Errorf("%s: only %d records, %v", part, len(made), err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/script.sh", keptScript().Text("v0.0.0-kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	pack(t, stops, dir+"/runs.tar.xz")
}

// keptScript is a script of a kept incident.
func keptScript() apiint.Script {
	s := (&console{Machine: &Machine{World: &World{Incident: keptIncident()}}}).script()
	s.Created = time.Date(2026, 11, 23, 10, 30, 0, 0, time.UTC)
	return s
}

// TestKeptScripts: a script of an earlier release repairs a node still, this release finds nothing
// to do after it, and undoes it.
func TestKeptScripts(t *testing.T) {
	thorough(t)
	scripts, err := filepath.Glob("testdata/kept/*/script.sh")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no kept scripts: %v", err)
	}
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, back := range []string{"by this release", "by itself"} {
			t.Run(path+", undone "+back, func(t *testing.T) {
				c := consoleOf(t, newKeptWorld(t, "worker-0").Machines["worker-0"], dashCore)
				ends := func(code int, says string, args ...string) {
					t.Helper()
					if out, got := c.shell(t, "/root/kept.sh", args...); got != code || !strings.Contains(out, says) {
						t.Fatalf("%q: exit code %d, want %d and %q:\n%s", args, got, code, says, out)
					}
				}
				c.Write(t, "/root/kept.sh", text)
				ends(0, "the kubelet runs", "--yes")
				c.repaired(t)
				c.want(t, keptScript(), 0, "Nothing is to be done", "--yes")
				if back == "by itself" {
					ends(0, "the files are what they were", "undo", "--yes", "--accept-risk=breaks-trust")
					c.original(t)
					return
				}
				c.undoneByCertrot(t)
			})
		}
	}
}

// keepRun runs a plan, and copies what a runner that is killed leaves: nodes change while they are
// asked something, so with each record there is what was on them before the next question.
func keepRun(w *World, t *testing.T, dir string, h remediate.Header, plan func() *remediate.Plan, paths ...string) {
	t.Helper()
	p := plan()
	js := remediate.Journals{Folder: t.TempDir()}
	h.Nodes, h.Started, h.Server, h.Certrot = w.names, w.Now(), w.api.URL, "v0.0.0-kept"
	j, err := js.Begin(h, w.Now)
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	stop := func() {
		text := rawJournal(js, t)
		lines := bytes.SplitAfter(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
		for ; kept < len(lines); kept++ {
			stopKept(w, t, fmt.Sprintf("%s/%02d", dir, kept), append(bytes.TrimSuffix(bytes.Join(lines[:kept+1], nil), []byte("\n")), '\n'))
		}
	}
	env := w.env(t, p.RunID, &faults{before: func(int) { stop() }}, paths...)
	if err := (remediate.Runner{Env: env, Journal: j}).Run(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	stop()
}

// TestKeptRuns: a run of an earlier release, stopped at any record, is listed, gone on with, and
// undone byte for byte; and so is its undo.
func TestKeptRuns(t *testing.T) {
	thorough(t)
	sets, err := filepath.Glob("testdata/kept/*/runs.tar.xz")
	if err != nil || len(sets) == 0 {
		t.Fatalf("no kept runs: %v", err)
	}
	for _, set := range sets {
		w := newKeptWorld(t, "worker-0", "worker-1")
		stops := t.TempDir()
		unpack(t, set, stops)
		for _, m := range w.Machines {
			for path := range m.files {
				if m.files[path], err = os.ReadFile(stops + "/before/" + m.name + path); err != nil {
					t.Fatal(err)
				}
			}
		}
		tried := map[string]bool{} // what comes after is the same for the same state of the nodes
		for _, part := range []string{"repair", "undo"} {
			dirs, err := filepath.Glob(stops + "/" + part + "/*")
			if err != nil || len(dirs) < 10 {
				t.Fatalf("%s: %d records, %v", part, len(dirs), err)
			}
			for i, dir := range dirs {
				t.Run(filepath.Base(filepath.Dir(set))+"/"+part+"/"+filepath.Base(dir), func(t *testing.T) {
					listedKept(w, t, dir)
					if key := keptState(t, dir); !tried[key] && (everything() || i%6 == 0) {
						tried[key] = true
						onceMore(restoredKept(w, t, dir), t, "run-2")
						putBackRun(restoredKept(w, t, dir), t, keptRun)
					}
				})
			}
		}
	}
}

func pack(t *testing.T, dir, set string) {
	t.Helper()
	out, err := exec.Command("tar", "--numeric-owner", "--sort=name", "-C", dir, "-c", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := xz.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(out); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(set, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func unpack(t *testing.T, set, dir string) {
	t.Helper()
	file, err := os.Open(set)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	c := exec.Command("tar", "--numeric-owner", "-C", dir, "-xp")
	if c.Stdin, err = xz.NewReader(file); err != nil {
		t.Fatal(err)
	}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// listedKept reads the journal of a stop as `runs` does.
func listedKept(w *World, t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(dir + "/journal.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	run, command := keptRun, "fix-api-int"
	if strings.Contains(dir, "/undo/") {
		run, command = keptUndo, "undo"
	}
	js := remediate.Journals{Folder: t.TempDir()}
	if err := os.WriteFile(filepath.Join(js.Folder, run+".jsonl"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := js.List()
	if err != nil || len(all) != 1 {
		t.Fatalf("%d runs, %v", len(all), err)
	}
	s := all[0]
	if s.Run != run || s.Command != command || s.Server != "https://"+keptAddress || !slices.Equal(s.Nodes, w.names) || s.Started.IsZero() || (s.Undoes == keptRun) != (command == "undo") {
		t.Errorf("%+v", s.Header)
	}
	records := bytes.Count(text, []byte("\n")) - 1
	if len(s.Records) != records {
		t.Errorf("%d records of %d", len(s.Records), records)
	}
	for _, r := range s.Records {
		if r.Time.IsZero() || r.Event == "" || r.Event != remediate.Finished && (r.Action == "" || r.Node == "") {
			t.Errorf("%+v", r)
		}
	}
	last := text[bytes.LastIndexByte(text[:len(text)-1], '\n')+1:]
	want := map[string]string{"begun": "interrupted in: ", "done": "interrupted after: ", "finished": "finished"}
	for event, outcome := range want {
		if bytes.Contains(last, []byte(`"event":"`+event+`"`)) && !strings.HasPrefix(s.Outcome(), outcome) {
			t.Errorf("it ends with %q, and its outcome is %q", event, s.Outcome())
		}
	}
}

// restoredKept is a world with what was on the nodes at a stop.
func restoredKept(w *World, t *testing.T, dir string) *World {
	t.Helper()
	c := w.clone(t)
	for name, m := range c.Machines {
		for _, sub := range keptDirs() {
			if err := os.RemoveAll(m.At("/" + sub)); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("cp", "-a", dir+"/"+name+"/"+sub, m.root).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		m.Write(t, "/fake/epoch", fmt.Appendln(nil, m.epoch.Unix()))
	}
	return c
}

// keptState tells apart what is on the nodes at stops.
func keptState(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	for _, node := range []string{"worker-0", "worker-1"} {
		err := filepath.WalkDir(dir+"/"+node, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			fmt.Fprintf(h, "%s %x\n", strings.TrimPrefix(path, dir), sha256.Sum256(text))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return string(h.Sum(nil))
}
