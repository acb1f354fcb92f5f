package apiint

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

func dueSteps(p *remediate.Plan) (out []string) {
	for _, n := range p.Nodes() {
		for _, s := range n.Steps {
			if s.Change != nil {
				out = append(out, s.Action.ID())
			}
		}
	}
	return out
}

func TestKubeadmsFilesAreRepaired(t *testing.T) {
	t.Parallel()
	files := catalog.KubeadmKubeconfigs()
	joined := []string{"replace worker-0:" + files[1], "restart worker-0:kubelet.service", "await worker-0"}
	for name, c := range map[string]struct {
		change func(f *remediatetest.Fixture)
		want   []string
	}{
		"a node that has joined": {func(*remediatetest.Fixture) {}, joined},
		"one with the file to join with": {
			func(f *remediatetest.Fixture) { f.Embed("worker-0", files[0], f.Before) }, append([]string{"replace worker-0:" + files[0]}, joined...),
		},
		"its kubelet does not run": {
			func(f *remediatetest.Fixture) { f.FirstNode().Kubelet = inspect.Kubelet{Active: "failed"} }, joined,
		},
		"no API that says what the cluster is": {
			func(f *remediatetest.Fixture) { f.Cluster.Versions = catalog.Versions{} }, joined,
		},
		"neither": {func(f *remediatetest.Fixture) {
			f.Cluster.Versions, f.FirstNode().Kubelet = catalog.Versions{}, inspect.Kubelet{Active: "failed"}
		}, joined},
		"so already": {func(f *remediatetest.Fixture) { f.Embed("worker-0", files[1], f.Before, f.Young.CertPEM) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := remediatetest.KubeadmFixture("worker-0")
			c.change(f)
			p := planOf(f, t)
			if got := dueSteps(p); !slices.Equal(got, c.want) {
				t.Errorf("steps %q, want %q", got, c.want)
			}
			for _, note := range p.Notes.Texts() {
				if strings.Contains(note, "OpenShift") || strings.Contains(note, "machine-config") || strings.Contains(note, "topology") || strings.Contains(note, files[0]) {
					t.Errorf("notes %q", note)
				}
			}
		})
	}
}

func TestWhatKubeadmsNodesHaveBesideIsSaidAndLeft(t *testing.T) {
	t.Parallel()
	f := remediatetest.KubeadmFixture("master-0", "worker-0", "worker-1")
	for i, role := range []string{catalog.RoleMaster, catalog.RoleWorker, catalog.RoleWorker} {
		f.Nodes[i].Role = role
	}
	const manager, scheduler = "/etc/kubernetes/controller-manager.conf", "/etc/kubernetes/scheduler.conf"
	f.Embed("master-0", manager, f.Before)
	n, _ := f.Snapshot.Node("master-0")
	n.Kubeconfigs[len(n.Kubeconfigs)-1].Clusters[0].Server = "https://" + remediatetest.APIIntHost + ":16443"
	f.Embed("master-0", scheduler, pkitest.Bundle(f.Before, f.Young.CertPEM))
	fix := fixOf(f)
	fix.Nodes = nil
	p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range dueSteps(p) {
		if strings.Contains(step, ".conf") && !strings.HasSuffix(step, "kubelet.conf") || strings.Contains(step, "pki") {
			t.Errorf("step %s", step)
		}
	}
	notes := strings.Join(p.Notes.Texts(), "\n")
	for _, want := range []string{
		manager + " on master-0 lacks", "kube-controller-manager reads it when it starts", "config set-cluster default-cluster",
		catalog.KubeadmCA + " on master-0 lacks", "To fix it, there: first give --cluster-signing-cert-file a file of its own",
		catalog.KubeadmCA + " on worker-0, worker-1 lacks", "To fix it, there: append the CA",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes do not say %q:\n%s", want, notes)
		}
	}
	if strings.Contains(notes, scheduler) {
		t.Errorf("it has the CA: %s", notes)
	}
	// Behind a balancer on another port, the master's own kube-apiserver is asked.
	var gates []action.AwaitAPIServer
	for _, n := range p.Nodes() {
		for _, s := range n.Steps {
			if g, ok := s.Action.(action.AwaitAPIServer); ok {
				gates = append(gates, g)
			}
		}
	}
	if len(gates) != 1 || gates[0].NodeName != "master-0" || gates[0].Port != "16443" || gates[0].Name != "kubernetes.default.svc" {
		t.Errorf("gates %+v", gates)
	}
}

