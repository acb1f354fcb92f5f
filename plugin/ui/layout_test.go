package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
)

// TestManyProblemsAreLaidOutInNoTime: one worker makes thousands, and what does not fit is counted alone.
func TestManyProblemsAreLaidOutInNoTime(t *testing.T) {
	t.Parallel()
	for _, critical := range []int{0, 3, 5000} {
		s := Summary{Head: []string{"api.example.com:6443"}, Tally: "many", Tail: []string{"one"}}
		for i := range 5000 {
			p := Problem{Mark: "!", Word: "WARNING", Title: fmt.Sprintf("file %d can be read by group %d", i, i), Impact: "its key is known", Next: assess.Advise("look at it")}
			if i < critical {
				p.Mark, p.Word = "✗", "CRITICAL"
			}
			s.Problems = append(s.Problems, p)
		}
		w, began := &Page{columns: 80, lines: 60}, time.Now()
		s.Print(w)
		if took := time.Since(began); took > time.Second {
			t.Errorf("%d critical ones: it took %s", critical, took)
		}
		if lines := strings.Count(w.String(), "\n"); lines > 60 || !strings.Contains(w.String(), " more problems") {
			t.Errorf("%d critical ones: %d lines\n%s", critical, lines, w)
		}
	}
}

// TestWhatIsNoTerminalHasAllOfIt: a pipe and a file have no height, unless LINES gives them one.
func TestWhatIsNoTerminalHasAllOfIt(t *testing.T) {
	s := Summary{Tally: "many", Tail: []string{"Next 30d: no certificate expires"}}
	for range 12 {
		s.Problems = append(s.Problems, Problem{Mark: "✗", Word: "CRITICAL", Title: "x", Cause: "a cause", Now: "up until then", Impact: strings.Repeat("words of it ", 20) + "END", Next: assess.FixedCommand("repair it")})
	}
	for _, columns := range []string{"40", "80", "400"} {
		t.Setenv("COLUMNS", columns)
		t.Setenv("LINES", "")
		w := NewPage(&strings.Builder{})
		s.Print(w)
		for _, said := range []string{"a cause\n", "up until then\n", "END\n", "repair it\n"} {
			if n := strings.Count(w.String(), said); n != 12 {
				t.Errorf("%s columns: %d of 12 say %q\n%s", columns, n, said, w)
			}
		}
		t.Setenv("LINES", "30")
		w = NewPage(&strings.Builder{})
		s.Print(w)
		if n := strings.Count(w.String(), "\n"); n > 29 {
			t.Errorf("%s columns: %d lines\n%s", columns, n, w)
		}
	}
}

// incident has three critical problems, of which the first one's title says what fails, and two others.
func incident() Summary {
	s := Summary{Head: []string{"cluster"}, Tally: "5 problems", Tail: []string{"Next 30d: nothing", "more: --details"}}
	for _, node := range []string{"worker-1", "worker-2", "worker-3"} {
		s.Problems = append(s.Problems, Problem{Mark: "✗", Word: "CRITICAL", Title: node + " is down: no client certificate", Impact: strings.Repeat("no new Pods ", 8), Next: assess.FixedCommand("kubectl certrot fix-api-int --nodes " + node + " --dry-run=client")})
	}
	s.Problems[0].Known, s.Problems[0].Cause = true, "7 CSRs unanswered since 01:17Z"
	for range 2 {
		s.Problems = append(s.Problems, Problem{Mark: "!", Word: "WARNING", Title: "truncated PEM"})
	}
	return s
}

// TestOnANarrowScreenEachCriticalProblemHasItsNextStep: before an impact that the title says.
func TestOnANarrowScreenEachCriticalProblemHasItsNextStep(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{40, 50, 60} {
		w := &Page{columns: columns}
		incident().Print(w)
		for _, node := range []string{"worker-1", "worker-2", "worker-3"} {
			if !strings.Contains(w.String(), "fix-api-int --nodes "+node+" --dry-run=client\n") {
				t.Errorf("%d columns: nothing to do for %s\n%s", columns, node, w)
			}
		}
		if n := rows(w, func(b *Page) { b.WriteString(w.String()) }); n > summaryLines {
			t.Errorf("%d columns: %d lines\n%s", columns, n, w)
		}
	}
}

// TestACauseStandsInPlaceOfAnImpactThatTheTitleSays, unless there is room for both.
func TestACauseStandsInPlaceOfAnImpactThatTheTitleSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		w      *Page
		impact bool
	}{{&Page{columns: 80, lines: 17}, false}, {&Page{columns: 80, lines: 60}, true}, {&Page{columns: 40, lines: unbounded}, true}} {
		incident().Print(c.w)
		if first, _, _ := strings.Cut(c.w.String(), "worker-2 is"); !strings.Contains(first, "  cause     7 CSRs") || strings.Contains(first, "impact") != c.impact {
			t.Errorf("%d columns, %d lines:\n%s", c.w.columns, c.w.lines, c.w)
		}
	}
}

// TestWhatAUserSaysIsListed: in a line at least, where a screen would only count it.
func TestWhatAUserSaysIsListed(t *testing.T) {
	t.Parallel()
	s := incident()
	for range 30 {
		s.Problems = append(s.Problems, Problem{Mark: "·", Word: "INFO", Title: "its CA is in no CA bundle"})
	}
	s.Listed = true
	w := &Page{columns: 80}
	s.Print(w)
	if n := strings.Count(w.String(), "· INFO      its CA is in no CA bundle\n"); n != 30 || strings.Contains(w.String(), "more problem") {
		t.Errorf("%d of 30\n%s", n, w)
	}
}
