package assess

import "fmt"

// Severity says how much something that is wrong matters. What a user has to act on is
// never below Warning. The zero Severity is that of what is not wrong.
type Severity int

// The severities, in rising order.
const (
	Info     Severity = iota + 1 // worth knowing; harms nothing now
	Warning                      // a user must act, in time
	Critical                     // broken, or about to be
)

// String returns "info", "warning" or "critical"; "" for the zero Severity.
func (s Severity) String() string {
	switch s {
	case 0:
		return ""
	case Info:
		return "info"
	case Warning:
		return "warning"
	}
	return "critical"
}

// MarshalText writes String.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Severity) UnmarshalText(word []byte) (err error) {
	*s, err = ParseSeverity(string(word))
	return err
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
