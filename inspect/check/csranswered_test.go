package check

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestARequestBesideAnAnsweredOneIsNotApprovedByACommand: the kubelet may wait for that one, and who has the
// bootstrap token asks in its name whenever it likes.
func TestARequestBesideAnAnsweredOneIsNotApprovedByACommand(t *testing.T) {
	t.Parallel()
	const bootstrapper = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
	ask := func(name string, key byte, condition inspect.Condition) inspect.SigningRequest {
		r := asksToJoin(bootstrapper, "new-1")
		r.Object = &inspect.Object{Kind: "CertificateSigningRequest", Name: name}
		r.Condition, r.Since = condition, inspecttest.Noon.Add(-18*time.Minute)
		r.Request.SPKI = pki.Fingerprint{key}
		return r
	}
	for condition, approves := range map[inspect.Condition]bool{"": true, inspect.Approved: false, inspect.Issued: false, inspect.Denied: false} {
		s := inspect.Snapshot{Requests: []inspect.SigningRequest{ask("csr-thief", 1, inspect.Pending)}}
		if condition != "" {
			s.Requests = append(s.Requests, ask("csr-kubelet", 2, condition))
		}
		s.Cluster.Versions.Cluster = "4.16.3"
		found := false
		for _, finding := range csrAnswered(inspect.NewFacts(s, inspecttest.Noon, 0)) {
			if next := finding.Remediation; strings.Contains(finding.Reason, ": csr-thief") {
				found = true
				if approve := strings.Contains(next.ThenRun, "certificate approve csr-thief"); approve != approves || !approves && !strings.Contains(next.Then, "csr-kubelet") {
					t.Errorf("beside one %q: %q, %q", condition, next.Then, next.ThenRun)
				}
			}
		}
		if !found {
			t.Errorf("beside one %q: no finding", condition)
		}
	}
}

// TestRequestsOfManyClientsAreJudgedOnce: a tenant asks in a node's name by each of its service accounts.
func TestRequestsOfManyClientsAreJudgedOnce(t *testing.T) {
	inspecttest.Grows(t, 500, func(size int) func() {
		s := inspect.Snapshot{Nodes: []inspect.Node{{Name: "worker-0", Via: "ssh"}}}
		s.Cluster.Versions.Cluster = "4.16.3"
		for i := range 2 * size {
			r := asksToJoin(fmt.Sprintf("system:serviceaccount:team:sa-%d", i/2), "worker-0")
			r.Object = &inspect.Object{Kind: "CertificateSigningRequest", Name: fmt.Sprintf("csr-%d", i)}
			r.Since = inspecttest.Noon.Add(-time.Hour + time.Duration(i%2)*time.Minute)
			r.Request.SPKI = pki.Fingerprint{byte(i), byte(i >> 8)}
			s.Requests = append(s.Requests, r)
		}
		f := inspect.NewFacts(s, inspecttest.Noon, 0)
		return func() {
			if len(csrAnswered(f)) == 0 {
				t.Error("no finding")
			}
		}
	})
}
