package connect

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// MaxCAFile bounds a file of CAs, in bytes: more than a ConfigMap can hold.
const MaxCAFile = 1 << 20

// DefaultWithin is --expiring-within where it is not given.
const DefaultWithin = 30 * 24 * time.Hour

// ParseDuration reads Go's durations and days: "30d", "12h", "1d12h".
func ParseDuration(s string) (time.Duration, error) {
	const most = 36500 // days; two times that long is still a time.Duration
	head, rest, found := strings.Cut(s, "d")
	if !found {
		head, rest = "0", s
	}
	n, err := strconv.ParseFloat(head, 64)
	var d time.Duration
	if err == nil && rest != "" {
		d, err = time.ParseDuration(rest)
	}
	if err != nil || !(n >= 0 && n <= most) || d < 0 || d > most*24*time.Hour {
		return 0, errors.New("not a duration; give days or hours, such as 30d or 720h")
	}
	return time.Duration(n*float64(24*time.Hour)) + d, nil
}
