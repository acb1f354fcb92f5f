package remediate

import (
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
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
		elsewhere     bool // the plan changes another node
		broken        bool
	}{
		{"it passes before and after", []trust.Claim{claim(assess.Pass, one)}, []trust.Claim{claim(assess.Pass, one)}, false, false},
		{"it fails after", []trust.Claim{claim(assess.Pass, one)}, []trust.Claim{claim(assess.Fail, one)}, false, true},
		{"it warned before, and fails after", []trust.Claim{claim(assess.Warn, one)}, []trust.Claim{claim(assess.Fail, one)}, false, true},
		{"it warns after", []trust.Claim{claim(assess.Pass, one)}, []trust.Claim{claim(assess.Warn, one)}, false, false},
		{"it failed before", []trust.Claim{claim(assess.Fail, one)}, []trust.Claim{claim(assess.Fail, one)}, false, false},
		{"it was unknown before", []trust.Claim{claim(assess.Unknown, one)}, []trust.Claim{claim(assess.Fail, one)}, false, false},
		{"it is unknown after", []trust.Claim{claim(assess.Pass, one)}, []trust.Claim{claim(assess.Unknown, one)}, false, true},
		{"it is unknown after, where the plan changes nothing", []trust.Claim{claim(assess.Pass, one)}, []trust.Claim{claim(assess.Unknown, one)}, true, false},
		{"only what is presented next is unknown after", []trust.Claim{claim(assess.Pass, one)}, []trust.Claim{next}, false, false},
		{"what is presented next was unknown before", []trust.Claim{next}, []trust.Claim{claim(assess.Fail, one)}, false, true},
		{"two places were alike, and one fails after", []trust.Claim{claim(assess.Pass, one, other)}, []trust.Claim{claim(assess.Pass, one), claim(assess.Fail, other)}, false, true},
		{"two places differed, and fail alike after", []trust.Claim{claim(assess.Pass, one), claim(assess.Fail, other)}, []trust.Claim{claim(assess.Fail, one, other)}, false, true},
		{"one of two claims on a place failed before", []trust.Claim{claim(assess.Fail, one), claim(assess.Pass, one)}, []trust.Claim{claim(assess.Fail, one), claim(assess.Pass, one)}, false, false},
		{"its file is not there after", []trust.Claim{claim(assess.Pass, one)}, []trust.Claim{claim(assess.Fail)}, false, true},
		{"its file failed, and is not there after", []trust.Claim{claim(assess.Fail, one)}, []trust.Claim{claim(assess.Fail)}, false, false},
		{"nothing is said of it after", []trust.Claim{claim(assess.Pass, one)}, nil, false, false},
		{"it is a tenant's", []trust.Claim{claim(assess.Pass, one)}, []trust.Claim{with(claim(assess.Fail, one), func(c *trust.Claim) { c.Tenant = "shop" })}, false, false},
		{"a process runs on, and its file was written", []trust.Claim{process(assess.Pass, started)}, []trust.Claim{process(assess.Unknown, started)}, false, false},
		{"a process was restarted, with a file that is wrong", []trust.Claim{process(assess.Pass, started)}, []trust.Claim{process(assess.Fail, started.Add(time.Hour))}, false, true},
	} {
		by := changes{nodes: map[string]bool{"worker-0": !c.elsewhere}}
		if got := breaksOf(c.before, c.after, by); (len(got) == 1) != c.broken || len(got) > 1 {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestChangesOf: what a plan changes is told by the facts, whatever its deltas are.
func TestChangesOf(t *testing.T) {
	t.Parallel()
	at := func(node, path string) pki.Location { return pki.Location{Kind: pki.KindFile, Node: node, Path: path} }
	content := &pki.Content{}
	before := inspect.Snapshot{Nodes: []inspect.Node{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Bundles: []inspect.Bundle{{At: at("a", "/x"), Content: content}, {At: at("a", "/y"), Content: content}, {At: at("c", "/x"), Content: content}}}
	after := before.With(inspect.KubeletRestarted{Node: "b", At: time.Unix(1, 0)}, inspect.FileRemoved{Node: "a", Path: "/x"}, inspect.KubeconfigWritten{Node: "a", Path: "/z", CA: content})
	by := changesOf(before, after)
	for _, c := range []struct {
		name    string
		claim   trust.Claim
		touched bool
	}{
		{"a kubelet that was restarted", trust.Claim{Node: "b"}, true},
		{"a file that was removed", trust.Claim{Trust: []pki.Location{at("a", "/x")}}, true},
		{"a file that was written", trust.Claim{Presented: at("a", "/z")}, true},
		{"a file that stays", trust.Claim{Trust: []pki.Location{at("a", "/y")}}, false},
		{"a node that stays", trust.Claim{Node: "c"}, false},
		{"none of all these", trust.Claim{}, false},
	} {
		if by.touch(c.claim) != c.touched {
			t.Errorf("%s: %v", c.name, !c.touched)
		}
	}
}
