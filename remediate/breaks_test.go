package remediate

import (
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// TestBreaksOf: a plan breaks an edge where it held before, place by place, and only by what the plan does.
func TestBreaksOf(t *testing.T) {
	t.Parallel()
	one, other := pki.Location{Kind: pki.KindFile, Node: "worker-0", Path: "/one"}, pki.Location{Kind: pki.KindFile, Node: "worker-0", Path: "/other"}
	started := time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)
	claim := func(s assess.Status, at ...pki.Location) trust.Claim {
		return trust.Claim{Edge: catalog.Edge{ID: "kubelet-api-int"}, Assessment: assess.Assessment{Status: s}, Node: "worker-0", Trust: at}
	}
	with := func(c trust.Claim, change func(*trust.Claim)) trust.Claim { change(&c); return c }
	next := with(claim(assess.Unknown, one), func(c *trust.Claim) { c.NextUnknown = true })
	process := func(s assess.Status, at time.Time) trust.Claim {
		return with(claim(s, one), func(c *trust.Claim) { c.ProcessStarted = at })
	}
	for _, c := range []struct {
		name          string
		before, after []trust.Claim
		broken        bool
	}{
		{"it passes before and after", []trust.Claim{claim(assess.Pass, one)}, []trust.Claim{claim(assess.Pass, one)}, false},
		{"it fails after", []trust.Claim{claim(assess.Pass, one)}, []trust.Claim{claim(assess.Fail, one)}, true},
		{"it warned before, and fails after", []trust.Claim{claim(assess.Warn, one)}, []trust.Claim{claim(assess.Fail, one)}, true},
		{"it warns after", []trust.Claim{claim(assess.Pass, one)}, []trust.Claim{claim(assess.Warn, one)}, false},
		{"it failed before", []trust.Claim{claim(assess.Fail, one)}, []trust.Claim{claim(assess.Fail, one)}, false},
		{"it was unknown before", []trust.Claim{claim(assess.Unknown, one)}, []trust.Claim{claim(assess.Fail, one)}, false},
		{"it is unknown after", []trust.Claim{claim(assess.Pass, one)}, []trust.Claim{claim(assess.Unknown, one)}, false},
		{"only what is presented next is unknown after", []trust.Claim{claim(assess.Pass, one)}, []trust.Claim{next}, false},
		{"what is presented next was unknown before", []trust.Claim{next}, []trust.Claim{claim(assess.Fail, one)}, true},
		{"two places were alike, and one fails after", []trust.Claim{claim(assess.Pass, one, other)}, []trust.Claim{claim(assess.Pass, one), claim(assess.Fail, other)}, true},
		{"two places differed, and fail alike after", []trust.Claim{claim(assess.Pass, one), claim(assess.Fail, other)}, []trust.Claim{claim(assess.Fail, one, other)}, true},
		{"one of two claims on a place failed before", []trust.Claim{claim(assess.Fail, one), claim(assess.Pass, one)}, []trust.Claim{claim(assess.Fail, one), claim(assess.Pass, one)}, false},
		{"its file is not there after", []trust.Claim{claim(assess.Pass, one)}, []trust.Claim{claim(assess.Fail)}, true},
		{"its file failed, and is not there after", []trust.Claim{claim(assess.Fail, one)}, []trust.Claim{claim(assess.Fail)}, false},
		{"nothing is said of it after", []trust.Claim{claim(assess.Pass, one)}, nil, false},
		{"it is a tenant's", []trust.Claim{claim(assess.Pass, one)}, []trust.Claim{with(claim(assess.Fail, one), func(c *trust.Claim) { c.Tenant = "shop" })}, false},
		{"a process runs on, and its file was written", []trust.Claim{process(assess.Pass, started)}, []trust.Claim{process(assess.Unknown, started)}, false},
		{"a process was restarted, and writes its file", []trust.Claim{process(assess.Pass, started)}, []trust.Claim{process(assess.Unknown, started.Add(time.Hour))}, false},
		{"a process was restarted, with a file that is wrong", []trust.Claim{process(assess.Pass, started)}, []trust.Claim{process(assess.Fail, started.Add(time.Hour))}, true},
	} {
		if got := breaksOf(c.before, c.after); (len(got) == 1) != c.broken || len(got) > 1 {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
