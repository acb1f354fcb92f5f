package assess

import (
	"fmt"
	"time"

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
