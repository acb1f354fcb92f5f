package collect

import (
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// A kubelet that renewed its Lease once more after the first reading, and died, has not
// been seen alive 20 minutes later.
func TestARenewalBetweenReadingsThatAreFarApartIsNoSignOfLife(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]catalog.Tristate{15 * time.Second: catalog.Yes, 20 * time.Minute: catalog.No} {
		r := &Renewals{}
		r.advanced("worker-1", now.Add(-9*time.Second), now)
		last, later := now.Add(time.Second), now.Add(after)
		advanced := r.advanced("worker-1", last, later)
		if got := inspect.NodeHealthOf("True", last, inspect.Lease{Duration: 40 * time.Second, Asked: later, Advanced: advanced}, 0).Alive; got != want {
			t.Errorf("%s later: alive is %v, want %v", after, got, want)
		}
	}
}
