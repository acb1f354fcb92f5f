package remediate

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/kubeconfigtest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeconfig"
)

const apiInt = "api-int.example.com"

// fixture are facts in the making: nodes that were read in the incident.
type fixture struct {
	incident
	inspect.Snapshot
	sc *pki.Scanner
}

func newFixture(names ...string) *fixture {
	f := &fixture{incident: newIncident(testNow), sc: pki.NewScanner()}
	f.Taken = testNow
	f.Cluster = inspect.Cluster{Server: "https://api", Versions: catalog.Versions{Cluster: "4.15.0"}, Topology: "HighlyAvailable"}
	if len(names) == 0 {
		names = []string{"worker-0"}
	}
	for _, n := range names {
		f.node(n)
	}
	leaf := f.young.Issue(apiInt, testNow.Add(-time.Hour), testNow.Add(time.Hour), pkitest.DNS(apiInt))
	f.object(catalog.APIServerCA(), f.configMap)
	f.object(catalog.LoadBalancerSigner(), f.young.CertPEM)
	f.served(leaf)
	f.Sort()
	return f
}

func (f *fixture) node(name string) {
	node := inspect.Node{
		Name: name, Hostname: name, Via: "ssh", Ready: "Unknown", Heartbeat: testNow.Add(-25 * time.Hour),
		Clock:   inspect.Clock{Sent: testNow, Before: testNow, After: testNow, Received: testNow},
		Kubelet: inspect.Kubelet{Active: "active", Sub: "running", Started: testNow.Add(-24 * time.Hour), BootstrapConfig: bootstrapFile, Kubeconfig: kubeletFile},
	}
	f.Nodes = append(f.Nodes, node)
	f.embed(name, bootstrapFile, f.before)
	f.embed(name, kubeletFile, f.before)
}

// embed gives a node a kubeconfig with these CAs, in place of the one that it has.
func (f *fixture) embed(name, path string, cas ...[]byte) {
	f.drop(name, path)
	n, _ := f.Snapshot.Node(name)
	ca, server := base64.StdEncoding.EncodeToString(pkitest.Bundle(cas...)), "https://"+apiInt+":6443"
	text, current := []byte(kubeconfigtest.Kubelet(ca, server)), "default-cluster"
	if path == bootstrapFile {
		text, current = []byte(kubeconfigtest.MachineConfigServer(ca, server, strings.Repeat("x", 40))), "local"
	}
	const field = "clusters[0].cluster.certificate-authority-data"
	n.Files = append(n.Files, inspect.NodeFile{Path: path, Mode: 0o600, Size: int64(len(text)), Modified: testNow.Add(-48 * time.Hour), Whole: true, Secret: true, SHA256: pki.FingerprintOf(append([]byte(name), text...))})
	slices.SortFunc(n.Files, func(a, b inspect.NodeFile) int { return strings.Compare(a.Path, b.Path) })
	n.Kubeconfigs = append(n.Kubeconfigs, inspect.Kubeconfig{Path: path, Users: 1, Current: current, Text: text, Clusters: []inspect.KubeconfigCluster{
		{Name: current, Server: server, CAData: true, Field: field},
	}})
	for _, found := range f.sc.Scan(text) {
		f.Bundles = append(f.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.KindFile, Node: name, Path: path, Field: field}, Content: found.Content})
	}
	f.Sort()
}

// drop takes a kubeconfig from a node.
func (f *fixture) drop(name, path string) {
	n, _ := f.Snapshot.Node(name)
	n.Files = slices.DeleteFunc(n.Files, func(x inspect.NodeFile) bool { return x.Path == path })
	n.Kubeconfigs = slices.DeleteFunc(n.Kubeconfigs, func(x inspect.Kubeconfig) bool { return x.Path == path })
	f.Bundles = slices.DeleteFunc(f.Bundles, func(b inspect.Bundle) bool { return b.At.Node == name && b.At.Path == path })
}

func (f *fixture) object(ref catalog.Ref, text []byte) {
	at := pki.Location{Kind: pki.Kind(ref.Kind), Namespace: ref.Namespace, Name: ref.Name, Key: ref.Key}
	f.Bundles = append(f.Bundles, inspect.Bundle{At: at, Object: &inspect.Object{Kind: at.Kind, Namespace: at.Namespace, Name: at.Name}, Content: f.sc.Scan(text)[0].Content})
}

