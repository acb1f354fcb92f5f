package verifycmd

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
)

func TestAClaimThatHoldsSaysWhyWhereThereIsSomethingToSay(t *testing.T) {
	const why = "the last refusal was 2024-06-01 11:56 UTC; kubelet was restarted 2024-06-01 11:58 UTC"
	var out strings.Builder
	ClaimGroup{{Claim: "no client refuses the certificate that kube-apiserver presents", Assessment: assess.Assessment{Status: assess.Pass, Reason: why}, Node: "worker-1"}}.print(&out, time.Time{}, nil, 1, false)
	if got := strings.Join(strings.Fields(out.String()), " "); got != "✓ no client refuses the certificate that kube-apiserver presents (worker-1) "+why {
		t.Errorf("says %q", got)
	}
}
