package cli

import (
	"strings"
	"testing"
)

func TestASuggestionIsNearOrNone(t *testing.T) {
	t.Parallel()
	names := []string{"inspect", "verify", "fix-api-int", "fix-kubeconfig", "runs", "bundle-expired-ca", "a name with blanks"}
	for typed, want := range map[string]string{
		"inspct": "; did you mean inspect?", "INSPECT": "; did you mean inspect?", "ins": "; did you mean inspect?", "fix": "; did you mean fix-api-int or fix-kubeconfig?",
		"rnus": "; did you mean runs?", "expired-bundles": "; did you mean bundle-expired-ca?",
		"": "", "x": "", "nothing-alike": "", "blanks": "; did you mean a name with blanks?", strings.Repeat("inspect", 1<<16): "",
	} {
		if got := DidYouMean(typed, names); got != want {
			t.Errorf("%.20q: %q, want %q", typed, got, want)
		}
	}
	if got := DidYouMean("worker-9", []string{"worker-5", "worker-4", "worker-3", "worker-2", "worker-1", "worker-1"}); got != "; did you mean worker-1, worker-2, worker-3 or worker-4?" {
		t.Errorf("%q", got)
	}
}
