package plugin_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/plugin"
)

// full is a device without room.
type full struct{}

func (full) Write([]byte) (int, error) {
	return 0, errors.New("write /dev/stdout: no space left on device")
}

// TestAnAnswerThatIsLostIsAnError: whatever a command prints, its exit code says that nothing of it
// arrived.
func TestAnAnswerThatIsLostIsAnError(t *testing.T) {
	const demo = "../testdata/demo/okd-4.15-api-int.certrot"
	for _, args := range []string{
		"", "--help", "help rotate", "inspect --help", "--version", "version", "version -o json", "options", "completion bash", "completion",
		"__complete insp", "explain", "explain api-trusted",
		"inspect --from " + demo, "inspect --details --from " + demo, "inspect -o json --from " + demo, "inspect -o name --from " + demo,
		"verify --from " + demo, "verify --details --from " + demo, "snapshot -o - --from " + demo,
		"fix-api-int --dry-run=client --from " + demo, "fix-api-int status --from " + demo, "fix-api-int -o diff --dry-run=client --from " + demo,
		"rotate --list --from " + demo, "rotate --list -o wide --from " + demo, "rotate status loadbalancer-serving-signer --from " + demo,
		"rotate loadbalancer-serving-signer --explain --from " + demo, "rotate prune loadbalancer-serving-signer --accept-risk=signer-trusted,all-read --from " + demo,
	} {
		said := &bytes.Buffer{}
		code := plugin.Main(t.Context(), "v0.0.0", append([]string{"kubectl-certrot"}, strings.Fields(args)...), genericiooptions.IOStreams{In: strings.NewReader(""), Out: full{}, ErrOut: said})
		if code != 2 || !strings.Contains(said.String(), "error: ") || !strings.Contains(said.String(), "no space left on device") {
			t.Errorf("%s: code %d: %s", args, code, said)
		}
	}
}
