package collect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestWhatIsNoTimeIsNotQuoted: the error says which field it is, and not what stands there.
func TestWhatIsNoTimeIsNotQuoted(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"creationTimestamp", "deletionTimestamp"} {
		m, ok := readObjects(pki.NewScanner(), []byte("apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  "+field+": SECRETPW\n"))
		if said := fmt.Sprint(m.Gaps); !ok || strings.Contains(said, "SECRETPW") || !strings.Contains(said, "decode metadata: "+field+" is no RFC 3339 time") {
			t.Errorf("%v %s", ok, said)
		}
	}
	for _, text := range []string{`"taken":"SECRETPW"`, `"cluster":{"created":"SECRETPW"}`} {
		_, err := readSnapshot(strings.NewReader("{" + text + "}"))
		if err == nil || strings.Contains(err.Error(), "SECRETPW") || !strings.Contains(err.Error(), "is no RFC 3339 time") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
