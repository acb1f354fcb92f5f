package assess

import (
	"cmp"
	"fmt"
)

// Status is the result of a judgement. The zero Status is Unknown: what was not judged is not
// fine.
type Status int

// The statuses.
const (
	Unknown Status = iota // something that decides was not read
	Pass
	Warn // it passes now, and will not after something that is going to happen
	Fail
)

// String returns "unknown", "pass", "warn" or "fail".
func (s Status) String() string {
	switch s {
	case Pass:
		return "pass"
	case Warn:
		return "warn"
	case Fail:
		return "fail"
	}
	return "unknown"
}

// MarshalText writes String.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Status) UnmarshalText(word []byte) error {
	for known := Unknown; known <= Fail; known++ {
		if known.String() == string(word) {
			*s = known
			return nil
		}
	}
	return fmt.Errorf("status %q is none of pass, warn, fail, unknown", word)
}

// Wrong reports whether a user has to act: Warn and Fail.
func (s Status) Wrong() bool { return s == Warn || s == Fail }

// Statuses are all of them, the worst first. What is known to be wrong is worse than what is
// unknown.
func Statuses() []Status { return []Status{Fail, Warn, Unknown, Pass} }

// WorstFirst orders statuses as Statuses does.
func WorstFirst(a, b Status) int { return cmp.Compare(a.rank(), b.rank()) }

// Worst is the worst of some; Unknown where there is none.
func Worst(all ...Status) Status {
	if len(all) == 0 {
		return Unknown
	}
	worst := all[0]
	for _, s := range all[1:] {
		if WorstFirst(s, worst) < 0 {
			worst = s
		}
	}
	return worst
}

func (s Status) rank() int {
	for i, known := range Statuses() {
		if s == known {
			return i
		}
	}
	return 0 // no status: what made it is wrong, and comes first
}
