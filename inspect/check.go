package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Severity says how much a finding matters. What needs somebody to act is
// never below Warning.
type Severity int

// The severities, in rising order.
const (
	Info     Severity = iota // worth knowing; harms nobody now
	Warning                  // somebody must act, in time
	Critical                 // broken, or about to be
)

// String returns "info", "warning" or "critical".
func (s Severity) String() string {
	switch s {
	case Info:
		return "info"
	case Warning:
		return "warning"
	}
	return "critical"
}

// ParseSeverity reads what String writes.
func ParseSeverity(word string) (Severity, error) {
	for s := Info; s <= Critical; s++ {
		if s.String() == word {
			return s, nil
		}
	}
	return 0, fmt.Errorf("severity %q is none of info, warning, critical", word)
}

// Check is one claim about a cluster's certificates and the function that
// judges it. IDs are lower-kebab and never change.
type Check struct {
	ID    string
	Title string // a claim that is true when all is well
	Doc   string // what it looks at, why it matters, what to do; plain text
	Run   func(*Facts) []Finding
}

// Finding is a claim that does not hold.
type Finding struct {
	Check    string // ID
	Severity Severity
	Message  string // what is wrong, in one sentence
	Next     string // what to do about it
	At       []pki.Location
	Certs    []pki.Fingerprint
	// Due orders findings of a kind: what ends first comes first.
	Due time.Time
}

// Judge runs all checks and returns what they find: the worst first, then in
// the order of Checks.
func Judge(f *Facts) []Finding {
	var out []Finding
	order := map[string]int{}
	for i, c := range Checks() {
		order[c.ID] = i
		for _, finding := range c.Run(f) {
			finding.Check = c.ID
			slices.SortFunc(finding.At, pki.Compare)
			out = append(out, finding)
		}
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(order[a.Check], order[b.Check]), a.Due.Compare(b.Due), cmp.Compare(len(b.At), len(a.At)))
	})
	return out
}

// inForce returns the places among held that are not older revisions; and
// whether there are any. Where all are, it returns those.
func inForce(held []*Held) ([]*Held, bool) {
	var now []*Held
	for _, h := range held {
		if !h.Superseded {
			now = append(now, h)
		}
	}
	if len(now) == 0 {
		return held, false
	}
	return now, true
}

func locations(held []*Held) []pki.Location {
	out := make([]pki.Location, len(held))
	for i, h := range held {
		out[i] = h.At
	}
	return out
}

// ago says how long before now t was, as kubectl does: "9d", "3h12m".
func ago(now, t time.Time) string {
	if t.After(now) {
		return "in " + duration.HumanDuration(t.Sub(now))
	}
	return duration.HumanDuration(now.Sub(t)) + " ago"
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// days writes a duration in days where it is some.
func days(d time.Duration) string {
	if d >= 48*time.Hour && d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d d", d/(24*time.Hour))
	}
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}

// name is how a certificate is called in a sentence.
func name(c *pki.Cert) string {
	s := pki.CommonName(c.Subject)
	if s == "" && len(c.Names.DNS) > 0 {
		s = c.Names.DNS[0]
	}
	if s == "" {
		s = "no subject"
	}
	return fmt.Sprintf("%s (%s)", foreign.Called(s), c.Fingerprint.Short())
}