// served makes this what api-int shows to all nodes.
func (f *fixture) served(p pkitest.Pair) {
	f.Served = nil
	f.Bundles = slices.DeleteFunc(f.Bundles, func(b inspect.Bundle) bool { return b.At.Name == catalog.InternalLoadBalancerServing().Name })
	f.object(catalog.InternalLoadBalancerServing(), p.CertPEM)
	defer f.Sort()
	for _, n := range f.Nodes {
		f.Served = append(f.Served, inspect.Served{Node: n.Name, Address: apiInt + ":6443", Name: apiInt, Chain: f.sc.Scan(p.CertPEM)[0].Content.Certs})
	}
}

func (f *fixture) first() *inspect.Node { return &f.Nodes[0] }

func (f *fixture) fix() APIInt {
	fix := APIInt{CA: f.configMap, From: "ConfigMap/x", API: true}
	for _, n := range f.Nodes {
		fix.Nodes = append(fix.Nodes, n.Name)
	}
	return fix
}

func (f *fixture) plan(t *testing.T) *Plan {
	t.Helper()
	p, err := f.fix().Plan("run-1", f.Snapshot, testNow)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func checksOf(findings []assess.Finding) (ids []string) {
	for _, f := range findings {
		ids = append(ids, f.Check)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func TestPlanIsProven(t *testing.T) {
	t.Parallel()
	f := newFixture("worker-1", "master-0")
	before := f.With()
	fix := f.fix()
	fix.Nodes = []string{"worker-1", "master-0"} // not by name
	p, err := fix.Plan("run-1", f.Snapshot, testNow)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(before, f.Snapshot) {
		t.Error("planning changed the facts")
	}
	var want []string
	for _, n := range fix.Nodes {
		want = append(want, "replace "+n+":"+bootstrapFile, "replace "+n+":"+kubeletFile, "restart "+n+":kubelet.service", "await "+n)
	}
	if got := stepsOf(p); !slices.Equal(got, want) {
		t.Errorf("steps %q", got)
	}
	if solved := checksOf(p.Solved); !slices.Contains(solved, "api-trusted") || !slices.Contains(solved, "node-file-current") || len(p.Added) > 0 {
		t.Errorf("solved %q, added %+v", solved, p.Added)
	}
	again, err := fix.Plan("run-1", f.Snapshot, testNow)
	if err != nil || !slices.Equal(stepsOf(again), want) {
		t.Errorf("planned again: %v", err)
	}
}

// TestNoPrefixOfAPlanIsWorse stops after each step.
func TestNoPrefixOfAPlanIsWorse(t *testing.T) {
	t.Parallel()
	missing := newFixture()
	missing.drop("worker-0", kubeletFile)
	half := newFixture()
	half.embed("worker-0", bootstrapFile, half.configMap)
	for name, f := range map[string]*fixture{"two nodes": newFixture("worker-0", "worker-1"), "no file of the kubelet": missing, "one file is right": half} {
		p := f.plan(t)
		critical := func(s inspect.Snapshot) (at []string) {
			for _, found := range judge(s, testNow) {
				for _, l := range found.At {
					if found.Severity == assess.Critical {
						at = append(at, found.Check+" "+l.String())
					}
				}
			}
			return at
		}
		was, facts, steps := critical(f.Snapshot), f.Snapshot, 0
		for _, n := range p.Nodes() {
			for _, s := range n.Steps {
				if s.Change == nil {
					continue
				}
				steps++
				facts = facts.With(s.Change.Deltas...)
				for _, is := range critical(facts) {
					if !slices.Contains(was, is) {
						t.Errorf("%s: after %s: %s", name, s.Action.ID(), is)
					}
				}
			}
		}
		if left := critical(facts); steps < 2 || len(left) > 0 {
			t.Errorf("%s: after %d steps: %q", name, steps, left)
		}
	}
}

// worsening is an action that takes the CA out of a node's kubeconfig.
type worsening struct{ ReplaceFile }

func (a worsening) Diff(inspect.Snapshot, time.Time) (*Change, error) {
	const field = "clusters[0].cluster.certificate-authority-data"
	return &Change{Deltas: []inspect.Delta{inspect.KubeconfigWritten{Node: a.On, Path: a.Path, Field: field, CA: &pki.Content{}, At: testNow}}}, nil
}

func TestPlanThatAddsAFindingIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture()
	d := newDraft("run-1", f.Snapshot, testNow)
	d.node("worker-0")
	if _, err := d.step(worsening{ReplaceFile{On: "worker-0", Path: kubeletFile}}); err != nil {
		t.Fatal(err)
	}
	err := proven(d.finish())
	var r *Refusal
	if !errors.As(err, &r) || r.Name != "plan-proven" || r.Risk || r.Next == "" || !strings.Contains(r.Reason, kubeletFile) {
		t.Errorf("%v", err)
	}
}

// TestClockThatWasSetBack is about a node whose kubelet started in its future: by
// its times, no restart would be late enough.
func TestClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.first().Kubelet.Started = testNow.Add(10 * time.Minute)
	p, err := f.fix().Plan("run-1", f.Snapshot, testNow)
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Nodes()[0].Steps[2]; s.Change == nil || !strings.HasPrefix(s.Action.ID(), "restart") {
		t.Errorf("%+v", s)
	}
	f.first().Clock.After = testNow
	if c, err := NewRestartUnit("worker-0", kubeletFile).Diff(f.Snapshot, testNow); err != nil || c == nil {
		t.Errorf("a restart is taken for done: %v", err)
	}
}

func TestUnion(t *testing.T) {
	t.Parallel()
	in := newIncident(testNow)
	ended := pkitest.NewCA("ended", testNow.Add(-48*time.Hour), testNow.Add(-time.Hour))
	sc := pki.NewScanner()
	text := in.configMap
	crlf := bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	for _, c := range []struct {
		name          string
		verbatim, old []byte
		want          []byte
	}{
		{"what was before comes after", text, in.old.CertPEM, pkitest.Bundle(text, in.old.CertPEM)},
		{"without a newline at its end", bytes.TrimRight(text, "\n"), in.old.CertPEM, pkitest.Bundle(text, in.old.CertPEM)},
		{"with more than one at its end", append(bytes.Clone(text), "\n\n"...), in.old.CertPEM, pkitest.Bundle(text, in.old.CertPEM)},
		{"as Windows writes it", crlf, in.old.CertPEM, pkitest.Bundle(bytes.TrimRight(crlf, "\r\n"), []byte("\n"), in.old.CertPEM)},
		{"with comments", append([]byte("# of the installer\n"), text...), nil, append([]byte("# of the installer\n"), text...)},
		{"nothing more", text, text, text},
		{"what ended is dropped", text, pkitest.Bundle(ended.CertPEM, in.old.CertPEM), pkitest.Bundle(text, in.old.CertPEM)},
		{"what ended and is wanted is kept as it is", pkitest.Bundle(ended.CertPEM, text), ended.CertPEM, pkitest.Bundle(ended.CertPEM, text)},
		{"what is there twice is once", text, pkitest.Bundle(in.old.CertPEM, in.old.CertPEM, in.localhost.CertPEM), pkitest.Bundle(text, in.old.CertPEM)},
	} {
		given := bytes.Clone(c.verbatim)
		got := union(c.verbatim, certs(sc, c.verbatim), certs(sc, c.old), testNow)
		if !bytes.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant:\n%s", c.name, got, c.want)
		}
		if !bytes.Equal(given, c.verbatim) {
			t.Errorf("%s: it changed what it was given", c.name)
		}
		if n, want := len(certs(sc, got)), bytes.Count(c.want, []byte("BEGIN")); n != want {
			t.Errorf("%s: %d certificates can be read of %d", c.name, n, want)
		}
	}
}

