package cli

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// longest is the longest duration that is taken: two times that is still a time.Duration, which
// ends at 292 years.
const longest = 100 * year

const (
	day  = 24 * time.Hour
	week = 7 * day
	year = 365 * day
)

// errDuration says what a duration is. The text that was typed is the caller's to name.
var errDuration = errors.New("not a duration; give whole days, weeks or years, or hours, such as 30d, 2w, 1y or 12h")

// ParseDuration reads Go's durations after whole years (of 365 days), weeks and days, each at
// most once and the longest first: "1y", "2w", "30d", "1d12h", "90m". It is the one parser of
// durations that users type. None is negative, or longer than 100 years.
func ParseDuration(s string) (time.Duration, error) {
	var total time.Duration
	rest := s
	for _, u := range []struct {
		name string
		unit time.Duration
	}{{"y", year}, {"w", week}, {"d", day}} {
		count, after, found := strings.Cut(rest, u.name)
		if !found {
			continue
		}
		n, ok := wholeNumber(count)
		if !ok || n > int64(longest/u.unit) {
			return 0, errDuration
		}
		total, rest = total+time.Duration(n)*u.unit, after
		if total > longest {
			return 0, errDuration
		}
	}
	if rest == "" && s != "" {
		return total, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || strings.HasPrefix(rest, "+") || strings.HasPrefix(rest, "-") || d > longest-total {
		return 0, errDuration
	}
	return total + d, nil
}

// wholeNumber reads digits, few enough for every calculation with them.
func wholeNumber(digits string) (n int64, ok bool) {
	const most = 9
	if digits == "" || len(digits) > most {
		return 0, false
	}
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}

// DurationVar adds a flag that takes what ParseDuration reads.
func DurationVar(flags *pflag.FlagSet, p *time.Duration, name string, value time.Duration, usage string) {
	*p = value
	flags.Var((*duration)(p), name, usage)
}

// duration is the value of a flag.
type duration time.Duration

func (d *duration) Set(s string) error {
	v, err := ParseDuration(s)
	if err == nil {
		*d = duration(v)
	}
	return err
}

// String is 0 where pflag is to leave the default out of the help text.
func (d *duration) String() string {
	if *d == 0 {
		return "0"
	}
	return time.Duration(*d).String()
}

func (d *duration) Type() string { return "duration" }

// ParseTime reads a time as RFC 3339 writes it, or a date, which is its first moment in UTC.
func ParseTime(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("no time such as 2026-01-31T12:00:00Z or 2026-01-31")
}
