//go:build linux

package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// TestRestartSafe asks which kubelets would come back, through the incident: while
// all nodes are Ready. Then two kubelets are restarted, one of a node that was
// repaired, and what was said of them has to come true. The other one is brought back by
// a script alone.
func TestRestartSafe(t *testing.T) {
	f := fixes(t)
	nodes := f.lab.Nodes()
	if len(nodes) < 3 {
		t.Fatalf("the lab has only %v", nodes)
	}
	repaired, lost := nodes[1], nodes[2]
	want := map[string]string{}
	for _, n := range nodes {
		want[n] = "pass"
	}
	for _, via := range []string{"ssh", "exec", "debug"} {
		f.comeBack(t, via, 0, want)
	}
	// A kubeconfig that is gone is made from the other file.
	mustDo(t, f.lab, "ssh", repaired, "sudo rm "+ownConfig)
	want[repaired] = "warn"
	if a := f.comeBack(t, "ssh", 1, want)[repaired]["own-kubeconfig"]; a.Status != "fail" || a.Reason != "there is no "+ownConfig {
		t.Errorf("its own kubeconfig is gone: %+v", a)
	}
	mustDo(t, f.lab, "ssh", repaired, "sudo systemctl restart kubelet")
	f.lab.WaitReady(t, repaired)
	want[repaired] = "pass"
	f.comeBack(t, "ssh", 0, want)

	// With another signer all is as it was, and will not be.
	f.lab.Incident(t, "signer")
	for _, n := range nodes {
		want[n] = "warn"
	}
	for n, answers := range f.comeBack(t, "ssh", 1, want) {
		if a := answers["trusts"]; a.Status != "warn" || !strings.Contains(a.Reason, "no longer after ") || !strings.Contains(a.Reason, ownConfig+" lacks the CA") {
			t.Errorf("%s, by what is signed next: %+v", n, a)
		}
	}

	f.lab.Incident(t, "leaf")
	for _, n := range nodes {
		if ready := f.ready(t, n); ready != "True" {
			t.Fatalf("%s: Ready is %s before anything was restarted", n, ready)
		}
		want[n] = "fail"
	}
	f.comeBack(t, "ssh", 1, want)
	ends(t, f.inLab(t, "fix-api-int", "--nodes", repaired, "--via", "ssh", "--yes"), 0, "done, and checked")
	want[repaired] = "pass"
	f.comeBack(t, "ssh", 1, want)

	mustDo(t, f.lab, "ssh", repaired, "sudo systemctl restart kubelet")
	f.lab.Incident(t, "reconnect", lost)
	f.lab.WaitNotReady(t, lost)
	f.lab.WaitReady(t, repaired)
	f.comeBack(t, "ssh", 1, want)

	// A token that the API server does not know is told, and is not needed.
	mustDo(t, f.lab, "ssh", repaired, "sudo sed -i 's/^\\( *token: \\).*/\\1abcdef.0123456789abcdef/' "+joinConfig)
	answers := f.comeBack(t, "ssh", 1, want)[repaired]
	if a := answers["bootstrap-token"]; a.Status != "warn" || !strings.Contains(a.Reason, "401 Unauthorized") || !strings.Contains(a.Reason, "only when there is no valid client certificate") {
		t.Errorf("a token that nobody knows: %+v", a)
	}

	t.Run("a script alone brings it back", func(t *testing.T) { f.byScript(t, lost) })
	t.Run("a kubelet with a valid certificate makes its kubeconfig anew", func(t *testing.T) { f.remakes(t, lost) })
	t.Run("a kubelet whose certificate is not accepted joins again", func(t *testing.T) { f.joinsAgain(t, repaired) })
	want[lost] = "pass"
	f.comeBack(t, "ssh", 1, want)
}

const currentCert = "/var/lib/kubelet/pki/kubelet-client-current.pem"

// remakes is of a kubelet in the incident: it asks for no other certificate.
func (f *fixing) remakes(t *testing.T, node string) {
	certificate, requests := f.linked(t, node), mustDo(t, f.lab, "get", "csr", "-o", "name")
	r := f.inLab(t, "fix-api-int", "--nodes", node, "--via", "ssh", "--rebootstrap", "--yes", "--details")
	ends(t, r, 0, "remove "+ownConfig, "it asks for no other one", "Done.")
	if now := f.linked(t, node); now != certificate {
		t.Errorf("its certificate was %s, and is %s", certificate, now)
	}
	if now := mustDo(t, f.lab, "get", "csr", "-o", "name"); now != requests {
		t.Errorf("there are requests\n%s\nand there were\n%s", now, requests)
	}
	if ready := f.ready(t, node); ready != "True" {
		t.Errorf("%s: Ready is %s", node, ready)
	}
	ends(t, f.inLab(t, "fix-api-int", "--nodes", node, "--via", "ssh", "--rebootstrap", "--yes"), 0, "already up to date")
	ends(t, f.inLab(t, "undo", runOf(t, r), "--via", "ssh", "--yes"), 5, "breaks-trust")
}

