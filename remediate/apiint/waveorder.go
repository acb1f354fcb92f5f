package apiint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Share is a number of nodes, or a part of all.
type Share struct {
	N       int // at least 1
	Percent bool
}

// ParseShare reads "2" or "10%".
func ParseShare(text string) (Share, error) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || percent && n > 100 || strings.Trim(digits, "0123456789") != "" {
		return Share{}, fmt.Errorf("%q is neither a number of nodes, at least 1, nor a percentage such as 10%%", text)
	}
	return Share{n, percent}, nil
}

// of is the share of so many nodes, rounded down, and at least 1.
func (s Share) of(nodes int) int {
	if s.Percent {
		return max(nodes*s.N/100, 1)
	}
	return max(s.N, 1)
}

// Order says which nodes are repaired when, where all are.
type Order struct {
	Only           []string // names of waves; none: all of them
	MaxUnavailable Share    // of Ready workers; the zero value is one
	Accept         []string // risks, by name
}

func (o Order) wants(wave string) bool { return len(o.Only) == 0 || slices.Contains(o.Only, wave) }
