package check

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Check is one claim about a cluster's certificates and the function that
// judges it. IDs are lower-kebab and never change.
type Check struct {
	ID    string
	Title string // a claim that is true when all is well
	Doc   string // what it looks at, why it matters, what to do; plain text
	Run   func(*inspect.Facts) []assess.Finding
}

// Judge runs all checks and returns what they find: the worst first, then in
// the order of Checks. Once ctx has ended it runs no further one, and the one that runs ends soon:
// what it returns then is not complete, and the caller has to say so.
func Judge(ctx context.Context, f *inspect.Facts) []assess.Finding {
	f = f.Within(ctx)
	var out []assess.Finding
	order := map[string]int{}
	for i, c := range Checks() {
		if ctx.Err() != nil {
			break
		}
		order[c.ID] = i
		for _, finding := range c.Run(f) {
			slices.SortFunc(finding.At, pki.Compare)
			finding.ID, finding.Subject = c.ID, folded(finding.At)
			finding.Severity = max(finding.Severity, assess.Info) // one without would be hidden by each filter
			finding.Status = assess.StatusOf(finding.Severity)
			out = append(out, finding)
		}
	}
	slices.SortStableFunc(out, func(a, b assess.Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(order[a.ID], order[b.ID]), a.Due.Compare(b.Due), cmp.Compare(len(b.At), len(a.At)))
	})
	return out
}

// Only is what a finding says of some of its places: no other one is named.
func Only(f assess.Finding, at []pki.Location) assess.Finding {
	if len(at) == len(f.At) || len(at) == 0 {
		return f
	}
	if f.Of != nil {
		a := f.Of(at)
		f.Reason, f.Impact, f.Evidence, f.Remediation = a.Reason, a.Impact, a.Evidence, a.Remediation
	} else if rest, ok := strings.CutPrefix(f.Reason, subject(f.At)); ok {
		f.Reason = subject(at) + rest
	} else if rest, ok := strings.CutSuffix(f.Reason, subject(f.At)); ok {
		f.Reason = rest + subject(at)
	}
	f.At, f.Subject = at, folded(at)
	return f
}

func folded(at []pki.Location) string { return strings.Join(inspect.Fold(at), ", ") }

// inForce returns the places among entries that are not older revisions; and
// whether there are any. Where all are, it returns those.
func inForce(entries []*inspect.Entry) ([]*inspect.Entry, bool) {
	var now []*inspect.Entry
	for _, h := range entries {
		if !h.Superseded {
			now = append(now, h)
		}
	}
	if len(now) == 0 {
		return entries, false
	}
	return now, true
}

// ago says how long before now t was, as kubectl does: "9d", "3h12m".
func ago(now, t time.Time) string {
	if t.After(now) {
		return "in " + duration.HumanDuration(t.Sub(now))
	}
	return duration.HumanDuration(now.Sub(t)) + " ago"
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }
