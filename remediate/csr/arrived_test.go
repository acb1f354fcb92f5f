package csr

import (
	"crypto/ecdsa"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestTheCertificateIsForTheKeyThatWasApproved: a kubelet joins, and its serving certificate has
// expired, too. It is told which client certificate it got; and when that is for another key than
// the approved one, or when no request for a serving certificate comes, that is an error.
func TestTheCertificateIsForTheKeyThatWasApproved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own         bool   // the certificate is for the approved key
		told        string // of the client certificate
		wrong       string // about the client certificate
		wrongOfBoth string // about that, and the serving one
	}{
		"it is":               {true, "client certificate CN=system:node:worker-0", "", "no request for another one came"},
		"it is for another's": {false, "", "another client asked in its name", "another client asked in its name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := remediatetest.NewJoining(t)
			j.Lost(t)
			api := &remediatetest.RequestsAPI{Signs: true}
			env, told := remediatetest.Approvals(t, j.World, api)
			env.Heartbeat = remediatetest.HeartbeatAt(time.Time{})
			asks := remediatetest.ClientAsking(t)
			api.Add(asks.Made(t))
			step, change := Approve{NodeName: "worker-0", Serving: true, State: newApproving()}, &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}
			if err := step.Apply(t.Context(), env, change); err != nil || len(api.Log) != 1 {
				t.Fatalf("%v, approved %q\n%s", err, api.Log, told)
			}
			key := j.NewKey(t)
			if c.own {
				key = asks.Key.(*ecdsa.PrivateKey) //nolint:forcetypeassert // as ClientAsking makes it
			}
			j.Certificate(t, remediatetest.NextCert, time.Now().Add(48*time.Hour), key)
			err := AwaitCertificate{NodeName: "worker-0", State: step.State}.Verify(t.Context(), env, change)
			if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) || !strings.Contains(told.String(), c.told) {
				t.Errorf("of the client certificate: %v, want %q\n%s", err, c.wrong, told)
			}
			err = step.Verify(t.Context(), env, change)
			if err == nil || !strings.Contains(err.Error(), c.wrongOfBoth) {
				t.Errorf("of both: %v, want %q", err, c.wrongOfBoth)
			}
			// That a kubelet asks for nothing is its own; that another client asks in its name stops all.
			if own := new(remediate.OwnFailureError); errors.As(err, &own) != c.own {
				t.Errorf("it is the node's own: %v", err)
			}
		})
	}
}

// TestAStepSaysWhetherItApproves: what is pending at the end is approved, or only printed.
func TestAStepSaysWhetherItApproves(t *testing.T) {
	t.Parallel()
	for approve, want := range map[bool]string{
		true:  "approve the CSRs of these nodes that are pending and match",
		false: "list the CSRs of these nodes that are pending",
	} {
		if c, err := NewApprovePending([]string{"worker-0"}, approve, true).Diff(inspect.Snapshot{}, remediatetest.TestNow); err != nil || c == nil || c.Summary != want {
			t.Errorf("%+v, %v; want %q", c, err, want)
		}
	}
}
