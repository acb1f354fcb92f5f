package nodeexec

import (
	"errors"
	"testing"
)

// TestAScriptInAURLIsLeftOut: and with it no quotation mark that ends what others say.
func TestAScriptInAURLIsLeftOut(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`Post "https://a/exec?command=sh&command=b": refused`:     `Post "https://a/exec?…": refused`,
		`“dial https://a/exec?command=sh&command=b”: a next step`: `“dial https://a/exec?…”: a next step`,
		`dial https://a/exec?command=sh`:                          `dial https://a/exec?…`,
		`refused`:                                                 `refused`,
	} {
		if got := withoutQuery(errors.New(in)).Error(); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}
