package ui

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
)

func page(columns int) *Page { return &Page{columns: columns} }

// TestASummaryFitsOnOneScreen: up to ten problems, however long their texts are.
func TestASummaryFitsOnOneScreen(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("words of a long text ", 20)
	for _, columns := range []int{40, 80, 120, 400} {
		for problems := range 14 {
			s := Summary{Head: []string{"api.example.com:6443  OpenShift 4.18.3", "as of 2026-01-01 00:00Z", "SYNTHETIC DATA  " + long}, Tally: "many", Tail: []string{"one", "two"}}
			for i := range problems {
				s.Problems = append(s.Problems, Problem{
					Mark: "✗", Word: "CRITICAL", Title: fmt.Sprintf("problem %d %s", i, long), Impact: long, Reason: long, Next: assess.Advise(long),
					Names: []string{strings.Repeat("n", 253), "worker-2"},
				})
			}
			for range problems {
				s.Unknown = append(s.Unknown, Problem{Mark: "?", Word: "UNKNOWN", Title: long})
			}
			w := page(columns)
			s.Print(w)
			lines := strings.Split(strings.TrimSuffix(w.String(), "\n"), "\n")
			if len(lines) > summaryLines {
				t.Errorf("%d columns, %d problems: %d lines\n%s", columns, problems, len(lines), w)
			}
			for _, line := range lines {
				if columnsIn(line) > columns {
					t.Errorf("%d columns: a line has %d: %q", columns, columnsIn(line), line)
				}
			}
			if told := strings.Count(w.String(), "CRITICAL"); problems <= 10 && columns >= 80 && told != problems {
				t.Errorf("%d columns, %d problems: %d are told\n%s", columns, problems, told, w)
			}
		}
	}
}

// TestACommandIsWhole: it is copied.
func TestACommandIsWhole(t *testing.T) {
	t.Parallel()
	command := "oc certrot fix-api-int --nodes " + strings.Repeat("a-node,", 40) + "last"
	w := page(80)
	Summary{Problems: []Problem{{Mark: "✗", Word: "CRITICAL", Title: "x", Next: assess.FixedCommand(command)}}}.Print(w)
	if !strings.Contains(w.String(), "next      "+command+"\n") {
		t.Errorf("got %s", w)
	}
}

func TestNamesThatFit(t *testing.T) {
	t.Parallel()
	names := []string{"worker-1", "worker-2", "worker-3"}
	for columns, want := range map[int]string{80: "worker-1, worker-2, worker-3", 22: "worker-1, worker-2 +1", 12: "worker-1 +2", 1: "… +2"} {
		if got := NamesThatFit(names, columns); got != want {
			t.Errorf("%d columns: %q, want %q", columns, got, want)
		}
	}
}

func TestColorIsOfThisProgramsLinesAlone(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"✗ CRITICAL  x\n":                 red + "✗ CRITICAL" + plain + "  x\n",
		"    ✗ CRITICAL\n":                "    " + red + "✗ CRITICAL" + plain + "\n",
		"! WARNING   x\n":                 yellow + "! WARNING" + plain + "   x\n",
		"? x\n":                           cyan + "?" + plain + " x\n",
		"  next      oc get\n":            "  " + bold + "next      oc get" + plain + "\n",
		"a name ✗ CRITICAL\n":             "a name ✗ CRITICAL\n",
		strings.Repeat(" ", hang) + "✗\n": strings.Repeat(" ", hang) + "✗\n",
		"apiVersion: v1\n":                "apiVersion: v1\n",
	} {
		if got := colored(line, true); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
		if got := colored(line, false); got != line {
			t.Errorf("what goes on with a line: %q becomes %q", line, got)
		}
	}
}

func TestColorIsWanted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env      map[string]string
		terminal bool
		want     bool
	}{
		{map[string]string{"TERM": "xterm"}, true, true},
		{nil, true, runtime.GOOS == "windows"},
		{nil, false, false},
		{map[string]string{"NO_COLOR": "1"}, true, false},
		{map[string]string{"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, true, false},
		{map[string]string{"CLICOLOR": "0"}, true, false},
		{map[string]string{"CLICOLOR_FORCE": "1"}, false, true},
		{map[string]string{"CLICOLOR_FORCE": "0"}, false, false},
		{map[string]string{"TERM": "dumb"}, true, false},
	} {
		if got := colorWanted(func(name string) string { return c.env[name] }, c.terminal); got != c.want {
			t.Errorf("%v, terminal %v: %v", c.env, c.terminal, got)
		}
	}
}

func TestColorOfAScreen(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := NewScreen(&out)
	if err := SetColor(w, "always"); err != nil {
		t.Fatal(err)
	}
	Printf(w, "✗ CRITICAL  a\x1b[31m\n")
	Printf(w, "text ")
	Printf(w, "✗ CRITICAL\n")
	if want := red + "✗ CRITICAL" + plain + "  a\\x1b[31m\ntext ✗ CRITICAL\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	if err := SetColor(w, "sometimes"); err == nil {
		t.Error("a word that is none of --color's is taken")
	}
}

