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

// TestASuggestionSharesTheMostWords: a name that shares two words is suggested, and not those that
// share one of them; where too many share one, none is.
func TestASuggestionSharesTheMostWords(t *testing.T) {
	t.Parallel()
	names := []string{"aggregator-client-signer", "csr-signer", "csr-signer-signer", "etcd-metric-signer", "kube-apiserver-to-kubelet-signer", "kubelet-client", "loadbalancer-serving-signer", "internal-loadbalancer-serving-certkey"}
	for typed, want := range map[string]string{
		"loadbalancer-signer": "; did you mean loadbalancer-serving-signer?",
		"kubelet-signer":      "; did you mean kube-apiserver-to-kubelet-signer?",
		"the-loadbalancer":    "; did you mean internal-loadbalancer-serving-certkey or loadbalancer-serving-signer?",
		"to-the-kubelet":      "; did you mean kube-apiserver-to-kubelet-signer?",
		"another-signer":      "", "to-of": "",
	} {
		if got := DidYouMean(typed, names); got != want {
			t.Errorf("%s: %q, want %q", typed, got, want)
		}
	}
}

// TestNamesOfALargeClusterAreNotCompared: by cobra's measure each takes the product of two lengths.
func TestNamesOfALargeClusterAreNotCompared(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{mostCompared: "; did you mean worker-1?", mostCompared + 1: ""} {
		names := make([]string, n)
		for i := range names {
			names[i] = strings.Repeat("x", 200)
		}
		names[0] = "worker-1"
		if got := DidYouMean("worker1", names); got != want {
			t.Errorf("%d names: %q, want %q", n, got, want)
		}
	}
}