func TestSoAlready(t *testing.T) {
	t.Parallel()
	f := newFixture()
	others := pkitest.Bundle(f.service.CertPEM, f.old.CertPEM, f.young.CertPEM, f.localhost.CertPEM)
	for _, path := range catalog.KubeletKubeconfigs() {
		f.embed("worker-0", path, others)
	}
	f.first().Heartbeat, f.first().Ready = testNow.Add(-time.Second), "True"
	if p := f.plan(t); !p.Empty() || len(p.Nodes()) != 1 || len(p.Nodes()[0].Steps) != 4 && len(p.Nodes()[0].Steps) != 3 {
		t.Errorf("to do: %q", stepsOf(p))
	}
	f.embed("worker-0", kubeletFile, f.young.CertPEM, f.localhost.CertPEM)
	if p := f.plan(t); !slices.Equal(stepsOf(p)[:2], []string{"replace worker-0:" + kubeletFile, "restart worker-0:kubelet.service"}) {
		t.Errorf("one CA is missing, and to do is %q", stepsOf(p))
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	server := func(to string) func(*fixture, *APIInt) {
		return func(f *fixture, _ *APIInt) {
			for i := range f.first().Kubeconfigs {
				f.first().Kubeconfigs[i].Clusters[0].Server = to
			}
		}
	}
	file := func(change func(*inspect.NodeFile, *inspect.Kubeconfig)) func(*fixture, *APIInt) {
		return func(f *fixture, _ *APIInt) {
			n := f.first()
			change(n.File(bootstrapFile), &n.Kubeconfigs[slices.IndexFunc(n.Kubeconfigs, func(k inspect.Kubeconfig) bool { return k.Path == bootstrapFile })])
		}
	}
	for _, c := range []struct {
		name, check, says string
		change            func(f *fixture, fix *APIInt)
	}{
		{"two nodes and fencing", "topology", "pacemaker", func(f *fixture, _ *APIInt) { f.Cluster.Topology = "DualReplica" }},
		{"hosted elsewhere", "topology", "hosted", func(f *fixture, _ *APIInt) { f.Cluster.Topology = "External" }},
		{"of tomorrow", "topology", "Ring", func(f *fixture, _ *APIInt) { f.Cluster.Topology = "Ring" }},
		{"k3s", "kubelet-setup", "this cluster is k3s (v1.30.4+k3s1)", func(f *fixture, _ *APIInt) {
			f.Cluster.Versions = catalog.Versions{Kubernetes: "v1.30.4+k3s1", Plain: true}
		}},
		{"EKS", "kubelet-setup", "this cluster is EKS", func(f *fixture, _ *APIInt) {
			f.Cluster.Versions = catalog.Versions{Kubernetes: "v1.29.1-eks-508b6b3", Plain: true}
		}},
		{"plain Kubernetes, whose kubelets are not kubeadm's", "kubelet-flags", "its kubelet runs with /etc/kubernetes/kubeconfig, and kubeadm's with /etc/kubernetes/bootstrap-kubelet.conf", func(f *fixture, _ *APIInt) {
			f.Cluster.Versions = catalog.Versions{Kubernetes: "v1.30.0", Plain: true}
		}},
		{"a node that is not there", "node-read", "was not read", func(_ *fixture, fix *APIInt) { fix.Nodes = []string{"worker-9"} }},
		{"a node that was not read", "node-read", "port 22", func(f *fixture, _ *APIInt) {
			f.first().Via = ""
			f.Gaps = append(f.Gaps, inspect.Gap{What: "node/worker-0", Reason: "port 22 is closed", Next: "open it"})
		}},
		{"a file that could not be read", "file-read", "permission denied", func(f *fixture, _ *APIInt) {
			f.drop("worker-0", bootstrapFile)
			f.Gaps = append(f.Gaps, inspect.Gap{What: "node/worker-0", Where: bootstrapFile, Reason: "permission denied"})
		}},
		{"a file that may be there", "file-read", bootstrapFile, func(f *fixture, _ *APIInt) {
			f.drop("worker-0", bootstrapFile)
			f.Gaps = append(f.Gaps, inspect.Gap{What: "node/worker-0", Reason: "3 files are not listed"})
		}},
		{"no file at all", "file-read", "none of", func(f *fixture, _ *APIInt) { f.drop("worker-0", bootstrapFile); f.drop("worker-0", kubeletFile) }},
		{"a link", "file-read", "a link to /elsewhere", file(func(f *inspect.NodeFile, _ *inspect.Kubeconfig) { f.Link, f.Target = "x", "/elsewhere" })},
		{"without its text", "file-read", "not among the facts", file(func(_ *inspect.NodeFile, k *inspect.Kubeconfig) { k.Text = nil })},
		{"with half of its text", "file-read", "bytes were shown", file(func(f *inspect.NodeFile, _ *inspect.Kubeconfig) { f.Size++ })},
		{"without its sha256", "file-read", "bytes were shown", file(func(f *inspect.NodeFile, _ *inspect.Kubeconfig) { f.SHA256 = pki.Fingerprint{} })},
		{"a kubeconfig of another shape", "kubeconfig-shape", bootstrapFile, file(func(f *inspect.NodeFile, k *inspect.Kubeconfig) {
			k.Text = bytes.Replace(k.Text, []byte("current-context: kubelet"), []byte("current-context: nothing"), 1)
			f.Size = int64(len(k.Text))
		})},
		{"a server without TLS", "kubeconfig-shape", "no https", server("http://" + apiInt)},
		{"a server that was not asked", "served-known", "no handshake", func(f *fixture, _ *APIInt) { f.Served = nil }},
		{"a server that did not answer", "served-known", "refused", func(f *fixture, _ *APIInt) {
			f.Served = nil
			f.Gaps = append(f.Gaps, inspect.Gap{What: "node/worker-0", Where: apiInt + ":6443", Reason: "connection refused"})
		}},
		{"another server", "served-known", "other.example.com:443", server("https://other.example.com")},
		{"a CA that does not verify what is shown", "ca-verifies-served", "unknown authority", func(f *fixture, fix *APIInt) { fix.CA = f.old.CertPEM }},
		{"a name that is not shown", "ca-verifies-served", "not other", func(f *fixture, _ *APIInt) {
			for i := range f.first().Kubeconfigs {
				f.first().Kubeconfigs[i].Clusters[0].ServerName = "other.example.com"
			}
		}},
		{"what is shown is not valid by the node's clock", "ca-verifies-served", "expired", func(f *fixture, _ *APIInt) {
			f.first().Clock.Before, f.first().Clock.After = testNow.Add(5*time.Hour), testNow.Add(5*time.Hour)
		}},
		{"a CA with its key", "ca-usable", "private key", func(f *fixture, fix *APIInt) { fix.CA = pkitest.Bundle(f.configMap, f.young.KeyPEM) }},
		{"a certificate that is no CA", "ca-usable", "is no CA", func(f *fixture, fix *APIInt) {
			fix.CA = pkitest.Bundle(f.configMap, f.young.Issue(apiInt, testNow.Add(-time.Hour), testNow.Add(time.Hour)).CertPEM)
		}},
		{"a CA that ended", "ca-usable", "none of its 1 CAs is valid", func(_ *fixture, fix *APIInt) {
			fix.CA = pkitest.NewCA("ended", testNow.Add(-48*time.Hour), testNow.Add(-time.Hour)).CertPEM
		}},
		{"a CA of tomorrow", "ca-usable", "is valid now", func(_ *fixture, fix *APIInt) {
			fix.CA = pkitest.NewCA("early", testNow.Add(24*time.Hour), testNow.Add(48*time.Hour)).CertPEM
		}},
		{"a CA that is empty", "ca-usable", "no certificate", func(_ *fixture, fix *APIInt) { fix.CA = nil }},
		{"a CA that is a text", "ca-usable", "no certificate", func(_ *fixture, fix *APIInt) { fix.CA = []byte("hello\n") }},
		{"a CA that is cut off", "ca-usable", "", func(f *fixture, fix *APIInt) { fix.CA = f.configMap[:len(f.configMap)-100] }},
		{"a CA inside of a document", "ca-usable", "PEM is wanted", func(f *fixture, fix *APIInt) {
			fix.CA = []byte(kubeconfigtest.Kubelet(base64.StdEncoding.EncodeToString(f.configMap), "https://x"))
		}},
		{"a kubelet with another kubeconfig", "kubelet-flags", "/etc/other", func(f *fixture, _ *APIInt) { f.first().Kubelet.Kubeconfig = "/etc/other" }},
		{"a kubelet with another bootstrap kubeconfig", "kubelet-flags", "/etc/other", func(f *fixture, _ *APIInt) { f.first().Kubelet.BootstrapConfig = "/etc/other" }},
		{"a kubelet of which nothing is known", "kubelet-known", "did not answer", func(f *fixture, _ *APIInt) { f.first().Kubelet = inspect.Kubelet{} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture()
			fix := f.fix()
			c.change(f, &fix)
			p, err := fix.Plan("run-1", f.Snapshot, testNow)
			var r *Refusal
			if p != nil || !errors.As(err, &r) || r.Name != c.check || !strings.Contains(err.Error(), c.says) || r.Risk {
				t.Fatalf("%+v, %v", p, err)
			}
			if r.Next == "" {
				t.Errorf("nothing is said of what to do: %v", err)
			}
		})
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, says string
		want       bool
		change     func(f *fixture, fix *APIInt)
		steps      int
	}{
		{"4.15", "machine-config-daemon", false, func(*fixture, *APIInt) {}, 4},
		{"4.16", "machine-config-daemon writes the CA into both", true, func(f *fixture, _ *APIInt) { f.Cluster.Versions.Cluster = "4.16.3" }, 4},
		{"a version that is not known", "version is not known", true, func(f *fixture, _ *APIInt) { f.Cluster.Versions = catalog.Versions{} }, 4},
		{"without an API", "No API server", true, func(_ *fixture, fix *APIInt) { fix.API = false }, 4},
		{"a topology that is not known", "", true, func(f *fixture, _ *APIInt) { f.Cluster.Topology = "" }, 4},
		{"no bootstrap file", "should its kubelet have to join anew", true, func(f *fixture, _ *APIInt) { f.drop("worker-0", bootstrapFile) }, 3},
		{"no file of the kubelet", "its kubelet writes it", true, func(f *fixture, _ *APIInt) { f.drop("worker-0", kubeletFile) }, 3},
		{"no file of the kubelet, and the other one is right", "its kubelet writes it", true, func(f *fixture, _ *APIInt) {
			f.drop("worker-0", kubeletFile)
			f.embed("worker-0", bootstrapFile, f.configMap)
		}, 2},
	} {
		f := newFixture()
		fix := f.fix()
		c.change(f, &fix)
		p, err := fix.Plan("run-1", f.Snapshot, testNow)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if notes := strings.Join(p.Notes, "\n"); strings.Contains(notes, c.says) != c.want || len(stepsOf(p)) != c.steps {
			t.Errorf("%s: steps %q, notes:\n%s", c.name, stepsOf(p), notes)
		}
	}
}

// TestWhenARestartIsDue is about times of the node's own clock.
func TestWhenARestartIsDue(t *testing.T) {
	t.Parallel()
	started := testNow.Add(-time.Hour)
	for _, c := range []struct {
		name     string
		modified time.Time
		files    []string
		due      bool
	}{
		{"changed long before", started.Add(-time.Hour), nil, false},
		{"changed long before, by this plan", started.Add(-time.Hour), []string{kubeletFile}, false},
		{"written as it starts", started.Add(8 * time.Second), nil, false},
		{"written as it starts, by this plan", started.Add(8 * time.Second), []string{kubeletFile}, true},
		{"in the same second, by this plan", started, []string{kubeletFile}, true},
		{"changed since", started.Add(time.Minute), nil, true},
		{"another file, by this plan", started.Add(-time.Hour), []string{bootstrapFile}, false},
		{"a file that is not there", started.Add(-time.Hour), []string{"/not/there"}, true},
	} {
		f := newFixture()
		n := f.first()
		n.Kubelet.Started = started
		n.File(kubeletFile).Modified = c.modified
		change, err := NewRestartUnit("worker-0", c.files...).Diff(f.Snapshot, testNow)
		if err != nil || (change != nil) != c.due {
			t.Errorf("%s: %+v, %v", c.name, change, err)
		}
	}
	f := newFixture()
	f.first().Kubelet = inspect.Kubelet{Active: "failed", Sub: "failed"} // it never came up
	if c, err := NewRestartUnit("worker-0", kubeletFile).Diff(f.Snapshot, testNow); err != nil || c == nil {
		t.Errorf("a kubelet that never came up is left alone: %v", err)
	}
}

// undone are facts after a repair, and what a node keeps of it.
func undone(t *testing.T) (*fixture, Undo) {
	t.Helper()
	f := newFixture()
	u := Undo{API: true, Nodes: []Kept{{Node: "worker-0"}}}
	for i, path := range catalog.KubeletKubeconfigs() {
		before := f.first().Kubeconfigs[slices.IndexFunc(f.first().Kubeconfigs, func(k inspect.Kubeconfig) bool { return k.Path == path })]
		was := *f.first().File(path)
		f.embed("worker-0", path, f.configMap, f.old.CertPEM)
		kept := fmt.Sprintf("%s/run-1/before-%d", host.DefaultFolder, i)
		n := f.first()
		before.Path = kept
		n.Kubeconfigs = append(n.Kubeconfigs, before)
		backup := was
		backup.Path = kept
		n.Files = append(n.Files, backup)
		slices.SortFunc(n.Files, func(a, b inspect.NodeFile) int { return strings.Compare(a.Path, b.Path) })
		u.Nodes[0].Entries = append(u.Nodes[0].Entries, host.Entry{
			Before: host.File{Path: path, Kind: host.Regular, SHA256: was.SHA256, Size: was.Size}, Wrote: [][32]byte{n.File(path).SHA256},
		})
	}
	f.served(f.old.Issue(apiInt, testNow.Add(-time.Hour), testNow.Add(time.Hour), pkitest.DNS(apiInt)))
	return f, u
}

func TestPlanToPutBack(t *testing.T) {
	t.Parallel()
	f, u := undone(t)
	p, err := u.Plan("run-1", f.Snapshot, testNow)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"restore worker-0:" + kubeletFile, "restore worker-0:" + bootstrapFile, "restart worker-0:kubelet.service", "await worker-0"}; !slices.Equal(stepsOf(p), want) {
		t.Errorf("steps %q", stepsOf(p))
	}
	ca, err := kubeconfig.Find(p.Nodes()[0].Steps[0].Change.File.After)
	if err != nil || !bytes.Equal(ca.PEM, f.before) {
		t.Errorf("afterwards it would be %v, %s", err, ca.PEM)
	}

	for _, c := range []struct {
		name, check, says string
		change            func(f *fixture, u *Undo)
	}{
		{"a node that was not read", "node-read", "was not read", func(f *fixture, _ *Undo) { f.first().Via = "" }},
		{"a file that changed since", "changed-since", kubeletFile, func(f *fixture, _ *Undo) { f.first().File(kubeletFile).SHA256[0]++ }},
		{"a file that is gone", "file-read", kubeletFile, func(f *fixture, _ *Undo) { f.drop("worker-0", kubeletFile) }},
		{"a backup that was not read", "backup-read", kubeletFile, func(f *fixture, _ *Undo) { f.drop("worker-0", host.DefaultFolder+"/run-1/before-1") }},
		{"a backup that was read in part", "backup-read", kubeletFile, func(f *fixture, _ *Undo) {
			f.first().File(host.DefaultFolder+"/run-1/before-1").Size++
		}},
		{"what does not trust what is shown", BreaksTrust, "afterwards", func(f *fixture, _ *Undo) {
			f.served(f.young.Issue(apiInt, testNow.Add(-time.Hour), testNow.Add(time.Hour), pkitest.DNS(apiInt)))
		}},
		{"a server that is not known", BreaksTrust, "no handshake", func(f *fixture, _ *Undo) { f.Served = nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, u := undone(t)
			c.change(f, &u)
			_, err := u.Plan("run-1", f.Snapshot, testNow)
			var r *Refusal
			if !errors.As(err, &r) || r.Name != c.check || !strings.Contains(err.Error(), c.says) || r.Risk != (c.check == BreaksTrust) {
				t.Fatalf("%v", err)
			}
			u.AcceptBreaksTrust = true
			p, err := u.Plan("run-1", f.Snapshot, testNow)
			if accepted := err == nil; accepted != r.Risk {
				t.Fatalf("accepted: %v", err)
			}
			if r.Risk && (len(stepsOf(p)) != 3 || !strings.Contains(strings.Join(p.Notes, "\n"), "Accepted by name")) {
				t.Errorf("steps %q, notes %q", stepsOf(p), p.Notes)
			}
		})
	}
}

