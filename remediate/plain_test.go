package remediate

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// kubeadmFixture is newFixture of a cluster that kubeadm made, in the incident: nodes of it
// have joined.
func kubeadmFixture(names ...string) *fixture {
	f := newFixture(names...)
	f.Cluster.Versions, f.Cluster.Topology = catalog.Versions{Kubernetes: "v1.30.0", Plain: true}, ""
	files := catalog.KubeadmKubeconfigs()
	for i := range f.Nodes {
		n := &f.Nodes[i]
		f.drop(n.Name, bootstrapFile)
		f.drop(n.Name, kubeletFile)
		f.embed(n.Name, files[1], f.before)
		n.Kubelet.BootstrapConfig, n.Kubelet.Kubeconfig = files[0], files[1]
		f.pem(n.Name, catalog.KubeadmCA, f.before)
	}
	return f
}

// pem gives a node a file of certificates.
func (f *fixture) pem(node, path string, text []byte) {
	n, _ := f.Snapshot.Node(node)
	n.Files = append(n.Files, inspect.NodeFile{Path: path, Modified: testNow.Add(-48 * time.Hour)})
	for _, found := range f.sc.Scan(text) {
		f.Bundles = append(f.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: node, Path: path}, Content: found.Content})
	}
	f.Sort()
}

func dueSteps(p *Plan) (out []string) {
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
		change func(f *fixture)
		want   []string
	}{
		"a node that has joined": {func(*fixture) {}, joined},
		"one with the file to join with": {
			func(f *fixture) { f.embed("worker-0", files[0], f.before) }, append([]string{"replace worker-0:" + files[0]}, joined...),
		},
		"its kubelet does not run": {
			func(f *fixture) { f.first().Kubelet = inspect.Kubelet{Active: "failed"} }, joined,
		},
		"no API that says what the cluster is": {
			func(f *fixture) { f.Cluster.Versions = catalog.Versions{} }, joined,
		},
		"neither": {func(f *fixture) {
			f.Cluster.Versions, f.first().Kubelet = catalog.Versions{}, inspect.Kubelet{Active: "failed"}
		}, joined},
		"so already": {func(f *fixture) { f.embed("worker-0", files[1], f.before, f.young.CertPEM) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := kubeadmFixture("worker-0")
			c.change(f)
			p := f.plan(t)
			if got := dueSteps(p); !slices.Equal(got, c.want) {
				t.Errorf("steps %q, want %q", got, c.want)
			}
			for _, note := range p.Notes {
				if strings.Contains(note, "OpenShift") || strings.Contains(note, "machine-config") || strings.Contains(note, "topology") || strings.Contains(note, files[0]) {
					t.Errorf("notes %q", note)
				}
			}
		})
	}
}

func TestWhatKubeadmsNodesHaveBesideIsSaidAndLeft(t *testing.T) {
	t.Parallel()
	f := kubeadmFixture("master-0", "worker-0", "worker-1")
	for i, role := range []string{catalog.RoleMaster, catalog.RoleWorker, catalog.RoleWorker} {
		f.Nodes[i].Role = role
	}
	const manager, scheduler = "/etc/kubernetes/controller-manager.conf", "/etc/kubernetes/scheduler.conf"
	f.embed("master-0", manager, f.before)
	n, _ := f.Snapshot.Node("master-0")
	n.Kubeconfigs[len(n.Kubeconfigs)-1].Clusters[0].Server = "https://" + apiInt + ":16443"
	f.embed("master-0", scheduler, pkitest.Bundle(f.before, f.young.CertPEM))
	fix := f.fix()
	fix.Nodes = nil
	p, err := fix.Plan("run-1", f.Snapshot, testNow)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range dueSteps(p) {
		if strings.Contains(step, ".conf") && !strings.HasSuffix(step, "kubelet.conf") || strings.Contains(step, "pki") {
			t.Errorf("step %s", step)
		}
	}
	notes := strings.Join(p.Notes, "\n")
	for _, want := range []string{
		manager + " on master-0 lacks", "kube-controller-manager reads it when it starts", "config set-cluster default-cluster",
		catalog.KubeadmCA + " on master-0, worker-0, worker-1 lacks",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes do not say %q:\n%s", want, notes)
		}
	}
	if strings.Contains(notes, scheduler) {
		t.Errorf("it has the CA: %s", notes)
	}
	// Behind a balancer on another port, the master's own kube-apiserver is asked.
	var gates []AwaitAPIServer
	for _, n := range p.Nodes() {
		for _, s := range n.Steps {
			if g, ok := s.Action.(AwaitAPIServer); ok {
				gates = append(gates, g)
			}
		}
	}
	if len(gates) != 1 || gates[0].On != "master-0" || gates[0].Port != "16443" || gates[0].Name != "kubernetes.default.svc" {
		t.Errorf("gates %+v", gates)
	}
}

