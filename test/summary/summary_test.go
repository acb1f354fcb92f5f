package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A shortened run of `go test -json`: what it writes of two packages, of which
// one does not build, with text of make in between.
const run1 = `make: Entering directory
{"Action":"start","Package":"x/a"}
{"Action":"run","Package":"x/a","Test":"TestTable"}
{"Action":"run","Package":"x/a","Test":"TestTable/one"}
{"Action":"output","Package":"x/a","Test":"TestTable/one","Output":"    a_test.go:7: expired yesterday\n"}
{"Action":"fail","Package":"x/a","Test":"TestTable/one"}
{"Action":"pass","Package":"x/a","Test":"TestTable/two","Elapsed":1.25}
{"Action":"fail","Package":"x/a","Test":"TestTable"}
{"Action":"run","Package":"x/a","Test":"TestLab"}
{"Action":"output","Package":"x/a","Test":"TestLab","Output":"    a_test.go:8: trying\n"}
{"Action":"output","Package":"x/a","Test":"TestLab","Output":"    a_test.go:9: the lab is not up:\n"}
{"Action":"output","Package":"x/a","Test":"TestLab","Output":"        not root\n"}
{"Action":"output","Package":"x/a","Test":"TestLab","Output":"--- SKIP: TestLab (0.00s)\n"}
{"Action":"skip","Package":"x/a","Test":"TestLab"}
{"Action":"pass","Package":"x/a","Test":"FuzzPEM/seed#0"}
{"Action":"pass","Package":"x/a","Test":"FuzzPEM/seed#1"}
{"Action":"pass","Package":"x/a","Test":"FuzzPEM"}
{"Action":"fail","Package":"x/a"}
{"ImportPath":"x/b","Action":"build-output","Output":"b/b.go:3:1: syntax error\n"}
{"ImportPath":"x/b","Action":"build-fail"}
{"Action":"fail","Package":"x/b","FailedBuild":"x/b"}
{"Action":"skip","Package":"x/nothing"}
make: *** [unit] Error 1
`

func TestRead(t *testing.T) {
	ended := 0
	results, text, err := Read("unit", strings.NewReader(run1), func() { ended++ })
	if err != nil {
		t.Fatal(err)
	}
	want := []Result{
		{Step: "unit", Package: "x/a", Test: "TestTable/one", State: Failed, Output: "    a_test.go:7: expired yesterday\n"},
		{Step: "unit", Package: "x/a", Test: "TestTable/two", State: Passed, Seconds: 1.25},
		{Step: "unit", Package: "x/a", Test: "TestLab", State: Skipped, Reason: "the lab is not up: not root"},
		{Step: "unit", Package: "x/a", Test: "FuzzPEM", State: Passed},
		{Step: "unit", Package: "x/b", State: Failed, Output: "b/b.go:3:1: syntax error\n"},
	}
	if len(results) != len(want) {
		t.Fatalf("got %d results, want %d:\n%+v", len(results), len(want), results)
	}
	for i := range want {
		if results[i] != want[i] {
			t.Errorf("result %d:\n got %+v\nwant %+v", i, results[i], want[i])
		}
	}
	if ended != 7 { // with parents and seeds
		t.Errorf("%d tests have ended", ended)
	}
	if want := "make: Entering directory\nmake: *** [unit] Error 1\n"; text != want {
		t.Errorf("text: got %q, want %q", text, want)
	}
}

func TestProcessThatDiesCountsAsFailed(t *testing.T) {
	results, _, _ := Read("unit", strings.NewReader(`{"Action":"pass","Package":"x/a","Test":"TestFine"}
{"Action":"run","Package":"x/a","Test":"TestHangs"}
{"Action":"output","Package":"x/a","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"x/a"}
`), func() {})
	if len(results) != 2 || results[1].State != Failed || !strings.Contains(results[1].Output, "timed out") {
		t.Errorf("got %+v", results)
	}
}

