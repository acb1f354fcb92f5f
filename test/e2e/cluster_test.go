//go:build linux

package e2e

import (
	"slices"
	"strings"
	"testing"
)

// wholeCluster is the incident at its worst: no kubelet has a heartbeat, not even a master's, one
// of which was rebooted meanwhile, pods get their network from a multus that loaded the old CA, and
// the administrator's own kubeconfig fails, too. No API server can be asked.
func (f *fixing) wholeCluster(t *testing.T) {
	nodes := f.lab.Nodes()
	master, worker, booted := nodes[0], nodes[1], nodes[2]
	if servers := mustDo(t, f.lab, "-n", "default", "get", "endpointslice", "kubernetes", "-o", "jsonpath={.endpoints[*].addresses[0]}"); len(strings.Fields(servers)) != 2 {
		t.Fatalf("there are API servers at %q, not one on each master", servers)
	}
	// The lab was healed: kubelets' kubeconfigs are newer than the daemons that read them.
	const mco = "openshift-machine-config-operator"
	mustDo(t, f.lab, "-n", mco, "delete", "pods", "--all")
	mustDo(t, f.lab, "-n", mco, "rollout", "status", "daemonset", "--timeout=90s")
	fix := []string{"fix-api-int", "--via", "ssh"}
	ends(t, f.inLab(t, append(fix, "--dry-run=client")...), 0, "No changes")
	ends(t, f.inLab(t, append(fix, "status")...), 0, "nothing is left to be repaired")

	before := f.stands(t, booted)
	f.lab.Incident(t, "reconnect")
	f.boots(t, booted)
	for _, n := range nodes {
		f.lab.WaitNotReady(t, n)
	}
	own, _ := f.failing(t, before)
	fix = append(fix, "--kubeconfig", own)
	ends(t, f.inLab(t, fix...), 2, "x509", "--api-ca-from")
	fix = append(fix, "--api-ca-from", "ssh://"+master)
	var r result
	eventually(t, "api-int answers every node, so that each is pending", func() string { // one of its servers was rebooted
		if r = f.inLab(t, append(fix, "status")...); strings.Contains(r.stdout, "nodes: 3 pending\n") {
			return ""
		}
		return r.said()
	})
	ends(t, r, 1, "\n  next      ")
	r = f.inLab(t, append(fix, "status", "--details")...)
	ends(t, r, 1, "masters: 2 pending", "workers-not-ready: 1 pending", "network: ")
	if !strings.Contains(r.stdout, "Next     ") || strings.Contains(r.stdout[strings.Index(r.stdout, "Next"):], "--yes") {
		t.Errorf("the next step is not named, or does not ask:\n%s", r.stdout)
	}

	r = f.inLab(t, append(fix, "--yes")...)
	ends(t, r, 0, "restart pod openshift-network-node-identity/", "restart pod openshift-multus/", "run a network test pod: done, and checked")
	oneByOne(t, r, master, booted, worker)
	for _, n := range nodes {
		f.lab.WaitReady(t, n)
		f.networked(t, f.pod(t, "after", n), n)
	}
	ends(t, f.inLab(t, append(fix, "--yes")...), 0, "already up to date on "+strings.Join(slices.Sorted(slices.Values(nodes)), ", "))
	ends(t, f.inLab(t, append(fix, "status")...), 0, "nothing is left to be repaired")
	// The API server's log tells of clients that refused it before the repair. With several control
	// plane nodes a client at the address of one may have come through the load balancer there: that
	// stays unknown until its last refusal is a quarter of an hour old.
	r = f.inLab(t, "verify", "--nodes", "all", "--via", "ssh", "-o", "json")
	if r.code != 0 && r.code != 3 {
		t.Fatal(r.said())
	}
	for _, c := range claimsIn(t, r) {
		if c.Status == "fail" || c.Status != "pass" && c.ID != "apiserver-refused" {
			t.Errorf("%s on %q: %s (%s)", c.ID, c.Node, c.Status, c.Reason)
		}
	}
	for _, n := range nodes { // or the machine waits for what does not heed its end
		mustDo(t, f.lab, "-n", "default", "delete", "pod", "after-"+n, "--now", "--wait")
	}
	f.boots(t, worker)
	f.lab.WaitReady(t, worker)
}

// oneByOne wants kubelets restarted in this order, each when the one before was seen to
// report, and on a master its kube-apiserver to answer.
func oneByOne(t *testing.T, r result, nodes ...string) {
	t.Helper()
	_, done, _ := strings.Cut(r.said(), "\nRun ")
	for _, n := range nodes {
		steps := []string{"✓ " + n + "  restart kubelet.service: done", "✓ " + n + "  wait for a heartbeat that is newer than the restart: done"}
		if strings.HasPrefix(n, "master") {
			steps = append(steps, "✓ "+n+"  wait until its kube-apiserver answers: done")
		}
		for _, step := range steps {
			before, after, ok := strings.Cut(done, step)
			if !ok || strings.Count(before, "  restart kubelet.service: done") > 0 {
				t.Fatalf("%s: not %q, or not before another kubelet is restarted:\n%s", n, strings.TrimSpace(step), r.said())
			}
			done = after
		}
	}
}
