//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// wholeCluster is the incident at its worst: every kubelet is lost, a node was
// rebooted meanwhile, pods get their network from a multus with the old CA in memory, and
// the administrator's own kubeconfig fails, too. Nobody is there to be asked.
func (f *fixing) wholeCluster(t *testing.T) {
	nodes := f.lab.Nodes()
	master, booted := nodes[0], nodes[2]
	fix := []string{"fix-api-int", "--via", "ssh"}
	ends(t, f.inLab(t, append(fix, "--dry-run=client")...), 0, "Nothing to do")
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
	r := f.inLab(t, append(fix, "status")...)
	ends(t, r, 1, "nodes: 3 pending", "network: ")
	if !strings.Contains(r.stdout, "Next     ") || strings.Contains(r.stdout[strings.Index(r.stdout, "Next"):], "--yes") {
		t.Errorf("the next step is not named, or does not ask:\n%s", r.stdout)
	}

	ends(t, f.inLab(t, append(fix, "--yes")...), 0, "restart pod openshift-network-node-identity/", "restart pod openshift-multus/", "to see whether it gets a network, and remove it: done, and checked")
	for _, n := range nodes {
		f.lab.WaitReady(t, n)
		f.networked(t, f.pod(t, "after", n), n)
	}
	ends(t, f.inLab(t, append(fix, "--yes")...), 0, "so already on "+strings.Join(nodes, ", "))
	ends(t, f.inLab(t, append(fix, "status")...), 0, "nothing is left to be repaired")
	broken := 0
	// 3, as the API server's log tells of those that refused it a short while ago.
	r = f.inLab(t, "verify", "--nodes", "all", "--via", "ssh", "-o", "json")
	ends(t, r, 3)
	for _, c := range claimsIn(t, r) {
		if c.Status != "holds" && c.ID != "apiserver-refused" {
			t.Errorf("%s on %q: %s (%s)", c.ID, c.Node, c.Status, c.Why)
			broken++
		}
	}
	if broken > 0 {
		t.Error(r.stdout)
	}
	for _, n := range nodes { // or the machine waits for what does not heed its end
		mustDo(t, f.lab, "-n", "default", "delete", "pod", "after-"+n, "--now", "--wait")
	}
	f.boots(t, nodes[1])
	f.lab.WaitReady(t, nodes[1])
}
