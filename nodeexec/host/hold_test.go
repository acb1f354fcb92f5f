package host

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

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
