package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

const bootstrapper = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"

// asked is a pending request, some minutes old, for a key of that number.
func asked(name, requester, subject string, minutes int, key byte) inspect.SigningRequest {
	return inspect.SigningRequest{
		Object: &inspect.Object{Kind: "CertificateSigningRequest", Name: name}, Condition: inspect.Pending, Since: inspecttest.Noon.Add(-time.Duration(minutes) * time.Minute),
		Signer: catalog.KubeletClientSigner, Requester: requester, Request: &pki.Request{Subject: subject, SPKI: pki.Fingerprint{key}},
	}
}

// joinsAs is one to join by the node-bootstrapper.
func joinsAs(name, node string, minutes int, key byte) inspect.SigningRequest {
	return asked(name, bootstrapper, "CN=system:node:"+node+",O=system:nodes", minutes, key)
}

// answered is what the check finds of requests, in OpenShift with the Node worker-0.
func answered(t *testing.T, requests ...inspect.SigningRequest) []assess.Finding {
	t.Helper()
	s := inspect.Snapshot{Nodes: []inspect.Node{{Name: "worker-0"}}, Requests: requests}
	s.Cluster.Versions = inspecttest.NewFixture("4.15.1").Snapshot.Cluster.Versions
	s.Sort()
	return csrAnswered(inspect.NewFacts(s, inspecttest.Noon, 0))
}

// TestTheNewestRequestOfANodeIsTheOneToApprove: a kubelet asks again after a quarter of an hour, with
// another key (client-go util/certificate/certificate_manager.go: certificateWaitTimeout), and waits for
// the certificate of the last one alone.
func TestTheNewestRequestOfANodeIsTheOneToApprove(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		requests []inspect.SigningRequest
		approve  string // the one whose approval is printed; empty: none
		says     []string
	}{
		"a new machine": {
			[]inspect.SigningRequest{joinsAs("csr-c", "worker-9", 33, 1), joinsAs("csr-b", "worker-9", 18, 2), joinsAs("csr-a", "worker-9", 3, 3)},
			"csr-a", []string{"no Node worker-9 was read", "11:57:00 UTC", "the newest, csr-a, is of 3m ago (2024-06-01 11:57 UTC): the others are earlier tries", "journalctl -u kubelet"},
		},
		"a new machine that asked once": {[]inspect.SigningRequest{joinsAs("csr-c", "worker-9", 33, 1)}, "csr-c", []string{"no Node worker-9 was read"}},
		"a copy of an earlier try": {
			[]inspect.SigningRequest{joinsAs("csr-c", "worker-9", 33, 1), joinsAs("csr-b", "worker-9", 18, 2), joinsAs("csr-a", "worker-9", 3, 1)},
			"csr-b", nil,
		},
		"two keys within a quarter of an hour": {
			[]inspect.SigningRequest{joinsAs("csr-c", "worker-9", 33, 1), joinsAs("csr-b", "worker-9", 18, 2), joinsAs("csr-a", "worker-9", 17, 3)},
			"", []string{"csr-b came within 15 minutes of csr-a", "its kubelet was restarted, or another client asks, too", "and none if both did"},
		},
		"two within it long ago": {
			[]inspect.SigningRequest{joinsAs("csr-c", "worker-9", 34, 1), joinsAs("csr-b", "worker-9", 33, 2), joinsAs("csr-a", "worker-9", 18, 3)},
			"csr-a", nil,
		},
		"another user beside it, who joins nothing": {
			[]inspect.SigningRequest{joinsAs("csr-c", "worker-9", 33, 1), asked("csr-b", "system:serviceaccount:team:default", "CN=system:node:worker-9,O=system:nodes", 32, 2)},
			"csr-c", []string{"system:serviceaccount:team:default", "no kubelet asks so"},
		},
		"a newer one that hides something": {
			[]inspect.SigningRequest{joinsAs("csr-c", "worker-9", 33, 1), func() inspect.SigningRequest {
				r := joinsAs("csr-a", "worker-9", 3, 2)
				r.Bad = "spec.request holds something beside the certificate request"
				return r
			}()},
			"csr-c", nil,
		},
		"a kubelet that asks for its serving certificate": {
			[]inspect.SigningRequest{serving("csr-c", 33, 1), serving("csr-b", 18, 2), serving("csr-a", 3, 3)}, "csr-a", nil,
		},
		"by another node's kubelet": {
			[]inspect.SigningRequest{asked("csr-a", "system:node:worker-0", "CN=system:node:worker-9,O=system:nodes", 33, 1)},
			"", []string{"no kubelet asks so", "kubectl certificate deny csr-a"},
		},
		"by another node's kubelet, in the name of a Node": {
			[]inspect.SigningRequest{asked("csr-a", "system:node:worker-9", "CN=system:node:worker-0,O=system:nodes", 33, 1)},
			"", []string{"no kubelet asks so"},
		},
		"with another attribute than a kubelet's": {
			[]inspect.SigningRequest{asked("csr-a", bootstrapper, `SERIALNUMBER=1\,CN=benign,CN=system:node:worker-9,O=system:nodes`, 33, 1)},
			"", []string{"no kubelet asks so"},
		},
		"to be a node, by another signer": {
			[]inspect.SigningRequest{func() inspect.SigningRequest {
				r := joinsAs("csr-a", "worker-9", 33, 1)
				r.Signer = "kubernetes.io/kube-apiserver-client"
				return r
			}()},
			"", []string{"no kubelet asks so"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			var approved []string
			for _, f := range answered(t, c.requests...) {
				fmt.Fprintf(&text, "%s\n%s\n%s\n", f.Reason, f.Evidence, printed(f.Remediation))
				if command, ok := strings.CutPrefix(f.Remediation.ThenRun, "kubectl certificate approve "); ok {
					approved = append(approved, command)
				}
			}
			if strings.Join(approved, " ") != c.approve || strings.Contains(text.String(), "certificate approve") != (c.approve != "") {
				t.Errorf("approves %q, want %q\n%s", approved, c.approve, &text)
			}
			if contested := strings.HasPrefix(name, "two keys"); contested && strings.Contains(text.String(), "earlier tries") {
				t.Errorf("whose they are is not known: %s", &text)
			}
			for _, says := range c.says {
				if !strings.Contains(text.String(), says) {
					t.Errorf("%q is not said: %s", says, &text)
				}
			}
		})
	}
}

