package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A shortened run of `go test -json`: what it writes of two packages, of which
// one does not build, with text of make in between.
const run1 = `make: Entering directory
{"Action":"start","Package":"x/a"}
{"Action":"run","Package":"x/a","Test":"TestTable"}
{"Action":"run","Package":"x/a","Test":"TestTable/one"}
{"Action":"output","Package":"x/a","Test":"TestTable/one","Output":"    a_test.go:7: expired yesterday\n"}
{"Action":"fail","Package":"x/a","Test":"TestTable/one"}
{"Action":"pass","Package":"x/a","Test":"TestTable/two"}
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
	results, text, err := Read("unit", strings.NewReader(run1))
	if err != nil {
		t.Fatal(err)
	}
	want := []Result{
		{Step: "unit", Package: "x/a", Test: "TestTable/one", State: Failed, Output: "    a_test.go:7: expired yesterday\n"},
		{Step: "unit", Package: "x/a", Test: "TestTable/two", State: Passed},
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
	if want := "make: Entering directory\nmake: *** [unit] Error 1\n"; text != want {
		t.Errorf("text: got %q, want %q", text, want)
	}
}

func TestProcessThatDiesCountsAsFailed(t *testing.T) {
	results, _, _ := Read("unit", strings.NewReader(`{"Action":"pass","Package":"x/a","Test":"TestFine"}
{"Action":"run","Package":"x/a","Test":"TestHangs"}
{"Action":"output","Package":"x/a","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"x/a"}
`))
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
	if printSummary(&b, []Result{{State: Passed}, {State: Passed}, {Package: "p", Test: "T", State: Skipped, Reason: "because"}}) != true {
		t.Error("nothing failed, and yet")
	}
	if !strings.HasSuffix(b.String(), "\n2 passed, 0 failed, 1 skipped\n") {
		t.Errorf("got:\n%s", b.String())
	}
	if !strings.Contains(b.String(), "p T: because") {
		t.Errorf("the reason is missing:\n%s", b.String())
	}
	if printSummary(io.Discard, []Result{{State: Failed}}) {
		t.Error("a failure, and yet")
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
	all := runAll(&out, program, []string{"unit", "lab"}, []string{"lab"}, false)
	if want := []Result{{Step: "unit", State: Passed}, {Step: "lab", State: Passed}}; !slices.Equal(all, want) {
		t.Errorf("%+v\n%s", all, &out)
	}
	if unit, lab := strings.Index(out.String(), "unit "), strings.Index(out.String(), "lab "); unit < 0 || lab < unit {
		t.Errorf("their lines are not in the order of the steps:\n%s", &out)
	}
}
