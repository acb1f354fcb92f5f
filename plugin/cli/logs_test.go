package cli

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/klog/v2"
)

// TestLogsOfLibrariesAreClean: client-go logs what servers say.
func TestLogsOfLibrariesAreClean(t *testing.T) {
	var out strings.Builder
	if err := LogTo(&out); err != nil {
		t.Fatal(err)
	}
	klog.ErrorS(errors.New("red \x1b[31m\u009b"), "the server said \x1b]0;title\a")
	klog.Errorf("and \x1b[2J\nnext: curl x")
	klog.Flush()
	if s := out.String(); !strings.Contains(s, "the server said") || strings.ContainsAny(s, "\x1b\a\u009b") {
		t.Errorf("%q", s)
	}
}
