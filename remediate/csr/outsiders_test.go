package csr

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesapi "k8s.io/api/certificates/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestAConditionOfAnotherKindAnswersNothing: kubelets wait for Approved, Denied and Failed alone
// (client-go util/certificate/csr/csr.go), and others may be written by who may sign anything.
func TestAConditionOfAnotherKindAnswersNothing(t *testing.T) {
	t.Parallel()
	for kind, pending := range map[certificatesapi.RequestConditionType]bool{"example.com/seen": true, certificatesapi.CertificateApproved: false, certificatesapi.CertificateDenied: false, certificatesapi.CertificateFailed: false} {
		a := remediatetest.ClientAsking(t)
		a.CSR.Status.Conditions = []certificatesapi.CertificateSigningRequestCondition{{Type: kind, Status: "True"}}
		if got := Pending(a.Made(t)); got != pending {
			t.Errorf("%s: pending %v", kind, got)
		}
	}
}

// TestATenantsFloodFillsNoScreen: it makes many requests in a node's name, of which none is approved. Some are
// described, and how many more there are is said.
func TestATenantsFloodFillsNoScreen(t *testing.T) {
	t.Parallel()
	c := newContest(t, func(*contest, int) {})
	c.knownAsUser(inspect.CredentialToken, remediatetest.Bootstrapper)
	_ = c.env.Sleep(t.Context(), 3*time.Second)
	c.asks(t, remediatetest.ClientAsking(t), "csr-kubelet")
	for i := range 40 {
		other := remediatetest.ClientAsking(t)
		other.CSR.Spec.Username, other.CSR.Spec.Groups = "system:serviceaccount:team:default", nil
		if i >= 20 {
			other.CSR.Spec.Username = fmt.Sprintf("system:serviceaccount:team:sa-%d", i)
		}
		c.asks(t, other, fmt.Sprintf("csr-other-%02d", i))
	}
	end, change := NewApprovePending([]string{"worker-0"}, true, false), &remediate.Change{Versions: catalog.Versions{Cluster: "4.15.0"}}
	err := end.Apply(t.Context(), c.env, change)
	left := PendingText(t.Context(), c.env, Requested(c.env, change, "worker-0"))
	if err != nil || !slices.Equal(c.api.Log, []string{"csr-kubelet"}) {
		t.Fatalf("%v, approved %q", err, c.api.Log)
	}
	for where, text := range map[string]string{"told": c.told.String(), "left": left} {
		const more = "33 more requests of system:serviceaccount:team:default, system:serviceaccount:team:sa-24, system:serviceaccount:team:sa-25, system:serviceaccount:team:sa-26, system:serviceaccount:team:sa-27 and 12 more users, which certrot does not approve"
		if strings.Count(text, "request csr-other-") != 7 || strings.Count(text, more) != 1 {
			t.Errorf("%s: %s", where, text)
		}
	}
	if names := called(make([]string, 40)); strings.Count(names, ",") > 10 || !strings.HasSuffix(names, "and 30 more") {
		t.Errorf("names: %s", names)
	}
}