func serving(name string, minutes int, key byte) inspect.SigningRequest {
	r := asked(name, "system:node:worker-0", "CN=system:node:worker-0,O=system:nodes", minutes, key)
	r.Signer = catalog.KubeletServingSigner
	return r
}

// TestEachNodeHasItsOwnFinding: all of them ask by one token.
func TestEachNodeHasItsOwnFinding(t *testing.T) {
	t.Parallel()
	found := answered(t, joinsAs("csr-a", "worker-8", 30, 1), joinsAs("csr-b", "worker-9", 40, 2), joinsAs("csr-c", "worker-0", 50, 3))
	if len(found) != 3 {
		t.Fatalf("%d findings", len(found))
	}
	for i, node := range []string{"worker-8", "worker-9", "worker-0"} {
		if next := printed(found[i].Remediation); !strings.Contains(next, node) || !strings.Contains(next, "csr-"+string(rune('a'+i))) {
			t.Errorf("%s: %s", node, next)
		}
	}
}

// TestAnAnsweredRequestIsNotPending: none of them is one to approve. Beside it, another client's may be pending.
func TestAnAnsweredRequestIsNotPending(t *testing.T) {
	t.Parallel()
	for _, condition := range []inspect.Condition{inspect.Approved, inspect.Issued, inspect.Denied, inspect.Failed} {
		other := joinsAs("csr-b", "worker-9", 32, 2)
		other.Condition = condition
		found := answered(t, joinsAs("csr-a", "worker-9", 33, 1), other)
		i := slices.IndexFunc(found, func(f assess.Finding) bool { return strings.Contains(f.Reason, "pending") })
		if i < 0 || found[i].Remediation.ThenRun != "" || !strings.Contains(found[i].Remediation.Then, "csr-b") || len(found[i].At) != 1 {
			t.Errorf("%s: %+v", condition, found)
		}
	}
}

// TestAClientThatFloodsFillsNoScreen: a tenant makes a request for each of many subjects and signers. The
// node's own finding is there, and all of the tenant's requests are in its.
func TestAClientThatFloodsFillsNoScreen(t *testing.T) {
	t.Parallel()
	for _, client := range []string{"system:serviceaccount:team:default", bootstrapper} {
		requests := []inspect.SigningRequest{joinsAs("zzz", "worker-0", 30, 1)}
		for i := range 500 {
			r := asked(fmt.Sprintf("aaa-%03d", i), client, fmt.Sprintf("CN=system:node:evil-%d,O=system:nodes", i), 60, byte(i))
			if i%3 == 0 {
				r.Request.Subject = fmt.Sprintf("CN=system:node:worker-0,O=system:nodes+O=%d", i)
			}
			if i%2 == 0 {
				r.Signer = fmt.Sprintf("example.com/%d", i)
			}
			requests = append(requests, r)
		}
		found := answered(t, requests...)
		places := 0
		for _, f := range found {
			places += len(f.At)
		}
		if len(found) > 2*(findingsEach+1) || places != len(requests) {
			t.Errorf("%s: %d findings of %d requests", client, len(found), places)
		}
		own := slices.IndexFunc(found, func(f assess.Finding) bool {
			return strings.Contains(f.Reason, ": zzz ") || strings.HasSuffix(f.Reason, ": zzz")
		})
		if own < 0 || !strings.Contains(found[own].Remediation.ThenRun, "fix-api-int --nodes worker-0") {
			t.Errorf("%s: the node's own is not found", client)
		}
	}
}

// TestARequestHasWaitedUntilItWasRead: whatever time is judged, as a heartbeat is as old as the facts.
func TestARequestHasWaitedUntilItWasRead(t *testing.T) {
	t.Parallel()
	f := inspecttest.NewFixture("").Request("csr-1", inspect.Pending, time.Hour)
	f.Snapshot.Taken = inspecttest.Noon
	for _, now := range []time.Time{inspecttest.Noon, inspecttest.Noon.AddDate(2, 0, 0), inspecttest.Noon.AddDate(0, 0, -20)} {
		found := csrAnswered(inspect.NewFacts(f.Snapshot, now, 0))
		if len(found) != 1 || found[0].Reason != "1 CSR pending for 60m: csr-1" {
			t.Errorf("as of %s: %+v", now, found)
		}
	}
}