func TestColumns(t *testing.T) {
	for value, want := range map[string]int{"": defaultColumns, "0": defaultColumns, "-3": defaultColumns, "x": defaultColumns, "20": leastColumns, "132": 132} {
		t.Setenv("COLUMNS", value)
		if got := Columns(&strings.Builder{}); got != want {
			t.Errorf("COLUMNS=%s: %d, want %d", value, got, want)
		}
	}
	if got := Columns(page(77)); got != 77 {
		t.Errorf("a page of 77 columns has %d", got)
	}
}

// TestCommentsOfPEMAreNoBlocks: OpenSSL reads pieces of 254 bytes as lines.
func TestCommentsOfPEMAreNoBlocks(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	pemComment(&out, strings.Repeat("é", 60)+strings.Repeat("-----BEGIN CERTIFICATE-----MIIB-----END CERTIFICATE-----", 20))
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, "# ") || len(line) > 254 || strings.Contains(line, "--") {
			t.Errorf("a line of %d bytes: %q", len(line), line)
		}
	}
	if strings.Count(out.String(), "\n") < 5 {
		t.Errorf("something is missing: %s", &out)
	}
}

// TestCommentsOfPEMForgeNoOthers: a subject that goes on in the next line begins none.
func TestCommentsOfPEMForgeNoOthers(t *testing.T) {
	t.Parallel()
	for pad := range 200 {
		var out strings.Builder
		pemComment(&out, "CN="+strings.Repeat("a", pad)+strings.Repeat(" sha256 abab", 40))
		for n, line := range strings.Split(out.String(), "\n") {
			if n > 0 && strings.HasPrefix(line, "# ") && line[2] != ' ' || strings.HasPrefix(strings.TrimLeft(line, "# "), "sha256") && !strings.HasPrefix(line, "#     ") {
				t.Fatalf("%d: %q reads as a comment of its own", pad, line)
			}
		}
	}
}

// TestCountsOfAProblemAreNeverCut, however long a name or a title is.
func TestCountsOfAProblemAreNeverCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 250)
	for _, full := range []bool{true, false} {
		for _, p := range []Problem{
			{Mark: "✗", Word: "CRITICAL", Title: "they expire", Names: []string{long, "openshift-ingress/router-certs"}},
			{Mark: "✗", Word: "CRITICAL", Title: strings.Repeat("word ", 60), More: " (and 1 more)"},
		} {
			w := page(80)
			p.print(w, full, 1)
			if !strings.Contains(w.String(), " +1\n") && !strings.Contains(w.String(), "(and 1 more)") {
				t.Errorf("in full %t: %s", full, w)
			}
		}
	}
}

// TestALoneQuotationMarkBeginsNoLine: what is quoted behind it hangs.
func TestALoneQuotationMarkBeginsNoLine(t *testing.T) {
	t.Parallel()
	w := page(80)
	Wrap(w, "    ", `chronyd "x of services: “c"d `+strings.Repeat("a", 66)+` ✓ PASS every client trusts its server”`)
	for line := range strings.Lines(w.String()) {
		if strings.HasPrefix(strings.TrimSpace(line), "✓") {
			t.Errorf("a line begins with what is quoted: %q", line)
		}
	}
}

// TestEachUnknownSaysWhy: with a line for each reason before the whole text of some, and one next step.
func TestEachUnknownSaysWhy(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	t.Setenv("LINES", "24")
	s := Summary{Head: []string{"cluster"}, Tally: "4 unknown", UnknownNext: assess.Advise("take it again: kubectl certrot snapshot --nodes all -o FILE")}
	for _, title := range []string{"one", "two", "three", "four"} {
		s.Unknown = append(s.Unknown, Problem{Mark: "?", Word: "UNKNOWN", Title: "whether " + title + strings.Repeat(" is so", 20), Reason: "not read " + strings.Repeat("a long reason ", 12), Also: []string{"worker-1"}})
	}
	w := NewPage(&strings.Builder{})
	s.Print(w)
	said := w.String()
	if strings.Count(said, "  reason    not read") != 4 || strings.Count(said, "  next      kubectl certrot snapshot --nodes all -o FILE\n") != 1 || strings.Contains(said, "--details") {
		t.Errorf("got\n%s", said)
	}
}

