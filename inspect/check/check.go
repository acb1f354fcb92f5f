// Package check judges facts place by place. A Check is a claim and a function that finds where
// it does not hold.
package check

import (
	"cmp"
	"context"
	"fmt"
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
// the order of Checks. Once ctx is done it runs no further one, and the one that runs returns soon:
// what it returns then is not complete, and the caller has to say so.
func Judge(ctx context.Context, f *inspect.Facts) []assess.Finding {
	f = f.Within(ctx)
	var out []assess.Finding
	order := map[string]int{}
	places := subjects{left: maxSubjects}
	for i, c := range Checks() {
		if ctx.Err() != nil {
			break
		}
		order[c.ID] = i
		for _, finding := range c.Run(f) {
			if !slices.IsSortedFunc(finding.At, pki.Compare) {
				slices.SortFunc(finding.At, pki.Compare)
			}
			finding.ID = c.ID
			finding.At, finding.Subject = places.write(finding.At)
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

// maxSubjects is how many bytes the subjects of all findings may have, beyond which each names
// mostPlaces places. A value is in many places, and each of its certificates may be a finding.
const (
	maxSubjects = 16 << 20
	mostPlaces  = 10
)

// subjects writes the subjects of findings. What is about the same places as the one before shares them.
type subjects struct {
	left int // of maxSubjects
	at   []pki.Location
	text string
}

// write returns the places of a finding, and its subject.
func (s *subjects) write(at []pki.Location) ([]pki.Location, string) {
	if len(at) > 0 && slices.Equal(at, s.at) {
		return s.at, s.text
	}
	length := 0
	for i := range at {
		l := &at[i]
		length += len(l.Node) + len(l.Namespace) + len(l.Name) + len(l.Key) + len(l.Path) + len(l.Field)
	}
	s.at = slices.Clip(at)
	if more := len(at) - mostPlaces; length > s.left && more > 0 {
		s.text = folded(at[:mostPlaces]) + fmt.Sprintf(", and %d more places", more)
	} else {
		s.text = folded(at)
	}
	s.left -= len(s.text)
	return s.at, s.text
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

// ageUnknown stands for how long ago something was of which no time was read.
const ageUnknown = "age unknown"

// ago says how long before now t was, as kubectl does: "9d", "3h12m".
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "(" + ageUnknown + ")"
	}
	if t.After(now) {
		return "in " + duration.HumanDuration(t.Sub(now))
	}
	return duration.HumanDuration(now.Sub(t)) + " ago"
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }
