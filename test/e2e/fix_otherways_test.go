//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// admin are flags by which certrot on a node reaches the API, from a file that
// only root can read.
func (f *fixing) admin(t *testing.T, node string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.lab.Dir, "inner", "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.Load(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range config.AuthInfos {
		f.secret.key("the administrator's key", u.ClientKeyData)
	}
	f.give(t, node, "admin.kubeconfig", text)
	return []string{"--kubeconfig", savedOn + "/admin.kubeconfig"}
}

// give puts a file on a node, for root alone; save removes it at the end.
func (f *fixing) give(t *testing.T, node, name string, text []byte) {
	t.Helper()
	c := f.lab.SSHCommand(context.WithoutCancel(t.Context()), node, "sudo sh -c "+nodeexec.Quote("umask 077; cat >"+savedOn+"/"+name))
	c.Stdin = strings.NewReader(string(text))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("give %s to %s: %v\n%s", name, node, err, out)
	}
}

func (f *fixing) repairWithoutAPI(t *testing.T, node string, was standing) {
	before := f.stands(t, node)
	sameFiles(t, was, before)
	f.give(t, node, "ca.crt", f.published(t))
	r := f.onNode(t, node, "fix-api-int", "--local", "--ca-file", savedOn+"/ca.crt", "--yes")
	ends(t, r, 3, "everything was done", "is unknown", "kubectl get nodes")
	f.mended(t, node, before)
	f.lab.WaitReady(t, node)
	ends(t, f.onNode(t, node, "fix-api-int", "--local", "--ca-file", savedOn+"/ca.crt", "--yes"), 0, "already up to date")
}

func (f *fixing) reboot(t *testing.T, node string) {
	before := f.stands(t, node)
	f.boots(t, node)
	f.lab.WaitReady(t, node)
	sameFiles(t, before, f.stands(t, node))
	letsIn(t, f.lab, node)
}

// boots reboots a node, and waits until it can be entered again.
func (f *fixing) boots(t *testing.T, node string) {
	t.Helper()
	boot := f.lab.SSH(t, node, "stat -c %Z /run/systemd/system")
	f.lab.Reboot(t, node)
	eventually(t, node+" has booted", func() string {
		now, err := labDo(f.lab, "ssh", node, "stat -c %Z /run/systemd/system")
		if err != nil {
			return err.Error()
		}
		if now == boot {
			return "it has not gone down"
		}
		return ""
	})
}

// passedAround does what many do who look for a way out, and find a script: the CA
// as one more line at the end of the kubelet's kubeconfig, and a restart. The end
// of that file is in users, where no CA is looked for: nothing is fixed, and
// nothing says so.
func (f *fixing) passedAround(t *testing.T, node string, before standing) {
	ca := string(encoded(f.published(t)))
	since := mustDo(t, f.lab, "ssh", node, "date +%s")
	f.give(t, node, "ca.b64", []byte(ca))
	mustDo(t, f.lab, "ssh", node, "sudo sh -c "+nodeexec.Quote(`echo "    certificate-authority-data: $(cat `+savedOn+`/ca.b64)" >>`+ownConfig+`; systemctl restart kubelet`))
	meddled := f.stands(t, node)
	var file struct {
		Users    []struct{ User map[string]any }
		Clusters []struct{ Cluster map[string]any }
	}
	if err := yaml.Unmarshal([]byte(meddled.files[ownConfig]), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Users) != 1 || file.Users[0].User["certificate-authority-data"] != ca {
		t.Errorf("the line is not in users: %d users", len(file.Users))
	}
	if len(file.Clusters) != 1 || file.Clusters[0].Cluster["certificate-authority-data"] == ca {
		t.Errorf("the line is in clusters: %d clusters", len(file.Clusters))
	}
	eventually(t, "the new kubelet distrusts the API too", func() string {
		out, err := labDo(f.lab, "ssh", node, "sudo journalctl _PID="+meddled.pid+" --since=@"+strings.TrimSpace(since)+" -o cat | grep -c 'certificate signed by unknown authority'; true")
		if err != nil {
			return err.Error()
		}
		if strings.HasPrefix(out, "0") {
			return "it does not say so"
		}
		return ""
	})
	if ready := f.ready(t, node); ready == "True" {
		t.Errorf("%s is Ready", node)
	}

	// It can be repaired as it is, and the line stays as its author wrote it.
	ends(t, f.onNode(t, node, append([]string{"fix-api-int", "--local", "--yes"}, f.admin(t, node)...)...), 0, "done, and checked")
	f.mended(t, node, meddled)
	f.reports(t, node)
	letsIn(t, f.lab, node)

	// The same line one step higher makes a key that is there twice.
	f.reset(t, node)
	mustDo(t, f.lab, "ssh", node, "sudo sh -c "+nodeexec.Quote(`ca=$(cat `+savedOn+`/ca.b64); sed -i "/^    server:/a\    certificate-authority-data: $ca" `+ownConfig))
	meddled = f.stands(t, node)
	if strings.Count(meddled.files[ownConfig], "\n    certificate-authority-data: ") != 2 {
		t.Error("the key is not there twice")
	}
	ends(t, f.inLab(t, "fix-api-int", "--nodes", node, "--via", "ssh", "--yes"), 5, "kubeconfig-shape", ownConfig, "nothing was changed")
	f.untouched(t, node, meddled)
	f.reset(t, node)
	sameFiles(t, before, f.stands(t, node))
}