// TestTheFirstProblemKeepsItsNextStep: however many there are, and its impact, which may be what not to do.
func TestTheFirstProblemKeepsItsNextStep(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{40, 60, 80, 120} {
		s := Summary{Head: []string{"one", "two", "three"}, Tally: "many", Tail: []string{"one", "two"}}
		for range 30 {
			s.Problems = append(s.Problems, Problem{Mark: "✗", Word: "CRITICAL", Title: "kubelets do not trust api-int", Impact: "its node becomes NotReady", Next: assess.FixedCommand("repair it")})
			s.Unknown = append(s.Unknown, Problem{Mark: "?", Word: "UNKNOWN", Title: "this"})
		}
		w := page(columns)
		s.Print(w)
		if !strings.Contains(w.String(), "next      repair it\n") || !strings.Contains(w.String(), "its node becomes NotReady") {
			t.Errorf("%d columns: says\n%s", columns, w)
		}
		if !strings.Contains(w.String(), ", all critical: --details\n") && columns > 60 {
			t.Errorf("%d columns: does not count the others\n%s", columns, w)
		}
	}
}

// TestWhatIsSaidOfALongNameStays: of a title on one line the name is cut, and not what is wrong.
func TestWhatIsSaidOfALongNameStays(t *testing.T) {
	t.Parallel()
	w := page(80)
	Problem{Mark: "✗", Word: "CRITICAL", Title: "openshift-kube-apiserver-operator/service-network-serving-certkey expired 8d ago", More: " (and 3 more)"}.print(w, false, 1)
	if got := w.String(); !strings.Contains(got, " expired 8d ago (and 3 more)\n") || columnsIn(strings.TrimSpace(got)) > 80 || !strings.Contains(got, "openshift-kube") {
		t.Errorf("got %s", got)
	}
}

// TestATallTerminalHasEveryText: and of each problem its next step.
func TestATallTerminalHasEveryText(t *testing.T) {
	t.Parallel()
	s := Summary{Tally: "many"}
	for range 5 {
		s.Problems = append(s.Problems, Problem{Mark: "✗", Word: "CRITICAL", Title: "x", Impact: strings.Repeat("words of it ", 20) + "END", Next: assess.FixedCommand("repair it")})
	}
	w := &Page{columns: 80, lines: 60}
	s.Print(w)
	if n := strings.Count(w.String(), "END"); n != 5 {
		t.Errorf("%d of 5 impacts to their end\n%s", n, w)
	}
	if n := strings.Count(w.String(), "repair it"); n != 5 {
		t.Errorf("%d of 5 next steps\n%s", n, w)
	}
}

// TestNoTextIsCutWhereLinesAreFree: on the usual terminal, too.
func TestNoTextIsCutWhereLinesAreFree(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("words of it ", 14) + "END" // 3 lines
	problem := Problem{Mark: "✗", Word: "CRITICAL", Title: "x", Impact: long, Next: assess.FixedCommand("repair it")}
	for n, want := range map[int]int{1: 1, 3: 3, 4: 4} {
		s := Summary{Tally: "many"}
		for range n {
			s.Problems = append(s.Problems, problem)
		}
		w := page(80)
		s.Print(w)
		if got := strings.Count(w.String(), "END"); got != want {
			t.Errorf("%d problems: %d impacts to their end\n%s", n, got, w)
		}
		if got := strings.Count(w.String(), "impact"); got != n {
			t.Errorf("%d problems: %d impacts\n%s", n, got, w)
		}
	}
	// One line is free: the impact of what is told in brief has it.
	s := Summary{Tally: "many", Problems: []Problem{problem, problem, problem}, Tail: make([]string, 10)}
	w := page(80)
	s.Print(w)
	if lines := strings.Count(w.String(), "\n"); lines < summaryLines-1 || strings.Count(w.String(), "…") == 0 {
		t.Errorf("%d lines\n%s", lines, w)
	}
}