func TestAKubeconfigWhoseCAIsAFileIsRefused(t *testing.T) {
	t.Parallel()
	f := kubeadmFixture("worker-0")
	k := &f.first().Kubeconfigs[0]
	before, _, _ := strings.Cut(string(k.Text), "certificate-authority-data:")
	_, after, _ := strings.Cut(string(k.Text), "    server:")
	k.Text = []byte(before + "certificate-authority: " + catalog.KubeadmCA + "\n    server:" + after)
	f.first().File(k.Path).Size = int64(len(k.Text))
	_, err := f.fix().Plan("run-1", f.Snapshot, testNow)
	var r *Refusal
	if !errors.As(err, &r) || r.Name != fileShape || !strings.Contains(r.Next, "append the CAs to "+catalog.KubeadmCA+", then: systemctl restart kubelet") {
		t.Errorf("%v: %+v", err, r)
	}
}

func TestNothingToDoOnPlainMastersIsNothing(t *testing.T) {
	t.Parallel()
	f := kubeadmFixture("master-0", "master-1")
	for i := range f.Nodes {
		f.Nodes[i].Role, f.Nodes[i].Ready, f.Nodes[i].Heartbeat = catalog.RoleMaster, "True", testNow
		f.embed(f.Nodes[i].Name, catalog.KubeadmKubeconfigs()[1], f.before, f.young.CertPEM)
	}
	fix := f.fix()
	fix.Nodes, fix.After.Requests = nil, true
	p, err := fix.Plan("run-1", f.Snapshot, testNow)
	if err != nil || !p.Empty() {
		t.Fatalf("steps %q, %v", dueSteps(p), err)
	}
}

func TestUndoOfKubeadmsFilesMindsTheirTrust(t *testing.T) {
	t.Parallel()
	f := kubeadmFixture("worker-0")
	if f.embed("worker-0", catalog.KubeadmKubeconfigs()[1], f.before); trusts(f.Snapshot, "worker-0", setupOf(f.Snapshot, f.first()).Own, testNow) == nil {
		t.Fatal("the old CA is trusted")
	}
	p := &Plan{Basis: f.Snapshot, after: f.Snapshot, Now: testNow, Waves: []Wave{{Nodes: []NodePlan{{Name: "worker-0", Steps: []Step{{NewRestartUnit("worker-0"), &Change{}}}}}}}}
	if why := breaks(p); !strings.Contains(why, "/etc/kubernetes/kubelet.conf") {
		t.Errorf("said is %q", why)
	}
}

// TestWhatADirectoryHidesIsNotMissing: of a directory that can't be read, nobody says that a
// file is not in it.
func TestWhatADirectoryHidesIsNotMissing(t *testing.T) {
	t.Parallel()
	f := kubeadmFixture("worker-0")
	path := catalog.KubeadmKubeconfigs()[0]
	for where, missing := range map[string]bool{"/etc/kubernetes": false, "/etc": false, "/": false, path: false, "": false, "/etc/kube": true, "/etc/kubernetes/pki": true} {
		f.Gaps = []inspect.Gap{{What: "node/worker-0", Where: where, Reason: "permission denied"}}
		if got := missingFile(f.Snapshot, f.first(), path); got != missing {
			t.Errorf("%q: missing %t", where, got)
		}
	}
}

// TestScriptsOfKubeadmsNodes names whose paths it takes, of nodes that were not read too.
func TestScriptsOfKubeadmsNodes(t *testing.T) {
	t.Parallel()
	f := kubeadmFixture("worker-0")
	f.Cluster.Versions = catalog.Versions{} // no API server that says what it is
	fix := f.fix()
	fix.Nodes = []string{"worker-0", "worker-1"}
	scripts, notes, err := fix.Scripts("run-1", f.Snapshot, testNow)
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
	if !strings.Contains(strings.Join(notes, "\n"), "where kubeadm has them, /etc/kubernetes/bootstrap-kubelet.conf and /etc/kubernetes/kubelet.conf") {
		t.Errorf("notes %q", notes)
	}
}

