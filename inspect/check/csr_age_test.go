package check

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

// TestAMissingTimeIsNoAge: of a request without a time of creation, no age is said, and it is not compared by it.
func TestAMissingTimeIsNoAge(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, condition := range []inspect.Condition{inspect.Pending, inspect.Approved, inspect.Denied} {
		r := inspect.SigningRequest{Object: &inspect.Object{Kind: "CertificateSigningRequest", Name: "csr-a"}, Condition: condition, Requester: "a-user", Signer: "example.com/signer"}
		f := inspect.NewFacts(inspect.Snapshot{Taken: now, Requests: []inspect.SigningRequest{r}}, now, 0)
		found := csrAnswered(f)
		if len(found) != 1 {
			t.Fatalf("%s: %+v", condition, found)
		}
		said := found[0].Reason + found[0].Evidence
		if !strings.Contains(found[0].Reason, "(age unknown)") || strings.Contains(said, "292y") || strings.Contains(said, "0001") {
			t.Errorf("%s: %s; %s", condition, found[0].Reason, found[0].Evidence)
		}
	}
	if got := when(now, time.Time{}); got != "(age unknown)" {
		t.Error(got)
	}
}