// TestACriticalKeepsItsNextStep: lines of lower severity are counted before it goes.
func TestACriticalKeepsItsNextStep(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("words of a long text ", 6)
	s := Summary{Head: []string{"a", "b", "c"}, Tally: "many", Tail: []string{"one", "two"}}
	for i := range 3 {
		s.Problems = append(s.Problems, Problem{Mark: "✗", Word: "CRITICAL", Title: fmt.Sprint("problem ", i), Now: "now", Impact: long, Next: assess.FixedCommand(fmt.Sprint("command-", i))})
	}
	for i := range 12 {
		s.Problems = append(s.Problems, Problem{Mark: "!", Word: "WARNING", Title: fmt.Sprint("warning ", i)})
		w := page(80)
		s.Print(w)
		if text := w.String(); strings.Count(text, "next      command-") != 3 || strings.Count(text, "\n") > summaryLines || !strings.Contains(text, "impact    words") {
			t.Errorf("%d warnings: a critical has no next step, or the first no impact:\n%s", i+1, text)
		}
	}
}

// TestEachCriticalProblemIsNamedOnANarrowScreen, of ten problems; the first one has its next step.
func TestEachCriticalProblemIsNamedOnANarrowScreen(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{40, 60} {
		for critical := 1; critical <= 8; critical++ {
			s := Summary{Head: []string{"api.example.com:6443  OpenShift 4.18.3", "as of 2026-01-01 00:00Z"}, Tally: "10 problems", Tail: []string{"one", "two"}}
			for i := range 10 {
				p := Problem{
					Mark: "✗", Word: "CRITICAL", Title: "kubelets have no certificate by which they join", Names: []string{fmt.Sprintf("node-%d", i), "worker-2"},
					Now: "still up: all of them, until tomorrow at the latest", Impact: "restart no kubelet and no node before the repair", Next: assess.FixedCommand("oc certrot fix-api-int --dry-run=client"),
				}
				if i >= critical {
					p.Mark, p.Word = "!", "WARNING"
				}
				s.Problems = append(s.Problems, p)
			}
			w := page(columns)
			s.Print(w)
			for i := range critical {
				if !strings.Contains(w.String(), fmt.Sprintf("node-%d", i)) {
					t.Errorf("%d columns, %d critical: node-%d is not on the screen\n%s", columns, critical, i, w)
				}
			}
			if n := rows(w, func(p *Page) { Printf(p, "%s", w.String()) }); n > summaryLines || !strings.Contains(w.String(), "next      oc certrot fix-api-int --dry-run=client\n") {
				t.Errorf("%d columns, %d critical: %d lines, or no next step\n%s", columns, critical, n, w)
			}
		}
	}
}

// TestACauseCostsNoNextStep: how a problem came about stands where each critical problem keeps its next step.
func TestACauseCostsNoNextStep(t *testing.T) {
	t.Parallel()
	const cause = "the CA was replaced 9d ago"
	for problems := 1; problems <= 10; problems++ {
		for critical := 1; critical <= problems; critical++ {
			screen := func(because string) string {
				s := Summary{Head: []string{"api.example.com:6443  OpenShift 4.18.3", "as of 2026-01-01 00:00Z"}, Tally: "problems", Tail: []string{"one", "two"}}
				for i := range problems {
					p := Problem{
						Mark: "✗", Word: "CRITICAL", Title: "kubelets do not trust api-int", Cause: because, Impact: "a node that restarts becomes NotReady",
						Next: assess.FixedCommand(fmt.Sprintf("oc certrot fix-api-int --nodes node-%d", i)),
					}
					if because = ""; i >= critical {
						p.Mark, p.Word = "!", "WARNING"
					}
					s.Problems = append(s.Problems, p)
				}
				w := page(80)
				s.Print(w)
				if n := strings.Count(w.String(), "\n"); n > summaryLines {
					t.Errorf("%d problems, %d critical: %d lines\n%s", problems, critical, n, w)
				}
				return w.String()
			}
			with, without := screen(cause), screen("")
			for i := range critical {
				if next := fmt.Sprintf("next      oc certrot fix-api-int --nodes node-%d\n", i); strings.Contains(without, next) && !strings.Contains(with, next) {
					t.Errorf("%d problems, %d critical: without %s\n%s", problems, critical, next, with)
				}
			}
			if !strings.Contains(with, "  impact ") && strings.Contains(without, "  impact ") {
				t.Errorf("%d problems, %d critical: no impact\n%s", problems, critical, with)
			}
			if !strings.Contains(with, "  cause     "+cause+"\n") && (critical <= 5 || problems < 5) {
				t.Errorf("%d problems, %d critical: without the cause\n%s", problems, critical, with)
			}
		}
	}
}
