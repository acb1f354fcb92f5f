//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// TestMultus is the incident where pods get their network from multus, the real one: by
// hand on two nodes, and after all is put back, at its worst and by itself on all three.
func TestMultus(t *testing.T) {
	labtest.Long(t)
	f := fixesIn(t, labtest.TemporaryMultus(t, "thick", "master-0", "worker-0", "master-1"))
	if !t.Run("nodes that were repaired", f.oldMultus) {
		return
	}
	// Or a machine that goes down waits for what does not heed its end.
	mustDo(t, f.lab, "-n", "default", "delete", "pod", "--all", "--now", "--wait")
	f.lab.Heal(t)
	t.Run("the whole cluster", f.wholeCluster)
}

// oldMultus is of nodes that were repaired: all looks well, and no new pod gets a network.
// multus still has the CA that it read at its start. verify has to say so, of those nodes
// and no others, until multus is restarted.
func (f *fixing) oldMultus(t *testing.T) {
	nodes := f.lab.Nodes()[:2]
	master, worker := nodes[0], nodes[1]
	const file, memory = "multus-api-int", "multus-memory-api-int"
	for _, n := range nodes {
		f.networked(t, f.pod(t, "before", n), n)
	}
	claims := f.claims(t, 0, nodes...)
	claims.are(t, "pass", nodes, file, memory, "kubelet-api-int", "kubelet-memory-api-int")

	f.lab.Incident(t, "reconnect", nodes...)
	f.claims(t, 1, nodes...).are(t, "fail", nodes, file, "kubelet-api-int")
	daemons := f.daemons(t)
	ends(t, f.inLab(t, "fix-api-int", "--nodes", strings.Join(nodes, ","), "--via", "ssh", "--restart-network=never", "--yes"), 0, "done, and checked")
	for _, n := range nodes {
		f.lab.WaitReady(t, n)
	}
	// Nothing of what an administrator looks at tells: nodes are Ready, and so is multus,
	// by the same processes as before.
	eventually(t, "the DaemonSet is ready", func() string {
		ready := mustDo(t, f.lab, "-n", "openshift-multus", "get", "daemonset", "multus", "-o", "jsonpath={.status.desiredNumberScheduled} {.status.numberReady}")
		if ready != "3 3" {
			return ready
		}
		return ""
	})
	if now := f.daemons(t); now != daemons {
		t.Errorf("multus was restarted: it was %s, and is %s", daemons, now)
	}
	claims = f.claims(t, 1, nodes...)
	claims.are(t, "pass", nodes, file, "kubelet-api-int", "kubelet-memory-api-int")
	claims.are(t, "fail", nodes, memory)
	mend := map[string]string{}
	stuck := map[string]string{}
	for _, n := range nodes {
		mend[n] = strings.ReplaceAll(claims[n+" "+memory].Remediation.Text, "NODE", n)
		stuck[n] = f.pod(t, "stuck", n)
	}
	for _, n := range nodes {
		f.refused(t, stuck[n])
	}

	// What approves multus' certificates trusts what it read at its start, too.
	mustDo(t, f.lab, "-n", "openshift-network-node-identity", "delete", "pod", "-l", "app=network-node-identity")
	for i, n := range []string{worker, master} {
		_, command, ok := strings.Cut(mend[n], "kubectl ")
		if !ok || !strings.Contains(command, "spec.nodeName="+n) {
			t.Fatalf("no command mends %s: %q", n, mend[n])
		}
		mustDo(t, f.lab, strings.Fields(command)...)
		f.networked(t, stuck[n], n)
		f.networked(t, f.pod(t, "after", n), n)
		if i == 0 {
			claims = f.claims(t, 1, nodes...)
			claims.are(t, "pass", []string{worker}, memory)
			claims.are(t, "fail", []string{master}, memory)
		}
	}
	// For a while the API server's log tells of those that refused it.
	r := f.inLab(t, "verify", "api-int", "--nodes", strings.Join(nodes, ","), "--via", "ssh", "-o", "json")
	if r.code != 0 && r.code != 3 {
		t.Fatal(r.said())
	}
	claimsIn(t, r).are(t, "pass", nodes, file, memory, "kubelet-api-int", "kubelet-memory-api-int")
}

