package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// TestAScreenHasRoomForRequests: those that are pending come first, the newest of them at the top, and never fewer than
// three.
func TestAScreenHasRoomForRequests(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	inv := &report.Inventory{Taken: now}
	for i := range 30 {
		condition := inspect.Issued
		if i%2 == 0 {
			condition = inspect.Pending
		}
		inv.Requests = append(inv.Requests, report.Request{Name: fmt.Sprintf("csr-%02d", i), Condition: condition, Since: now.Add(-time.Duration(60-i) * time.Minute)})
	}
	for name, c := range map[string]struct {
		wide  bool
		above int // lines
		rows  int
		last  string
	}{
		"a free screen":    {false, 3, 16, "csr-01"},
		"half of a screen": {false, 12, 7, "csr-16"},
		"a full screen":    {false, 30, 3, "csr-24"},
		"all in full":      {true, 30, 30, "csr-29"},
	} {
		w := &Page{columns: 80, lines: summaryLines}
		w.WriteString(strings.Repeat("x\n", c.above))
		HumanPrinter{wide: c.wide}.fewRequests(w, inv)
		lines := strings.Split(strings.TrimSpace(strings.TrimLeft(w.String(), "x\n")), "\n")
		more := fmt.Sprintf("%d more: --all", 30-c.rows)
		if c.rows < 30 {
			if lines[len(lines)-1] != more {
				t.Errorf("%s: %q at its end, want %q", name, lines[len(lines)-1], more)
			}
			lines = lines[:len(lines)-1]
		}
		rows := lines[2:] // below the title and the headers
		if len(rows) != c.rows || !strings.HasPrefix(rows[0], "csr-28 ") || !strings.HasPrefix(rows[len(rows)-1], c.last+" ") {
			t.Errorf("%s: %d rows, want %d to %s:\n%s", name, len(rows), c.rows, c.last, strings.Join(rows, "\n"))
		}
		all := &Page{columns: 80}
		if (HumanPrinter{}).requests(all, inv); !strings.Contains(all.String(), rows[0]+"\n") || !strings.HasPrefix(strings.Split(all.String(), "\n")[3], "csr-28 ") {
			t.Errorf("--all has another order:\n%s", all)
		}
		if got := strings.Count(w.String(), "\n"); !c.wide && c.above < 20 && got > w.height() {
			t.Errorf("%s: %d lines", name, got)
		}
	}
}
