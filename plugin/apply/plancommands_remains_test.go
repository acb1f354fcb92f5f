package apply

import "testing"

func TestSeveralThatRemainAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines   []string
		columns int
		want    string
	}{
		{nil, 40, ""},
		{[]string{"clocks: one differs"}, 5, "clocks: one differs"},
		{[]string{"clocks: one differs", "ca-names: two are alike"}, 60, "clocks: one differs; ca-names: two are alike"},
		{[]string{"clocks: one differs", "ca-names: two are alike"}, 30, "clocks, ca-names (--details)"},
	} {
		if got := wholeOrNames(c.lines, c.columns); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.lines, c.columns, got, c.want)
		}
	}
}
