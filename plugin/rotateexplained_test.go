package plugin

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
)

// TestRotateExplained does the same with --explain.
func TestRotateExplained(t *testing.T) {
	t.Parallel()
	plugintest.CompareVersions(t, "explain.txt", []string{"kube-apiserver-to-kubelet-signer", "loadbalancer-serving-signer"}, func(version, name string) string {
		var out, errOut bytes.Buffer
		code := Main(t.Context(), "test", []string{"kubectl-certrot", "rotate", name, "--explain", "--for-version", version}, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut})
		head, rest, _ := strings.Cut(out.String(), "\n\n")
		if head = strings.Join(strings.Fields(head), " "); code != 0 || !strings.HasSuffix(head, name+"[tls.crt] goes in "+version) {
			t.Fatalf("%s %s ended with %d: %s %s", version, name, code, head, errOut.String())
		}
		return "\n" + rest
	})
}
