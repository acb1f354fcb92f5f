package apiint

import (
	"bytes"
	"encoding/base64"
	"errors"
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
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

func fixOf(f *remediatetest.Fixture) Repair {
	fix := Repair{CA: f.ConfigMap, CASource: "ConfigMap/x", API: true}
	for _, n := range f.Nodes {
		fix.Nodes = append(fix.Nodes, n.Name)
	}
	return fix
}

func planOf(f *remediatetest.Fixture, t *testing.T) *remediate.Plan {
	t.Helper()
	p, err := fixOf(f).Plan("run-1", f.Snapshot, remediatetest.TestNow)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func checksOf(findings []assess.Finding) (ids []string) {
	for _, f := range findings {
		ids = append(ids, f.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// TestClockThatWasSetBack is about a node whose kubelet started in its future: by
// its times, no restart would be late enough.
func TestClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewFixture()
	f.FirstNode().Kubelet.Started = remediatetest.TestNow.Add(10 * time.Minute)
	p, err := fixOf(f).Plan("run-1", f.Snapshot, remediatetest.TestNow)
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Nodes()[0].Steps[2]; s.Change == nil || !strings.HasPrefix(s.Action.ID(), "restart") {
		t.Errorf("%+v", s)
	}
	f.FirstNode().Clock.After = remediatetest.TestNow
	if c, err := action.NewRestartKubelet("worker-0", remediatetest.KubeletFile).Diff(f.Snapshot, remediatetest.TestNow); err != nil || c == nil {
		t.Errorf("a restart is taken for done: %v", err)
	}
}

func TestUnion(t *testing.T) {
	t.Parallel()
	in := remediatetest.NewIncident(remediatetest.TestNow)
	ended := pkitest.NewCA("ended", remediatetest.TestNow.Add(-48*time.Hour), remediatetest.TestNow.Add(-time.Hour))
	sc := pki.NewScanner()
	text := in.ConfigMap
	crlf := bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	for _, c := range []struct {
		name          string
		verbatim, old []byte
		want          []byte
	}{
		{"what was before comes after", text, in.Old.CertPEM, pkitest.Bundle(text, in.Old.CertPEM)},
		{"without a newline at its end", bytes.TrimRight(text, "\n"), in.Old.CertPEM, pkitest.Bundle(text, in.Old.CertPEM)},
		{"with more than one at its end", append(bytes.Clone(text), "\n\n"...), in.Old.CertPEM, pkitest.Bundle(text, in.Old.CertPEM)},
		{"as Windows writes it", crlf, in.Old.CertPEM, pkitest.Bundle(bytes.TrimRight(crlf, "\r\n"), []byte("\n"), in.Old.CertPEM)},
		{"with comments", append([]byte("# of the installer\n"), text...), nil, append([]byte("# of the installer\n"), text...)},
		{"nothing more", text, text, text},
		{"what ended is dropped", text, pkitest.Bundle(ended.CertPEM, in.Old.CertPEM), pkitest.Bundle(text, in.Old.CertPEM)},
		{"what ended and is wanted is kept as it is", pkitest.Bundle(ended.CertPEM, text), ended.CertPEM, pkitest.Bundle(ended.CertPEM, text)},
		{"what is there twice is once", text, pkitest.Bundle(in.Old.CertPEM, in.Old.CertPEM, in.Localhost.CertPEM), pkitest.Bundle(text, in.Old.CertPEM)},
	} {
		given := bytes.Clone(c.verbatim)
		got := action.Union(c.verbatim, pki.LoadedPEM(sc, c.verbatim), pki.LoadedPEM(sc, c.old), remediatetest.TestNow)
		if !bytes.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant:\n%s", c.name, got, c.want)
		}
		if !bytes.Equal(given, c.verbatim) {
			t.Errorf("%s: it changed what it was given", c.name)
		}
		if n, want := len(pki.LoadedPEM(sc, got)), bytes.Count(c.want, []byte("BEGIN")); n != want {
			t.Errorf("%s: %d certificates can be read of %d", c.name, n, want)
		}
	}
}

func TestSoAlready(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewFixture()
	others := pkitest.Bundle(f.Service.CertPEM, f.Old.CertPEM, f.Young.CertPEM, f.Localhost.CertPEM)
	for _, path := range catalog.KubeletKubeconfigs() {
		f.Embed("worker-0", path, others)
	}
	f.FirstNode().Heartbeat, f.FirstNode().Ready = remediatetest.TestNow.Add(-time.Second), "True"
	if p := planOf(f, t); !p.Empty() || len(p.Nodes()) != 1 || len(p.Nodes()[0].Steps) != 4 && len(p.Nodes()[0].Steps) != 3 {
		t.Errorf("to do: %q", remediatetest.StepsOf(p))
	}
	f.Embed("worker-0", remediatetest.KubeletFile, f.Young.CertPEM, f.Localhost.CertPEM)
	if p := planOf(f, t); !slices.Equal(remediatetest.StepsOf(p)[:2], []string{"replace worker-0:" + remediatetest.KubeletFile, "restart worker-0:kubelet.service"}) {
		t.Errorf("one CA is missing, and to do is %q", remediatetest.StepsOf(p))
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	server := func(to string) func(*remediatetest.Fixture, *Repair) {
		return func(f *remediatetest.Fixture, _ *Repair) {
			for i := range f.FirstNode().Kubeconfigs {
				f.FirstNode().Kubeconfigs[i].Clusters[0].Server = to
			}
		}
	}
	file := func(change func(*inspect.NodeFile, *inspect.Kubeconfig)) func(*remediatetest.Fixture, *Repair) {
		return func(f *remediatetest.Fixture, _ *Repair) {
			n := f.FirstNode()
			change(n.File(remediatetest.BootstrapFile), &n.Kubeconfigs[slices.IndexFunc(n.Kubeconfigs, func(k inspect.Kubeconfig) bool { return k.Path == remediatetest.BootstrapFile })])
		}
	}
	for _, c := range []struct {
		name, check, says string
		change            func(f *remediatetest.Fixture, fix *Repair)
	}{
		{"two nodes and fencing", "topology", "pacemaker", func(f *remediatetest.Fixture, _ *Repair) { f.Cluster.Topology = "DualReplica" }},
		{"hosted elsewhere", "topology", "hosted", func(f *remediatetest.Fixture, _ *Repair) { f.Cluster.Topology = "External" }},
		{"of tomorrow", "topology", "Ring", func(f *remediatetest.Fixture, _ *Repair) { f.Cluster.Topology = "Ring" }},
		{"k3s", "kubelet-setup", "this cluster is k3s (v1.30.4+k3s1)", func(f *remediatetest.Fixture, _ *Repair) {
			f.Cluster.Versions = catalog.Versions{Kubernetes: "v1.30.4+k3s1", NotOpenShift: true}
		}},
		{"EKS", "kubelet-setup", "this cluster is EKS", func(f *remediatetest.Fixture, _ *Repair) {
			f.Cluster.Versions = catalog.Versions{Kubernetes: "v1.29.1-eks-508b6b3", NotOpenShift: true}
		}},
		{"plain Kubernetes, whose kubelets are not kubeadm's", "kubelet-flags", "its kubelet runs with /etc/kubernetes/kubeconfig, and kubeadm's with /etc/kubernetes/bootstrap-kubelet.conf", func(f *remediatetest.Fixture, _ *Repair) {
			f.Cluster.Versions = catalog.Versions{Kubernetes: "v1.30.0", NotOpenShift: true}
		}},
		{"a node that is not there", "node-read", "was not read", func(_ *remediatetest.Fixture, fix *Repair) { fix.Nodes = []string{"worker-9"} }},
		{"a node that was not read", "node-read", "port 22", func(f *remediatetest.Fixture, _ *Repair) {
			f.FirstNode().Via = ""
			f.Gaps = append(f.Gaps, inspect.Gap{What: "node/worker-0", Reason: "port 22 is closed", Next: "open it"})
		}},
		{"a file that could not be read", "file-read", "permission denied", func(f *remediatetest.Fixture, _ *Repair) {
			f.Drop("worker-0", remediatetest.BootstrapFile)
			f.Gaps = append(f.Gaps, inspect.Gap{What: "node/worker-0", Where: remediatetest.BootstrapFile, Reason: "permission denied"})
		}},
		{"a file that may be there", "file-read", remediatetest.BootstrapFile, func(f *remediatetest.Fixture, _ *Repair) {
			f.Drop("worker-0", remediatetest.BootstrapFile)
			f.Gaps = append(f.Gaps, inspect.Gap{What: "node/worker-0", Reason: "3 files are not listed"})
		}},
		{"no file at all", "file-read", "none of", func(f *remediatetest.Fixture, _ *Repair) {
			f.Drop("worker-0", remediatetest.BootstrapFile)
			f.Drop("worker-0", remediatetest.KubeletFile)
		}},
		{"a link", "file-read", "a link to /elsewhere", file(func(f *inspect.NodeFile, _ *inspect.Kubeconfig) { f.Link, f.Target = "x", "/elsewhere" })},
		{"without its text", "file-read", "not among the facts", file(func(_ *inspect.NodeFile, k *inspect.Kubeconfig) { k.Text = nil })},
		{"with half of its text", "file-read", "bytes were read", file(func(f *inspect.NodeFile, _ *inspect.Kubeconfig) { f.Size++ })},
		{"without its sha256", "file-read", "bytes were read", file(func(f *inspect.NodeFile, _ *inspect.Kubeconfig) { f.SHA256 = pki.Fingerprint{} })},
		{"a kubeconfig of another shape", "kubeconfig-shape", remediatetest.BootstrapFile, file(func(f *inspect.NodeFile, k *inspect.Kubeconfig) {
			k.Text = bytes.Replace(k.Text, []byte("current-context: kubelet"), []byte("current-context: nothing"), 1)
			f.Size = int64(len(k.Text))
		})},
		{"a server without TLS", "kubeconfig-shape", "no https", server("http://" + remediatetest.APIIntHost)},
		{"a server that was not asked", "served-known", "no handshake", func(f *remediatetest.Fixture, _ *Repair) { f.Served = nil }},
		{"a server that did not answer", "served-known", "refused", func(f *remediatetest.Fixture, _ *Repair) {
			f.Served = nil
			f.Gaps = append(f.Gaps, inspect.Gap{What: "node/worker-0", Where: remediatetest.APIIntHost + ":6443", Reason: "connection refused"})
		}},
		{"another server", "served-known", "other.example.com:443", server("https://other.example.com")},
		{"a CA that does not verify what is shown", "ca-verifies-served", "unknown authority", func(f *remediatetest.Fixture, fix *Repair) { fix.CA = f.Old.CertPEM }},
		{"a name that is not shown", "ca-verifies-served", "not other", func(f *remediatetest.Fixture, _ *Repair) {
			for i := range f.FirstNode().Kubeconfigs {
				f.FirstNode().Kubeconfigs[i].Clusters[0].ServerName = "other.example.com"
			}
		}},
		{"what is shown is not valid by the node's clock", "ca-verifies-served", "expired", func(f *remediatetest.Fixture, _ *Repair) {
			f.FirstNode().Clock.Before, f.FirstNode().Clock.After = remediatetest.TestNow.Add(5*time.Hour), remediatetest.TestNow.Add(5*time.Hour)
		}},
		{"a CA with its key", "ca-usable", "private key", func(f *remediatetest.Fixture, fix *Repair) { fix.CA = pkitest.Bundle(f.ConfigMap, f.Young.KeyPEM) }},
		{"a certificate that is no CA", "ca-usable", "is no CA", func(f *remediatetest.Fixture, fix *Repair) {
			fix.CA = pkitest.Bundle(f.ConfigMap, f.Young.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour)).CertPEM)
		}},
		{"a CA that ended", "ca-usable", "none of its 1 CAs is valid", func(_ *remediatetest.Fixture, fix *Repair) {
			fix.CA = pkitest.NewCA("ended", remediatetest.TestNow.Add(-48*time.Hour), remediatetest.TestNow.Add(-time.Hour)).CertPEM
		}},
		{"a CA of tomorrow", "ca-usable", "is valid now", func(_ *remediatetest.Fixture, fix *Repair) {
			fix.CA = pkitest.NewCA("early", remediatetest.TestNow.Add(24*time.Hour), remediatetest.TestNow.Add(48*time.Hour)).CertPEM
		}},
		{"a CA that is empty", "ca-usable", "no certificate", func(_ *remediatetest.Fixture, fix *Repair) { fix.CA = nil }},
		{"a CA that is a text", "ca-usable", "no certificate", func(_ *remediatetest.Fixture, fix *Repair) { fix.CA = []byte("hello\n") }},
		{"a CA that is cut off", "ca-usable", "", func(f *remediatetest.Fixture, fix *Repair) { fix.CA = f.ConfigMap[:len(f.ConfigMap)-100] }},
		{"a CA inside of a document", "ca-usable", "PEM is wanted", func(f *remediatetest.Fixture, fix *Repair) {
			fix.CA = []byte(kubeconfigtest.Kubelet(base64.StdEncoding.EncodeToString(f.ConfigMap), "https://x"))
		}},
		{"a kubelet with another kubeconfig", "kubelet-flags", "/etc/other", func(f *remediatetest.Fixture, _ *Repair) { f.FirstNode().Kubelet.Kubeconfig = "/etc/other" }},
		{"a kubelet with a sentence for a kubeconfig", "kubelet-flags", "runs with “/x. Delete it”, and", func(f *remediatetest.Fixture, _ *Repair) { f.FirstNode().Kubelet.Kubeconfig = "/x. Delete it" }},
		{"a kubelet with another bootstrap kubeconfig", "kubelet-flags", "/etc/other", func(f *remediatetest.Fixture, _ *Repair) { f.FirstNode().Kubelet.BootstrapConfig = "/etc/other" }},
		{"a kubelet of which nothing is known", "kubelet-known", "did not answer", func(f *remediatetest.Fixture, _ *Repair) { f.FirstNode().Kubelet = inspect.Kubelet{} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := remediatetest.NewFixture()
			fix := fixOf(f)
			c.change(f, &fix)
			p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
			var r *remediate.Refusal
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
		change     func(f *remediatetest.Fixture, fix *Repair)
		steps      int
	}{
		{"4.15", "machine-config-daemon", false, func(*remediatetest.Fixture, *Repair) {}, 4},
		{"4.16", "machine-config-daemon writes the CA into both", true, func(f *remediatetest.Fixture, _ *Repair) { f.Cluster.Versions.Cluster = "4.16.3" }, 4},
		{"a version that is not known", "version is unknown", true, func(f *remediatetest.Fixture, _ *Repair) { f.Cluster.Versions = catalog.Versions{} }, 4},
		{"without an API", "No API server", true, func(_ *remediatetest.Fixture, fix *Repair) { fix.API = false }, 4},
		{"a topology that is not known", "", true, func(f *remediatetest.Fixture, _ *Repair) { f.Cluster.Topology = "" }, 4},
		{"no bootstrap file", "its kubelet can't join again without it", true, func(f *remediatetest.Fixture, _ *Repair) { f.Drop("worker-0", remediatetest.BootstrapFile) }, 3},
		{"no file of the kubelet", "its kubelet writes it", true, func(f *remediatetest.Fixture, _ *Repair) { f.Drop("worker-0", remediatetest.KubeletFile) }, 3},
		{"no file of the kubelet, and the other one is right", "its kubelet writes it", true, func(f *remediatetest.Fixture, _ *Repair) {
			f.Drop("worker-0", remediatetest.KubeletFile)
			f.Embed("worker-0", remediatetest.BootstrapFile, f.ConfigMap)
		}, 2},
	} {
		f := remediatetest.NewFixture()
		fix := fixOf(f)
		c.change(f, &fix)
		p, err := fix.Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if notes := strings.Join(p.Notes.Texts(), "\n"); strings.Contains(notes, c.says) != c.want || len(remediatetest.StepsOf(p)) != c.steps {
			t.Errorf("%s: steps %q, notes:\n%s", c.name, remediatetest.StepsOf(p), notes)
		}
	}
}

// TestWhenARestartIsDue is about times of the node's own clock.
func TestWhenARestartIsDue(t *testing.T) {
	t.Parallel()
	started := remediatetest.TestNow.Add(-time.Hour)
	for _, c := range []struct {
		name     string
		modified time.Time
		files    []string
		due      bool
	}{
		{"changed long before", started.Add(-time.Hour), nil, false},
		{"changed long before, by this plan", started.Add(-time.Hour), []string{remediatetest.KubeletFile}, false},
		{"written as it starts", started.Add(8 * time.Second), nil, false},
		{"written as it starts, by this plan", started.Add(8 * time.Second), []string{remediatetest.KubeletFile}, true},
		{"in the same second, by this plan", started, []string{remediatetest.KubeletFile}, true},
		{"changed since", started.Add(time.Minute), nil, true},
		{"another file, by this plan", started.Add(-time.Hour), []string{remediatetest.BootstrapFile}, false},
		{"a file that is not there", started.Add(-time.Hour), []string{"/not/there"}, true},
	} {
		f := remediatetest.NewFixture()
		n := f.FirstNode()
		n.Kubelet.Started = started
		n.File(remediatetest.KubeletFile).Modified = c.modified
		change, err := action.NewRestartKubelet("worker-0", c.files...).Diff(f.Snapshot, remediatetest.TestNow)
		if err != nil || (change != nil) != c.due {
			t.Errorf("%s: %+v, %v", c.name, change, err)
		}
	}
	f := remediatetest.NewFixture()
	f.FirstNode().Kubelet = inspect.Kubelet{Active: "failed", Sub: "failed"} // it never came up
	if c, err := action.NewRestartKubelet("worker-0", remediatetest.KubeletFile).Diff(f.Snapshot, remediatetest.TestNow); err != nil || c == nil {
		t.Errorf("a kubelet that never came up is left alone: %v", err)
	}
}

// TestAnotherMachine is reached where a node is meant.
func TestAnotherMachine(t *testing.T) {
	t.Parallel()
	f := remediatetest.NewFixture()
	kubelet := func(name string) {
		at := pki.Location{Kind: pki.KindFile, Node: "worker-0", Path: inspect.KubeletClient}
		p := f.Old.Issue("system:node:"+name, remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour))
		f.Bundles = slices.DeleteFunc(f.Bundles, func(b inspect.Bundle) bool { return b.At == at })
		f.Bundles = append(f.Bundles, inspect.Bundle{At: at, Content: pki.NewScanner().Scan(p.CertPEM)[0].Content})
		f.Sort()
	}
	refused := func(says string) {
		t.Helper()
		var r *remediate.Refusal
		_, err := fixOf(f).Plan("run-1", f.Snapshot, remediatetest.TestNow)
		if !errors.As(err, &r) || r.Name != "node-identity" || r.Risk || r.Next == "" || !strings.Contains(r.Reason, says) {
			t.Errorf("want %q: %v", says, err)
		}
	}
	for hostname, ok := range map[string]bool{"worker-0": true, "WORKER-0.example.com": true, "worker-00": false, "": false} {
		f.FirstNode().Hostname = hostname
		if _, err := fixOf(f).Plan("run-1", f.Snapshot, remediatetest.TestNow); (err == nil) != ok {
			t.Errorf("%q: %v", hostname, err)
		}
	}
	f.FirstNode().Hostname = ""
	refused("whether the machine that was reached is this node is unknown")
	f.FirstNode().Hostname = "laptop"
	refused("calls itself \"laptop\"")
	kubelet("worker-1") // goes before the host name
	f.FirstNode().Hostname = "worker-0"
	refused("system:node:worker-1")
	kubelet("worker-0")
	f.FirstNode().Hostname = "ip-10-0-0-1"
	if _, err := fixOf(f).Plan("run-1", f.Snapshot, remediatetest.TestNow); err != nil {
		t.Error(err)
	}
}