// joinsAgain is of a kubelet that has a certificate of an unknown CA, and a bootstrap
// file with an unknown token.
func (f *fixing) joinsAgain(t *testing.T, node string) {
	mustDo(t, f.lab, "ssh", node, "sudo sh -ec "+nodeexec.Quote(`cd /var/lib/kubelet/pki; umask 077
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /O=system:nodes/CN=system:node:`+node+` -keyout key.tmp -out cert.tmp 2>/dev/null
cat cert.tmp key.tmp >kubelet-client-2020-01-01-00-00-00.pem; rm cert.tmp key.tmp
ln -sfn /var/lib/kubelet/pki/kubelet-client-2020-01-01-00-00-00.pem kubelet-client-current.pem; systemctl restart kubelet`))
	certificate, was := f.linked(t, node), f.stands(t, node)
	anew := []string{"fix-api-int", "--nodes", node, "--via", "ssh", "--rebootstrap", "--yes", "--details"}
	ends(t, f.inLab(t, append(anew, "--approve-csrs")...), 5, "bootstrap-credential", "401 Unauthorized", "create token node-bootstrapper")
	token := mustDo(t, f.lab, "-n", "openshift-machine-config-operator", "create", "token", "node-bootstrapper", "--duration=2h")
	f.secret.addToken("the token that was made", strings.TrimSpace(token))
	f.give(t, node, "token", []byte(token))
	mustDo(t, f.lab, "ssh", node, "sudo sh -c "+nodeexec.Quote(`sed -i "s/^\( *token: \).*/\1$(cat `+savedOn+`/token)/" `+joinConfig))
	ends(t, f.inLab(t, anew...), 5, "approver", "--approve-csrs")
	if now := f.stands(t, node); now.pid != was.pid || f.linked(t, node) != certificate {
		t.Errorf("refused, and its kubelet was %s and is %s", was.pid, now.pid)
	}

	r := f.inLab(t, append(anew, "--approve-csrs")...)
	ends(t, r, 0, "(401)", "a link: "+certificate+" stays", "approved csr-", "client certificate CN=system:node:"+node, "Done.")
	if now := f.linked(t, node); now == certificate {
		t.Error("it has no other certificate")
	}
	if ready := f.ready(t, node); ready != "True" {
		t.Errorf("%s: Ready is %s", node, ready)
	}
	ends(t, f.inLab(t, append(anew, "--approve-csrs")...), 0, "already up to date")
	ends(t, f.inLab(t, "undo", runOf(t, r), "--via", "ssh", "--yes"), 5, "breaks-trust", "the unusable one that the run removed")
	mustDo(t, f.lab, "ssh", node, "sudo rm "+certificate)
}

// linked is the file of a kubelet's client certificate.
func (f *fixing) linked(t *testing.T, node string) string {
	t.Helper()
	return strings.TrimSpace(mustDo(t, f.lab, "ssh", node, "sudo readlink "+currentCert))
}

// restartAnswer is one answer of verify restart-safe.
type restartAnswer struct{ ID, Status, Reason string }

// comeBack asks which kubelets would come back, of all nodes, and returns all
// answers of each.
func (f *fixing) comeBack(t *testing.T, via string, code int, want map[string]string) map[string]map[string]restartAnswer {
	t.Helper()
	r := f.inLab(t, "verify", "restart-safe", "--nodes", "all", "--via", via, "-o", "json")
	ends(t, r, code)
	var report struct {
		Nodes []struct {
			Name      string
			ComesBack restartAnswer
			Answers   []restartAnswer
		}
		NewNode, Access restartAnswer
	}
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		t.Fatalf("%v:\n%s", err, r.stdout)
	}
	out := map[string]map[string]restartAnswer{}
	for _, n := range report.Nodes {
		out[n.Name] = map[string]restartAnswer{}
		for _, a := range n.Answers {
			out[n.Name][a.ID] = a
			if want[n.Name] == "pass" && a.Status != "pass" && a.ID != "bootstrap-token" {
				t.Errorf("via %s, %s: %+v", via, n.Name, a)
			}
		}
		if n.ComesBack.Status != want[n.Name] {
			t.Errorf("via %s, %s would come back: %+v, want %s", via, n.Name, n.ComesBack, want[n.Name])
		}
	}
	if len(report.Nodes) != len(want) || report.NewNode.Status != "pass" || code == 0 && report.Access.Status != "pass" {
		t.Errorf("via %s: %d nodes, a new one %+v, access %+v", via, len(report.Nodes), report.NewNode, report.Access)
	}
	return out
}