// TestUndoThatWasInterrupted has both files back, and a kubelet that has not read
// them: the restart is still due, and has the same risk.
func TestUndoThatWasInterrupted(t *testing.T) {
	t.Parallel()
	f, u := undone(t)
	for i := range u.Nodes[0].Entries {
		e := &u.Nodes[0].Entries[i]
		f.embed("worker-0", e.Before.Path, f.before)
		f.first().File(e.Before.Path).SHA256 = e.Before.SHA256
	}
	f.first().File(kubeletFile).Modified = f.first().Kubelet.Started.Add(time.Hour)
	p, err := u.Plan("run-1", f.Snapshot, testNow)
	if want := []string{"restart worker-0:kubelet.service", "await worker-0"}; err != nil || !slices.Equal(stepsOf(p), want) {
		t.Fatalf("%+v, %v", p, err)
	}
	f.served(f.young.Issue(apiInt, testNow.Add(-time.Hour), testNow.Add(time.Hour), pkitest.DNS(apiInt)))
	var r *Refusal
	if _, err := u.Plan("run-1", f.Snapshot, testNow); !errors.As(err, &r) || r.Name != BreaksTrust || !r.Risk {
		t.Errorf("%v", err)
	}
}

// TestAnotherMachine is reached where a node is meant.
func TestAnotherMachine(t *testing.T) {
	t.Parallel()
	f := newFixture()
	kubelet := func(name string) {
		at := pki.Location{Kind: pki.KindFile, Node: "worker-0", Path: inspect.KubeletClient}
		p := f.old.Issue("system:node:"+name, testNow.Add(-time.Hour), testNow.Add(time.Hour))
		f.Bundles = slices.DeleteFunc(f.Bundles, func(b inspect.Bundle) bool { return b.At == at })
		f.Bundles = append(f.Bundles, inspect.Bundle{At: at, Content: pki.NewScanner().Scan(p.CertPEM)[0].Content})
		f.Sort()
	}
	refused := func(says string) {
		t.Helper()
		var r *Refusal
		_, err := f.fix().Plan("run-1", f.Snapshot, testNow)
		if !errors.As(err, &r) || r.Name != "node-identity" || r.Risk || r.Next == "" || !strings.Contains(r.Reason, says) {
			t.Errorf("want %q: %v", says, err)
		}
	}
	for hostname, ok := range map[string]bool{"worker-0": true, "WORKER-0.example.com": true, "worker-00": false, "": false} {
		f.first().Hostname = hostname
		if _, err := f.fix().Plan("run-1", f.Snapshot, testNow); (err == nil) != ok {
			t.Errorf("%q: %v", hostname, err)
		}
	}
	f.first().Hostname = ""
	refused("not known")
	f.first().Hostname = "laptop"
	refused("calls itself \"laptop\"")
	kubelet("worker-1") // goes before the host name
	f.first().Hostname = "worker-0"
	refused("system:node:worker-1")
	kubelet("worker-0")
	f.first().Hostname = "ip-10-0-0-1"
	if _, err := f.fix().Plan("run-1", f.Snapshot, testNow); err != nil {
		t.Error(err)
	}
}

func TestNothingToPutBack(t *testing.T) {
	t.Parallel()
	f, u := undone(t)
	for i := range u.Nodes[0].Entries {
		e := &u.Nodes[0].Entries[i]
		f.first().File(e.Before.Path).SHA256 = e.Before.SHA256
	}
	for _, u := range []Undo{u, {Nodes: []Kept{{Node: "worker-0"}}}} {
		p, err := u.Plan("run-1", f.Snapshot, testNow)
		if err != nil || !p.Empty() || !strings.Contains(strings.Join(p.Notes, ""), "as it was before the run") {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

func TestUndoOnAnotherMachine(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.first().Hostname = "worker-00"
	var r *Refusal
	if _, err := (Undo{Nodes: []Kept{{Node: "worker-0"}}}).Plan("run-1", f.Snapshot, testNow); !errors.As(err, &r) || r.Name != "node-identity" {
		t.Error(err)
	}
}
