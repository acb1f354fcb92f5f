package inspectcmd

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestManyFindingsOfOneProblem: a snapshot of some kilobytes has so many. Comparing each with all others takes
// minutes.
func TestManyFindingsOfOneProblem(t *testing.T) {
	t.Parallel()
	const n = 30_000
	one := told{}
	one.Title = "unreadable value in shop/cm[ca.crt]"
	for i := range n {
		at := pki.Location{Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("cm-%05d", i), Key: "ca.crt"}
		one.found = append(one.found, finding{Assessment: assess.Assessment{ID: "pem-readable", Reason: "unreadable value in " + at.String()}, at: []pki.Location{at}})
	}
	all := apart([]told{one, one})[0]
	if len(all.found) != n {
		t.Fatalf("%d findings", len(all.found))
	}
	var b bytes.Buffer
	(&explainer{}).evidence(&b, all)
	if lines := strings.Split(b.String(), "\n"); len(lines) > 60 || !strings.Contains(b.String(), "29988 more findings:") {
		t.Errorf("%s", b.String())
	}
}