func TestPreflightOfPlainClusters(t *testing.T) {
	t.Parallel()
	pod := func(name, node string, ready bool) inspect.Pod {
		return inspect.Pod{Namespace: "kube-system", Name: name, Node: node, OwnerKind: "Node", OwnerName: node, Phase: "Running", Ready: ready}
	}
	for name, c := range map[string]struct {
		check  string
		holds  catalog.Answer
		says   string
		change func(p *Preflight, f *fixture)
	}{
		"all is well":                  {"etcd-healthy", catalog.Yes, "", func(*Preflight, *fixture) {}},
		"static pods are ready":        {"static-pods-settled", catalog.Yes, "", func(*Preflight, *fixture) {}},
		"servers show what is trusted": {ServerSide, catalog.Yes, "", func(*Preflight, *fixture) {}},
		"etcd of a lost master": {"etcd-healthy", catalog.Yes, "etcd-master-1", func(p *Preflight, _ *fixture) {
			p.StaticPods.Pods[1].Ready = false
		}},
		"a pod of etcd's name that a worker's kubelet made": {"etcd-healthy", catalog.Yes, "no control plane nodes: etcd-worker-0", func(p *Preflight, _ *fixture) {
			p.Machinery.Nodes[3].Ready = "True"
			p.StaticPods.Pods = append(p.StaticPods.Pods, pod("etcd-worker-0", "worker-0", false))
		}},
		"a worker's static pod": {"static-pods-settled", catalog.Yes, "no control plane nodes: kube-vip-worker-0", func(p *Preflight, _ *fixture) {
			p.Machinery.Nodes[3].Ready = "True"
			p.StaticPods.Pods = append(p.StaticPods.Pods, pod("kube-vip-worker-0", "worker-0", false))
		}},
		"etcd of a node with a kube-apiserver's files and no label": {"etcd-healthy", catalog.No, "etcd-worker-0 on worker-0 is not ready", func(p *Preflight, f *fixture) {
			p.Machinery.Nodes[3].Ready = "True"
			f.Bundles = append(f.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: "worker-0", Path: "/etc/kubernetes/pki/apiserver.crt"}})
			p.Facts = f.Snapshot
			p.StaticPods.Pods = append(p.StaticPods.Pods, pod("etcd-worker-0", "worker-0", false))
		}},
		"etcd of a master that is Ready": {"etcd-healthy", catalog.No, "etcd-master-0 on master-0 is not ready", func(p *Preflight, _ *fixture) {
			p.StaticPods.Pods[0].Ready = false
		}},
		"a manager of a master that is Ready": {"static-pods-settled", catalog.No, "kube-controller-manager-master-0", func(p *Preflight, _ *fixture) {
			p.StaticPods.Pods[2].Ready = false
		}},
		"a pod of a DaemonSet is no static one": {"static-pods-settled", catalog.Yes, "", func(p *Preflight, _ *fixture) {
			proxy := pod("kube-proxy-abcde", "master-0", false)
			proxy.OwnerKind = "DaemonSet"
			p.StaticPods.Pods = append(p.StaticPods.Pods, proxy)
		}},
		"etcd elsewhere": {"etcd-healthy", catalog.Yes, "elsewhere", func(p *Preflight, _ *fixture) { p.StaticPods.Pods = p.StaticPods.Pods[2:] }},
		"workers alone":  {"etcd-healthy", catalog.Yes, "no master's kubelet", func(p *Preflight, _ *fixture) { p.StaticPods.Pods[0].Ready, p.Nodes = false, []string{"worker-0"} }},
		"pods that may not be read": {"etcd-healthy", catalog.Unknown, "forbidden", func(p *Preflight, _ *fixture) {
			p.StaticPods = &StaticPods{Gap: &inspect.Gap{Reason: "list pods: forbidden"}}
		}},
		"pods that were not asked for": {"static-pods-settled", catalog.Unknown, "not asked for", func(p *Preflight, _ *fixture) { p.StaticPods = nil }},
		"no API":                       {"etcd-healthy", catalog.Unknown, "no API server", func(p *Preflight, _ *fixture) { p.Machinery = nil }},
		"one master shows the certificate of another CA": {ServerSide, catalog.No, "master-1 at 10.0.0.2:6443 shows", func(p *Preflight, f *fixture) {
			leaf := f.old.Issue(apiInt, testNow.Add(-time.Hour), testNow.Add(time.Hour), pkitest.DNS(apiInt))
			p.CA = p.CA[:1]
			p.Facts.Served = append(p.Facts.Served, inspect.Served{Of: "master-1", Address: "10.0.0.2:6443", Name: apiInt, Server: catalog.ListenerAPIServer, Chain: certs(f.sc, leaf.CertPEM)})
		}},
		"a master that does not answer": {ServerSide, catalog.Yes, "master-1", func(p *Preflight, _ *fixture) {
			p.Facts.Served = append(p.Facts.Served, inspect.Served{Of: "master-1", Address: "10.0.0.2:6443", Name: apiInt, Server: catalog.ListenerAPIServer})
		}},
		"nobody answered": {ServerSide, catalog.Unknown, "none answered", func(p *Preflight, _ *fixture) { p.Facts.Served = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names := []string{"master-0", "master-1", "worker-0"}
			f := kubeadmFixture(names...)
			p := quiet(names...)
			p.Facts, p.CA = f.Snapshot, certs(f.sc, pkitest.Bundle(f.young.CertPEM, f.old.CertPEM))
			p.Machinery.StaticPods, p.Machinery.Pools, p.Machinery.Update = nil, nil, inspect.Update{}
			p.StaticPods = &StaticPods{Pods: []inspect.Pod{pod("etcd-master-0", "master-0", true), pod("etcd-master-1", "master-1", true), pod("kube-controller-manager-master-0", "master-0", true)}}
			c.change(p, f)
			verdicts := p.Check()
			i := slices.IndexFunc(verdicts, func(v Verdict) bool { return v.Name == c.check })
			if i < 0 {
				t.Fatalf("%s was not asked: %+v", c.check, verdicts)
			}
			if v := verdicts[i]; v.Holds != c.holds || !strings.Contains(v.Reason, c.says) || c.holds == catalog.Yes && c.says == "" && v.Reason != "" {
				t.Errorf("%+v", v)
			}
			for _, v := range verdicts {
				if v.Name == "pools-settled" || v.Name == "named-certificate" {
					t.Errorf("%s is asked of a plain cluster", v.Name)
				}
			}
		})
	}
}
