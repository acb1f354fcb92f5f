package ui

import (
	"strings"
	"testing"
)

// TestCountsAreNeverCut: a name as long as Kubernetes allows leaves room for the count.
func TestCountsAreNeverCut(t *testing.T) {
	t.Parallel()
	a := &OneScreen{page: &Page{columns: 40}}
	a.Names(Always, "leaf  ", []string{strings.Repeat("a", 253), "b", "c"})
	var out strings.Builder
	if err := a.Print(&out, 9, "-"); err != nil || out.String() != "leaf  "+strings.Repeat("a", 30)+"… +2\n-\n" {
		t.Errorf("%v: %s", err, out.String())
	}
}

// TestAnAnswerFits: what is most important stays whole, and what is left out is counted.
func TestAnAnswerFits(t *testing.T) {
	t.Parallel()
	command := "next      certrot rotate " + strings.Repeat("a", 60)
	for _, c := range []struct {
		most int
		want string
	}{
		{9, "head\n\n- annotation\n! " + strings.Repeat("x", 37) + "…\nbundle    a, b +298\n" + command + "\nall: --details\n"},
		{8, "head\n- annotation\n! " + strings.Repeat("x", 37) + "…\nbundle    a, b +298\n" + command + "\nall: --details\n"},
		{7, "head\n- annotation\n! " + strings.Repeat("x", 37) + "…\n" + command + "\n1 more line, all: --details\n"},
		{1, "head\n- annotation\n" + command + "\n2 more lines, all: --details\n"},
	} {
		a := &OneScreen{page: &Page{columns: 40}}
		a.Line(Always, "%s", "head")
		a.Gap()
		a.Whole("%s", "- annotation")
		a.Line(Useful, "! %s", strings.Repeat("x", 300))
		names := []string{"a", "b"}
		for range 298 {
			names = append(names, strings.Repeat("n", 253))
		}
		a.Names(Extra, "bundle    ", names)
		a.Whole("%s", command)
		var out strings.Builder
		if err := a.Print(&out, c.most, "all: --details"); err != nil || out.String() != c.want {
			t.Errorf("in %d lines (%v):\n%s", c.most, err, out.String())
		}
	}
}
