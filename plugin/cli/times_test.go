package cli

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestDurationsAreWholeDaysWeeksAndYearsAndGos(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]time.Duration{
		"0": 0, "0d": 0, "30d": 30 * day, "2w": 14 * day, "1y": 365 * day, "1y2w3d4h5m6s": 365*day + 17*day + 4*time.Hour + 5*time.Minute + 6*time.Second,
		"1d12h": 36 * time.Hour, "720h": 30 * day, "1.5h": 90 * time.Minute, "90m": 90 * time.Minute, "100y": 100 * year, "36500d": 36500 * day, "007d": 7 * day, "10s": 10 * time.Second,
	} {
		if got, err := ParseDuration(typed); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", typed, got, err, want)
		}
	}
}

func TestWhatIsNoDurationIsRefused(t *testing.T) {
	t.Parallel()
	bad := []string{
		"", " ", "d", "w", "y", "h", "30", "soon", "-3d", "-1h", "+3d", "+1h", "1d-1h", "1d+1h", "-0d", "1.5d", "1,5d", ".5w", "1e3d", "0x10d", "1_0d", "NaNd", "Infd",
		"3d2w", "1d1d", "1dd", "1d1y", "12h1d", "1h1d", "1D", "1 d", " 1d", "1d ", "1d\n", "१d", "１d", "1d\x00", "1M", "1mo",
		"101y", "36501d", "5215w", "100y1d", "100y1ns", "99y365d24h1ns", "876001h", "9999999999d", strconv.Itoa(math.MaxInt64) + "d", strconv.Itoa(math.MaxInt64) + "ns", strconv.Itoa(math.MaxInt64) + "y",
		"99999999999999999999d", "18446744073709551616d", strings.Repeat("9", 1<<16) + "d", strings.Repeat("1d", 1<<10), "2562047h47m16.854775808s",
	}
	for _, typed := range bad {
		if got, err := ParseDuration(typed); err == nil {
			t.Errorf("%.40q: %s", typed, got)
		}
	}
}

// FuzzParseDuration: whatever is typed, a duration is between nothing and the longest, and its
// own text is read as the same one.
func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"30d", "1y2w3d4h", "", "d", "1.5d", "-3d", "9223372036854775807ns", "100y1ns"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDuration(s)
		if err != nil {
			return
		}
		if d < 0 || d > longest {
			t.Fatalf("%q: %s", s, d)
		}
		if again, err := ParseDuration(d.String()); err != nil || again != d {
			t.Fatalf("%q: %s, and that: %s, %v", s, d, again, err)
		}
	})
}

func TestADateIsItsFirstMomentInUTC(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"2026-11-23": "2026-11-23T00:00:00Z", "2026-11-23T12:30:00Z": "2026-11-23T12:30:00Z", "2026-11-23T12:30:00+02:00": "2026-11-23T10:30:00Z"} {
		if got, err := ParseTime(typed); err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q: %s, %v", typed, got, err)
		}
	}
	for _, typed := range []string{"", "yesterday", "2026-11-31", "2026-13-01", "2026-1-1", "20261123", "2026-11-23T12:30", "2026-11-23 12:30:00Z", " 2026-11-23", "-2026-11-23", "10000-01-01"} {
		if got, err := ParseTime(typed); err == nil {
			t.Errorf("%q: %s", typed, got)
		}
	}
}

func TestAFlagTakesDays(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	var wait time.Duration
	DurationVar(flags, &wait, "wait", time.Minute, "How long.")
	if wait != time.Minute || flags.Lookup("wait").DefValue != "1m0s" {
		t.Errorf("%s, %s", wait, flags.Lookup("wait").DefValue)
	}
	if err := flags.Parse([]string{"--wait", "2d"}); err != nil || wait != 2*day {
		t.Errorf("%s, %v", wait, err)
	}
	if err := flags.Parse([]string{"--wait", "-2d"}); err == nil || wait != 2*day {
		t.Errorf("%s, %v", wait, err)
	}
}