// claims are those of nodes, by "NODE ID".
type claims map[string]claim

type claim struct {
	ID, Part, Node, Status, Reason string
	Remediation                    struct{ Text string }
}

// claims asks who trusts api-int.
func (f *fixing) claims(t *testing.T, code int, nodes ...string) claims {
	t.Helper()
	r := f.inLab(t, "verify", "api-int", "--nodes", strings.Join(nodes, ","), "--via", "ssh", "-o", "json")
	ends(t, r, code)
	return claimsIn(t, r)
}

func claimsIn(t *testing.T, r result) claims {
	t.Helper()
	var report struct{ Claims []claim }
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		t.Fatalf("%v:\n%s", err, r.said())
	}
	all := claims{}
	for _, c := range report.Claims {
		all[c.Node+" "+c.ID] = c
	}
	return all
}

func (all claims) are(t *testing.T, status string, nodes []string, ids ...string) {
	t.Helper()
	for _, n := range nodes {
		for _, id := range ids {
			if c, ok := all[n+" "+id]; !ok || c.Status != status {
				t.Errorf("%s on %s: %+v, want %s", id, n, c, status)
			}
		}
	}
}

// pod makes a pod on a node, with a network of its own.
func (f *fixing) pod(t *testing.T, name, node string) string {
	t.Helper()
	name += "-" + node
	text := asJSON(object{
		"apiVersion": "v1", "kind": "Pod", "metadata": object{"namespace": "default", "name": name},
		"spec": object{
			"nodeName": node, "dnsPolicy": "Default", "automountServiceAccountToken": false, "terminationGracePeriodSeconds": 1,
			"tolerations": []object{{"operator": "Exists"}},
			"containers":  []object{{"name": "sleep", "image": "localhost/lab/tools:1", "command": []string{"sleep", "36000"}}},
		},
	})
	if _, err := f.w.kubectl(text, "create", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	return name
}

// networked waits until a pod runs, and multus says which network it gave to it.
func (f *fixing) networked(t *testing.T, pod, node string) {
	t.Helper()
	eventually(t, pod+" on "+node+" has its network from multus", func() string {
		out, err := labDo(f.lab, "-n", "default", "get", "pod", pod, "-o", `jsonpath={.status.phase} {.status.podIP} {.metadata.annotations.k8s\.v1\.cni\.cncf\.io/network-status}`)
		if err != nil {
			return err.Error()
		}
		if strings.HasPrefix(out, "Running 10.98.") && strings.Contains(out, "ovn-kubernetes") {
			return ""
		}
		events, _ := labDo(f.lab, "-n", "default", "get", "events", "--field-selector", "involvedObject.name="+pod, "-o", "jsonpath={.items[*].message}")
		return out + ": " + events
	})
}

// refused waits until it is known why a pod has no network: multus does not trust
// api-int.
func (f *fixing) refused(t *testing.T, pod string) {
	t.Helper()
	uid := mustDo(t, f.lab, "-n", "default", "get", "pod", pod, "-o", "jsonpath={.metadata.uid}")
	eventually(t, pod+" has no network, for want of multus' trust in api-int", func() string {
		out, err := labDo(f.lab, "-n", "default", "get", "events", "--field-selector", "reason=FailedCreatePodSandBox,involvedObject.uid="+uid, "-o", "jsonpath={.items[*].message}")
		if err != nil {
			return err.Error()
		}
		if !strings.Contains(out, "multus") || !strings.Contains(out, "x509: certificate signed by unknown authority") {
			return fmt.Sprintf("its events say %q", out)
		}
		return ""
	})
	if phase := mustDo(t, f.lab, "-n", "default", "get", "pod", pod, "-o", "jsonpath={.status.phase}"); phase != "Pending" {
		t.Errorf("%s is %s", pod, phase)
	}
}

// daemons are multus' pods and containers.
func (f *fixing) daemons(t *testing.T) string {
	t.Helper()
	return mustDo(t, f.lab, "-n", "openshift-multus", "get", "pods", "-l", "app=multus", "-o", "jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[0].containerID} {end}")
}