// repairBy repairs a node that is still connected through its kubelet.
func (f *fixing) repairBy(t *testing.T, node, way string) {
	f.reset(t, node)
	before := f.stands(t, node)
	r := f.exec(t, f.here(t, "fix-api-int", "--nodes", node, "--via", way, "--yes", "-o", "json"))
	ends(t, r, 0, "done, and checked")
	var d fixDocument
	if err := json.Unmarshal([]byte(r.stdout), &d); err != nil || len(d.Nodes) != 1 || d.Nodes[0].Via != way || d.Nodes[0].Ready != "True" {
		t.Errorf("the plan is %+v, %v", d, err)
	}
	f.mended(t, node, before)
	f.reports(t, node)
	noneLeft(t, f.lab)
}

// mistaken has an inventory lead to another node than the one that is named, and
// takes the machine it runs on for another.
func (f *fixing) mistaken(t *testing.T, node, other string) {
	before := f.stands(t, node)
	inventory := filepath.Join(f.all, "mistaken")
	if err := os.WriteFile(inventory, []byte(other+" "+node+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ends(t, f.inLab(t, "fix-api-int", "--nodes", other, "--via", "ssh", "--ssh-inventory", inventory, "--yes"), 5, "nothing was changed", "host key of "+other+" HAS CHANGED")
	f.give(t, node, "ca.crt", f.published(t))
	ends(t, f.onNode(t, node, "fix-api-int", "--local", "--nodes", other, "--ca-file", savedOn+"/ca.crt", "--yes"), 5, "node-identity on "+other, "system:node:"+node)
	f.untouched(t, node, before)
}

// kept repairs a node, puts it back by what the node keeps alone, repairs it again,
// and removes what is kept.
func (f *fixing) kept(t *testing.T, node string) {
	f.reset(t, node)
	before := f.stands(t, node)
	run := runOf(t, f.inLab(t, "fix-api-int", "--nodes", node, "--via", "ssh", "--yes"))
	somebody := f.apart(t)
	somebody.state += "-else"
	ends(t, somebody.inLab(t, "undo", run, "--via", "ssh", "--yes"), 2, "no journal", "--from-nodes")
	ends(t, somebody.inLab(t, "runs", "--from-nodes", "--nodes", node, "--via", "ssh"), 0, run)
	ends(t, somebody.inLab(t, "undo", run, "--from-nodes", "--nodes", node, "--via", "ssh", "--yes"), 5, "breaks-trust")
	ends(t, somebody.inLab(t, "undo", run, "--from-nodes", "--nodes", node, "--via", "ssh", "--yes", "--accept-risk=breaks-trust"), 0)
	sameFiles(t, before, f.stands(t, node))
	again := runOf(t, f.inLab(t, "fix-api-int", "--nodes", node, "--via", "ssh", "--yes"))
	f.mended(t, node, before)

	ends(t, f.inLab(t, "runs", "prune", run, again, "--via", "ssh"), 5, run, again, "--yes")
	ends(t, f.inLab(t, "runs", "prune", run, again, "--via", "ssh", "--yes"), 0, run+": removed", again+": removed")
	if left := f.inLab(t, "runs", "--from-nodes", "--nodes", node, "--via", "ssh", "-o", "name").stdout; strings.Contains(left, run) || strings.Contains(left, again) {
		t.Errorf("the node keeps %s", left)
	}
	ends(t, f.inLab(t, "undo", again, "--via", "ssh", "--yes"), 2, "no journal")
	ends(t, f.inLab(t, "runs", "prune", again, "--via", "ssh", "--yes"), 2, "no journal")
	ends(t, f.inLab(t, "undo", again, "--from-nodes", "--nodes", node, "--via", "ssh", "--yes"), 2, "nothing to put back")
}