func TestStepWithoutTestsCountsAsOne(t *testing.T) {
	boom := errors.New("exit status 2")
	for _, c := range []struct {
		name  string
		tests []Result
		err   error
		want  string // passed, failed
	}{
		{"it passed", nil, nil, "1 0"},
		{"it failed", nil, boom, "0 1"},
		{"its tests passed, then it failed", []Result{{State: Passed}}, boom, "1 1"},
		{"its tests failed", []Result{{State: Failed}}, boom, "0 1"},
	} {
		results, _ := judge("lint", c.tests, "words", c.err)
		passed, failed, _ := count(results)
		if got := fmt.Sprint(passed, failed); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestRequireLabRefusesSkips(t *testing.T) {
	results := refuseSkips([]Result{
		{Test: "A", State: Skipped, Reason: "the lab needs root"},
		{Test: "B", State: Skipped, Reason: "data file absent: must-gather-aws.tar.xz"},
	})
	if results[0].State != Failed || results[1].State != Skipped {
		t.Errorf("got %+v", results)
	}
}

func TestLastLineIsPlain(t *testing.T) {
	var b strings.Builder
	if printSummary(&b, []Step{{Results: []Result{{State: Passed}, {State: Passed}, {Package: "p", Test: "T", State: Skipped, Reason: "because"}}}}, time.Minute) != true {
		t.Error("nothing failed, and yet")
	}
	if !strings.HasSuffix(b.String(), "\n2 passed, 0 failed, 1 skipped\n") {
		t.Errorf("got:\n%s", b.String())
	}
	if !strings.Contains(b.String(), "p T: because") {
		t.Errorf("the reason is missing:\n%s", b.String())
	}
	if printSummary(io.Discard, []Step{{Results: []Result{{State: Failed}}}}, time.Minute) {
		t.Error("a failure, and yet")
	}
}

// TestFailuresSayWhyAtTheEnd: of a run's output sometimes only the end is kept.
func TestFailuresSayWhyAtTheEnd(t *testing.T) {
	var b strings.Builder
	output := "    a_test.go:1: note: it begins\n        more\n    a_test.go:2: it fails\n        for this reason\n    a_test.go:3: b\n    a_test.go:4: c\n    a_test.go:5: d\n    a_test.go:6: note: it ends\n--- FAIL: T (0.1s)\n"
	printSummary(&b, []Step{{Results: []Result{{Package: "p", Test: "T", State: Failed, Output: output}, {Package: "p", Test: "U", State: Failed, Output: "panic"}}}}, time.Minute)
	if !strings.Contains(b.String(), "\nFailed:\n  p T\n    a_test.go:2: it fails\n            for this reason\n    a_test.go:3: b\n    a_test.go:5: d\n  p U\n\n") {
		t.Errorf("got:\n%s", b.String())
	}
	if got := whyFailed("a_test.go:1: " + strings.Repeat("é", 400)); len(got) > errorLength+4 || !strings.HasSuffix(got, "é …") {
		t.Errorf("got %q", got)
	}
}

// A step that runs beside the others has begun before the first of them ends.
func TestBeside(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	program := filepath.Join(t.TempDir(), "make")
	script := "#!/bin/sh\ncase $3 in\nlab) touch " + mark + " ;;\nunit) for i in 1 2 3 4 5 6 7 8 9 10; do [ ! -e " + mark + " ] || exit 0; sleep 1; done; exit 1 ;;\nesac\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	var out strings.Builder
	r := runner{out: &out, makeProgram: program, beside: []string{"lab"}, every: time.Hour}
	steps := r.run([]string{"unit", "lab"})
	if want := []Result{{Step: "unit", State: Passed}, {Step: "lab", State: Passed}}; !slices.Equal(all(steps), want) {
		t.Errorf("%+v\n%s", steps, &out)
	}
	if unit, lab := strings.Index(out.String(), "unit "), strings.Index(out.String(), "lab "); unit < 0 || lab < unit {
		t.Errorf("their lines are not in the order of the steps:\n%s", &out)
	}
}

// TestBesideFrom: what comes before the step is alone, and what has begun beside it has not
// begun before.
func TestBesideFrom(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "make")
	// Each step of the first three waits for nothing, and says whether lab had begun by then.
	script := "#!/bin/sh\ncd " + dir + "\ncase $3 in\nlab) touch lab ;;\nunit) for i in 1 2 3 4 5 6 7 8 9 10; do [ ! -e lab ] || exit 0; sleep 1; done; exit 1 ;;\n*) sleep 0.3; [ ! -e lab ] ;;\nesac\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	var out strings.Builder
	r := runner{out: &out, makeProgram: program, beside: []string{"lab"}, besideFrom: "unit", every: time.Hour}
	for _, result := range all(r.run([]string{"compile", "lint", "unit", "lab"})) {
		if result.State != Passed {
			t.Errorf("%+v\n%s", result, &out)
		}
	}
}

// TestLongStepsBeginInTime: a long step that would begin too late is skipped with its reason,
// which CI accepts; any other step begins whenever it is its turn.
func TestLongStepsBeginInTime(t *testing.T) {
	fake := filepath.Join(t.TempDir(), "make")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\n[ $3 = slow ] && sleep 0.2\necho $3 >>$0.ran\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[time.Duration]string{0: "every\nslow\nlate\nunit\n", time.Minute: "every\nslow\nlate\nunit\n", 100 * time.Millisecond: "every\nslow\nunit\n"} {
		if err := os.WriteFile(fake+".ran", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		r := runner{out: io.Discard, makeProgram: fake, every: time.Hour, strict: true, long: []string{"every", "late"}, longBefore: limit}
		steps := r.run([]string{"every", "slow", "late", "unit"})
		ran, err := os.ReadFile(fake + ".ran")
		if err != nil || string(ran) != want || len(steps) != 4 {
			t.Errorf("within %s: ran %q, want %q (%v)", limit, ran, want, err)
		}
		if skipped := steps[2].Results[0].State == Skipped; skipped == strings.Contains(want, "late") {
			t.Errorf("within %s: %+v", limit, steps[2].Results)
		}
	}
}

// TestLongStepsEndInTime: one that does not end is stopped, with what it tested.
func TestLongStepsEndInTime(t *testing.T) {
	if _, err := exec.LookPath("timeout"); err != nil {
		t.Skip("there is no timeout here")
	}
	fake := filepath.Join(t.TempDir(), "make")
	script := "#!/bin/sh\n[ $3 = every ] || exit 0\necho '{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"A\"}'\n[ -z \"$FAILS\" ] || echo '{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"B\"}'\nsleep 600\n"
	if err := os.WriteFile(fake, []byte(script), 0o755); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	for fails, want := range map[string]int{"": 0, "1": 1} {
		t.Setenv("FAILS", fails)
		r := runner{out: io.Discard, makeProgram: fake, every: time.Hour, strict: true, long: []string{"every"}, longUntil: time.Second}
		steps := r.run([]string{"unit", "every"})
		if passed, failed, skipped := count(all(steps)); passed != 2 || failed != want || skipped != 1 {
			t.Errorf("%d passed, %d failed, %d skipped: %+v", passed, failed, skipped, all(steps))
		}
	}
}

func TestSlowestTestsAreNamed(t *testing.T) {
	var b strings.Builder
	var results []Result
	for i := range 12 {
		results = append(results, Result{Package: "p", Test: fmt.Sprintf("T%02d", i), State: Passed, Seconds: float64(i)})
	}
	printSummary(&b, []Step{{Results: results}}, time.Minute)
	_, list, _ := strings.Cut(b.String(), "Slowest:\n")
	if !strings.HasPrefix(list, "    11.0s p T11\n") || !strings.Contains(list, "     2.0s p T02\n") || strings.Contains(list, "T01") {
		t.Errorf("got:\n%s", b.String())
	}
}

// TestProgress: a run that takes long says what it does, before any step is done.
func TestProgress(t *testing.T) {
	dir := t.TempDir()
	mark, program := filepath.Join(dir, "mark"), filepath.Join(dir, "make")
	script := "#!/bin/sh\necho '{\"Action\":\"pass\",\"Package\":\"x\",\"Test\":\"T\"}'\nwhile [ ! -e " + mark + " ]; do sleep 0.05; done\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	out := untilSaid{mark: mark}
	r := runner{out: &out, makeProgram: program, beside: []string{"lab"}, every: 20 * time.Millisecond}
	out.limit = time.Now().Add(time.Minute)
	r.run([]string{"unit", "lab"})
	if !strings.Contains(out.String(), " tests; lab ") {
		t.Errorf("got:\n%s", out.String())
	}
}

// untilSaid lets the steps end as soon as progress was printed.
type untilSaid struct {
	strings.Builder
	mark  string
	limit time.Time
}

func (u *untilSaid) Write(p []byte) (int, error) {
	n, err := u.Builder.Write(p)
	if strings.Contains(u.String(), " tests; lab ") || time.Now().After(u.limit) {
		return n, os.WriteFile(u.mark, nil, 0o600)
	}
	return n, err
}

func TestFileForPrograms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary.json")
	steps := []Step{{Name: "unit", Took: 90 * time.Second, CPU: time.Minute, Results: []Result{
		{Package: "p", Test: "T", State: Passed, Seconds: 1.5}, {Package: "p", Test: "S", State: Skipped, Reason: "because"},
	}}}
	if err := writeFile(path, "abc", time.Date(2026, 11, 22, 1, 2, 3, 4, time.UTC), 2*time.Minute, steps); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(string(data)), "")
	want := `{"commit":"abc","start":"2026-11-22T01:02:03Z","seconds":120,"passed":1,"failed":0,"skipped":1,` +
		`"steps":[{"name":"unit","seconds":90,"cpuSeconds":60,"passed":1,"failed":0,"skipped":1,"tests":[` +
		`{"package":"p","test":"T","state":"pass","seconds":1.5},{"package":"p","test":"S","state":"skip","seconds":0,"reason":"because"}]}]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Runs under load are told apart and added up: a line each, with what makes it that run.
func TestRunsAreLogged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.jsonl")
	steps := []Step{{Results: []Result{{Package: "p", Test: "T", State: Passed}, {Package: "p", Test: "F", State: Failed}}}}
	for seed := range uint64(2) {
		line := runLine{Commit: "abc", Start: time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC), Seed: seed + 1, Busy: 2, Load: 7.4321}
		if err := appendLog(path, line, 90*time.Second, steps[:1]); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	want := `{"commit":"abc","start":"2026-11-22T01:02:03Z","seed":1,"busy":2,"load":7.4,"seconds":90,"passed":1,"failed":1,"skipped":0,"failing":["p F"]}` + "\n"
	if want += strings.Replace(want, `"seed":1`, `"seed":2`, 1); err != nil || string(got) != want {
		t.Errorf("got %v:\n%swant:\n%s", err, got, want)
	}
}

func TestLoadIsMeasured(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loadavg")
	if err := os.WriteFile(path, []byte("3.25 2.00 1.00 2/300 4711\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := measureLoad(path, time.Millisecond)(); got != 3.25 {
		t.Errorf("load %v, want 3.25", got)
	}
	if got := measureLoad(path+".absent", time.Millisecond)(); got != 0 {
		t.Errorf("load %v of a system that tells none, want 0", got)
	}
}

// The steps' tests get the flags, and the cores are free again after a run.
func TestStepsGetTheFlags(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "make")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$4\" >"+dir+"/said\n"), 0o755); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	r := runner{out: io.Discard, makeProgram: program, every: time.Hour, flags: "-json -shuffle=7"}
	r.run([]string{"unit"})
	if got, err := os.ReadFile(filepath.Join(dir, "said")); string(got) != "TESTFLAGS=-json -shuffle=7\n" {
		t.Errorf("make got %q, %v", got, err)
	}
}

// TestTables: of tests that are parts of one that is named, none is.
func TestTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary.json")
	steps := []Step{{Name: "unit", Took: 90 * time.Second, CPU: time.Minute, Results: []Result{
		{Package: "x/kubectl-certrot/kubectl-certrot/p", Test: "T/part", State: Passed, Seconds: 8}, {Package: "x/kubectl-certrot/kubectl-certrot/p", Test: "T", State: Passed, Seconds: 9},
		{Package: "x/kubectl-certrot/kubectl-certrot/p", Test: "U", State: Passed, Seconds: 7}, {Package: "x/kubectl-certrot/kubectl-certrot/p", Test: "S", State: Skipped},
	}}}
	if err := writeFile(path, "abc", time.Now(), 2*time.Minute, steps); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	const want = "| step | seconds | of processors | passed | skipped |\n|---|---|---|---|---|\n| unit | 90 | 60 | 3 | 1 |\n| all | 120 | | 3 | 1 |\n\n| seconds | package | test |\n|---|---|---|\n| 9 | p | T |\n| 7 | p | U |\n"
	if err := printTable(&b, path); err != nil || b.String() != want {
		t.Errorf("%v\n%s", err, &b)
	}
}

// TestStepsThatTakeTurnsGiveWay: what runs beside others keeps the priority, and where
// nothing does, each has it.
func TestStepsThatTakeTurnsGiveWay(t *testing.T) {
	if _, err := exec.LookPath("nice"); err != nil {
		t.Skip("there is no nice here")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "make")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nnice >"+dir+"/$3\n"), 0o755); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	nice := func(beside ...string) (unit, lab int) {
		r := runner{out: io.Discard, makeProgram: program, beside: beside, every: time.Hour}
		r.run([]string{"unit", "lab"})
		for step, n := range map[string]*int{"unit": &unit, "lab": &lab} {
			text, err := os.ReadFile(filepath.Join(dir, step))
			if err != nil {
				t.Fatal(err)
			}
			if *n, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
				t.Fatal(err)
			}
		}
		return unit, lab
	}
	if unit, lab := nice(); unit != lab {
		t.Errorf("alone: unit has %d, lab %d", unit, lab)
	}
	if unit, lab := nice("lab"); unit <= lab {
		t.Errorf("beside lab: unit has %d, lab %d", unit, lab)
	}
}