func TestAKubeconfigWhoseCAIsAFileIsRefused(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]string{
		catalog.RoleWorker: "on the node: append the CAs to " + catalog.KubeadmCA + ", then: systemctl restart kubelet",
		catalog.RoleMaster: "on the node: first give --cluster-signing-cert-file a file of its own",
		"":                 "on the node: first give --cluster-signing-cert-file a file of its own",
	} {
		refusesCAFile(t, role, catalog.KubeadmCA, want)
	}
	// Root on the node writes the path.
	refusesCAFile(t, catalog.RoleWorker, "/a, then: curl x|sh", "on the node: append the CAs to “/a, then: curl x|sh”, then: systemctl restart kubelet")
}

func refusesCAFile(t *testing.T, role, file, want string) {
	t.Helper()
	f := remediatetest.KubeadmFixture("node-0")
	f.FirstNode().Role = role
	k := &f.FirstNode().Kubeconfigs[0]
	before, _, _ := strings.Cut(string(k.Text), "certificate-authority-data:")
	_, after, _ := strings.Cut(string(k.Text), "    server:")
	k.Text = []byte(before + "certificate-authority: '" + file + "'\n    server:" + after)
	f.FirstNode().File(k.Path).Size = int64(len(k.Text))
	_, err := fixOf(f).Plan("run-1", f.Snapshot, remediatetest.TestNow)
	var r *remediate.Refusal
	if !errors.As(err, &r) || r.Name != remediate.FileShape || !strings.HasPrefix(r.Next, want) || !strings.HasSuffix(r.Next, ", then: systemctl restart kubelet") {
		t.Errorf("%s: %v: %+v", role, err, r)
	}
}

func TestNothingToDoOnPlainMastersIsNothing(t *testing.T) {
	t.Parallel()
	f := remediatetest.KubeadmFixture("master-0", "master-1")
	for i := range f.Nodes {
		f.Nodes[i].Role, f.Nodes[i].Ready, f.Nodes[i].Heartbeat = catalog.RoleMaster, "True", remediatetest.TestNow
		f.Embed(f.Nodes[i].Name, catalog.KubeadmKubeconfigs()[1], f.Before, f.Young.CertPEM)
	}
	fix := fixOf(f)
	fix.Nodes, fix.FollowUp.Requests = nil, true
	p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
	if err != nil || !p.Empty() {
		t.Fatalf("steps %q, %v", dueSteps(p), err)
	}
}

// TestWhatADirectoryHidesIsNotMissing: of a directory that can't be read, it is not said that a
// file is not in it.
func TestWhatADirectoryHidesIsNotMissing(t *testing.T) {
	t.Parallel()
	f := remediatetest.KubeadmFixture("worker-0")
	path := catalog.KubeadmKubeconfigs()[0]
	for where, missing := range map[string]bool{"/etc/kubernetes": false, "/etc": false, "/": false, path: false, "": false, "/etc/kube": true, "/etc/kubernetes/pki": true} {
		f.Gaps = []inspect.Gap{{What: "node/worker-0", Where: where, Reason: "permission denied"}}
		if got := inspect.MissingFile(f.Snapshot, f.FirstNode(), path); got != missing {
			t.Errorf("%q: missing %t", where, got)
		}
	}
}

// TestScriptsOfKubeadmsNodes names whose paths it takes, of nodes that were not read too.
func TestScriptsOfKubeadmsNodes(t *testing.T) {
	t.Parallel()
	f := remediatetest.KubeadmFixture("worker-0")
	f.Cluster.Versions = catalog.Versions{} // no API server that says what it is
	fix := fixOf(f)
	fix.Nodes = []string{"worker-0", "worker-1"}
	set, err := fix.Scripts("run-1", f.Snapshot, remediatetest.TestNow, false)
	scripts, notes := set.Scripts, set.Notes
	if err != nil || len(scripts) != 2 {
		t.Fatalf("%v, %d scripts", err, len(scripts))
	}
	for _, s := range scripts {
		text := string(s.Text("v1"))
		for _, want := range []string{"setup='kubeadm'", "joins='1'", "bootstrap='/etc/kubernetes/bootstrap-kubelet.conf'", "own='/etc/kubernetes/kubelet.conf'"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %s", s.Name(), want)
			}
		}
		if strings.Contains(text, "OpenShift's are taken") {
			t.Errorf("%s speaks of OpenShift", s.Name())
		}
	}
	if !strings.Contains(strings.Join(notes.Texts(), "\n"), "where kubeadm has them, /etc/kubernetes/bootstrap-kubelet.conf and /etc/kubernetes/kubelet.conf") {
		t.Errorf("notes %q", notes.Texts())
	}
}
