package host

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// TestLockedForATimeThatCanBe: a node's clock may have been set, and its root writes what it likes.
func TestLockedForATimeThatCanBe(t *testing.T) {
	t.Parallel()
	for age, want := range map[string]string{
		"90":          "root@laptop is changing this node (for 1m30s); ",
		"1800":        "root@laptop is changing this node (for 30m0s); ",
		"1801":        "root@laptop is changing this node; ",
		"0":           "root@laptop is changing this node; ",
		"-1":          "root@laptop is changing this node; ",
		"99999999999": "root@laptop is changing this node; ",
	} {
		e, ok := parseLocked(answer{code: "busy", lines: []string{"locked " + age + " root@laptop"}})
		if !ok || !strings.HasPrefix(e.Error(), want) {
			t.Errorf("%s: %v %v", age, e, ok)
		}
	}
	if _, ok := parseLocked(answer{code: "busy", lines: []string{"locked 99999999999999999999 root@laptop"}}); ok {
		t.Error("what is no number is a time")
	}
}

func TestHold(t *testing.T) {
	inEveryShell(t, func(t *testing.T, w world) {
		n := w.node(t)
		r := newPlace(t, content).run
		held := filepath.Join(r.Folder, ".held")
		const alice, bob = "alice@a (pid 1 of x), run 1", "bob@b $(id) 'x' (pid 2 of y), run 2"
		try := func(err error, who string) {
			t.Helper()
			var other *LockedError
			switch {
			case who == "" && err != nil:
				t.Error(err)
			case who != "" && (!errors.As(err, &other) || other.By != who || !errors.Is(err, ErrBusy)):
				t.Errorf("%v, want that %s holds it", err, who)
			}
		}
		try(r.Release(t.Context(), n, alice), "")
		try(r.Hold(t.Context(), n, alice, ""), "")
		try(r.Hold(t.Context(), n, alice, ""), "")
		try(r.Hold(t.Context(), n, bob, ""), alice)
		try(r.Release(t.Context(), n, bob), "")
		try(r.Hold(t.Context(), n, bob, "somebody else"), alice)
		try(r.Hold(t.Context(), n, bob, alice), "")
		try(r.Hold(t.Context(), n, alice, ""), bob)
		lines := strings.Split(read(t, held), "\n")
		for what, text := range map[string]string{
			"a restart of the node": bob + "\n" + lines[1] + "\nanother boot\n",
			"a long time":           bob + "\n1700000000\n" + lines[2] + "\n",
			"a file cut off":        "",
			"a file of nonsense":    bob + "\nyesterday\n",
		} {
			write(t, held, text)
			if err := r.Hold(t.Context(), n, alice, ""); err != nil {
				t.Errorf("after %s: %v", what, err)
			}
		}
		if runs, err := Runs(t.Context(), n, r.Folder); err != nil || len(runs) != 0 {
			t.Errorf("%v, %v", runs, err)
		}
		try(r.Release(t.Context(), n, alice), "")
		try(r.Hold(t.Context(), n, bob, ""), "")
		if r.Hold(t.Context(), n, "two\nlines", "") == nil || r.Hold(t.Context(), n, "", "") == nil {
			t.Error("a holder that is no line is taken")
		}
	})
}
